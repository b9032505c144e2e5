#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "model_loader/embedding/load_policy.h"
#include "model_loader/embedding/row_sink.h"

/*
 * A rate limit before a sink: rows and bytes per second are limited as the policy says, so that
 * concurrent requests have the disk and the memory bandwidth.  All threads that put rows share the
 * limit.  Once the policy's `closing` or `cancelled` is true, all calls return SP_BUSY and nothing
 * waits.
 *
 * Threads: as its sink.
 */
typedef struct sp_row_pace {
	sp_row_sink next; /* receives the rows */
	const sp_load_policy *policy;
	size_t row_bytes; /* bytes of a key and its row in the checkpoint */
	bool limited;

	pthread_mutex_t lock;
	int64_t paid_until_ns; /* when the rows so far would end at the allowed rate */
} sp_row_pace;

/* Whether there is a limit, and requests are being served. */
bool sp_row_pace_is_limited(const sp_load_policy *policy);

/* Whether there is a limit, or loading can be stopped. */
bool sp_row_pace_is_needed(const sp_load_policy *policy);

/* Rows are of `dim` float32. */
void sp_row_pace_init(sp_row_pace *pace, const sp_row_sink *next, size_t dim,
		      const sp_load_policy *policy);
void sp_row_pace_fini(sp_row_pace *pace);

/* The sink that limits; refers to `pace`. */
sp_row_sink sp_row_pace_sink(sp_row_pace *pace);

#endif
