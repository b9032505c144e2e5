#include "api/host/observe/line_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log_limit.h"
#include "base/thread.h"

typedef struct half {
	size_t size, lines;
	char bytes[SP_LINE_LOG_BYTES];
} half;

struct sp_line_log {
	const char *path;
	int fd; /* for the thread only */
	sp_thread_group *thread;
	sp_log_limit limit;
	atomic_uint_least64_t dropped;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t filled;
	bool closing, reopening;
	half *filling, *writing; /* the thread writes `writing` without the lock */
};

static int open_file(const char *path)
{
	if (strcmp(path, "-") == 0)
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static void write_half(sp_line_log *log, half *from)
{
	char reason[128];

	if (from->size != 0 && !sp_file_write_all(log->fd, from->bytes, from->size)) {
		sp_log_limited(&log->limit, SP_LOG_WARNING, "cannot write '%s': %s", log->path,
			       strerror_r(errno, reason, sizeof(reason)));
		atomic_fetch_add(&log->dropped, from->lines);
	}
	from->size = from->lines = 0;
}

static void open_again(sp_line_log *log)
{
	int fd = open_file(log->path);
	char reason[128];

	if (fd < 0) {
		sp_log(SP_LOG_ERROR, "cannot open '%s' again: %s", log->path,
		       strerror_r(errno, reason, sizeof(reason)));
		return;
	}
	close(log->fd);
	log->fd = fd;
}

static void write_lines(void *context)
{
	sp_line_log *log = context;
	bool closing = false;

	while (!closing) {
		bool reopening;
		half *full;

		pthread_mutex_lock(&log->lock);
		while (log->filling->size == 0 && !log->closing && !log->reopening)
			pthread_cond_wait(&log->filled, &log->lock);
		full = log->filling;
		log->filling = log->writing;
		log->writing = full;
		closing = log->closing;
		reopening = log->reopening;
		log->reopening = false;
		pthread_mutex_unlock(&log->lock);
		write_half(log, full);
		if (reopening)
			open_again(log);
	}
}

sp_status sp_line_log_open(sp_line_log **out, const char *path, sp_error *err)
{
	sp_line_log *log = sp_alloc_zero(1, sizeof(*log));
	char reason[128];
	sp_status status;

	if (log == NULL)
		return sp_no_memory(err, "a log");
	log->path = path;
	pthread_mutex_init(&log->lock, NULL);
	pthread_cond_init(&log->filled, NULL);
	log->fd = open_file(path);
	log->filling = sp_alloc_zero(1, sizeof(half));
	log->writing = sp_alloc_zero(1, sizeof(half));
	if (log->fd < 0)
		status = sp_error_set(err, SP_IO, "cannot open '%s': %s", path,
				      strerror_r(errno, reason, sizeof(reason)));
	else if (log->filling == NULL || log->writing == NULL)
		status = sp_no_memory(err, "a log");
	else
		status = sp_thread_group_create(&log->thread, 1, "log", write_lines, log, err);
	if (status != SP_OK) {
		sp_line_log_close(log);
		return status;
	}
	*out = log;
	return SP_OK;
}

void sp_line_log_close(sp_line_log *log)
{
	if (log == NULL)
		return;
	pthread_mutex_lock(&log->lock);
	log->closing = true;
	pthread_cond_signal(&log->filled);
	pthread_mutex_unlock(&log->lock);
	sp_thread_group_destroy(log->thread);
	if (log->fd >= 0)
		close(log->fd);
	sp_free(log->filling);
	sp_free(log->writing);
	pthread_cond_destroy(&log->filled);
	pthread_mutex_destroy(&log->lock);
	sp_free(log);
}

void sp_line_log_add(sp_line_log *log, sp_bytes line)
{
	half *to;

	pthread_mutex_lock(&log->lock);
	to = log->filling;
	if (line.size > SP_LINE_LOG_BYTES - to->size) {
		atomic_fetch_add_explicit(&log->dropped, 1, memory_order_relaxed);
	} else {
		if (to->size == 0)
			pthread_cond_signal(&log->filled);
		memcpy(to->bytes + to->size, line.data, line.size);
		to->size += line.size;
		to->lines++;
	}
	pthread_mutex_unlock(&log->lock);
}

void sp_line_log_reopen(sp_line_log *log)
{
	if (log == NULL)
		return;
	pthread_mutex_lock(&log->lock);
	log->reopening = true;
	pthread_cond_signal(&log->filled);
	pthread_mutex_unlock(&log->lock);
}

uint64_t sp_line_log_dropped(const sp_line_log *log)
{
	return log != NULL ? atomic_load_explicit(&log->dropped, memory_order_relaxed) : 0;
}
