#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "bench/storage/rivals.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"

enum { PIECE = 16384 };

static void check(sp_status status, const sp_error *err)
{
	if (status != SP_OK) {
		fprintf(stderr, "bench_store: %s\n", err->text);
		exit(1);
	}
}

static void add_keys(sp_rows_builder *builder, size_t count)
{
	static int64_t keys[PIECE];
	sp_error err;

	for (size_t first = 0; first < count; first += PIECE) {
		size_t n = count - first < PIECE ? count - first : PIECE;

		for (size_t i = 0; i < n; i++)
			keys[i] = sp_rival_key(first + i);
		check(sp_rows_builder_add_keys(builder, keys, n, &err), &err);
	}
}

typedef struct putter {
	sp_rows_builder *builder;
	const sp_rival_data *data;
} putter;

static sp_status put_piece(void *context, size_t piece, sp_error *err)
{
	const putter *p = context;
	size_t first = piece * PIECE, left = p->data->count - first, dim = p->data->dim;
	size_t n = left < PIECE ? left : PIECE;
	int64_t *keys = sp_rival_need(malloc(n * sizeof(*keys)));
	float *rows = sp_rival_need(malloc(n * dim * sizeof(*rows)));
	sp_status status;

	for (size_t i = 0; i < n; i++) {
		keys[i] = sp_rival_key(first + i);
		for (size_t d = 0; d < dim; d++)
			rows[i * dim + d] = sp_rival_element(first + i, d);
	}
	status = sp_rows_builder_put_rows(p->builder, keys, rows, n, err);
	free(keys);
	free(rows);
	return status;
}

static void *build(const sp_rival_data *data)
{
	sp_rows_options row_options = {
		.name = "bench", .dim = data->dim, .threads = sp_parallel_processors()};
	sp_table_options options = {.name = "bench", .dim = data->dim};
	putter p = {.data = data};
	sp_table *table;
	sp_rows *rows;
	sp_error err;

	check(sp_rows_builder_create(&p.builder, &row_options, &err), &err);
	add_keys(p.builder, data->count);
	check(sp_rows_builder_index(p.builder, &err), &err);
	check(sp_parallel_run(row_options.threads, (data->count + PIECE - 1) / PIECE, put_piece, &p,
			      &err),
	      &err);
	check(sp_rows_builder_freeze(p.builder, &rows, &err), &err);
	sp_rows_builder_destroy(p.builder);
	check(sp_table_create(&table, &options, rows, NULL, &err), &err);
	sp_rows_release(rows);
	return table;
}

static void look_up(void *store, const int64_t *keys, size_t count, float *rows)
{
	sp_error err;

	check(sp_table_lookup(store, keys, count, NULL, rows, &err), &err);
}

static size_t footprint(void *store)
{
	return sp_table_footprint(store);
}

static void destroy(void *store)
{
	sp_table_destroy(store);
}

const sp_rival sp_rival_ours = {"ours", build, look_up, footprint, destroy};
