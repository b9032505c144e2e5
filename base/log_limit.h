#ifndef SP_BASE_LOG_LIMIT_H
#define SP_BASE_LOG_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/*
 * A bound on lines that anybody can cause: a token bucket of SP_LOG_BURST lines,
 * refilled with one a second.  What is left out is counted, and told in a line of
 * its own before the next one.
 *
 *	2026-01-31T12:00:00.123Z WARNING [ctr] 4711 similar lines were left out
 *
 * All zero is a full bucket.  Threads: thread-safe, without a lock.
 */
enum { SP_LOG_BURST = 10 };

typedef struct sp_log_limit {
	/* When the bucket is full again, in sp_clock_now_ns()'s time. */
	atomic_int_least64_t full_ns;
	atomic_uint_least64_t left_out;
} sp_log_limit;

/* Whether a line may be written at this time; if not, it is counted. */
bool sp_log_limit_take(sp_log_limit *limit, int64_t now_ns);

/* Whether a line of that level is to be written now; tells before it what was left out. */
bool sp_log_limit_begin(sp_log_limit *limit, sp_log_level level);

/* As sp_log(), within the limit. */
void sp_log_limited(sp_log_limit *limit, sp_log_level level, const char *fmt, ...) SP_PRINTF(3, 4);

/* Tells what was left out since the last line: there will be no other. */
void sp_log_limit_end(sp_log_limit *limit, sp_log_level level);

#endif
