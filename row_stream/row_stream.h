#ifndef SP_ROW_STREAM_ROW_STREAM_H
#define SP_ROW_STREAM_ROW_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "row_stream/row_applier.h"
#include "row_stream/row_source.h"
#include "storage/fresh/fresh.h"
#include "storage/table/table.h"

/*
 * The rows that a trainer streams for one full checkpoint.  A thread reads them from Kafka, from
 * the checkpoint's mark on, and puts them over the checkpoint's tables.  All versions on that
 * checkpoint share the stream; the last one to release it frees the rows.
 *
 * No failure of brokers or messages fails a request: the rows received so far stay in use.
 *
 * Threads: thread-safe, but for catch_up() and release(), which belong to the thread that opens and
 * closes versions.
 */
typedef struct sp_row_stream sp_row_stream;

typedef struct sp_row_stream_options {
	const char *brokers;
	const char *properties; /* of librdkafka; NULL: none */
	const char *model;      /* in the names of topics */
	bool is_hps;
	size_t key_size;     /* of "hps" */
	int64_t interval_ms; /* of "hps": between commits */
	bool from_end;       /* without a mark: read only messages that come from now on */
	size_t memory_limit; /* bytes */
	bool only_finite;
	int64_t full_step;
	const char *prefix;            /* of the checkpoint; its mark is beside it */
	size_t reader_count;           /* slots for pin() */
	const sp_table *const *tables; /* [table_count]; outlive the stream's last lookup */
	size_t table_count;
} sp_row_stream_options;

/* Starts the thread; does not wait for a broker. */
SP_MUST_CHECK sp_status sp_row_stream_open(sp_row_stream **out,
					   const sp_row_stream_options *options, sp_error *err);

/* Adds a user.  NULL is fine, here and below. */
sp_row_stream *sp_row_stream_retain(sp_row_stream *stream);

/* The last release joins the thread and frees the rows; no state may be pinned then. */
void sp_row_stream_release(sp_row_stream *stream);

/*
 * Waits until all rows that were in Kafka when the stream was opened are visible.  False if that
 * takes longer than limit_ms, no broker answers, reading is paused, or `closing` becomes true.
 */
bool sp_row_stream_catch_up(const sp_row_stream *stream, int64_t limit_ms,
			    const atomic_bool *closing);

/* The rows, for sp_fresh_pin(). */
sp_fresh *sp_row_stream_rows(const sp_row_stream *stream);

typedef struct sp_row_stream_status {
	sp_source_lag lag;
	sp_row_applier_counters applied;
	sp_fresh_counters held;
	size_t memory_limit;
	bool paused; /* the memory limit is reached: no more rows are read */
} sp_row_stream_status;

void sp_row_stream_get_status(const sp_row_stream *stream, sp_row_stream_status *out);

/* The name of the model's topic or, in "hps", of the table's; invalid characters become '_'. */
void sp_row_stream_topic(char out[250], const char *model, const char *table, bool is_hps);

#endif
