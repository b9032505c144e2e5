#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"

/* Protects sink and sink_context, and serialises lines. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sp_log_sink *sink;
static void *sink_context;
static atomic_int log_level = SP_LOG_INFO;
static atomic_int log_format = SP_LOG_TEXT;
/* initial-exec: access without a call of __tls_get_addr(). */
static _Thread_local const char *thread_subject __attribute__((tls_model("initial-exec")));

void sp_log_set_sink(sp_log_sink *new_sink, void *context)
{
	pthread_mutex_lock(&log_lock);
	sink = new_sink;
	sink_context = context;
	pthread_mutex_unlock(&log_lock);
}

void sp_log_set_format(sp_log_format format)
{
	atomic_store(&log_format, (int)format);
}

void sp_log_set_level(sp_log_level level)
{
	atomic_store(&log_level, (int)level);
}

sp_log_level sp_log_get_level(void)
{
	return (sp_log_level)atomic_load_explicit(&log_level, memory_order_relaxed);
}

const char *sp_log_set_subject(const char *subject)
{
	const char *before = thread_subject;

	thread_subject = subject;
	return before;
}

const char *sp_log_subject(void)
{
	return thread_subject;
}

static void write_to_standard_error(sp_log_level level, const char *message)
{
	char text[SP_LOG_LINE_SIZE];
	sp_log_line line = {.level = level, .subject = thread_subject, .message = message};
	size_t size;

	clock_gettime(CLOCK_REALTIME, &line.time);
	size = sp_log_line_write(text, (sp_log_format)atomic_load(&log_format), &line);
	fwrite(text, 1, size, stderr);
}

void sp_log(sp_log_level level, const char *fmt, ...)
{
	char message[SP_LOG_MESSAGE_SIZE];
	va_list args;

	if (level < sp_log_get_level())
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	sp_utf8_make_printable(message);

	pthread_mutex_lock(&log_lock);
	if (sink != NULL)
		sink(sink_context, (int)level, message);
	else
		write_to_standard_error(level, message);
	pthread_mutex_unlock(&log_lock);
}
