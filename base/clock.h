#ifndef SP_BASE_CLOCK_H
#define SP_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of the monotonic clock; the epoch is arbitrary. */
int64_t sp_clock_now_ns(void);

#endif
