#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/version/example_features.h"
#include "tests/support/imported_graph.h"

/* Names of features, as constants of the graph. */
static sp_bytes texts[] = {{"b", 1}, {"a", 1}, {"ab", 2}, {"", 0}};
static const sp_tensor b = {.dtype = SP_STRING, .count = 1, .data = &texts[0]};
static const sp_tensor a_ab = {
	.dtype = SP_STRING, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = &texts[1]};
static const sp_tensor a = {.dtype = SP_STRING, .count = 1, .data = &texts[1]};
static const sp_tensor none = {.dtype = SP_STRING, .shape = {.rank = 1}};

#define TYPES(key, ...)                                                                            \
	{                                                                                          \
		.name = (key), .kind = SP_ATTR_LIST, .element = SP_ATTR_TYPE,                      \
		.count = COUNT(((const sp_dtype[]){__VA_ARGS__})), .type_list = (const sp_dtype[]) \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

#define NAMES(name, value)                                            \
	{                                                             \
		NODE(name, "Const"), ATTRS(TENSOR("value", &(value))) \
	}

#define RECORDS                                                            \
	{                                                                  \
		NODE("in", "Placeholder"), ATTRS(TYPE("dtype", SP_STRING)) \
	}

/* Takes "b", sparse, and "a" and "ab", dense, from `from`. */
#define PARSER(name, from)                                                         \
	{                                                                          \
		NODE(name, "ParseExampleV2"),                                      \
			INPUTS(from, "none", "b", "a_ab", "none", "none", "none"), \
			ATTRS(TYPES("sparse_types", SP_STRING),                    \
			      TYPES("Tdense", SP_FLOAT, SP_INT64))                 \
	}

/* What is found for the placeholder "in". */
static sp_example_features find(const sp_node_def *nodes, size_t count)
{
	sp_example_features found;
	sp_error err;

	sp_imported_take(nodes, count);
	assert_ok(sp_example_features_find(&found, &sp_imported, (sp_port){sp_number_of("in"), 0},
					   sp_imported_arena, &err),
		  &err);
	return found;
}

static void expect(const sp_example_features *found, size_t i, const char *name, sp_dtype dtype,
		   sp_feature_kind kind)
{
	assert_true(i < found->count);
	assert_true(sp_bytes_equal_text(found->items[i].name, name));
	assert_int_equal(found->items[i].dtype, dtype);
	assert_int_equal(found->items[i].kind, kind);
}

static void features_are_those_of_the_parser(void **state)
{
	const sp_node_def nodes[] = {
		RECORDS,
		NAMES("none", none),
		NAMES("b", b),
		NAMES("a_ab", a_ab),
		{NODE("id", "Identity"), INPUTS("in")},
		{NODE("flat", "Reshape"), INPUTS("id", "none")},
		{NODE("size", "Shape"), INPUTS("id")},
		PARSER("parser", "flat"),
		{NODE("end", "NoOp"), INPUTS("^parser", "^size")},
	};
	sp_example_features found = find(nodes, COUNT(nodes));

	(void)state;
	assert_int_equal(found.count, 3);
	expect(&found, 0, "a", SP_FLOAT, SP_FEATURE_DENSE);
	expect(&found, 1, "ab", SP_INT64, SP_FEATURE_DENSE);
	expect(&found, 2, "b", SP_STRING, SP_FEATURE_SPARSE);
}

static void the_first_form_of_the_operator_has_an_input_for_each_name(void **state)
{
	const sp_node_def nodes[] = {
		RECORDS,
		NAMES("none", none),
		NAMES("a", a),
		NAMES("b", b),
		{NODE("end", "ParseExample"), INPUTS("in", "none", "b", "a", "none"),
		 ATTRS(TYPES("sparse_types", SP_INT64), TYPES("Tdense", SP_FLOAT))},
	};
	sp_example_features found = find(nodes, COUNT(nodes));

	(void)state;
	assert_int_equal(found.count, 2);
	expect(&found, 0, "a", SP_FLOAT, SP_FEATURE_DENSE);
	expect(&found, 1, "b", SP_INT64, SP_FEATURE_SPARSE);
}

static void a_name_with_two_types_is_left_out(void **state)
{
	const sp_node_def nodes[] = {
		RECORDS,
		NAMES("none", none),
		NAMES("b", b),
		NAMES("a_ab", a_ab),
		PARSER("parser", "in"),
		{NODE("ragged", "ParseExampleV2"), INPUTS("in", "none", "none", "none", "a_ab"),
		 ATTRS(TYPES("ragged_value_types", SP_FLOAT, SP_STRING),
		       TYPES("ragged_split_types", SP_INT64, SP_INT64))},
		{NODE("end", "NoOp"), INPUTS("^parser", "^ragged")},
	};
	sp_example_features found = find(nodes, COUNT(nodes));

	(void)state;
	assert_int_equal(found.count, 2);
	assert_true(sp_bytes_equal_text(found.items[0].name, "a"));
	assert_int_equal(found.items[0].dtype, SP_FLOAT);
	expect(&found, 1, "b", SP_STRING, SP_FEATURE_SPARSE);
}

/* Beside the parser, `other` reads the records; names are no constants, or too few. */
static void nothing_is_known_where_something_else_reads_the_records(void **state)
{
	const sp_node_def others[] = {
		{NODE("other", "DecodeRaw"), INPUTS("in")},
		{NODE("other", "NoSuchOperator"), INPUTS("in")},
		{NODE("other", "DecodeRaw"), INPUTS("id")},
		{NODE("other", "Reshape"), INPUTS("none", "in")},
		{NODE("other", "ParseExampleV2"), INPUTS("none", "in", "none", "none", "none")},
		{NODE("other", "ParseExampleV2"), INPUTS("in", "none", "id", "none", "none")},
		{NODE("other", "ParseExampleV2"), INPUTS("in", "none", "b", "none", "none")},
		{NODE("other", "ParseExampleV2"), INPUTS("in", "none")},
		{NODE("other", "ParseExampleV2"), INPUTS("in", "none", "none", "b", "none"),
		 ATTRS(TYPES("Tdense", SP_DOUBLE))},
		{NODE("other", "ParseExample"), INPUTS("in", "none", "b"),
		 ATTRS(TYPES("sparse_types", SP_INT64), TYPES("Tdense", SP_FLOAT))},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		const sp_node_def nodes[] = {
			RECORDS,
			NAMES("none", none),
			NAMES("b", b),
			NAMES("a_ab", a_ab),
			{NODE("id", "Identity"), INPUTS("in")},
			PARSER("parser", "in"),
			others[i],
			{NODE("end", "NoOp"), INPUTS("^parser", "^other", "^id")},
		};

		assert_int_equal(find(nodes, COUNT(nodes)).count, 0);
	}
}

static void an_input_without_a_parser_has_none(void **state)
{
	const sp_node_def nodes[] = {RECORDS, {NODE("end", "Identity"), INPUTS("in")}};

	(void)state;
	assert_int_equal(find(nodes, COUNT(nodes)).count, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(features_are_those_of_the_parser),
		CASE(the_first_form_of_the_operator_has_an_input_for_each_name),
		CASE(a_name_with_two_types_is_left_out),
		CASE(nothing_is_known_where_something_else_reads_the_records),
		CASE(an_input_without_a_parser_has_none),
	};
#undef CASE

	return cmocka_run_group_tests_name("example_features", tests, NULL, NULL);
}
