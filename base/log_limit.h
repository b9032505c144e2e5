#ifndef SP_BASE_LOG_LIMIT_H
#define SP_BASE_LOG_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/*
 * A rate limit for log lines that clients can cause: a token bucket of SP_LOG_BURST lines,
 * refilled with one per second.  Suppressed lines are counted; the next line that is written
 * is preceded by one with the count.
 *
 *	2026-01-31T12:00:00.123Z WARNING [ctr] 4711 similar lines were left out
 *
 * All zero is a full bucket.  Threads: thread-safe, without a lock.
 */
enum { SP_LOG_BURST = 10 };

typedef struct sp_log_limit {
	/* when the bucket will be full again, in the time of sp_clock_now_ns() */
	atomic_int_least64_t full_ns;
	atomic_uint_least64_t left_out;
} sp_log_limit;

/* Takes a token; if there is none, counts a suppressed line and returns false. */
bool sp_log_limit_take(sp_log_limit *limit, int64_t now_ns);

/* Whether a line of that level is to be written now; logs the count of suppressed ones first. */
bool sp_log_limit_begin(sp_log_limit *limit, sp_log_level level);

/* As sp_log(), within the limit. */
void sp_log_limited(sp_log_limit *limit, sp_log_level level, const char *fmt, ...) SP_PRINTF(3, 4);

/* Logs the count of lines suppressed since the last one.  Call it when the subject is closed. */
void sp_log_limit_end(sp_log_limit *limit, sp_log_level level);

#endif
