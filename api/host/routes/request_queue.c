#include "api/host/routes/request_queue.h"

#include <pthread.h>
#include <stdint.h>

#include "base/alloc.h"

/* Bodies up to 4 KB, 64 KB, 256 KB, and larger ones. */
enum { CLASS_COUNT = 4, LARGE = CLASS_COUNT - 1 };

static const size_t class_limit[LARGE] = {4 << 10, 64 << 10, 256 << 10};

/*
 * A request costs its size plus BASE_COST.  A turn is worth at least one request of the
 * second class, so that a small request is always taken when its class has its turn.
 */
enum { BASE_COST = 4 << 10, TURN = 128 << 10 };

/* No index. */
enum { NONE = UINT32_MAX };

typedef struct place {
	sp_queued item;
	size_t cost;
	uint32_t next;
} place;

typedef struct class_queue {
	uint32_t first, last;
	size_t deficit; /* bytes that it may spend in this turn */
} class_queue;

/* A thread in pop() that has nothing to do. */
typedef struct idle_worker {
	struct idle_worker *next;
	pthread_cond_t woken;
	bool is_woken;
} idle_worker;

struct sp_request_queue {
	pthread_mutex_t lock; /* protects everything below */
	idle_worker *idle; /* the one that came last is woken first, because its caches are warm */
	bool closed;
	size_t size, capacity, large_size;
	size_t workers, large_running;
	size_t spare, popping,
		paused;     /* threads: workers + spare, in pop(), between pause and resume */
	size_t since_small; /* requests taken since the last one that was not large */
	class_queue classes[CLASS_COUNT];
	size_t turn;   /* the class whose turn it is */
	uint32_t free; /* first of the free list */
	place places[];
};

sp_request_queue *sp_request_queue_create(size_t capacity, size_t workers)
{
	sp_request_queue *queue;

	if (capacity == 0 || workers == 0 || capacity >= NONE)
		return NULL;
	queue = sp_alloc_zero(1, sizeof(*queue) + capacity * sizeof(place));
	if (queue == NULL)
		return NULL;
	pthread_mutex_init(&queue->lock, NULL);
	queue->capacity = capacity;
	queue->workers = workers;
	for (size_t i = 0; i < CLASS_COUNT; i++)
		queue->classes[i].first = NONE;
	for (size_t i = 0; i < capacity; i++)
		queue->places[i].next = i + 1 < capacity ? (uint32_t)(i + 1) : (uint32_t)NONE;
	return queue;
}

void sp_request_queue_destroy(sp_request_queue *queue)
{
	if (queue == NULL)
		return;
	pthread_mutex_destroy(&queue->lock);
	sp_free(queue);
}

void sp_request_queue_set_spare(sp_request_queue *queue, size_t spare)
{
	queue->spare = spare;
}

/* -------------------------------------------------------------- idle workers */

static bool wake_one(sp_request_queue *queue)
{
	idle_worker *worker = queue->idle;

	if (worker == NULL)
		return false;
	queue->idle = worker->next;
	worker->is_woken = true;
	pthread_cond_signal(&worker->woken);
	return true;
}

static void be_idle(sp_request_queue *queue)
{
	idle_worker self = {.next = queue->idle};

	pthread_cond_init(&self.woken, NULL);
	queue->idle = &self;
	while (!self.is_woken)
		pthread_cond_wait(&self.woken, &queue->lock);
	pthread_cond_destroy(&self.woken);
}

/* ------------------------------------------------------------- what may run now */

/* While small requests arrive, large ones leave one worker free for them. */
static bool may_run_large(const sp_request_queue *queue)
{
	return queue->closed || queue->workers == 1 || queue->large_running < queue->workers - 1 ||
	       (queue->since_small >= SP_REQUEST_LOOKBACK && queue->size == queue->large_size);
}

/* Whether fewer than `workers` threads work on an item. */
static bool may_begin(const sp_request_queue *queue)
{
	return queue->popping + queue->paused > queue->spare;
}

static bool is_eligible(const sp_request_queue *queue, size_t class)
{
	return queue->classes[class].first != NONE && (class != LARGE || may_run_large(queue));
}

/* Bit mask of the classes whose first request may run now. */
static unsigned eligible_classes(const sp_request_queue *queue)
{
	unsigned classes = 0;

	for (size_t i = 0; may_begin(queue) && i < CLASS_COUNT; i++)
		classes |= (unsigned)is_eligible(queue, i) << i;
	return classes;
}

/* ------------------------------------------------------------------ pushing */

static size_t class_of(size_t size)
{
	size_t class = 0;

	while (class < LARGE && size > class_limit[class])
		class ++;
	return class;
}

static bool has_room(const sp_request_queue *queue, size_t class)
{
	return queue->size < queue->capacity &&
	       (class != LARGE || queue->large_size < queue->capacity - queue->capacity / 4);
}

static void append(sp_request_queue *queue, size_t class, const sp_queued *item, size_t cost)
{
	class_queue *of = &queue->classes[class];
	uint32_t at = queue->free;

	queue->free = queue->places[at].next;
	queue->places[at] = (place){*item, cost, NONE};
	if (of->first == NONE)
		of->first = at;
	else
		queue->places[of->last].next = at;
	of->last = at;
	queue->size++;
	queue->large_size += class == LARGE;
}

bool sp_request_queue_try_push(sp_request_queue *queue, const sp_queued *item, size_t size)
{
	size_t class = class_of(size);
	bool pushed;

	pthread_mutex_lock(&queue->lock);
	pushed = !queue->closed && has_room(queue, class);
	if (pushed) {
		append(queue, class, item, size + BASE_COST);
		if (eligible_classes(queue) != 0)
			wake_one(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	return pushed;
}

/* ------------------------------------------------------------------ popping */

static void pass_turn(sp_request_queue *queue, unsigned eligible)
{
	if (queue->classes[queue->turn].first == NONE)
		queue->classes[queue->turn].deficit = 0;
	queue->turn = (queue->turn + 1) % CLASS_COUNT;
	if ((eligible >> queue->turn & 1) != 0)
		queue->classes[queue->turn].deficit += TURN;
}

/* Chooses the class by deficit round robin; a single eligible class needs no deficit. */
static size_t choose(sp_request_queue *queue, unsigned eligible)
{
	if ((eligible & (eligible - 1)) == 0)
		return (size_t)__builtin_ctz(eligible);
	for (;; pass_turn(queue, eligible)) {
		const class_queue *of = &queue->classes[queue->turn];

		if ((eligible >> queue->turn & 1) != 0 &&
		    of->deficit >= queue->places[of->first].cost)
			return queue->turn;
	}
}

static sp_queued take(sp_request_queue *queue, size_t class)
{
	class_queue *of = &queue->classes[class];
	uint32_t at = of->first;
	place *taken = &queue->places[at];
	sp_queued item = taken->item;

	of->first = taken->next;
	of->deficit -= taken->cost < of->deficit ? taken->cost : of->deficit;
	taken->next = queue->free;
	queue->free = at;
	queue->size--;
	queue->large_size -= class == LARGE;
	queue->since_small = class == LARGE ? queue->since_small + 1 : 0;
	return item;
}

bool sp_request_queue_pop(sp_request_queue *queue, sp_queued *out, bool *large)
{
	unsigned eligible;

	pthread_mutex_lock(&queue->lock);
	queue->large_running -= *large;
	queue->popping++;
	while ((eligible = eligible_classes(queue)) == 0 && !(queue->closed && queue->size == 0))
		be_idle(queue);
	*large = false;
	if (eligible != 0) {
		size_t class = choose(queue, eligible);

		*large = class == LARGE;
		queue->large_running += *large;
		*out = take(queue, class);
	}
	queue->popping--;
	/* Another class may have become eligible for a waiting worker. */
	if (eligible != 0 && eligible_classes(queue) != 0)
		wake_one(queue);
	pthread_mutex_unlock(&queue->lock);
	return eligible != 0;
}

void sp_request_queue_pause(sp_request_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->paused++;
	if (queue->popping != 0 && eligible_classes(queue) != 0)
		wake_one(queue);
	pthread_mutex_unlock(&queue->lock);
}

void sp_request_queue_resume(sp_request_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->paused--;
	pthread_mutex_unlock(&queue->lock);
}

void sp_request_queue_close(sp_request_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	while (wake_one(queue))
		;
	pthread_mutex_unlock(&queue->lock);
}
