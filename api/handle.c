#include "api/handle.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* ------------------------------------------------------------------- opening */

/* The dims stay in `infos`: the processor keeps them as long as the handle lives. */
static const serving_processor_tensor_info *make_infos(const sp_tensor_info *infos, size_t count,
						       sp_arena *arena)
{
	serving_processor_tensor_info *out = sp_arena_array(arena, count, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++)
		out[i] = (serving_processor_tensor_info){.alias = infos[i].alias,
							 .tensor_name = infos[i].tensor_name,
							 .dtype = (int)infos[i].dtype,
							 .rank = infos[i].shape.rank,
							 .dims = infos[i].shape.dims};
	return out;
}

static sp_status make_signatures(sp_handle *handle, sp_error *err)
{
	size_t count = 0;

	while (sp_processor_endpoint(handle->processor, count) != NULL)
		count++;
	handle->arena = sp_arena_create(4096);
	if (handle->arena != NULL)
		handle->signatures = sp_arena_array(handle->arena, count,
						    sizeof(*handle->signatures));
	for (size_t i = 0; handle->signatures != NULL && i < count; i++) {
		const sp_signature *from = &sp_processor_endpoint(handle->processor, i)->signature;
		sp_handle_signature *to = &handle->signatures[i];

		to->inputs = make_infos(from->inputs, from->input_count, handle->arena);
		to->outputs = make_infos(from->outputs, from->output_count, handle->arena);
		if (to->inputs == NULL || to->outputs == NULL)
			handle->signatures = NULL;
	}
	return handle->signatures != NULL
		       ? SP_OK
		       : sp_error_set(err, SP_NO_MEMORY, "no memory for the signatures");
}

/* On failure the handle is for sp_handle_close() all the same. */
static sp_status open_processor(sp_handle *handle, const char *model_config, sp_error *err)
{
	const char *outer;
	sp_status status;

	sp_config_glance(&handle->about, model_config);
	sp_config_set_log(&handle->about);
	outer = sp_log_set_subject(handle->about.model_name);
	status = sp_processor_open(&handle->processor, model_config, err);
	sp_log_set_subject(outer);
	return status;
}

sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err)
{
	sp_handle *handle;
	sp_status status;

	if (model_config == NULL)
		return sp_error_set(err, SP_INVALID, "the configuration is NULL");
	handle = sp_alloc_zero(1, sizeof(*handle));
	if (handle == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a model");
	status = open_processor(handle, model_config, err);
	if (status == SP_OK)
		status = make_signatures(handle, err);
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
	sp_arena_destroy(handle->arena);
	sp_processor_close(handle->processor);
	sp_log_set_subject(outer);
	sp_config_fini(&handle->about);
	sp_free(handle);
}

/* ----------------------------------------------------------------- answering */

/* A copy with a NUL behind it; NULL and 0 when out of memory. */
static void give_text(const char *text, void **output_data, int *output_size)
{
	size_t size = strlen(text);

	*output_data = size <= INT_MAX ? sp_alloc_text(text) : NULL;
	*output_size = *output_data != NULL ? (int)size : 0;
}

/* A line for each request that fails, within limits: or else anybody could fill the log. */
static void log_failure(sp_handle *handle, sp_status status, const char *text)
{
	static sp_log_limit nobodys;

	if (handle == NULL)
		sp_log_limited(&nobodys, SP_LOG_WARNING, "%s", text);
	else if (status == SP_INVALID || status == SP_UNSUPPORTED || status == SP_NOT_FOUND)
		sp_log_limited(&handle->wrong, SP_LOG_WARNING, "%s", text);
	else
		sp_log_limited(&handle->failed, SP_LOG_ERROR, "%s", text);
}

static int fail(sp_handle *handle, const sp_error *error, void **output_data, int *output_size)
{
	char text[SP_ERROR_TEXT_SIZE + 64];

	snprintf(text, sizeof(text), "[TensorFlow] Processor predict failed: %s", error->text);
	log_failure(handle, error->status, text);
	give_text(text, output_data, output_size);
	return 500;
}

static sp_status answer(sp_handle *handle, const char *signature, sp_bytes request,
			void **output_data, int *output_size, sp_error *err)
{
	size_t size;

	SP_TRY(sp_processor_predict(handle->processor, signature, request, output_data, &size,
				    err));
	*output_size = (int)size; /* the encoder refuses more than an int holds */
	return SP_OK;
}

static sp_status describe(sp_handle *handle, const char *signature, void **output_data,
			  int *output_size, sp_error *err)
{
	const sp_endpoint *endpoint = sp_processor_find_endpoint(handle->processor, signature);

	if (endpoint == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
				    signature);
	give_text(endpoint->json, output_data, output_size);
	return *output_data != NULL ? SP_OK
				    : sp_error_set(err, SP_NO_MEMORY,
						   "no memory for the signature's description");
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
	else if (input_size == 0)
		status = describe(handle, signature, output_data, output_size, &error);
	else
		status = answer(handle, signature, (sp_bytes){input_data, (size_t)input_size},
				output_data, output_size, &error);
	if (status != SP_OK)
		code = fail(handle, &error, output_data, output_size);
	sp_log_set_subject(outer);
	return code;
}
