#include "tests/support/cmocka.h"

#include <string.h>

#include "processor/request/endpoint.h"

static const sp_tensor_info inputs[] = {
	{.alias = "a",
	 .tensor_name = "b:0",
	 .dtype = SP_FLOAT,
	 .shape = {.rank = 2, .dims = {-1, 3}}},
	{.alias = "b", .tensor_name = "a:0", .dtype = SP_INT64, .shape = {.rank = 1, .dims = {-1}}},
	{.alias = "twin", .tensor_name = "b", .dtype = SP_FLOAT, .shape = {.rank = -1}},
	{.alias = "quo\"te\\\n", .tensor_name = "in/c:1", .dtype = SP_HALF, .shape = {.rank = 0}},
};
static const sp_tensor_info outputs[] = {
	{.alias = "y",
	 .tensor_name = "out/y:0",
	 .dtype = SP_STRING,
	 .shape = {.rank = 3, .dims = {2, -1, 4}}},
	{.alias = "z", .tensor_name = "out/y:0", .dtype = SP_BOOL, .shape = {.rank = -1}},
};
static const sp_signature signature = {
	.name = "serving_default",
	.method = "tensorflow/serving/predict",
	.inputs = inputs,
	.input_count = 4,
	.outputs = outputs,
	.output_count = 2,
};

static sp_arena *arena;
static sp_endpoint endpoint;

static int make_endpoint(void **state)
{
	sp_error err;

	(void)state;
	arena = sp_arena_create(4096);
	assert_non_null(arena);
	assert_ok(sp_endpoint_init(&endpoint, &signature, 0, arena, &err), &err);
	return 0;
}

static int free_endpoint(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

static size_t input(const char *name)
{
	size_t index = SIZE_MAX;
	sp_error err;

	assert_ok(sp_endpoint_find_input(&endpoint, sp_bytes_of(name), &index, &err), &err);
	return index;
}

static void an_alias_goes_before_a_tensor_name(void **state)
{
	(void)state;
	assert_int_equal(input("a"), 0); /* not the tensor a:0 */
	assert_int_equal(input("b"), 1); /* not the tensor b:0 */
	assert_int_equal(input("b:0"), 0);
	assert_int_equal(input("a:0"), 1);
	assert_int_equal(input("in/c:1"), 3);
}

static void aliases_of_one_tensor_are_one_input(void **state)
{
	(void)state;
	assert_int_equal(input("twin"), 0);
}

static void outputs_remember_the_spelling(void **state)
{
	static const struct {
		const char *name;
		size_t index;
		sp_spelling spelling;
	} cases[] = {
		{"y", 0, SP_SPELLING_ALIAS},
		{"z", 1, SP_SPELLING_ALIAS},
		{"out/y:0", 0, SP_SPELLING_TENSOR},
		{"out/y", 0, SP_SPELLING_NODE},
	};
	sp_spelling spelling;
	size_t index;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(sp_endpoint_find_output(&endpoint, sp_bytes_of(cases[i].name), &index,
						  &spelling, &err),
			  &err);
		assert_int_equal(index, cases[i].index);
		assert_int_equal(spelling, cases[i].spelling);
	}
}

static void an_unknown_name_is_refused_with_the_known_ones(void **state)
{
	sp_spelling spelling;
	size_t index;
	sp_error err;

	(void)state;
	assert_int_equal(sp_endpoint_find_input(&endpoint, sp_bytes_of("in/c"), &index, &err),
			 SP_INVALID);
	assert_non_null(strstr(err.text, "signature 'serving_default' has no input 'in/c'; it has "
					 "'a', 'b', 'twin'"));
	assert_int_equal(
		sp_endpoint_find_output(&endpoint, (sp_bytes){NULL, 0}, &index, &spelling, &err),
		SP_INVALID);
	assert_string_equal(err.text,
			    "signature 'serving_default' has no output ''; it has 'y', 'z'");
}

static void json_as_deeprec_writes_it(void **state)
{
	(void)state;
	assert_string_equal(
		endpoint.json,
		"{\"signature_name\": \"serving_default\","
		"\"inputs\": [{\"name\": \"a\",\"shape\": [-1, 3],\"type\": \"DT_FLOAT\"},"
		"{\"name\": \"b\",\"shape\": [-1],\"type\": \"DT_INT64\"},"
		"{\"name\": \"twin\",\"shape\": [],\"type\": \"DT_FLOAT\"},"
		"{\"name\": \"quo\\\"te\\\\\\n\",\"shape\": [],\"type\": \"\"}],"
		"\"outputs\": [{\"name\": \"y\",\"shape\": [2, -1, 4],\"type\": \"DT_STRING\"},"
		"{\"name\": \"z\",\"shape\": [],\"type\": \"DT_BOOL\"}]}");
}

static void json_of_another_method_is_empty(void **state)
{
	sp_signature classify = signature;
	sp_endpoint other;
	sp_error err;

	(void)state;
	classify.method = "tensorflow/serving/classify";
	assert_ok(sp_endpoint_init(&other, &classify, 0, arena, &err), &err);
	assert_string_equal(other.json, "");
}

static void a_signature_without_tensors_is_fine(void **state)
{
	sp_signature bare = {.name = "n", .method = ""};
	sp_endpoint other;
	size_t index;
	sp_error err;

	(void)state;
	assert_ok(sp_endpoint_init(&other, &bare, 0, arena, &err), &err);
	assert_int_equal(sp_endpoint_find_input(&other, sp_bytes_of("x"), &index, &err),
			 SP_INVALID);
	assert_string_equal(err.text, "signature 'n' has no input 'x'; it has none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_alias_goes_before_a_tensor_name),
		cmocka_unit_test(aliases_of_one_tensor_are_one_input),
		cmocka_unit_test(outputs_remember_the_spelling),
		cmocka_unit_test(an_unknown_name_is_refused_with_the_known_ones),
		cmocka_unit_test(json_as_deeprec_writes_it),
		cmocka_unit_test(json_of_another_method_is_empty),
		cmocka_unit_test(a_signature_without_tensors_is_fine),
	};

	return cmocka_run_group_tests_name("endpoint", tests, make_endpoint, free_endpoint);
}
