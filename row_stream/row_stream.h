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
 * The rows that a trainer streams for one full checkpoint: a thread reads them from Kafka, from the
 * checkpoint's mark on, and lays them over its tables.  All versions on that checkpoint share it;
 * with the last of them the rows go.
 *
 * Nothing that happens to brokers or messages fails a request: the rows that came so far stay.
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
	int64_t interval_ms; /* of "hps": rows are visible so long after they came */
	bool from_end;       /* without a mark: only what comes from now on */
	size_t memory_limit; /* bytes */
	bool only_finite;
	int64_t full_step;
	const char *prefix;            /* of the checkpoint, beside which its mark is */
	size_t reader_count;           /* slots for pin() */
	const sp_table *const *tables; /* [table_count]; outlive the stream's last lookup */
	size_t table_count;
} sp_row_stream_options;

/* Starts the thread; waits for no broker. */
SP_MUST_CHECK sp_status sp_row_stream_open(sp_row_stream **out,
					   const sp_row_stream_options *options, sp_error *err);

/* Adds a user.  NULL is fine, here and below. */
sp_row_stream *sp_row_stream_retain(sp_row_stream *stream);

/* The last user ends the thread; no state may be pinned. */
void sp_row_stream_release(sp_row_stream *stream);

/*
 * Waits until the rows are visible that were in Kafka when the stream was opened; false when that
 * takes longer, no broker answers, rows are paused, or `closing` becomes true.
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

void sp_row_stream_tell(const sp_row_stream *stream, sp_row_stream_status *out);

/* The topic of a table of that model, in "hps": what a topic's name cannot have is '_'. */
void sp_row_stream_topic(char out[250], const char *model, const char *table, bool is_hps);

#endif
