#ifndef SP_BASE_CLOCK_H
#define SP_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that never goes back.  Its zero means nothing. */
int64_t sp_clock_now_ns(void);

#endif
