#ifndef SP_API_HOST_ROUTES_REQUEST_QUEUE_H
#define SP_API_HOST_ROUTES_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/metrics/counters.h"
#include "api/host/worker.h"

/*
 * Requests that wait for a worker, scheduled by the size of their bodies.
 *
 * Each size class is a FIFO queue of its own.  Classes take turns, and each may spend as many
 * bytes as any other (deficit round robin).  However many large requests wait, a small one
 * only waits for other small ones and for requests already running; and large ones get their
 * share whatever else arrives.
 *
 * While small requests arrive, large ones (over 256 KB) may occupy all workers but one.  When
 * none of the last SP_REQUEST_LOOKBACK requests was small, they may occupy all.
 *
 * A push to a full queue fails at once.  The last quarter is closed to large requests.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_request_queue sp_request_queue;

enum { SP_REQUEST_LOOKBACK = 64 };

/* NULL when out of memory.  capacity >= 1, workers >= 1. */
sp_request_queue *sp_request_queue_create(size_t capacity, size_t workers);

/*
 * Sets how many threads there are beyond `workers`; they take the places of threads that pause.  At
 * most `workers` threads work on items at a time.  Call it before the first pop.
 */
void sp_request_queue_set_spare(sp_request_queue *queue, size_t spare);

/* A worker stops working on its item to wait for something else, and continues. */
void sp_request_queue_pause(sp_request_queue *queue);
void sp_request_queue_resume(sp_request_queue *queue);

/* Remaining items are not freed.  NULL is fine. */
void sp_request_queue_destroy(sp_request_queue *queue);

typedef struct sp_queued {
	sp_http_request *request;
	sp_job *job;
	sp_model_counters *counters; /* for the worker to count in; NULL: nothing */
} sp_queued;

/* `size` is that of the body.  False if the queue is full or closed. */
bool sp_request_queue_try_push(sp_request_queue *queue, const sp_queued *item, size_t size);

/*
 * Waits for the next item; false once the queue is closed and empty.
 *
 * large  in: whether the item that this worker has just finished was large; initially false
 *        out: whether the returned item is large
 */
bool sp_request_queue_pop(sp_request_queue *queue, sp_queued *out, bool *large);

/* Remaining items can still be popped. */
void sp_request_queue_close(sp_request_queue *queue);

#endif
