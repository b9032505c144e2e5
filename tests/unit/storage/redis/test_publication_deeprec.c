#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/publication_scene.h"

/* In DeepRec's layout. */

static sp_error err;

static sp_redis_publication_options deeprec_of(int64_t full)
{
	sp_redis_publication_options options = sp_pub_options(full, (uint64_t)full);

	options.layout = SP_REDIS_DEEPREC;
	return options;
}

static void assert_deeprec_rows(int database, int64_t full)
{
	char key[24];

	for (size_t i = 0; i < SP_PUB_ROWS; i += 97) {
		size_t size = sp_redis_deeprec_key(key, (uint64_t)full, sp_pub_features[0],
						   sp_pub_keys[i], 8);
		const char *row = sp_pub_stored(database, NULL, key, size, sizeof(sp_pub_rows[i]));

		assert_non_null(row);
		assert_memory_equal(row, sp_pub_rows[i], sizeof(sp_pub_rows[i]));
	}
}

static void write_one(sp_redis_publication *p)
{
	sp_pub_write(p, "user");
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
}

static void deeprecs_databases_take_turns(void **state)
{
	sp_redis_publication_options options;
	sp_redis_version version;

	(void)state;
	for (int64_t full = 100; full <= 300; full += 100) {
		int to = full == 200;

		options = deeprec_of(full);
		write_one(sp_pub_open(&options));
		assert_string_equal(sp_pub_ask_db(to, "GET", "active"), "1");
		assert_string_equal(sp_pub_ask_db(1 - to, "GET", "active"), "0");
		assert_string_equal(sp_pub_ask_db(to, "GET", "model_version"),
				    sp_arena_printf(sp_pub_arena, "%d,0", (int)full));
		assert_string_equal(sp_pub_ask_db(0, "GET", "model_lock"), "(nil)");
		assert_string_equal(sp_pub_ask_db(1, "GET", "model_lock"), "(nil)");
		assert_deeprec_rows(to, full);
		if (full > 100) /* the version before stays */
			assert_deeprec_rows(1 - to, full - 100);
	}
	assert_string_equal(sp_pub_ask("EXISTS", "100,0"), "0");
	assert_ok(sp_redis_publication_rollback(&version, &options, -1, &err), &err);
	assert_int_equal(version.full, 200);
	assert_string_equal(sp_pub_ask_db(1, "GET", "active"), "1");
	assert_string_equal(sp_pub_ask_db(0, "GET", "active"), "0");
	assert_int_equal(sp_redis_publication_rollback(&version, &options, 150, &err),
			 SP_NOT_FOUND);
}

static void deeprecs_active_database_is_not_touched_before_the_end(void **state)
{
	sp_redis_publication_options options = deeprec_of(100);
	sp_redis_publication *p;
	sp_redis_publication_counts counts;

	(void)state;
	write_one(sp_pub_open(&options));
	options = deeprec_of(200);
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	sp_pub_put(p, 3400);
	sp_redis_publication_close(p);
	assert_string_equal(sp_pub_ask_db(0, "GET", "active"), "1");
	assert_string_equal(sp_pub_ask_db(0, "GET", "model_version"), "100,0");
	assert_string_equal(sp_pub_ask_db(1, "GET", "model_version"), "(nil)");
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	sp_pub_put(p, SP_PUB_ROWS);
	counts = sp_redis_publication_counts_of(p);
	assert_int_equal(counts.rows_there, 3400);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	assert_deeprec_rows(1, 200);

	p = sp_pub_open(&options); /* again: nothing is to be done */
	assert_false(sp_pub_begin(p, "user"));
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
}

static void a_deeprec_processor_holds_the_lock(void **state)
{
	sp_redis_publication_options options = deeprec_of(200);
	sp_redis_publication *p;

	(void)state;
	sp_pub_ask_db(1, "SET", "active", "1");
	sp_pub_ask_db(1, "SET", "model_version", "100,0");
	sp_pub_ask_db(1, "SET", "model_lock", "12345");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_BUSY);
	sp_pub_ask_db(1, "DEL", "model_lock");
	p = sp_pub_open(&options);
	assert_int_equal(strspn(sp_pub_ask_db(1, "GET", "model_lock"), "0123456789"),
			 strlen(sp_pub_ask_db(1, "GET", "model_lock")));
	write_one(p);
	assert_string_equal(sp_pub_ask_db(0, "GET", "active"), "1");
	assert_deeprec_rows(0, 200);
}

static void a_database_of_somebody_else_is_not_emptied(void **state)
{
	sp_redis_publication_options options = deeprec_of(200);
	sp_redis_publication *p;

	(void)state;
	sp_pub_ask_db(0, "SET", "session:1", "x");
	sp_pub_ask_db(0, "SET", "session:2", "x");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_CORRUPT);
	assert_string_equal(sp_pub_ask_db(0, "GET", "session:1"), "x");
	assert_string_equal(sp_pub_ask_db(0, "GET", "model_lock"), "(nil)");
	options.is_cluster = true;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_UNSUPPORTED);
	options.layout = SP_REDIS_HPS;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_UNSUPPORTED);
}

static void keys_of_a_table_with_parts_have_the_features_of_their_parts(void **state)
{
	const int64_t numbers[4] = {4, 1003, -5, 7};
	const float values[4][SP_PUB_DIM] = {{1}, {2}, {3}, {4}};
	sp_redis_publication_options options = deeprec_of(100);
	sp_redis_publication_table table = sp_pub_table("user");
	sp_redis_publication *p = sp_pub_open(&options);
	bool is_there;
	char key[24];

	(void)state;
	table.feature_count = 2;
	assert_ok(sp_redis_publication_begin(p, &table, &is_there, &err), &err);
	assert_ok(sp_redis_publication_put(p, numbers, values, 4, &err), &err);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	sp_redis_deeprec_key(key, 100, 3, 4, 8);
	assert_non_null(sp_pub_stored(0, NULL, key, 24, sizeof(values[0])));
	sp_redis_deeprec_key(key, 100, 5, 1003, 8);
	assert_non_null(sp_pub_stored(0, NULL, key, 24, sizeof(values[0])));
	sp_redis_deeprec_key(key, 100, 5, 7, 8);
	assert_non_null(sp_pub_stored(0, NULL, key, 24, sizeof(values[0])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, sp_pub_clear)
		TEST(deeprecs_databases_take_turns),
		TEST(deeprecs_active_database_is_not_touched_before_the_end),
		TEST(a_deeprec_processor_holds_the_lock),
		TEST(a_database_of_somebody_else_is_not_emptied),
		TEST(keys_of_a_table_with_parts_have_the_features_of_their_parts),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis publication, deeprec", tests, sp_pub_start,
					   sp_pub_end);
}
