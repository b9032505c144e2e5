/*
 * Measures what row formats cost in accuracy and save in memory.
 *
 *   bench_formats [EXAMPLES [EPOCHS]]
 *
 * A click log is generated in the shape of Criteo's: fields with many values, few of which are
 * frequent, and clicks drawn from a hidden factorisation machine.  Another factorisation machine is
 * trained on it in double precision (Adagrad, log loss).  Its embeddings are stored in each format,
 * read back by a lookup, and used to score examples outside the training set.
 *
 * Prints one line of JSON per format: the area under the ROC curve (AUC), its change against
 * fp32, and the bytes of memory per row of 32 elements, including key and index.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/usage.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"

enum { FIELDS = 20, DIM = 32, TEST = 200000, FIRST_VALUES = 200, MEMORY_ROWS = 1000000 };

typedef struct machine {
	double bias;
	double *linear;                          /* [values] */
	double *factors;                         /* [values, DIM] */
	double *linear_squares, *factor_squares; /* Adagrad's sums */
} machine;

typedef struct example {
	uint32_t values[FIELDS]; /* indices over all fields */
	bool click;
} example;

static uint32_t starts[FIELDS + 1]; /* first value of each field */
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double uniform(void)
{
	return (double)(next_random() >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(2 * M_PI * uniform());
}

static void *need(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "bench_formats: out of memory\n");
		exit(1);
	}
	return memory;
}

static void check(sp_status status, const sp_error *err)
{
	if (status != SP_OK) {
		fprintf(stderr, "bench_formats: %s\n", err->text);
		exit(1);
	}
}

static machine make_machine(double linear, double factor)
{
	size_t values = starts[FIELDS];
	machine m = {.linear = need(calloc(values, sizeof(double))),
		     .factors = need(calloc(values * DIM, sizeof(double))),
		     .linear_squares = need(calloc(values, sizeof(double))),
		     .factor_squares = need(calloc(values * DIM, sizeof(double)))};

	for (size_t i = 0; i < values; i++)
		m.linear[i] = linear * normal();
	for (size_t i = 0; i < values * DIM; i++)
		m.factors[i] = factor * normal();
	return m;
}

/* Returns the logit; sets sums [DIM] to the sums of the factors. */
static double score(const machine *m, const example *e, double *sums)
{
	double logit = m->bias, squares = 0, all = 0;

	memset(sums, 0, DIM * sizeof(*sums));
	for (int f = 0; f < FIELDS; f++) {
		const double *row = m->factors + (size_t)e->values[f] * DIM;

		logit += m->linear[e->values[f]];
		for (int d = 0; d < DIM; d++) {
			sums[d] += row[d];
			squares += row[d] * row[d];
		}
	}
	for (int d = 0; d < DIM; d++)
		all += sums[d] * sums[d];
	return logit + (all - squares) / 2;
}

/* The values of a field follow a power law. */
static example draw(const machine *truth)
{
	double sums[DIM];
	example e;

	for (int f = 0; f < FIELDS; f++) {
		uint32_t count = starts[f + 1] - starts[f];
		double at = pow((double)count, uniform()) - 1;

		e.values[f] = starts[f] + (uint32_t)at % count;
	}
	e.click = uniform() < 1 / (1 + exp(-score(truth, &e, sums)));
	return e;
}

static void adapt(double *weight, double *squares, double gradient)
{
	*squares += gradient * gradient;
	*weight -= 0.05 * gradient / sqrt(*squares + 1e-8);
}

static void train(machine *m, const example *e)
{
	double sums[DIM], error = 1 / (1 + exp(-score(m, e, sums))) - e->click;

	m->bias -= 0.01 * error;
	for (int f = 0; f < FIELDS; f++) {
		size_t value = e->values[f];
		double *row = m->factors + value * DIM, *squares = m->factor_squares + value * DIM;

		adapt(&m->linear[value], &m->linear_squares[value], error);
		for (int d = 0; d < DIM; d++)
			adapt(&row[d], &squares[d], error * (sums[d] - row[d]) + 1e-5 * row[d]);
	}
}

/* ------------------------------------------------------------------------ AUC */

typedef struct scored {
	double score;
	bool click;
} scored;

static int by_score(const void *a, const void *b)
{
	double x = ((const scored *)a)->score, y = ((const scored *)b)->score;

	return (x > y) - (x < y);
}

/* AUC: the share of (click, no click) pairs in which the click has the higher score. */
static double auc_of(scored *all, size_t count)
{
	double pairs = 0, clicks = 0, others = 0;

	qsort(all, count, sizeof(*all), by_score);
	for (size_t i = 0; i < count;) {
		double tied_clicks = 0, tied_others = 0;
		size_t j = i;

		for (; j < count && all[j].score == all[i].score; j++) {
			tied_clicks += all[j].click;
			tied_others += !all[j].click;
		}
		pairs += tied_clicks * (others + tied_others / 2);
		clicks += tied_clicks;
		others += tied_others;
		i = j;
	}
	return pairs / (clicks * others);
}

/* ------------------------------------------------------------------ formats */

static int64_t key_of(size_t value)
{
	return (int64_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> 1);
}

/* Replaces the factors by what a lookup returns after they were stored in `format`. */
static void round_trip(double *factors, size_t count, sp_row_format format)
{
	sp_rows_options row_options = {.name = "formats", .dim = DIM, .format = format};
	sp_table_options options = {.name = "formats", .dim = DIM};
	int64_t *keys = need(malloc(count * sizeof(*keys)));
	float *floats = need(malloc(count * DIM * sizeof(*floats)));
	sp_table *table;
	sp_rows *rows;
	sp_error err;

	for (size_t i = 0; i < count; i++)
		keys[i] = key_of(i);
	for (size_t i = 0; i < count * DIM; i++)
		floats[i] = (float)factors[i];
	check(sp_rows_create(&rows, &row_options, keys, floats, count, &err), &err);
	check(sp_table_create(&table, &options, rows, NULL, &err), &err);
	sp_rows_release(rows);
	check(sp_table_lookup(table, keys, count, NULL, floats, &err), &err);
	for (size_t i = 0; i < count * DIM; i++)
		factors[i] = (double)floats[i];
	sp_table_destroy(table);
	free(floats);
	free(keys);
}

static double bytes_per_row(sp_row_format format)
{
	sp_rows_options options = {.name = "formats", .dim = DIM, .format = format};
	int64_t *keys = need(malloc(MEMORY_ROWS * sizeof(*keys)));
	float *floats = need(calloc((size_t)MEMORY_ROWS * DIM, sizeof(*floats)));
	double bytes;
	sp_rows *rows;
	sp_error err;

	for (size_t i = 0; i < MEMORY_ROWS; i++)
		keys[i] = key_of(i);
	check(sp_rows_create(&rows, &options, keys, floats, MEMORY_ROWS, &err), &err);
	bytes = (double)sp_rows_footprint(rows) / MEMORY_ROWS;
	sp_rows_release(rows);
	free(floats);
	free(keys);
	return bytes;
}

static void run_format(const machine *m, const example *tests, scored *all, sp_row_format format)
{
	size_t size = starts[FIELDS] * (size_t)DIM * sizeof(double);
	static double of_fp32;
	machine stored = *m;
	double auc, sums[DIM];

	stored.factors = need(malloc(size));
	memcpy(stored.factors, m->factors, size);
	round_trip(stored.factors, starts[FIELDS], format);
	for (size_t i = 0; i < TEST; i++)
		all[i] = (scored){score(&stored, &tests[i], sums), tests[i].click};
	auc = auc_of(all, TEST);
	if (format == SP_ROW_FP32)
		of_fp32 = auc;
	printf("{\"suite\":\"formats\",\"case\":\"%s\",\"auc\":%.6f,\"auc_change\":%.2e,"
	       "\"bytes_per_row\":%.2f}\n",
	       sp_row_format_name(format), auc, auc - of_fp32, bytes_per_row(format));
	fflush(stdout);
	free(stored.factors);
}

static const char usage[] = "usage: bench_formats [EXAMPLES [EPOCHS]]\n";

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	size_t epochs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	example *tests = need(malloc(TEST * sizeof(*tests)));
	example *examples = need(malloc((count + 1) * sizeof(*examples)));
	scored *all = need(malloc(TEST * sizeof(*all)));
	machine truth, m;

	sp_bench_read_options(argc, argv, usage);
	for (int f = 0; f < FIELDS; f++)
		starts[f + 1] = starts[f] + (uint32_t)(FIRST_VALUES * pow(1.3, f));
	truth = make_machine(0.3, 0.07);
	m = make_machine(0, 0.01);
	for (size_t i = 0; i < TEST; i++)
		tests[i] = draw(&truth);
	for (size_t i = 0; i < count; i++)
		examples[i] = draw(&truth);
	for (size_t e = 0; e < epochs; e++)
		for (size_t i = 0; i < count; i++)
			train(&m, &examples[i]);
	for (int format = 0; format < SP_ROW_FORMATS; format++)
		run_format(&m, tests, all, (sp_row_format)format);
	return 0;
}
