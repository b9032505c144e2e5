#include "row_stream/row_applier.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/map.h"
#include "row_stream/row_message.h"

typedef struct partition {
	uint64_t committed; /* while it waits: the batch whose commit it has brought; else 0 */
	uint64_t messages;  /* of rows since the last commit message */
	uint64_t batch;     /* of the last commit message */
} partition;

struct sp_row_applier {
	sp_row_applier_options options;
	sp_arena *arena;
	sp_map tables; /* by name, to their numbers */
	partition *partitions;
	size_t partition_count;
	uint64_t batch;       /* the last visible one */
	int64_t first_put_ns; /* of the rows that are not visible yet; 0: there are none */
	sp_log_limit log;
	/* Written by one thread, read by any. */
	atomic_uint_least64_t messages, rows, visible_batch, incomplete;
	atomic_uint_least64_t skipped[SP_ROW_SKIPS];
};

const char *sp_row_skip_name(sp_row_skip skip)
{
	static const char *const names[] = {"format",  "table", "width",
					    "version", "batch", "values"};

	return names[skip];
}

static void add(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ------------------------------------------------------------------- opening */

static sp_status list_tables(sp_row_applier *applier, sp_error *err)
{
	const sp_row_applier_options *options = &applier->options;

	applier->arena = sp_arena_create(4096);
	SP_NEED_MEMORY(applier->arena, err, "a row stream");
	sp_map_init(&applier->tables, applier->arena);
	for (size_t i = 0; i < options->table_count; i++)
		SP_NEED_MEMORY(sp_map_put(&applier->tables, sp_bytes_of(options->names[i]), i) !=
				       SP_MAP_NO_MEMORY,
			       err, "a row stream");
	return SP_OK;
}

sp_status sp_row_applier_create(sp_row_applier **out, const sp_row_applier_options *options,
				sp_error *err)
{
	sp_row_applier *applier = sp_alloc_zero(1, sizeof(*applier));
	sp_status status;

	SP_NEED_MEMORY(applier, err, "a row stream");
	applier->options = *options;
	status = list_tables(applier, err);
	if (status != SP_OK) {
		sp_row_applier_destroy(applier);
		return status;
	}
	*out = applier;
	return SP_OK;
}

void sp_row_applier_destroy(sp_row_applier *applier)
{
	if (applier == NULL)
		return;
	sp_log_limit_end(&applier->log, SP_LOG_WARNING);
	sp_arena_destroy(applier->arena);
	sp_free(applier->partitions);
	sp_free(applier);
}

sp_status sp_row_applier_set_partitions(sp_row_applier *applier, size_t count, sp_error *err)
{
	partition *more = sp_alloc_resize(applier->partitions, count + 1, sizeof(*more));

	SP_NEED_MEMORY(more, err, "%zu partitions", count);
	for (size_t i = applier->partition_count; i < count; i++)
		more[i] = (partition){.committed = 0};
	applier->partitions = more;
	applier->partition_count = count;
	return SP_OK;
}

/* ------------------------------------------------------------------- skipping */

static void skip(sp_row_applier *applier, const sp_received_message *message, sp_row_skip why,
		 const char *text)
{
	add(&applier->skipped[why], 1);
	/* Other versions' messages and repeated ones are normal, so they are not logged. */
	if (why == SP_ROW_SKIP_VERSION || why == SP_ROW_SKIP_BATCH)
		return;
	sp_log_limited(&applier->log, SP_LOG_WARNING,
		       "message %" PRId64 " of partition %d of topic '%s' is skipped: %s",
		       message->offset, (int)message->number, message->topic_name, text);
}

/* The table of a message of rows; false if it is skipped. */
static bool find_table(sp_row_applier *applier, const sp_received_message *message,
		       const sp_row_message *rows, size_t *table)
{
	const sp_row_applier_options *options = &applier->options;
	uint64_t number = message->topic;
	sp_error why;

	if (!options->is_hps && !sp_map_get(&applier->tables, rows->table, &number)) {
		sp_error_set(&why, SP_NOT_FOUND, "the model has no table '%.*s'",
			     (int)(rows->table.size < 100 ? rows->table.size : 100),
			     rows->table.data);
		skip(applier, message, SP_ROW_SKIP_TABLE, why.text);
		return false;
	}
	*table = (size_t)number;
	if (rows->row_size == options->dims[*table] * sizeof(float))
		return true;
	sp_error_set(&why, SP_INVALID, "rows of %zu bytes for table '%s', whose rows have %zu",
		     rows->row_size, options->names[*table], options->dims[*table] * sizeof(float));
	skip(applier, message, SP_ROW_SKIP_WIDTH, why.text);
	return false;
}

/* Skips messages for other checkpoints and of batches that the partition has brought already. */
static bool is_for_these_tables(sp_row_applier *applier, const sp_received_message *message,
				const sp_row_message *parsed)
{
	if (applier->options.is_hps)
		return true;
	if (parsed->full_step != applier->options.full_step) {
		skip(applier, message, SP_ROW_SKIP_VERSION, "");
		return false;
	}
	if (parsed->batch <= applier->partitions[message->partition].batch) {
		skip(applier, message, SP_ROW_SKIP_BATCH, "");
		return false;
	}
	return true;
}

/* ------------------------------------------------------------------- batches */

static void make_visible(sp_row_applier *applier)
{
	sp_fresh_commit(applier->options.fresh);
	applier->first_put_ns = 0;
}

/*
 * If all partitions wait with a commit message: if all are of one batch, it becomes visible; else
 * the partitions with an earlier batch continue.
 */
static void commit_when_aligned(sp_row_applier *applier)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < applier->partition_count; i++) {
		uint64_t committed = applier->partitions[i].committed;

		least = committed < least ? committed : least;
		most = committed > most ? committed : most;
	}
	if (least == 0)
		return;
	if (least == most) {
		make_visible(applier);
		applier->batch = most;
		atomic_store_explicit(&applier->visible_batch, most, memory_order_relaxed);
	}
	for (size_t i = 0; i < applier->partition_count; i++)
		if (applier->partitions[i].committed < most || least == most)
			applier->partitions[i].committed = 0;
}

static void handle_commit(sp_row_applier *applier, const sp_received_message *message,
			  const sp_row_message *commit)
{
	partition *from = &applier->partitions[message->partition];

	if (from->messages != commit->messages)
		add(&applier->incomplete, 1);
	from->messages = 0;
	from->batch = commit->batch;
	/* A batch that is visible without a partition that was found late: with the next one. */
	if (commit->batch <= applier->batch)
		return;
	from->committed = commit->batch;
	commit_when_aligned(applier);
}

/* ------------------------------------------------------------------- rows */

static sp_status put_rows(sp_row_applier *applier, const sp_row_message *rows, size_t table,
			  sp_fresh_done *done)
{
	sp_fresh_entries entries = {.bytes = rows->rows,
				    .count = rows->count,
				    .key_size = rows->key_size,
				    .step = applier->options.is_hps ? SP_FRESH_NO_STEP : rows->step,
				    .only_finite = applier->options.only_finite};
	sp_fresh_done before = *done;
	sp_status status = sp_fresh_put(applier->options.fresh, table, &entries, done);
	uint64_t dropped = done->reserved - before.reserved + done->not_finite - before.not_finite;

	add(&applier->rows, done->entries - before.entries - dropped);
	add(&applier->skipped[SP_ROW_SKIP_VALUES], dropped);
	if (applier->first_put_ns == 0 && done->entries != before.entries)
		applier->first_put_ns = sp_clock_now_ns();
	return status;
}

sp_status sp_row_applier_apply(sp_row_applier *applier, const sp_received_message *message,
			       sp_fresh_done *done)
{
	sp_row_message parsed;
	size_t table;
	sp_error why;
	sp_status status;

	if (applier->options.is_hps)
		status = sp_row_message_parse_hps(&parsed, message->bytes,
						  applier->options.key_size, &why);
	else
		status = sp_row_message_parse(&parsed, message->bytes, &why);
	if (status != SP_OK) {
		skip(applier, message, SP_ROW_SKIP_FORMAT, why.text);
		return SP_OK;
	}
	if (!is_for_these_tables(applier, message, &parsed))
		return SP_OK;
	if (parsed.kind == SP_ROW_MESSAGE_COMMIT) {
		handle_commit(applier, message, &parsed);
	} else {
		if (!find_table(applier, message, &parsed, &table))
			return SP_OK;
		SP_TRY(put_rows(applier, &parsed, table, done));
		applier->partitions[message->partition].messages++;
	}
	add(&applier->messages, 1);
	return SP_OK;
}

bool sp_row_applier_is_blocked(const sp_row_applier *applier, size_t p)
{
	return applier->partitions[p].committed != 0;
}

int64_t sp_row_applier_tick(sp_row_applier *applier, int64_t now_ns)
{
	int64_t due = applier->first_put_ns + applier->options.interval_ns;

	if (!applier->options.is_hps || applier->first_put_ns == 0)
		return 0;
	if (now_ns < due)
		return due;
	make_visible(applier);
	return 0;
}

void sp_row_applier_count(const sp_row_applier *applier, sp_row_applier_counters *out)
{
	out->messages = atomic_load_explicit(&applier->messages, memory_order_relaxed);
	out->rows = atomic_load_explicit(&applier->rows, memory_order_relaxed);
	out->batch = atomic_load_explicit(&applier->visible_batch, memory_order_relaxed);
	out->incomplete_batches = atomic_load_explicit(&applier->incomplete, memory_order_relaxed);
	for (int i = 0; i < SP_ROW_SKIPS; i++)
		out->skipped[i] = atomic_load_explicit(&applier->skipped[i], memory_order_relaxed);
}
