#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "api/host/infer/tensors.h"

#define TENSOR(type, array)                                                          \
	(serving_processor_tensor)                                                   \
	{                                                                            \
		"t", type, 1, (const int64_t[]){sizeof(array) / sizeof((array)[0])}, \
			sizeof(array) / sizeof((array)[0]), array                    \
	}

static bool alike_floats(float a, float b)
{
	const float one[] = {a}, other[] = {b};

	return sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_FLOAT, one),
				    &TENSOR(SERVING_PROCESSOR_FLOAT, other), 1e-3);
}

static void floats_may_differ_a_little(void **state)
{
	(void)state;
	assert_true(alike_floats(1, 1.0009f));
	assert_false(alike_floats(1, 1.002f));
	assert_true(alike_floats(1000, 1000.9f));
	assert_false(alike_floats(1000, 1002));
	assert_true(alike_floats(0, 0.0009f));
	assert_true(alike_floats(NAN, NAN));
	assert_true(alike_floats(INFINITY, INFINITY));
	assert_false(alike_floats(INFINITY, 1e30f));
	assert_false(alike_floats(INFINITY, -INFINITY));
	assert_false(alike_floats(1, NAN));
}

static void narrow_floats_are_read(void **state)
{
	/* 1, -2, infinity, the least subnormal; and 1.0009765625 beside 1. */
	const uint16_t half[] = {0x3c00, 0xc000, 0x7c00, 0x0001},
		       near[] = {0x3c01, 0xc000, 0x7c00, 0x0000},
		       far[] = {0x3c10, 0xc000, 0x7c00, 0x0001}, wide[] = {0x3f80},
		       wider[] = {0x4000};

	(void)state;
	assert_true(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_HALF, half),
					 &TENSOR(SERVING_PROCESSOR_HALF, near), 1e-3));
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_HALF, half),
					  &TENSOR(SERVING_PROCESSOR_HALF, far), 1e-3));
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_BFLOAT16, wide),
					  &TENSOR(SERVING_PROCESSOR_BFLOAT16, wider), 0.4));
	assert_true(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_BFLOAT16, wide),
					 &TENSOR(SERVING_PROCESSOR_BFLOAT16, wider), 0.5));
}

static void all_else_is_equal_or_not(void **state)
{
	const int64_t numbers[] = {1, 2}, others[] = {1, 3};
	const serving_processor_bytes texts[] = {{"a", 1}, {"bc", 2}},
				      words[] = {{"a", 1}, {"bd", 2}};
	serving_processor_tensor shaped = TENSOR(SERVING_PROCESSOR_INT64, numbers);
	const int64_t dims[] = {1, 2};

	(void)state;
	assert_true(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_INT64, numbers), &shaped, 9));
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_INT64, numbers),
					  &TENSOR(SERVING_PROCESSOR_INT64, others), 9));
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_STRING, texts),
					  &TENSOR(SERVING_PROCESSOR_STRING, words), 9));
	shaped.rank = 2;
	shaped.dims = dims;
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_INT64, numbers), &shaped, 9));
	shaped = TENSOR(SERVING_PROCESSOR_UINT64, numbers);
	assert_false(sp_tensors_are_alike(&TENSOR(SERVING_PROCESSOR_INT64, numbers), &shaped, 9));
}

static void a_copy_stands_alone(void **state)
{
	char text[] = "bc", name[] = "name";
	serving_processor_bytes texts[] = {{"a", 1}, {text, 2}};
	serving_processor_tensor tensor = TENSOR(SERVING_PROCESSOR_STRING, texts), copy;
	sp_arena *arena = sp_arena_create(256);

	(void)state;
	tensor.name = name;
	assert_int_equal(sp_tensor_bytes(&tensor), sizeof(texts) + 3);
	assert_true(sp_host_tensor_copy(&copy, &tensor, arena));
	assert_true(sp_tensors_are_alike(&tensor, &copy, 0));
	memset(text, 'x', 2);
	memset(name, 'x', 4);
	assert_false(sp_tensors_are_alike(&tensor, &copy, 0));
	assert_string_equal(copy.name, "name");
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_may_differ_a_little),
		cmocka_unit_test(narrow_floats_are_read),
		cmocka_unit_test(all_else_is_equal_or_not),
		cmocka_unit_test(a_copy_stands_alone),
	};

	return cmocka_run_group_tests_name("tensors", tests, NULL, NULL);
}
