#include "api/handle.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* ------------------------------------------------------------------- opening */

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
	pthread_mutex_init(&handle->lock, NULL);
	status = open_processor(handle, model_config, err);
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
	pthread_mutex_destroy(&handle->lock);
	sp_free(handle);
}

/* ---------------------------------------------------------------- signatures */

static sp_told_signatures *find_told(const sp_handle *handle, const sp_runtime *runtime)
{
	for (sp_told_signatures *told = handle->told; told != NULL; told = told->next)
		if (told->runtime == runtime->number)
			return told;
	for (sp_told_signatures *told = handle->told; told != NULL; told = told->next)
		if (told->count == runtime->endpoint_count &&
		    strcmp(told->configured->name, runtime->configured->signature.name) == 0 &&
		    sp_public_signatures_equal(told->signatures, runtime->public_signatures,
					       told->count))
			return told;
	return NULL;
}

static sp_told_signatures *add_told(sp_handle *handle, const sp_runtime *runtime)
{
	sp_told_signatures *told;

	if (handle->arena == NULL)
		handle->arena = sp_arena_create(4096);
	told = handle->arena != NULL ? sp_arena_alloc(handle->arena, sizeof(*told)) : NULL;
	if (told == NULL)
		return NULL;
	*told = (sp_told_signatures){.next = handle->told,
				     .signatures = sp_public_signatures_of(runtime->endpoints,
									   runtime->endpoint_count,
									   handle->arena),
				     .count = runtime->endpoint_count};
	if (told->signatures == NULL)
		return NULL;
	told->configured = &told->signatures[runtime->configured - runtime->endpoints];
	handle->told = told;
	return told;
}

const sp_told_signatures *sp_handle_tell(sp_handle *handle)
{
	sp_version *version = sp_processor_acquire(handle->processor);
	sp_told_signatures *told;

	pthread_mutex_lock(&handle->lock);
	told = find_told(handle, version->runtime);
	if (told == NULL)
		told = add_told(handle, version->runtime);
	if (told != NULL)
		told->runtime = version->runtime->number;
	pthread_mutex_unlock(&handle->lock);
	sp_processor_release(version);
	return told;
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

/* Who answers: a model by its live version, or the version that is held. */
typedef struct answerer {
	sp_handle *handle;
	const sp_version *held; /* NULL: none is */
} answerer;

/* Of the model, for log lines. */
static const char *name_of(const answerer *who)
{
	if (who->held != NULL)
		return sp_processor_name_of(who->held);
	return who->handle != NULL ? who->handle->about.model_name : NULL;
}

static sp_status answer(const answerer *who, const char *signature, sp_bytes request,
			void **output_data, int *output_size, sp_error *err)
{
	size_t size;

	if (who->held != NULL)
		SP_TRY(sp_processor_predict_with(who->held, signature, request, output_data, &size,
						 err));
	else
		SP_TRY(sp_processor_predict(who->handle->processor, signature, request, output_data,
					    &size, err));
	*output_size = (int)size; /* the encoder refuses more than an int holds */
	return SP_OK;
}

static sp_status describe(const sp_version *version, const char *signature, void **output_data,
			  int *output_size, sp_error *err)
{
	const sp_endpoint *endpoint = sp_runtime_endpoint(version->runtime, signature);

	if (endpoint == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
				    signature);
	give_text(endpoint->json, output_data, output_size);
	return *output_data != NULL ? SP_OK
				    : sp_error_set(err, SP_NO_MEMORY,
						   "no memory for the signature's description");
}

static sp_status describe_live(sp_processor *processor, const char *signature, void **output_data,
			       int *output_size, sp_error *err)
{
	sp_version *live = sp_processor_acquire(processor);
	sp_status status = describe(live, signature, output_data, output_size, err);

	sp_processor_release(live);
	return status;
}

static int process_by(const answerer *who, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size)
{
	sp_error error;
	sp_status status;
	const char *outer;
	int code = 200;

	if (output_data == NULL || output_size == NULL)
		return 500;
	outer = sp_log_set_subject(name_of(who));
	if (who->handle == NULL && who->held == NULL)
		status = sp_error_set(&error, SP_INVALID, "the model is NULL");
	else if (input_size < 0 || (input_size > 0 && input_data == NULL))
		status = sp_error_set(&error, SP_INVALID, "no request of %d bytes", input_size);
	else if (input_size > 0)
		status = answer(who, signature, (sp_bytes){input_data, (size_t)input_size},
				output_data, output_size, &error);
	else if (who->held != NULL)
		status = describe(who->held, signature, output_data, output_size, &error);
	else
		status = describe_live(who->handle->processor, signature, output_data, output_size,
				       &error);
	if (status != SP_OK)
		code = fail(who->handle, &error, output_data, output_size);
	sp_log_set_subject(outer);
	return code;
}

int sp_handle_process(sp_handle *handle, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size)
{
	answerer who = {.handle = handle};

	return process_by(&who, signature, input_data, input_size, output_data, output_size);
}

int sp_handle_process_with(const sp_version *version, const char *signature, const void *input_data,
			   int input_size, void **output_data, int *output_size)
{
	answerer who = {.held = version};

	return process_by(&who, signature, input_data, input_size, output_data, output_size);
}
