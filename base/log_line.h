#ifndef SP_BASE_LOG_LINE_H
#define SP_BASE_LOG_LINE_H

#include <stddef.h>
#include <time.h>

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

/* "debug", "info", "warning", "error". */
const char *sp_log_level_name(sp_log_level level);

/*
 * Formats a log line, with its newline, as text or as JSON:
 *
 *	2026-01-31T12:00:00.123Z INFO [ctr] version 100 is live
 *	{"time":"2026-01-31T12:00:00.123Z","level":"info","model":"ctr","message":"version ..."}
 *
 * The time is UTC (RFC 3339).  Without a subject "[ctr]" and "model" are left out.
 *
 * Threads: pure.
 */
enum {
	SP_LOG_MESSAGE_SIZE = 1024, /* with its NUL; longer messages are cut */
	SP_LOG_SUBJECT_SIZE = 128,  /* the same for a subject */
	/* in JSON an escape makes two bytes of one */
	SP_LOG_LINE_SIZE = 2 * (SP_LOG_MESSAGE_SIZE + SP_LOG_SUBJECT_SIZE) + 128,
};

typedef struct sp_log_line {
	struct timespec time;
	sp_log_level level;
	const char *subject; /* any bytes; NULL: none */
	const char *message; /* as sp_utf8_make_printable() leaves it */
} sp_log_line;

/* Terminates the line with a NUL as well; returns its length. */
size_t sp_log_line_write(char out[SP_LOG_LINE_SIZE], sp_log_format format, const sp_log_line *line);

#endif
