#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "engine/tensor/resource.h"

typedef struct fixture {
	sp_arena *arena;
	sp_resources resources;
	sp_error err;
} fixture;

static int setup(void **state)
{
	static fixture f;

	memset(&f, 0, sizeof(f));
	f.arena = sp_arena_create(4096);
	assert_non_null(f.arena);
	sp_resources_init(&f.resources, f.arena);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;

	sp_arena_destroy(f->arena);
	return 0;
}

static const sp_partial_shape any_by_two = {.rank = 2, .dims = {-1, 2}};

static uint64_t declare(fixture *f, const char *container, const char *name)
{
	uint64_t index = 99;

	assert_int_equal(sp_resources_declare(&f->resources, SP_RESOURCE_VARIABLE,
					      sp_bytes_of(container), name, SP_FLOAT,
					      SP_INVALID_DTYPE, &any_by_two, &index, &f->err),
			 SP_OK);
	return index;
}

static sp_tensor handle_of(uint64_t *index)
{
	return (sp_tensor){.dtype = SP_RESOURCE, .count = 1, .data = index};
}

static void a_name_is_declared_once_per_container_and_kind(void **state)
{
	fixture *f = *state;
	uint64_t table;

	assert_int_equal(declare(f, "", "w"), 0);
	assert_int_equal(declare(f, "box", "w"), 1);
	assert_int_equal(declare(f, "", "w"), 0);
	assert_int_equal(declare(f, "", "boxw"), 2);
	assert_int_equal(sp_resources_declare(&f->resources, SP_RESOURCE_HASH_TABLE,
					      sp_bytes_of(""), "w", SP_INT64, SP_STRING, NULL,
					      &table, &f->err),
			 SP_OK);
	assert_int_equal(table, 3);
	assert_int_equal(f->resources.count, 4);
	assert_string_equal(f->resources.items[1].name, "w");
}

static void declarations_stay_right_while_the_list_grows(void **state)
{
	fixture *f = *state;
	char name[16];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		assert_int_equal(declare(f, "", name), i);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		assert_int_equal(declare(f, "", name), i);
		assert_string_equal(f->resources.items[i].name, name);
	}
}

static void another_element_type_is_refused_by_name(void **state)
{
	fixture *f = *state;
	uint64_t index;

	declare(f, "", "w");
	assert_int_equal(sp_resources_declare(&f->resources, SP_RESOURCE_VARIABLE, sp_bytes_of(""),
					      "w", SP_DOUBLE, SP_INVALID_DTYPE, NULL, &index,
					      &f->err),
			 SP_INVALID);
	assert_non_null(strstr(f->err.text, "'w'"));
	assert_non_null(strstr(f->err.text, "DT_DOUBLE"));
}

static sp_status declare_rows(fixture *f, int32_t rank, int64_t width)
{
	sp_partial_shape shape = {.rank = rank, .dims = {width}};
	uint64_t index;

	return sp_resources_declare(&f->resources, SP_RESOURCE_EMBEDDING, sp_bytes_of(""), "e",
				    SP_FLOAT, SP_INT64, &shape, &index, &f->err);
}

static void an_embedding_has_rows_of_one_width(void **state)
{
	fixture *f = *state;

	assert_int_equal(declare_rows(f, -1, 0), SP_OK); /* by one who does not say */
	assert_int_equal(declare_rows(f, 1, 4), SP_OK);
	assert_int_equal(declare_rows(f, 1, 4), SP_OK);
	assert_int_equal(declare_rows(f, -1, 0), SP_OK);
	assert_int_equal(declare_rows(f, 1, 5), SP_INVALID);
	assert_string_equal(f->err.text,
			    "embedding 'e' is declared both with rows of shape [4] and [5]");
	assert_int_equal(declare_rows(f, 2, 4), SP_INVALID);
	assert_int_equal(sp_resource_row_width(&f->resources.items[0]), 4);
}

static void a_handle_leads_to_its_own_kind_only(void **state)
{
	fixture *f = *state;
	uint64_t index = declare(f, "", "w"), beyond = 2;
	sp_tensor handle = handle_of(&index), stray = handle_of(&beyond);
	sp_tensor number = {.dtype = SP_INT64, .count = 1, .data = &index};
	sp_tensor none = {.dtype = SP_RESOURCE, .count = 0};
	sp_resource *resource = NULL;

	assert_int_equal(
		sp_resources_get(&f->resources, &handle, SP_RESOURCE_VARIABLE, &resource, &f->err),
		SP_OK);
	assert_ptr_equal(resource, &f->resources.items[0]);
	assert_int_equal(
		sp_resources_get(&f->resources, &handle, SP_RESOURCE_EMBEDDING, &resource, &f->err),
		SP_INVALID);
	assert_string_equal(f->err.text, "'w' is a variable, not an embedding");
	assert_int_equal(declare_rows(f, 1, 4), SP_OK);
	index = 1;
	assert_int_equal(
		sp_resources_get(&f->resources, &handle, SP_RESOURCE_VARIABLE, &resource, &f->err),
		SP_INVALID);
	assert_string_equal(f->err.text, "'e' is an embedding, not a variable");
	assert_int_equal(
		sp_resources_get(&f->resources, &stray, SP_RESOURCE_VARIABLE, &resource, &f->err),
		SP_INVALID);
	assert_int_equal(
		sp_resources_get(&f->resources, &number, SP_RESOURCE_VARIABLE, &resource, &f->err),
		SP_INVALID);
	assert_int_equal(
		sp_resources_get(&f->resources, &none, SP_RESOURCE_EMBEDDING, &resource, &f->err),
		SP_INVALID);
	assert_string_equal(f->err.text,
			    "a handle of an embedding is needed, not 0 of DT_RESOURCE");
}

static void a_variable_takes_a_copy_of_what_fits(void **state)
{
	fixture *f = *state;
	sp_resource *w;
	float numbers[] = {1, 2, 3, 4, 5, 6};
	sp_tensor fits = {SP_FLOAT, sp_shape_matrix(3, 2), 6, numbers, NULL};
	sp_tensor wide = {SP_FLOAT, sp_shape_matrix(2, 3), 6, numbers, NULL};
	sp_tensor flat = {SP_FLOAT, sp_shape_vector(6), 6, numbers, NULL};
	sp_tensor other = {SP_INT32, sp_shape_matrix(3, 2), 6, numbers, NULL};

	declare(f, "", "w");
	w = &f->resources.items[0];
	assert_int_equal(sp_resource_assign(&f->resources, w, &wide, &f->err), SP_INVALID);
	assert_non_null(strstr(f->err.text, "[2,3]"));
	assert_int_equal(sp_resource_assign(&f->resources, w, &flat, &f->err), SP_INVALID);
	assert_int_equal(sp_resource_assign(&f->resources, w, &other, &f->err), SP_INVALID);
	assert_false(sp_tensor_is_set(&w->variable));
	assert_int_equal(sp_resource_assign(&f->resources, w, &fits, &f->err), SP_OK);
	numbers[5] = 0;
	assert_int_equal(w->variable.shape.dims[0], 3);
	assert_true(sp_tensor_f32(&w->variable)[5] == 6);
}

static void numbers_in_the_lists_own_arena_are_not_copied(void **state)
{
	fixture *f = *state;
	sp_shape shape = sp_shape_matrix(3, 2);
	sp_tensor restored;

	declare(f, "", "w");
	assert_int_equal(sp_tensor_create(&restored, f->arena, SP_FLOAT, &shape, &f->err), SP_OK);
	assert_int_equal(
		sp_resource_assign(&f->resources, &f->resources.items[0], &restored, &f->err),
		SP_OK);
	assert_ptr_equal(f->resources.items[0].variable.data, restored.data);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_name_is_declared_once_per_container_and_kind),
		CASE(declarations_stay_right_while_the_list_grows),
		CASE(another_element_type_is_refused_by_name),
		CASE(an_embedding_has_rows_of_one_width),
		CASE(a_handle_leads_to_its_own_kind_only),
		CASE(a_variable_takes_a_copy_of_what_fits),
		CASE(numbers_in_the_lists_own_arena_are_not_copied),
	};

	return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}
