#include "tests/support/fake_run.h"

struct serving_processor_result sp_fake_result;
serving_processor_code sp_fake_code;
sp_fake_look *sp_fake_on_run;
size_t sp_fake_open;

serving_processor_code serving_processor_handle_run_with(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_result **result, serving_processor_error **error)
{
	(void)handle, (void)signature, (void)outputs, (void)output_count, (void)options;
	*error = NULL;
	if (sp_fake_on_run != NULL)
		sp_fake_on_run(inputs, input_count);
	if (sp_fake_code != SERVING_PROCESSOR_OK)
		return sp_fake_code;
	*result = &sp_fake_result;
	sp_fake_open++;
	return SERVING_PROCESSOR_OK;
}

size_t serving_processor_result_count(const serving_processor_result *result)
{
	return result != NULL ? result->count : 0;
}

const serving_processor_tensor *serving_processor_result_tensor(
	const serving_processor_result *result, size_t i)
{
	return i < result->count ? &result->tensors[i] : NULL;
}

void serving_processor_result_free(serving_processor_result *result)
{
	sp_fake_open -= result != NULL;
}

const char *serving_processor_error_text(const serving_processor_error *error)
{
	(void)error;
	return "the run failed";
}

void serving_processor_error_free(serving_processor_error *error)
{
	(void)error;
}

const char *serving_processor_dtype_name(int dtype)
{
	return dtype == SERVING_PROCESSOR_FLOAT    ? "DT_FLOAT"
	       : dtype == SERVING_PROCESSOR_STRING ? "DT_STRING"
	       : dtype == SERVING_PROCESSOR_INT64  ? "DT_INT64"
						   : "DT_INVALID";
}
