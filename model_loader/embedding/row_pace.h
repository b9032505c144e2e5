#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "model_loader/embedding/load_policy.h"
#include "model_loader/embedding/row_sink.h"

/*
 * Rows on their way to a sink, no more of them and of their bytes a second than
 * the policy allows, so that whoever answers requests meanwhile has the disk and
 * the memory bandwidth.  All threads that put rows share the allowance.  Once the
 * policy's `closing` or `cancelled` comes true, nothing goes to the sink any more, and nobody
 * waits: SP_BUSY.
 *
 * Threads: as its sink.
 */
typedef struct sp_row_pace {
	sp_row_sink next; /* where the rows go */
	const sp_load_policy *policy;
	size_t row_bytes; /* of a key and its row, in the checkpoint */
	bool limited;

	pthread_mutex_t lock;
	int64_t paid_until_ns; /* the rows so far are worth the time up to then */
} sp_row_pace;

/* Whether there is a limit and somebody it is good for. */
bool sp_row_pace_is_limited(const sp_load_policy *policy);

/* The same, or loading can be stopped. */
bool sp_row_pace_is_needed(const sp_load_policy *policy);

/* Rows are of `dim` float32. */
void sp_row_pace_init(sp_row_pace *pace, const sp_row_sink *next, size_t dim,
		      const sp_load_policy *policy);
void sp_row_pace_fini(sp_row_pace *pace);

/* The sink that does it; refers to `pace`. */
sp_row_sink sp_row_pace_sink(sp_row_pace *pace);

#endif
