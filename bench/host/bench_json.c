/*
 * Measures the JSON codecs of the host: a body of ":predict" to typed tensors, and tensors to the
 * body of the answer.
 *
 *   bench_json [FOLDER]
 *
 * Prints one line of JSON per case, with the rate in bytes of JSON per second.  With a FOLDER it
 * writes the bodies of the decoding cases to FOLDER/CASE.json instead, for other parsers.
 *
 * The bodies are those of a click model with 13 float and 26 integer columns, as rows and as
 * columns, written as Python's json.dumps() does, and lists of floats: with six digits, with the
 * digits of a float, and with those of a double.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/predict/json_request.h"
#include "api/host/predict/json_response.h"
#include "bench/harness.h"
#include "bench/usage.h"

enum { FLOATS = 13, INTEGERS = 26, COLUMNS = FLOATS + INTEGERS, ROWS = 256, WIDTH = 1024 };

static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double uniform(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

/* ------------------------------------------------------------------ columns */

static char names[COLUMNS][8];
static serving_processor_tensor_info infos[COLUMNS];
static const serving_processor_tensor_info *sorted[COLUMNS], *wide[1];
static serving_processor_tensor_info flat = {.alias = "x", .dtype = SERVING_PROCESSOR_FLOAT};
static serving_processor_tensor_info flat64 = {.alias = "x", .dtype = SERVING_PROCESSOR_DOUBLE};

static int by_alias(const void *a, const void *b)
{
	const serving_processor_tensor_info *const *x = a, *const *y = b;

	return strcmp((*x)->alias, (*y)->alias);
}

static void name_columns(void)
{
	for (int i = 0; i < COLUMNS; i++) {
		bool real = i < FLOATS;

		snprintf(names[i], sizeof(names[i]), "%c%d", real ? 'I' : 'C',
			 real ? i + 1 : i - FLOATS + 1);
		infos[i].alias = names[i];
		infos[i].dtype = real ? SERVING_PROCESSOR_FLOAT : SERVING_PROCESSOR_INT64;
		sorted[i] = &infos[i];
	}
	qsort(sorted, COLUMNS, sizeof(sorted[0]), by_alias);
}

/* ------------------------------------------------------------------- bodies */

static void put_cell(sp_buffer *out, int column)
{
	if (column < FLOATS)
		sp_buffer_printf(out, "%.6g", log(1 + floor(exp(uniform() * 8))));
	else
		sp_buffer_printf(out, "%llu",
				 (unsigned long long)(exp(uniform() * 16.1) * uniform()));
}

static void put_rows(sp_buffer *out)
{
	sp_buffer_append_text(out, "{\"instances\": [");
	for (int row = 0; row < ROWS; row++) {
		sp_buffer_append_text(out, row == 0 ? "{" : ", {");
		for (int i = 0; i < COLUMNS; i++) {
			sp_buffer_printf(out, "%s\"%s\": ", i == 0 ? "" : ", ", names[i]);
			put_cell(out, i);
		}
		sp_buffer_append_text(out, "}");
	}
	sp_buffer_append_text(out, "]}");
}

static void put_columns(sp_buffer *out)
{
	sp_buffer_append_text(out, "{\"inputs\": {");
	for (int i = 0; i < COLUMNS; i++) {
		sp_buffer_printf(out, "%s\"%s\": [", i == 0 ? "" : ", ", names[i]);
		for (int row = 0; row < ROWS; row++) {
			sp_buffer_append_text(out, row == 0 ? "" : ", ");
			put_cell(out, i);
		}
		sp_buffer_append_text(out, "]");
	}
	sp_buffer_append_text(out, "}}");
}

static void put_lists(sp_buffer *out, const char *format, bool negative, bool narrow)
{
	sp_buffer_append_text(out, "{\"instances\": [");
	for (int row = 0; row < ROWS / 16; row++) {
		sp_buffer_append_text(out, row == 0 ? "[" : ", [");
		for (int i = 0; i < WIDTH; i++) {
			double value = negative ? uniform() * 2 - 1 : uniform();

			sp_buffer_append_text(out, i == 0 ? "" : ", ");
			sp_buffer_printf(out, format, narrow ? (double)(float)value : value);
		}
		sp_buffer_append_text(out, "]");
	}
	sp_buffer_append_text(out, "]}");
}

/* ----------------------------------------------------------------- decoding */

typedef struct decoding {
	const char *name;
	const serving_processor_tensor_info *const *inputs;
	size_t input_count;
	sp_buffer body;
	sp_host_signature signature;
	sp_host_signatures set;
	sp_json_request *request;
} decoding;

static void decode(void *context)
{
	decoding *d = context;
	sp_error err;

	if (sp_json_request_parse(d->request, &d->set, (sp_bytes){d->body.data, d->body.size},
				  &err) == SP_OK)
		return;
	fprintf(stderr, "%s: %s\n", d->name, err.text);
	exit(1);
}

enum { DECODINGS = 6 };

static void make_bodies(decoding all[DECODINGS])
{
	static const serving_processor_tensor_info *doubles[1] = {&flat64};

	wide[0] = &flat;
	all[0] = (decoding){.name = "rows", .inputs = sorted, .input_count = COLUMNS};
	all[1] = (decoding){.name = "columns", .inputs = sorted, .input_count = COLUMNS};
	all[2] = (decoding){.name = "floats_6_digits", .inputs = wide, .input_count = 1};
	all[3] = (decoding){.name = "floats_9_digits", .inputs = wide, .input_count = 1};
	all[4] = (decoding){.name = "floats_17_digits", .inputs = wide, .input_count = 1};
	all[5] = (decoding){.name = "doubles_17_digits", .inputs = doubles, .input_count = 1};
	for (size_t i = 0; i < DECODINGS; i++)
		sp_buffer_init(&all[i].body, 1 << 30);
	put_rows(&all[0].body);
	put_columns(&all[1].body);
	put_lists(&all[2].body, "%.6f", false, false);
	put_lists(&all[3].body, "%.9g", true, true);
	put_lists(&all[4].body, "%.17g", true, true);
	put_lists(&all[5].body, "%.17g", true, false);
}

static void report(const char *name, size_t bytes, sp_bench_fn *fn, void *context)
{
	sp_bench_options options = {.suite = "json", .round_seconds = 0.1};
	sp_bench_result result = sp_bench_case(&options, name, fn, context);

	printf("{\"suite\":\"json\",\"case\":\"%s\",\"bytes\":%zu,\"best_gb_s\":%.3f,"
	       "\"median_gb_s\":%.3f}\n",
	       name, bytes, (double)bytes / result.min_us / 1e3,
	       (double)bytes / result.median_us / 1e3);
}

static void measure_decoding(decoding *d)
{
	char name[64];

	d->signature = (sp_host_signature){
		.name = "serving_default", .inputs = d->inputs, .input_count = d->input_count};
	d->set = (sp_host_signatures){&d->signature, 1, &d->signature};
	d->request = sp_json_request_create(NULL);
	snprintf(name, sizeof(name), "decode/%s", d->name);
	report(name, d->body.size, decode, d);
	sp_json_request_destroy(d->request);
}

/* ----------------------------------------------------------------- encoding */

typedef struct encoding {
	const char *name;
	serving_processor_tensor tensor;
	bool row;
	sp_buffer out;
} encoding;

static void encode(void *context)
{
	encoding *e = context;
	sp_error err;

	sp_buffer_clear(&e->out);
	if (sp_json_response_write(&e->out, &e->tensor, 1, e->row, &err) == SP_OK && !e->out.failed)
		return;
	fprintf(stderr, "%s failed\n", e->name);
	exit(1);
}

static void measure_encoding(const char *name, int dtype, const void *data, bool row, int rank)
{
	static const int64_t square[] = {ROWS / 16, WIDTH}, line[] = {ROWS / 16 * WIDTH, 1};
	encoding e = {.name = name, .row = row};
	char text[64];

	e.tensor = (serving_processor_tensor){
		"y", dtype, 2, rank == 2 ? square : line, (size_t)(ROWS / 16 * WIDTH), data};
	sp_buffer_init(&e.out, 1 << 30);
	encode(&e);
	snprintf(text, sizeof(text), "encode/%s", name);
	report(text, e.out.size, encode, &e);
	sp_buffer_fini(&e.out);
}

static void measure_encodings(void)
{
	static float whole[ROWS / 16 * WIDTH], brief[ROWS / 16 * WIDTH];
	static double doubles[ROWS / 16 * WIDTH];
	static int64_t integers[ROWS / 16 * WIDTH];

	for (size_t i = 0; i < ROWS / 16 * WIDTH; i++) {
		whole[i] = (float)uniform();
		brief[i] = (float)(floor(uniform() * 1e4) / 1e4);
		doubles[i] = uniform() * 2 - 1;
		integers[i] = (int64_t)exp(uniform() * 16.1);
	}
	measure_encoding("floats", SERVING_PROCESSOR_FLOAT, whole, true, 2);
	measure_encoding("floats_in_columns", SERVING_PROCESSOR_FLOAT, whole, false, 2);
	measure_encoding("floats_of_4_digits", SERVING_PROCESSOR_FLOAT, brief, true, 2);
	measure_encoding("scores", SERVING_PROCESSOR_FLOAT, whole, true, 1);
	measure_encoding("doubles", SERVING_PROCESSOR_DOUBLE, doubles, true, 2);
	measure_encoding("integers", SERVING_PROCESSOR_INT64, integers, true, 2);
}

/* --------------------------------------------------------------------- main */

static void write_bodies(const char *folder, const decoding *all)
{
	char path[512];

	for (size_t i = 0; i < DECODINGS; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s.json", folder, all[i].name);
		file = fopen(path, "w");
		if (file == NULL ||
		    fwrite(all[i].body.data, 1, all[i].body.size, file) != all[i].body.size ||
		    fclose(file) != 0) {
			perror(path);
			exit(1);
		}
	}
}

static const char usage[] = "usage: bench_json [FOLDER]\n";

int main(int argc, char **argv)
{
	static decoding all[DECODINGS];

	sp_bench_read_options(argc, argv, usage);
	name_columns();
	make_bodies(all);
	if (argc > 1) {
		write_bodies(argv[1], all);
		return 0;
	}
	for (size_t i = 0; i < DECODINGS; i++)
		measure_decoding(&all[i]);
	measure_encodings();
	return 0;
}
