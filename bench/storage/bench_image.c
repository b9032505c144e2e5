/*
 * Measures what an image (storage/image/image.h) costs and saves.
 *
 *   bench_image FOLDER [ROWS [DIM [ROUNDS]]]
 *
 * Makes ROWS rows of DIM floats in memory, writes their image into FOLDER, maps it, and prints one
 * line of JSON:
 *
 *   write_s       writing the image durably, with checksums
 *   first_ms      opening the image and 1000 lookups with checksum verification, pages in
 *                 the page cache; median
 *   cold_ms       the same after dropping the file from the page cache (best effort); median
 *   checked_s     reading and verifying the whole image
 *   memory_ns     a lookup of a random key in rows in memory, on huge pages; median
 *   mapped_ns     the same in the mapped image after verification; median
 *   huge_mib      how much of the mapping is on huge pages
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "storage/image/image.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"

enum { BATCH = 1000, MAX_ROUNDS = 99, MEASURED = 4 };

typedef enum measure { FIRST, COLD, IN_MEMORY, MAPPED } measure;

typedef struct bench {
	char path[512];
	size_t rows, dim, rounds;
	sp_rows *in_memory;
	int64_t *keys; /* [BATCH] */
	float *answers;
	uint64_t random;
	double times[MEASURED][MAX_ROUNDS];
	double write_s, checked_s;
} bench;

/* Distinct keys, spread over 63 bits like hashed features. */
static int64_t key_of(uint64_t i)
{
	return (int64_t)((i * UINT64_C(0x9e3779b97f4a7c15)) >> 1);
}

static double seconds_since(int64_t start)
{
	return (double)(sp_clock_now_ns() - start) * 1e-9;
}

static void make_rows(bench *b)
{
	sp_rows_options options = {
		.name = "bench", .dim = b->dim, .expected_rows = b->rows, .threads = 2};
	float *row = calloc(b->dim, sizeof(*row));
	sp_rows_builder *builder;
	sp_error err;

	sp_bench_check(sp_rows_builder_create(&builder, &options, &err), &err);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t key = key_of(i);

		sp_bench_check(sp_rows_builder_add_keys(builder, &key, 1, &err), &err);
	}
	sp_bench_check(sp_rows_builder_index(builder, &err), &err);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t key = key_of(i);

		for (size_t d = 0; d < b->dim; d++)
			row[d] = (float)(i % 1000 + d) * 0x1p-12f;
		sp_bench_check(sp_rows_builder_put_rows(builder, &key, row, 1, &err), &err);
	}
	sp_bench_check(sp_rows_builder_freeze(builder, &b->in_memory, &err), &err);
	sp_rows_builder_destroy(builder);
	free(row);
}

static sp_table *table_of(const bench *b, sp_rows *rows)
{
	sp_table_options options = {.name = "bench", .dim = b->dim};
	sp_table *table;
	sp_error err;

	sp_bench_check(sp_table_create(&table, &options, rows, NULL, &err), &err);
	return table;
}

static void look_up(bench *b, const sp_table *table)
{
	sp_error err;

	for (size_t i = 0; i < BATCH; i++) {
		b->random = b->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		b->keys[i] = key_of((b->random >> 20) % b->rows);
	}
	sp_bench_check(sp_table_lookup(table, b->keys, BATCH, NULL, b->answers, &err), &err);
}

/* Opens the image and looks keys up; the caller destroys the table and the image. */
static double first_answer(bench *b, sp_image **image, sp_table **table)
{
	int64_t start = sp_clock_now_ns();
	sp_rows *rows;
	sp_error err;

	sp_bench_check(sp_image_open(image, b->path, (sp_bytes){0}, &err), &err);
	sp_bench_check(sp_image_take_rows(&rows, *image, 0, &err), &err);
	*table = table_of(b, rows);
	sp_rows_release(rows);
	look_up(b, *table);
	return seconds_since(start) * 1e3;
}

static double time_start(bench *b, bool cold)
{
	sp_image *image;
	sp_table *table;
	double ms;

	if (cold) {
		int fd = open(b->path, O_RDONLY | O_CLOEXEC);

		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	ms = first_answer(b, &image, &table);
	sp_table_destroy(table);
	sp_image_release(image);
	return ms;
}

static double time_lookups(bench *b, const sp_table *table)
{
	enum { BATCHES = 200 };
	int64_t start = sp_clock_now_ns();

	for (int i = 0; i < BATCHES; i++)
		look_up(b, table);
	return seconds_since(start) * 1e9 / BATCHES / BATCH;
}

/* Of file mappings, in MiB. */
static long huge_mib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = 0, one;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "FilePmdMapped: %ld", &one) == 1 ||
		    sscanf(line, "ShmemPmdMapped: %ld", &one) == 1)
			kib += one;
	if (f != NULL)
		fclose(f);
	return kib / 1024;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(bench *b, measure m)
{
	qsort(b->times[m], b->rounds, sizeof(double), by_value);
	return b->times[m][b->rounds / 2];
}

static long measure_all(bench *b)
{
	sp_table *memory = table_of(b, b->in_memory), *mapped;
	sp_image *image;
	int64_t start;
	long huge;

	for (size_t r = 0; r < b->rounds; r++)
		b->times[COLD][r] = time_start(b, true);
	start = sp_clock_now_ns();
	first_answer(b, &image, &mapped);
	while (!sp_image_is_checked(image) && !sp_image_is_broken(image))
		usleep(1000);
	b->checked_s = seconds_since(start);
	for (size_t r = 0; r < b->rounds; r++) {
		b->times[FIRST][r] = time_start(b, false);
		b->times[IN_MEMORY][r] = time_lookups(b, memory);
		b->times[MAPPED][r] = time_lookups(b, mapped);
	}
	huge = huge_mib();
	sp_table_destroy(mapped);
	sp_table_destroy(memory);
	sp_image_release(image);
	return huge;
}

static const char usage[] = "usage: bench_image FOLDER [ROWS [DIM [ROUNDS]]]\n";

int main(int argc, char **argv)
{
	static bench b;
	sp_image_table table = {.name = "bench"};
	int64_t start;
	size_t size;
	sp_error err;
	long huge;

	sp_bench_read_options(argc, argv, usage);
	b.rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 4000000;
	b.dim = argc > 3 ? strtoull(argv[3], NULL, 10) : 32;
	b.rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 9;
	if (argc < 2 || b.rows == 0 || b.dim == 0 || b.rounds == 0 || b.rounds > MAX_ROUNDS) {
		fputs(usage, stderr);
		return 2;
	}
	sp_log_set_level(SP_LOG_WARNING);
	snprintf(b.path, sizeof(b.path), "%s/bench.image", argv[1]);
	b.keys = calloc(BATCH, sizeof(*b.keys));
	b.answers = calloc(BATCH * b.dim, sizeof(*b.answers));
	make_rows(&b);
	table.rows = b.in_memory;
	start = sp_clock_now_ns();
	sp_bench_check(sp_image_write(b.path, (sp_bytes){0}, &table, 1, &err), &err);
	b.write_s = seconds_since(start);
	size = sp_rows_footprint(b.in_memory);
	huge = measure_all(&b);
	printf("{\"bench\":\"image\",\"rows\":%zu,\"dim\":%zu,\"mib\":%.0f,\"write_s\":%.3f,"
	       "\"first_ms\":%.2f,\"cold_ms\":%.2f,\"checked_s\":%.3f,\"memory_ns\":%.1f,"
	       "\"mapped_ns\":%.1f,\"huge_mib\":%ld}\n",
	       b.rows, b.dim, (double)size / 1048576, b.write_s, median(&b, FIRST),
	       median(&b, COLD), b.checked_s, median(&b, IN_MEMORY), median(&b, MAPPED), huge);
	unlink(b.path);
	sp_rows_release(b.in_memory);
	free(b.keys);
	free(b.answers);
	return 0;
}
