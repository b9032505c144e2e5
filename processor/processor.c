#include "processor/processor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "processor/config.h"
#include "processor/request.h"
#include "processor/runtime.h"
#include "processor/table_report.h"
#include "processor/unused_rules.h"
#include "processor/updater.h"
#include "processor/version.h"
#include "session_group/published.h"
#include "session_group/session_group.h"

struct sp_processor {
	sp_config config;
	atomic_bool closing;
	atomic_bool serving;
	sp_session_group *group;
	/* The live sp_version; a place per number of the group, and one for reports. */
	sp_published *published;
	pthread_mutex_t report; /* held while that one is used */
	sp_updater *updater;
};

/* ------------------------------------------------------------------ opening */

static sp_status log_ready(const sp_processor *processor, int64_t start, sp_error *err)
{
	const sp_config *config = &processor->config;
	sp_arena *arena = sp_arena_create(4096);
	sp_found_version live;
	sp_status status;

	if (arena == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a processor");
	status = sp_processor_live(processor, &live, arena, err);
	if (status == SP_OK)
		sp_log(SP_LOG_INFO,
		       "serving '%s' of %s, checkpoint '%s', step %" PRId64 ", delta %" PRId64
		       ", with %" PRId64 " sessions; ready after %" PRId64 " ms",
		       sp_processor_find_endpoint(processor, NULL)->signature.name,
		       config->savedmodel_dir, live.full_prefix, live.full_step, live.delta_step,
		       config->session_num, (sp_clock_now_ns() - start) / 1000000);
	sp_arena_destroy(arena);
	return status;
}

static void log_unused_rules(sp_processor *processor)
{
	size_t place = sp_session_group_count(processor->group);
	const sp_version *version;

	pthread_mutex_lock(&processor->report);
	version = sp_published_pin(processor->published, place);
	sp_unused_rules_log(&processor->config.embeddings, version->weights);
	sp_published_unpin(processor->published, place);
	pthread_mutex_unlock(&processor->report);
}

static sp_status open_configured(sp_processor *processor, const char *json, sp_error *err)
{
	const sp_config *config = &processor->config;
	int64_t start = sp_clock_now_ns();
	size_t count;

	SP_TRY(sp_config_parse(&processor->config, json, err));
	sp_config_log_remarks(config);
	processor->config.embeddings.closing = &processor->closing;
	processor->config.embeddings.serving = &processor->serving;
	count = (size_t)config->session_num;
	SP_TRY(sp_session_group_create(&processor->group, count,
				       (sp_session_policy)config->select_session_policy, err));
	SP_TRY(sp_published_create(&processor->published, count + 1, err));
	SP_TRY(sp_updater_open(&processor->updater, config, processor->published, err));
	atomic_store(&processor->serving, true);
	log_unused_rules(processor);
	return log_ready(processor, start, err);
}

sp_status sp_processor_open(sp_processor **out, const char *config, sp_error *err)
{
	sp_processor *processor = sp_alloc_zero(1, sizeof(*processor));
	sp_status status;

	if (processor == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a processor");
	pthread_mutex_init(&processor->report, NULL);
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
	atomic_store(&processor->closing, true);
	sp_updater_close(processor->updater);
	sp_published_destroy(processor->published);
	sp_session_group_destroy(processor->group);
	sp_config_fini(&processor->config);
	pthread_mutex_destroy(&processor->report);
	sp_free(processor);
}

/* ---------------------------------------------------------------- describing */

const sp_endpoint *sp_processor_endpoint(const sp_processor *processor, size_t i)
{
	const sp_runtime *runtime = sp_updater_runtime(processor->updater);

	return i < runtime->endpoint_count ? &runtime->endpoints[i] : NULL;
}

const sp_endpoint *sp_processor_find_endpoint(const sp_processor *processor, const char *signature)
{
	return sp_runtime_endpoint(sp_updater_runtime(processor->updater), signature);
}

sp_status sp_processor_live(const sp_processor *processor, sp_found_version *out, sp_arena *arena,
			    sp_error *err)
{
	return sp_catalog_live(sp_updater_catalog(processor->updater), out, arena, err);
}

/* With the full checkpoint that a delta lies on. */
static size_t footprint(const sp_version *version)
{
	const sp_weights *full = sp_weights_base(version->weights);
	size_t bytes = sp_weights_footprint(version->weights);

	return full != version->weights ? bytes + sp_weights_footprint(full) : bytes;
}

/* Of the live version, which stays meanwhile. */
static void append_live(sp_buffer *json, sp_processor *processor)
{
	size_t place = sp_session_group_count(processor->group);
	const sp_version *version;

	pthread_mutex_lock(&processor->report);
	version = sp_published_pin(processor->published, place);
	sp_buffer_printf(json, ",\"memory\":%zu,\"tables\":", footprint(version));
	sp_table_report_append(json, version->weights);
	sp_published_unpin(processor->published, place);
	pthread_mutex_unlock(&processor->report);
}

char *sp_processor_versions(sp_processor *processor)
{
	char *versions = sp_catalog_json(sp_updater_catalog(processor->updater)), *text;
	sp_buffer json;
	size_t size;

	if (versions == NULL)
		return NULL;
	sp_buffer_init(&json, 64 << 20);
	sp_buffer_append(&json, versions, strlen(versions) - strlen("}"));
	append_live(&json, processor);
	sp_buffer_append_char(&json, '}');
	sp_free(versions);
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	return text;
}

sp_status sp_processor_reload(sp_processor *processor, const char *by, sp_error *err)
{
	return sp_updater_reload(processor->updater, by, err);
}

sp_status sp_processor_rollback(sp_processor *processor, const char *by, sp_error *err)
{
	return sp_updater_rollback(processor->updater, by, err);
}

sp_status sp_processor_pin(sp_processor *processor, int64_t full_step, int64_t delta_step,
			   const char *by, sp_error *err)
{
	return sp_updater_pin(processor->updater, full_step, delta_step, by, err);
}

/* ----------------------------------------------------------------- answering */

/* A request's number, and what goes with it: a session, and a version that stays. */
typedef struct turn {
	size_t number;
	sp_request_target target;
} turn;

static void end_turn(sp_processor *processor, const turn *t)
{
	sp_session_reset(t->target.session);
	sp_published_unpin(processor->published, t->number);
	sp_session_group_release(processor->group, t->number);
}

/* A request's time counts from here, its wait for a turn included. */
static int64_t deadline_of(const sp_processor *processor)
{
	int64_t timeout_ms = processor->config.request_timeout_ms;

	return timeout_ms != 0 ? sp_clock_now_ns() + timeout_ms * 1000000 : 0;
}

static sp_status begin_turn(sp_processor *processor, const char *signature, turn *out,
			    sp_error *err)
{
	int64_t deadline_ns = deadline_of(processor);
	const sp_version *version;
	size_t number;

	SP_TRY(sp_session_group_acquire(&number, processor->group, deadline_ns, err));
	version = sp_published_pin(processor->published, number);
	out->number = number;
	out->target = (sp_request_target){
		.session = sp_session_set_get(version->runtime->sessions, number),
		.snapshot = sp_version_snapshot(version),
		.endpoint = sp_runtime_endpoint(version->runtime, signature),
		.deadline_ns = deadline_ns};
	if (out->target.endpoint != NULL)
		return SP_OK;
	end_turn(processor, out);
	return sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'", signature);
}

sp_status sp_processor_predict(sp_processor *processor, const char *signature, sp_bytes request,
			       void **out, size_t *out_size, sp_error *err)
{
	sp_status status;
	turn t;

	SP_TRY(begin_turn(processor, signature, &t, err));
	status = sp_request_answer(&t.target, request, out, out_size, err);
	end_turn(processor, &t);
	return status;
}

sp_status sp_processor_run(sp_processor *processor, const char *signature,
			   const sp_typed_request *request, sp_arena *arena, sp_typed_answer *out,
			   sp_error *err)
{
	sp_status status;
	turn t;

	SP_TRY(begin_turn(processor, signature, &t, err));
	status = sp_request_run_typed(&t.target, request, arena, out, err);
	end_turn(processor, &t);
	return status;
}
