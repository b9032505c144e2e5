#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "storage/rows/rows_builder.h"
#include "tests/support/known_tables.h"

/*
 * Pooled lookups: sums, means and their kin of the rows of each segment, in every row format,
 * and over a slower tier.
 */

enum { KEYS = 1000, SEGMENTS = 90, DIM = 19, HELD = 1000 };

typedef struct pooled {
	int64_t keys[KEYS];
	int64_t segments[KEYS];
	float weights[KEYS];
	float rows[SEGMENTS * (DIM + 2)];
	sp_pooling pooling;
	sp_lookup lookup;
} pooled;

static void draw_pooled(pooled *p, const sp_table *table, sp_combiner combiner, bool weighted)
{
	int64_t segment = 0;

	for (size_t i = 0; i < KEYS; i++) {
		p->keys[i] = (int64_t)(sp_known_random() % (HELD + 300));
		p->weights[i] = (float)(sp_known_random() % 1000 + 1) / 500.0f;
		/* Mostly the same, now and then some are left out. */
		if (sp_known_random() % 8 == 0 && segment < SEGMENTS - 6)
			segment += (int64_t)(sp_known_random() % 5);
		p->segments[i] = segment;
	}
	for (size_t i = 0; i < SEGMENTS * (DIM + 2); i++)
		p->rows[i] = 77.0f;
	p->pooling = (sp_pooling){.combiner = combiner,
				  .segments = p->segments,
				  .weights = weighted ? p->weights : NULL,
				  .segment_count = SEGMENTS};
	p->lookup = (sp_lookup){.table = table,
				.keys = p->keys,
				.count = KEYS,
				.pooling = &p->pooling,
				.rows = p->rows,
				.stride = DIM + 2};
}

/* The definition, in double; *gain is how much an error in every element could grow to. */
static double pooled_element(const pooled *p, int64_t segment, size_t d, double *gain)
{
	double sum = 0, weights = 0, squares = 0, divisor = 1;

	for (size_t i = 0; i < KEYS; i++) {
		double w = p->pooling.weights != NULL ? p->weights[i] : 1;

		if (p->segments[i] != segment)
			continue;
		sum += w * (double)sp_known_expected(0, HELD, p->keys[i], d);
		weights += w;
		squares += w * w;
	}
	if (weights != 0 && p->pooling.combiner == SP_COMBINE_MEAN)
		divisor = weights;
	if (weights != 0 && p->pooling.combiner == SP_COMBINE_SQRTN)
		divisor = sqrt(squares);
	*gain = weights / divisor;
	return sum / divisor;
}

/* `error` is that of a stored element. */
static void check_pooled(const pooled *p, double error)
{
	for (int64_t s = 0; s < SEGMENTS; s++) {
		const float *row = p->rows + (size_t)s * (DIM + 2);

		for (size_t d = 0; d < DIM; d++) {
			double gain, want = pooled_element(p, s, d, &gain);

			assert_true(fabs(row[d] - want) <= (error + 1e-5) * gain + 1e-6);
		}
		assert_true(row[DIM] == 77.0f && row[DIM + 1] == 77.0f);
	}
}

static void pooling_follows_its_definition(void **state)
{
	/* Elements are sixteenths up to 11: exact in 8 bits, else off by half a step of the codes.
	 */
	const double errors[SP_ROW_FORMATS] = {0, 0, 0, 11.0 / 127 / 2, 11.0 / 8};
	sp_error err;

	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++) {
		sp_table *table = sp_known_table(
			DIM, sp_known_rows(0, DIM, 0, HELD, (sp_row_format)format), NULL);

		for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++)
			for (int weighted = 0; weighted < 2; weighted++) {
				pooled p;

				draw_pooled(&p, table, (sp_combiner)c, weighted);
				assert_ok(sp_known_run(&p.lookup, 1, &err), &err);
				check_pooled(&p, errors[format]);
			}
		sp_table_destroy(table);
	}
}

static void one_key_each_is_its_row(void **state)
{
	sp_table *table = sp_known_table(DIM, sp_known_rows(0, DIM, 0, HELD, SP_ROW_FP32), NULL);
	sp_error err;

	(void)state;
	for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++)
		for (int weighted = 0; weighted < 2; weighted++) {
			pooled p;

			draw_pooled(&p, table, (sp_combiner)c, weighted);
			for (size_t i = 0; i < KEYS; i++)
				p.segments[i] = i < SEGMENTS ? (int64_t)i : -1;
			p.lookup.count = SEGMENTS;
			assert_ok(sp_known_run(&p.lookup, 1, &err), &err);
			check_pooled(&p, 0);
		}
	sp_table_destroy(table);
}

/* All keys in one segment, rows of any size and sign: the sum, and the bound that table.h states.
 */
static void check_long_sum(bool weighted)
{
	static float rows[HELD][DIM];
	static int64_t held[HELD];
	sp_rows_options options = {.name = "t", .dim = DIM};
	sp_rows *made;
	sp_table *table;
	sp_error err;
	pooled p;

	for (size_t i = 0; i < HELD; i++) {
		held[i] = (int64_t)i;
		for (size_t d = 0; d < DIM; d++)
			rows[i][d] = ldexpf((float)(int64_t)(sp_known_random() % 4096) - 2048.5f,
					    (int)(sp_known_random() % 16) - 16);
	}
	assert_ok(sp_rows_create(&made, &options, held, &rows[0][0], HELD, &err), &err);
	table = sp_known_table(DIM, made, NULL);
	draw_pooled(&p, table, SP_COMBINE_SUM, weighted);
	for (size_t i = 0; i < KEYS; i++) {
		p.keys[i] %= HELD;
		p.segments[i] = 3;
	}
	assert_ok(sp_known_run(&p.lookup, 1, &err), &err);
	for (size_t d = 0; d < DIM; d++) {
		double sum = 0, size = 0;

		for (size_t i = 0; i < KEYS; i++) {
			double term = (weighted ? p.weights[i] : 1) * (double)rows[p.keys[i]][d];

			sum += term;
			size += fabs(term);
		}
		assert_true(fabs((double)p.rows[3 * (DIM + 2) + d] - sum) <=
			    (KEYS + weighted) * 0x1p-24 * size);
	}
	sp_table_destroy(table);
}

static void long_sums_keep_their_bound(void **state)
{
	(void)state;
	check_long_sum(false);
	check_long_sum(true);
}

static void segments_without_keys_are_zeros(void **state)
{
	sp_table *table = sp_known_table(2, sp_known_rows(0, 2, 0, 10, SP_ROW_FP32), NULL);
	const int64_t key = 4, segment = 1;
	sp_pooling pooling = {
		.combiner = SP_COMBINE_MEAN, .segments = &segment, .segment_count = 3};
	float rows[6] = {9, 9, 9, 9, 9, 9};
	sp_lookup lookup = {.table = table,
			    .keys = &key,
			    .count = 1,
			    .pooling = &pooling,
			    .rows = rows,
			    .stride = 2};
	sp_error err;

	(void)state;
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	assert_true(rows[0] == 0 && rows[1] == 0 && rows[4] == 0 && rows[5] == 0);
	assert_true(rows[2] == sp_known_element(0, 4, 0) && rows[3] == sp_known_element(0, 4, 1));
	lookup.count = 0;
	rows[2] = 9;
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	for (size_t i = 0; i < 6; i++)
		assert_true(rows[i] == 0);
	sp_table_destroy(table);
}

static void a_divisor_of_zero_is_as_asked_for(void **state)
{
	sp_table *table = sp_known_table(1, sp_known_rows(0, 1, 0, 10, SP_ROW_FP32), NULL);
	const int64_t keys[] = {4, 6}, segments[] = {0, 0};
	const float weights[] = {1, -1};
	sp_pooling pooling = {.combiner = SP_COMBINE_MEAN,
			      .segments = segments,
			      .weights = weights,
			      .segment_count = 1};
	float row = 9;
	sp_lookup lookup = {.table = table,
			    .keys = keys,
			    .count = 2,
			    .pooling = &pooling,
			    .rows = &row,
			    .stride = 1};
	sp_error err;

	(void)state;
	assert_true(sp_known_element(0, 4, 0) != sp_known_element(0, 6, 0));
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	assert_true(isinf(row));
	pooling.zero_divisor_is_zero = true;
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	assert_true(row == 0);
	sp_table_destroy(table);
}

static void wrong_segments_are_refused(void **state)
{
	sp_table *table = sp_known_table(1, sp_known_rows(0, 1, 0, 10, SP_ROW_FP32), NULL);
	const int64_t wrong[][3] = {
		{0, 2, 1}, {-1, 0, 1}, {0, 1, 4}, {INT64_MIN, 0, 0}, {0, 0, INT64_MAX}};
	const int64_t keys[3] = {0};
	float rows[4];
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		sp_pooling pooling = {.segments = wrong[i], .segment_count = 4};
		sp_lookup lookup = {.table = table,
				    .keys = keys,
				    .count = 3,
				    .pooling = &pooling,
				    .rows = rows,
				    .stride = 1};

		assert_int_equal(sp_known_run(&lookup, 1, &err), SP_INVALID);
	}
	sp_table_destroy(table);
}
/* To the bit: where a row comes from does not change a sum. */
static void pooling_is_the_same_over_a_slower_tier(void **state)
{
	sp_table *memory = sp_known_table(DIM, sp_known_rows(0, DIM, 0, HELD, SP_ROW_FP32), NULL);
	sp_table *both = sp_known_table(DIM, sp_known_rows(0, DIM, 0, HELD / 2, SP_ROW_FP32),
					&sp_known_tier_new(0, DIM, HELD / 2, HELD)->tier);
	sp_error err;

	(void)state;
	for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++) {
		static float want[SEGMENTS * (DIM + 2)];
		pooled p;

		draw_pooled(&p, memory, (sp_combiner)c, true);
		assert_ok(sp_known_run(&p.lookup, 1, &err), &err);
		memcpy(want, p.rows, sizeof(want));
		for (size_t i = 0; i < SEGMENTS * (DIM + 2); i++)
			p.rows[i] = 77.0f;
		p.lookup.table = both;
		assert_ok(sp_known_run(&p.lookup, 1, &err), &err);
		assert_memory_equal(p.rows, want, sizeof(want));
	}
	sp_table_destroy(memory);
	sp_table_destroy(both);
}

/* The same where lookups go a shorter way. */
#define SHORTER(test) \
	cmocka_unit_test_setup_teardown(test, sp_known_shorter_way, sp_known_usual_way)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pooling_follows_its_definition),
		SHORTER(pooling_follows_its_definition),
		cmocka_unit_test(one_key_each_is_its_row),
		SHORTER(one_key_each_is_its_row),
		cmocka_unit_test(long_sums_keep_their_bound),
		SHORTER(long_sums_keep_their_bound),
		cmocka_unit_test(segments_without_keys_are_zeros),
		SHORTER(segments_without_keys_are_zeros),
		cmocka_unit_test(a_divisor_of_zero_is_as_asked_for),
		cmocka_unit_test(wrong_segments_are_refused),
		cmocka_unit_test(pooling_is_the_same_over_a_slower_tier),
	};

	return cmocka_run_group_tests_name("lookup_pool", tests, NULL, NULL);
}
