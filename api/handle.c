#include "api/handle.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* ------------------------------------------------------------------- opening */

sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err)
{
	const char *outer;
	sp_handle *handle;
	sp_status status;

	if (model_config == NULL)
		return sp_error_set(err, SP_INVALID, "the configuration is NULL");
	handle = sp_alloc_zero(1, sizeof(*handle));
	SP_NEED_MEMORY(handle, err, "a model");
	sp_config_read_log_keys(&handle->about, model_config);
	sp_config_set_log(&handle->about);
	outer = sp_log_set_subject(handle->about.model_name);
	status = sp_processor_open(&handle->processor, model_config, err);
	sp_log_set_subject(outer);
	if (status != SP_OK) {
		sp_handle_close(handle);
		return status;
	}
	*out = handle;
	return SP_OK;
}

void sp_handle_close(sp_handle *handle)
{
	const char *outer;

	if (handle == NULL)
		return;
	outer = sp_log_set_subject(handle->about.model_name);
	sp_log_limit_end(&handle->wrong, SP_LOG_WARNING);
	sp_log_limit_end(&handle->failed, SP_LOG_ERROR);
	sp_processor_close(handle->processor);
	sp_log_set_subject(outer);
	sp_config_fini(&handle->about);
	sp_free(handle);
}

/* ----------------------------------------------------------------- answering */

/* Sets a terminated copy; NULL and 0 when out of memory. */
static void set_text(const char *text, void **output_data, int *output_size)
{
	size_t size = strlen(text);

	*output_data = size <= INT_MAX ? sp_alloc_text(text) : NULL;
	*output_size = *output_data != NULL ? (int)size : 0;
}

/* Rate-limited, because any client could fill the log. */
static void log_failure(sp_handle *handle, sp_status status, const char *text)
{
	static sp_log_limit without_model;

	if (handle == NULL)
		sp_log_limited(&without_model, SP_LOG_WARNING, "%s", text);
	else if (status == SP_INVALID || status == SP_UNSUPPORTED || status == SP_NOT_FOUND)
		sp_log_limited(&handle->wrong, SP_LOG_WARNING, "%s", text);
	else
		sp_log_limited(&handle->failed, SP_LOG_ERROR, "%s", text);
}

/* DeepRec knows 500 only. */
static int code_of(const sp_handle *handle, sp_status status)
{
	if (handle == NULL || sp_processor_config(handle->processor)->status_codes == 0)
		return 500;
	switch (status) {
	case SP_INVALID:
	case SP_UNSUPPORTED:
		return 400;
	case SP_NOT_FOUND:
		return 404;
	case SP_BUSY:
	case SP_NO_MEMORY:
		return 503;
	case SP_DEADLINE:
		return 504;
	default:
		return 500;
	}
}

static int fail(sp_handle *handle, const sp_error *error, void **output_data, int *output_size)
{
	char text[SP_ERROR_TEXT_SIZE + 64];

	snprintf(text, sizeof(text), "[TensorFlow] Processor predict failed: %s", error->text);
	log_failure(handle, error->status, text);
	set_text(text, output_data, output_size);
	return code_of(handle, error->status);
}

static sp_status answer(const sp_handle *handle, const char *signature, sp_bytes request,
			void **output_data, int *output_size, sp_error *err)
{
	size_t size;

	SP_TRY(sp_processor_predict(handle->processor, NULL, signature, request, NULL, output_data,
				    &size, err));
	*output_size = (int)size; /* the encoder refuses answers above INT_MAX */
	return SP_OK;
}

static sp_status describe(const sp_handle *handle, const char *signature, void **output_data,
			  int *output_size, sp_error *err)
{
	sp_version *live = sp_processor_acquire(handle->processor);
	const sp_endpoint *endpoint = sp_runtime_endpoint(live->runtime, signature);
	sp_status status = SP_OK;

	if (endpoint != NULL)
		set_text(endpoint->json, output_data, output_size);
	if (endpoint == NULL)
		status = sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
				      signature);
	else if (*output_data == NULL)
		status = sp_no_memory(err, "the signature's description");
	sp_processor_release(live);
	return status;
}

int sp_handle_process(sp_handle *handle, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size)
{
	sp_error error;
	sp_status status;
	const char *outer;
	int code = 200;

	if (output_data == NULL || output_size == NULL)
		return 500;
	outer = sp_log_set_subject(handle != NULL ? handle->about.model_name : NULL);
	if (handle == NULL)
		status = sp_error_set(&error, SP_INVALID, "the model is NULL");
	else if (input_size < 0 || (input_size > 0 && input_data == NULL))
		status = sp_error_set(&error, SP_INVALID, "no request of %d bytes", input_size);
	else if (input_size > 0)
		status = answer(handle, signature, (sp_bytes){input_data, (size_t)input_size},
				output_data, output_size, &error);
	else
		status = describe(handle, signature, output_data, output_size, &error);
	if (status != SP_OK)
		code = fail(handle, &error, output_data, output_size);
	sp_log_set_subject(outer);
	return code;
}
