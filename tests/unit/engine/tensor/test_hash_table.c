#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/tensor/hash_table.h"

static sp_tensor vector(sp_dtype dtype, size_t n, const void *data)
{
	return (sp_tensor){.dtype = dtype,
			   .shape = sp_shape_vector((int64_t)n),
			   .count = n,
			   .data = (void *)data};
}

static sp_hash_table *make(sp_arena *arena, sp_dtype key, sp_dtype value, int64_t width)
{
	sp_hash_table_options options = {.key_dtype = key, .value_dtype = value};
	sp_hash_table *table;
	sp_error err;

	if (width >= 0)
		options.value_shape = sp_shape_vector(width);
	assert_ok(sp_hash_table_create(&table, arena, &options, &err), &err);
	return table;
}

/* Every number i in [0, n) is held as i * 7 - 3 and answers i; others answer the fallback. */
static void growing_keeps_every_number(void **state)
{
	enum { N = 20000 };
	sp_arena *arena = sp_arena_create(1 << 16);
	sp_hash_table *table = make(arena, SP_INT64, SP_INT32, -1);
	int64_t key;
	int32_t value, other = -1;
	sp_tensor keys = vector(SP_INT64, 1, &key), values = vector(SP_INT32, 1, &value);
	sp_tensor fallback = vector(SP_INT32, 1, &other);
	sp_error err;

	(void)state;
	for (value = 0; value < N; value++) {
		key = (int64_t)value * 7 - 3;
		assert_ok(sp_hash_table_insert(table, &keys, &values, 0, &err), &err);
	}
	assert_int_equal(sp_hash_table_size(table), N);
	for (key = -10; key < 7 * N + 10; key++) {
		bool held = key >= -3 && (key + 3) % 7 == 0 && (key + 3) / 7 < N;

		sp_hash_table_find(table, &keys, &fallback, &values);
		assert_int_equal(value, held ? (key + 3) / 7 : -1);
	}
	sp_arena_destroy(arena);
}

static void growing_keeps_every_text(void **state)
{
	enum { N = 3000 };
	sp_arena *arena = sp_arena_create(1 << 16);
	sp_hash_table *table = make(arena, SP_STRING, SP_DOUBLE, -1);
	char text[32];
	sp_bytes key = {text, 0};
	double value, other = -1;
	sp_tensor keys = vector(SP_STRING, 1, &key), values = vector(SP_DOUBLE, 1, &value);
	sp_tensor fallback = vector(SP_DOUBLE, 1, &other);
	sp_error err;

	(void)state;
	for (int i = 0; i < N; i++) {
		key.size = (size_t)snprintf(text, sizeof(text), "word %d", i);
		value = i;
		assert_ok(sp_hash_table_insert(table, &keys, &values, 0, &err), &err);
	}
	for (int i = 0; i < 2 * N; i++) {
		key.size = (size_t)snprintf(text, sizeof(text), "word %d", i);
		sp_hash_table_find(table, &keys, &fallback, &values);
		assert_true(value == (i < N ? i : -1));
	}
	sp_arena_destroy(arena);
}

static void texts_are_copied_unless_they_stay(void **state)
{
	sp_arena *arena = sp_arena_create(1 << 12);
	char key_text[] = "key", value_text[] = "value";
	sp_bytes key = {key_text, 3}, value = {value_text, 5}, found = {NULL, 0}, other = {"?", 1};
	sp_tensor keys = vector(SP_STRING, 1, &key), values = vector(SP_STRING, 1, &value);
	sp_tensor fallback = vector(SP_STRING, 1, &other), out = vector(SP_STRING, 1, &found);
	sp_bytes asked = {"key", 3};
	sp_tensor question = vector(SP_STRING, 1, &asked);
	sp_error err;

	(void)state;
	for (int stay = 0; stay < 2; stay++) {
		sp_hash_table *table = make(arena, SP_STRING, SP_STRING, -1);

		assert_ok(sp_hash_table_insert(table, &keys, &values,
					       stay ? SP_HASH_TABLE_TEXTS_STAY : 0, &err),
			  &err);
		value_text[0] = 'V';
		sp_hash_table_find(table, &question, &fallback, &out);
		assert_true(sp_bytes_equal_text(found, stay ? "Value" : "value"));
		value_text[0] = 'v';
	}
	sp_arena_destroy(arena);
}

static void a_second_value_is_refused_or_replaces(void **state)
{
	sp_arena *arena = sp_arena_create(1 << 12);
	sp_hash_table *table = make(arena, SP_INT32, SP_FLOAT, -1);
	int32_t key = 5;
	float value = 1, other = 0;
	sp_tensor keys = vector(SP_INT32, 1, &key), values = vector(SP_FLOAT, 1, &value);
	sp_tensor fallback = vector(SP_FLOAT, 1, &other);
	sp_error err;

	(void)state;
	assert_ok(sp_hash_table_insert(table, &keys, &values, 0, &err), &err);
	assert_ok(sp_hash_table_insert(table, &keys, &values, 0, &err), &err);
	value = 2;
	assert_int_equal(sp_hash_table_insert(table, &keys, &values, 0, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "5"));
	assert_ok(sp_hash_table_insert(table, &keys, &values, SP_HASH_TABLE_REPLACE, &err), &err);
	assert_int_equal(sp_hash_table_size(table), 1);
	value = 0;
	sp_hash_table_find(table, &keys, &fallback, &values);
	assert_true(value == 2);
	value = NAN; /* differs from everything, itself too */
	assert_ok(sp_hash_table_insert(table, &keys, &values, SP_HASH_TABLE_REPLACE, &err), &err);
	assert_int_equal(sp_hash_table_insert(table, &keys, &values, 0, &err), SP_INVALID);
	sp_arena_destroy(arena);
}

static void rows_come_whole_with_one_fallback_or_many(void **state)
{
	sp_arena *arena = sp_arena_create(1 << 12);
	sp_hash_table *table = make(arena, SP_INT64, SP_INT64, 3);
	const int64_t keys[] = {4, -4}, rows[] = {1, 2, 3, 4, 5, 6}, asked[] = {-4, 0, 4};
	const int64_t one[] = {7, 8, 9}, many[] = {10, 11, 12, 13, 14, 15, 16, 17, 18};
	const int64_t with_one[] = {4, 5, 6, 7, 8, 9, 1, 2, 3};
	const int64_t with_many[] = {4, 5, 6, 13, 14, 15, 1, 2, 3};
	int64_t found[9];
	sp_tensor k = vector(SP_INT64, 2, keys), v = vector(SP_INT64, 6, rows);
	sp_tensor question = vector(SP_INT64, 3, asked), out = vector(SP_INT64, 9, found);
	sp_tensor fallback = vector(SP_INT64, 3, one);
	sp_error err;

	(void)state;
	assert_ok(sp_hash_table_insert(table, &k, &v, 0, &err), &err);
	sp_hash_table_find(table, &question, &fallback, &out);
	assert_memory_equal(found, with_one, sizeof(found));
	fallback = vector(SP_INT64, 9, many);
	sp_hash_table_find(table, &question, &fallback, &out);
	assert_memory_equal(found, with_many, sizeof(found));
	v.count = 5;
	assert_int_equal(sp_hash_table_insert(table, &k, &v, 0, &err), SP_INVALID);
	sp_arena_destroy(arena);
}

static void wrong_types_are_refused(void **state)
{
	sp_arena *arena = sp_arena_create(1 << 12);
	sp_hash_table_options options = {.key_dtype = SP_FLOAT, .value_dtype = SP_INT64};
	sp_hash_table *table;
	int64_t number = 1;
	sp_tensor numbers = vector(SP_INT64, 1, &number);
	sp_error err;

	(void)state;
	assert_int_equal(sp_hash_table_create(&table, arena, &options, &err), SP_UNSUPPORTED);
	options = (sp_hash_table_options){.key_dtype = SP_STRING, .value_dtype = SP_VARIANT};
	assert_int_equal(sp_hash_table_create(&table, arena, &options, &err), SP_UNSUPPORTED);
	table = make(arena, SP_STRING, SP_INT64, -1);
	assert_int_equal(sp_hash_table_insert(table, &numbers, &numbers, 0, &err), SP_INVALID);
	assert_int_equal(sp_hash_table_size(table), 0);
	assert_int_equal(sp_hash_table_reserve(table, UINT32_MAX, &err), SP_UNSUPPORTED);
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growing_keeps_every_number),
		cmocka_unit_test(growing_keeps_every_text),
		cmocka_unit_test(texts_are_copied_unless_they_stay),
		cmocka_unit_test(a_second_value_is_refused_or_replaces),
		cmocka_unit_test(rows_come_whole_with_one_fallback_or_many),
		cmocka_unit_test(wrong_types_are_refused),
	};

	return cmocka_run_group_tests_name("hash_table", tests, NULL, NULL);
}
