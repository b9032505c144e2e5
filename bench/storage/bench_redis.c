/*
 * Measures tables in Redis: the rate of rows against that of a bare client of the same server, and
 * what a request's misses add to its time.
 *
 *   bench_redis URL [ROWS [DIM [ROUNDS]]]
 *
 * URL is that of a redis-server that may be filled with a table of ROWS rows of DIM floats in our
 * layout, in 16 hashes ("unix:PATH", "HOST:PORT"); what an earlier run has left is used again.
 * Rounds of half a second alternate; numbers are medians over them.  Prints a line of JSON each for
 *
 *   rate     `callers` threads that look up `keys` random keys at a time; those few in memory
 *            are not counted
 *
 *      Against them as many bare clients (hiredis), with a connection each, which send the same
 *      commands, pipelined, and read the answers.
 *
 *      rows_s, bare_s       rows per second
 *      of_bare              their ratio
 *      cpu_ns, bare_cpu_ns  processor time per row in this process
 *
 *   latency  one thread, `keys` keys at a time
 *
 *      hits_p50_us, hits_p99_us    all keys in memory
 *      mixed_p50_us, mixed_p99_us  on average 2 % not
 *      added_p50_us, added_p99_us  the differences
 */
#include <hiredis/hiredis.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parallel.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "storage/redis/redis_tier.h"

enum {
	PARTITIONS = 16,
	FULL = 1,
	FILLED_AT_ONCE = 500,
	MAX_KEYS = 2000,
	MAX_ROUNDS = 99,
	SAMPLES = 20000,
	MAX_WORDS = MAX_KEYS + 4,
};

static const int64_t ROUND_NS = 500000000;

typedef struct bench {
	sp_redis_address address;
	size_t rows, dim, rounds;
	size_t keys;    /* of a request */
	size_t callers; /* threads */
	const char *hashes[PARTITIONS];
	sp_redis_store *store;
	sp_tier *tier;
	atomic_uint_least64_t count;
	int64_t end_ns;
} bench;

static const sp_redis_version version = {
	.full = FULL, .checksum = 1, .partitions = PARTITIONS, .format = SP_ROW_FP32, .former = -1};

/* ---- what is in Redis ---- */

static void add(sp_redis_batch *batch, const char *hash, const void *field, size_t field_size,
		const void *value, size_t size)
{
	sp_redis_batch_begin(batch, hash, strlen(hash), 4);
	sp_redis_batch_add_text(batch, "HSET");
	sp_redis_batch_add_text(batch, hash);
	sp_redis_batch_add(batch, field, field_size);
	sp_redis_batch_add(batch, value, size);
}

static void run(sp_redis_batch *batch)
{
	sp_error error;

	sp_bench_check(
		sp_redis_batch_run(batch, &(sp_redis_submit_options){.deadline_ns = 0}, &error),
		&error);
	sp_redis_batch_release(batch);
}

static void fill_rows(const bench *b, sp_redis_client *client)
{
	float *row = sp_bench_must(calloc(b->dim, sizeof(*row)));

	for (size_t done = 0; done < b->rows;) {
		sp_redis_batch *batch = sp_bench_must(sp_redis_batch_create(client));

		for (size_t i = 0; i < FILLED_AT_ONCE && done < b->rows; i++, done++) {
			int64_t key = (int64_t)done;

			row[0] = (float)key;
			add(batch, b->hashes[sp_redis_partition(done, PARTITIONS)], &key,
			    sizeof(key), row, b->dim * sizeof(*row));
		}
		run(batch);
	}
	free(row);
}

static void fill(const bench *b, sp_redis_client *client)
{
	char record[SP_REDIS_MAX_RECORD], mark[SP_REDIS_MARK_SIZE + 1], rows[32];
	sp_redis_batch *batch;

	fill_rows(b, client);
	batch = sp_bench_must(sp_redis_batch_create(client));
	sp_redis_mark(mark, &version);
	snprintf(rows, sizeof(rows), "%zu", b->rows / PARTITIONS);
	for (size_t p = 0; p < PARTITIONS; p++) {
		add(batch, b->hashes[p], SP_REDIS_MARK_FIELD, 1, mark, SP_REDIS_MARK_SIZE);
		add(batch, b->hashes[p], SP_REDIS_ROWS_FIELD, 5, rows, strlen(rows));
	}
	sp_redis_record_write(record, &version);
	sp_redis_batch_begin(batch, NULL, 0, 3);
	sp_redis_batch_add_text(batch, "SET");
	sp_redis_batch_add_text(batch, "bench@1");
	sp_redis_batch_add_text(batch, record);
	run(batch);
}

static void open_table(bench *b, size_t cache_bytes, const char *name)
{
	const sp_redis_store_options options = {.address = &b->address,
						.model = "bench",
						.full = FULL,
						.timeout_ms = 10000,
						.cache_bytes = cache_bytes};
	const sp_redis_table_options table = {.name = name, .dim = b->dim, .key_size = 8};
	sp_error error;

	sp_bench_check(sp_redis_store_open(&b->store, &options, &error), &error);
	sp_bench_check(sp_redis_tier_open(&b->tier, b->store, &table, &error), &error);
}

static void close_table(bench *b)
{
	sp_tier_release(b->tier);
	sp_redis_store_release(b->store);
}

static void prepare(bench *b, const char *name, sp_arena *arena)
{
	const sp_redis_client_options options = {.address = &b->address};
	const sp_redis_store_options store = {
		.address = &b->address, .model = "bench", .full = FULL};
	const sp_redis_table_options table = {.name = name, .dim = b->dim, .key_size = 8};
	sp_redis_client *client;
	sp_error error;
	bool is_there;

	for (size_t p = 0; p < PARTITIONS; p++)
		b->hashes[p] = sp_bench_must(
			(void *)(uintptr_t)sp_redis_hash_name(arena, "bench", name, &version, p));
	is_there = sp_redis_store_open(&b->store, &store, &error) == SP_OK;
	if (is_there) {
		is_there = sp_redis_tier_open(&b->tier, b->store, &table, &error) == SP_OK;
		if (is_there)
			sp_tier_release(b->tier);
		sp_redis_store_release(b->store);
	}
	if (is_there)
		return;
	sp_bench_check(sp_redis_client_create(&client, &options, &error), &error);
	fill(b, client);
	sp_redis_client_destroy(client);
}

/* ---- the rate of the tier ---- */

typedef struct request {
	int64_t keys[MAX_KEYS];
	float *places[MAX_KEYS];
	bool found[MAX_KEYS];
	float *rows;
	void *scratch;
} request;

static request *make_request(const bench *b)
{
	request *r = sp_bench_must(malloc(sizeof(*r)));

	r->rows = sp_bench_must(malloc(MAX_KEYS * b->dim * sizeof(*r->rows)));
	r->scratch = sp_bench_must(aligned_alloc(64, b->tier->kind->scratch(b->tier, MAX_KEYS)));
	for (size_t i = 0; i < MAX_KEYS; i++)
		r->places[i] = r->rows + i * b->dim;
	return r;
}

static void drop_request(request *r)
{
	free(r->rows);
	free(r->scratch);
	free(r);
}

static void look_up(const bench *b, request *r, bool must_be_there)
{
	const sp_tier_read read = {b->tier, r->keys, b->keys, r->places, r->found};
	sp_error error;

	sp_bench_check(b->tier->kind->read(&read, 1, r->scratch, 0, &error), &error);
	for (size_t i = 0; i < b->keys && must_be_there; i++)
		if (!r->found[i] || r->places[i][0] != (float)r->keys[i])
			sp_bench_fail("a wrong row");
}

static sp_status call(void *context, size_t part, sp_error *err)
{
	bench *b = context;
	uint64_t seed = part * 1000 + (uint64_t)b->end_ns, done = 0;
	request *r = make_request(b);

	(void)err;
	for (; sp_clock_now_ns() < b->end_ns; done += b->keys) {
		for (size_t i = 0; i < b->keys; i++)
			r->keys[i] = (int64_t)(sp_bench_next(&seed) % b->rows);
		look_up(b, r, true);
	}
	atomic_fetch_add(&b->count, done);
	drop_request(r);
	return SP_OK;
}

/* ---- the rate of a bare client ---- */

typedef struct bare {
	redisContext *connection;
	int64_t keys[MAX_KEYS];
	const char *words[MAX_WORDS];
	size_t sizes[MAX_WORDS];
	int64_t by_hash[PARTITIONS][MAX_KEYS];
	size_t counts[PARTITIONS];
} bare;

static redisContext *connect_bare(const bench *b)
{
	const sp_redis_server *server = &b->address.servers[0];
	redisContext *c = server->port == 0 ? redisConnectUnix(server->host)
					    : redisConnect(server->host, server->port);

	if (c == NULL || c->err != 0)
		sp_bench_fail("no connection");
	return c;
}

/* Sends a request; returns the commands of it. */
static size_t send_bare(const bench *b, bare *c, uint64_t *seed)
{
	size_t commands = 0;

	memset(c->counts, 0, sizeof(c->counts));
	for (size_t i = 0; i < b->keys; i++) {
		uint64_t key = sp_bench_next(seed) % b->rows;
		size_t p = sp_redis_partition(key, PARTITIONS);

		c->by_hash[p][c->counts[p]++] = (int64_t)key;
	}
	for (size_t p = 0; p < PARTITIONS; p++) {
		size_t words = 0;

		if (c->counts[p] == 0)
			continue;
		c->words[words] = "HMGET";
		c->sizes[words++] = 5;
		c->words[words] = b->hashes[p];
		c->sizes[words++] = strlen(b->hashes[p]);
		c->words[words] = SP_REDIS_MARK_FIELD;
		c->sizes[words++] = 1;
		for (size_t i = 0; i < c->counts[p]; i++) {
			c->words[words] = (const char *)&c->by_hash[p][i];
			c->sizes[words++] = sizeof(int64_t);
		}
		redisAppendCommandArgv(c->connection, (int)words, c->words, c->sizes);
		commands++;
	}
	return commands;
}

static void receive_bare(redisContext *c, size_t commands)
{
	for (; commands > 0; commands--) {
		void *reply;

		if (redisGetReply(c, &reply) != REDIS_OK)
			sp_bench_fail(c->errstr);
		freeReplyObject(reply);
	}
}

static sp_status call_bare(void *context, size_t part, sp_error *err)
{
	bench *b = context;
	uint64_t seed = part * 1000 + (uint64_t)b->end_ns, done = 0;
	bare *c = sp_bench_must(malloc(sizeof(*c)));

	(void)err;
	c->connection = connect_bare(b);
	for (; sp_clock_now_ns() < b->end_ns; done += b->keys)
		receive_bare(c->connection, send_bare(b, c, &seed));
	atomic_fetch_add(&b->count, done);
	redisFree(c->connection);
	free(c);
	return SP_OK;
}

/* ---- rounds ---- */

/* Processor time of this process. */
static double cpu_ns(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e9 +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e3;
}

/* Rows per second; *cost: processor time per row. */
static double rate(bench *b, sp_parallel_step *step, double *cost)
{
	int64_t start = sp_clock_now_ns();
	double cpu = cpu_ns();
	sp_tier_counters before, after;
	sp_error error;

	atomic_store(&b->count, 0);
	b->end_ns = start + ROUND_NS;
	b->tier->kind->counters(b->tier, &before);
	sp_bench_check(sp_parallel_run(b->callers, b->callers, step, b, &error), &error);
	b->tier->kind->counters(b->tier, &after);
	atomic_fetch_sub(&b->count, after.hot_hits - before.hot_hits);
	*cost = (cpu_ns() - cpu) / (double)atomic_load(&b->count);
	return (double)atomic_load(&b->count) / ((double)(sp_clock_now_ns() - start) / 1e9);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at(double *values, size_t count, double part)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(size_t)((double)(count - 1) * part)];
}

static void measure_rate(bench *b, size_t keys, size_t callers)
{
	double ours[MAX_ROUNDS], bares[MAX_ROUNDS], ratios[MAX_ROUNDS];
	double costs[MAX_ROUNDS], bare_costs[MAX_ROUNDS];

	b->keys = keys;
	b->callers = callers;
	rate(b, call, costs);
	for (size_t r = 0; r < b->rounds; r++) {
		bares[r] = rate(b, call_bare, &bare_costs[r]);
		ours[r] = rate(b, call, &costs[r]);
		ratios[r] = ours[r] / bares[r];
	}
	printf("{\"case\":\"rate\",\"keys\":%zu,\"callers\":%zu,\"rows_s\":%.0f,\"bare_s\":%.0f,"
	       "\"of_bare\":%.3f,\"cpu_ns\":%.0f,\"bare_cpu_ns\":%.0f}\n",
	       keys, callers, at(ours, b->rounds, 0.5), at(bares, b->rounds, 0.5),
	       at(ratios, b->rounds, 0.5), at(costs, b->rounds, 0.5),
	       at(bare_costs, b->rounds, 0.5));
	fflush(stdout);
}

/* ---- latency ---- */

/* Keys below `hot` are in memory; of 50 keys one is not. */
static double *sample(const bench *b, size_t hot, bool mixed)
{
	double *times = sp_bench_must(malloc(SAMPLES * sizeof(*times)));
	request *r = make_request(b);
	uint64_t seed = 7;

	for (size_t s = 0; s < SAMPLES; s++) {
		int64_t start;

		for (size_t i = 0; i < b->keys; i++) {
			bool is_cold = sp_bench_next(&seed) % 50 == 0 && mixed;

			r->keys[i] = (int64_t)(is_cold ? hot + sp_bench_next(&seed) %
									 (b->rows - hot)
						       : sp_bench_next(&seed) % hot);
		}
		start = sp_clock_now_ns();
		look_up(b, r, true);
		times[s] = (double)(sp_clock_now_ns() - start) / 1e3;
	}
	drop_request(r);
	return times;
}

static void warm_up(bench *b, size_t hot)
{
	request *r = make_request(b);

	b->keys = 500;
	/* Often enough that the cache does not give them up for cold ones. */
	for (int pass = 0; pass < 40; pass++)
		for (size_t key = 0; key + b->keys <= hot; key += b->keys) {
			for (size_t i = 0; i < b->keys; i++)
				r->keys[i] = (int64_t)(key + i);
			look_up(b, r, true);
		}
	drop_request(r);
}

static void measure_latency(bench *b, size_t keys, size_t hot)
{
	double *hits, *mixed, p50, p99, mixed_p50, mixed_p99;
	sp_tier_counters before, after;

	b->keys = keys;
	hits = sample(b, hot, false);
	b->tier->kind->counters(b->tier, &before);
	mixed = sample(b, hot, true);
	b->tier->kind->counters(b->tier, &after);
	p50 = at(hits, SAMPLES, 0.5);
	p99 = at(hits, SAMPLES, 0.99);
	mixed_p50 = at(mixed, SAMPLES, 0.5);
	mixed_p99 = at(mixed, SAMPLES, 0.99);
	printf("{\"case\":\"latency\",\"keys\":%zu,\"hit_rate\":%.4f,\"hits_p50_us\":%.1f,"
	       "\"hits_p99_us\":%.1f,\"mixed_p50_us\":%.1f,\"mixed_p99_us\":%.1f,"
	       "\"added_p50_us\":%.1f,\"added_p99_us\":%.1f}\n",
	       keys,
	       (double)(after.hot_hits - before.hot_hits) / (double)(after.asked - before.asked),
	       p50, p99, mixed_p50, mixed_p99, mixed_p50 - p50, mixed_p99 - p99);
	fflush(stdout);
	free(hits);
	free(mixed);
}

int main(int argc, char **argv)
{
	static const char usage[] = "usage: bench_redis URL [ROWS [DIM [ROUNDS]]]\n";
	static const size_t keys[] = {100, 500, 2000}, latencies[] = {26, 100, 400};
	bench b = {.rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000,
		   .dim = argc > 3 ? strtoull(argv[3], NULL, 10) : 32,
		   .rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 5};
	sp_arena *arena = sp_bench_must(sp_arena_create(1 << 16));
	char name[64];
	size_t hot;
	sp_error error;

	sp_bench_read_options(argc, argv, usage);
	if (argc < 2 || argc > 5 || b.rows < MAX_KEYS || b.dim == 0 || b.dim > SP_ROWS_MAX_DIM ||
	    b.rounds == 0 || b.rounds > MAX_ROUNDS) {
		fputs(usage, stderr);
		return 2;
	}
	sp_log_set_level(SP_LOG_WARNING);
	sp_bench_check(sp_redis_address_parse(&b.address, argv[1], &error), &error);
	snprintf(name, sizeof(name), "%zux%zu", b.rows, b.dim);
	prepare(&b, name, arena);
	open_table(&b, b.rows * b.dim / 25, name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		for (size_t callers = 1; callers <= 4; callers *= 2)
			measure_rate(&b, keys[i], callers);
	close_table(&b);
	hot = b.rows / 50;
	open_table(&b, hot * (b.dim * 4 + 40) * 2, name);
	warm_up(&b, hot);
	for (size_t i = 0; i < sizeof(latencies) / sizeof(*latencies); i++)
		measure_latency(&b, latencies[i], hot);
	close_table(&b);
	sp_arena_destroy(arena);
	return 0;
}
