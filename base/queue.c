#include "base/queue.h"

#include <pthread.h>
#include <stdint.h>

#include "base/alloc.h"

struct sp_queue {
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t filled;
	bool closed;
	size_t head; /* of the oldest item */
	size_t size;
	size_t capacity;
	void *items[];
};

sp_queue *sp_queue_create(size_t capacity)
{
	sp_queue *queue;

	if (capacity == 0 || capacity > SIZE_MAX / sizeof(void *) / 2)
		return NULL;
	queue = sp_alloc_zero(1, sizeof(*queue) + capacity * sizeof(void *));
	if (queue == NULL)
		return NULL;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->capacity = capacity;
	return queue;
}

void sp_queue_destroy(sp_queue *queue)
{
	if (queue == NULL)
		return;
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->lock);
	sp_free(queue);
}

bool sp_queue_try_push(sp_queue *queue, void *item)
{
	bool pushed = false;

	pthread_mutex_lock(&queue->lock);
	if (!queue->closed && queue->size < queue->capacity) {
		queue->items[(queue->head + queue->size) % queue->capacity] = item;
		queue->size++;
		pushed = true;
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return pushed;
}

void *sp_queue_pop(sp_queue *queue)
{
	void *item = NULL;

	pthread_mutex_lock(&queue->lock);
	while (queue->size == 0 && !queue->closed)
		pthread_cond_wait(&queue->filled, &queue->lock);
	if (queue->size != 0) {
		item = queue->items[queue->head];
		queue->head = (queue->head + 1) % queue->capacity;
		queue->size--;
	}
	pthread_mutex_unlock(&queue->lock);
	return item;
}

void sp_queue_close(sp_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}
