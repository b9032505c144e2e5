/*
 * Measures what it takes to read gRPC's requests and write their answers, without running a model:
 * 26 int64 and 14 float features of one value per row.
 *
 *   bench_messages
 *
 * Prints one line of JSON per case: "predict/1" reads a PredictRequest of one row, "infer/1" a
 * ModelInferRequest, "answer/1" writes a PredictResponse of one output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"
#include "bench/harness.h"
#include "bench/usage.h"
#include "tests/support/wire.h"

enum { FEATURES = 40, INTEGERS = 26, MOST_ROWS = 128 };

static char names[FEATURES][16];
static const int64_t dims[] = {-1, 1};
static serving_processor_tensor_info infos[FEATURES];
static const serving_processor_tensor_info *inputs[FEATURES];
static serving_processor_signature signature = {
	"serving_default", "tensorflow/serving/predict", inputs, FEATURES, inputs, 1};
static uint16_t order[SP_MESSAGE_ORDER];
static sp_message_memory memory = {NULL, order};

static void fill_signature(void)
{
	for (int i = 0; i < FEATURES; i++) {
		int dtype = i < INTEGERS ? SERVING_PROCESSOR_INT64 : SERVING_PROCESSOR_FLOAT;

		snprintf(names[i], sizeof(names[i]), "feature_%02d", i);
		infos[i] = (serving_processor_tensor_info){names[i], names[i], dtype, 2, dims};
		inputs[i] = &infos[i];
	}
}

static int64_t id_of(int row)
{
	return INT64_C(1234567890123) + row;
}

/* Field 2 of a TensorProto. */
static sp_buffer shape_of(int rows)
{
	sp_buffer shape = sp_wire_begin();

	for (int i = 0; i < 2; i++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, i == 0 ? (uint64_t)rows : 1);
		sp_wire_message(&shape, 2, &dim);
	}
	return shape;
}

static sp_buffer predict_request(int rows)
{
	sp_buffer request = sp_wire_begin(), spec = sp_wire_begin();

	sp_wire_text(&spec, 1, "ctr");
	sp_wire_message(&request, 1, &spec);
	for (int i = 0; i < FEATURES; i++) {
		sp_buffer entry = sp_wire_begin(), tensor = sp_wire_begin(),
			  values = sp_wire_begin(), shape = shape_of(rows);
		bool integers = i < INTEGERS;

		for (int row = 0; row < rows; row++) {
			float value = (float)row;

			if (integers)
				sp_wire_number(&values, (uint64_t)id_of(row));
			else
				sp_buffer_append(&values, &value, sizeof(value));
		}
		sp_wire_text(&entry, 1, names[i]);
		sp_wire_varint(&tensor, 1, (uint64_t)infos[i].dtype);
		sp_wire_message(&tensor, 2, &shape);
		sp_wire_message(&tensor, integers ? 10 : 5, &values);
		sp_wire_message(&entry, 2, &tensor);
		sp_wire_message(&request, 2, &entry);
	}
	return request;
}

static sp_buffer infer_request(int rows)
{
	sp_buffer request = sp_wire_begin(), all_raw = sp_wire_begin();

	sp_wire_text(&request, 1, "ctr");
	for (int i = 0; i < FEATURES; i++) {
		sp_buffer tensor = sp_wire_begin(), shape = sp_wire_begin(), raw = sp_wire_begin();

		for (int row = 0; row < rows; row++) {
			int64_t id = id_of(row);
			float value = (float)row;

			if (i < INTEGERS)
				sp_buffer_append(&raw, &id, sizeof(id));
			else
				sp_buffer_append(&raw, &value, sizeof(value));
		}
		sp_wire_text(&tensor, 1, names[i]);
		sp_wire_text(&tensor, 2, i < INTEGERS ? "INT64" : "FP32");
		sp_wire_number(&shape, (uint64_t)rows);
		sp_wire_number(&shape, 1);
		sp_wire_message(&tensor, 3, &shape);
		sp_wire_message(&request, 5, &tensor);
		sp_wire_message(&all_raw, 7, &raw);
	}
	sp_buffer_append(&request, all_raw.data, all_raw.size);
	sp_buffer_fini(&all_raw);
	return request;
}

static void must(sp_status status, const sp_error *err)
{
	if (status == SP_OK)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void read_predict(void *context)
{
	const sp_buffer *request = context;
	sp_message_inputs read;
	sp_model_spec spec;
	sp_error err;

	sp_arena_reset(memory.arena);
	must(sp_model_spec_find(&spec, sp_wire_view(request), &err), &err);
	must(sp_predict_message_decode(&read, &signature, sp_wire_view(request), &memory, &err),
	     &err);
}

static void read_infer(void *context)
{
	const sp_buffer *request = context;
	sp_message_inputs read;
	sp_infer_head head;
	sp_error err;

	sp_arena_reset(memory.arena);
	must(sp_infer_message_head(&head, sp_wire_view(request), &err), &err);
	must(sp_infer_message_decode(&read, &signature, sp_wire_view(request), &memory, &err),
	     &err);
}

typedef struct answer {
	sp_buffer bytes;
	serving_processor_tensor output;
} answer;

static void write_answer(void *context)
{
	const sp_model_spec spec = {.name = {"ctr", 3},
				    .signature_name = {"serving_default", 15},
				    .has_version = true,
				    .version = 1};
	answer *a = context;
	sp_error err;

	sp_buffer_clear(&a->bytes);
	must(sp_predict_message_encode(&a->bytes, &a->output, 1, &spec, false, &err), &err);
}

static void measure(int rows)
{
	static const float scores[MOST_ROWS];
	const int64_t shape[] = {rows};
	answer written = {
		.output = {"score", SERVING_PROCESSOR_FLOAT, 1, shape, (size_t)rows, scores}};
	const sp_bench_options options = {.suite = "messages"};
	sp_buffer predict = predict_request(rows), infer = infer_request(rows);
	char name[32];

	sp_buffer_init(&written.bytes, 1 << 20);
	snprintf(name, sizeof(name), "predict/%d", rows);
	sp_bench_case(&options, name, read_predict, &predict);
	snprintf(name, sizeof(name), "infer/%d", rows);
	sp_bench_case(&options, name, read_infer, &infer);
	snprintf(name, sizeof(name), "answer/%d", rows);
	sp_bench_case(&options, name, write_answer, &written);
	sp_buffer_fini(&predict);
	sp_buffer_fini(&infer);
	sp_buffer_fini(&written.bytes);
}

static const char usage[] = "usage: bench_messages\n";

int main(int argc, char **argv)
{
	sp_bench_read_options(argc, argv, usage);
	memory.arena = sp_arena_create(16 << 10);
	if (memory.arena == NULL)
		return 1;
	fill_signature();
	measure(1);
	measure(16);
	measure(MOST_ROWS);
	sp_arena_destroy(memory.arena);
	return 0;
}
