#ifndef SP_BENCH_HARNESS_H
#define SP_BENCH_HARNESS_H

#include <stddef.h>

/*
 * Timing one function: warm-up, then rounds of many calls.  Each call is timed
 * on its own; a round gives its smallest and its median, the case the smallest
 * of all and the median of the rounds' medians.
 *
 * One line of JSON per case goes to standard output, so that two runs can be
 * compared by a script:
 *
 *   {"suite":"serve","case":"ev-wdl/16","min_us":..,"median_us":..,"p99_us":..,
 *    "calls":..,"cpu":"..","isa":"avx512"}
 */
typedef void sp_bench_fn(void *context);

typedef struct sp_bench_options {
	const char *suite;
	double round_seconds; /* 0: 0.25 */
	int rounds;           /* 0: 9 */
} sp_bench_options;

typedef struct sp_bench_result {
	double min_us;
	double median_us;
	double p99_us;
	size_t calls;
} sp_bench_result;

/* Measures and prints the line. */
sp_bench_result sp_bench_case(const sp_bench_options *options, const char *name, sp_bench_fn *fn,
			      void *context);

/* Runs on the processor's core `core` only from here on; false when that cannot be had. */
int sp_bench_pin(int core);

#endif
