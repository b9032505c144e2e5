#ifndef SP_BASE_QUEUE_H
#define SP_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A bounded queue of pointers between threads, first in first out.
 *
 * A full queue says no at once: that is the honest word for overload.  Closing
 * lets the poppers drain what is left and then tells them to go.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_queue sp_queue;

/* NULL when out of memory.  capacity >= 1. */
sp_queue *sp_queue_create(size_t capacity);

/* What is left in it is dropped, not freed.  NULL is fine. */
void sp_queue_destroy(sp_queue *queue);

/* False when the queue is full or closed.  `item` is not NULL: that is pop's goodbye. */
bool sp_queue_try_push(sp_queue *queue, void *item);

/* Waits for an item; NULL once the queue is closed and empty. */
void *sp_queue_pop(sp_queue *queue);

void sp_queue_close(sp_queue *queue);

size_t sp_queue_size(sp_queue *queue);

#endif
