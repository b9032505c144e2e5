/* In which order TensorFlow's optimizer has the nodes. */
#include "tests/support/cmocka.h"

#include "engine/first_come.h"
#include "tests/support/imported_graph.h"

static void assert_order(const char *const *expected, size_t count)
{
	uint32_t *order = sp_graph_first_come(&sp_imported, sp_imported_arena);

	assert_non_null(order);
	assert_int_equal(sp_imported.node_count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(sp_imported.nodes[order[i]].name, expected[i]);
}

static void who_waits_for_nobody_is_first(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("first", "Relu"), INPUTS("x")},
		{NODE("second", "Relu"), INPUTS("first")},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("other", "Relu"), INPUTS("y")},
		{NODE("both", "AddV2"), INPUTS("x", "y")},
		{NODE("twice", "AddV2"), INPUTS("x", "x")},
		{NODE("end", "AddN"), INPUTS("second", "other", "both", "twice")},
	};
	static const char *const expected[] = {"x",     "y",    "first",  "twice",
					       "other", "both", "second", "end"};

	(void)state;
	sp_imported_take(nodes, COUNT(nodes));
	assert_order(expected, COUNT(expected));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(who_waits_for_nobody_is_first),
	};
	return cmocka_run_group_tests_name("first come", tests, NULL, NULL);
}
