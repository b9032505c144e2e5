#include "bench/harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"

enum { MAX_CALLS = 1 << 20, MAX_ROUNDS = 99 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double share)
{
	return sorted[(size_t)(share * (double)(count - 1))];
}

static const char *cpu_name(char name[128])
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	strcpy(name, "unknown");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "model name : %127[^\n]", name) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return name;
}

static size_t run_round(sp_bench_fn *fn, void *context, double seconds, double *times)
{
	int64_t end = sp_clock_now_ns() + (int64_t)(seconds * 1e9);
	size_t calls = 0;

	while (calls < MAX_CALLS) {
		int64_t start = sp_clock_now_ns(), now;

		fn(context);
		now = sp_clock_now_ns();
		times[calls++] = (double)(now - start) / 1e3;
		if (now >= end)
			break;
	}
	qsort(times, calls, sizeof(*times), by_value);
	return calls;
}

sp_bench_result sp_bench_case(const sp_bench_options *options, const char *name, sp_bench_fn *fn,
			      void *context)
{
	static double times[MAX_CALLS];
	double medians[MAX_ROUNDS], p99s[MAX_ROUNDS];
	double seconds = options->round_seconds > 0 ? options->round_seconds : 0.25;
	int rounds = options->rounds > 0 && options->rounds <= MAX_ROUNDS ? options->rounds : 9;
	sp_bench_result result = {0};
	char cpu[128];

	run_round(fn, context, seconds, times); /* warm-up */
	for (int r = 0; r < rounds; r++) {
		size_t calls = run_round(fn, context, seconds, times);

		if (r == 0 || times[0] < result.min_us)
			result.min_us = times[0];
		medians[r] = quantile(times, calls, 0.5);
		p99s[r] = quantile(times, calls, 0.99);
		result.calls += calls;
	}
	qsort(medians, (size_t)rounds, sizeof(*medians), by_value);
	qsort(p99s, (size_t)rounds, sizeof(*p99s), by_value);
	result.median_us = quantile(medians, (size_t)rounds, 0.5);
	result.p99_us = quantile(p99s, (size_t)rounds, 0.5);
	printf("{\"suite\":\"%s\",\"case\":\"%s\",\"min_us\":%.3f,\"median_us\":%.3f,"
	       "\"p99_us\":%.3f,\"calls\":%zu,\"cpu\":\"%s\",\"isa\":\"%s\"}\n",
	       options->suite, name, result.min_us, result.median_us, result.p99_us, result.calls,
	       cpu_name(cpu), sp_isa_name(sp_cpu_isa()));
	fflush(stdout);
	return result;
}

int sp_bench_pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

void sp_bench_read_file(char **bytes, size_t *size, const char *path)
{
	sp_error err;

	if (sp_file_read(bytes, size, path, 1 << 30, &err) == SP_OK)
		return;
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}
