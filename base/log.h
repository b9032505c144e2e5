#ifndef SP_BASE_LOG_H
#define SP_BASE_LOG_H

#include "base/log_line.h"
#include "base/status.h"

/*
 * Log lines go to a sink that the host may set, or to standard error in the format of
 * base/log_line.h.  Nothing goes to standard output.
 *
 * Threads: thread-safe; lines are never interleaved.  The sink may be called from any
 * thread and must not call back into the library.
 */

/*
 * level  an sp_log_level, as an int as in the public header
 * line   the message alone, without newline or other control characters; valid during the
 *        call; its subject is sp_log_subject()
 */
typedef void sp_log_sink(void *context, int level, const char *line);

/* NULL: standard error. */
void sp_log_set_sink(sp_log_sink *sink, void *context);

/* Format of lines on standard error; SP_LOG_TEXT at first. */
void sp_log_set_format(sp_log_format format);

/* Lines below `level` are dropped; SP_LOG_INFO at first. */
void sp_log_set_level(sp_log_level level);
sp_log_level sp_log_get_level(void);

void sp_log(sp_log_level level, const char *fmt, ...) SP_PRINTF(2, 3);

/*
 * Sets the subject of log lines of the calling thread, such as a model's name; NULL, the initial
 * value: none.  Threads of a group (base/thread.h) inherit the subject of the thread that creates
 * the group.  The text must stay valid until another is set.  Returns the previous subject, for the
 * caller to restore.
 */
const char *sp_log_set_subject(const char *subject);
const char *sp_log_subject(void);

#endif
