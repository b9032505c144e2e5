#ifndef SP_API_HOST_ROUTES_REQUEST_QUEUE_H
#define SP_API_HOST_ROUTES_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Requests that wait for a worker, by the size of their bodies.
 *
 * Each class of sizes is a queue of its own, first in first out; classes take
 * turns, and each may spend as many bytes as any other (deficit round robin). A
 * small request therefore waits for its like, and for what is under way, however
 * many large ones wait; and large ones get their share whatever else comes.
 *
 * While small requests come, large ones (over 256 KB) may have all workers but one.
 * When none of the last SP_REQUEST_LOOKBACK requests was small, they may have all.
 *
 * A full queue says no at once.  Its last quarter is not for large requests.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_request_queue sp_request_queue;

/* How many requests the queue looks back at. */
enum { SP_REQUEST_LOOKBACK = 64 };

/* NULL when out of memory.  capacity >= 1, workers >= 1. */
sp_request_queue *sp_request_queue_create(size_t capacity, size_t workers);

/* What is left in it is dropped, not freed.  NULL is fine. */
void sp_request_queue_destroy(sp_request_queue *queue);

/* `size` is the body's.  False when the queue is full or closed.  `item` is not NULL. */
bool sp_request_queue_try_push(sp_request_queue *queue, void *item, size_t size);

/*
 * Waits for the item that is next; NULL once the queue is closed and empty.
 * `large` says whether the one that this worker had before was large: with this
 * call it is done.  False at first; then as the call before has left it.
 */
void *sp_request_queue_pop(sp_request_queue *queue, bool *large);

/* What is left can still be popped, by any number of workers at once. */
void sp_request_queue_close(sp_request_queue *queue);

#endif
