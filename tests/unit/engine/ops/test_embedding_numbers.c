#include "tests/support/cmocka.h"

#include <string.h>

#include "storage/table/table_builder.h"
#include "tests/support/embedding_graph.h"

/*
 * Operators that tell how often training has seen keys, and when last; what they must answer is
 * stated here, from DeepRec's rules (storage/table/table.h).
 */
static sp_embedding_graph g;

static int set_up(void **state)
{
	(void)state;
	sp_embedding_graph_init(&g);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_embedding_graph_fini(&g);
	return 0;
}

static void restart(void)
{
	sp_embedding_graph_fini(&g);
	sp_embedding_graph_init(&g);
}

static sp_status feed_numbers(void *context, sp_key_column_take *take, void *to, sp_error *err)
{
	static const int64_t keys[] = {10, 20, 40}, numbers[] = {5, INT64_C(5000000000), 0};

	(void)context;
	return take(to, keys, numbers, 3, err);
}

/* The table has numbers of keys 10 and 20, and of 40, which it does not hold. */
static void load_numbers(sp_table_column which)
{
	const sp_key_column_options options = {.absent = which == SP_TABLE_VERSIONS ? -1 : 0,
					       .feed = feed_numbers};
	sp_key_column *column;

	sp_embedding_graph_load(&g, SP_TABLE_FILTER_COUNTER);
	assert_ok(sp_key_column_create(&column, &options, &g.graph.err), &g.graph.err);
	sp_table_set_column(g.table, which, column);
	sp_key_column_release(column);
}

static const struct {
	const char *op;
	sp_table_column column;
	int64_t absent;
} number_ops[] = {
	{"EVGetFrequency", SP_TABLE_FREQUENCIES, 0},
	{"EVGetVersion", SP_TABLE_VERSIONS, -1},
};

static void numbers_are_a_vector_whatever_the_shape_of_ids(void **state)
{
	static const int64_t ids[] = {10, 30, 20, 40, 41, -1};
	const sp_attr attrs[] = {sp_type_attr("Tvalues", SP_FLOAT),
				 sp_type_attr("Tkeys", SP_INT64)};
	const sp_shape shapes[] = {sp_shape_vector(6), sp_shape_matrix(2, 3), sp_shape_vector(0)};

	(void)state;
	for (size_t o = 0; o < 2; o++)
		for (size_t s = 0; s < 3; s++) {
			const int64_t want[] = {5, number_ops[o].absent, INT64_C(5000000000),
						0, number_ops[o].absent, number_ops[o].absent};
			const sp_embedding_input inputs[] = {{"emb", {0}},
							     {"ids", sp_feed_ids(shapes[s], ids)}};
			const sp_tensor *out;

			assert_ok(
				sp_embedding_graph_build(&g, number_ops[o].op, attrs, 2, inputs, 2),
				&g.graph.err);
			assert_int_equal(g.graph.resources.items[0].columns,
					 1u << number_ops[o].column);
			assert_int_equal(g.graph.resources.columns, 0);
			load_numbers(number_ops[o].column);
			assert_ok(sp_embedding_graph_run(&g, inputs, 2, &out), &g.graph.err);
			assert_int_equal(out->dtype, SP_INT64);
			assert_int_equal(out->shape.rank, 1);
			assert_int_equal(out->count, s == 2 ? 0 : 6);
			assert_memory_equal(out->data, want, out->count * sizeof(want[0]));
			restart();
		}
}

static void numbers_of_int32_keys(void **state)
{
	static const int32_t ids[] = {20, -7};
	static const int64_t want[] = {INT64_C(5000000000), 0};
	const sp_embedding_input inputs[] = {{"emb", {0}},
					     {"ids", sp_feed_ids32(sp_shape_vector(2), ids)}};
	const sp_tensor *out;

	(void)state;
	g.key_dtype = SP_INT32;
	assert_ok(sp_embedding_graph_build(&g, "EVGetFrequency", NULL, 0, inputs, 2), &g.graph.err);
	load_numbers(SP_TABLE_FREQUENCIES);
	assert_ok(sp_embedding_graph_run(&g, inputs, 2, &out), &g.graph.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void numbers_that_a_table_lacks_are_refused(void **state)
{
	static const int64_t ids[] = {10};
	const sp_embedding_input inputs[] = {{"emb", {0}},
					     {"ids", sp_feed_ids(sp_shape_vector(1), ids)}};
	const sp_tensor *out;

	(void)state;
	assert_ok(sp_embedding_graph_build(&g, "EVGetVersion", NULL, 0, inputs, 2), &g.graph.err);
	load_numbers(SP_TABLE_FREQUENCIES);
	assert_int_equal(sp_embedding_graph_run(&g, inputs, 2, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(g.graph.err.text, "versions"));
	assert_non_null(strstr(g.graph.err.text, "user_emb"));
}

static void numbers_of_other_keys_and_values_are_refused(void **state)
{
	static const float half[] = {0.5f};
	static const int64_t ids[] = {10};
	const sp_attr doubles[] = {sp_type_attr("Tvalues", SP_DOUBLE)};
	const sp_embedding_input by_float[] = {{"emb", {0}},
					       {"ids", sp_feed_floats(sp_shape_vector(1), half)}};
	const sp_embedding_input by_id[] = {{"emb", {0}},
					    {"ids", sp_feed_ids(sp_shape_vector(1), ids)}};
	const sp_embedding_input alone[] = {{"emb", {0}}};

	(void)state;
	assert_int_not_equal(sp_embedding_graph_build(&g, "EVGetFrequency", NULL, 0, by_float, 2),
			     SP_OK);
	restart();
	assert_int_not_equal(sp_embedding_graph_build(&g, "EVGetVersion", doubles, 1, by_id, 2),
			     SP_OK);
	restart();
	assert_int_not_equal(sp_embedding_graph_build(&g, "EVGetVersion", NULL, 0, alone, 1),
			     SP_OK);
}

/* A version's list of resources says what was asked, of all embeddings where nobody knows which. */
static void what_is_asked_for_is_known_to_every_version(void **state)
{
	const sp_partial_shape shape = {.rank = 1, .dims = {3}};
	sp_resources of_version;
	uint64_t index[3];
	sp_tensor handle_of = {.dtype = SP_RESOURCE, .count = 1, .data = &index[1]};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_ok(sp_resources_declare(&g.graph.resources,
					       i < 2 ? SP_RESOURCE_EMBEDDING : SP_RESOURCE_VARIABLE,
					       sp_bytes_of(""), i == 1 ? "b" : "a", SP_FLOAT,
					       SP_INT64, &shape, &index[i], &g.graph.err),
			  &g.graph.err);
	assert_ok(sp_resources_ask_column(&g.graph.resources, &handle_of, 1, &g.graph.err),
		  &g.graph.err);
	assert_ok(sp_resources_ask_column(&g.graph.resources, NULL, 0, &g.graph.err), &g.graph.err);
	assert_ok(
		sp_resources_init_as(&of_version, &g.graph.resources, g.graph.arena, &g.graph.err),
		&g.graph.err);
	assert_int_equal(of_version.items[0].columns, 1);
	assert_int_equal(of_version.items[1].columns, 3);
	assert_int_equal(of_version.items[2].columns, 0);
	handle_of.data = &index[2];
	assert_int_equal(sp_resources_ask_column(&g.graph.resources, &handle_of, 1, &g.graph.err),
			 SP_INVALID);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_a_vector_whatever_the_shape_of_ids),
		TEST(numbers_of_int32_keys),
		TEST(numbers_that_a_table_lacks_are_refused),
		TEST(numbers_of_other_keys_and_values_are_refused),
		TEST(what_is_asked_for_is_known_to_every_version),
	};

	return cmocka_run_group_tests_name("numbers of embeddings", tests, NULL, NULL);
}
