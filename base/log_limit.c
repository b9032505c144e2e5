#include "base/log_limit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log_line.h"

/* The generic cell rate algorithm: each line advances full_ns by the time to refill one token. */
static const int64_t refill_ns = INT64_C(1000000000);

bool sp_log_limit_take(sp_log_limit *limit, int64_t now_ns)
{
	int_least64_t full_ns = atomic_load(&limit->full_ns), from_ns;

	do {
		from_ns = full_ns > now_ns ? full_ns : now_ns;
		if (from_ns - now_ns > (SP_LOG_BURST - 1) * refill_ns) {
			atomic_fetch_add(&limit->left_out, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&limit->full_ns, &full_ns, from_ns + refill_ns));
	return true;
}

void sp_log_limit_end(sp_log_limit *limit, sp_log_level level)
{
	uint64_t left_out = atomic_exchange(&limit->left_out, 0);

	if (left_out != 0)
		sp_log(level, "%" PRIu64 " similar lines were left out", left_out);
}

bool sp_log_limit_begin(sp_log_limit *limit, sp_log_level level)
{
	if (level < sp_log_get_level() || !sp_log_limit_take(limit, sp_clock_now_ns()))
		return false;
	sp_log_limit_end(limit, level);
	return true;
}

void sp_log_limited(sp_log_limit *limit, sp_log_level level, const char *fmt, ...)
{
	char message[SP_LOG_MESSAGE_SIZE];
	va_list args;

	if (!sp_log_limit_begin(limit, level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	sp_log(level, "%s", message);
}
