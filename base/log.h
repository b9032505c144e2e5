#ifndef SP_BASE_LOG_H
#define SP_BASE_LOG_H

#include "base/status.h"

/*
 * Lines for a person, one at a time, to a function the host may replace.
 * Without one they go to standard error.  Nothing goes to standard output.
 *
 * Threads: thread-safe; a line is never mixed with another.  The sink may be
 * called from any thread and must not call back into the library.
 */

typedef enum sp_log_level {
	SP_LOG_DEBUG = 0,
	SP_LOG_INFO,
	SP_LOG_WARNING,
	SP_LOG_ERROR,
} sp_log_level;

/*
 * `level` is an sp_log_level, an int as in the public header's sink.  `line` has
 * no newline nor other control character and lives only during the call.
 */
typedef void sp_log_sink(void *context, int level, const char *line);

/* NULL goes back to standard error. */
void sp_log_set_sink(sp_log_sink *sink, void *context);

/* Lines below `level` are dropped; SP_LOG_INFO at first. */
void sp_log_set_level(sp_log_level level);

void sp_log(sp_log_level level, const char *fmt, ...) SP_PRINTF(2, 3);

/* "debug", "info", "warning", "error". */
const char *sp_log_level_name(sp_log_level level);

#endif
