#include "processor/processor.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "processor/config.h"
#include "processor/first_version.h"
#include "processor/request.h"
#include "processor/version.h"
#include "processor/warmup.h"

struct sp_processor {
	sp_config config;
	sp_version *version;
	sp_arena *arena; /* holds the endpoints */
	sp_endpoint *endpoints;
	size_t endpoint_count;
	const sp_endpoint *configured;
};

/* ------------------------------------------------------------------ opening */

static sp_status make_endpoints(sp_processor *processor, sp_error *err)
{
	const sp_model *model = processor->version->model;
	size_t count = sp_model_signature_count(model);

	processor->arena = sp_arena_create(16 << 10);
	if (processor->arena != NULL)
		processor->endpoints = sp_arena_array(processor->arena, count,
						      sizeof(*processor->endpoints));
	if (processor->endpoints == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu signatures", count);
	for (size_t i = 0; i < count; i++)
		SP_TRY(sp_endpoint_init(&processor->endpoints[i], sp_model_signature(model, i), i,
					processor->arena, err));
	processor->endpoint_count = count;
	return SP_OK;
}

static sp_status open_configured(sp_processor *processor, const char *json, sp_error *err)
{
	const sp_config *config = &processor->config;
	int64_t start = sp_clock_now_ns();
	const sp_version *version;

	SP_TRY(sp_config_parse(&processor->config, json, err));
	SP_TRY(sp_first_version_open(&processor->version, config, err));
	version = processor->version;
	SP_TRY(make_endpoints(processor, err));
	processor->configured = &processor->endpoints[sp_model_default_signature(version->model)];
	SP_TRY(sp_warmup(version->sessions, sp_model_snapshot(version->model),
			 processor->configured, config->warmup_file_name, err));
	sp_log(SP_LOG_INFO,
	       "serving '%s' of %s, checkpoint '%s', step %" PRId64 ", delta %" PRId64
	       ", with %" PRId64 " sessions; ready after %" PRId64 " ms",
	       processor->configured->signature.name, config->savedmodel_dir,
	       version->checkpoint_prefix, version->full_step, version->delta_step,
	       config->session_num, (sp_clock_now_ns() - start) / 1000000);
	return SP_OK;
}

sp_status sp_processor_open(sp_processor **out, const char *config, sp_error *err)
{
	sp_processor *processor = sp_alloc_zero(1, sizeof(*processor));
	sp_status status;

	if (processor == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a processor");
	status = open_configured(processor, config, err);
	if (status != SP_OK) {
		sp_processor_close(processor);
		return status;
	}
	*out = processor;
	return SP_OK;
}

void sp_processor_close(sp_processor *processor)
{
	if (processor == NULL)
		return;
	sp_version_close(processor->version);
	sp_arena_destroy(processor->arena);
	sp_config_fini(&processor->config);
	sp_free(processor);
}

/* ---------------------------------------------------------------- describing */

const sp_endpoint *sp_processor_endpoint(const sp_processor *processor, size_t i)
{
	return i < processor->endpoint_count ? &processor->endpoints[i] : NULL;
}

const sp_endpoint *sp_processor_find_endpoint(const sp_processor *processor, const char *signature)
{
	if (signature == NULL)
		return processor->configured;
	for (size_t i = 0; i < processor->endpoint_count; i++)
		if (strcmp(processor->endpoints[i].signature.name, signature) == 0)
			return &processor->endpoints[i];
	return NULL;
}

const char *sp_processor_model_path(const sp_processor *processor)
{
	return processor->version->checkpoint_prefix;
}

void sp_processor_steps(const sp_processor *processor, int64_t *full, int64_t *delta)
{
	*full = processor->version->full_step;
	*delta = processor->version->delta_step;
}

/* ----------------------------------------------------------------- answering */

static sp_status find_endpoint(const sp_processor *processor, const char *signature,
			       const sp_endpoint **out, sp_error *err)
{
	*out = sp_processor_find_endpoint(processor, signature);
	return *out != NULL ? SP_OK
			    : sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
					   signature);
}

sp_status sp_processor_predict(sp_processor *processor, const char *signature, sp_bytes request,
			       void **out, size_t *out_size, sp_error *err)
{
	const sp_version *version = processor->version;
	sp_request_target target = {.snapshot = sp_model_snapshot(version->model)};
	sp_status status;
	size_t number;

	SP_TRY(find_endpoint(processor, signature, &target.endpoint, err));
	number = sp_session_group_acquire(version->sessions);
	target.session = sp_session_group_session(version->sessions, number);
	status = sp_request_answer(&target, request, out, out_size, err);
	sp_session_reset(target.session);
	sp_session_group_release(version->sessions, number);
	return status;
}

sp_status sp_processor_run(sp_processor *processor, const char *signature,
			   const sp_typed_request *request, sp_arena *arena, sp_typed_answer *out,
			   sp_error *err)
{
	const sp_version *version = processor->version;
	sp_request_target target = {.snapshot = sp_model_snapshot(version->model)};
	sp_status status;
	size_t number;

	SP_TRY(find_endpoint(processor, signature, &target.endpoint, err));
	number = sp_session_group_acquire(version->sessions);
	target.session = sp_session_group_session(version->sessions, number);
	status = sp_request_run_typed(&target, request, arena, out, err);
	sp_session_reset(target.session);
	sp_session_group_release(version->sessions, number);
	return status;
}
