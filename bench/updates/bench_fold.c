/*
 * Measures what a delta costs each lookup, and what folding takes.
 *
 *   bench_fold [KEYS [PERCENT]]     1000000 50
 *
 * A table of KEYS rows of 64 floats, and a delta with rows for PERCENT of its keys.  Batches of 256
 * random keys are looked up in both layers and in the folded rows, in interleaved rounds.  Prints
 * one line of JSON:
 *
 *   {"suite":"updates","case":"fold","rows":1000000,"delta_rows":500000,
 *    "layers_ns":..,"folded_ns":..,"ratio":..,"fold_ms":..,"places_ms":..,"step_ms":..}
 *
 *   layers_ns, folded_ns  time per key, median of the rounds
 *   fold_ms    time of all steps, without the pauses between them
 *   places_ms  time of the longest step, which assigns places to the keys
 *   step_ms    time of the longest other step; the updater cannot interrupt a step
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/usage.h"
#include "storage/rows/rows_builder.h"
#include "storage/rows/rows_fold.h"
#include "storage/table/table_builder.h"

enum { DIM = 64, BATCH = 256, BATCHES = 400, ROUNDS = 31, SLOTS = 8192 };

static void must(sp_status status, const sp_error *err)
{
	if (status == SP_OK)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static sp_rows *make_rows(size_t count, size_t of)
{
	enum { PIECE = 4096 };
	static float rows[PIECE * DIM];
	static int64_t keys[PIECE];
	sp_rows_options options = {.name = "t", .dim = DIM, .expected_rows = count, .threads = 2};
	sp_rows_builder *builder;
	sp_rows *out;
	sp_error err;

	must(sp_rows_builder_create(&builder, &options, &err), &err);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < count; i += PIECE) {
			size_t n = count - i < PIECE ? count - i : PIECE;

			for (size_t k = 0; k < n; k++)
				keys[k] = (int64_t)((i + k) * of / count);
			if (pass == 0)
				must(sp_rows_builder_add_keys(builder, keys, n, &err), &err);
			else
				must(sp_rows_builder_put_rows(builder, keys, rows, n, &err), &err);
		}
		if (pass == 0)
			must(sp_rows_builder_index(builder, &err), &err);
	}
	must(sp_rows_builder_freeze(builder, &out, &err), &err);
	sp_rows_builder_destroy(builder);
	return out;
}

typedef struct times {
	double all, longest, second; /* milliseconds */
} times;

static sp_rows *fold(sp_rows *base, sp_rows *over, times *t)
{
	sp_rows_fold *f;
	sp_rows *out;
	sp_error err;
	bool done = false;

	must(sp_rows_fold_create(&f, "t", base, over, 2, &err), &err);
	while (!done) {
		int64_t start = sp_clock_now_ns();
		double ms;

		must(sp_rows_fold_step(f, SLOTS, &done, &err), &err);
		while (sp_rows_fold_is_busy(f))
			usleep(100);
		ms = (double)(sp_clock_now_ns() - start) / 1e6;
		t->all += ms;
		if (ms > t->longest) {
			t->second = t->longest;
			t->longest = ms;
		} else if (ms > t->second) {
			t->second = ms;
		}
	}
	must(sp_rows_fold_freeze(f, &out, &err), &err);
	sp_rows_fold_destroy(f);
	return out;
}

/* Nanoseconds per key. */
static double measure(const sp_table *table, size_t keys, unsigned seed)
{
	static int64_t wanted[BATCHES][BATCH];
	static float rows[BATCH * DIM];
	int64_t start;
	sp_error err;

	for (size_t i = 0; i < BATCHES; i++)
		for (size_t k = 0; k < BATCH; k++)
			wanted[i][k] = (int64_t)(((size_t)rand_r(&seed) << 20 ^
						  (size_t)rand_r(&seed)) %
						 keys);
	start = sp_clock_now_ns();
	for (size_t i = 0; i < BATCHES; i++)
		must(sp_table_lookup(table, wanted[i], BATCH, NULL, rows, &err), &err);
	return (double)(sp_clock_now_ns() - start) / (BATCHES * BATCH);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static const char usage[] = "usage: bench_fold [KEYS [PERCENT]]\n";

int main(int argc, char **argv)
{
	size_t keys = argc > 1 ? (size_t)atol(argv[1]) : 1000000;
	size_t percent = argc > 2 ? (size_t)atol(argv[2]) : 50;
	double layers[ROUNDS], folded[ROUNDS];
	sp_table_options options = {.name = "t", .dim = DIM};
	sp_table *full, *layered, *one;
	sp_rows *base, *over, *rows;
	times t = {0};
	sp_error err;

	sp_bench_read_options(argc, argv, usage);
	if (keys < 2 || percent < 1 || percent > 100 || keys * percent / 100 == 0) {
		fputs(usage, stderr);
		return 2;
	}
	base = make_rows(keys, keys);
	over = make_rows(keys * percent / 100, keys);
	must(sp_table_create(&full, &options, base, NULL, &err), &err);
	must(sp_table_with_overlay(&layered, full, over, &err), &err);
	rows = fold(base, over, &t);
	must(sp_table_fold(&one, layered, rows, NULL, &err), &err);
	for (int i = 0; i < ROUNDS; i++) {
		layers[i] = measure(layered, keys, (unsigned)i);
		folded[i] = measure(one, keys, (unsigned)i);
	}
	printf("{\"suite\":\"updates\",\"case\":\"fold\",\"rows\":%zu,\"delta_rows\":%zu,"
	       "\"layers_ns\":%.1f,\"folded_ns\":%.1f,\"ratio\":%.2f,\"fold_ms\":%.0f,"
	       "\"places_ms\":%.0f,\"step_ms\":%.1f}\n",
	       keys, keys * percent / 100, median(layers), median(folded),
	       layers[ROUNDS / 2] / folded[ROUNDS / 2], t.all, t.longest, t.second);
	sp_table_destroy(one);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_rows_release(rows);
	sp_rows_release(over);
	sp_rows_release(base);
	return 0;
}
