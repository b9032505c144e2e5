#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "storage/rows/rows_builder.h"
#include "tests/support/known_tables.h"

/*
 * Lookups in many tables at once, rows with guards, rows that several threads share.
 */

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

		tables[t] = sp_known_table(
			dim, t == 7 ? NULL : sp_known_rows(t, dim, 0, SIZE, SP_ROW_FP32), NULL);
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
			keys[t][i] = (int64_t)(sp_known_random() % (SIZE + 100));
	}
	assert_int_equal(sp_lookup_scratch(lookups, TABLES), 0);
	assert_ok(sp_known_run(lookups, TABLES, &err), &err);
	for (size_t t = 0; t < TABLES; t++) {
		size_t dim = sp_table_dim(tables[t]), stride = lookups[t].stride;

		for (size_t i = 0; i <= 40 * stride; i++) {
			bool written = i / stride < lookups[t].count && i % stride < dim;

			assert_true(rows[t][i] ==
				    (written ? sp_known_expected(t, t == 7 ? 0 : SIZE,
								 keys[t][i / stride], i % stride)
					     : 77.0f));
		}
		free(rows[t]);
		sp_table_destroy(tables[t]);
	}
	assert_ok(sp_known_run(NULL, 0, &err), &err);
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
		sp_rows *base = sp_known_rows(n, dim, 0, 700, SP_ROW_FP32);
		float *rows = malloc((COUNT * stride + 1) * sizeof(float)), row[100];
		int64_t keys[COUNT];
		sp_table *table;
		sp_error err;

		assert_ok(sp_table_create(&table, &options, base, NULL, &err), &err);
		sp_rows_release(base);
		for (size_t i = 0; i < COUNT; i++)
			keys[i] = (int64_t)(sp_known_random() % 1400) - 350;
		keys[7] = INT64_MIN;
		keys[COUNT - 1] = -1;
		keys[5] = -1;
		for (size_t at = 0; at < 2 * (140 + 41); at++) {
			/* Between two small ones, which share a run with it, or alone. */
			size_t step = at / 2, alone = at % 2;
			size_t count = step < 140 ? 1 + step : COUNT - 40 + (step - 140);
			sp_lookup lookups[3] = {
				{table, keys, 3, NULL, NULL, row, 0, NULL},
				{table, keys, count, NULL, NULL, rows, stride, NULL},
				{table, keys, 1, NULL, NULL, row, dim, NULL}};

			for (size_t i = 0; i <= COUNT * stride; i++)
				rows[i] = 77.0f;
			assert_ok(sp_known_run(lookups + alone, alone ? 1 : 3, &err), &err);
			for (size_t i = 0; i <= COUNT * stride; i++) {
				float want = 77.0f;

				if (i / stride < count && i % stride < dim) {
					size_t d = i % stride;
					int64_t key = keys[i / stride];

					want = key >= 0 && key < 700 && key % 2 == 0
						       ? sp_known_element(n, key, d)
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
/* ----------------------------------------------------------------- guards */

typedef struct guard_double {
	sp_rows *rows;
	int prepared, confirmed;
	int64_t deadline_ns;
	sp_status before, after;
} guard_double;

static sp_status prepare(void *owner, const sp_rows *rows, const int64_t *keys, size_t count,
			 int64_t deadline_ns, sp_error *err)
{
	guard_double *g = owner;

	(void)rows;
	g->deadline_ns = deadline_ns;
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
				 .pilots_size = shape->placement.part_count *
						shape->placement.part_buckets,
				 .guard = &guard,
				 .owner = g};
	sp_rows *over;
	sp_error err;

	assert_ok(sp_rows_over(&over, shape, &memory, &err), &err);
	return over;
}

static void guards_are_asked_before_and_after(void **state)
{
	sp_rows *rows = sp_known_rows(0, 3, 0, 10, SP_ROW_FP32);
	guard_double g = {.rows = rows};
	const int64_t keys[] = {2, 3};
	sp_table *table;
	float got[6];
	sp_error err;

	(void)state;
	table = sp_known_table(3, guarded(rows, &g), NULL);
	assert_ok(sp_table_lookup(table, keys, 2, NULL, got, &err), &err);
	assert_true(got[0] == sp_known_element(0, 2, 0) && g.prepared == 1 && g.confirmed == 1);
	assert_ok(
		sp_lookup_run(
			&(sp_lookup){
				.table = table, .keys = keys, .count = 2, .rows = got, .stride = 3},
			1, NULL, 17, &err),
		&err);
	assert_true(g.prepared == 2 && g.confirmed == 2 && g.deadline_ns == 17);
	g.before = SP_CORRUPT;
	assert_int_equal(sp_table_lookup(table, keys, 2, NULL, got, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "not good before"));
	assert_int_equal(g.confirmed, 2);
	g.before = SP_OK;
	g.after = SP_IO;
	assert_int_equal(sp_table_lookup(table, keys, 2, NULL, got, &err), SP_IO);
	sp_table_destroy(table);
	sp_rows_release(rows);
}

static void guards_are_asked_where_keys_are_located(void **state)
{
	sp_rows *rows = sp_known_rows(0, 3, 0, 10, SP_ROW_FP32);
	guard_double g = {.rows = rows};
	const int64_t keys[] = {2, 3};
	int32_t places[2];
	sp_table *table;
	sp_error err;

	(void)state;
	table = sp_known_table(3, guarded(rows, &g), NULL);
	assert_int_equal(sp_table_locate_scratch(table, 2), 0);
	assert_ok(sp_known_locate(table, keys, 2, places, &err), &err);
	assert_true(places[0] == 0 && places[1] == -1 && g.prepared == 1 && g.confirmed == 1);
	assert_ok(sp_table_locate(table, keys, 2, places, NULL, 18, &err), &err);
	assert_true(g.prepared == 2 && g.confirmed == 2 && g.deadline_ns == 18);
	g.before = SP_CORRUPT;
	assert_int_equal(sp_known_locate(table, keys, 2, places, &err), SP_CORRUPT);
	assert_int_equal(g.confirmed, 2);
	g.before = SP_OK;
	g.after = SP_IO;
	assert_int_equal(sp_known_locate(table, keys, 2, places, &err), SP_IO);
	sp_table_destroy(table);
	sp_rows_release(rows);
}

/* Of an overlay's keys some are new: even ones from 500 on, of which the base has those below 1000.
 */
static void new_keys_of_an_overlay_are_counted(void **state)
{
	sp_table *old = sp_known_table(2, sp_known_rows(0, 2, 0, 1000, SP_ROW_FP32), NULL), *table;
	sp_rows *overlay = sp_known_rows(1, 2, 500, 1300, SP_ROW_FP32);
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

			if (old_rows[i * 4] != sp_known_expected(0, 1000, keys[i], 0) ||
			    new_rows[i * 4] != (over ? sp_known_element(9, keys[i], 0)
						     : sp_known_expected(0, 1000, keys[i], 0)))
				atomic_fetch_add(&s->wrong, 1);
		}
		sp_table_destroy(table);
	}
	return NULL;
}

static void threads_share_rows(void **state)
{
	enum { THREADS = 4 };
	sp_table *table = sp_known_table(4, sp_known_rows(0, 4, 0, 1000, SP_ROW_FP32), NULL);
	shared s = {.table = table, .overlay = sp_known_rows(9, 4, 500, 700, SP_ROW_FP32)};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_tables_are_one_run),
		cmocka_unit_test(large_lookups_answer_as_single_keys_do),
		cmocka_unit_test(guards_are_asked_before_and_after),
		cmocka_unit_test(guards_are_asked_where_keys_are_located),
		cmocka_unit_test(new_keys_of_an_overlay_are_counted),
		cmocka_unit_test(threads_share_rows),
	};

	return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
