/*
 * Measures a table on an SSD with a tenth of it in memory: the hit rate, and the rate of reads
 * against that of the device.
 *
 *   bench_ssd FOLDER [ROWS [DIM [CALLERS [READ_BY [ROUNDS [POLICY [START]]]]]]]
 *
 * Builds a table of ROWS rows of DIM floats in FOLDER, or opens that of an earlier run of the same
 * code, with memory for a tenth of the bytes of its rows.  CALLERS threads look up 512 keys at a
 * time, drawn from a Zipf distribution with exponent 0.99.  READ_BY says how blocks are read:
 * `rings`, by io_uring, or a number of threads.  Rounds of a quarter of a second alternate with
 * rounds that read random 4 KiB blocks of the same files in the same way: by CALLERS rings with as
 * many blocks in flight as the tier's, or by as many threads with direct pread().  Prints one line
 * of JSON per start; START picks one:
 *
 *   cold    the cache is filled by lookups only
 *   warm    the cache is filled by the frequencies of training
 *
 *   hit_rate     share of keys answered from memory
 *   ideal_rows   hit rate of an ideal LFU cache with as many rows as this cache holds
 *   ideal_bytes  with as many bytes for rows, without keys, index and counters
 *   reads_s      blocks that the table reads per second
 *   device_s     blocks that the device delivers per second
 *   of_device    their ratio, the median over the rounds
 *   keys_s       keys answered per second
 *   p50_us, p99_us  time of one lookup of 512 keys
 *   memory_mb, given_mb  memory that the table uses, and its limit
 */
#include <fcntl.h>
#include <glob.h>
#include <liburing.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/parallel.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "storage/ssd/read_rings.h"
#include "storage/cache/row_cache.h"
#include "storage/ssd/ssd_builder.h"
#include "storage/sst/sst_run.h"
#include "storage/ssd/ssd_tier.h"

enum {
	KEYS = 512,
	BLOCK = 4096,
	MAX_CALLERS = 64,
	MAX_ROUNDS = 999,
	MAX_FILES = 64,
	MAX_SAMPLES = 1 << 20,
	SLICES = 1 << 16, /* of the range of `sums`, for sampling */
};

/* Short, so that both sides see the same load of the machine. */
static const int64_t ROUND_NS = 250000000;

typedef struct bench {
	size_t rows, dim, callers, rounds, given;
	size_t threads; /* that read; 0: io_uring */
	sp_row_cache_policy policy;
	double *sums;     /* cumulative Zipf weights, by rank */
	uint32_t *starts; /* [SLICES + 1] rank of the first sum in each slice of their range */
	sp_tier *tier;
	int files[MAX_FILES];
	uint64_t blocks[MAX_FILES]; /* per file */
	size_t file_count;
	uint64_t block_count; /* sum of `blocks` */
	_Atomic uint64_t device_reads;
	double *samples;
	_Atomic size_t sample_count;
	int64_t end_ns;
} bench;

/* Ranks are scattered over the keys, as in a hashed vocabulary. */
static int64_t key_of(size_t rank)
{
	return (int64_t)((rank * UINT64_C(0x9e3779b97f4a7c15)) >> 1);
}

/* ---------------------------------------------------------- Zipf distribution */

static void make_sums(bench *b)
{
	double sum = 0;
	size_t rank = 0;

	b->sums = sp_bench_must(malloc(b->rows * sizeof(*b->sums)));
	b->starts = sp_bench_must(malloc((SLICES + 1) * sizeof(*b->starts)));
	for (size_t i = 0; i < b->rows; i++)
		b->sums[i] = sum += pow((double)(i + 1), -0.99);
	for (size_t slice = 0; slice <= SLICES; slice++) {
		while (rank < b->rows - 1 && b->sums[rank] < sum * (double)slice / SLICES)
			rank++;
		b->starts[slice] = (uint32_t)rank;
	}
}

static double share(const bench *b, size_t rows)
{
	return b->sums[(rows < b->rows ? rows : b->rows) - 1] / b->sums[b->rows - 1];
}

static int64_t draw(const bench *b, uint64_t *seed)
{
	double part = (double)(sp_bench_next(seed) >> 11) / 9007199254740992.0;
	double at = part * b->sums[b->rows - 1];
	size_t slice = (size_t)(part * SLICES);
	size_t low = b->starts[slice], high = b->starts[slice + 1];

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->sums[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return key_of(low);
}

/* ------------------------------------------------------------------- the table */

static void build(bench *b, sp_ssd_store *store, const sp_ssd_table *table, bool with_frequencies)
{
	float *row = sp_bench_must(calloc(b->dim, sizeof(*row)));
	sp_ssd_builder *builder;
	int64_t start = sp_clock_now_ns();
	sp_error error;

	sp_bench_check(sp_ssd_builder_create(&builder, store, table, b->rows, &error), &error);
	/* Without frequencies the first rows fill the cache, so they must be the coldest. */
	for (size_t i = b->rows; i-- > 0;) {
		double weight = pow((double)(i + 1), -0.99);
		int64_t key = key_of(i), freq = with_frequencies ? (int64_t)(1e9 * weight) : 0;

		row[0] = (float)(key & 0xffff);
		sp_bench_check(sp_ssd_builder_put(builder, &key, row, &freq, 1, &error), &error);
	}
	sp_bench_check(sp_ssd_builder_freeze(builder, &b->tier, &error), &error);
	sp_ssd_builder_destroy(builder);
	free(row);
	fprintf(stderr, "built %zu rows in %.1f s\n", b->rows,
		(double)(sp_clock_now_ns() - start) / 1e9);
}

/* Opens the table of an earlier run, or builds it. */
static void open_table(bench *b, sp_ssd_store *store, bool with_frequencies)
{
	const sp_ssd_table table = {"bench", b->dim, SP_ROW_FP32, NULL};
	sp_error error;
	sp_status status = sp_ssd_tier_open(&b->tier, store, &table, &error);

	if (status == SP_NOT_FOUND)
		build(b, store, &table, with_frequencies);
	else
		sp_bench_check(status, &error);
}

static sp_ssd_store *open_store(const bench *b, const char *root)
{
	char version[64];
	const sp_ssd_store_options options = {.path = root,
					      .model = "bench",
					      .version = version,
					      .cache_bytes = b->given,
					      .policy = b->policy,
					      .readers = b->threads != 0 ? b->threads : b->callers,
					      .no_rings = b->threads != 0};
	sp_ssd_store *store;
	sp_error error;

	snprintf(version, sizeof(version), "%zu rows", b->rows);
	sp_bench_check(sp_ssd_store_open(&store, &options, &error), &error);
	return store;
}

static void open_file(bench *b, const char *path)
{
	int file = open(path, O_RDONLY | O_DIRECT);
	struct stat info;

	if (file < 0 || fstat(file, &info) != 0)
		sp_bench_fail("the file system has no direct reads");
	b->files[b->file_count] = file;
	b->blocks[b->file_count] = (uint64_t)info.st_size / BLOCK;
	b->block_count += b->blocks[b->file_count++];
}

/* Opens the row files for direct reads. */
static void open_files(bench *b, const char *root)
{
	char pattern[1024];
	glob_t paths;

	snprintf(pattern, sizeof(pattern), "%s/sp-ssd-*/rows/*.sst", root);
	if (glob(pattern, 0, NULL, &paths) != 0 || paths.gl_pathc > MAX_FILES)
		sp_bench_fail("no files of rows, or too many");
	for (size_t i = 0; i < paths.gl_pathc; i++)
		open_file(b, paths.gl_pathv[i]);
	globfree(&paths);
}

static void close_files(bench *b)
{
	while (b->file_count != 0)
		close(b->files[--b->file_count]);
	b->block_count = 0;
}

/* `number` counts blocks over all files. */
static bool read_block(const bench *b, uint64_t number, void *block)
{
	size_t file = 0;

	for (; number >= b->blocks[file]; file++)
		number -= b->blocks[file];
	return pread(b->files[file], block, BLOCK, (off_t)(number * BLOCK)) == BLOCK;
}

static void start_read(const bench *b, struct io_uring *ring, uint64_t number, void *block)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(ring);
	size_t file = 0;

	for (; number >= b->blocks[file]; file++)
		number -= b->blocks[file];
	io_uring_prep_read(entry, b->files[file], block, BLOCK, number * BLOCK);
	io_uring_sqe_set_data(entry, block);
}

/* Waits for half of the blocks in flight, as the tier does. */
static uint64_t take_reads(struct io_uring *ring, void **blocks, size_t *in_flight)
{
	struct io_uring_cqe *entry;
	uint64_t count = 0;

	if (io_uring_submit_and_wait(ring, (unsigned)*in_flight / 2) < 0)
		sp_bench_fail("cannot read");
	for (; io_uring_peek_cqe(ring, &entry) == 0; count++) {
		if (entry->res != BLOCK)
			sp_bench_fail("cannot read");
		blocks[count] = io_uring_cqe_get_data(entry);
		io_uring_cqe_seen(ring, entry);
	}
	*in_flight -= count;
	return count;
}

/* ---------------------------------------------------------------------- rounds */

static sp_status read_device_by_ring(void *context, size_t thread, sp_error *err)
{
	bench *b = context;
	uint64_t seed = thread * 77 + (uint64_t)b->end_ns, reads = 0;
	void *blocks[SP_READ_RING_BLOCKS];
	size_t in_flight = 0, free_blocks = SP_READ_RING_BLOCKS;
	struct io_uring ring;

	(void)err;
	if (io_uring_queue_init(SP_READ_RING_BLOCKS, &ring, IORING_SETUP_COOP_TASKRUN) != 0)
		sp_bench_fail("no io_uring");
	for (size_t i = 0; i < SP_READ_RING_BLOCKS; i++)
		if (posix_memalign(&blocks[i], BLOCK, BLOCK) != 0)
			sp_bench_fail("no memory");
	while (sp_clock_now_ns() < b->end_ns || in_flight != 0) {
		uint64_t count;

		for (; free_blocks != 0 && sp_clock_now_ns() < b->end_ns; in_flight++)
			start_read(b, &ring, sp_bench_next(&seed) % b->block_count,
				   blocks[--free_blocks]);
		count = take_reads(&ring, blocks + free_blocks, &in_flight);
		free_blocks += count;
		reads += count;
	}
	atomic_fetch_add(&b->device_reads, reads);
	for (size_t i = 0; i < SP_READ_RING_BLOCKS; i++)
		free(blocks[i]);
	io_uring_queue_exit(&ring);
	return SP_OK;
}

static sp_status read_device(void *context, size_t thread, sp_error *err)
{
	bench *b = context;
	uint64_t seed = thread * 77 + (uint64_t)b->end_ns, reads = 0;
	void *block;

	(void)err;
	if (posix_memalign(&block, BLOCK, BLOCK) != 0)
		sp_bench_fail("no memory");
	for (; sp_clock_now_ns() < b->end_ns; reads++)
		if (!read_block(b, sp_bench_next(&seed) % b->block_count, block))
			sp_bench_fail("cannot read");
	atomic_fetch_add(&b->device_reads, reads);
	free(block);
	return SP_OK;
}

typedef struct caller {
	int64_t keys[KEYS];
	float *elements, **rows;
	bool *found;
	void *scratch;
} caller;

static caller make_caller(const bench *b)
{
	caller c = {.elements = sp_bench_must(malloc(KEYS * b->dim * sizeof(float))),
		    .rows = sp_bench_must(malloc(KEYS * sizeof(float *))),
		    .found = sp_bench_must(malloc(KEYS)),
		    .scratch = sp_bench_must(aligned_alloc(
			    64, (b->tier->kind->scratch(b->tier, KEYS) + 63) / 64 * 64))};

	for (size_t i = 0; i < KEYS; i++)
		c.rows[i] = c.elements + i * b->dim;
	return c;
}

static void check_rows(const bench *b, const sp_tier_read *read)
{
	for (size_t i = 0; i < KEYS; i++)
		if (!read->found[i] || read->rows[i][0] != (float)(read->keys[i] & 0xffff))
			sp_bench_fail("a wrong row");
	(void)b;
}

static sp_status ask(void *context, size_t number, sp_error *err)
{
	bench *b = context;
	caller c = make_caller(b);
	const sp_tier_read read = {b->tier, c.keys, KEYS, c.rows, c.found};
	uint64_t seed = number * 31 + (uint64_t)b->end_ns;
	int64_t now = 0;

	while (now < b->end_ns) {
		int64_t start;
		size_t at;

		for (size_t i = 0; i < KEYS; i++)
			c.keys[i] = draw(b, &seed);
		start = sp_clock_now_ns();
		SP_TRY(b->tier->kind->read(&read, 1, c.scratch, 0, err));
		check_rows(b, &read);
		now = sp_clock_now_ns();
		at = atomic_fetch_add(&b->sample_count, 1);
		if (at < MAX_SAMPLES)
			b->samples[at] = (double)(now - start) / 1000;
	}
	free(c.elements);
	free(c.rows);
	free(c.found);
	free(c.scratch);
	return SP_OK;
}

/* Returns the time in seconds. */
static double run_round(bench *b, size_t threads, sp_parallel_step *step)
{
	int64_t start = sp_clock_now_ns();
	sp_error error;

	b->end_ns = start + ROUND_NS;
	sp_bench_check(sp_parallel_run(threads, threads, step, b, &error), &error);
	return (double)(sp_clock_now_ns() - start) / 1e9;
}

static sp_tier_counters counters_of(const bench *b)
{
	sp_tier_counters c;

	b->tier->kind->counters(b->tier, &c);
	return c;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double quantile(double *values, size_t count, double q)
{
	qsort(values, count, sizeof(*values), compare);
	return count != 0 ? values[(size_t)((double)(count - 1) * q)] : 0;
}

/* Looks keys up until the cache has settled: 400 keys per row that it can hold. */
static void settle(bench *b)
{
	uint64_t lookups = b->given / (b->dim * sizeof(float)) * 400;
	int64_t stop = sp_clock_now_ns() + INT64_C(300000000000);

	while (counters_of(b).asked < lookups && sp_clock_now_ns() < stop)
		run_round(b, b->callers, ask);
}

/* How many rows the tier's cache has room for. */
static size_t count_cached(const bench *b)
{
	const size_t row = b->dim * sizeof(float);
	const sp_row_cache_options options = {
		.row_size = row,
		.cap_bytes = b->given - sp_sst_run_expected_footprint(b->rows, row),
		.max_rows = b->rows,
		.policy = b->policy};
	sp_row_cache *cache;
	sp_error error;
	size_t count;

	sp_bench_check(sp_row_cache_create(&cache, &options, &error), &error);
	count = sp_row_cache_capacity(cache);
	sp_row_cache_destroy(cache);
	return count;
}

static void measure(bench *b, const char *name)
{
	double reads[MAX_ROUNDS], device[MAX_ROUNDS], ratio[MAX_ROUNDS], keys[MAX_ROUNDS];
	sp_tier_counters first, before, after;
	size_t row = b->dim * sizeof(float), samples;

	b->sample_count = 0;
	first = counters_of(b);
	for (size_t r = 0; r < b->rounds; r++) {
		double seconds;

		b->device_reads = 0;
		seconds = b->threads != 0 ? run_round(b, b->threads, read_device)
					  : run_round(b, b->callers, read_device_by_ring);
		device[r] = (double)b->device_reads / seconds;
		before = counters_of(b);
		seconds = run_round(b, b->callers, ask);
		after = counters_of(b);
		reads[r] = (double)(after.bytes_read - before.bytes_read) / BLOCK / seconds;
		keys[r] = (double)(after.asked - before.asked) / seconds;
		ratio[r] = reads[r] / device[r];
	}
	after = counters_of(b);
	samples = b->sample_count < MAX_SAMPLES ? b->sample_count : MAX_SAMPLES;
	printf("{\"suite\":\"ssd\",\"case\":\"%s\",\"rows\":%zu,\"dim\":%zu,\"hit_rate\":%.4f,"
	       "\"ideal_rows\":%.4f,\"ideal_bytes\":%.4f,\"reads_s\":%.0f,\"device_s\":%.0f,"
	       "\"of_device\":%.3f,\"keys_s\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,"
	       "\"memory_mb\":%.1f,\"given_mb\":%.1f,\"callers\":%zu,\"threads\":%zu,"
	       "\"isa\":\"%s\"}\n",
	       name, b->rows, b->dim,
	       (double)(after.hot_hits - first.hot_hits) / (double)(after.asked - first.asked),
	       share(b, count_cached(b)), share(b, b->given / row), quantile(reads, b->rounds, 0.5),
	       quantile(device, b->rounds, 0.5), quantile(ratio, b->rounds, 0.5),
	       quantile(keys, b->rounds, 0.5), quantile(b->samples, samples, 0.5),
	       quantile(b->samples, samples, 0.99),
	       (double)b->tier->kind->footprint(b->tier) / (1 << 20), (double)b->given / (1 << 20),
	       b->callers, b->threads, sp_isa_name(sp_cpu_isa()));
	fflush(stdout);
}

static void run_case(bench *b, const char *folder, bool warm)
{
	const char *name = warm ? "warm" : "cold";
	char root[512];
	sp_ssd_store *store;

	snprintf(root, sizeof(root), "%s/%s", folder, name);
	store = open_store(b, root);
	open_table(b, store, warm);
	sp_ssd_store_delete_others(store);
	open_files(b, root);
	if (!warm)
		settle(b);
	measure(b, name);
	close_files(b);
	sp_tier_release(b->tier);
	sp_ssd_store_release(store);
}

static size_t number(int argc, char **argv, int at, size_t otherwise)
{
	return argc > at ? (size_t)strtoull(argv[at], NULL, 10) : otherwise;
}

static const char usage[] = "usage: bench_ssd FOLDER [ROWS [DIM [CALLERS [rings|THREADS [ROUNDS "
			    "[lfu|lru [warm|cold]]]]]]]\n";

int main(int argc, char **argv)
{
	bench b = {.rows = number(argc, argv, 2, 4000000),
		   .dim = number(argc, argv, 3, 32),
		   .callers = number(argc, argv, 4, 4),
		   .threads = argc > 5 && strcmp(argv[5], "rings") == 0 ? 0
									: number(argc, argv, 5, 0),
		   .rounds = number(argc, argv, 6, 33)};

	sp_bench_read_options(argc, argv, usage);
	if (argc < 2 || b.rows < 1000 || b.dim == 0 || b.callers - 1 >= MAX_CALLERS ||
	    b.threads > 256 || b.rounds - 1 >= MAX_ROUNDS) {
		fputs(usage, stderr);
		return 2;
	}
	if (argc > 7 && strcmp(argv[7], "lru") == 0)
		b.policy = SP_ROW_CACHE_LRU;
	sp_log_set_level(SP_LOG_WARNING);
	b.given = b.rows * b.dim * sizeof(float) / 10;
	b.samples = sp_bench_must(malloc(MAX_SAMPLES * sizeof(*b.samples)));
	make_sums(&b);
	if (argc <= 8 || strcmp(argv[8], "warm") == 0)
		run_case(&b, argv[1], true);
	if (argc <= 8 || strcmp(argv[8], "cold") == 0)
		run_case(&b, argv[1], false);
	free(b.samples);
	free(b.sums);
	free(b.starts);
	return 0;
}
