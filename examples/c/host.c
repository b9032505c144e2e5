/*
 * A host in C, linked with the library: asks by typed tensors and by DeepRec's messages.
 *
 *   host CONFIG.json
 *
 * It plays the scene that ../README.md tells.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <serving_processor.h>

#include "predict.pb-c.h"

enum { BATCH = 2, WIDTH = 2, THREADS = 4, REQUESTS = 100, PATIENCE_S = 60 };

static int64_t users[BATCH] = {7, 101};
static float prices[BATCH] = {0.5f, -1.25f};
static const char *items[BATCH * WIDTH] = {"item_3", "item_17", "item_5", ""};
static int64_t dims[2] = {BATCH, WIDTH};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Prints and frees the error of a call that failed. */
static void tell_error(const char *what, serving_processor_code code,
		       serving_processor_error *error)
{
	printf("%s: error %d: %s\n", what, code, serving_processor_error_text(error));
	serving_processor_error_free(error);
}

static void tell_scores(const float scores[BATCH])
{
	printf("score %.4f %.4f\n", scores[0], scores[1]);
}

/* ----------------------------------------------------------- typed tensors */

/*
 * Asks for `score` of the sample; price_dtype is SERVING_PROCESSOR_FLOAT, unless the request is to
 * be wrong.  *error is NULL before, and the caller's after a failure.
 */
static serving_processor_code ask(float scores[BATCH], const serving_processor_handle *handle,
				  int price_dtype, int64_t deadline_ns,
				  serving_processor_error **error)
{
	serving_processor_bytes words[BATCH * WIDTH];
	/* Views: the library reads them during the call, and keeps nothing. */
	const serving_processor_tensor inputs[] = {
		{"user_id", SERVING_PROCESSOR_INT64, 1, dims, BATCH, users},
		{"items", SERVING_PROCESSOR_STRING, 2, dims, BATCH * WIDTH, words},
		{"price", price_dtype, 1, dims, BATCH, prices},
	};
	const char *const outputs[] = {"score"};
	const serving_processor_run_options options = {
		.size = sizeof(options),
		.deadline_ns = deadline_ns,
	};
	serving_processor_result *result = NULL;
	serving_processor_code code;

	for (size_t i = 0; i < BATCH * WIDTH; i++)
		words[i] = (serving_processor_bytes){items[i], strlen(items[i])};
	code = serving_processor_handle_run_with(handle, NULL, inputs, 3, outputs, 1, &options,
						 &result, error);
	if (code != SERVING_PROCESSOR_OK)
		return code;

	const serving_processor_tensor *score = serving_processor_result_tensor(result, 0);

	/* The model decides on an output's type and shape. */
	if (score->dtype == SERVING_PROCESSOR_FLOAT && score->count == BATCH)
		memcpy(scores, score->data, BATCH * sizeof(*scores));
	else
		code = SERVING_PROCESSOR_UNSUPPORTED;
	serving_processor_result_free(result);
	return code;
}

/* Asks for scores that must come, by a deadline that is far. */
static int ask_well(float scores[BATCH], const serving_processor_handle *handle)
{
	serving_processor_error *error = NULL;
	int64_t deadline_ns = now_ns() + PATIENCE_S * INT64_C(1000000000);
	serving_processor_code code;

	code = ask(scores, handle, SERVING_PROCESSOR_FLOAT, deadline_ns, &error);
	if (code == SERVING_PROCESSOR_OK)
		return 0;
	tell_error("not answered", code, error);
	return -1;
}

typedef struct threads_task {
	const serving_processor_handle *handle; /* shared by all threads */
	float wanted[BATCH];
	atomic_int equal;
} threads_task;

static void *ask_often(void *context)
{
	threads_task *task = context;
	float scores[BATCH];

	for (int i = 0; i < REQUESTS; i++)
		if (ask_well(scores, task->handle) == 0 &&
		    memcmp(scores, task->wanted, sizeof(scores)) == 0)
			atomic_fetch_add(&task->equal, 1);
	return NULL;
}

static void ask_in_threads(threads_task *task)
{
	pthread_t threads[THREADS];
	int count = 0;

	while (count < THREADS && pthread_create(&threads[count], NULL, ask_often, task) == 0)
		count++;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads: %d equal answers\n", count, atomic_load(&task->equal));
}

static void tell_inputs(const serving_processor_handle *handle)
{
	const serving_processor_signature *signature = serving_processor_handle_signature(handle,
											  NULL);

	printf("inputs");
	for (size_t i = 0; i < signature->input_count; i++)
		printf(" %s %s", signature->inputs[i]->alias,
		       serving_processor_dtype_name(signature->inputs[i]->dtype));
	printf("\n");
}

/* Asks the version that is live now, which stays in memory until its handle is released. */
static void ask_version(const serving_processor_handle *handle, float scores[BATCH])
{
	int64_t full_step, delta_step;

	serving_processor_handle_version(handle, &full_step, &delta_step);
	printf("version %" PRId64 "\n", full_step);
	tell_inputs(handle);
	if (ask_well(scores, handle) == 0)
		tell_scores(scores);
}

/* Asks what must fail; no request has a price of int32, and none is done by now. */
static void ask_badly(const serving_processor_handle *handle)
{
	serving_processor_error *error = NULL;
	serving_processor_code code;
	float scores[BATCH];

	code = ask(scores, handle, SERVING_PROCESSOR_INT32, 0, &error);
	tell_error("wrong input", code, error);
	error = NULL;
	code = ask(scores, handle, SERVING_PROCESSOR_FLOAT, now_ns(), &error);
	tell_error("late", code, error);
}

static void play_tensors(void *model)
{
	serving_processor_handle *handle = serving_processor_acquire(model);
	threads_task task = {.handle = handle};

	ask_version(handle, task.wanted);
	ask_in_threads(&task);
	ask_badly(handle);
	serving_processor_release(handle);
}

/* -------------------------------------------------------- DeepRec's messages */

/* The sample as a message, in a block for free(). */
static void *pack_request(size_t *size)
{
	Tensorflow__Eas__ArrayShape vector = TENSORFLOW__EAS__ARRAY_SHAPE__INIT;
	Tensorflow__Eas__ArrayShape matrix = TENSORFLOW__EAS__ARRAY_SHAPE__INIT;
	Tensorflow__Eas__ArrayProto arrays[3];
	Tensorflow__Eas__PredictRequest__InputsEntry entries[3], *inputs[3];
	Tensorflow__Eas__PredictRequest request = TENSORFLOW__EAS__PREDICT_REQUEST__INIT;
	ProtobufCBinaryData words[BATCH * WIDTH];
	char *names[] = {"user_id", "items", "price"};
	void *packed;

	vector.dim = matrix.dim = dims;
	vector.n_dim = 1;
	matrix.n_dim = 2;
	for (size_t i = 0; i < BATCH * WIDTH; i++)
		words[i] = (ProtobufCBinaryData){strlen(items[i]), (uint8_t *)items[i]};
	for (size_t i = 0; i < 3; i++) {
		tensorflow__eas__array_proto__init(&arrays[i]);
		tensorflow__eas__predict_request__inputs_entry__init(&entries[i]);
		entries[i].key = names[i];
		entries[i].value = &arrays[i];
		inputs[i] = &entries[i];
	}
	arrays[0].dtype = TENSORFLOW__EAS__ARRAY_DATA_TYPE__DT_INT64;
	arrays[0].array_shape = &vector;
	arrays[0].int64_val = users;
	arrays[0].n_int64_val = BATCH;
	arrays[1].dtype = TENSORFLOW__EAS__ARRAY_DATA_TYPE__DT_STRING;
	arrays[1].array_shape = &matrix;
	arrays[1].string_val = words;
	arrays[1].n_string_val = BATCH * WIDTH;
	arrays[2].dtype = TENSORFLOW__EAS__ARRAY_DATA_TYPE__DT_FLOAT;
	arrays[2].array_shape = &vector;
	arrays[2].float_val = prices;
	arrays[2].n_float_val = BATCH;
	request.inputs = inputs;
	request.n_inputs = 3;

	*size = tensorflow__eas__predict_request__get_packed_size(&request);
	packed = malloc(*size);
	if (packed != NULL)
		tensorflow__eas__predict_request__pack(&request, packed);
	return packed;
}

static void tell_answer(const void *data, int size)
{
	Tensorflow__Eas__PredictResponse *response = tensorflow__eas__predict_response__unpack(
		NULL, (size_t)size, data);

	for (size_t i = 0; response != NULL && i < response->n_outputs; i++) {
		const Tensorflow__Eas__ArrayProto *array = response->outputs[i]->value;

		if (strcmp(response->outputs[i]->key, "score") == 0 && array->n_float_val == BATCH)
			tell_scores(array->float_val);
	}
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

/* Sends a message; the answer is a block that is ours, whatever the status. */
static void play_message(void *model, const void *request, size_t request_size)
{
	void *answer = NULL;
	int size = 0, status = process(model, request, (int)request_size, &answer, &size);

	if (status == 200) {
		printf("message: status %d, %d bytes\n", status, size);
		tell_answer(answer, size);
	} else {
		printf("broken message: status %d: %s\n", status, (const char *)answer);
	}
	free(answer);
}

static void play_messages(void *model)
{
	size_t size;
	void *request = pack_request(&size);

	if (request == NULL)
		return;
	play_message(model, request, size);
	play_message(model, request, size - 1);
	free(request);
}

/* --------------------------------------------------------------- the scene */

/* Versions come without a call: this one only wants to see it. */
static void await_version(void *model, int64_t wanted)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int64_t end_ns = now_ns() + PATIENCE_S * INT64_C(1000000000), full_step, delta_step;

	printf("waiting for version %" PRId64 "\n", wanted);
	while (serving_processor_model_version(model, &full_step, &delta_step) == 0 &&
	       full_step != wanted && now_ns() < end_ns)
		nanosleep(&pause, NULL);
}

static void play(void *model)
{
	serving_processor_handle *handle;
	float scores[BATCH];

	play_tensors(model);
	play_messages(model);
	await_version(model, 2);
	handle = serving_processor_acquire(model);
	ask_version(handle, scores);
	serving_processor_release(handle);
}

/* The text of a file, in a block for free(). */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t capacity = 0;

	if (file == NULL || getdelim(&text, &capacity, '\0', file) < 0)
		perror(path);
	if (file != NULL)
		fclose(file);
	return text;
}

/* As DeepRec's initialize(), which tells the reason of a failure in the log only. */
static void *open_model(const char *config, const char *failure)
{
	serving_processor_error *error = NULL;
	void *model = serving_processor_create(config, &error);

	if (model == NULL)
		tell_error(failure, serving_processor_error_code(error), error);
	return model;
}

int main(int argc, char **argv)
{
	char *config = argc == 2 ? read_text(argv[1]) : NULL;
	void *model;

	if (config == NULL) {
		fprintf(stderr, "host CONFIG.json\n");
		return 2;
	}
	if (serving_processor_abi() != SERVING_PROCESSOR_ABI) {
		fprintf(stderr, "the library has the ABI %d, not %d\n", serving_processor_abi(),
			SERVING_PROCESSOR_ABI);
		free(config);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* lines are seen as they come, in a pipe as well */
	serving_processor_destroy(open_model("{}", "wrong configuration"));
	model = open_model(config, "not opened");
	free(config);
	if (model == NULL)
		return 1;
	play(model);
	serving_processor_destroy(model); /* the last call: no thread asks, no handle is held */
	return 0;
}
