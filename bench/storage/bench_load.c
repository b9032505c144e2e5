/*
 * Measures how long a table takes to load from a checkpoint, against the minimum that any loader
 * needs: reading the files once and touching the memory once.
 *
 *   bench_load FOLDER [ROWS [DIM [THREADS [FORMAT [ROUNDS [cold|STORE]]]]]]
 *
 * Writes a checkpoint of ROWS keys and rows of DIM floats into FOLDER, unless one of that size
 * exists, and prints one line of JSON.  Each stage uses THREADS threads; stages are interleaved
 * round by round; times are medians in seconds.
 *
 *   read_s     every byte of the shard, by pread() into memory that stays in cache
 *   touch_s    the table's memory written for the first time, on huge pages
 *   keep_s     every byte of the shard, by pread() into memory that is written for the
 *              first time, on huge pages: reading and touching in one pass
 *   load_s     loading the table, with verification of checksums
 *   of_limit   (read_s + touch_s) / load_s
 *   of_kept    keep_s / load_s
 *   cpu_of_limit  of_limit in CPU time, which other processes affect less
 *   peak_over  peak memory of the process while loading, less the memory before it and
 *              1.05 times the table's, in MiB
 *
 * The files are in the page cache; with `cold` they are dropped from it before every round (best
 * effort).  With STORE, such as http://127.0.0.1:8080, the table is loaded from FOLDER there, which
 * a server of the whole file system gives (compare_objects.py).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "model_loader/embedding/embedding_variable.h"
#include "object_store/object_store.h"
#include "storage/region.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

enum { PIECE = 256 << 10, MAX_ROUNDS = 99, STAGES = 4 };

typedef enum stage { READ, TOUCH, KEEP, LOAD } stage;

typedef struct bench {
	char prefix[512], data[576];
	const char *store; /* before the prefix of what is loaded: "" or a store */
	size_t rows, dim, threads;
	const char *format;
	bool cold;
	sp_file file;
	sp_region memory;
	sp_table *table;
	size_t footprint;
	double peak_over;
} bench;

/* ------------------------------------------------------------ the checkpoint */

/* Distinct keys, spread over 63 bits like hashed features. */
static int64_t key_of(uint64_t i)
{
	return (int64_t)((i * UINT64_C(0x9e3779b97f4a7c15)) >> 1);
}

static uint32_t write_keys(FILE *file, size_t rows)
{
	int64_t keys[4096];
	uint32_t crc = 0;

	for (size_t i = 0, used = 0; i < rows; i++) {
		keys[used++] = key_of(i);
		if (used < 4096 && i + 1 < rows)
			continue;
		crc = sp_crc32c(crc, keys, used * sizeof(*keys));
		if (fwrite(keys, sizeof(*keys), used, file) != used)
			sp_bench_fail("cannot write the checkpoint");
		used = 0;
	}
	return crc;
}

static uint32_t write_rows(FILE *file, size_t rows, size_t dim)
{
	float *row = calloc(dim, sizeof(*row));
	uint32_t crc = 0;

	for (size_t i = 0; row != NULL && i < rows; i++) {
		for (size_t d = 0; d < dim; d++)
			row[d] = (float)((i + d) % 1001) / 1000.0f - 0.5f;
		crc = sp_crc32c(crc, row, dim * sizeof(*row));
		if (fwrite(row, sizeof(*row), dim, file) != dim)
			sp_bench_fail("cannot write the checkpoint");
	}
	free(row);
	return crc;
}

/* BundleEntryProto: dtype 1, shape 2, offset 4, size 5, crc32c 6. */
static void add_entry(sp_block_writer *block, const char *name, sp_dtype dtype, const size_t *dims,
		      size_t rank, size_t offset, size_t size, uint32_t crc)
{
	sp_buffer entry = sp_wire_begin(), shape = sp_wire_begin();

	sp_wire_varint(&entry, 1, dtype);
	for (size_t i = 0; i < rank; i++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, dims[i]);
		sp_wire_message(&shape, 2, &dim);
	}
	sp_wire_message(&entry, 2, &shape);
	sp_wire_varint(&entry, 4, offset);
	sp_wire_varint(&entry, 5, size);
	sp_wire_fixed32(&entry, 6, sp_crc32c_mask(crc));
	sp_block_add(block, sp_bytes_of(name), sp_wire_view(&entry));
	sp_buffer_fini(&entry);
}

static void write_index(const bench *b, uint32_t keys_crc, uint32_t rows_crc)
{
	const size_t dims[] = {b->rows, b->dim};
	size_t keys_size = b->rows * sizeof(int64_t);
	char path[576];
	sp_table_writer table;
	sp_block_writer block;
	FILE *file;

	sp_table_begin(&table, false);
	sp_block_begin(&block, 16);
	sp_block_add(&block, (sp_bytes){"", 0}, (sp_bytes){"\x08\x01\x1a\x02\x08\x01", 6});
	add_entry(&block, "v-keys", SP_INT64, dims, 1, 0, keys_size, keys_crc);
	add_entry(&block, "v-values", SP_FLOAT, dims, 2, keys_size,
		  b->rows * b->dim * sizeof(float), rows_crc);
	sp_table_add_block(&table, &block, sp_bytes_of("w"));
	sp_block_fini(&block);
	sp_table_end(&table);
	snprintf(path, sizeof(path), "%s.index", b->prefix);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(table.file.data, 1, table.file.size, file) != table.file.size ||
	    fclose(file) != 0)
		sp_bench_fail("cannot write the index");
	sp_table_fini(&table);
}

static void write_checkpoint(const bench *b)
{
	uint32_t keys_crc, rows_crc;
	sp_bundle *there;
	FILE *file;

	if (sp_bundle_open(&there, b->prefix, NULL) == SP_OK) {
		sp_bundle_close(there);
		return;
	}
	file = fopen(b->data, "wb");
	if (file == NULL)
		sp_bench_fail("cannot write the checkpoint");
	keys_crc = write_keys(file, b->rows);
	rows_crc = write_rows(file, b->rows, b->dim);
	if (fclose(file) != 0)
		sp_bench_fail("cannot write the checkpoint");
	write_index(b, keys_crc, rows_crc);
}

/* ---------------------------------------------------------------- the stages */

static sp_status read_piece(void *context, size_t i, sp_error *err)
{
	const bench *b = context;
	uint64_t offset = (uint64_t)i * PIECE;
	size_t size = b->file.size - offset < PIECE ? (size_t)(b->file.size - offset) : PIECE;
	char *buffer = malloc(PIECE);
	sp_status status = sp_file_read_at(&b->file, offset, buffer, size, err);

	free(buffer);
	return status;
}

static sp_status keep_piece(void *context, size_t i, sp_error *err)
{
	const bench *b = context;
	size_t at = i * PIECE, left = (size_t)b->file.size - at;

	return sp_file_read_at(&b->file, at, (char *)b->memory.data + at,
			       left < PIECE ? left : PIECE, err);
}

static sp_status touch_piece(void *context, size_t i, sp_error *err)
{
	const bench *b = context;
	size_t at = i * PIECE * 8, size = b->memory.size - at;

	(void)err;
	memset((char *)b->memory.data + at, 1, size < PIECE * 8 ? size : PIECE * 8);
	return SP_OK;
}

/* A field of /proc/self/status that is in kB, in MiB. */
static double memory_mib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	double kib = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtod(line + strlen(name), NULL);
	if (file != NULL)
		fclose(file);
	return kib / 1024;
}

/* Resets VmHWM. */
static void reset_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	if (fd < 0 || write(fd, "5", 1) != 1)
		sp_bench_fail("cannot measure memory");
	close(fd);
}

static void load(bench *b)
{
	sp_name_rule rule = {.pattern = "*"};
	sp_load_policy policy = {.row_formats = {&rule, 1}, .threads = b->threads};
	sp_embedding_spec spec = {.name = "v",
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = b->dim,
				  .partition_num = 1};
	sp_arena *arena = sp_arena_create(4096);
	sp_embedding embedding;
	sp_row_format format = SP_ROW_FP32;
	char prefix[1024];
	sp_bundle *bundle;
	sp_error err;

	while (format < SP_ROW_FORMATS && strcmp(sp_row_format_name(format), b->format) != 0)
		format++;
	if (format == SP_ROW_FORMATS || arena == NULL)
		sp_bench_fail("unknown row format");
	rule.value = format;
	snprintf(prefix, sizeof(prefix), "%s%s", b->store, b->prefix);
	sp_bench_check(sp_bundle_open(&bundle, prefix, &err), &err);
	sp_bench_check(sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err), &err);
	sp_bench_check(sp_embedding_load(&b->table, &embedding, &spec, &policy, NULL, &err), &err);
	b->footprint = sp_table_footprint(b->table);
	sp_bundle_close(bundle);
	sp_arena_destroy(arena);
}

static void run(bench *b, stage s)
{
	size_t pieces;
	sp_error err;

	switch (s) {
	case READ:
		pieces = (size_t)((b->file.size + PIECE - 1) / PIECE);
		sp_bench_check(sp_parallel_run(b->threads, pieces, read_piece, b, &err), &err);
		break;
	case TOUCH:
		if (!sp_region_resize(&b->memory, b->footprint))
			sp_bench_fail("out of memory");
		pieces = (b->footprint + PIECE * 8 - 1) / (PIECE * 8);
		sp_bench_check(sp_parallel_run(b->threads, pieces, touch_piece, b, &err), &err);
		break;
	case KEEP:
		if (!sp_region_resize(&b->memory, (size_t)b->file.size))
			sp_bench_fail("out of memory");
		pieces = (size_t)((b->file.size + PIECE - 1) / PIECE);
		sp_bench_check(sp_parallel_run(b->threads, pieces, keep_piece, b, &err), &err);
		break;
	case LOAD:
		load(b);
		break;
	}
}

/* CPU time of all threads, user and system. */
static double processor_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double seconds_of(bench *b, stage s, double *processor)
{
	double before = memory_mib("VmRSS:"), peak;
	int64_t start;

	if (b->cold)
		posix_fadvise(b->file.fd, 0, 0, POSIX_FADV_DONTNEED);
	reset_peak();
	start = sp_clock_now_ns();
	*processor = processor_seconds();
	run(b, s);
	*processor = processor_seconds() - *processor;
	start = sp_clock_now_ns() - start;
	sp_region_fini(&b->memory);
	sp_table_destroy(b->table);
	b->table = NULL;
	peak = memory_mib("VmHWM:") - before - 1.05 * (double)b->footprint / 1048576;
	if (s == LOAD && peak > b->peak_over)
		b->peak_over = peak;
	return (double)start * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(double *times, double *processor, size_t rounds)
{
	qsort(times, rounds, sizeof(*times), by_value);
	qsort(processor, rounds, sizeof(*processor), by_value);
}

static double of_limit(double stages[STAGES][MAX_ROUNDS], size_t round)
{
	return (stages[READ][round] + stages[TOUCH][round]) / stages[LOAD][round];
}

static const char usage[] =
	"usage: bench_load FOLDER [ROWS [DIM [THREADS [FORMAT [ROUNDS [cold|STORE]]]]]]\n";

int main(int argc, char **argv)
{
	static double times[STAGES][MAX_ROUNDS], processor[STAGES][MAX_ROUNDS];
	bench b = {.rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000,
		   .dim = argc > 3 ? strtoull(argv[3], NULL, 10) : 32,
		   .threads = argc > 4 ? strtoull(argv[4], NULL, 10) : sp_parallel_processors(),
		   .format = argc > 5 ? argv[5] : "fp32",
		   .cold = argc > 7 && strcmp(argv[7], "cold") == 0,
		   .store = argc > 7 && strcmp(argv[7], "cold") != 0 ? argv[7] : "",
		   .peak_over = -1e9};
	size_t rounds = argc > 6 ? strtoull(argv[6], NULL, 10) : 5;
	sp_error err;

	sp_bench_read_options(argc, argv, usage);
	if (argc < 2 || b.rows == 0 || b.dim == 0 || rounds == 0 || rounds > MAX_ROUNDS) {
		fputs(usage, stderr);
		return 2;
	}
	snprintf(b.prefix, sizeof(b.prefix), "%s/load-%zu-%zu", argv[1], b.rows, b.dim);
	snprintf(b.data, sizeof(b.data), "%s.data-00000-of-00001", b.prefix);
	write_checkpoint(&b);
	sp_object_store_open();
	sp_bench_check(sp_file_open(&b.file, b.data, &err), &err);
	run(&b, LOAD); /* brings the file into the page cache */
	for (size_t r = 0; r < rounds; r++)
		for (int s = 0; s < STAGES; s++)
			times[s][r] = seconds_of(&b, (stage)s, &processor[s][r]);
	for (int s = 0; s < STAGES; s++)
		sort(times[s], processor[s], rounds);
	printf("{\"bench\":\"load\",\"rows\":%zu,\"dim\":%zu,\"threads\":%zu,\"format\":\"%s\","
	       "\"cold\":%s,"
	       "\"table_mib\":%.0f,\"read_s\":%.3f,\"touch_s\":%.3f,\"keep_s\":%.3f,\"load_s\":%."
	       "3f,"
	       "\"of_limit\":%.2f,\"of_kept\":%.2f,\"cpu_of_limit\":%.2f,\"peak_over_mib\":%.0f}\n",
	       b.rows, b.dim, b.threads, b.format, b.cold ? "true" : "false",
	       (double)b.footprint / 1048576, times[READ][rounds / 2], times[TOUCH][rounds / 2],
	       times[KEEP][rounds / 2], times[LOAD][rounds / 2], of_limit(times, rounds / 2),
	       times[KEEP][rounds / 2] / times[LOAD][rounds / 2], of_limit(processor, rounds / 2),
	       b.peak_over);
	sp_file_close(&b.file);
	sp_object_store_close();
	return 0;
}
