#ifndef SP_BASE_LOG_LINE_H
#define SP_BASE_LOG_LINE_H

#include <stddef.h>
#include <time.h>

#include "base/log.h"

/*
 * A log line with its end, as text or as JSON:
 *
 *	2026-01-31T12:00:00.123Z INFO [ctr] version 100 is live
 *	{"time":"2026-01-31T12:00:00.123Z","level":"info","model":"ctr","message":"version ..."}
 *
 * The time is UTC (RFC 3339).  Without a subject "[ctr]" and "model" are left out.
 *
 * Threads: pure.
 */
enum {
	SP_LOG_MESSAGE_SIZE = 1024, /* with its NUL; what is longer is cut */
	SP_LOG_SUBJECT_SIZE = 128,  /* the same for a subject */
	/* In JSON a byte of either may take two. */
	SP_LOG_LINE_SIZE = 2 * (SP_LOG_MESSAGE_SIZE + SP_LOG_SUBJECT_SIZE) + 128,
};

typedef struct sp_log_line {
	struct timespec time;
	sp_log_level level;
	const char *subject; /* any bytes; NULL: none */
	const char *message; /* as sp_utf8_make_printable() leaves it */
} sp_log_line;

/* Terminated as well; returns its length. */
size_t sp_log_line_write(char out[SP_LOG_LINE_SIZE], sp_log_format format, const sp_log_line *line);

#endif
