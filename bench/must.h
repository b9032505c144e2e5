#ifndef SP_BENCH_MUST_H
#define SP_BENCH_MUST_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

/* For benchmarks, whose failures end the program. */

_Noreturn static inline void sp_bench_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

static inline void sp_bench_check(sp_status status, const sp_error *err)
{
	if (status != SP_OK)
		sp_bench_fail(err->text);
}

static inline void *sp_bench_must(void *memory)
{
	if (memory == NULL)
		sp_bench_fail("no memory");
	return memory;
}

/* The next random number; `seed` may be anything.  Source: splitmix64, S. Vigna. */
static inline uint64_t sp_bench_next(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

#endif
