#ifndef SP_STORAGE_SSD_READ_THREADS_H
#define SP_STORAGE_SSD_READ_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Threads that read from files where io_uring is not available: tasks are queued, and come back in
 * a list of tasks that are done, as from the kernel's ring (storage/ssd/read_rings.h).
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_read_threads sp_read_threads;

typedef struct sp_read_task {
	int fd;
	uint64_t offset;
	void *buffer;
	size_t size;
	atomic_bool cancelled; /* true: the file is not read any more, if that has not begun */
	int result;            /* of pread(); -errno after a failure */
	struct sp_read_done *done;
	struct sp_read_task *next;
} sp_read_task;

/* Where tasks come back to.  {0} is empty. */
typedef struct sp_read_done {
	sp_read_task *tasks;
	size_t count;
} sp_read_done;

SP_MUST_CHECK sp_status sp_read_threads_create(sp_read_threads **out, size_t threads,
					       sp_error *err);

/* Waits for the reads in progress; queued tasks are dropped.  NULL is fine. */
void sp_read_threads_destroy(sp_read_threads *threads);

/* Queues a task, whose `done` is set.  It belongs to the threads until it comes back. */
void sp_read_threads_submit(sp_read_threads *threads, sp_read_task *task);

/*
 * Waits until `count` tasks are done; false after deadline_ns on sp_clock_now_ns()'s clock; 0: no
 * deadline.
 */
bool sp_read_threads_wait(sp_read_threads *threads, const sp_read_done *done, size_t count,
			  int64_t deadline_ns);

/* A task that is done; NULL: none is. */
sp_read_task *sp_read_threads_take(sp_read_threads *threads, sp_read_done *done);

#endif
