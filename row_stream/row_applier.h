#ifndef SP_ROW_STREAM_ROW_APPLIER_H
#define SP_ROW_STREAM_ROW_APPLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "row_stream/row_source.h"
#include "storage/fresh/fresh.h"

/*
 * Puts the rows of messages into the tables and makes them visible: those of a batch when every
 * partition has brought the batch's commit message; without batches (hps) after an interval.
 *
 * A partition that has brought the commit message is blocked until all others have: its next
 * messages belong to a later batch.  A message that cannot be applied is counted, logged with a
 * rate limit, and skipped.
 *
 * Threads: one thread at a time, but sp_row_applier_count() from any.
 */
typedef struct sp_row_applier sp_row_applier;

/* Why a message, or a row, was skipped. */
typedef enum sp_row_skip {
	SP_ROW_SKIP_FORMAT,  /* malformed */
	SP_ROW_SKIP_TABLE,   /* the model has no such table */
	SP_ROW_SKIP_WIDTH,   /* the table's rows have another size */
	SP_ROW_SKIP_VERSION, /* for another full checkpoint */
	SP_ROW_SKIP_BATCH,   /* the partition has brought the batch already */
	SP_ROW_SKIP_VALUES,  /* rows that are not finite, and those of keys -1 and -2 */
	SP_ROW_SKIPS,        /* how many there are */
} sp_row_skip;

/* "format", "table", "width", "version", "batch", "values". */
const char *sp_row_skip_name(sp_row_skip skip);

typedef struct sp_row_applier_options {
	sp_fresh *fresh;
	const char *const *names; /* [table_count] of the tables, in the order of `fresh` */
	const size_t *dims;       /* [table_count] */
	size_t table_count;
	bool is_hps;
	size_t key_size;     /* of "hps" */
	int64_t full_step;   /* of the checkpoint; messages for others are skipped */
	int64_t interval_ns; /* "hps": from the first row that is not visible to the commit */
	bool only_finite;
} sp_row_applier_options;

SP_MUST_CHECK sp_status sp_row_applier_create(sp_row_applier **out,
					      const sp_row_applier_options *options, sp_error *err);
void sp_row_applier_destroy(sp_row_applier *applier); /* NULL is fine */

/* Partitions are 0 to count - 1; `count` never shrinks. */
SP_MUST_CHECK sp_status sp_row_applier_set_partitions(sp_row_applier *applier, size_t count,
						      sp_error *err);

/*
 * Applies a message; `done` is zero at first.  SP_BUSY and SP_NO_MEMORY, if memory is short: the
 * call is repeated later with the same message and `done`.  Nothing else fails.
 */
SP_MUST_CHECK sp_status sp_row_applier_apply(sp_row_applier *applier,
					     const sp_received_message *message,
					     sp_fresh_done *done);

/* Whether the partition's next message must wait for the other partitions' commit messages. */
bool sp_row_applier_is_blocked(const sp_row_applier *applier, size_t partition);

/*
 * "hps": commits if the interval is over; returns when it will be (sp_clock_now_ns()), 0: no rows
 * wait.
 */
int64_t sp_row_applier_tick(sp_row_applier *applier, int64_t now_ns);

typedef struct sp_row_applier_counters {
	uint64_t messages;           /* applied */
	uint64_t rows;               /* put into tables */
	uint64_t batch;              /* the last visible one; "hps": 0 */
	uint64_t incomplete_batches; /* commit messages whose count of messages was not right */
	uint64_t skipped[SP_ROW_SKIPS];
} sp_row_applier_counters;

void sp_row_applier_count(const sp_row_applier *applier, sp_row_applier_counters *out);

#endif
