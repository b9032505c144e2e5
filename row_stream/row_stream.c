#include "row_stream/row_stream.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "storage/table/table_builder.h"

enum {
	MAX_IN_A_ROW = 8,  /* messages of a partition before the next partition's */
	IDLE_MS = 100,     /* longest sleep */
	PAUSED_MS = 10,    /* between two attempts while memory is short */
	CONNECT_MS = 1000, /* between two attempts to reach a broker */
	SEARCH_MS = 30000, /* between two searches for topics and partitions, while some are read */
	NS_PER_MS = 1000000,
};

/*
 * A partition's current message.  It stays set while it is not completely applied: memory is short.
 */
typedef struct pending_message {
	bool is_set;
	sp_received_message message;
	sp_fresh_done done;
} pending_message;

struct sp_row_stream {
	atomic_size_t users;
	sp_fresh *rows;
	sp_row_applier *applier;
	sp_row_source *source;
	const char **names; /* of the tables */
	size_t *dims;
	size_t table_count;
	size_t memory_limit;
	atomic_bool closing;
	atomic_bool paused;
	atomic_bool visible; /* all rows read so far are */
	sp_thread_group *thread;

	/* Used by the thread only. */
	pending_message *pending; /* [partitions] */
	size_t partition_count;
	bool has_all_topics;     /* has been so */
	sp_status search_status; /* of the last search */
	int64_t search_ns;       /* when to search again */
};

/* ------------------------------------------------------------------ the thread */

static sp_status add_partitions(sp_row_stream *stream, sp_error *err)
{
	size_t count = sp_row_source_partitions(stream->source);
	pending_message *more;

	if (count == stream->partition_count)
		return SP_OK;
	more = sp_alloc_resize(stream->pending, count, sizeof(*more));
	SP_NEED_MEMORY(more, err, "%zu partitions", count);
	stream->pending = more;
	SP_TRY(sp_row_applier_set_partitions(stream->applier, count, err));
	for (size_t i = stream->partition_count; i < count; i++)
		more[i] = (pending_message){.is_set = false};
	stream->partition_count = count;
	return SP_OK;
}

static void search_topics(sp_row_stream *stream)
{
	int64_t now = sp_clock_now_ns(), ms;
	sp_error why = {.status = SP_OK};
	sp_status status, grown;

	if (now < stream->search_ns)
		return;
	status = sp_row_source_find_partitions(stream->source, &why);
	grown = add_partitions(stream, &why);
	status = status == SP_OK ? grown : status;
	if (status == SP_OK)
		stream->has_all_topics = true;
	else if (status != stream->search_status)
		sp_log(SP_LOG_WARNING, "row stream: %s; it is looked for again", why.text);
	stream->search_status = status;
	ms = stream->has_all_topics || (status == SP_NOT_FOUND && stream->partition_count != 0)
		     ? SEARCH_MS
		     : CONNECT_MS;
	stream->search_ns = sp_clock_now_ns() + ms * NS_PER_MS;
}

static void set_paused(sp_row_stream *stream, bool paused)
{
	if (atomic_exchange(&stream->paused, paused) == paused)
		return;
	sp_log(paused ? SP_LOG_WARNING : SP_LOG_INFO,
	       paused ? "row stream: row_stream_memory_mb is reached: no more rows are read"
		      : "row stream: rows are read again");
}

/* Applies the partition's pending or next message; false: there is none, or memory is short. */
static bool apply_next(sp_row_stream *stream, size_t partition)
{
	pending_message *m = &stream->pending[partition];

	if (sp_row_applier_is_blocked(stream->applier, partition))
		return false;
	if (!m->is_set) {
		m->done = (sp_fresh_done){.entries = 0};
		if (!sp_row_source_next(stream->source, partition, &m->message))
			return false;
	}
	m->is_set = sp_row_applier_apply(stream->applier, &m->message, &m->done) != SP_OK;
	return !m->is_set;
}

/* Applies some messages of each partition; false: none was applied. */
static bool apply_round(sp_row_stream *stream)
{
	bool any = false, is_short = false;

	for (size_t p = 0; p < stream->partition_count; p++) {
		for (int i = 0; i < MAX_IN_A_ROW && apply_next(stream, p); i++)
			any = true;
		is_short = is_short || stream->pending[p].is_set;
	}
	set_paused(stream, is_short);
	return any;
}

static void run(void *context)
{
	sp_row_stream *stream = context;

	while (!atomic_load(&stream->closing)) {
		int64_t now, due, ms = IDLE_MS;
		bool any;

		search_topics(stream);
		atomic_store(&stream->visible, false);
		any = apply_round(stream);
		now = sp_clock_now_ns();
		due = sp_row_applier_tick(stream->applier, now);
		atomic_store(&stream->visible, !any && due == 0);
		if (due != 0)
			ms = (due - now) / NS_PER_MS + 1;
		if (atomic_load(&stream->paused)) {
			sp_fresh_reclaim(stream->rows);
			ms = PAUSED_MS;
		}
		sp_row_source_wait(stream->source, any ? 0 : ms);
	}
}

/* ------------------------------------------------------------------ opening */

void sp_row_stream_topic(char out[250], const char *model, const char *table, bool is_hps)
{
	if (is_hps)
		snprintf(out, 250, "hps_et.%s.%s", model, table);
	else
		snprintf(out, 250, "sp_rows.%s", model);
	for (char *c = out; *c != '\0'; c++)
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= '0' && *c <= '9') && strchr("._-", *c) == NULL)
			*c = '_';
}

static sp_status open_rows(sp_row_stream *stream, const sp_row_stream_options *options,
			   sp_error *err)
{
	sp_row_applier_options applier = {.is_hps = options->is_hps,
					  .key_size = options->key_size,
					  .full_step = options->full_step,
					  .interval_ns = options->interval_ms * NS_PER_MS,
					  .only_finite = options->only_finite,
					  .table_count = options->table_count};
	sp_fresh_options fresh = {.table_count = options->table_count,
				  .reader_count = options->reader_count,
				  .memory_limit = options->memory_limit};

	stream->names = sp_alloc_zero(options->table_count + 1, sizeof(*stream->names));
	stream->dims = sp_alloc_zero(options->table_count + 1, sizeof(*stream->dims));
	SP_NEED_MEMORY(stream->names != NULL && stream->dims != NULL, err, "a row stream");
	stream->table_count = options->table_count;
	stream->memory_limit = options->memory_limit;
	for (size_t i = 0; i < options->table_count; i++) {
		stream->names[i] = sp_table_name(options->tables[i]);
		stream->dims[i] = sp_table_dim(options->tables[i]);
	}
	fresh.dims = applier.dims = stream->dims;
	SP_TRY(sp_fresh_create(&stream->rows, &fresh, err));
	applier.names = stream->names;
	applier.fresh = stream->rows;
	return sp_row_applier_create(&stream->applier, &applier, err);
}

static sp_status open_source(sp_row_stream *stream, const sp_row_stream_options *options,
			     sp_error *err)
{
	size_t count = options->is_hps ? options->table_count : 1;
	char(*topics)[250] = sp_alloc_zero(count + 1, sizeof(*topics));
	const char **names = sp_alloc_zero(count + 1, sizeof(*names));
	sp_stream_mark mark = {.timestamp_ms = -1};
	sp_row_source_options source = {.brokers = options->brokers,
					.properties = options->properties,
					.topics = names,
					.topic_count = count,
					.mark = &mark,
					.from_end = options->from_end};
	sp_status status = SP_NO_MEMORY;

	if (topics == NULL || names == NULL) {
		sp_no_memory(err, "a row stream");
	} else {
		for (size_t i = 0; i < count; i++) {
			sp_row_stream_topic(topics[i], options->model,
					    options->is_hps ? stream->names[i] : NULL,
					    options->is_hps);
			names[i] = topics[i];
		}
		status = sp_stream_mark_read(&mark, options->prefix, err);
		if (status == SP_OK)
			status = sp_row_source_open(&stream->source, &source, err);
		sp_stream_mark_fini(&mark);
	}
	sp_free(topics);
	sp_free(names);
	return status;
}

static void destroy(sp_row_stream *stream)
{
	atomic_store(&stream->closing, true);
	if (stream->thread != NULL)
		sp_row_source_wake(stream->source);
	sp_thread_group_destroy(stream->thread);
	sp_row_source_close(stream->source);
	sp_row_applier_destroy(stream->applier);
	sp_fresh_destroy(stream->rows);
	sp_free(stream->pending);
	sp_free(stream->names);
	sp_free(stream->dims);
	sp_free(stream);
}

sp_status sp_row_stream_open(sp_row_stream **out, const sp_row_stream_options *options,
			     sp_error *err)
{
	sp_row_stream *stream = sp_alloc_zero(1, sizeof(*stream));
	sp_status status;

	SP_NEED_MEMORY(stream, err, "a row stream");
	atomic_init(&stream->users, 1);
	status = open_rows(stream, options, err);
	if (status == SP_OK)
		status = open_source(stream, options, err);
	if (status == SP_OK)
		status = sp_thread_group_create(&stream->thread, 1, "sp-row-stream", run, stream,
						err);
	if (status != SP_OK) {
		destroy(stream);
		return sp_error_prefix(err, status, "row stream");
	}
	for (size_t i = 0; i < options->table_count; i++)
		sp_table_set_fresh(options->tables[i], sp_fresh_table(stream->rows, i));
	*out = stream;
	return SP_OK;
}

sp_row_stream *sp_row_stream_retain(sp_row_stream *stream)
{
	if (stream != NULL)
		atomic_fetch_add_explicit(&stream->users, 1, memory_order_relaxed);
	return stream;
}

void sp_row_stream_release(sp_row_stream *stream)
{
	if (stream != NULL &&
	    atomic_fetch_sub_explicit(&stream->users, 1, memory_order_acq_rel) == 1)
		destroy(stream);
}

/* ------------------------------------------------------------------ reports */

bool sp_row_stream_catch_up(const sp_row_stream *stream, int64_t limit_ms,
			    const atomic_bool *closing)
{
	static const struct timespec nap = {.tv_nsec = 2 * NS_PER_MS};
	int64_t end = sp_clock_now_ns() + limit_ms * NS_PER_MS;

	if (stream == NULL)
		return true;
	while (sp_clock_now_ns() < end && (closing == NULL || !atomic_load(closing)) &&
	       !atomic_load(&stream->paused)) {
		sp_source_lag lag;

		if (sp_row_source_has_caught_up(stream->source) && atomic_load(&stream->visible))
			return true;
		sp_row_source_lag(stream->source, &lag);
		if (!lag.connected && lag.errors != 0)
			break;
		nanosleep(&nap, NULL);
	}
	return false;
}

sp_fresh *sp_row_stream_rows(const sp_row_stream *stream)
{
	return stream->rows;
}

void sp_row_stream_get_status(const sp_row_stream *stream, sp_row_stream_status *out)
{
	sp_row_source_lag(stream->source, &out->lag);
	sp_row_applier_count(stream->applier, &out->applied);
	sp_fresh_count(stream->rows, &out->held);
	out->memory_limit = stream->memory_limit;
	out->paused = atomic_load(&stream->paused);
}
