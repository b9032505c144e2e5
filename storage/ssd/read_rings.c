#include "storage/ssd/read_rings.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "storage/ssd/read_threads.h"

enum {
	NS_PER_S = 1000000000,
	DRAIN_NS = 1000000000, /* time for abandoned reads in destroy() */
	FEW = 8,
	/* Direct reads end at a sector, except at the end of the file. */
	SECTOR = 512,
};

/* Buffer and state of one read. */
typedef struct slot {
	sp_read_task task; /* first, so that a pointer to it is one to the slot; for threads */
	sp_block_read read;
	sp_sst_run *run; /* held while the slot is busy, so that its file stays open; or NULL */
	char *buffer;
	size_t size;       /* of buffer */
	uint32_t come;     /* bytes of the block that have arrived */
	bool is_busy;      /* the kernel or the threads own the read */
	bool is_abandoned; /* its call has returned */
} slot;

typedef struct ring {
	struct ring *next;        /* in the free list */
	sp_read_threads *threads; /* NULL: io_uring reads */
	sp_read_done done;        /* by the threads */
	struct io_uring uring;
	size_t busy; /* slots */
	slot slots[SP_READ_RING_BLOCKS];
} ring;

struct sp_read_rings {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	ring *free;
	pid_t owner;              /* process that made the rings */
	sp_read_threads *threads; /* NULL: io_uring reads */
	size_t count;
	ring rings[];
};

/* ---- rings ---- */

/* ENOMEM counts, too: on older kernels rings are locked memory, which is limited. */
static sp_status refuse(int number, sp_error *err)
{
	char reason[128];

	return sp_error_set(err, SP_UNSUPPORTED, "the kernel has no io_uring for us: %s",
			    strerror_r(number, reason, sizeof(reason)));
}

/*
 * With COOP_TASKRUN completions do not interrupt the thread that submitted: it enters the kernel
 * anyway, to wait for them.  Kernels before 5.19 lack the flag.
 */
static int open_uring(struct io_uring *uring)
{
	int fault = io_uring_queue_init(SP_READ_RING_BLOCKS, uring, IORING_SETUP_COOP_TASKRUN);

	if (fault == -EINVAL)
		fault = io_uring_queue_init(SP_READ_RING_BLOCKS, uring, 0);
	return -fault;
}

static void close_ring(ring *r)
{
	if (r->threads == NULL)
		io_uring_queue_exit(&r->uring);
	for (size_t s = 0; s < SP_READ_RING_BLOCKS; s++) {
		sp_sst_run_release(r->slots[s].run);
		sp_free(r->slots[s].buffer);
	}
}

static sp_status open_ring(ring *r, sp_read_threads *threads, sp_error *err)
{
	int fault;

	r->threads = threads;
	if (threads != NULL)
		return SP_OK;
	fault = open_uring(&r->uring);
	if (fault != 0)
		return refuse(fault, err);
	/* Waiting with a timeout: since Linux 5.11. */
	if ((r->uring.features & IORING_FEAT_EXT_ARG) == 0) {
		close_ring(r);
		return refuse(ENOSYS, err);
	}
	return SP_OK;
}

static sp_status open_all(sp_read_rings *rings, size_t count, bool by_threads, sp_error *err)
{
	if (by_threads)
		SP_TRY(sp_read_threads_create(&rings->threads, count, err));
	for (; rings->count < count; rings->count++) {
		ring *r = &rings->rings[rings->count];

		SP_TRY(open_ring(r, rings->threads, err));
		r->next = rings->free;
		rings->free = r;
	}
	return SP_OK;
}

sp_status sp_read_rings_create(sp_read_rings **out, size_t count, bool by_threads, sp_error *err)
{
	sp_status status;
	sp_read_rings *rings = sp_alloc_zero(1, sizeof(*rings) + count * sizeof(ring));

	SP_NEED_MEMORY(rings, err, "%zu rings", count);
	pthread_mutex_init(&rings->lock, NULL);
	sp_condition_init(&rings->freed);
	rings->owner = getpid();
	status = open_all(rings, count, by_threads, err);
	if (status != SP_OK) {
		sp_read_rings_destroy(rings);
		return status;
	}
	*out = rings;
	return SP_OK;
}

sp_status sp_read_rings_open(sp_read_rings **out, size_t count, bool no_rings, sp_error *err)
{
	sp_status status = SP_UNSUPPORTED;

	if (!no_rings)
		status = sp_read_rings_create(out, count, false, err);
	if (status != SP_UNSUPPORTED)
		return status;
	sp_log(SP_LOG_INFO, "the SSD tier reads with %zu threads, not with io_uring", count);
	return sp_read_rings_create(out, count, true, err);
}

/* A forked child shares the rings of the kernel with its parent. */
static bool is_owner(const sp_read_rings *rings)
{
	return rings->owner == getpid();
}

/* A free ring; SP_DEADLINE when none becomes free in time. */
static sp_status take_ring(ring **out, sp_read_rings *rings, int64_t deadline_ns, sp_error *err)
{
	const struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
	int fault = 0;

	pthread_mutex_lock(&rings->lock);
	while (rings->free == NULL && fault == 0)
		fault = deadline_ns != 0
				? pthread_cond_timedwait(&rings->freed, &rings->lock, &until)
				: pthread_cond_wait(&rings->freed, &rings->lock);
	*out = rings->free;
	if (*out != NULL)
		rings->free = (*out)->next;
	pthread_mutex_unlock(&rings->lock);
	return *out != NULL
		       ? SP_OK
		       : sp_error_set(
				 err, SP_DEADLINE,
				 "the deadline has passed: too many requests read from the disk");
}

/*
 * Puts the ring first, because its memory is in the caches; but last if abandoned reads still use
 * it: they may occupy all of its slots, and a call would have to wait.
 */
static void give_ring(sp_read_rings *rings, ring *r)
{
	ring **at = &rings->free;

	pthread_mutex_lock(&rings->lock);
	while (r->busy != 0 && *at != NULL)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	pthread_cond_signal(&rings->freed);
	pthread_mutex_unlock(&rings->lock);
}

/* ---- a call ---- */

typedef struct read_call {
	ring *ring;
	sp_read_plan plan;
	size_t busy; /* slots of this call */
	size_t failed;
} read_call;

static sp_status make_room(slot *s, sp_error *err)
{
	size_t size = s->read.place.span;

	if (size <= s->size)
		return SP_OK;
	sp_free(s->buffer);
	s->size = 0;
	s->buffer = sp_alloc_aligned(SP_SST_PAGE, size);
	SP_NEED_MEMORY(s->buffer, err, "a block of %zu bytes", size);
	s->size = size;
	return SP_OK;
}

static sp_status note_failure(read_call *call, const slot *s, sp_status status)
{
	call->failed = (size_t)(s->read.request - call->plan.requests);
	return status;
}

/* Queues a read of the rest of the slot's block; the queue has an entry for each slot. */
static sp_status queue_rest(read_call *call, slot *s, sp_error *err)
{
	const sp_sst_place *place = &s->read.place;
	ring *r = call->ring;
	struct io_uring_sqe *entry;

	s->task = (sp_read_task){.fd = place->fd,
				 .offset = place->offset + s->come,
				 .buffer = s->buffer + s->come,
				 .size = place->span - s->come,
				 .done = &r->done};
	if (r->threads != NULL) {
		sp_read_threads_submit(r->threads, &s->task);
	} else {
		entry = io_uring_get_sqe(&r->uring);
		if (entry == NULL)
			return sp_error_set(err, SP_INTERNAL, "the ring is full");
		io_uring_prep_read(entry, place->fd, s->task.buffer, (unsigned)s->task.size,
				   s->task.offset);
		io_uring_sqe_set_data(entry, s);
	}
	if (s->read.request->runs != NULL)
		s->run = sp_sst_run_retain(s->read.request->runs[s->read.run]);
	s->is_busy = true;
	s->is_abandoned = false;
	call->ring->busy++;
	call->busy++;
	return SP_OK;
}

/* Queues a read of the whole block. */
static sp_status queue_read(read_call *call, slot *s, sp_error *err)
{
	sp_status status = make_room(s, err);

	if (status != SP_OK)
		return note_failure(call, s, status);
	s->come = 0;
	return queue_rest(call, s, err);
}

/* Queues reads until slots or keys run out. */
static sp_status queue_reads(read_call *call, sp_error *err)
{
	slot *slots = call->ring->slots;

	for (size_t s = 0; s < SP_READ_RING_BLOCKS; s++) {
		if (slots[s].is_busy)
			continue;
		if (!sp_read_plan_next(&call->plan, &slots[s].read))
			break;
		SP_TRY(queue_read(call, &slots[s], err));
	}
	return SP_OK;
}

static sp_status too_late(sp_error *err)
{
	return sp_error_set(err, SP_DEADLINE,
			    "the deadline has passed before the disk has answered");
}

/*
 * Submits the queue and sleeps until half of the reads have completed, so that the device has work
 * while their rows are taken; if there are only a few, until all have.
 */
static sp_status wait_for_reads(read_call *call, int64_t deadline_ns, sp_error *err)
{
	unsigned wanted = (unsigned)(call->busy > FEW ? call->busy / 2 : call->busy);
	struct io_uring_cqe *first;
	struct __kernel_timespec left;
	char reason[128];
	int fault;

	if (call->ring->threads != NULL)
		return sp_read_threads_wait(call->ring->threads, &call->ring->done,
					    wanted != 0 ? wanted : 1, deadline_ns)
			       ? SP_OK
			       : too_late(err);
	do {
		int64_t ns = deadline_ns - sp_clock_now_ns();

		if (deadline_ns != 0 && ns <= 0)
			return too_late(err);
		left = (struct __kernel_timespec){ns / NS_PER_S, ns % NS_PER_S};
		fault = io_uring_submit_and_wait_timeout(&call->ring->uring, &first,
							 wanted != 0 ? wanted : 1,
							 deadline_ns != 0 ? &left : NULL, NULL);
	} while (fault == -EINTR || fault == -ETIME);
	if (fault < 0 && fault != -EBUSY)
		return sp_error_set(err, SP_IO, "io_uring: %s",
				    strerror_r(-fault, reason, sizeof(reason)));
	return SP_OK;
}

/* Whether the read was short, as with read(), and must be continued. */
static bool goes_on(slot *s, int result)
{
	if (result == -EINTR)
		return true;
	if (result <= 0 || result % SECTOR != 0 || (uint32_t)result >= s->read.place.span - s->come)
		return false;
	s->come += (uint32_t)result;
	return true;
}

static sp_status finish_read(read_call *call, slot *s, int result, sp_error *err)
{
	char reason[128];
	sp_status status;
	bool again;

	if (goes_on(s, result))
		return queue_rest(call, s, err);
	if (result < 0)
		status = sp_error_set(err, SP_IO, "cannot read: %s",
				      strerror_r(-result, reason, sizeof(reason)));
	else if ((uint32_t)result < s->read.place.span - s->come)
		status = sp_error_set(err, SP_CORRUPT, "the file ends too early");
	else
		status = sp_block_read_finish(&s->read, s->buffer, call->plan.take, &again, err);
	if (status != SP_OK && s->read.request->place != NULL) {
		call->plan.take(s->read.request, s->read.first, NULL);
		return SP_OK;
	}
	if (status != SP_OK)
		return note_failure(call, s, status);
	return again ? queue_read(call, s, err) : SP_OK;
}

/* A read that has completed; NULL: none has. */
static slot *next_completed(ring *r)
{
	struct io_uring_cqe *entry;
	slot *s;

	if (r->threads != NULL)
		return (slot *)sp_read_threads_take(r->threads, &r->done);
	if (io_uring_peek_cqe(&r->uring, &entry) != 0)
		return NULL;
	s = io_uring_cqe_get_data(entry);
	s->task.result = entry->res;
	io_uring_cqe_seen(&r->uring, entry);
	return s;
}

/* Handles completions, of this call and of abandoned reads. */
static sp_status reap(read_call *call, sp_error *err)
{
	slot *s;

	while ((s = next_completed(call->ring)) != NULL) {
		sp_sst_run_release(s->run);
		s->run = NULL;
		s->is_busy = false;
		call->ring->busy--;
		if (s->is_abandoned)
			continue;
		call->busy--;
		SP_TRY(finish_read(call, s, s->task.result, err));
	}
	return SP_OK;
}

/* Turns unsubmitted reads into no-ops: their files may be closed before a later submission. */
static void withdraw(struct io_uring *uring)
{
	struct io_uring_sq *queue = &uring->sq;

	for (unsigned left = io_uring_sq_ready(uring); left != 0; left--) {
		unsigned at = (queue->sqe_tail - left) & queue->ring_mask;
		void *of = (void *)(uintptr_t)queue->sqes[at].user_data;

		io_uring_prep_nop(&queue->sqes[at]);
		io_uring_sqe_set_data(&queue->sqes[at], of);
	}
}

static void abandon(ring *r)
{
	if (r->threads == NULL)
		withdraw(&r->uring);
	for (size_t s = 0; s < SP_READ_RING_BLOCKS; s++) {
		r->slots[s].is_abandoned = r->slots[s].is_busy;
		atomic_store(&r->slots[s].task.cancelled, r->slots[s].is_busy);
	}
}

static sp_status run(read_call *call, int64_t deadline_ns, sp_error *err)
{
	for (;;) {
		SP_TRY(queue_reads(call, err));
		/* A call that has no slots waits for abandoned reads. */
		if (call->busy == 0 && call->ring->busy < SP_READ_RING_BLOCKS)
			return SP_OK;
		SP_TRY(wait_for_reads(call, deadline_ns, err));
		SP_TRY(reap(call, err));
	}
}

sp_status sp_read_rings_run(sp_read_rings *rings, const sp_read_request *requests, size_t count,
			    sp_read_take *take, int64_t deadline_ns, size_t *failed, sp_error *err)
{
	read_call call = {
		.plan = {.requests = requests, .count = count, .take = take},
		.failed = SIZE_MAX,
	};
	sp_status status;

	*failed = SIZE_MAX;
	if (!is_owner(rings))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "this process was forked after the table was opened");
	status = take_ring(&call.ring, rings, deadline_ns, err);
	if (status == SP_OK) {
		status = run(&call, deadline_ns, err);
		abandon(call.ring);
		give_ring(rings, call.ring);
	}
	*failed = call.failed;
	return status;
}

/* ---- the end ---- */

/* Waits for abandoned reads: the kernel may write to their slots until they complete. */
static void drain(ring *r, int64_t deadline_ns)
{
	read_call nobody = {.ring = r};

	abandon(r);
	while (r->busy != 0)
		if (wait_for_reads(&nobody, deadline_ns, NULL) != SP_OK ||
		    reap(&nobody, NULL) != SP_OK)
			return;
}

void sp_read_rings_destroy(sp_read_rings *rings)
{
	int64_t deadline_ns = sp_clock_now_ns() + DRAIN_NS;

	if (rings == NULL)
		return;
	sp_read_threads_destroy(rings->threads);
	for (size_t r = 0; r < rings->count; r++) {
		if (is_owner(rings) && rings->threads == NULL)
			drain(&rings->rings[r], deadline_ns);
		/* The disk may still answer: leak the memory it would write to. */
		if (rings->rings[r].busy == 0 || rings->threads != NULL)
			close_ring(&rings->rings[r]);
	}
	pthread_cond_destroy(&rings->freed);
	pthread_mutex_destroy(&rings->lock);
	sp_free(rings);
}
