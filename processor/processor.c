#include "processor/processor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "processor/config/config.h"
#include "processor/config/unused_rules.h"
#include "processor/request/request.h"
#include "processor/timeline/timeline.h"
#include "processor/updater/updater.h"
#include "processor/version/rows_of_peers.h"
#include "processor/version/runtime.h"
#include "session_group/published.h"
#include "session_group/session_group.h"
#include "storage/table/table_builder.h"

/* Threads that can acquire a handle at the same time without waiting. */
enum { ACQUIRE_SLOTS = 12 };

struct sp_processor {
	sp_config config;
	atomic_bool closing;
	atomic_bool serving;
	sp_session_group *group;
	sp_splitter *splitter;           /* NULL: requests are not split */
	sp_session_group *acquire_slots; /* a slot in `published` per thread that acquires */
	/* The live sp_version; slots: one per session number, then one per acquiring thread. */
	sp_published *published;
	sp_updater *updater;
	sp_timeline *timeline; /* NULL: no request is traced */
	bool uses_store;       /* of objects */

	pthread_mutex_t pool_lock; /* protects `pool` */
	sp_thread_pool *pool;      /* NULL before the first job */
};

/* ------------------------------------------------------------------ opening */

/* Logged once, when the first version is live. */
static void log_ready(sp_processor *processor, int64_t start)
{
	const sp_config *config = &processor->config;
	sp_version *live = sp_processor_acquire(processor);

	sp_unused_rules_log(&config->embeddings, live->weights);
	sp_log(SP_LOG_INFO,
	       "serving '%s' of %s, checkpoint '%s', step %" PRId64 ", delta %" PRId64
	       ", with %" PRId64 " sessions; ready after %" PRId64 " ms",
	       live->runtime->configured->signature.name, config->savedmodel_dir,
	       live->checkpoint_prefix, live->full_step, live->delta_step, config->session_num,
	       (sp_clock_now_ns() - start) / 1000000);
	sp_processor_release(live);
}

static sp_status open_configured(sp_processor *processor, const char *json, sp_error *err)
{
	const sp_config *config = &processor->config;
	int64_t start = sp_clock_now_ns();
	sp_session_group_options sessions;

	SP_TRY(sp_config_parse(&processor->config, json, err));
	sp_config_log_remarks(config);
	if (sp_config_uses_store(config)) {
		sp_object_store_open();
		processor->uses_store = true;
		SP_TRY(sp_config_set_store(config, err));
	}
	processor->config.embeddings.closing = &processor->closing;
	processor->config.embeddings.serving = &processor->serving;
	sessions = (sp_session_group_options){
		.count = (size_t)config->session_num,
		.policy = (sp_session_policy)config->select_session_policy,
		.max_waiting = (size_t)config->max_waiting,
		.homes = config->homes};
	SP_TRY(sp_session_group_create(&processor->group, &sessions, err));
	if (config->split_batch_rows != 0)
		SP_TRY(sp_splitter_create(&processor->splitter, processor->group,
					  (size_t)config->split_batch_rows, err));
	SP_TRY(sp_published_create(&processor->published, sessions.count + ACQUIRE_SLOTS, err));
	sessions = (sp_session_group_options){.count = ACQUIRE_SLOTS, .max_waiting = SIZE_MAX};
	SP_TRY(sp_session_group_create(&processor->acquire_slots, &sessions, err));
	SP_TRY(sp_timeline_open(&processor->timeline, config, err));
	SP_TRY(sp_rows_of_peers_open(&processor->config, err));
	SP_TRY(sp_updater_open(&processor->updater, config, processor->published, err));
	atomic_store(&processor->serving, true);
	log_ready(processor, start);
	return SP_OK;
}

sp_status sp_processor_open(sp_processor **out, const char *config, sp_error *err)
{
	sp_processor *processor = sp_alloc_zero(1, sizeof(*processor));
	sp_status status;

	SP_NEED_MEMORY(processor, err, "a processor");
	pthread_mutex_init(&processor->pool_lock, NULL);
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
	sp_thread_pool_destroy(processor->pool);
	sp_splitter_destroy(processor->splitter);
	sp_timeline_close(processor->timeline);
	pthread_mutex_destroy(&processor->pool_lock);
	atomic_store(&processor->closing, true);
	sp_updater_close(processor->updater);
	sp_rows_of_peers_close(&processor->config);
	sp_published_destroy(processor->published);
	sp_session_group_destroy(processor->acquire_slots);
	sp_session_group_destroy(processor->group);
	sp_config_fini(&processor->config);
	if (processor->uses_store)
		sp_object_store_close();
	sp_free(processor);
}

/* ------------------------------------------------------------------- handles */

/* Increments `holders` before it unpins: the updater always sees at least one of both. */
sp_version *sp_processor_acquire(sp_processor *processor)
{
	size_t slot = 0, place;
	sp_version *version;

	/* It cannot fail without a deadline and with any number waiting. */
	(void)!sp_session_group_acquire(&slot, processor->acquire_slots, 0, NULL);
	place = sp_session_group_count(processor->group) + slot;
	version = sp_published_pin(processor->published, place);
	atomic_fetch_add(&version->holders, 1);
	atomic_store_explicit(&version->processor, processor, memory_order_relaxed);
	sp_published_unpin(processor->published, place);
	sp_session_group_release(processor->acquire_slots, slot);
	return version;
}

void sp_processor_release(sp_version *version)
{
	if (version != NULL)
		atomic_fetch_sub(&version->holders, 1);
}

void sp_processor_hold(sp_version *version)
{
	atomic_fetch_add(&version->holders, 1);
}

/* ---------------------------------------------------------------- describing */

static size_t overlay_rows(const sp_table *table)
{
	const sp_rows *overlay = sp_table_get_layers(table).overlay;

	return overlay != NULL ? sp_rows_get_shape(overlay)->row_count : 0;
}

static void append_counters(sp_buffer *json, const sp_table_counters *c)
{
	sp_buffer_printf(json, ",\"keys\":%" PRIu64 ",\"absent\":%" PRIu64, c->keys, c->absent);
	if (c->tier != NULL)
		sp_buffer_printf(
			json,
			",\"tier\":\"%s\",\"in_memory\":%" PRIu64 ",\"cached\":%" PRIu64
			",\"missed\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"bytes_read\":%" PRIu64,
			c->tier, c->in_memory, c->cached, c->missed, c->errors, c->bytes_read);
	if (c->servers != 0)
		sp_buffer_printf(json,
				 ",\"defaulted\":%" PRIu64 ",\"servers\":%" PRIu64
				 ",\"servers_up\":%" PRIu64 ",\"round_trips\":%" PRIu64
				 ",\"round_trip_us\":%" PRIu64,
				 c->defaulted, c->servers, c->servers_up, c->round_trips,
				 c->round_trip_ns / 1000);
	if (c->disks != 0)
		sp_buffer_printf(
			json,
			",\"disks\":%" PRIu64 ",\"disks_up\":%" PRIu64 ",\"disk_hits\":%" PRIu64
			",\"disk_errors\":%" PRIu64 ",\"disk_dropped\":%" PRIu64,
			c->disks, c->disks_up, c->disk_hits, c->disk_errors, c->disk_dropped);
}

static void append_table(sp_buffer *json, const sp_table *table)
{
	sp_table_counters counters = sp_table_count(table);

	sp_buffer_append_text(json, "{\"table\":");
	sp_json_text_append(json, sp_bytes_of(sp_table_name(table)));
	sp_buffer_printf(json, ",\"dim\":%zu,\"rows\":%zu,\"overlay_rows\":%zu,\"memory\":%zu",
			 sp_table_dim(table), sp_table_row_count(table), overlay_rows(table),
			 sp_table_footprint(table));
	append_counters(json, &counters);
	sp_buffer_append_char(json, '}');
}

static void append_tables(sp_buffer *json, const sp_weights *weights)
{
	sp_buffer_append_char(json, '[');
	for (size_t i = 0; i < sp_weights_table_count(weights); i++) {
		if (i != 0)
			sp_buffer_append_char(json, ',');
		append_table(json, sp_weights_table(weights, i));
	}
	sp_buffer_append_char(json, ']');
}

static void append_stream(sp_buffer *json, const sp_row_stream *stream)
{
	sp_row_stream_status s;

	sp_row_stream_get_status(stream, &s);
	sp_buffer_printf(json,
			 ",\"row_stream\":{\"connected\":%s,\"paused\":%s,\"errors\":%" PRIu64
			 ",\"lag_messages\":%" PRIu64 ",\"lag_ms\":%" PRId64
			 ",\"messages\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"states\":%" PRIu64
			 ",\"batch\":%" PRIu64 ",\"incomplete_batches\":%" PRIu64
			 ",\"keys\":%" PRIu64 ",\"memory\":%" PRIu64
			 ",\"memory_limit\":%zu,\"skipped\":{",
			 s.lag.connected ? "true" : "false", s.paused ? "true" : "false",
			 s.lag.errors, s.lag.messages, s.lag.behind_ms, s.applied.messages,
			 s.applied.rows, s.held.commits, s.applied.batch,
			 s.applied.incomplete_batches, s.held.keys, s.held.bytes, s.memory_limit);
	for (int i = 0; i < SP_ROW_SKIPS; i++)
		sp_buffer_printf(json, "%s\"%s\":%" PRIu64, i != 0 ? "," : "",
				 sp_row_skip_name((sp_row_skip)i), s.applied.skipped[i]);
	sp_buffer_append_text(json, "}}");
}

static void append_owners(sp_buffer *json, const sp_version *live)
{
	sp_version_memory m = sp_version_memory_of(live);

	sp_buffer_printf(json,
			 ",\"owners\":{\"tables\":%zu,\"indexes\":%zu,\"ssd\":%zu,\"image\":%zu,"
			 "\"dense\":%zu,\"program\":%zu,\"sessions\":%zu}",
			 m.tables, m.indexes, m.ssd, m.image, m.dense, m.program, m.sessions);
}

char *sp_processor_versions(sp_processor *processor)
{
	char *versions = sp_catalog_json(sp_updater_catalog(processor->updater)), *text;
	sp_version *live;
	const sp_weights *full;
	sp_buffer json;
	size_t size, memory;

	if (versions == NULL)
		return NULL;
	live = sp_processor_acquire(processor);
	full = sp_weights_base(live->weights);
	memory = sp_weights_footprint(live->weights);
	if (full != live->weights) /* a delta on a full checkpoint */
		memory += sp_weights_footprint(full);
	sp_buffer_init(&json, 64 << 20);
	sp_buffer_append(&json, versions, strlen(versions) - strlen("}"));
	sp_buffer_printf(&json, ",\"memory\":%zu", memory);
	append_owners(&json, live);
	if (live->stream != NULL)
		append_stream(&json, live->stream);
	sp_rows_of_peers_tell(&json, &processor->config);
	sp_buffer_append_text(&json, ",\"tables\":");
	append_tables(&json, live->weights);
	sp_buffer_append_char(&json, '}');
	sp_processor_release(live);
	sp_free(versions);
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	return text;
}

sp_updater *sp_processor_updater(const sp_processor *processor)
{
	return processor->updater;
}

/* ----------------------------------------------------------------- answering */

/* An admitted request: its session number, session and pinned version. */
typedef struct admission {
	size_t number;
	const sp_version *version;
	sp_traced *traced; /* NULL: it is not traced */
	int64_t admitted_ns;
	sp_fresh_view fresh; /* of the version's row stream */
	sp_request_target target;
} admission;

static void leave(sp_processor *processor, const admission *a)
{
	if (a->traced != NULL)
		sp_timeline_end(a->traced, a->version,
				a->target.endpoint != NULL ? a->target.endpoint->signature.name
							   : "",
				a->number, a->admitted_ns);
	sp_session_reset(a->target.session);
	if (a->target.fresh != NULL)
		sp_fresh_unpin(sp_row_stream_rows(a->version->stream), a->number);
	sp_published_unpin(processor->published, a->number);
	sp_session_group_release(processor->group, a->number);
}

sp_status sp_processor_limit(const sp_processor *processor, sp_request_limits *limits,
			     sp_error *err)
{
	int64_t timeout_ns = processor->config.request_timeout_ms * 1000000, now;

	if (timeout_ns == 0 && limits->deadline_ns == 0)
		return SP_OK;
	now = sp_clock_now_ns();
	if (limits->deadline_ns == 0 || (timeout_ns != 0 && now + timeout_ns < limits->deadline_ns))
		limits->deadline_ns = now + timeout_ns;
	if (now >= limits->deadline_ns)
		return sp_error_set(err, SP_DEADLINE, "the deadline of the request has passed");
	return SP_OK;
}

/* Waits for a session, and pins the live version unless the caller holds a handle (`held`). */
static sp_status admit(sp_processor *processor, const sp_version *held, const char *signature,
		       const sp_request_limits *given, admission *out, sp_error *err)
{
	sp_request_limits limits = *given;
	sp_status status = SP_OK;
	const sp_version *version;
	size_t number;

	*out = (admission){.traced = NULL};
	SP_TRY(sp_processor_limit(processor, &limits, err));
	if (processor->timeline != NULL)
		out->traced = sp_timeline_begin(processor->timeline);
	status = sp_session_group_acquire(&number, processor->group, limits.deadline_ns, err);
	if (status != SP_OK) {
		sp_timeline_drop(out->traced);
		return status;
	}
	version = held != NULL ? held : sp_published_pin(processor->published, number);
	out->number = number;
	out->version = version;
	if (out->traced != NULL)
		out->admitted_ns = sp_clock_now_ns();
	out->target = (sp_request_target){
		.session = sp_session_set_get(version->runtime->sessions, number),
		.snapshot = sp_weights_snapshot(version->weights),
		.endpoint = sp_runtime_endpoint(version->runtime, signature),
		.split = {processor->splitter, version->runtime->sessions},
		.limits = limits,
		.trace = out->traced != NULL ? sp_traced_steps(out->traced) : limits.trace};
	if (version->stream != NULL) {
		sp_fresh_pin(&out->fresh, sp_row_stream_rows(version->stream), number,
			     version->delta_step);
		out->target.fresh = &out->fresh;
	}
	if (out->target.endpoint == NULL)
		status = sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
				      signature);
	else if (limits.cancelled != NULL && atomic_load(limits.cancelled))
		status = sp_error_set(err, SP_CANCELLED, "the request was cancelled");
	if (status != SP_OK)
		leave(processor, out);
	return status;
}

const sp_config *sp_processor_config(const sp_processor *processor)
{
	return &processor->config;
}

sp_processor *sp_processor_of(const sp_version *version)
{
	return atomic_load_explicit(&version->processor, memory_order_relaxed);
}

sp_status sp_processor_predict(sp_processor *processor, const sp_version *held,
			       const char *signature, sp_bytes request,
			       const sp_request_limits *limits, void **out, size_t *out_size,
			       sp_error *err)
{
	static const sp_request_limits none = {0};
	sp_status status;
	admission a;

	SP_TRY(admit(processor, held, signature, limits != NULL ? limits : &none, &a, err));
	status = sp_request_answer(&a.target, request, out, out_size, err);
	leave(processor, &a);
	return status;
}

sp_status sp_processor_run(sp_processor *processor, const sp_version *held, const char *signature,
			   const sp_typed_request *request, const sp_request_limits *limits,
			   sp_arena *arena, sp_typed_answer *out, sp_error *err)
{
	sp_status status;
	admission a;

	SP_TRY(admit(processor, held, signature, limits, &a, err));
	status = sp_request_run_typed(&a.target, request, arena, out, err);
	leave(processor, &a);
	return status;
}

sp_status sp_processor_submit(sp_processor *processor, sp_thread_pool_job *job, sp_error *err)
{
	size_t waiting = processor->config.max_waiting != 0 ? (size_t)processor->config.max_waiting
							    : 1;
	sp_status status = SP_OK;

	pthread_mutex_lock(&processor->pool_lock);
	if (processor->pool == NULL)
		status = sp_thread_pool_create(&processor->pool,
					       (size_t)processor->config.session_num, waiting,
					       "sp-request", err);
	pthread_mutex_unlock(&processor->pool_lock);
	SP_TRY(status);
	if (sp_thread_pool_try_add(processor->pool, job))
		return SP_OK;
	return sp_error_set(err, SP_BUSY, "%zu requests wait already, or the model is being closed",
			    waiting);
}
