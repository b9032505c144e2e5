#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "storage/placement/placement_internal.h"
#include "storage/rows/rows.h"
#include "storage/rows/rows_builder.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* The row of a key: what it must be follows from the key alone. */
static void make_row(float *row, size_t dim, int64_t key)
{
	for (size_t d = 0; d < dim; d++)
		row[d] = (float)((uint64_t)key % 1000003) + (float)d * 0.5f;
}

static float *rows_of(const int64_t *keys, size_t count, size_t dim)
{
	float *rows = malloc((count * dim + 1) * sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		make_row(rows + i * dim, dim, keys[i]);
	return rows;
}

static sp_rows *make(size_t dim, const int64_t *keys, size_t count)
{
	sp_rows_options options = {.name = "t", .dim = dim};
	float *rows = rows_of(keys, count, dim);
	sp_rows *out;
	sp_error err;

	assert_ok(sp_rows_create(&out, &options, keys, rows, count, &err), &err);
	free(rows);
	return out;
}

static bool is_held(const sp_rows *rows, int64_t key)
{
	sp_stored_row row;

	return sp_rows_find(rows, key, &row);
}

static void check_row(const sp_rows *rows, int64_t key, sp_stored_row row)
{
	size_t dim = sp_rows_get_shape(rows)->dim;
	float want[64], got[64];

	make_row(want, dim, key);
	row.codec->decode(dim, row.data, got);
	assert_memory_equal(got, want, dim * sizeof(float));
}

static void check_held(const sp_rows *rows, int64_t key)
{
	sp_stored_row row;

	assert_true(sp_rows_find(rows, key, &row));
	check_row(rows, key, row);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts, and drops repeats and marks; gives how many stay. */
static size_t distinct(int64_t *keys, size_t count)
{
	size_t n = 0;

	qsort(keys, count, sizeof(*keys), by_value);
	for (size_t i = 0; i < count; i++)
		if ((i == 0 || keys[i] != keys[i - 1]) && keys[i] != -1 && keys[i] != -2)
			keys[n++] = keys[i];
	return n;
}

/* A walk over the slots meets every key once, with its row; keys is sorted and distinct. */
static void check_walk(const sp_rows *rows, const int64_t *keys, size_t count)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	int64_t *met = malloc((count + 1) * sizeof(*met)), key;
	sp_stored_row row;
	size_t n = 0;

	for (size_t s = 0; s < shape->placement.slot_count; s++) {
		if (!sp_rows_at(rows, s, &key, &row))
			continue;
		assert_true(n < count);
		check_row(rows, key, row);
		met[n++] = key;
	}
	assert_int_equal(n, count);
	qsort(met, n, sizeof(*met), by_value);
	assert_memory_equal(met, keys, n * sizeof(*met));
	free(met);
}

typedef int64_t draw_fn(size_t i);

static int64_t sequential(size_t i)
{
	return (int64_t)i - 700;
}

static int64_t low_bits_alike(size_t i)
{
	return (int64_t)(i << 40);
}

static int64_t high_bits_alike(size_t i)
{
	return INT64_MIN + (int64_t)i;
}

static int64_t one_bit_or_two(size_t i)
{
	return (int64_t)(UINT64_C(1) << (i % 64) ^ UINT64_C(1) << (i / 64 % 64));
}

static int64_t multiples_of_a_constant(size_t i)
{
	return (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15));
}

static int64_t any(size_t i)
{
	(void)i;
	return (int64_t)next_random();
}

static int64_t few_and_often(size_t i)
{
	return (int64_t)(i % 17) - 2;
}

static void any_keys_get_places(void **state)
{
	draw_fn *const draws[] = {sequential,     low_bits_alike,          high_bits_alike,
				  one_bit_or_two, multiples_of_a_constant, any,
				  few_and_often};
	enum { KEYS = 20000 };
	int64_t *keys = malloc(KEYS * sizeof(*keys));

	(void)state;
	for (size_t n = 0; n < sizeof(draws) / sizeof(draws[0]); n++) {
		sp_rows *rows;
		size_t count;

		for (size_t i = 0; i < KEYS; i++)
			keys[i] = draws[n](i);
		rows = make(3, keys, KEYS);
		count = distinct(keys, KEYS);
		assert_int_equal(sp_rows_get_shape(rows)->row_count, count);
		for (size_t i = 0; i < count; i++)
			check_held(rows, keys[i]);
		for (size_t i = 0; i < KEYS; i++) {
			int64_t key = (int64_t)next_random() >> (i % 64);

			if (bsearch(&key, keys, count, sizeof(key), by_value) == NULL)
				assert_false(is_held(rows, key));
		}
		check_walk(rows, keys, count);
		sp_rows_release(rows);
	}
	free(keys);
}

static void any_number_of_keys_gets_places(void **state)
{
	int64_t keys[300] = {0};

	(void)state;
	for (size_t count = 0; count < 300; count++) {
		sp_rows *rows;

		for (size_t i = 0; i < count; i++)
			keys[i] = (int64_t)(next_random() >> 1);
		rows = make(1, keys, count);
		for (size_t i = 0; i < count; i++)
			check_held(rows, keys[i]);
		assert_false(is_held(rows, -1));
		assert_false(is_held(rows, -2));
		check_walk(rows, keys, distinct(keys, count));
		sp_rows_release(rows);
	}
}

/* Whatever the number of keys, the first seed nearly always has places for them. */
static void few_seeds_fail(void **state)
{
	enum { MOST = 9000, SEEDS = 20 };
	static uint64_t hashes[MOST];
	static uint8_t pilots[MOST];
	size_t failed = 0, tried = 0;
	sp_error err;

	(void)state;
	for (size_t count = 100; count <= MOST; count += count / 4)
		for (size_t s = 0; s < SEEDS; s++, tried++) {
			sp_placement placement = {.part_count = 1,
						  .part_slots = count + count / 50 + 2,
						  .part_buckets = count * 2 / 5 + 1,
						  .seed = {next_random(), next_random() | 1}};

			for (size_t i = 0; i < count; i++)
				hashes[i] = sp_placement_hash(&placement, (int64_t)i);
			failed += sp_placement__search(&placement, hashes, count, pilots, &err) !=
				  SP_OK;
		}
	assert_true(failed * 50 < tried);
}

/* ----------------------------------------------------------- the builder */

typedef struct putter {
	sp_rows_builder *builder;
	const int64_t *keys;
	const float *rows;
	size_t count, piece, dim;
} putter;

static sp_status add_piece(void *context, size_t i, sp_error *err)
{
	const putter *p = context;
	size_t first = i * p->piece, left = p->count - first;

	return sp_rows_builder_add_keys(p->builder, p->keys + first,
					left < p->piece ? left : p->piece, err);
}

static sp_status put_piece(void *context, size_t i, sp_error *err)
{
	const putter *p = context;
	size_t first = i * p->piece, left = p->count - first;

	return sp_rows_builder_put_rows(p->builder, p->keys + first, p->rows + first * p->dim,
					left < p->piece ? left : p->piece, err);
}

/* More than one part, made and filled by three threads; among the keys are marks. */
static void several_threads_put_rows(void **state)
{
	enum { KEYS = 300000, DIM = 4, PIECE = 777, MARKED = 1000 };
	sp_rows_options options = {.name = "t", .dim = DIM, .threads = 3};
	int64_t *keys = malloc(KEYS * sizeof(*keys));
	float *floats;
	sp_rows_builder *builder;
	size_t kept = 0;
	sp_rows *rows;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = i % MARKED == 0 ? -1 : multiples_of_a_constant(i + 1);
	floats = rows_of(keys, KEYS, DIM);
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	{
		putter p = {builder, keys, floats, KEYS, PIECE, DIM};

		assert_ok(sp_parallel_run(3, KEYS / PIECE + 1, add_piece, &p, &err), &err);
		assert_ok(sp_rows_builder_index(builder, &err), &err);
		assert_int_equal(sp_rows_builder_repeated(builder), 0);
		assert_ok(sp_parallel_run(3, KEYS / PIECE + 1, put_piece, &p, &err), &err);
	}
	assert_ok(sp_rows_builder_freeze(builder, &rows, &err), &err);
	sp_rows_builder_destroy(builder);
	assert_true(sp_rows_get_shape(rows)->placement.part_count > 1);
	for (size_t i = 0; i < KEYS; i++)
		if (keys[i] != -1)
			check_held(rows, keys[kept++] = keys[i]);
	check_walk(rows, keys, distinct(keys, kept));
	sp_rows_release(rows);
	free(floats);
	free(keys);
}

static void marks_and_repeats_are_counted(void **state)
{
	const int64_t keys[] = {5, -1, 6, 5, -2, 5, -1};
	sp_rows_options options = {.name = "t", .dim = 1};
	sp_rows_builder *builder;
	sp_error err;

	(void)state;
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_ok(sp_rows_builder_add_keys(builder, keys, 7, &err), &err);
	assert_ok(sp_rows_builder_index(builder, &err), &err);
	assert_int_equal(sp_rows_builder_repeated(builder), 2);
	sp_rows_builder_destroy(builder);
}

static void other_keys_than_were_added_are_corrupt(void **state)
{
	const int64_t keys[] = {1, 2, 3}, put[] = {1, 3, -1};
	const float floats[3] = {0};
	sp_rows_options options = {.name = "some_table", .dim = 1};
	sp_rows_builder *builder;
	sp_rows *rows;
	sp_error err;

	(void)state;
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_ok(sp_rows_builder_add_keys(builder, keys, 3, &err), &err);
	assert_ok(sp_rows_builder_index(builder, &err), &err);
	assert_int_equal(sp_rows_builder_freeze(builder, &rows, &err), SP_CORRUPT);
	assert_ok(sp_rows_builder_put_rows(builder, put, floats, 3, &err), &err);
	assert_int_equal(sp_rows_builder_freeze(builder, &rows, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "some_table"));
	assert_ok(sp_rows_builder_put_rows(builder, keys + 1, floats, 1, &err), &err);
	assert_ok(sp_rows_builder_freeze(builder, &rows, &err), &err);
	sp_rows_builder_destroy(builder);
	assert_true(is_held(rows, 2));
	assert_false(is_held(rows, 77));
	sp_rows_release(rows);
}

/* Key 0 and rows of zeros are where empty slots and zeros could be confused. */
static void empty_slots_hold_nothing(void **state)
{
	enum { DIM = 32, KEYS = 1000 };
	const float zeros[DIM] = {0};
	float *floats = calloc(KEYS, sizeof(zeros));
	int64_t keys[KEYS];

	(void)state;
	for (size_t dim = 1; dim <= DIM; dim += DIM - 1)
		for (int64_t first = 0; first < 2; first++) {
			sp_rows_options options = {.name = "t", .dim = dim};
			sp_stored_row row;
			float got[DIM];
			sp_rows *rows;
			sp_error err;

			for (int64_t i = 0; i < KEYS; i++)
				keys[i] = first + i;
			assert_ok(sp_rows_create(&rows, &options, keys, floats, KEYS, &err), &err);
			assert_int_equal(is_held(rows, 0), first == 0);
			assert_false(is_held(rows, -1));
			assert_true(sp_rows_find(rows, KEYS - 1, &row));
			row.codec->decode(dim, row.data, got);
			assert_memory_equal(got, zeros, dim * sizeof(float));
			sp_rows_release(rows);
		}
	free(floats);
}

/* ---------------------------------------------------------- packed keys */

/* Rows of 32 elements that fit, and every `odd`-th one that does not. */
static float *embedding_like(const int64_t *keys, size_t count, size_t odd)
{
	enum { DIM = 32 };
	float *rows = malloc(count * DIM * sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		for (size_t d = 0; d < DIM; d++)
			rows[i * DIM + d] = (float)(keys[i] % 1000) * 0x1p-9f - (float)d;
	for (size_t i = odd; odd != 0 && i < count; i += odd)
		rows[i * DIM + i % DIM] = i / odd % 2 == 0 ? -INFINITY : 1e-30f;
	return rows;
}

static void check_all(const sp_rows *rows, const int64_t *keys, const float *floats, size_t count)
{
	enum { DIM = 32 };
	sp_stored_row row;
	float got[DIM];

	for (size_t i = 0; i < count; i++) {
		assert_true(sp_rows_find(rows, keys[i], &row));
		row.codec->decode(DIM, row.data, got);
		assert_memory_equal(got, floats + i * DIM, sizeof(got));
	}
}

static void keys_are_packed_in_where_rows_allow_it(void **state)
{
	const struct {
		size_t odd, outliers;
		sp_rows_layout layout;
	} cases[] = {{0, 0, SP_ROWS_KEY_PACKED},
		     {100, 29, SP_ROWS_KEY_PACKED},
		     {2, 0, SP_ROWS_KEY_IN_FRONT}};
	enum { DIM = 32, KEYS = 3000 };
	sp_rows_options options = {.name = "t", .dim = DIM};
	int64_t keys[KEYS];

	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (int64_t)(next_random() >> 1);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		float *floats = embedding_like(keys, KEYS, cases[c].odd);
		const sp_rows_shape *shape;
		sp_rows *rows;
		sp_error err;

		assert_ok(sp_rows_create(&rows, &options, keys, floats, KEYS, &err), &err);
		shape = sp_rows_get_shape(rows);
		assert_int_equal(shape->layout, cases[c].layout);
		assert_int_equal(shape->outlier_count, cases[c].outliers);
		assert_int_equal(shape->slot_size,
				 DIM * 4 + (cases[c].layout == SP_ROWS_KEY_IN_FRONT ? 8 : 0));
		check_all(rows, keys, floats, KEYS);
		for (size_t i = 0; i < KEYS; i++)
			assert_false(is_held(rows, (int64_t)(next_random() >> 1)));
		sp_rows_release(rows);
		free(floats);
	}
}

/* The first row decides, and nothing of those behind it can be wrong for that. */
static void any_rows_may_follow_the_first(void **state)
{
	enum { DIM = 32, KEYS = 500 };
	sp_rows_options options = {.name = "t", .dim = DIM};
	int64_t keys[KEYS + 1];
	float *floats;
	sp_rows_builder *builder;
	sp_rows *rows;
	sp_error err;

	(void)state;
	for (int64_t i = 0; i < KEYS; i++)
		keys[i] = i * 5;
	keys[KEYS] = keys[7]; /* a repeat, of which the later row stays */
	floats = embedding_like(keys, KEYS + 1, 1);
	floats[0] = 0.5f;
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_ok(sp_rows_builder_add_keys(builder, keys, KEYS + 1, &err), &err);
	assert_ok(sp_rows_builder_index(builder, &err), &err);
	assert_ok(sp_rows_builder_put_rows(builder, keys, floats, 1, &err), &err);
	for (size_t i = 1; i <= KEYS; i++)
		assert_ok(sp_rows_builder_put_rows(builder, keys + i, floats + i * DIM, 1, &err),
			  &err);
	assert_ok(sp_rows_builder_freeze(builder, &rows, &err), &err);
	sp_rows_builder_destroy(builder);
	assert_int_equal(sp_rows_get_shape(rows)->layout, SP_ROWS_KEY_PACKED);
	assert_int_equal(sp_rows_get_shape(rows)->outlier_count, KEYS);
	memcpy(floats + 7 * DIM, floats + KEYS * DIM, DIM * sizeof(float));
	check_all(rows, keys, floats, KEYS);
	sp_rows_release(rows);
	free(floats);
}

/* Whatever the format: the key's complement, the encoded row, and zeros up to the next slot. */
static void slots_hold_key_row_and_zeros(void **state)
{
	enum { DIM = 13, KEYS = 50 };
	int64_t keys[KEYS];
	float *floats;
	sp_error err;

	(void)state;
	for (int64_t i = 0; i < KEYS; i++)
		keys[i] = i * i + 3;
	floats = rows_of(keys, KEYS, DIM);
	for (int f = 0; f < SP_ROW_FORMATS; f++) {
		sp_rows_options options = {.name = "t", .dim = DIM, .format = (sp_row_format)f};
		size_t size = sp_row_format_size(options.format, DIM);
		sp_rows *rows;

		assert_ok(sp_rows_create(&rows, &options, keys, floats, KEYS, &err), &err);
		assert_int_equal(sp_rows_get_shape(rows)->slot_size % 8, 0);
		for (size_t i = 0; i < KEYS; i++) {
			size_t slot_size = sp_rows_get_shape(rows)->slot_size;
			char want[128] = {0};
			int64_t mark = ~keys[i];
			sp_stored_row row;

			assert_true(sp_rows_find(rows, keys[i], &row));
			assert_true(sizeof(int64_t) + size <= slot_size);
			memcpy(want, &mark, sizeof(int64_t));
			sp_row_codec_find(options.format)
				->encode(DIM, floats + i * DIM, want + sizeof(int64_t));
			assert_memory_equal((const char *)row.data - sizeof(int64_t), want,
					    slot_size);
		}
		sp_rows_release(rows);
	}
	free(floats);
}

/* Memory for a row of 32 elements, key and placing included. */
static void rows_take_little_more_than_themselves(void **state)
{
	const struct {
		sp_row_format format;
		double most;
	} cases[] = {{SP_ROW_FP32, 136},
		     {SP_ROW_FP16, 76},
		     {SP_ROW_BF16, 76},
		     {SP_ROW_INT8, 60},
		     {SP_ROW_INT4, 44}};
	enum { DIM = 32, KEYS = 200000 };
	int64_t *keys = malloc(KEYS * sizeof(*keys));
	float *floats;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (int64_t)(next_random() >> 2);
	floats = embedding_like(keys, KEYS, 1000);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		sp_rows_options options = {.name = "t", .dim = DIM, .format = cases[c].format};
		sp_rows *rows;
		const sp_rows_shape *shape;

		assert_ok(sp_rows_create(&rows, &options, keys, floats, KEYS, &err), &err);
		shape = sp_rows_get_shape(rows);
		assert_true((double)(sp_rows_slots_size(shape) +
				     shape->placement.part_count * shape->placement.part_buckets) <=
			    cases[c].most * KEYS);
		/* Large regions end at a huge page. */
		assert_true((double)sp_rows_footprint(rows) <= cases[c].most * KEYS + (2 << 20));
		sp_rows_release(rows);
	}
	free(floats);
	free(keys);
}

/* --------------------------------------------------- memory of elsewhere */

static void count_release(void *owner)
{
	++*(int *)owner;
}

typedef struct copied {
	void *slots;
	void *pilots;
	sp_rows_shape shape;
	sp_rows_memory memory;
	int released;
} copied;

static void copy_rows(copied *c, const sp_rows *rows)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);

	*c = (copied){.shape = *shape};
	c->memory.slots_size = sp_rows_slots_size(shape);
	c->memory.pilots_size = shape->placement.part_count * shape->placement.part_buckets;
	c->slots = malloc(c->memory.slots_size);
	c->pilots = malloc(c->memory.pilots_size);
	memcpy(c->slots, sp_rows_slots(rows), c->memory.slots_size);
	memcpy(c->pilots, sp_rows_pilots(rows), c->memory.pilots_size);
	c->memory.slots = c->slots;
	c->memory.pilots = c->pilots;
	c->memory.release = count_release;
	c->memory.owner = &c->released;
}

static void expect_within(size_t expected, size_t real, size_t percent)
{
	size_t apart = expected > real ? expected - real : real - expected;

	if (apart > real * percent / 100 + 64)
		fail_msg("%zu is not within %zu %% of %zu", expected, percent, real);
}

/* By their number alone, from nothing to several parts. */
static void what_rows_take_is_known_beforehand(void **state)
{
	static const size_t counts[] = {0, 1, 100, 30000, 33000, 300000};
	enum { DIM = 16 };
	int64_t *keys = malloc(300000 * sizeof(*keys));
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		keys[i] = (int64_t)(next_random() >> 2);
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		sp_rows_options options = {.name = "t", .dim = DIM, .format = SP_ROW_INT8};
		float *floats = embedding_like(keys, counts[c], 0);
		sp_rows_memory_use real, expected;
		sp_rows_shape shape;
		sp_rows *rows;

		assert_ok(sp_rows_create(&rows, &options, keys, floats, counts[c], &err), &err);
		real = sp_rows_memory_of(rows);
		assert_int_equal(real.slots + real.index, sp_rows_footprint(rows));
		assert_int_equal(real.mapped, 0);
		shape = sp_rows_expected_shape(SP_ROWS_KEY_IN_FRONT, SP_ROW_INT8, DIM, counts[c]);
		assert_int_equal(shape.slot_size, sp_rows_get_shape(rows)->slot_size);
		expected = sp_rows_expected_memory(&shape);
		/* Whole pages of 2 MB, one more or less. */
		expect_within(sp_rows_slots_size(&shape),
			      sp_rows_slots_size(sp_rows_get_shape(rows)), 1);
		expect_within(expected.slots, real.slots, counts[c] > 100000 ? 25 : 1);
		expect_within(expected.index, real.index, 1);
		sp_rows_release(rows);
		free(floats);
	}
	free(keys);
}

static void rows_that_no_memory_holds_take_all_of_it(void **state)
{
	sp_rows_shape shape = sp_rows_expected_shape(SP_ROWS_KEY_IN_FRONT, SP_ROW_FP32,
						     SP_ROWS_MAX_DIM, SIZE_MAX >> 8);

	(void)state;
	assert_int_equal(sp_rows_expected_memory(&shape).slots, SIZE_MAX);
}

static sp_rows *some_rows(int64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		keys[i] = (int64_t)(next_random() >> 1);
	return make(5, keys, count);
}

static void rows_over_a_copy_answer_alike(void **state)
{
	enum { KEYS = 5000 };
	int64_t *keys = malloc(KEYS * sizeof(*keys));
	sp_rows *rows = some_rows(keys, KEYS), *over;
	sp_error err;
	copied c;

	(void)state;
	copy_rows(&c, rows);
	sp_rows_release(rows);
	assert_ok(sp_rows_over(&over, &c.shape, &c.memory, &err), &err);
	for (size_t i = 0; i < KEYS; i++)
		check_held(over, keys[i]);
	assert_true(sp_rows_retain(over) == over);
	sp_rows_release(over);
	assert_int_equal(c.released, 0);
	sp_rows_release(over);
	assert_int_equal(c.released, 1);
	free(c.slots);
	free(c.pilots);
	free(keys);
}

static void a_shape_that_contradicts_itself_is_refused(void **state)
{
	int64_t keys[100];
	sp_rows *rows = some_rows(keys, 100), *over;
	sp_error err;
	copied c;
	sp_rows_shape bad[24];
	size_t n = 0;

	(void)state;
	copy_rows(&c, rows);
	for (size_t i = 0; i < 24; i++)
		bad[i] = c.shape;
	bad[n++].format = SP_ROW_INT8;
	bad[n++].format = SP_ROW_FORMATS;
	bad[n++].format = (sp_row_format)-1;
	bad[n++].layout = SP_ROWS_KEY_PACKED;
	bad[n++].layout = SP_ROWS_LAYOUTS;
	bad[n++].outlier_count = 1;
	bad[n++].dim = 0;
	bad[n++].dim = SIZE_MAX / 4;
	bad[n++].row_count = c.shape.placement.slot_count + 1;
	bad[n++].slot_size += 8;
	bad[n++].placement.slot_count += 1;
	bad[n++].placement.part_count = 0;
	bad[n++].placement.part_count = SIZE_MAX / 2 + 1;
	bad[n++].placement.part_slots = 0;
	bad[n++].placement.part_slots += 1;
	bad[n++].placement.part_buckets += 1;
	bad[n++].placement.part_buckets = 0;
	bad[n++].placement.seed[1] &= ~UINT64_C(1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sp_rows_over(&over, &bad[i], &c.memory, &err), SP_CORRUPT);
	c.memory.slots_size -= 8;
	assert_int_equal(sp_rows_over(&over, &c.shape, &c.memory, &err), SP_CORRUPT);
	c.memory.slots_size += 8;
	c.memory.slots = (const char *)c.slots + 4;
	assert_int_equal(sp_rows_over(&over, &c.shape, &c.memory, &err), SP_CORRUPT);
	assert_int_equal(c.released, 0);
	sp_rows_release(rows);
	free(c.slots);
	free(c.pilots);
}

/* Wrong pilots lead to other slots of the array, where the keys are others. */
static void wrong_pilots_find_no_wrong_row(void **state)
{
	enum { KEYS = 3000 };
	int64_t *keys = malloc(KEYS * sizeof(*keys));
	sp_rows *rows = some_rows(keys, KEYS), *over;
	size_t lost = 0;
	sp_error err;
	copied c;

	(void)state;
	copy_rows(&c, rows);
	for (size_t i = 0; i < c.memory.pilots_size; i++)
		((uint8_t *)c.pilots)[i] = (uint8_t)next_random();
	assert_ok(sp_rows_over(&over, &c.shape, &c.memory, &err), &err);
	for (size_t i = 0; i < KEYS; i++) {
		if (is_held(over, keys[i]))
			check_held(over, keys[i]);
		else
			lost++;
	}
	assert_true(lost > KEYS / 2);
	sp_rows_release(over);
	sp_rows_release(rows);
	free(c.slots);
	free(c.pilots);
	free(keys);
}

/* ------------------------------------------------------------------ faults */

static void impossible_options_are_refused(void **state)
{
	sp_rows_options options = {.name = "bad", .dim = 0};
	sp_rows_builder *builder;
	sp_error err;

	(void)state;
	assert_int_equal(sp_rows_builder_create(&builder, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "bad"));
	options.dim = SP_ROWS_MAX_DIM + 1;
	assert_int_equal(sp_rows_builder_create(&builder, &options, &err), SP_INVALID);
	options.dim = 1;
	options.expected_rows = SIZE_MAX / 4;
	assert_int_equal(sp_rows_builder_create(&builder, &options, &err), SP_NO_MEMORY);
	options.expected_rows = 0;
	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_int_equal(sp_rows_builder_add_keys(builder, NULL, SIZE_MAX / 4, &err), SP_NO_MEMORY);
	sp_rows_builder_destroy(builder);
	sp_rows_builder_destroy(NULL);
	sp_rows_release(NULL);
	assert_null(sp_rows_retain(NULL));
}

/* Two parts, so that every kind of allocation is met. */
static void every_failed_allocation_is_reported(void **state)
{
	enum { KEYS = 140000 };
	sp_rows_options options = {.name = "t", .dim = 1, .threads = 2};
	int64_t *keys = malloc(KEYS * sizeof(*keys)), successes = 0;
	float *floats = calloc(KEYS, sizeof(*floats));
	sp_rows *rows = NULL;
	sp_status status;

	(void)state;
	for (int64_t i = 0; i < KEYS; i++)
		keys[i] = i;
	do {
		sp_alloc_fail_after(successes++);
		status = sp_rows_create(&rows, &options, keys, floats, KEYS, NULL);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
	} while (status != SP_OK);
	assert_true(successes > 10);
	assert_int_equal(sp_rows_get_shape(rows)->row_count, KEYS);
	sp_rows_release(rows);
	free(floats);
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_keys_get_places),
		cmocka_unit_test(any_number_of_keys_gets_places),
		cmocka_unit_test(few_seeds_fail),
		cmocka_unit_test(several_threads_put_rows),
		cmocka_unit_test(marks_and_repeats_are_counted),
		cmocka_unit_test(other_keys_than_were_added_are_corrupt),
		cmocka_unit_test(empty_slots_hold_nothing),
		cmocka_unit_test(keys_are_packed_in_where_rows_allow_it),
		cmocka_unit_test(any_rows_may_follow_the_first),
		cmocka_unit_test(slots_hold_key_row_and_zeros),
		cmocka_unit_test(rows_take_little_more_than_themselves),
		cmocka_unit_test(what_rows_take_is_known_beforehand),
		cmocka_unit_test(rows_that_no_memory_holds_take_all_of_it),
		cmocka_unit_test(rows_over_a_copy_answer_alike),
		cmocka_unit_test(a_shape_that_contradicts_itself_is_refused),
		cmocka_unit_test(wrong_pilots_find_no_wrong_row),
		cmocka_unit_test(impossible_options_are_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
