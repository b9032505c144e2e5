/*
 * Compares the rate of process() calls by several threads, each on a processor and a session of its
 * own, with that of one thread.
 *
 *   bench_sessions THREADS CONFIG.json REQUEST.pb...
 *
 * They take turns of 20 ms: one thread on each of the processors, then all at once.  A thread's
 * rate is its calls per second of its own processor time, so that other processes on the machine
 * distort it less.  Prints one line of JSON: the median rates, and the median of the turns' ratios,
 * at most THREADS.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "bench/harness.h"
#include "bench/usage.h"

enum { MAX_THREADS = 64, TURNS = 301, TURN_NS = 20000000 };

typedef struct request {
	char *bytes;
	size_t size;
} request;

typedef struct bench {
	void *model;
	request *requests;
	size_t count;
	pthread_barrier_t start;
} bench;

typedef struct caller {
	bench *bench;
	int cpu;
	double rate; /* calls per second of processor time */
	pthread_t thread;
} caller;

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *call(void *argument)
{
	caller *self = argument;
	bench *b = self->bench;
	int64_t end;
	double before;
	size_t calls = 0;
	void *out;
	int size;

	sp_bench_pin(self->cpu);
	pthread_barrier_wait(&b->start);
	end = sp_clock_now_ns() + TURN_NS;
	before = processor_seconds();
	for (; sp_clock_now_ns() < end; calls++) {
		const request *r = &b->requests[calls % b->count];

		if (process(b->model, r->bytes, (int)r->size, &out, &size) != 200) {
			fprintf(stderr, "%.*s\n", size, (char *)out);
			exit(1);
		}
		free(out);
	}
	self->rate = (double)calls / (processor_seconds() - before);
	return NULL;
}

/* Their sum, of `threads` at once from processor `first` on. */
static double rate_of(bench *b, int first, int threads)
{
	caller callers[MAX_THREADS];
	double sum = 0;

	pthread_barrier_init(&b->start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		callers[i] = (caller){.bench = b, .cpu = first + i};
		if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0) {
			fputs("cannot start a thread\n", stderr);
			exit(1);
		}
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(callers[i].thread, NULL);
		sum += callers[i].rate;
	}
	pthread_barrier_destroy(&b->start);
	return sum;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, TURNS, sizeof(*values), by_value);
	return values[TURNS / 2];
}

static void measure(bench *b, int threads, const char *name)
{
	double one[TURNS], many[TURNS], ratio[TURNS], middle;

	rate_of(b, 0, threads);
	for (int i = 0; i < TURNS; i++) {
		one[i] = 0;
		for (int cpu = 0; cpu < threads; cpu++)
			one[i] += rate_of(b, cpu, 1) / threads;
		many[i] = rate_of(b, 0, threads);
		ratio[i] = many[i] / one[i];
	}
	middle = median(ratio);
	printf("{\"suite\":\"sessions\",\"case\":\"%s\",\"threads\":%d,\"one_per_s\":%.0f,"
	       "\"many_per_s\":%.0f,\"ratio\":%.3f,\"least\":%.3f,\"most\":%.3f}\n",
	       name, threads, median(one), median(many), middle, ratio[0], ratio[TURNS - 1]);
}

static const char usage[] = "usage: bench_sessions THREADS CONFIG.json REQUEST.pb...\n";

int main(int argc, char **argv)
{
	int threads, state;
	char *config;
	size_t size;
	bench b;

	sp_bench_read_options(argc, argv, usage);
	threads = argc < 4 ? 0 : atoi(argv[1]);
	if (threads < 2 || threads > MAX_THREADS) {
		fputs(usage, stderr);
		return 2;
	}
	sp_bench_read_file(&config, &size, argv[2]);
	b.count = (size_t)argc - 3;
	b.requests = calloc(b.count, sizeof(*b.requests));
	b.model = initialize("", config, &state);
	free(config);
	if (b.requests == NULL || b.model == NULL)
		return 1;
	for (size_t i = 0; i < b.count; i++)
		sp_bench_read_file(&b.requests[i].bytes, &b.requests[i].size, argv[i + 3]);
	measure(&b, threads, argv[2]);
	for (size_t i = 0; i < b.count; i++)
		free(b.requests[i].bytes);
	free(b.requests);
	serving_processor_destroy(b.model);
	return 0;
}
