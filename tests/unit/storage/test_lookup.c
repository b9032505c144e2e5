#include "tests/support/cmocka.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "storage/rows_builder.h"
#include "storage/table.h"
#include "storage/table_builder.h"

/*
 * Lookups in many tables at once, pooling, slower tiers.  Table t holds the even
 * keys below its size, and element d of the row of key k follows from t, k, d.
 */

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static float element(size_t table, int64_t key, size_t d)
{
	return (float)((int64_t)(table * 31 + d * 7) + key % 101 - 50) / 16.0f;
}

/* As many as a power of two let lookups of many keys in one layer go a way of their own. */
static int64_t default_rows = 3;

static int set_up_a_power_of_two(void **state)
{
	(void)state;
	default_rows = 4;
	return 0;
}

static int tear_down_a_power_of_two(void **state)
{
	(void)state;
	default_rows = 3;
	return 0;
}

/* What an absent key adds: which row of the default matrix is its own. */
static float absent(int64_t key, size_t d)
{
	return (float)(key % default_rows) + (float)d / 8.0f;
}

static float expected(size_t table, int64_t size, int64_t key, size_t d)
{
	return key >= 0 && key < size && key % 2 == 0 ? element(table, key, d) : absent(key, d);
}

static sp_rows *make_rows(size_t table, size_t dim, int64_t first, int64_t end,
			  sp_row_format format)
{
	sp_rows_options options = {.name = "t", .dim = dim, .format = format};
	size_t count = 0, most = (size_t)(end - first) / 2 + 1;
	int64_t *keys = malloc(most * sizeof(*keys));
	float *floats = malloc(most * dim * sizeof(*floats));
	sp_rows *rows;
	sp_error err;

	for (int64_t key = first; key < end; key += 2) {
		for (size_t d = 0; d < dim; d++)
			floats[count * dim + d] = element(table, key, d);
		keys[count++] = key;
	}
	assert_ok(sp_rows_create(&rows, &options, keys, floats, count, &err), &err);
	free(keys);
	free(floats);
	return rows;
}

/* Takes over the references. */
static sp_table *make_table(size_t dim, sp_rows *base, sp_tier *below)
{
	float defaults[4 * 128];
	size_t count = (size_t)default_rows;
	sp_table_options options = {
		.name = "t", .dim = dim, .default_rows = defaults, .default_row_count = count};
	sp_table *table;
	sp_error err;

	for (size_t i = 0; i < count * dim; i++)
		defaults[i] = absent((int64_t)(i / dim), i % dim);
	assert_ok(sp_table_create(&table, &options, base, below, &err), &err);
	sp_rows_release(base);
	sp_tier_release(below);
	return table;
}

/* Runs with exactly the scratch that was asked for, so that a checker sees what is beyond. */
static sp_status run(const sp_lookup *lookups, size_t count, sp_error *err)
{
	size_t size = sp_lookup_scratch(lookups, count);
	void *scratch = size != 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
	sp_status status = sp_lookup_run(lookups, count, scratch, 0, err);

	free(scratch);
	return status;
}

static void many_tables_are_one_run(void **state)
{
	enum { TABLES = 26, SIZE = 500 };
	sp_table *tables[TABLES];
	sp_lookup lookups[TABLES];
	int64_t keys[TABLES][40];
	float *rows[TABLES];
	sp_error err;

	(void)state;
	for (size_t t = 0; t < TABLES; t++) {
		size_t dim = 1 + t * 5 % 37, stride = dim + t % 3;

		tables[t] = make_table(dim, t == 7 ? NULL : make_rows(t, dim, 0, SIZE, SP_ROW_FP32),
				       NULL);
		/* One key each, or none, or several blocks. */
		lookups[t] = (sp_lookup){.table = tables[t],
					 .keys = keys[t],
					 .count = t % 5 == 4 ? 40 : t % 3,
					 .stride = stride};
		rows[t] = malloc((40 * stride + 1) * sizeof(float));
		for (size_t i = 0; i <= 40 * stride; i++)
			rows[t][i] = 77.0f;
		lookups[t].rows = rows[t];
		for (size_t i = 0; i < 40; i++)
			keys[t][i] = (int64_t)(next_random() % (SIZE + 100));
	}
	assert_int_equal(sp_lookup_scratch(lookups, TABLES), 0);
	assert_ok(run(lookups, TABLES, &err), &err);
	for (size_t t = 0; t < TABLES; t++) {
		size_t dim = sp_table_dim(tables[t]), stride = lookups[t].stride;

		for (size_t i = 0; i <= 40 * stride; i++) {
			bool written = i / stride < lookups[t].count && i % stride < dim;

			assert_true(rows[t][i] ==
				    (written ? expected(t, t == 7 ? 0 : SIZE, keys[t][i / stride],
							i % stride)
					     : 77.0f));
		}
		free(rows[t]);
		sp_table_destroy(tables[t]);
	}
	assert_ok(run(NULL, 0, &err), &err);
}

/*
 * A large lookup takes another way through the code than one of a single key:
 * both must answer alike, whatever the keys, the width, and what lies between rows.
 */
static void large_lookups_answer_as_single_keys_do(void **state)
{
	const size_t dims[] = {1, 4, 13, 16, 17, 32, 100};
	enum { COUNT = 500 };
	float defaults[4 * 100];

	(void)state;
	for (size_t i = 0; i < 400; i++)
		defaults[i] = -1.0f - (float)i;
	for (size_t n = 0; n < sizeof(dims) / sizeof(dims[0]); n++) {
		size_t dim = dims[n], stride = dim + n % 3;
		sp_table_options options = {
			.name = "t", .dim = dim, .default_rows = defaults, .default_row_count = 4};
		sp_rows *base = make_rows(n, dim, 0, 700, SP_ROW_FP32);
		float *rows = malloc((COUNT * stride + 1) * sizeof(float)), row[100];
		int64_t keys[COUNT];
		sp_table *table;
		sp_error err;

		assert_ok(sp_table_create(&table, &options, base, NULL, &err), &err);
		sp_rows_release(base);
		for (size_t i = 0; i < COUNT; i++)
			keys[i] = (int64_t)(next_random() % 1400) - 350;
		keys[7] = INT64_MIN;
		keys[COUNT - 1] = -1;
		keys[5] = -1;
		for (size_t at = 0; at < 2 * (140 + 41); at++) {
			/* Between two small ones, which share a run with it, or alone. */
			size_t step = at / 2, alone = at % 2;
			size_t count = step < 140 ? 1 + step : COUNT - 40 + (step - 140);
			sp_lookup lookups[3] = {{table, keys, 3, NULL, NULL, row, 0},
						{table, keys, count, NULL, NULL, rows, stride},
						{table, keys, 1, NULL, NULL, row, dim}};

			for (size_t i = 0; i <= COUNT * stride; i++)
				rows[i] = 77.0f;
			assert_ok(run(lookups + alone, alone ? 1 : 3, &err), &err);
			for (size_t i = 0; i <= COUNT * stride; i++) {
				float want = 77.0f;

				if (i / stride < count && i % stride < dim) {
					size_t d = i % stride;
					int64_t key = keys[i / stride];

					want = key >= 0 && key < 700 && key % 2 == 0
						       ? element(n, key, d)
						       : defaults[((key % 4 + 4) % 4) *
									  (int64_t)dim +
								  (int64_t)d];
				}
				assert_true(rows[i] == want);
			}
		}
		free(rows);
		sp_table_destroy(table);
	}
}

/* ---------------------------------------------------------------- pooling */

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
		p->keys[i] = (int64_t)(next_random() % (HELD + 300));
		p->weights[i] = (float)(next_random() % 1000 + 1) / 500.0f;
		/* Mostly the same, now and then some are left out. */
		if (next_random() % 8 == 0 && segment < SEGMENTS - 6)
			segment += (int64_t)(next_random() % 5);
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
		sum += w * (double)expected(0, HELD, p->keys[i], d);
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
		sp_table *table = make_table(DIM, make_rows(0, DIM, 0, HELD, (sp_row_format)format),
					     NULL);

		for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++)
			for (int weighted = 0; weighted < 2; weighted++) {
				pooled p;

				draw_pooled(&p, table, (sp_combiner)c, weighted);
				assert_ok(run(&p.lookup, 1, &err), &err);
				check_pooled(&p, errors[format]);
			}
		sp_table_destroy(table);
	}
}

static void one_key_each_is_its_row(void **state)
{
	sp_table *table = make_table(DIM, make_rows(0, DIM, 0, HELD, SP_ROW_FP32), NULL);
	sp_error err;

	(void)state;
	for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++)
		for (int weighted = 0; weighted < 2; weighted++) {
			pooled p;

			draw_pooled(&p, table, (sp_combiner)c, weighted);
			for (size_t i = 0; i < KEYS; i++)
				p.segments[i] = i < SEGMENTS ? (int64_t)i : -1;
			p.lookup.count = SEGMENTS;
			assert_ok(run(&p.lookup, 1, &err), &err);
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
			rows[i][d] = ldexpf((float)(int64_t)(next_random() % 4096) - 2048.5f,
					    (int)(next_random() % 16) - 16);
	}
	assert_ok(sp_rows_create(&made, &options, held, &rows[0][0], HELD, &err), &err);
	table = make_table(DIM, made, NULL);
	draw_pooled(&p, table, SP_COMBINE_SUM, weighted);
	for (size_t i = 0; i < KEYS; i++) {
		p.keys[i] %= HELD;
		p.segments[i] = 3;
	}
	assert_ok(run(&p.lookup, 1, &err), &err);
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
	sp_table *table = make_table(2, make_rows(0, 2, 0, 10, SP_ROW_FP32), NULL);
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
	assert_ok(run(&lookup, 1, &err), &err);
	assert_true(rows[0] == 0 && rows[1] == 0 && rows[4] == 0 && rows[5] == 0);
	assert_true(rows[2] == element(0, 4, 0) && rows[3] == element(0, 4, 1));
	lookup.count = 0;
	rows[2] = 9;
	assert_ok(run(&lookup, 1, &err), &err);
	for (size_t i = 0; i < 6; i++)
		assert_true(rows[i] == 0);
	sp_table_destroy(table);
}

static void a_divisor_of_zero_is_as_asked_for(void **state)
{
	sp_table *table = make_table(1, make_rows(0, 1, 0, 10, SP_ROW_FP32), NULL);
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
	assert_true(element(0, 4, 0) != element(0, 6, 0));
	assert_ok(run(&lookup, 1, &err), &err);
	assert_true(isinf(row));
	pooling.zero_divisor_is_zero = true;
	assert_ok(run(&lookup, 1, &err), &err);
	assert_true(row == 0);
	sp_table_destroy(table);
}

static void wrong_segments_are_refused(void **state)
{
	sp_table *table = make_table(1, make_rows(0, 1, 0, 10, SP_ROW_FP32), NULL);
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

		assert_int_equal(run(&lookup, 1, &err), SP_INVALID);
	}
	sp_table_destroy(table);
}

/* ------------------------------------------------------------------ tiers */

/* Holds the even keys in [first, end) of table `table`. */
typedef struct tier_double {
	sp_tier tier;
	size_t table;
	int64_t first, end;
	sp_status failure;
	int calls, *destroyed;
	size_t keys;
} tier_double;

static int read_calls; /* of both kinds together */

static size_t double_scratch(const sp_tier *tier, size_t count)
{
	(void)tier;
	return 3 * count;
}

static sp_status double_read(const sp_tier_read *reads, size_t count, void *scratch,
			     int64_t deadline_ns, sp_error *err)
{
	size_t keys = 0;

	(void)deadline_ns;
	read_calls++;
	for (size_t r = 0; r < count; r++) {
		tier_double *t = (tier_double *)reads[r].tier;

		if (t->failure != SP_OK)
			return sp_error_set(err, t->failure, "the double fails");
		t->calls++;
		t->keys += reads[r].count;
		keys += reads[r].count;
		for (size_t i = 0; i < reads[r].count; i++) {
			int64_t key = reads[r].keys[i];

			assert_true(key != -1 && key != -2);
			reads[r].found[i] = key >= t->first && key < t->end && key % 2 == 0;
			for (size_t d = 0; reads[r].found[i] && d < t->tier.dim; d++)
				reads[r].rows[i][d] = element(t->table, key, d);
		}
	}
	memset(scratch, 0xee, 3 * keys);
	return SP_OK;
}

static void double_destroy(sp_tier *tier)
{
	++*((tier_double *)tier)->destroyed;
	free(tier);
}

static size_t double_footprint(const sp_tier *tier)
{
	(void)tier;
	return 1000;
}

static const sp_tier_kind kinds[] = {
	{.name = "double",
	 .scratch = double_scratch,
	 .read = double_read,
	 .footprint = double_footprint,
	 .destroy = double_destroy},
	{.name = "other",
	 .scratch = double_scratch,
	 .read = double_read,
	 .footprint = double_footprint,
	 .destroy = double_destroy},
};

static int destroyed;

static tier_double *make_tier(size_t kind, size_t table, size_t dim, int64_t first, int64_t end)
{
	tier_double *t = calloc(1, sizeof(*t));

	*t = (tier_double){.tier = {.kind = &kinds[kind], .dim = dim, .row_count = 5},
			   .table = table,
			   .first = first,
			   .end = end,
			   .destroyed = &destroyed};
	atomic_init(&t->tier.references, 1);
	return t;
}

static void a_slower_tier_answers_what_memory_lacks(void **state)
{
	enum { TABLES = 6, HALF = 300, ALL = 600, COUNT = 100 };
	sp_table *tables[TABLES];
	tier_double *tiers[TABLES] = {0};
	sp_lookup lookups[TABLES];
	static int64_t keys[TABLES][COUNT];
	static float rows[TABLES][COUNT * 40];
	size_t dims[TABLES], asked;
	sp_error err;

	(void)state;
	destroyed = read_calls = 0;
	for (size_t t = 0; t < TABLES; t++) {
		dims[t] = 3 + 5 * t;
		/* The first has all in memory, the third nothing, the others a half. */
		if (t != 0)
			tiers[t] = make_tier(t % 2, t, dims[t], t == 2 ? 0 : HALF, ALL);
		tables[t] = make_table(
			dims[t],
			t == 2 ? NULL : make_rows(t, dims[t], 0, t == 0 ? ALL : HALF, SP_ROW_FP32),
			tiers[t] != NULL ? &tiers[t]->tier : NULL);
		lookups[t] = (sp_lookup){.table = tables[t],
					 .keys = keys[t],
					 .count = COUNT,
					 .rows = rows[t],
					 .stride = 40};
		for (size_t i = 0; i < COUNT; i++)
			keys[t][i] = (int64_t)(next_random() % 700);
	}
	assert_ok(run(lookups, TABLES, &err), &err);
	assert_int_equal(read_calls, 2); /* one for each kind */
	for (size_t t = 0; t < TABLES; t++)
		for (size_t i = 0; i < COUNT; i++)
			for (size_t d = 0; d < dims[t]; d++)
				assert_true(rows[t][i * 40 + d] == expected(t, ALL, keys[t][i], d));
	asked = tiers[1]->keys;
	assert_true(asked > 0 && asked < COUNT && tiers[2]->keys == COUNT);
	assert_int_equal(sp_table_row_count(tables[1]), HALF / 2 + 5);
	assert_true(sp_table_footprint(tables[2]) >= 1000);

	/* What memory has whole is not asked for. */
	for (size_t i = 0; i < COUNT; i++)
		keys[1][i] = i % 2 == 0 ? (int64_t)i : -1 - (int64_t)(i / 2 % 2);
	assert_ok(run(&lookups[1], 1, &err), &err);
	assert_int_equal(tiers[1]->keys, asked);
	for (size_t t = 0; t < TABLES; t++)
		sp_table_destroy(tables[t]);
	assert_int_equal(destroyed, TABLES - 1);
}

/* To the bit: where a row comes from does not change a sum. */
static void pooling_is_the_same_over_a_slower_tier(void **state)
{
	sp_table *memory = make_table(DIM, make_rows(0, DIM, 0, HELD, SP_ROW_FP32), NULL);
	sp_table *both = make_table(DIM, make_rows(0, DIM, 0, HELD / 2, SP_ROW_FP32),
				    &make_tier(0, 0, DIM, HELD / 2, HELD)->tier);
	sp_error err;

	(void)state;
	for (int c = SP_COMBINE_SUM; c <= SP_COMBINE_SQRTN; c++) {
		static float want[SEGMENTS * (DIM + 2)];
		pooled p;

		draw_pooled(&p, memory, (sp_combiner)c, true);
		assert_ok(run(&p.lookup, 1, &err), &err);
		memcpy(want, p.rows, sizeof(want));
		for (size_t i = 0; i < SEGMENTS * (DIM + 2); i++)
			p.rows[i] = 77.0f;
		p.lookup.table = both;
		assert_ok(run(&p.lookup, 1, &err), &err);
		assert_memory_equal(p.rows, want, sizeof(want));
	}
	sp_table_destroy(memory);
	sp_table_destroy(both);
}

static void an_overlay_goes_before_a_slower_tier(void **state)
{
	tier_double *tier = make_tier(0, 1, 2, 0, 100);
	sp_table *old = make_table(2, NULL, &tier->tier), *table;
	sp_rows *overlay = make_rows(3, 2, 10, 20, SP_ROW_FP32);
	const int64_t keys[] = {8, 10, 18, 20, 21};
	float rows[10], fallback[10];
	sp_lookup lookup = {
		.keys = keys, .count = 5, .fallback = fallback, .rows = rows, .stride = 2};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		fallback[i] = 500.0f + (float)i;
	assert_ok(sp_table_with_overlay(&table, old, overlay, &err), &err);
	sp_rows_release(overlay);
	sp_table_destroy(old);
	lookup.table = table;
	assert_ok(run(&lookup, 1, &err), &err);
	assert_int_equal(tier->keys, 3);
	for (size_t d = 0; d < 2; d++) {
		assert_true(rows[d] == element(1, 8, d) && rows[2 + d] == element(3, 10, d));
		assert_true(rows[4 + d] == element(3, 18, d) && rows[6 + d] == element(1, 20, d));
		assert_true(rows[8 + d] == fallback[8 + d]);
	}
	assert_ok(sp_table_lookup(table, keys, 5, NULL, rows, &err), &err);
	assert_true(rows[0] == element(1, 8, 0) && rows[8] == absent(21, 0));
	sp_table_destroy(table);
}

/* Locates with exactly the scratch that was asked for. */
static sp_status locate(const sp_table *table, const int64_t *keys, size_t count, int32_t *places,
			sp_error *err)
{
	size_t size = sp_table_locate_scratch(table, count);
	void *scratch = size != 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
	sp_status status = sp_table_locate(table, keys, count, places, scratch, 0, err);

	free(scratch);
	return status;
}

/* Even keys: the overlay has those below 4, memory 4 and 6, the tier all below 100. */
static void keys_are_located_in_memory_or_below(void **state)
{
	const int64_t keys[] = {0, 1, 6, 8, 98, 100, 8, -1, -2};
	const int32_t want[] = {0, -1, 0, 1, 1, -1, 1, -1, -1};
	tier_double *tier = make_tier(0, 1, 2, 0, 100);
	sp_table *old = make_table(2, make_rows(0, 2, 4, 8, SP_ROW_FP32), &tier->tier), *table;
	sp_rows *overlay = make_rows(3, 2, 0, 4, SP_ROW_FP32);
	int32_t places[9];
	bool found[9];
	sp_error err;

	(void)state;
	assert_ok(sp_table_with_overlay(&table, old, overlay, &err), &err);
	sp_rows_release(overlay);
	sp_table_destroy(old);
	assert_ok(locate(table, keys, 9, places, &err), &err);
	assert_memory_equal(places, want, sizeof(want));
	assert_int_equal(tier->keys, 5); /* neither what memory holds nor the two marks */
	assert_ok(sp_table_contains(table, keys, 9, found, &err), &err);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(found[i], want[i] >= 0);

	/* What memory has whole is not asked for, and a tier that fails is no absence. */
	tier->failure = SP_IO;
	assert_ok(locate(table, keys, 1, places, &err), &err);
	assert_ok(sp_table_contains(table, keys, 0, found, &err), &err);
	assert_int_equal(locate(table, keys, 9, places, &err), SP_IO);
	assert_int_equal(sp_table_contains(table, keys, 9, found, &err), SP_IO);
	assert_non_null(strstr(err.text, "the double fails"));
	assert_true(sp_table_locate_scratch(table, SIZE_MAX / 4) == SIZE_MAX);
	assert_int_equal(sp_table_contains(table, keys, SIZE_MAX / 4, found, &err), SP_NO_MEMORY);
	sp_table_destroy(table);
}

static void a_tier_that_fails_ends_the_lookup(void **state)
{
	const sp_status failures[] = {SP_IO, SP_CORRUPT, SP_DEADLINE};
	tier_double *tier = make_tier(0, 1, 2, 0, 100);
	sp_table *table = make_table(2, NULL, &tier->tier);
	const int64_t key = 8;
	float row[2];
	sp_lookup lookup = {.table = table, .keys = &key, .count = 1, .rows = row, .stride = 2};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		tier->failure = failures[i];
		assert_int_equal(run(&lookup, 1, &err), failures[i]);
		assert_non_null(strstr(err.text, "the double fails"));
	}
	sp_table_destroy(table);
}

static void too_many_keys_to_count_need_too_much_scratch(void **state)
{
	tier_double *tier = make_tier(0, 1, 2, 0, 100);
	sp_table *table = make_table(2, NULL, &tier->tier);
	sp_lookup lookup = {.table = table, .count = SIZE_MAX / 4};

	(void)state;
	assert_true(sp_lookup_scratch(&lookup, 1) == SIZE_MAX);
	sp_table_destroy(table);
}

/* ----------------------------------------------------------------- guards */

typedef struct guard_double {
	sp_rows *rows;
	int prepared, confirmed;
	sp_status before, after;
} guard_double;

static sp_status prepare(void *owner, const sp_rows *rows, const int64_t *keys, size_t count,
			 sp_error *err)
{
	guard_double *g = owner;

	(void)rows;
	assert_true(count == 2 && keys[0] == 2);
	g->prepared++;
	return g->before == SP_OK ? SP_OK : sp_error_set(err, g->before, "not good before");
}

static sp_status confirm(void *owner, sp_error *err)
{
	guard_double *g = owner;

	g->confirmed++;
	return g->after == SP_OK ? SP_OK : sp_error_set(err, g->after, "not good after");
}

/* The same rows behind a guard; they have to outlive it. */
static sp_rows *guarded(const sp_rows *rows, guard_double *g)
{
	static const sp_rows_guard guard = {.prepare = prepare, .confirm = confirm};
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	sp_rows_memory memory = {.slots = sp_rows_slots(rows),
				 .slots_size = sp_rows_slots_size(shape),
				 .pilots = sp_rows_pilots(rows),
				 .pilots_size = shape->part_count * shape->part_buckets,
				 .guard = &guard,
				 .owner = g};
	sp_rows *over;
	sp_error err;

	assert_ok(sp_rows_over(&over, shape, &memory, &err), &err);
	return over;
}

static void guards_are_asked_before_and_after(void **state)
{
	sp_rows *rows = make_rows(0, 3, 0, 10, SP_ROW_FP32);
	guard_double g = {.rows = rows};
	const int64_t keys[] = {2, 3};
	sp_table *table;
	float got[6];
	sp_error err;

	(void)state;
	table = make_table(3, guarded(rows, &g), NULL);
	assert_ok(sp_table_lookup(table, keys, 2, NULL, got, &err), &err);
	assert_true(got[0] == element(0, 2, 0) && g.prepared == 1 && g.confirmed == 1);
	g.before = SP_CORRUPT;
	assert_int_equal(sp_table_lookup(table, keys, 2, NULL, got, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "not good before"));
	assert_int_equal(g.confirmed, 1);
	g.before = SP_OK;
	g.after = SP_IO;
	assert_int_equal(sp_table_lookup(table, keys, 2, NULL, got, &err), SP_IO);
	sp_table_destroy(table);
	sp_rows_release(rows);
}

static void guards_are_asked_where_keys_are_located(void **state)
{
	sp_rows *rows = make_rows(0, 3, 0, 10, SP_ROW_FP32);
	guard_double g = {.rows = rows};
	const int64_t keys[] = {2, 3};
	int32_t places[2];
	sp_table *table;
	sp_error err;

	(void)state;
	table = make_table(3, guarded(rows, &g), NULL);
	assert_int_equal(sp_table_locate_scratch(table, 2), 0);
	assert_ok(locate(table, keys, 2, places, &err), &err);
	assert_true(places[0] == 0 && places[1] == -1 && g.prepared == 1 && g.confirmed == 1);
	g.before = SP_CORRUPT;
	assert_int_equal(locate(table, keys, 2, places, &err), SP_CORRUPT);
	assert_int_equal(g.confirmed, 1);
	g.before = SP_OK;
	g.after = SP_IO;
	assert_int_equal(locate(table, keys, 2, places, &err), SP_IO);
	sp_table_destroy(table);
	sp_rows_release(rows);
}

/* Of an overlay's keys some are new: even ones from 500 on, of which the base has those below 1000.
 */
static void new_keys_of_an_overlay_are_counted(void **state)
{
	sp_table *old = make_table(2, make_rows(0, 2, 0, 1000, SP_ROW_FP32), NULL), *table;
	sp_rows *overlay = make_rows(1, 2, 500, 1300, SP_ROW_FP32);
	sp_error err;

	(void)state;
	assert_ok(sp_table_with_overlay(&table, old, overlay, &err), &err);
	assert_int_equal(sp_table_row_count(old), 500);
	assert_int_equal(sp_table_row_count(table), 650);
	sp_rows_release(overlay);
	sp_table_destroy(table);
	sp_table_destroy(old);
}

/* ---------------------------------------------------------------- threads */

typedef struct shared {
	const sp_table *table;
	sp_rows *overlay;
	atomic_int wrong;
} shared;

/* Makes tables over one that others use, looks up in both, and lets go. */
static void *use(void *context)
{
	shared *s = context;

	for (int round = 0; round < 200; round++) {
		int64_t keys[64];
		float old_rows[64 * 4], new_rows[64 * 4];
		sp_table *table;

		for (int64_t i = 0; i < 64; i++)
			keys[i] = (i * 37 + round * 11) % 1000;
		if (sp_table_with_overlay(&table, s->table, s->overlay, NULL) != SP_OK ||
		    sp_table_lookup(s->table, keys, 64, NULL, old_rows, NULL) != SP_OK ||
		    sp_table_lookup(table, keys, 64, NULL, new_rows, NULL) != SP_OK) {
			atomic_fetch_add(&s->wrong, 1);
			break;
		}
		for (size_t i = 0; i < 64; i++) {
			bool over = keys[i] >= 500 && keys[i] < 700 && keys[i] % 2 == 0;

			if (old_rows[i * 4] != expected(0, 1000, keys[i], 0) ||
			    new_rows[i * 4] !=
				    (over ? element(9, keys[i], 0) : expected(0, 1000, keys[i], 0)))
				atomic_fetch_add(&s->wrong, 1);
		}
		sp_table_destroy(table);
	}
	return NULL;
}

static void threads_share_rows(void **state)
{
	enum { THREADS = 4 };
	sp_table *table = make_table(4, make_rows(0, 4, 0, 1000, SP_ROW_FP32), NULL);
	shared s = {.table = table, .overlay = make_rows(9, 4, 500, 700, SP_ROW_FP32)};
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, &s), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&s.wrong), 0);
	sp_rows_release(s.overlay);
	sp_table_destroy(table);
}

#define PLAIN(test) \
	cmocka_unit_test_setup_teardown(test, set_up_a_power_of_two, tear_down_a_power_of_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_tables_are_one_run),
		cmocka_unit_test(large_lookups_answer_as_single_keys_do),
		cmocka_unit_test(pooling_follows_its_definition),
		PLAIN(pooling_follows_its_definition),
		cmocka_unit_test(one_key_each_is_its_row),
		PLAIN(one_key_each_is_its_row),
		cmocka_unit_test(long_sums_keep_their_bound),
		PLAIN(long_sums_keep_their_bound),
		cmocka_unit_test(segments_without_keys_are_zeros),
		PLAIN(segments_without_keys_are_zeros),
		cmocka_unit_test(a_divisor_of_zero_is_as_asked_for),
		cmocka_unit_test(wrong_segments_are_refused),
		cmocka_unit_test(a_slower_tier_answers_what_memory_lacks),
		cmocka_unit_test(pooling_is_the_same_over_a_slower_tier),
		cmocka_unit_test(an_overlay_goes_before_a_slower_tier),
		cmocka_unit_test(keys_are_located_in_memory_or_below),
		cmocka_unit_test(a_tier_that_fails_ends_the_lookup),
		cmocka_unit_test(too_many_keys_to_count_need_too_much_scratch),
		cmocka_unit_test(guards_are_asked_before_and_after),
		cmocka_unit_test(guards_are_asked_where_keys_are_located),
		cmocka_unit_test(new_keys_of_an_overlay_are_counted),
		cmocka_unit_test(threads_share_rows),
	};

	return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
