#include <config.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/handle.h"
#include "api/serving_processor.h"
#include "base/alloc.h"
#include "base/log_line.h"
#include "base/utf8.h"
#include "processor/config/config.h"

/* ---------------------------------------------------------- names and numbers */

_Static_assert((int)SERVING_PROCESSOR_OK == SP_OK &&
		       (int)SERVING_PROCESSOR_NOT_FOUND == SP_NOT_FOUND &&
		       (int)SERVING_PROCESSOR_INVALID == SP_INVALID &&
		       (int)SERVING_PROCESSOR_UNSUPPORTED == SP_UNSUPPORTED &&
		       (int)SERVING_PROCESSOR_CORRUPT == SP_CORRUPT &&
		       (int)SERVING_PROCESSOR_IO == SP_IO &&
		       (int)SERVING_PROCESSOR_NO_MEMORY == SP_NO_MEMORY &&
		       (int)SERVING_PROCESSOR_BUSY == SP_BUSY &&
		       (int)SERVING_PROCESSOR_DEADLINE == SP_DEADLINE &&
		       (int)SERVING_PROCESSOR_INTERNAL == SP_INTERNAL &&
		       (int)SERVING_PROCESSOR_CANCELLED == SP_CANCELLED,
	       "public codes equal sp_status");
_Static_assert(SP_LOG_DEBUG == 0 && SP_LOG_INFO == 1 && SP_LOG_WARNING == 2 && SP_LOG_ERROR == 3,
	       "public levels equal sp_log_level");
_Static_assert(sizeof(serving_processor_bytes) == sizeof(sp_bytes) &&
		       offsetof(serving_processor_bytes, data) == offsetof(sp_bytes, data) &&
		       offsetof(serving_processor_bytes, size) == offsetof(sp_bytes, size),
	       "string elements are passed unchanged");
#define SAME_MEMBER(public, ours, member) (offsetof(public, member) == offsetof(ours, member))
_Static_assert(sizeof(serving_processor_tensor_info) == sizeof(sp_public_tensor) &&
		       SAME_MEMBER(serving_processor_tensor_info, sp_public_tensor, alias) &&
		       SAME_MEMBER(serving_processor_tensor_info, sp_public_tensor, tensor_name) &&
		       SAME_MEMBER(serving_processor_tensor_info, sp_public_tensor, dtype) &&
		       SAME_MEMBER(serving_processor_tensor_info, sp_public_tensor, rank) &&
		       SAME_MEMBER(serving_processor_tensor_info, sp_public_tensor, dims),
	       "tensor infos are passed out unchanged");
_Static_assert(sizeof(serving_processor_signature) == sizeof(sp_public_signature) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, name) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, method) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, inputs) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, input_count) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, outputs) &&
		       SAME_MEMBER(serving_processor_signature, sp_public_signature, output_count),
	       "signatures are passed out unchanged");
_Static_assert(sizeof(serving_processor_example_feature) == sizeof(sp_example_feature) &&
		       SAME_MEMBER(serving_processor_example_feature, sp_example_feature, name) &&
		       SAME_MEMBER(serving_processor_example_feature, sp_example_feature, dtype) &&
		       SAME_MEMBER(serving_processor_example_feature, sp_example_feature, kind) &&
		       (int)SERVING_PROCESSOR_DENSE == SP_FEATURE_DENSE &&
		       (int)SERVING_PROCESSOR_SPARSE == SP_FEATURE_SPARSE &&
		       (int)SERVING_PROCESSOR_RAGGED == SP_FEATURE_RAGGED,
	       "features of examples are passed out unchanged");

const char *serving_processor_version(void)
{
	return PACKAGE_VERSION;
}

int serving_processor_abi(void)
{
	return SERVING_PROCESSOR_ABI;
}

const char *serving_processor_dtype_name(int dtype)
{
	return sp_dtype_name((sp_dtype)dtype);
}

void serving_processor_free(void *data)
{
	sp_free(data);
}

/* -------------------------------------------------------------------- errors */

struct serving_processor_error {
	sp_error error;
};

/* Returned when there is no memory for an error. */
static const serving_processor_error no_memory = {{SP_NO_MEMORY, "out of memory"}};

serving_processor_code sp_api__return_error(const sp_error *error, serving_processor_error **out)
{
	serving_processor_error *copy;

	if (out != NULL) {
		copy = sp_alloc(sizeof(*copy));
		if (copy != NULL)
			copy->error = *error;
		*out = copy != NULL ? copy : (serving_processor_error *)(uintptr_t)&no_memory;
	}
	return (serving_processor_code)error->status;
}

serving_processor_code serving_processor_error_code(const serving_processor_error *error)
{
	return error != NULL ? (serving_processor_code)error->error.status : SERVING_PROCESSOR_OK;
}

const char *serving_processor_error_text(const serving_processor_error *error)
{
	return error != NULL ? error->error.text : "";
}

void serving_processor_error_free(serving_processor_error *error)
{
	if (error != &no_memory)
		sp_free(error);
}

/* ----------------------------------------------------------------------- log */

/* Protects host_sink and host_context. */
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static serving_processor_log_sink *host_sink;
static void *host_context;

/* Prefixes the line with the model's name. */
static void forward_line(void *context, int level, const char *line)
{
	const char *model = sp_log_subject();
	char named[SP_LOG_LINE_SIZE];

	(void)context;
	if (model != NULL && *model != '\0') {
		snprintf(named, sizeof(named), "[%.*s] %s", SP_LOG_SUBJECT_SIZE - 1, model, line);
		sp_utf8_make_printable(named);
		line = named;
	}
	pthread_mutex_lock(&sink_lock);
	if (host_sink != NULL)
		host_sink(host_context, level, line);
	pthread_mutex_unlock(&sink_lock);
}

void serving_processor_set_log(serving_processor_log_sink *sink, void *context)
{
	pthread_mutex_lock(&sink_lock);
	host_sink = sink;
	host_context = context;
	pthread_mutex_unlock(&sink_lock);
	sp_log_set_sink(sink != NULL ? forward_line : NULL, NULL);
}

void serving_processor_set_log_level(int level)
{
	sp_log_set_level((sp_log_level)level);
}

int serving_processor_log_level(void)
{
	return (int)sp_log_get_level();
}

void serving_processor_configure_log(const char *model_config)
{
	sp_config config;

	if (model_config == NULL)
		return;
	sp_config_read_log_keys(&config, model_config);
	sp_config_set_log(&config);
	sp_config_fini(&config);
}

void serving_processor_log(int level, const char *model, const char *line)
{
	const char *outer = sp_log_set_subject(model);

	sp_log((sp_log_level)level, "%s", line != NULL ? line : "");
	sp_log_set_subject(outer);
}

/* --------------------------------------------------------------------- model */

void *serving_processor_create(const char *model_config, serving_processor_error **error)
{
	sp_handle *handle = NULL;
	sp_error reason;

	if (sp_handle_open(&handle, model_config, &reason) != SP_OK)
		sp_api__return_error(&reason, error);
	return handle;
}

char *serving_processor_override_config(const char *model_config, const char *overrides,
					serving_processor_error **error)
{
	char *merged = NULL;
	sp_error reason;
	sp_status status;

	if (model_config == NULL || overrides == NULL)
		status = sp_error_set(&reason, SP_INVALID, "the configuration is NULL");
	else
		status = sp_config_override(&merged, model_config, overrides, &reason);
	if (status != SP_OK)
		sp_api__return_error(&reason, error);
	return merged;
}

void serving_processor_destroy(void *model)
{
	sp_handle_close(model);
}

int serving_processor_process(void *model, const char *signature, const void *input_data,
			      int input_size, void **output_data, int *output_size)
{
	return sp_handle_process(model, signature, input_data, input_size, output_data,
				 output_size);
}

/* ------------------------------------------------------------------ versions */

char *serving_processor_versions(void *model)
{
	const sp_handle *handle = model;

	return handle != NULL ? sp_processor_versions(handle->processor) : NULL;
}

serving_processor_code serving_processor_give_order(void *model, serving_processor_order order,
						    int64_t full_step, int64_t delta_step,
						    const char *by, serving_processor_error **error)
{
	static const sp_order_kind kinds[] = {
		[SERVING_PROCESSOR_RELOAD] = SP_ORDER_RELOAD,
		[SERVING_PROCESSOR_ROLLBACK] = SP_ORDER_ROLLBACK,
		[SERVING_PROCESSOR_PIN] = SP_ORDER_PIN,
	};
	const sp_handle *handle = model;
	sp_status status;
	sp_error reason;

	if (handle == NULL)
		status = sp_error_set(&reason, SP_INVALID, "the model is NULL");
	else if ((size_t)order >= sizeof(kinds) / sizeof(kinds[0]))
		status = sp_error_set(&reason, SP_INVALID, "there is no order %d", (int)order);
	else
		status = sp_updater_order(sp_processor_updater(handle->processor), kinds[order],
					  full_step, delta_step, by, &reason);
	return status == SP_OK ? SERVING_PROCESSOR_OK : sp_api__return_error(&reason, error);
}

serving_processor_code serving_processor_reload(void *model, serving_processor_error **error)
{
	return serving_processor_give_order(model, SERVING_PROCESSOR_RELOAD, -1, -1, NULL, error);
}

serving_processor_code serving_processor_rollback(void *model, serving_processor_error **error)
{
	return serving_processor_give_order(model, SERVING_PROCESSOR_ROLLBACK, -1, -1, NULL, error);
}

serving_processor_code serving_processor_pin_version(void *model, int64_t full_step,
						     int64_t delta_step,
						     serving_processor_error **error)
{
	return serving_processor_give_order(model, SERVING_PROCESSOR_PIN, full_step, delta_step,
					    NULL, error);
}

/* ------------------------------------------------------------------- handles */

serving_processor_handle *serving_processor_acquire(void *model)
{
	const sp_handle *handle = model;

	return handle != NULL ? (serving_processor_handle *)sp_processor_acquire(handle->processor)
			      : NULL;
}

void serving_processor_release(serving_processor_handle *handle)
{
	sp_processor_release((sp_version *)handle);
}

int serving_processor_handle_version(const serving_processor_handle *handle, int64_t *full_step,
				     int64_t *delta_step)
{
	const sp_version *version = sp_api__version_of(handle);

	if (version == NULL)
		return -1;
	if (full_step != NULL)
		*full_step = version->full_step;
	if (delta_step != NULL)
		*delta_step = version->delta_step;
	return 0;
}

int serving_processor_model_version(void *model, int64_t *full_step, int64_t *delta_step)
{
	serving_processor_handle *live = serving_processor_acquire(model);
	int code = serving_processor_handle_version(live, full_step, delta_step);

	serving_processor_release(live);
	return code;
}

const serving_processor_signature *serving_processor_handle_signatures(
	const serving_processor_handle *handle, size_t *count)
{
	const sp_version *version = sp_api__version_of(handle);

	if (count != NULL)
		*count = version != NULL ? version->runtime->endpoint_count : 0;
	return version != NULL
		       ? (const serving_processor_signature *)version->runtime->public_signatures
		       : NULL;
}

const serving_processor_signature *serving_processor_handle_signature(
	const serving_processor_handle *handle, const char *name)
{
	const sp_version *version = sp_api__version_of(handle);
	const sp_endpoint *endpoint = version != NULL ? sp_runtime_endpoint(version->runtime, name)
						      : NULL;

	return endpoint != NULL ? (const serving_processor_signature *)&version->runtime
					  ->public_signatures[endpoint->entry]
				: NULL;
}

const serving_processor_example_feature *serving_processor_handle_example_features(
	const serving_processor_handle *handle, const char *signature, const char *input,
	size_t *count)
{
	const sp_version *version = sp_api__version_of(handle);
	const sp_endpoint *endpoint = version != NULL
					      ? sp_runtime_endpoint(version->runtime, signature)
					      : NULL;
	const sp_example_features *features = NULL;

	for (size_t i = 0; endpoint != NULL && i < endpoint->signature.input_count; i++)
		if (strcmp(endpoint->signature.inputs[i].alias, input != NULL ? input : "") == 0)
			features = sp_model_example_features(version->runtime->model,
							     endpoint->entry, i);
	if (count != NULL)
		*count = features != NULL ? features->count : 0;
	return features != NULL ? (const serving_processor_example_feature *)features->items : NULL;
}
