/* Objects of a model version: typed, and destroyed with their list. */
#include "tests/support/cmocka.h"

#include "engine/tensor/object.h"

static int order[2], destroyed;

static void note(void *object)
{
	order[destroyed++] = *(const int *)object;
}

static const sp_object_type apples = {"apples", note}, pears = {"pears", note};

static void a_tensor_gives_its_object_by_type_only(void **state)
{
	int one = 1, two = 2;
	float number = 3;
	sp_arena *arena = sp_arena_create(1 << 10);
	sp_tensor apple, pear, other = {.dtype = SP_FLOAT, .count = 1, .data = &number};
	sp_object_list list;
	sp_error err;

	(void)state;
	assert_non_null(arena);
	destroyed = 0;
	sp_objects_init(&list, arena);
	assert_ok(sp_objects_add(&list, &apples, &one, &apple, &err), &err);
	assert_ok(sp_objects_add(&list, &pears, &two, &pear, &err), &err);
	assert_ptr_equal(sp_tensor_object(&apple, &apples), &one);
	assert_ptr_equal(sp_tensor_object(&pear, &pears), &two);
	assert_null(sp_tensor_object(&pear, &apples));
	assert_null(sp_tensor_object(&other, &apples));
	assert_int_equal(sp_dtype_size(apple.dtype), 0); /* nothing copies or sends it */
	sp_objects_fini(&list);
	assert_int_equal(destroyed, 2);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 1);
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tensor_gives_its_object_by_type_only),
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
