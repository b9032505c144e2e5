#include "storage/ssd/read_threads.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

/*
 * One lock guards the queue and all lists of done tasks: a read takes tens of microseconds on the
 * device, the lock a fraction of one.
 */
struct sp_read_threads {
	pthread_mutex_t lock;
	pthread_cond_t queued; /* a task, or the end */
	pthread_cond_t done;   /* a task is done */
	sp_read_task *first, **end;
	bool closing;
	sp_thread_group *threads;
};

static void run(sp_read_task *task)
{
	ssize_t n = -1;

	errno = ECANCELED;
	if (!atomic_load(&task->cancelled))
		n = pread(task->fd, task->buffer, task->size, (off_t)task->offset);
	task->result = n < 0 ? -errno : (int)n;
}

static void thread_main(void *context)
{
	sp_read_threads *threads = context;

	pthread_mutex_lock(&threads->lock);
	while (!threads->closing) {
		sp_read_task *task = threads->first;

		if (task == NULL) {
			pthread_cond_wait(&threads->queued, &threads->lock);
			continue;
		}
		threads->first = task->next;
		if (threads->first == NULL)
			threads->end = &threads->first;
		pthread_mutex_unlock(&threads->lock);
		run(task);
		pthread_mutex_lock(&threads->lock);
		task->next = task->done->tasks;
		task->done->tasks = task;
		task->done->count++;
		pthread_cond_broadcast(&threads->done);
	}
	pthread_mutex_unlock(&threads->lock);
}

sp_status sp_read_threads_create(sp_read_threads **out, size_t count, sp_error *err)
{
	sp_read_threads *threads = sp_alloc_zero(1, sizeof(*threads));
	sp_status status;

	SP_NEED_MEMORY(threads, err, "%zu reading threads", count);
	pthread_mutex_init(&threads->lock, NULL);
	sp_condition_init(&threads->queued);
	sp_condition_init(&threads->done);
	threads->end = &threads->first;
	status = sp_thread_group_create(&threads->threads, count, "sp-ssd-read", thread_main,
					threads, err);
	if (status != SP_OK) {
		sp_read_threads_destroy(threads);
		return status;
	}
	*out = threads;
	return SP_OK;
}

void sp_read_threads_destroy(sp_read_threads *threads)
{
	if (threads == NULL)
		return;
	pthread_mutex_lock(&threads->lock);
	threads->closing = true;
	pthread_cond_broadcast(&threads->queued);
	pthread_mutex_unlock(&threads->lock);
	sp_thread_group_destroy(threads->threads);
	pthread_cond_destroy(&threads->queued);
	pthread_cond_destroy(&threads->done);
	pthread_mutex_destroy(&threads->lock);
	sp_free(threads);
}

void sp_read_threads_submit(sp_read_threads *threads, sp_read_task *task)
{
	task->next = NULL;
	pthread_mutex_lock(&threads->lock);
	*threads->end = task;
	threads->end = &task->next;
	pthread_cond_signal(&threads->queued);
	pthread_mutex_unlock(&threads->lock);
}

bool sp_read_threads_wait(sp_read_threads *threads, const sp_read_done *done, size_t count,
			  int64_t deadline_ns)
{
	const struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	int fault = 0;

	if (deadline_ns != 0 && sp_clock_now_ns() >= deadline_ns)
		return false;
	pthread_mutex_lock(&threads->lock);
	while (done->count < count && fault == 0)
		fault = deadline_ns != 0
				? pthread_cond_timedwait(&threads->done, &threads->lock, &until)
				: pthread_cond_wait(&threads->done, &threads->lock);
	pthread_mutex_unlock(&threads->lock);
	return fault == 0;
}

sp_read_task *sp_read_threads_take(sp_read_threads *threads, sp_read_done *done)
{
	sp_read_task *task;

	pthread_mutex_lock(&threads->lock);
	task = done->tasks;
	if (task != NULL) {
		done->tasks = task->next;
		done->count--;
	}
	pthread_mutex_unlock(&threads->lock);
	return task;
}
