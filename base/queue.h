#ifndef SP_BASE_QUEUE_H
#define SP_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A bounded FIFO queue of pointers between threads.
 *
 * A push to a full queue fails at once, so that overload is visible.  After closing, remaining
 * items can still be popped; then every pop returns NULL.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_queue sp_queue;

/* NULL when out of memory.  capacity >= 1. */
sp_queue *sp_queue_create(size_t capacity);

/* Remaining items are not freed.  NULL is fine. */
void sp_queue_destroy(sp_queue *queue);

/* False if the queue is full or closed.  `item` is not NULL. */
bool sp_queue_try_push(sp_queue *queue, void *item);

/* Waits for an item; NULL once the queue is closed and empty. */
void *sp_queue_pop(sp_queue *queue);

void sp_queue_close(sp_queue *queue);

#endif
