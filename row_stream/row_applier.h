#ifndef SP_ROW_STREAM_ROW_APPLIER_H
#define SP_ROW_STREAM_ROW_APPLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/fresh/fresh.h"

/*
 * Puts the rows of messages into the tables, and makes them visible: at the marker of a batch, when
 * every partition has brought it, or, without batches, some time after they came.
 *
 * A partition that is ahead is held until the others have brought the marker, too: its next
 * messages belong to a later batch.  What cannot be applied is counted, logged within a limit, and
 * skipped.
 *
 * Threads: one thread at a time, but sp_row_applier_count() from any.
 */
typedef struct sp_row_applier sp_row_applier;

/* Why a message, or a row, was skipped. */
typedef enum sp_row_skip {
	SP_ROW_SKIP_FORMAT,  /* no message of the format */
	SP_ROW_SKIP_TABLE,   /* of a table that the model lacks */
	SP_ROW_SKIP_WIDTH,   /* rows of another size */
	SP_ROW_SKIP_VERSION, /* of another full checkpoint */
	SP_ROW_SKIP_BATCH,   /* of a batch that is visible already */
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
	int64_t full_step;   /* of the checkpoint below; messages of others are skipped */
	int64_t interval_ns; /* "hps": rows are visible so long after they came */
	bool only_finite;
} sp_row_applier_options;

SP_MUST_CHECK sp_status sp_row_applier_create(sp_row_applier **out,
					      const sp_row_applier_options *options, sp_error *err);
void sp_row_applier_destroy(sp_row_applier *applier); /* NULL is fine */

/* Partitions 0 to count - 1; never fewer than before. */
SP_MUST_CHECK sp_status sp_row_applier_set_partitions(sp_row_applier *applier, size_t count,
						      sp_error *err);

/* A message and where it is from. */
typedef struct sp_arrived {
	sp_bytes bytes;
	size_t partition;
	const char *topic; /* for log lines; so the next two */
	int32_t number;    /* of the partition in the topic */
	int64_t offset;
	size_t table; /* of "hps": whose topic it is */
} sp_arrived;

/*
 * Applies a message; `done` is all zero at first.  SP_BUSY and SP_NO_MEMORY when memory is short:
 * called again with the same message and `done`, it goes on.  Nothing else fails.
 */
SP_MUST_CHECK sp_status sp_row_applier_apply(sp_row_applier *applier, const sp_arrived *message,
					     sp_fresh_done *done);

/* Whether the partition must wait for others. */
bool sp_row_applier_is_held(const sp_row_applier *applier, size_t partition);

/* Makes rows visible that are due; when others will be, on sp_clock_now_ns()'s clock; 0: none. */
int64_t sp_row_applier_tick(sp_row_applier *applier, int64_t now_ns);

typedef struct sp_row_applier_counters {
	uint64_t messages;           /* applied */
	uint64_t rows;               /* put */
	uint64_t batch;              /* the last one that was made visible; "hps": 0 */
	uint64_t incomplete_batches; /* made visible with fewer messages than their markers tell */
	uint64_t skipped[SP_ROW_SKIPS];
} sp_row_applier_counters;

void sp_row_applier_count(const sp_row_applier *applier, sp_row_applier_counters *out);

#endif
