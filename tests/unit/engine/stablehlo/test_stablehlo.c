#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "engine/import/import.h"
#include "engine/stablehlo/bytecode.h"
#include "engine/stablehlo/translate.h"
#include "tests/support/paths.h"

/*
 * Modules as JAX wrote them (scripts/golden/make_jax.py), cut off and written by hand.  What they
 * answer is tested by the golden models.
 */

static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(64 << 10);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

/* A copy of its own size, so that a memory checker sees its ends. */
static sp_bytes load(const char *name)
{
	char relative[200], path[SP_PATH_SIZE];
	sp_bytes bytes;
	char *data;

	snprintf(relative, sizeof(relative), "tests/fuzz/corpus/stablehlo/%s", name);
	assert_ok(sp_file_read(&data, &bytes.size, sp_source_path(path, relative), 1 << 20, &err),
		  &err);
	bytes.data = data;
	return bytes;
}

/* ---------------------------------------------------------------- numbers */

static bool number(const void *bytes, size_t size, uint64_t *out, size_t *used)
{
	sp_mlir_cursor cursor = {bytes, (const uint8_t *)bytes + size};
	bool good = sp_mlir_read_number(&cursor, out);

	*used = (size_t)(cursor.at - (const uint8_t *)bytes);
	return good;
}

/* The forms that "MLIR Bytecode Format" lists. */
static void reads_numbers(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint64_t value;
	} cases[] = {
		{"\x01", 1, 0},
		{"\xff", 1, 127},
		{"\x02\x02", 2, 128},
		{"\xfe\xff", 2, 16383},
		{"\x04\x00\x02", 3, 16384},
		{"\x80\x00\x00\x00\x00\x00\x00\x80", 8, 0x80000000000000},
		{"\x00\xff\xff\xff\xff\xff\xff\xff\xff", 9, UINT64_MAX},
	};
	uint64_t value;
	size_t used;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(number(cases[i].bytes, cases[i].size, &value, &used));
		assert_int_equal(value, cases[i].value);
		assert_int_equal(used, cases[i].size);
		assert_false(number(cases[i].bytes, cases[i].size - 1, &value, &used));
	}
}

static void reads_signed_numbers(void **state)
{
	static const uint8_t bytes[] = {0x01, 0x03, 0x05, 0x07};
	static const int64_t values[] = {0, -1, 1, -2};
	sp_mlir_cursor cursor = {bytes, bytes + sizeof(bytes)};
	int64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_true(sp_mlir_read_signed(&cursor, &value));
		assert_int_equal(value, values[i]);
	}
	assert_false(sp_mlir_read_signed(&cursor, &value));
}

/* ---------------------------------------------------------- JAX's modules */

/* The functions of jax-layers and what its first one does, as JAX prints it. */
static void reads_what_jax_writes(void **state)
{
	static const char *const ops[] = {"vhlo.get_dimension_size_v1",
					  "vhlo.constant_v1",
					  "vhlo.compare_v1",
					  "vhlo.custom_call_v1",
					  "vhlo.constant_v1",
					  "vhlo.call_v1",
					  "vhlo.return_v1"};
	sp_bytes bytes = load("jax-layers");
	const sp_mlir_region *functions, *first;
	sp_mlir_module module;

	(void)state;
	assert_ok(sp_mlir_read(&module, bytes, arena, &err), &err);
	assert_true(sp_bytes_equal_text(module.producer, "StableHLO_v0.9.0"));
	assert_int_equal(module.body.op_count, 1);
	assert_string_equal(module.body.ops[0].name, "builtin.module");
	functions = &module.body.ops[0].regions[0];
	assert_int_equal(functions->op_count, 4);
	first = &functions->ops[0].regions[0];
	assert_int_equal(first->argument_count, 7);
	assert_int_equal(first->op_count, sizeof(ops) / sizeof(ops[0]));
	for (size_t i = 0; i < first->op_count; i++)
		assert_string_equal(first->ops[i].name, ops[i]);
	/* The call reads the dimension and all arguments. */
	assert_int_equal(first->ops[5].operand_count, 8);
	assert_int_equal(first->ops[5].operands[0], first->ops[0].first_result);
	assert_int_equal(first->ops[5].operands[7], first->first_argument + 6);
	free((char *)bytes.data);
}

static void refuses_what_is_cut_off(void **state)
{
	sp_bytes bytes = load("jax-layers");
	sp_mlir_module module;

	(void)state;
	for (size_t size = 0; size < bytes.size; size++) {
		char *cut = malloc(size != 0 ? size : 1);

		assert_non_null(cut);
		memcpy(cut, bytes.data, size);
		assert_int_not_equal(sp_mlir_read(&module, (sp_bytes){cut, size}, arena, &err),
				     SP_OK);
		free(cut);
	}
	free((char *)bytes.data);
}

/* --------------------------------------------------------- written by hand */

typedef struct file {
	char bytes[2000];
	size_t size;
} file;

static void put(file *to, const void *bytes, size_t size)
{
	assert_true(to->size + size <= sizeof(to->bytes));
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

/* Numbers of two bytes at most. */
static void put_number(file *to, size_t value)
{
	uint8_t bytes[] = {(uint8_t)(value << 2 | 2), (uint8_t)(value >> 6)};

	assert_true(value < 1 << 14);
	put(to, bytes, 2);
}

static void put_section(file *to, char id, const file *content)
{
	put(to, &id, 1);
	put_number(to, content->size);
	put(to, content->bytes, content->size);
}

static void put_numbers(file *to, const size_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_number(to, numbers[i]);
}

#define PUT_NUMBERS(to, ...)                           \
	put_numbers(to, (const size_t[]){__VA_ARGS__}, \
		    sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

/* All but the operations: dialect "d" with operation "x", one attribute and one type. */
static void put_head(file *to)
{
	file section = {.size = 0};

	put(to, "ML\xefR", 4);
	put_number(to, 0);
	put(to, "", 1);
	PUT_NUMBERS(&section, 2, 2, 2);
	put(&section, "d\0x", 4);
	put_section(to, 0, &section);
	section.size = 0;
	PUT_NUMBERS(&section, 1, 0, 0, 1, 1);
	put_section(to, 1, &section);
	section.size = 0;
	put_section(to, 2, &section);
	/* An attribute and a type of no bytes. */
	PUT_NUMBERS(&section, 1, 1, 0, 2, 1, 1);
	put_section(to, 3, &section);
}

static sp_status read(const file *ops, sp_mlir_module *module)
{
	file whole = {.size = 0};

	put_head(&whole);
	put_section(&whole, 4, ops);
	return sp_mlir_read(module, (sp_bytes){whole.bytes, whole.size}, arena, &err);
}

/* An operation: its name, what it has, its location. */
static void put_op(file *to, char has)
{
	put_number(to, 0);
	put(to, &has, 1);
	put_number(to, 0);
}

enum { RESULTS = 2, OPERANDS = 4, SUCCESSORS = 8, REGIONS = 16 };

/* `depth` regions in one another, and in the innermost `x() -> v; x(operand)`. */
static void put_nested(file *to, int depth, size_t operand)
{
	if (depth == 0) {
		PUT_NUMBERS(to, 1, 1, 2 << 1);
		put_op(to, RESULTS);
		PUT_NUMBERS(to, 1, 0);
		put_op(to, OPERANDS);
		PUT_NUMBERS(to, 1, operand);
		return;
	}
	PUT_NUMBERS(to, 1, 0, 1 << 1);
	put_op(to, REGIONS);
	put_number(to, 1 << 1);
	put_nested(to, depth - 1, operand);
}

static sp_status read_nested(int depth, size_t operand)
{
	file ops = {.size = 0};
	sp_mlir_module module;

	put_number(&ops, 1 << 1);
	put_op(&ops, REGIONS);
	put_number(&ops, 1 << 1);
	put_nested(&ops, depth - 1, operand);
	return read(&ops, &module);
}

static void refuses_values_that_are_not_there(void **state)
{
	(void)state;
	assert_ok(read_nested(1, 0), &err);
	assert_int_equal(read_nested(1, 1), SP_CORRUPT);
	assert_int_equal(read_nested(1, 8000), SP_CORRUPT);
}

static void refuses_deep_nesting(void **state)
{
	(void)state;
	assert_ok(read_nested(SP_MLIR_MAX_DEPTH, 0), &err);
	assert_int_equal(read_nested(SP_MLIR_MAX_DEPTH + 1, 0), SP_UNSUPPORTED);
}

/* As many as are allowed lack their bytes only; one more is not asked for. */
static void refuses_many_regions(void **state)
{
	static char bytes[2 * (SP_MLIR_MAX_REGIONS + 1)];

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		file ops = {.size = 0}, whole = {.size = 0};
		uint32_t flagged = (uint32_t)(SP_MLIR_MAX_REGIONS + more) << 1;
		uint8_t count[] = {(uint8_t)(flagged << 3 | 4), (uint8_t)(flagged >> 5),
				   (uint8_t)(flagged >> 13)};
		sp_mlir_module module;
		size_t size;
		char *all;

		put_number(&ops, 1 << 1);
		put_op(&ops, REGIONS);
		put(&ops, count, sizeof(count));
		put_head(&whole);
		put(&whole, "\x04", 1);
		put_number(&whole, ops.size + sizeof(bytes));
		put(&whole, ops.bytes, ops.size);
		size = whole.size + sizeof(bytes);
		all = malloc(size);
		assert_non_null(all);
		memcpy(all, whole.bytes, whole.size);
		memcpy(all + whole.size, bytes, sizeof(bytes));
		assert_int_equal(sp_mlir_read(&module, (sp_bytes){all, size}, arena, &err),
				 more == 0 ? SP_CORRUPT : SP_UNSUPPORTED);
		free(all);
	}
}

/* An operation that reads its own result, and more values than the region has. */
static void refuses_cycles(void **state)
{
	file ops = {.size = 0};
	sp_mlir_module module;

	(void)state;
	put_number(&ops, 1 << 1);
	put_op(&ops, REGIONS);
	put_number(&ops, 1 << 1);
	PUT_NUMBERS(&ops, 1, 1, 1 << 1);
	put_op(&ops, RESULTS | OPERANDS);
	PUT_NUMBERS(&ops, 1, 0, 1, 0);
	assert_int_equal(read(&ops, &module), SP_CORRUPT);
	ops.size = 0;
	put_number(&ops, 1 << 1);
	put_op(&ops, REGIONS);
	put_number(&ops, 1 << 1);
	PUT_NUMBERS(&ops, 1, 1, 1 << 1);
	put_op(&ops, RESULTS);
	PUT_NUMBERS(&ops, 2, 0, 0);
	assert_int_equal(read(&ops, &module), SP_CORRUPT);
}

static void refuses_blocks_and_jumps(void **state)
{
	file ops = {.size = 0};
	sp_mlir_module module;

	(void)state;
	put_number(&ops, 1 << 1);
	put_op(&ops, REGIONS);
	PUT_NUMBERS(&ops, 1 << 1, 2, 0, 0, 0);
	assert_int_equal(read(&ops, &module), SP_UNSUPPORTED);
	ops.size = 0;
	put_number(&ops, 1 << 1);
	put_op(&ops, SUCCESSORS);
	put_number(&ops, 0);
	assert_int_equal(read(&ops, &module), SP_UNSUPPORTED);
}

static void refuses_counts_without_bytes(void **state)
{
	file ops = {.size = 0};
	sp_mlir_module module;

	(void)state;
	put_number(&ops, 5 << 1);
	assert_int_equal(read(&ops, &module), SP_CORRUPT);
	ops.size = 0;
	put_number(&ops, 1 << 1);
	put_op(&ops, OPERANDS);
	put_number(&ops, 5000);
	assert_int_equal(read(&ops, &module), SP_CORRUPT);
}

static void refuses_unknown_versions(void **state)
{
	file whole = {.size = 0};
	sp_mlir_module module;

	(void)state;
	put(&whole, "ML\xefR", 4);
	put_number(&whole, 7);
	put(&whole, "", 1);
	assert_int_equal(sp_mlir_read(&module, (sp_bytes){whole.bytes, whole.size}, arena, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "version 7"));
}

/* ------------------------------------------------------------- translation */

static sp_status translate(sp_bytes module, size_t inputs, const char *const *platforms,
			   size_t platform_count)
{
	static const char *const names[] = {"x", "x", "x", "x", "x", "x", "x", "x"};
	sp_bytes texts[2];
	sp_attr attrs[] = {{.name = "module", .kind = SP_ATTR_BYTES, .bytes = module},
			   {.name = "platforms",
			    .kind = SP_ATTR_LIST,
			    .element = SP_ATTR_BYTES,
			    .count = platform_count,
			    .bytes_list = texts}};
	sp_node_def node = {.name = "module",
			    .op = "XlaCallModule",
			    .inputs = names,
			    .input_count = inputs,
			    .attrs = attrs,
			    .attr_count = 2};
	sp_translation functions;

	for (size_t i = 0; i < platform_count; i++)
		texts[i] = sp_bytes_of(platforms[i]);
	return sp_stablehlo_translate(&functions, &node, "m", arena, arena, &err);
}

static void checks_how_it_is_called(void **state)
{
	sp_bytes bytes = load("jax-layers");

	(void)state;
	assert_ok(translate(bytes, 7, (const char *const[]){"CPU"}, 1), &err);
	assert_ok(translate(bytes, 7, NULL, 0), &err);
	assert_int_equal(translate(bytes, 6, NULL, 0), SP_INVALID);
	assert_int_equal(translate(bytes, 7, (const char *const[]){"TPU"}, 1), SP_UNSUPPORTED);
	free((char *)bytes.data);
}

/* An operation is refused by its name: here "add_v1" is one letter another. */
static void names_what_it_lacks(void **state)
{
	sp_bytes bytes = load("jax-layers");
	char *at = memmem(bytes.data, bytes.size, "add_v1", sizeof("add_v1"));

	(void)state;
	assert_non_null(at);
	at[0] = 'b';
	assert_int_equal(translate(bytes, 7, NULL, 0), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "vhlo.bdd_v1"));
	at[0] = 'a';
	at[5] = '9';
	assert_int_equal(translate(bytes, 7, NULL, 0), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "vhlo.add_v9"));
	free((char *)bytes.data);
}

/* Two nodes with one module and a third with a broken one: the graph has the reason at its node. */
static void a_refused_module_is_a_node_with_the_reason(void **state)
{
	static const char *const inputs[] = {"x", "x", "x", "x", "x", "x", "x"};
	const char *roots[] = {"good", "broken"};
	sp_bytes good = load("jax-layers"), broken = load("jax-layers");
	char *at = memmem(broken.data, broken.size, "add_v1", sizeof("add_v1"));
	sp_attr dtype = {.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_FLOAT};
	sp_attr modules[] = {{.name = "module", .kind = SP_ATTR_BYTES, .bytes = good},
			     {.name = "module", .kind = SP_ATTR_BYTES, .bytes = broken}};
	sp_node_def nodes[] = {{.name = "x", .op = "Placeholder", .attrs = &dtype, .attr_count = 1},
			       {.name = "good",
				.op = "XlaCallModule",
				.inputs = inputs,
				.input_count = 7,
				.attrs = &modules[0],
				.attr_count = 1},
			       {.name = "broken",
				.op = "XlaCallModule",
				.inputs = inputs,
				.input_count = 7,
				.attrs = &modules[1],
				.attr_count = 1}};
	sp_graph_def def = {.nodes = nodes, .node_count = 3};
	sp_import_roots wanted = {roots, 2};
	const sp_node *last;
	sp_graph graph;

	(void)state;
	assert_non_null(at);
	at[0] = 'b';
	assert_ok(sp_graph_import(&graph, &def, &wanted, arena, &err), &err);
	last = &graph.nodes[graph.node_count - 1];
	assert_string_equal(last->name, "broken");
	assert_string_equal(last->op_name, "XlaCallModule");
	assert_non_null(strstr(last->refused, "vhlo.bdd_v1"));
	for (size_t i = 0; i + 1 < graph.node_count; i++) {
		assert_null(graph.nodes[i].refused);
		assert_non_null(graph.nodes[i].op);
	}
	free((char *)good.data);
	free((char *)broken.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reads_signed_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reads_what_jax_writes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_cut_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_values_that_are_not_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(refuses_deep_nesting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_many_regions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_cycles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_blocks_and_jumps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_counts_without_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_unknown_versions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(checks_how_it_is_called, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_what_it_lacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refused_module_is_a_node_with_the_reason, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
