/* Names of operators in a file, their opcodes, and what no file can name. */
#include "tests/support/cmocka.h"

#include "engine/graph/op.h"
#include "engine/graph/rewrite.h"

static void an_operator_is_found_by_the_name_that_a_file_has(void **state)
{
	static const sp_opcode all[] = {
#define SP_OP(name) SP_OPCODE_##name,
#include "engine/ops/ops.inc"
#undef SP_OP
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(sp_opcode_find(sp_op_of(all[i])->name), all[i]);
}

static void no_file_can_name_an_internal_operator(void **state)
{
	static const struct {
		sp_opcode opcode;
		const char *name;
	} internal[] = {
#define SP_OP(name)
#define SP_OP_INTERNAL(name) {SP_OPCODE_##name, #name},
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_INTERNAL
	};

	(void)state;
	for (size_t i = 0; i < sizeof(internal) / sizeof(internal[0]); i++) {
		assert_non_null(sp_op_of(internal[i].opcode));
		assert_int_equal(sp_opcode_find(internal[i].name), SP_OPCODE_NONE);
		assert_int_equal(sp_opcode_find(sp_op_of(internal[i].opcode)->name),
				 SP_OPCODE_NONE);
	}
}

static void an_operator_that_is_rewritten_has_an_opcode_and_no_kernel(void **state)
{
	(void)state;
	assert_int_equal(sp_opcode_find("Assign"), SP_OPCODE_Assign);
	assert_int_equal(sp_opcode_find("VariableV2"), SP_OPCODE_VariableV2);
	assert_null(sp_op_of(SP_OPCODE_VariableV2));
	assert_null(sp_op_find("VariableV2"));
}

static void unknown_names_have_no_opcode(void **state)
{
	(void)state;
	assert_int_equal(sp_opcode_find(""), SP_OPCODE_NONE);
	assert_int_equal(sp_opcode_find("A"), SP_OPCODE_NONE);
	assert_int_equal(sp_opcode_find("MatMulV9"), SP_OPCODE_NONE);
	assert_int_equal(sp_opcode_find("~"), SP_OPCODE_NONE);
	assert_null(sp_op_of(SP_OPCODE_NONE));
}

/* A pass that adds many nodes for one does not outgrow its list. */
static void a_rewritten_list_grows(void **state)
{
	enum { ADDED = 1000 };
	sp_node first = {.name = "first"};
	sp_graph graph = {.arena = sp_arena_create(1 << 10), .nodes = &first, .node_count = 1};
	sp_rewrite rw;
	sp_error err;
	uint32_t at;

	(void)state;
	assert_non_null(graph.arena);
	sp_map_init(&graph.names, graph.arena);
	assert_int_equal(sp_map_put(&graph.names, sp_bytes_of("first"), 0), SP_MAP_ADDED);
	assert_ok(sp_rewrite_begin(&rw, &graph, &err), &err);
	for (int i = 0; i < ADDED; i++)
		assert_ok(sp_rewrite_add_int32(&rw, &first, i, &at), &err);
	assert_int_equal(at, ADDED - 1);
	assert_ok(sp_rewrite_move(&rw, 0), &err);
	sp_rewrite_finish(&rw);
	assert_int_equal(graph.node_count, ADDED + 1);
	assert_int_equal(graph.nodes[7].opcode, SP_OPCODE_Const);
	assert_string_equal(graph.nodes[ADDED].name, "first");
	assert_int_equal(graph.names.entries[0].value, ADDED);
	sp_arena_destroy(graph.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operator_is_found_by_the_name_that_a_file_has),
		cmocka_unit_test(no_file_can_name_an_internal_operator),
		cmocka_unit_test(an_operator_that_is_rewritten_has_an_opcode_and_no_kernel),
		cmocka_unit_test(unknown_names_have_no_opcode),
		cmocka_unit_test(a_rewritten_list_grows),
	};

	return cmocka_run_group_tests_name("opcode", tests, NULL, NULL);
}
