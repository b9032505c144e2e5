#ifndef SP_BASE_LOG_H
#define SP_BASE_LOG_H

#include "base/status.h"

/*
 * Lines for a person, one at a time, to a function the host may replace.
 * Without one they go to standard error, as base/log_line.h writes them.
 * Nothing goes to standard output.
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

typedef enum sp_log_format {
	SP_LOG_TEXT = 0,
	SP_LOG_JSON,
} sp_log_format;

/*
 * `level` is an sp_log_level, an int as in the public header's sink.  `line` is the
 * message alone, has no newline nor other control character and lives only during
 * the call; what it is about is sp_log_subject().
 */
typedef void sp_log_sink(void *context, int level, const char *line);

/* NULL goes back to standard error. */
void sp_log_set_sink(sp_log_sink *sink, void *context);

/* Of lines on standard error; SP_LOG_TEXT at first. */
void sp_log_set_format(sp_log_format format);

/* Lines below `level` are dropped; SP_LOG_INFO at first. */
void sp_log_set_level(sp_log_level level);
sp_log_level sp_log_get_level(void);

void sp_log(sp_log_level level, const char *fmt, ...) SP_PRINTF(2, 3);

/*
 * What the calling thread works on, such as a model's name: its lines say so.
 * NULL at first: nothing in particular.  Threads of a group (base/thread.h) begin
 * with that of the thread that made the group.  The text must stay until another is set.
 * Returns the one before, to be set again afterwards.
 */
const char *sp_log_set_subject(const char *subject);
const char *sp_log_subject(void);

/* "debug", "info", "warning", "error". */
const char *sp_log_level_name(sp_log_level level);

#endif
