#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model_loader/version/load_environment.h"
#include "tests/support/paths.h"

/* Over tests/golden/embeddings/, see scripts/make_embedding_fixtures.py. */

static sp_arena *arena;
static sp_resources resources;
static sp_load_environment *environment;
static const sp_environment *calls;
static sp_load_policy policy;
static char full_prefix[SP_PATH_SIZE], delta_prefix[SP_PATH_SIZE], root[SP_PATH_SIZE];
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_source_path(full_prefix, "tests/golden/embeddings/full");
	sp_source_path(delta_prefix, "tests/golden/embeddings/delta");
	arena = sp_arena_create(64 << 10);
	sp_resources_init(&resources, arena);
	environment = NULL;
	policy = (sp_load_policy){.threads = 2};
	root[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_load_environment_destroy(environment);
	sp_arena_destroy(arena);
	if (root[0] != '\0')
		sp_temp_remove(root);
	return 0;
}

static void open_environment(bool with_delta)
{
	sp_load_environment_options options = {.checkpoint_prefix = full_prefix,
					       .delta_prefix = with_delta ? delta_prefix : NULL,
					       .policy = &policy,
					       .file_root = root[0] != '\0' ? root : NULL};

	assert_ok(sp_load_environment_create(&environment, &options, arena, &err), &err);
	calls = &environment->calls;
}

static sp_status restore(const char *prefix, const char *name, sp_dtype dtype, sp_tensor *out)
{
	return calls->restore(calls->context, sp_bytes_of(prefix), sp_bytes_of(name),
			      sp_bytes_of(""), dtype, arena, out, &err);
}

static void restores_take_the_delta_in(void **state)
{
	sp_tensor out;

	(void)state;
	open_environment(true);
	assert_ok(restore(full_prefix, "dense/bias", SP_FLOAT, &out), &err);
	assert_true(sp_tensor_f32(&out)[0] == 4.0f);
	assert_ok(restore(delta_prefix, "dense/bias", SP_FLOAT, &out), &err);
	assert_true(sp_tensor_f32(&out)[0] == 4.0f);
	assert_ok(restore(full_prefix, "sparse", SP_FLOAT, &out), &err);
	assert_true(sp_tensor_f32(&out)[2 * 3] == 500.0f);
	assert_ok(restore(full_prefix, "global_step", SP_INT64, &out), &err);
	assert_int_equal(sp_tensor_i64(&out)[0], 110);
}

static void restores_without_a_delta_are_as_saved(void **state)
{
	sp_tensor out;

	(void)state;
	open_environment(false);
	assert_ok(restore(full_prefix, "dense/bias", SP_FLOAT, &out), &err);
	assert_true(sp_tensor_f32(&out)[0] == 1.0f);
	assert_int_equal(restore(delta_prefix, "dense/bias", SP_FLOAT, &out), SP_INVALID);
	assert_int_equal(restore("/etc/model", "dense/bias", SP_FLOAT, &out), SP_INVALID);
	assert_non_null(strstr(err.text, "/etc/model"));
	assert_int_equal(restore(full_prefix, "dense/bias", SP_DOUBLE, &out), SP_INVALID);
	assert_non_null(strstr(err.text, "dense/bias"));
	assert_int_equal(restore(full_prefix, "nothing", SP_FLOAT, &out), SP_INVALID);
	assert_non_null(strstr(err.text, "has no tensor nothing"));
}

static void a_missing_checkpoint_is_not_found(void **state)
{
	sp_load_environment_options options = {.checkpoint_prefix = "/nowhere/at/all"};

	(void)state;
	assert_int_equal(sp_load_environment_create(&environment, &options, arena, &err),
			 SP_NOT_FOUND);
	options = (sp_load_environment_options){.checkpoint_prefix = full_prefix,
						.delta_prefix = "/nowhere/at/all"};
	assert_int_equal(sp_load_environment_create(&environment, &options, arena, &err),
			 SP_NOT_FOUND);
}

static sp_status read_file(const char *path, sp_bytes *out)
{
	return calls->read_file(calls->context, sp_bytes_of(path), arena, out, &err);
}

static void only_files_of_the_model_are_read(void **state)
{
	char path[SP_PATH_SIZE + 64];
	sp_bytes bytes;
	FILE *file;

	(void)state;
	sp_temp_make(root);
	snprintf(path, sizeof(path), "%s/words.txt", root);
	file = fopen(path, "wb");
	assert_non_null(file);
	fputs("a\nb\n", file);
	fclose(file);
	open_environment(false);
	assert_ok(read_file(path, &bytes), &err);
	assert_true(sp_bytes_equal_text(bytes, "a\nb\n"));
	snprintf(path, sizeof(path), "%s/absent.txt", root);
	assert_int_equal(read_file(path, &bytes), SP_NOT_FOUND);
	snprintf(path, sizeof(path), "%s/../%s/words.txt", root, strrchr(root, '/') + 1);
	assert_int_equal(read_file(path, &bytes), SP_INVALID);
	snprintf(path, sizeof(path), "%s/..", root);
	assert_int_equal(read_file(path, &bytes), SP_INVALID);
	snprintf(path, sizeof(path), "%s.txt", root);
	assert_int_equal(read_file(path, &bytes), SP_INVALID);
	assert_int_equal(read_file("/etc/passwd", &bytes), SP_INVALID);
	assert_int_equal(read_file(root, &bytes), SP_INVALID);
	assert_int_equal(read_file("", &bytes), SP_INVALID);
}

static void without_a_folder_no_file_is_read(void **state)
{
	sp_bytes bytes;

	(void)state;
	open_environment(false);
	assert_int_equal(read_file(full_prefix, &bytes), SP_INVALID);
}

static uint32_t declare(const char *name, int64_t dim)
{
	sp_partial_shape shape = {.rank = 1, .dims = {dim}};
	uint64_t index;

	assert_ok(sp_resources_declare(&resources, SP_RESOURCE_EMBEDDING, sp_bytes_of(""), name,
				       SP_FLOAT, SP_INT64, &shape, &index, &err),
		  &err);
	return (uint32_t)index;
}

static sp_status create(uint32_t index, const float *defaults, size_t count, int64_t filter_freq)
{
	sp_tensor rows = {.dtype = SP_FLOAT,
			  .shape = sp_shape_vector((int64_t)count),
			  .count = count,
			  .data = (void *)defaults};
	sp_embedding_options options = {.default_rows = &rows,
					.default_value_dim = 1,
					.filter_freq = filter_freq,
					.false_positive_probability = -1.0f,
					.default_value_no_permission = 0.5f};

	return calls->create_embedding(calls->context, &resources.items[index], &options, &err);
}

static sp_status import(uint32_t index, int64_t part, int64_t parts)
{
	sp_embedding_import from = {.prefix = sp_bytes_of(full_prefix),
				    .name = sp_bytes_of(resources.items[index].name),
				    .partition_id = part,
				    .partition_num = parts};

	return calls->import_embedding(calls->context, &resources.items[index], &from, &err);
}

static sp_status load(const uint32_t *indices, size_t count)
{
	return sp_load_environment_load_tables(environment, &resources, indices, count, &err);
}

static float first_of(uint32_t index, int64_t key)
{
	float row[4];

	assert_ok(sp_table_lookup(resources.items[index].table, &key, 1, NULL, row, &err), &err);
	return row[0];
}

/* Declares, creates and imports four/part_0 ... part_3, each with the defaults given to it. */
static void make_four(uint32_t indices[4], const float (*defaults)[4])
{
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "four/part_%u", i);
		indices[i] = declare(sp_arena_printf(arena, "%s", name), 4);
	}
	for (uint32_t i = 0; i < 4; i++) {
		assert_ok(create(indices[i], defaults[i], 4, 0), &err);
		assert_ok(import(indices[i], i, 4), &err);
	}
}

static void destroy_taken(size_t want)
{
	sp_table **tables;
	size_t count;

	sp_embedding_set_take_tables(&environment->embeddings, &tables, &count);
	assert_int_equal(count, want);
	for (size_t i = 0; i < count; i++)
		sp_table_destroy(tables[i]);
	sp_free(tables);
}

static void handles_that_answer_alike_share_a_table(void **state)
{
	const float defaults[4][4] = {{9}, {9}, {9}, {9}};
	uint32_t four[4];

	(void)state;
	open_environment(true);
	make_four(four, defaults);
	assert_ok(load(four, 2), &err);
	assert_null(resources.items[four[2]].table);
	assert_ok(load(four, 4), &err);
	for (int i = 0; i < 4; i++) {
		assert_ptr_equal(resources.items[four[i]].table, resources.items[four[0]].table);
		assert_true(first_of(four[i], 37) == 18.5f + 1000.0f);
		assert_true(first_of(four[i], 2) == 9.0f);
	}
	destroy_taken(1);
}

static void handles_with_defaults_of_their_own_have_their_own_tables(void **state)
{
	const float defaults[4][4] = {{9}, {8}, {7}, {6}};
	uint32_t four[4];

	(void)state;
	open_environment(false);
	make_four(four, defaults);
	assert_ok(load(four, 4), &err);
	for (int64_t key = 0; key < 3700; key += 37)
		assert_true(first_of(four[key % 1000 % 4], key) == (float)key * 0.5f);
	for (int i = 0; i < 4; i++)
		assert_true(first_of(four[i], 1000000007) == defaults[i][0]);
	/* Those that are not taken go with the environment. */
}

static void with_a_filter_default_rows_do_not_matter(void **state)
{
	const float odd[] = {1, 2, 3};
	uint32_t index = declare("whole", 4);

	(void)state;
	open_environment(false);
	assert_ok(create(index, odd, 3, 2), &err);
	assert_ok(import(index, 0, 1), &err);
	assert_ok(load(&index, 1), &err);
	assert_true(first_of(index, 37) == 18.5f);
	assert_true(first_of(index, 38) == 0.5f);
}

/* A typing error in the configuration must not look like an embedding without rows. */
static void what_is_sliced_must_be_in_the_model(void **state)
{
	const float defaults[4] = {1};
	uint32_t index = declare("four/part_0", 4);

	(void)state;
	policy = (sp_load_policy){.sharded_names = "four;for", .slice = 1, .slice_count = 2};
	open_environment(false);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import(index, 0, 4), &err);
	assert_int_equal(load(&index, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "'for'"));
	sp_load_environment_destroy(environment);
	policy.sharded_names = "four";
	open_environment(false);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import(index, 0, 4), &err);
	assert_ok(load(&index, 1), &err);
	assert_true(first_of(index, 37) == 18.5f);
	assert_true(first_of(index, 74) == 0.0f);
}

static void the_last_word_on_defaults_counts(void **state)
{
	const float first[4] = {1}, second[4] = {2}, odd[3] = {0};
	uint32_t index = declare("whole", 4);

	(void)state;
	open_environment(false);
	assert_ok(create(index, first, 4, 0), &err);
	assert_ok(import(index, 0, 1), &err);
	assert_ok(create(index, odd, 3, 0), &err);
	assert_ok(create(index, second, 4, 0), &err);
	assert_ok(load(&index, 1), &err);
	assert_true(first_of(index, 38) == 2.0f);
}

/* A slot of an optimizer may be as it likes: it is told of when an answer wants its rows. */
static void what_is_wrong_with_defaults_matters_to_who_reads_them(void **state)
{
	const float right[4] = {1}, odd[3] = {0};
	uint32_t needed = declare("whole", 4), odd_one = declare("odd", 4);

	(void)state;
	open_environment(false);
	assert_ok(create(needed, right, 4, 0), &err);
	assert_ok(import(needed, 0, 1), &err);
	assert_ok(create(odd_one, odd, 3, 0), &err);
	assert_ok(import(odd_one, 0, 1), &err);
	assert_ok(load(&needed, 1), &err);
	assert_true(first_of(needed, 37) == 18.5f);
	assert_int_equal(load(&odd_one, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "'odd' has 3 default elements for 1 rows of 4"));
	assert_null(resources.items[odd_one].table);
}

static void rows_of_an_unknown_width_are_refused(void **state)
{
	const float defaults[4] = {1};
	uint32_t index = declare("whole", 0);

	(void)state;
	open_environment(false);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import(index, 0, 1), &err);
	assert_int_equal(load(&index, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "'whole' does not say how wide"));
}

static void what_nobody_loads_or_describes_is_refused(void **state)
{
	const float defaults[4] = {1};
	uint32_t index = declare("whole", 4), missing = declare("missing", 4);

	(void)state;
	open_environment(false);
	assert_int_equal(load(&index, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "whole"));
	assert_ok(import(index, 0, 1), &err);
	assert_int_equal(load(&index, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "absent keys"));
	assert_ok(create(missing, defaults, 4, 0), &err);
	assert_int_equal(load(&missing, 1), SP_INVALID);
	assert_ok(import(missing, 0, 1), &err);
	assert_int_equal(load(&missing, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "missing"));
}

static sp_status import_rows(uint32_t index, int64_t width)
{
	static const int64_t keys[] = {5, -6}, versions[] = {40};
	static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
	const sp_tensor k = {
		.dtype = SP_INT64, .shape = sp_shape_vector(2), .count = 2, .data = (void *)keys};
	const sp_tensor v = {.dtype = SP_FLOAT,
			     .shape = sp_shape_matrix(2, width),
			     .count = (size_t)(2 * width),
			     .data = (void *)values};
	const sp_tensor n = {.dtype = SP_INT64,
			     .shape = sp_shape_vector(1),
			     .count = 1,
			     .data = (void *)versions};

	return calls->import_embedding_rows(calls->context, &resources.items[index], &k, &v, &n,
					    &err);
}

static void rows_in_hand_become_a_table(void **state)
{
	const float defaults[4] = {9};
	uint32_t index = declare("in_hand", 4);

	(void)state;
	open_environment(false);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import_rows(index, 3), &err);
	assert_int_equal(load(&index, 1), SP_INVALID);
	assert_non_null(strstr(err.text, "'in_hand' of width 4"));
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_int_equal(load(&index, 1), SP_INVALID); /* that says nothing of the rows */
	assert_ok(import_rows(index, 4), &err);
	assert_ok(load(&index, 1), &err);
	assert_true(first_of(index, 5) == 1.0f);
	assert_true(first_of(index, -6) == 5.0f);
	assert_true(first_of(index, 6) == 9.0f);
}

static void unseen_keys_of_any_table_may_answer_zeros(void **state)
{
	const float defaults[4] = {9};
	uint32_t index = declare("in_hand", 4), whole = declare("whole", 4);

	(void)state;
	policy.absent_keys_are_zeros = true;
	open_environment(false);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import_rows(index, 4), &err);
	assert_ok(create(whole, defaults, 4, 0), &err);
	assert_ok(import(whole, 0, 1), &err);
	assert_ok(load(&index, 1), &err);
	assert_ok(load(&whole, 1), &err);
	assert_true(first_of(index, 5) == 1.0f);
	assert_true(first_of(index, 6) == 0.0f);
	assert_true(first_of(whole, 37) == 18.5f);
	assert_true(first_of(whole, 38) == 0.0f);
}

static void rows_in_hand_take_no_delta(void **state)
{
	const float defaults[4] = {9};
	uint32_t index = declare("in_hand", 4);

	(void)state;
	open_environment(true);
	assert_ok(create(index, defaults, 4, 0), &err);
	assert_ok(import_rows(index, 4), &err);
	assert_int_equal(load(&index, 1), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "in_hand"));
}

static void imports_are_of_the_checkpoint_that_is_loaded(void **state)
{
	uint32_t index = declare("whole", 4);
	sp_embedding_import from = {.prefix = sp_bytes_of("/etc/model"),
				    .name = sp_bytes_of("whole"),
				    .partition_num = 1};

	(void)state;
	open_environment(false);
	assert_int_equal(
		calls->import_embedding(calls->context, &resources.items[index], &from, &err),
		SP_INVALID);
}

static sp_status load_two(sp_load_environment **out, sp_resource *two)
{
	const sp_load_environment_options options = {.checkpoint_prefix = full_prefix,
						     .delta_prefix = delta_prefix};
	const float defaults[4] = {9};
	const sp_tensor rows = {.dtype = SP_FLOAT, .count = 4, .data = (void *)defaults};
	const sp_embedding_options settings = {.default_rows = &rows, .default_value_dim = 1};
	const sp_embedding_import from[] = {
		{sp_bytes_of(full_prefix), sp_bytes_of("four/part_0"), 0, 2, false},
		{sp_bytes_of(full_prefix), sp_bytes_of("four/part_1"), 1, 2, false}};
	const uint32_t indices[] = {0, 1};
	const sp_environment *e;
	sp_resources list = {.items = two, .count = 2};

	SP_TRY(sp_load_environment_create(out, &options, arena, &err));
	e = &(*out)->calls;
	for (int i = 0; i < 2; i++) {
		SP_TRY(e->create_embedding(e->context, &two[i], &settings, &err));
		SP_TRY(e->import_embedding(e->context, &two[i], &from[i], &err));
	}
	return sp_load_environment_load_tables(*out, &list, indices, 2, &err);
}

static void every_failed_allocation_is_reported(void **state)
{
	int64_t successes = 0;
	sp_status status;

	(void)state;
	do {
		sp_resource two[] = {{.kind = SP_RESOURCE_EMBEDDING,
				      .name = "a",
				      .dtype = SP_FLOAT,
				      .key_dtype = SP_INT64,
				      .shape = {.rank = 1, .dims = {4}}},
				     {.kind = SP_RESOURCE_EMBEDDING,
				      .name = "b",
				      .dtype = SP_FLOAT,
				      .key_dtype = SP_INT64,
				      .shape = {.rank = 1, .dims = {4}}}};

		sp_alloc_fail_after(successes++);
		status = load_two(&environment, two);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		if (status == SP_OK)
			assert_ptr_equal(two[0].table, two[1].table);
		sp_load_environment_destroy(environment);
		environment = NULL;
	} while (status != SP_OK);
	assert_true(successes > 20);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(restores_take_the_delta_in),
		TEST(restores_without_a_delta_are_as_saved),
		TEST(a_missing_checkpoint_is_not_found),
		TEST(only_files_of_the_model_are_read),
		TEST(without_a_folder_no_file_is_read),
		TEST(handles_that_answer_alike_share_a_table),
		TEST(handles_with_defaults_of_their_own_have_their_own_tables),
		TEST(with_a_filter_default_rows_do_not_matter),
		TEST(what_is_sliced_must_be_in_the_model),
		TEST(the_last_word_on_defaults_counts),
		TEST(what_is_wrong_with_defaults_matters_to_who_reads_them),
		TEST(rows_of_an_unknown_width_are_refused),
		TEST(what_nobody_loads_or_describes_is_refused),
		TEST(rows_in_hand_become_a_table),
		TEST(unseen_keys_of_any_table_may_answer_zeros),
		TEST(rows_in_hand_take_no_delta),
		TEST(imports_are_of_the_checkpoint_that_is_loaded),
		TEST(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("load environment", tests, NULL, NULL);
}
