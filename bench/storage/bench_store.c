/*
 * Measures batched lookups against random row reads, an upper limit for any store, and against
 * other stores.
 *
 *   bench_store [KEYS [DIM [SECONDS [STORES [FOLDER]]]]]
 *
 * KEYS rows of DIM floats; ids are uniform, one in ten is absent, rows are copied out.  STORES is a
 * comma-separated list of stores (default: all); FOLDER is where RocksDB keeps its files.
 *
 * Each store is built, its results are checked, and it is measured for SECONDS of its own time in
 * rounds that alternate with the limit: one independent random row of a plain array on huge pages
 * per id, with the better of two ways of prefetching.  Prints one line of JSON per case: the median
 * and the fastest round, and the time of the limit divided by that of the store.  Times are CPU
 * times of the thread, so other processes affect them only through caches and memory bandwidth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench/harness.h"
#include "bench/storage/rivals.h"
#include "bench/usage.h"

enum { IDS = 1 << 24, ROUND_KEYS = 1 << 20, MAX_ROUNDS = 1000, CHECKED = 4096 };

typedef struct bench {
	sp_rival_data data;
	float *plain;      /* [keys, dim] */
	uint32_t *numbers; /* [IDS] row numbers */
	int64_t *ids;      /* [IDS] their keys, or absent keys */
	float *rows;       /* [largest batch, dim] */
	double seconds;
	uint64_t random_state;
} bench;

static uint64_t next_random(bench *b)
{
	b->random_state ^= b->random_state << 13;
	b->random_state ^= b->random_state >> 7;
	b->random_state ^= b->random_state << 17;
	return b->random_state;
}

static void prepare(bench *b)
{
	size_t dim = b->data.dim;

	b->plain = sp_rival_map(b->data.count * dim * sizeof(float) + (2 << 20), true);
	b->plain = (float *)(((uintptr_t)b->plain + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
	for (size_t i = 0; i < b->data.count; i++)
		for (size_t d = 0; d < dim; d++)
			b->plain[i * dim + d] = sp_rival_element(i, d);
	b->numbers = sp_rival_need(malloc(IDS * sizeof(*b->numbers)));
	b->ids = sp_rival_need(malloc(IDS * sizeof(*b->ids)));
	b->rows = sp_rival_need(aligned_alloc(64, CHECKED * (dim + 16) * sizeof(float)));
	for (size_t i = 0; i < IDS; i++) {
		uint64_t number = next_random(b) % b->data.count;
		bool absent = next_random(b) % 10 == 0;

		b->numbers[i] = (uint32_t)number;
		b->ids[i] = sp_rival_key(number) | absent;
	}
}

static inline void copy_row(float *to, const char *from, size_t size)
{
	enum { STEP = 64 };

	for (; size >= STEP; size -= STEP, to += STEP / sizeof(*to), from += STEP)
		memcpy(to, from, STEP);
	memcpy(to, from, size);
}

/* The limit.  `near`: prefetches into L1, else from farther ahead into L2. */
static inline __attribute__((always_inline)) void read_rows(const bench *b, const uint32_t *numbers,
							    size_t count, bool near)
{
	size_t ahead = near ? 24 : 64, size = b->data.dim * sizeof(float);
	const char *plain = (const char *)b->plain;

	for (size_t i = 0; i < count + ahead; i++) {
		if (i < count)
			for (size_t at = 0; at < size; at += 64) {
				const char *line = plain + numbers[i] * size + at;

				if (near)
					__builtin_prefetch(line, 0, 3);
				else
					__builtin_prefetch(line, 0, 2);
			}
		if (i >= ahead)
			copy_row(b->rows + (i - ahead) * b->data.dim,
				 plain + numbers[i - ahead] * size, size);
	}
}

/* CPU time of the thread. */
static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds per key in a round; of the limit if there is no store. */
static double round_of(bench *b, const sp_rival *rival, void *store, size_t batch, bool near)
{
	size_t batches = ROUND_KEYS / batch, first = next_random(b) % (IDS - ROUND_KEYS);
	int64_t start = now_ns();

	for (size_t i = 0; i < batches; i++, first += batch) {
		if (rival != NULL)
			rival->look_up(store, b->ids + first, batch, b->rows);
		else if (near)
			read_rows(b, b->numbers + first, batch, true);
		else
			read_rows(b, b->numbers + first, batch, false);
	}
	return (double)(now_ns() - start) / (double)(batches * batch);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(bench *b, const sp_rival *rival, void *store, size_t batch)
{
	enum { STORE, NEAR, FAR, KINDS };
	static double times[KINDS][MAX_ROUNDS];
	int64_t end = sp_clock_now_ns() + (int64_t)(b->seconds * 1e9);
	double limit, fastest;
	size_t rounds = 0;

	round_of(b, rival, store, batch, false); /* warm up */
	do {
		times[STORE][rounds] = round_of(b, rival, store, batch, false);
		times[NEAR][rounds] = round_of(b, NULL, NULL, batch, true);
		times[FAR][rounds] = round_of(b, NULL, NULL, batch, false);
		rounds++;
	} while (rounds < MAX_ROUNDS && (sp_clock_now_ns() < end || rounds < 3));
	for (int k = 0; k < KINDS; k++)
		qsort(times[k], rounds, sizeof(double), by_value);
	limit = times[NEAR][rounds / 2] < times[FAR][rounds / 2] ? times[NEAR][rounds / 2]
								 : times[FAR][rounds / 2];
	fastest = times[NEAR][0] < times[FAR][0] ? times[NEAR][0] : times[FAR][0];
	printf("{\"suite\":\"store\",\"case\":\"%s/%zu\",\"keys\":%zu,\"dim\":%zu,"
	       "\"ns_per_key\":%.2f,\"min_ns_per_key\":%.2f,\"limit_ns_per_key\":%.2f,"
	       "\"limit_min_ns_per_key\":%.2f,\"of_limit\":%.3f,\"of_limit_min\":%.3f,"
	       "\"rounds\":%zu}\n",
	       rival->name, batch, b->data.count, b->data.dim, times[STORE][rounds / 2],
	       times[STORE][0], limit, fastest, limit / times[STORE][rounds / 2],
	       fastest / times[STORE][0], rounds);
	fflush(stdout);
}

/* Compares the first rows element by element. */
static void check_answers(const bench *b, const sp_rival *rival, void *store)
{
	rival->look_up(store, b->ids, CHECKED, b->rows);
	for (size_t i = 0; i < CHECKED * b->data.dim; i++) {
		bool absent = b->ids[i / b->data.dim] & 1;
		uint32_t number = b->numbers[i / b->data.dim];
		float want = absent ? 0 : sp_rival_element(number, i % b->data.dim);

		if (b->rows[i] != want) {
			fprintf(stderr, "bench_store: %s answers %g, not %g\n", rival->name,
				(double)b->rows[i], (double)want);
			exit(1);
		}
	}
}

static void run_rival(bench *b, const sp_rival *rival)
{
	int64_t start = sp_clock_now_ns();
	void *store = rival->build(&b->data);

	printf("{\"suite\":\"store\",\"case\":\"%s/build\",\"keys\":%zu,\"dim\":%zu,"
	       "\"ns_per_key\":%.1f,\"bytes_per_row\":%.2f}\n",
	       rival->name, b->data.count, b->data.dim,
	       (double)(sp_clock_now_ns() - start) / (double)b->data.count,
	       (double)rival->footprint(store) / (double)b->data.count);
	check_answers(b, rival, store);
	measure(b, rival, store, 4096);
	measure(b, rival, store, 256);
	measure(b, rival, store, 16);
	rival->destroy(store);
}

static bool is_among(const char *names, const char *name)
{
	size_t length = strlen(name);

	if (strcmp(names, "all") == 0)
		return true;
	for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
		if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

static const char usage[] = "usage: bench_store [KEYS [DIM [SECONDS [STORES [FOLDER]]]]]\n";

int main(int argc, char **argv)
{
	bench b = {.data = {.count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000,
			    .dim = argc > 2 ? strtoull(argv[2], NULL, 10) : 32,
			    .folder = argc > 5 ? argv[5] : "/tmp"},
		   .seconds = argc > 3 ? strtod(argv[3], NULL) : 3.0,
		   .random_state = 88172645463325252u};
	const char *names = argc > 4 ? argv[4] : "all";

	sp_bench_read_options(argc, argv, usage);
	if (b.data.count == 0 || b.data.dim == 0 || b.data.count >= UINT32_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	prepare(&b);
	for (size_t i = 0; sp_rivals[i] != NULL; i++)
		if (is_among(names, sp_rivals[i]->name))
			run_rival(&b, sp_rivals[i]);
	return 0;
}
