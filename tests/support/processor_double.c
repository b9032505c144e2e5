#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"

/*
 * Stands in for the library where a test needs a processor that is slow, or
 * that fails, on demand.  Its configuration may have, as numbers or texts,
 *
 *	load_ms, run_ms    how long opening and each run take
 *	load_error         opening fails with this text
 *	run_code           runs fail with this serving_processor_code
 *	y_dtype            of the output y, whose bytes are floats none the less
 *	files              so many are open as long as the model is
	versions_file      what is told of versions is in this file
 *
 * Signatures: serving_default, y = x/2 + 2; echo, both inputs as they came.
 */
typedef struct model {
	int run_ms, run_code, y_dtype, files;
	char versions[4096]; /* a path; "": none */
} model;

struct serving_processor_error {
	serving_processor_code code;
	char text[200];
};

struct serving_processor_result {
	serving_processor_tensor tensors[2];
	size_t count;
	int64_t dims[2][8];
};

static int log_level = 1;

static const int64_t any_dim[] = {-1, 2};
static const serving_processor_tensor_info half_input = {"x", "x:0", SERVING_PROCESSOR_FLOAT, 1,
							 any_dim};
static const serving_processor_tensor_info half_output = {"y", "y:0", SERVING_PROCESSOR_FLOAT, -1,
							  NULL};
static const serving_processor_tensor_info echo_infos[] = {
	{"id", "id:0", SERVING_PROCESSOR_INT64, -1, NULL},
	{"text_bytes", "t:0", SERVING_PROCESSOR_STRING, 2, any_dim},
};
static const serving_processor_tensor_info *const half_inputs[] = {&half_input};
static const serving_processor_tensor_info *const half_outputs[] = {&half_output};
static const serving_processor_tensor_info *const echo_tensors[] = {&echo_infos[0], &echo_infos[1]};
static const serving_processor_signature signatures[] = {
	{"echo", "tensorflow/serving/predict", echo_tensors, 2, echo_tensors, 2},
	{"serving_default", "tensorflow/serving/predict", half_inputs, 1, half_outputs, 1},
};

const char *serving_processor_version(void)
{
	return "0.0.0-double";
}

const char *serving_processor_dtype_name(int dtype)
{
	return dtype == SERVING_PROCESSOR_FLOAT   ? "DT_FLOAT"
	       : dtype == SERVING_PROCESSOR_INT64 ? "DT_INT64"
						  : "DT_STRING";
}

/* ------------------------------------------------------------------- errors */

static void set_error(serving_processor_error **error, serving_processor_code code,
		      const char *text)
{
	if (error == NULL)
		return;
	*error = calloc(1, sizeof(**error));
	(*error)->code = code;
	snprintf((*error)->text, sizeof((*error)->text), "%s", text);
}

serving_processor_code serving_processor_error_code(const serving_processor_error *error)
{
	return error->code;
}

const char *serving_processor_error_text(const serving_processor_error *error)
{
	return error->text;
}

void serving_processor_error_free(serving_processor_error *error)
{
	free(error);
}

/* -------------------------------------------------------------------- model */

/* What stands behind "key": in the configuration; NULL without it. */
static const char *value_of(const char *config, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(config, quoted);
	return at != NULL ? at + strlen(quoted) : NULL;
}

static int number_of(const char *config, const char *key)
{
	const char *value = value_of(config, key);

	return value != NULL ? atoi(value) : 0;
}

void *serving_processor_create(const char *config, serving_processor_error **error)
{
	model *m;

	usleep((useconds_t)number_of(config, "load_ms") * 1000);
	if (value_of(config, "load_error") != NULL) {
		set_error(error, SERVING_PROCESSOR_CORRUPT, value_of(config, "load_error"));
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	m->run_ms = number_of(config, "run_ms");
	m->run_code = number_of(config, "run_code");
	m->y_dtype = number_of(config, "y_dtype");
	m->files = number_of(config, "files");
	for (int i = 0; i < m->files; i++)
		if (dup(2) < 0)
			abort();
	if (value_of(config, "versions_file") != NULL)
		sscanf(value_of(config, "versions_file"), "\"%4095[^\"]\"", m->versions);
	return m;
}

/* The log's form is the library's own business. */
void serving_processor_log(int level, const char *about, const char *line)
{
	if (level >= log_level)
		fprintf(stderr, "%d [%s] %s\n", level, about != NULL ? about : "", line);
}

void serving_processor_set_log_level(int level)
{
	log_level = level;
}

int serving_processor_log_level(void)
{
	return log_level;
}

void serving_processor_configure_log(const char *config)
{
	static const char *const levels[] = {"debug", "info", "warning", "error"};
	const char *value = value_of(config, "log_level");

	for (int i = 0; value != NULL && i < 4; i++)
		if (strncmp(value + 1, levels[i], strlen(levels[i])) == 0)
			log_level = i;
}

char *serving_processor_override_config(const char *config, const char *overrides,
					serving_processor_error **error)
{
	(void)overrides;
	(void)error;
	return strdup(config);
}

void serving_processor_destroy(void *m)
{
	free(m);
}

char *serving_processor_versions(void *handle)
{
	const model *m = handle;
	char *text = NULL;
	size_t room = 0;
	FILE *file;

	if (m == NULL || m->versions[0] == '\0')
		return m != NULL ? strdup("{\"versions\":[]}") : NULL;
	file = fopen(m->versions, "r");
	if (file == NULL || getdelim(&text, &room, '\0', file) < 0)
		abort();
	fclose(file);
	return text;
}

void serving_processor_free(void *data)
{
	free(data);
}

serving_processor_code serving_processor_give_order(void *m, serving_processor_order order,
						    int64_t full_step, int64_t delta_step,
						    const char *by, serving_processor_error **error)
{
	char text[64];

	(void)m;
	if (order == SERVING_PROCESSOR_RELOAD)
		return SERVING_PROCESSOR_OK;
	if (order == SERVING_PROCESSOR_ROLLBACK) {
		set_error(error, SERVING_PROCESSOR_NOT_FOUND,
			  "no version was live before this one");
		return SERVING_PROCESSOR_NOT_FOUND;
	}
	snprintf(text, sizeof(text), "pin %lld %lld", (long long)full_step, (long long)delta_step);
	fprintf(stderr, "%s by %s\n", text, by);
	set_error(error, SERVING_PROCESSOR_UNSUPPORTED, text);
	return SERVING_PROCESSOR_UNSUPPORTED;
}

/* ------------------------------------------------------------------- handles */

serving_processor_handle *serving_processor_acquire(void *m)
{
	return m;
}

void serving_processor_release(serving_processor_handle *handle)
{
	(void)handle;
}

int serving_processor_handle_version(const serving_processor_handle *handle, int64_t *full_step,
				     int64_t *delta_step)
{
	(void)delta_step;
	*full_step = 77;
	return handle == NULL ? -1 : 0;
}

const serving_processor_signature *serving_processor_handle_signatures(
	const serving_processor_handle *handle, size_t *count)
{
	(void)handle;
	*count = 2;
	return signatures;
}

const serving_processor_signature *serving_processor_handle_signature(
	const serving_processor_handle *handle, const char *name)
{
	(void)handle;
	for (size_t i = 0; name != NULL && i < 2; i++)
		if (strcmp(signatures[i].name, name) == 0)
			return &signatures[i];
	return name == NULL ? &signatures[1] : NULL;
}

const serving_processor_example_feature *serving_processor_handle_example_features(
	const serving_processor_handle *handle, const char *signature, const char *input,
	size_t *count)
{
	(void)handle;
	(void)signature;
	(void)input;
	*count = 0;
	return NULL;
}

/* ---------------------------------------------------------------------- run */

static void *copy_data(const serving_processor_tensor *tensor)
{
	size_t size = tensor->count * (tensor->dtype == SERVING_PROCESSOR_STRING  ? 16
				       : tensor->dtype == SERVING_PROCESSOR_INT64 ? 8
										  : 4);
	void *data = malloc(size + 1);

	memcpy(data, tensor->data, size);
	return data;
}

/* Each output is the input of the same place: a string still a view of it. */
static serving_processor_result *echo(const serving_processor_tensor *inputs, size_t count)
{
	serving_processor_result *result = calloc(1, sizeof(*result));

	result->count = count;
	for (size_t i = 0; i < count; i++) {
		result->tensors[i] = inputs[i];
		memcpy(result->dims[i], inputs[i].dims, (size_t)inputs[i].rank * 8);
		result->tensors[i].dims = result->dims[i];
		result->tensors[i].data = copy_data(&inputs[i]);
	}
	return result;
}

static void halve_plus_two(serving_processor_tensor *tensor)
{
	float *values = (float *)(uintptr_t)tensor->data;

	tensor->name = "y";
	for (size_t i = 0; i < tensor->count; i++)
		values[i] = values[i] / 2 + 2;
}

/* Answers the message itself. */
serving_processor_code serving_processor_handle_process(
	const serving_processor_handle *handle, const char *signature, const void *input_data,
	size_t input_size, const serving_processor_run_options *options, void **output_data,
	size_t *output_size, serving_processor_error **error)
{
	const model *self = (const model *)handle;

	(void)signature;
	(void)options;
	usleep((useconds_t)self->run_ms * 1000);
	if (self->run_code != 0) {
		set_error(error, (serving_processor_code)self->run_code, "as \"configured\"");
		return (serving_processor_code)self->run_code;
	}
	*output_data = calloc(1, input_size + 1);
	memcpy(*output_data, input_data, input_size);
	*output_size = input_size;
	return SERVING_PROCESSOR_OK;
}

serving_processor_code serving_processor_handle_run_with(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_result **result, serving_processor_error **error)
{
	const model *self = (const model *)handle;

	(void)outputs;
	(void)output_count;
	(void)options;
	usleep((useconds_t)self->run_ms * 1000);
	if (self->run_code != 0) {
		set_error(error, (serving_processor_code)self->run_code, "as \"configured\"");
		return (serving_processor_code)self->run_code;
	}
	*result = echo(inputs, input_count);
	if (strcmp(signature, "serving_default") == 0)
		halve_plus_two(&(*result)->tensors[0]);
	if (self->y_dtype != 0)
		(*result)->tensors[0].dtype = self->y_dtype;
	return SERVING_PROCESSOR_OK;
}

serving_processor_code serving_processor_handle_run(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, serving_processor_result **result, serving_processor_error **error)
{
	return serving_processor_handle_run_with(handle, signature, inputs, input_count, outputs,
						 output_count, NULL, result, error);
}

size_t serving_processor_result_count(const serving_processor_result *result)
{
	return result->count;
}

const serving_processor_tensor *serving_processor_result_tensor(
	const serving_processor_result *result, size_t i)
{
	return &result->tensors[i];
}

void serving_processor_result_free(serving_processor_result *result)
{
	for (size_t i = 0; result != NULL && i < result->count; i++)
		free((void *)(uintptr_t)result->tensors[i].data);
	free(result);
}
