#ifndef SP_BENCH_HARNESS_H
#define SP_BENCH_HARNESS_H

#include <stddef.h>

/*
 * Times a function: a warm-up, then rounds of many calls, each call timed separately.  A round
 * yields the minimum and the median of its calls; the case reports the minimum of all calls and the
 * median of the rounds' medians.
 *
 * One line of JSON per case goes to standard output, so that a script can compare two runs:
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

/* Reads a file; the caller frees *bytes.  A failure is printed and ends the program. */
void sp_bench_read_file(char **bytes, size_t *size, const char *path);

/* Pins the calling thread to CPU `core`; false if the system refuses. */
int sp_bench_pin(int core);

#endif
