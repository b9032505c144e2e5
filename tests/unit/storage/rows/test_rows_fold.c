#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/region.h"
#include "storage/rows/rows_builder.h"
#include "storage/rows/rows_fold.h"
#include "storage/table/table_builder.h"

enum { DIM = 19, BASE = 5000, OVER = 1500, FIRST_NEW = 1000000, STEP = 700 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/*
 * Two layers and the rows they were made of: base keys are 0 ... BASE - 1, of
 * the overlay's two thirds are among them and the others are new.
 */
typedef struct layers {
	int64_t *keys[2];
	float *elements[2];
	size_t count[2];
	sp_rows *rows[2];
} layers;

/* Of all magnitudes, and what is no number as it comes. */
static void make_row(float *row, sp_row_format format, size_t i)
{
	for (size_t d = 0; d < DIM; d++) {
		uint32_t bits = (uint32_t)next_random();

		row[d] = (float)(int32_t)bits * 0x1p-31f * exp2f((float)(i % 40) - 20);
		if (format == SP_ROW_FP32 && i % 7 == 0)
			memcpy(&row[d], &bits, sizeof(bits));
	}
}

static void make_layer(layers *l, int at, sp_row_format format, size_t count)
{
	sp_rows_options options = {.name = "t", .dim = DIM, .format = format};
	sp_error err;

	l->count[at] = count;
	l->keys[at] = malloc((count + 1) * sizeof(int64_t));
	l->elements[at] = malloc((count + 1) * DIM * sizeof(float));
	for (size_t i = 0; i < count; i++) {
		l->keys[at][i] = at == 0 ? (int64_t)i : (int64_t)(i * 3);
		if (at == 1 && i % 3 == 2)
			l->keys[at][i] = FIRST_NEW + (int64_t)i;
		make_row(l->elements[at] + i * DIM, format, i);
	}
	assert_ok(sp_rows_create(&l->rows[at], &options, l->keys[at], l->elements[at], count, &err),
		  &err);
}

static void make_layers(layers *l, sp_row_format format, size_t base, size_t over)
{
	make_layer(l, 0, format, base);
	make_layer(l, 1, format, over);
}

static void free_layers(layers *l)
{
	for (int at = 0; at < 2; at++) {
		sp_rows_release(l->rows[at]);
		free(l->keys[at]);
		free(l->elements[at]);
	}
}

static sp_rows *fold(const layers *l, size_t step)
{
	sp_rows_fold *f;
	sp_rows *out;
	sp_error err;
	bool done = false;

	assert_ok(sp_rows_fold_create(&f, "t", l->rows[0], l->rows[1], 2, &err), &err);
	while (!done) {
		assert_ok(sp_rows_fold_step(f, step, &done, &err), &err);
		while (sp_rows_fold_is_busy(f))
			usleep(100);
	}
	assert_ok(sp_rows_fold_step(f, step, &done, &err), &err);
	assert_true(done);
	assert_ok(sp_rows_fold_freeze(f, &out, &err), &err);
	sp_rows_fold_destroy(f);
	return out;
}

static sp_table *table_of(sp_rows *base, float default_value)
{
	float defaults[2 * DIM];
	sp_table_options options = {
		.name = "t", .dim = DIM, .default_rows = defaults, .default_row_count = 2};
	sp_table *out;
	sp_error err;

	for (size_t d = 0; d < 2 * DIM; d++)
		defaults[d] = default_value + (float)d;
	assert_ok(sp_table_create(&out, &options, base, NULL, &err), &err);
	return out;
}

/* What a row that was stored in that format answers. */
static void stored(sp_row_format format, const float *elements, float *out)
{
	const sp_row_codec *codec = sp_row_codec_find(format);
	char row[2 * DIM * sizeof(float)];

	codec->encode(DIM, elements, row);
	codec->decode(DIM, row, out);
}

/* Every key of either layer, and one that neither has. */
static void check_answers(const sp_table *table, const layers *l, sp_row_format format)
{
	float want[DIM], row[DIM];
	sp_error err;

	for (int at = 0; at < 2; at++)
		for (size_t i = 0; i < l->count[at]; i++) {
			int64_t key = l->keys[at][i];

			if (at == 0 && key % 3 == 0 && (size_t)key / 3 < l->count[1] &&
			    key / 3 % 3 != 2)
				continue; /* the overlay's counts */
			stored(format, l->elements[at] + i * DIM, want);
			assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
			assert_memory_equal(row, want, sizeof(row));
		}
	for (int64_t key = 999000; key < 999010; key++) {
		assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
		for (size_t d = 0; d < DIM; d++)
			assert_true(row[d] == 7 + (float)(key % 2 * DIM) + (float)d);
	}
}

/* The one answer of many keys, with rows of both layers in it and some that are in none. */
static void check_pools(const sp_table *a, const sp_table *b)
{
	enum { COUNT = 300, SEGMENTS = 40 };
	int64_t keys[COUNT], segments[COUNT];
	float one[SEGMENTS * DIM], other[SEGMENTS * DIM], weights[COUNT];
	_Alignas(64) char scratch[4096];
	sp_error err;

	for (int combiner = SP_COMBINE_SUM; combiner <= SP_COMBINE_SQRTN; combiner++) {
		sp_pooling pooling = {.combiner = (sp_combiner)combiner,
				      .segments = segments,
				      .weights = weights,
				      .segment_count = SEGMENTS};
		sp_lookup lookup = {.table = a,
				    .keys = keys,
				    .count = COUNT,
				    .pooling = &pooling,
				    .rows = one,
				    .stride = DIM};

		for (int i = 0; i < COUNT; i++) {
			keys[i] = (int64_t)(next_random() % (BASE + 100));
			segments[i] = (int64_t)i * SEGMENTS / COUNT;
			weights[i] = (float)(i % 5) - 1.5f;
		}
		assert_true(sp_lookup_scratch(&lookup, 1) <= sizeof(scratch));
		assert_ok(sp_lookup_run(&lookup, 1, scratch, 0, &err), &err);
		lookup.table = b;
		lookup.rows = other;
		assert_ok(sp_lookup_run(&lookup, 1, scratch, 0, &err), &err);
		assert_memory_equal(one, other, sizeof(one));
	}
}

static void answers_are_the_same_to_the_bit(void **state)
{
	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++) {
		sp_table *full, *layered, *folded;
		sp_rows *rows;
		sp_error err;
		layers l;

		make_layers(&l, (sp_row_format)format, BASE, OVER);
		full = table_of(l.rows[0], 7);
		assert_ok(sp_table_with_overlay(&layered, full, l.rows[1], &err), &err);
		rows = fold(&l, STEP);
		assert_ok(sp_table_fold(&folded, layered, rows, NULL, &err), &err);
		sp_rows_release(rows);
		assert_int_equal(sp_table_row_count(layered), BASE + OVER / 3);
		assert_int_equal(sp_table_row_count(folded), BASE + OVER / 3);
		assert_true(sp_table_is_folded(folded));
		assert_false(sp_table_is_folded(layered));
		assert_null(sp_table_get_layers(folded).overlay);
		check_answers(layered, &l, (sp_row_format)format);
		check_answers(folded, &l, (sp_row_format)format);
		if (format != SP_ROW_FP32) /* sums of what is no number have no bits of their own */
			check_pools(layered, folded);
		sp_table_destroy(layered);
		sp_table_destroy(full);
		free_layers(&l);
		sp_table_destroy(folded);
	}
}

static void layers_may_be_empty(void **state)
{
	static const size_t counts[][2] = {{0, 0}, {0, 9}, {9, 0}, {1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		sp_table *table;
		sp_rows *rows;
		layers l;

		make_layers(&l, SP_ROW_BF16, counts[i][0], counts[i][1]);
		rows = fold(&l, 1);
		table = table_of(rows, 7);
		check_answers(table, &l, SP_ROW_BF16);
		sp_table_destroy(table);
		sp_rows_release(rows);
		free_layers(&l);
	}
}

/* Keys first, first + 1, ... with rows of ones. */
static sp_rows *make_wide(int64_t first, size_t count)
{
	enum { WIDE = 32 };
	const sp_rows_options options = {.name = "t", .dim = WIDE};
	int64_t *keys = malloc((count + 1) * sizeof(*keys));
	float *elements = malloc((count + 1) * WIDE * sizeof(*elements));
	sp_rows *rows;
	sp_error err;

	for (size_t i = 0; i < count; i++)
		keys[i] = first + (int64_t)i;
	for (size_t i = 0; i < count * WIDE; i++)
		elements[i] = 1;
	assert_ok(sp_rows_create(&rows, &options, keys, elements, count, &err), &err);
	free(keys);
	free(elements);
	return rows;
}

/* Whichever rows come first, and if they are none. */
static void rows_are_laid_out_as_most_of_them_were(void **state)
{
	static const struct {
		int64_t first;
		size_t base, over;
	} cases[] = {
		{0, 1000, 1000}, {0, 1000, 999}, {0, 1000, 0}, {0, 0, 1000}, {990, 1000, 2000}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		layers l = {.rows = {make_wide(0, cases[i].base),
				     make_wide(cases[i].first, cases[i].over)}};
		sp_rows *rows = fold(&l, STEP);

		assert_int_equal(sp_rows_get_shape(rows)->layout, SP_ROWS_KEY_PACKED);
		assert_true(sp_rows_footprint(rows) <=
			    sp_rows_fold_cost(l.rows[0], l.rows[1]) + SP_REGION_PAGE);
		sp_rows_release(rows);
		free_layers(&l);
	}
}

static void rows_stored_otherwise_are_refused(void **state)
{
	sp_rows_fold *f = NULL;
	layers a, b;
	sp_error err;

	(void)state;
	make_layers(&a, SP_ROW_INT8, 10, 10);
	make_layers(&b, SP_ROW_FP16, 10, 10);
	assert_int_equal(sp_rows_fold_create(&f, "t", a.rows[0], b.rows[1], 1, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "fp16"));
	assert_null(f);
	free_layers(&a);
	free_layers(&b);
}

static void it_may_be_given_up_at_any_time(void **state)
{
	layers l;

	(void)state;
	make_layers(&l, SP_ROW_FP32, 300, 100);
	for (int steps = 0; steps < 12; steps++) {
		sp_rows_fold *f;
		sp_error err;
		bool done = false;

		assert_ok(sp_rows_fold_create(&f, "t", l.rows[0], l.rows[1], 1, &err), &err);
		for (int i = 0; i < steps && !done; i++)
			assert_ok(sp_rows_fold_step(f, 100, &done, &err), &err);
		sp_rows_fold_destroy(f);
	}
	sp_rows_fold_destroy(NULL);
	free_layers(&l);
}

/* Which is how it is given up while keys are given their places. */
static void what_makes_its_rows_may_be_stopped(void **state)
{
	static const atomic_bool stop = true;
	sp_rows_options options = {.name = "t", .dim = DIM, .threads = 2, .stop = &stop};
	int64_t keys[] = {1, 2, 3};
	sp_rows_builder *builder;
	sp_error err;

	(void)state;
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_ok(sp_rows_builder_add_keys(builder, keys, 3, &err), &err);
	assert_int_equal(sp_rows_builder_index(builder, &err), SP_BUSY);
	assert_non_null(strstr(err.text, "placing 3 keys was stopped"));
	sp_rows_builder_destroy(builder);
}

/* What the next delta holds decides whether it may lie over what was folded. */
static void a_delta_must_have_all_that_was_folded(void **state)
{
	sp_table *full, *layered, *folded, *again, *next = NULL;
	sp_rows_options options = {.name = "t", .dim = DIM};
	sp_rows *rows, *more;
	sp_error err;
	layers l;

	(void)state;
	make_layers(&l, SP_ROW_FP32, 200, 60);
	full = table_of(l.rows[0], 7);
	assert_ok(sp_table_with_overlay(&layered, full, l.rows[1], &err), &err);
	rows = fold(&l, 100);
	assert_ok(sp_table_fold(&folded, layered, rows, NULL, &err), &err);
	sp_table_destroy(layered);
	sp_rows_release(rows);

	assert_ok(sp_table_share(&again, folded, &err), &err);
	assert_int_equal(sp_table_with_overlay(&next, folded, NULL, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "60 of the 60 keys"));
	for (int missing = 0; missing < 60; missing++) {
		int64_t key = l.keys[1][missing];

		l.keys[1][missing] = 4711;
		assert_ok(sp_rows_create(&more, &options, l.keys[1], l.elements[1], 60, &err),
			  &err);
		assert_int_equal(sp_table_with_overlay(&next, again, more, &err), SP_NOT_FOUND);
		assert_non_null(strstr(err.text, "1 of the 60 keys"));
		sp_rows_release(more);
		l.keys[1][missing] = key;
	}
	assert_null(next);
	assert_ok(sp_table_with_overlay(&next, again, l.rows[1], &err), &err);
	assert_true(sp_table_is_folded(next));
	check_answers(next, &l, SP_ROW_FP32);
	sp_table_destroy(next);
	sp_table_destroy(again);
	sp_table_destroy(folded);
	sp_table_destroy(full);
	free_layers(&l);
}

static sp_status try_to_fold(const layers *l, const sp_table *layered, sp_table **out)
{
	sp_rows_fold *f;
	sp_rows *rows = NULL;
	bool done = false;
	sp_error err;
	sp_status status;

	SP_TRY(sp_rows_fold_create(&f, "t", l->rows[0], l->rows[1], 1, &err));
	status = SP_OK;
	while (status == SP_OK && !done)
		status = sp_rows_fold_step(f, STEP, &done, &err);
	if (status == SP_OK)
		status = sp_rows_fold_freeze(f, &rows, &err);
	if (status == SP_OK)
		status = sp_table_fold(out, layered, rows, NULL, &err);
	sp_rows_release(rows);
	sp_rows_fold_destroy(f);
	return status;
}

static void without_memory_all_is_as_it_was(void **state)
{
	sp_table *full, *layered, *folded = NULL;
	sp_status status = SP_NO_MEMORY;
	int allowed = 0;
	sp_error err;
	layers l;

	(void)state;
	make_layers(&l, SP_ROW_INT4, 1000, 300);
	full = table_of(l.rows[0], 7);
	assert_ok(sp_table_with_overlay(&layered, full, l.rows[1], &err), &err);
	for (; status != SP_OK; allowed++) {
		sp_alloc_fail_after(allowed);
		status = try_to_fold(&l, layered, &folded);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || (status == SP_NO_MEMORY && folded == NULL));
		assert_true(allowed < 100);
	}
	assert_true(allowed > 5);
	check_answers(layered, &l, SP_ROW_INT4);
	check_answers(folded, &l, SP_ROW_INT4);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	free_layers(&l);
}

/* ------------------------------------------------------------------ a mapped base */

/* Rows that are known to be right after so many looks, and are found wrong at that confirmation. */
typedef struct guard_double {
	int looks, whole_after, confirmed, breaks_at;
} guard_double;

static sp_status prepare(void *owner, const sp_rows *rows, const int64_t *keys, size_t count,
			 int64_t deadline_ns, sp_error *err)
{
	(void)owner;
	(void)deadline_ns;
	(void)rows;
	(void)keys;
	(void)count;
	return sp_error_set(err, SP_INTERNAL, "nobody looks for keys here");
}

static sp_status confirm(void *owner, sp_error *err)
{
	guard_double *g = owner;

	return ++g->confirmed == g->breaks_at ? sp_error_set(err, SP_CORRUPT, "it is broken")
					      : SP_OK;
}

static bool is_whole(void *owner)
{
	guard_double *g = owner;

	return ++g->looks > g->whole_after;
}

/* The same rows behind a guard; they have to outlive it. */
static sp_rows *guarded(const sp_rows *rows, guard_double *g)
{
	static const sp_rows_guard guard = {prepare, confirm, is_whole};
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	sp_rows_memory memory = {.slots = sp_rows_slots(rows),
				 .slots_size = sp_rows_slots_size(shape),
				 .pilots = sp_rows_pilots(rows),
				 .pilots_size = shape->placement.part_count *
						shape->placement.part_buckets,
				 .guard = &guard,
				 .owner = g};
	sp_rows *over;
	sp_error err;

	assert_ok(sp_rows_over(&over, shape, &memory, &err), &err);
	return over;
}

/* Over a base that is right, after a while: what is made needs it no longer. */
static void a_mapped_base_is_waited_for(void **state)
{
	guard_double g = {.whole_after = 20};
	sp_rows *plain, *mapped, *made;
	sp_table *table;
	sp_rows_fold *f;
	bool done = true;
	sp_error err;
	layers l;

	(void)state;
	make_layers(&l, SP_ROW_FP32, BASE, OVER);
	plain = l.rows[0];
	mapped = guarded(plain, &g);
	assert_true(sp_rows_fold_is_mapped(mapped));
	assert_false(sp_rows_fold_is_mapped(plain));
	assert_ok(sp_rows_fold_create(&f, "t", mapped, l.rows[1], 2, &err), &err);
	for (int i = 0; i < 5; i++) {
		assert_ok(sp_rows_fold_step(f, 1000000, &done, &err), &err);
		assert_false(done);
		assert_true(sp_rows_fold_is_busy(f));
	}
	assert_int_equal(g.looks, 10);
	sp_rows_fold_destroy(f);
	g.looks = 0;
	l.rows[0] = mapped;
	made = fold(&l, 500);
	assert_true(g.confirmed > 5);
	sp_rows_release(mapped);
	l.rows[0] = plain;
	assert_false(sp_rows_fold_is_mapped(made));
	table = table_of(made, 7);
	check_answers(table, &l, SP_ROW_FP32);
	sp_table_destroy(table);
	sp_rows_release(made);
	free_layers(&l);
}

/* Whenever it is found out, before it is known to be right or after. */
static void of_a_broken_base_nothing_is_made(void **state)
{
	sp_error err;
	layers l;

	(void)state;
	make_layers(&l, SP_ROW_BF16, BASE, OVER);
	for (int at = 1; at < 12; at++) {
		guard_double g = {.whole_after = 6, .breaks_at = at};
		sp_rows *mapped = guarded(l.rows[0], &g);
		sp_status status = SP_OK;
		sp_rows_fold *f;
		bool done = false;

		assert_ok(sp_rows_fold_create(&f, "t", mapped, l.rows[1], 1, &err), &err);
		while (status == SP_OK && !done)
			status = sp_rows_fold_step(f, BASE / 4, &done, &err);
		assert_int_equal(status, SP_CORRUPT);
		assert_int_equal(g.confirmed, at);
		sp_rows_fold_destroy(f);
		sp_rows_release(mapped);
	}
	free_layers(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_same_to_the_bit),
		cmocka_unit_test(layers_may_be_empty),
		cmocka_unit_test(rows_are_laid_out_as_most_of_them_were),
		cmocka_unit_test(rows_stored_otherwise_are_refused),
		cmocka_unit_test(it_may_be_given_up_at_any_time),
		cmocka_unit_test(what_makes_its_rows_may_be_stopped),
		cmocka_unit_test(a_delta_must_have_all_that_was_folded),
		cmocka_unit_test(without_memory_all_is_as_it_was),
		cmocka_unit_test(a_mapped_base_is_waited_for),
		cmocka_unit_test(of_a_broken_base_nothing_is_made),
	};

	return cmocka_run_group_tests_name("rows_fold", tests, NULL, NULL);
}
