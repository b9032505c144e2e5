#include "tests/support/row_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host/infer/infer_run.h"

_Atomic(sp_row_kind) sp_row_kind_of_model;
atomic_size_t sp_row_log[SP_ROW_LOG], sp_row_runs, sp_row_open;
atomic_bool sp_row_gate;
atomic_uint sp_row_run_us;

static const int64_t open_dims[] = {-1, -1};
static const serving_processor_tensor_info infos[] = {
	{"x", "x:0", SERVING_PROCESSOR_FLOAT, 2, open_dims},
	{"s", "s:0", SERVING_PROCESSOR_STRING, 1, open_dims},
	{"y", "y:0", SERVING_PROCESSOR_FLOAT, -1, NULL},
	{"t", "t:0", SERVING_PROCESSOR_STRING, 1, open_dims},
};
static const serving_processor_tensor_info *const inputs_of[] = {&infos[0], &infos[1]};
static const serving_processor_tensor_info *const outputs_of[] = {&infos[2], &infos[3]};

const serving_processor_signature sp_row_signature = {"rows", "", inputs_of, 2, outputs_of, 2};
const serving_processor_signature sp_other_signature = {"other", "", inputs_of, 2, outputs_of, 2};

void sp_row_version_init(sp_row_version *version, struct sp_batcher *batcher, int64_t number)
{
	memset(version, 0, sizeof(*version));
	version->model.name = "rows";
	sp_batching_config_init(&version->served.batching);
	version->servable = (sp_servable){.model = &version->model,
					  .handle = (serving_processor_handle *)version,
					  .version = number,
					  .served = &version->served,
					  .shadow_version = -1,
					  .batcher = batcher};
}

/* ------------------------------------------------------------------ requests */

enum { TEXT = 16 };

static bool is_right(const sp_row_request *a, const sp_infer_result *result)
{
	const serving_processor_tensor *t = &result->tensors[a->only_t ? 0 : 1];
	const serving_processor_bytes *texts = t->data;
	const float *y = result->tensors[0].data;
	size_t count = a->only_t ? 1 : 2;

	if (result->count != count || t->count != a->rows || t->dims[0] != (int64_t)a->rows)
		return false;
	for (size_t i = 0; i < a->rows; i++) {
		int number = a->from + (int)i;
		char text[TEXT];

		snprintf(text, sizeof(text), "%d", number);
		if (texts[i].size != strlen(text) || memcmp(texts[i].data, text, strlen(text)) != 0)
			return false;
		if (!a->only_t && fabsf(y[i] - (float)a->width * (float)number) > 0)
			return false;
	}
	return true;
}

void sp_row_ask(sp_row_request *a)
{
	static const char *const only_t[] = {"t"};
	float x[SP_MAX_ROWS * SP_MAX_ROW_WIDTH];
	char texts[SP_MAX_ROWS][TEXT];
	serving_processor_bytes s[SP_MAX_ROWS];
	const int64_t dims[] = {(int64_t)a->rows, (int64_t)a->width};
	const serving_processor_tensor inputs[] = {
		{"x", SERVING_PROCESSOR_FLOAT, 2, dims, a->rows * a->width, x},
		{"s", SERVING_PROCESSOR_STRING, 1, dims, a->rows, s}};
	const sp_infer_request request = {a->signature, inputs, 2, a->only_t ? only_t : NULL,
					  a->only_t};
	const sp_infer_limits limits = {.deadline_ns = a->deadline_ns, .cancelled = &a->cancelled};
	sp_infer_result result;

	for (size_t i = 0; i < a->rows; i++) {
		for (size_t k = 0; k < a->width; k++)
			x[i * a->width + k] = (float)(a->from + (int)i);
		snprintf(texts[i], TEXT, "%d", a->from + (int)i);
		s[i] = (serving_processor_bytes){texts[i], strlen(texts[i])};
	}
	a->status = sp_infer_run(&a->version->servable, &request, &limits, &result, &a->err);
	a->right = a->status == SP_OK && is_right(a, &result);
	sp_infer_result_fini(&result);
}

/* ------------------------------------------------------------------- the library */

struct serving_processor_result {
	serving_processor_tensor tensors[2];
	size_t count;
	int64_t dims[2][1];
};

static double sum(const float *values, size_t count)
{
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += (double)values[i];
	return total;
}

static void compute_y(serving_processor_tensor *y, const serving_processor_tensor *x)
{
	size_t rows = (size_t)x->dims[0], width = x->count / rows;
	float *values = malloc(rows * sizeof(*values));

	for (size_t i = 0; i < rows; i++)
		values[i] = sp_row_kind_of_model == SP_ROWS_DEPENDENT
				    ? (float)sum(x->data, x->count)
				    : (float)sum((const float *)x->data + i * width, width);
	y->data = values;
}

static serving_processor_result *compute(const serving_processor_tensor *x,
					 const serving_processor_tensor *s, bool only_t)
{
	serving_processor_result *result = calloc(1, sizeof(*result));
	size_t rows = (size_t)x->dims[0], texts_size = rows * sizeof(serving_processor_bytes);
	size_t y_rows = sp_row_kind_of_model == SP_ROWS_ONE ? 1 : rows;
	serving_processor_bytes *texts = malloc(texts_size);
	serving_processor_tensor *t = &result->tensors[only_t ? 0 : 1];

	result->dims[0][0] = (int64_t)y_rows;
	result->dims[1][0] = (int64_t)rows;
	result->tensors[0] = (serving_processor_tensor){
		"y", SERVING_PROCESSOR_FLOAT, 1, result->dims[0], y_rows, NULL};
	if (!only_t)
		compute_y(&result->tensors[0], x);
	memcpy(texts, s->data, texts_size);
	for (size_t i = 0; i < rows; i++) {
		char *copy = malloc(texts[i].size + 1);

		memcpy(copy, texts[i].data, texts[i].size);
		texts[i].data = copy;
	}
	*t = (serving_processor_tensor){"t",  SERVING_PROCESSOR_STRING, 1, result->dims[1], rows,
					texts};
	result->count = only_t ? 1 : 2;
	return result;
}

serving_processor_code serving_processor_handle_run_with(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_result **result, serving_processor_error **error)
{
	const float *x = inputs[0].data;

	(void)handle, (void)signature, (void)input_count, (void)outputs, (void)options;
	*error = NULL;
	while (atomic_load(&sp_row_gate))
		usleep(500);
	if (sp_row_run_us != 0)
		usleep(sp_row_run_us);
	sp_row_log[atomic_fetch_add(&sp_row_runs, 1) % SP_ROW_LOG] = (size_t)inputs[0].dims[0];
	for (size_t i = 0; i < inputs[0].count; i++)
		if (x[i] < 0)
			return SERVING_PROCESSOR_INVALID;
	*result = compute(&inputs[0], &inputs[1], output_count != 0);
	atomic_fetch_add(&sp_row_open, 1);
	return SERVING_PROCESSOR_OK;
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
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->count; i++) {
		const serving_processor_tensor *tensor = &result->tensors[i];
		const serving_processor_bytes *texts = tensor->data;

		for (size_t k = 0; tensor->dtype == SERVING_PROCESSOR_STRING && k < tensor->count;
		     k++)
			free((char *)(uintptr_t)texts[k].data);
		free((void *)(uintptr_t)tensor->data);
	}
	free(result);
	atomic_fetch_sub(&sp_row_open, 1);
}

const char *serving_processor_error_text(const serving_processor_error *error)
{
	(void)error;
	return "a number is negative";
}

void serving_processor_error_free(serving_processor_error *error)
{
	(void)error;
}
