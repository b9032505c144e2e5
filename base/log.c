#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/utf8.h"

/* Protects sink and sink_context, and keeps lines apart. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sp_log_sink *sink;
static void *sink_context;
static atomic_int log_level = SP_LOG_INFO;

const char *sp_log_level_name(sp_log_level level)
{
	switch (level) {
	case SP_LOG_DEBUG:
		return "debug";
	case SP_LOG_INFO:
		return "info";
	case SP_LOG_WARNING:
		return "warning";
	case SP_LOG_ERROR:
		return "error";
	}
	return "unknown";
}

void sp_log_set_sink(sp_log_sink *new_sink, void *context)
{
	pthread_mutex_lock(&log_lock);
	sink = new_sink;
	sink_context = context;
	pthread_mutex_unlock(&log_lock);
}

void sp_log_set_level(sp_log_level level)
{
	atomic_store(&log_level, (int)level);
}

void sp_log(sp_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed))
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	sp_utf8_make_printable(line);

	pthread_mutex_lock(&log_lock);
	if (sink != NULL)
		sink(sink_context, (int)level, line);
	else
		fprintf(stderr, "[serving_processor] %s: %s\n", sp_log_level_name(level), line);
	pthread_mutex_unlock(&log_lock);
}
