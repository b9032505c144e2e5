#ifndef SP_API_HOST_OBSERVE_LINE_LOG_H
#define SP_API_HOST_OBSERVE_LINE_LOG_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * A log file that a thread of its own writes.  Whoever adds a line copies it into a buffer of
 * SP_LINE_LOG_BYTES; a line for which there is no room, because the disk or the reader of a pipe is
 * slower than the lines come, is dropped and counted.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_line_log sp_line_log;

enum { SP_LINE_LOG_BYTES = 1 << 20 };

/*
 * Appends to the file; "-": standard output.
 *
 * Errors: SP_IO if the file cannot be opened; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_line_log_open(sp_line_log **out, const char *path, sp_error *err);

/* Writes what waits.  NULL is fine. */
void sp_line_log_close(sp_line_log *log);

/* `line` ends with its newline. */
void sp_line_log_add(sp_line_log *log, sp_bytes line);

/*
 * Opens the file again, which may have been renamed; lines that were added before are written to
 * the old one.  If it cannot be opened, the old one stays.  NULL is fine.
 */
void sp_line_log_reopen(sp_line_log *log);

/* Lines that were dropped or could not be written.  0 for NULL. */
uint64_t sp_line_log_dropped(const sp_line_log *log);

#endif
