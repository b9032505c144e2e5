#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "model_loader/embedding/load_policy.h"
#include "model_loader/embedding/row_sink.h"

/*
 * A rate limit in front of a sink: no more rows and bytes a second than the policy
 * allows, so that requests that are answered meanwhile have the disk and the memory
 * bandwidth.  All threads that put rows share the limit.  Once the policy's `closing` or
 * `cancelled` is true, all calls return SP_BUSY and nothing waits.
 *
 * Threads: as its sink.
 */
typedef struct sp_row_pace {
	sp_row_sink next; /* where the rows go */
	const sp_load_policy *policy;
	size_t row_bytes; /* of a key and its row, in the checkpoint */
	bool limited;

	pthread_mutex_t lock;
	int64_t paid_until_ns; /* at the allowed rate the rows so far take until then */
} sp_row_pace;

/* Whether there is a limit, and requests are being served. */
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
