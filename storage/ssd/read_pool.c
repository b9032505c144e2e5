#include "storage/ssd/read_pool.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"

/*
 * One lock guards all state: a job takes tens of microseconds on the device, the lock a fraction of
 * one.
 *
 * The thread that has read rows also takes them, while they are in its cache, and queues further
 * jobs of the call, so that the caller is woken only once, when all is done.
 */

enum { JOBS_PER_THREAD = 4, MAX_READS = 8 };

typedef struct read_call read_call;

/* Consecutive blocks of one request. */
typedef struct read_job {
	struct read_job *next;
	read_call *call;                /* NULL: the call has returned */
	bool is_taken;                  /* a thread is taking its rows */
	sp_sst_run *runs[SP_READ_RUNS]; /* held, so that their files stay open */
	size_t count;
	sp_block_read reads[MAX_READS];
} read_job;

typedef struct job_list {
	read_job *first, **end;
} job_list;

struct sp_read_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for threads: a job is queued, or the pool closes */
	pthread_cond_t freed; /* a job has become free */
	job_list free, queued;
	size_t waiting; /* calls that have no job and wait for a free one */
	bool closing;
	size_t thread_count;
	sp_thread_group *threads;
	size_t job_count;
	read_job jobs[];
};

/* State of one sp_read_pool_run(). */
struct read_call {
	sp_read_pool *pool;
	sp_read_plan plan;
	sp_block_read ahead; /* the next block, when has_ahead */
	bool has_ahead;
	bool is_leaving;
	size_t piece;       /* blocks per job */
	size_t outstanding; /* jobs queued and not finished */
	sp_status status;   /* of the first job that failed */
	size_t failed;
	sp_error error;
	pthread_cond_t progress; /* no job is outstanding, or one has failed */
};

static void list_init(job_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

static void list_push(job_list *list, read_job *job)
{
	job->next = NULL;
	*list->end = job;
	list->end = &job->next;
}

static read_job *list_pop(job_list *list)
{
	read_job *job = list->first;

	if (job == NULL)
		return NULL;
	list->first = job->next;
	if (list->first == NULL)
		list->end = &list->first;
	return job;
}

/* Under the lock. */
static void give_back(sp_read_pool *pool, read_job *job)
{
	for (size_t r = 0; r < SP_READ_RUNS; r++) {
		sp_sst_run_release(job->runs[r]);
		job->runs[r] = NULL;
	}
	job->call = NULL;
	list_push(&pool->free, job);
	pthread_cond_signal(&pool->freed);
}

/* ---- handing out, under the lock ---- */

static bool all_handed_out(read_call *call)
{
	if (!call->has_ahead)
		call->has_ahead = sp_read_plan_next(&call->plan, &call->ahead);
	return !call->has_ahead;
}

/* Gives the job the next blocks of the call, all from one request. */
static void fill_job(read_call *call, read_job *job)
{
	const sp_read_request *request = call->ahead.request;

	job->call = call;
	for (size_t r = 0; r < request->run_count; r++)
		job->runs[r] = sp_sst_run_retain(request->runs[r]);
	job->count = 0;
	do {
		job->reads[job->count++] = call->ahead;
		call->has_ahead = false;
	} while (job->count < call->piece && !all_handed_out(call) &&
		 call->ahead.request == request);
}

static void hand_out(read_call *call)
{
	sp_read_pool *pool = call->pool;
	read_job *job;

	while (!all_handed_out(call) && (job = list_pop(&pool->free)) != NULL) {
		fill_job(call, job);
		list_push(&pool->queued, job);
		call->outstanding++;
		pthread_cond_signal(&pool->work);
	}
}

/* ---- the threads ---- */

/* The memory that a thread reads to. */
typedef struct read_buffer {
	void *bytes;
	size_t size;
} read_buffer;

static sp_status read_block(read_buffer *buffer, const sp_sst_place *place, sp_error *err)
{
	const sp_file file = {.fd = place->fd};

	if (place->span > buffer->size) {
		sp_free(buffer->bytes);
		buffer->size = 0;
		buffer->bytes = sp_alloc_aligned(SP_SST_PAGE, place->span);
		SP_NEED_MEMORY(buffer->bytes, err, "a block of %u bytes", place->span);
		buffer->size = place->span;
	}
	return sp_file_read_at(&file, place->offset, buffer->bytes, place->span, err);
}

static void note_failure(const read_job *job, const sp_block_read *read, sp_status status,
			 const sp_error *error)
{
	read_call *call = job->call;

	if (call->status != SP_OK)
		return;
	call->status = sp_error_set(&call->error, status, "%s", error->text);
	call->failed = (size_t)(read->request - call->plan.requests);
}

/* Under the lock: whether the call still waits for the job. */
static bool is_wanted(const read_job *job)
{
	return job->call != NULL && !job->call->is_leaving && job->call->status == SP_OK;
}

/*
 * Under the lock, which is released while rows are read and taken.  The call does not return while
 * `is_taken` is set.
 */
static void read_one(sp_read_pool *pool, read_job *job, sp_block_read *read, read_buffer *buffer)
{
	bool again = true;

	while (again && is_wanted(job)) {
		sp_status status;
		sp_error error;

		again = false;
		pthread_mutex_unlock(&pool->lock);
		status = read_block(buffer, &read->place, &error);
		pthread_mutex_lock(&pool->lock);
		if (!is_wanted(job))
			return;
		job->is_taken = true;
		pthread_mutex_unlock(&pool->lock);
		if (status == SP_OK)
			status = sp_block_read_finish(read, buffer->bytes, job->call->plan.take,
						      &again, &error);
		pthread_mutex_lock(&pool->lock);
		job->is_taken = false;
		if (status != SP_OK)
			note_failure(job, read, status, &error);
	}
}

/* Under the lock.  The call gets further jobs unless other calls wait for their first one. */
static void finish_job(sp_read_pool *pool, read_job *job)
{
	read_call *call = job->call;

	give_back(pool, job);
	if (call == NULL)
		return;
	call->outstanding--;
	if (call->status == SP_OK && !call->is_leaving && pool->waiting == 0)
		hand_out(call);
	if (call->outstanding == 0 || call->status != SP_OK)
		pthread_cond_signal(&call->progress);
}

static void thread_main(void *context)
{
	sp_read_pool *pool = context;
	read_buffer buffer = {0};

	pthread_mutex_lock(&pool->lock);
	while (!pool->closing) {
		read_job *job = list_pop(&pool->queued);

		if (job == NULL) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		for (size_t r = 0; r < job->count; r++)
			read_one(pool, job, &job->reads[r], &buffer);
		finish_job(pool, job);
	}
	pthread_mutex_unlock(&pool->lock);
	sp_free(buffer.bytes);
}

sp_status sp_read_pool_create(sp_read_pool **out, size_t threads, sp_error *err)
{
	size_t jobs = threads * JOBS_PER_THREAD;
	sp_read_pool *pool = sp_alloc_zero(1, sizeof(*pool) + jobs * sizeof(read_job));
	sp_status status;

	SP_NEED_MEMORY(pool, err, "%zu reading threads", threads);
	pthread_mutex_init(&pool->lock, NULL);
	sp_condition_init(&pool->work);
	sp_condition_init(&pool->freed);
	list_init(&pool->free);
	list_init(&pool->queued);
	pool->thread_count = threads;
	pool->job_count = jobs;
	for (size_t i = 0; i < jobs; i++)
		list_push(&pool->free, &pool->jobs[i]);
	status = sp_thread_group_create(&pool->threads, threads, "sp-ssd-read", thread_main, pool,
					err);
	if (status != SP_OK) {
		sp_read_pool_destroy(pool);
		return status;
	}
	*out = pool;
	return SP_OK;
}

void sp_read_pool_destroy(sp_read_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	sp_thread_group_destroy(pool->threads);
	for (read_job *job; (job = list_pop(&pool->queued)) != NULL;)
		give_back(pool, job);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->freed);
	pthread_mutex_destroy(&pool->lock);
	sp_free(pool);
}

/* ---- a call ---- */

/* Blocks per job: few enough for all threads to get some. */
static size_t piece_size(const sp_read_pool *pool, const sp_read_request *requests, size_t count)
{
	size_t keys = 0, piece;

	for (size_t r = 0; r < count; r++)
		keys += requests[r].count;
	piece = keys / pool->thread_count;
	if (piece == 0)
		return 1;
	return piece < MAX_READS ? piece : MAX_READS;
}

/* Under the lock, while the call has no job. */
static void wait_for_job(read_call *call, const struct timespec *until)
{
	sp_read_pool *pool = call->pool;

	pool->waiting++;
	if (until == NULL)
		pthread_cond_wait(&pool->freed, &pool->lock);
	else
		pthread_cond_timedwait(&pool->freed, &pool->lock, until);
	pool->waiting--;
}

/* Under the lock. */
static sp_status wait_for_progress(read_call *call, int64_t deadline_ns, sp_error *err)
{
	const struct timespec time = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	const struct timespec *until = deadline_ns != 0 ? &time : NULL;

	if (until != NULL && sp_clock_now_ns() >= deadline_ns)
		return sp_error_set(err, SP_DEADLINE,
				    "the deadline has passed before the disk has answered");
	if (call->outstanding == 0)
		wait_for_job(call, until);
	else if (until == NULL)
		pthread_cond_wait(&call->progress, &call->pool->lock);
	else
		pthread_cond_timedwait(&call->progress, &call->pool->lock, until);
	return SP_OK;
}

/* Under the lock: detaches the jobs of the call and waits for those whose rows are being taken. */
static void leave(read_call *call)
{
	sp_read_pool *pool = call->pool;

	call->is_leaving = true;
	for (size_t i = 0; i < pool->job_count; i++) {
		read_job *job = &pool->jobs[i];

		if (job->call != call || job->is_taken)
			continue;
		job->call = NULL;
		call->outstanding--;
	}
	while (call->outstanding != 0)
		pthread_cond_wait(&call->progress, &pool->lock);
}

static sp_status run(read_call *call, int64_t deadline_ns, sp_error *err)
{
	hand_out(call);
	while (call->status == SP_OK && (call->outstanding != 0 || !all_handed_out(call))) {
		SP_TRY(wait_for_progress(call, deadline_ns, err));
		if (call->outstanding == 0)
			hand_out(call);
	}
	return call->status == SP_OK ? SP_OK
				     : sp_error_set(err, call->status, "%s", call->error.text);
}

sp_status sp_read_pool_run(sp_read_pool *pool, const sp_read_request *requests, size_t count,
			   sp_read_take *take, int64_t deadline_ns, size_t *failed, sp_error *err)
{
	read_call call = {
		.pool = pool,
		.plan = {.requests = requests, .count = count, .take = take},
		.piece = piece_size(pool, requests, count),
		.failed = SIZE_MAX,
	};
	sp_status status;

	sp_condition_init(&call.progress);
	pthread_mutex_lock(&pool->lock);
	status = run(&call, deadline_ns, err);
	if (status != SP_OK)
		leave(&call);
	pthread_mutex_unlock(&pool->lock);
	pthread_cond_destroy(&call.progress);
	*failed = call.failed;
	return status;
}
