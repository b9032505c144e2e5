#include <stdlib.h>
#include <string.h>

#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "engine/stablehlo/translate.h"
#include "tests/support/fuzz.h"

/*
 * A StableHLO module as a model file brings it: read, translated, and its functions
 * inlined, with as many inputs as it takes.
 */
enum { MAX_INPUTS = 12 };

static const char *const names[MAX_INPUTS] = {"x", "x", "x", "x", "x", "x",
					      "x", "x", "x", "x", "x", "x"};

static void import(const sp_node_def *module, sp_arena *arena)
{
	const char *roots[] = {"module", "module:0"};
	sp_attr dtype = {.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_FLOAT};
	sp_node_def nodes[] = {{.name = "x", .op = "Placeholder", .attrs = &dtype, .attr_count = 1},
			       *module};
	sp_graph_def def = {.nodes = nodes, .node_count = 2};
	sp_import_roots wanted = {roots, 2};
	sp_graph graph;
	sp_error err;

	if (sp_graph_import(&graph, &def, &wanted, arena, &err) == SP_OK &&
	    sp_graph_lower(&graph, &err) != SP_OK)
		return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_attr attr = {
		.name = "module", .kind = SP_ATTR_BYTES, .bytes = {(const char *)data, size}};
	sp_node_def node = {.name = "module",
			    .op = "XlaCallModule",
			    .inputs = names,
			    .attrs = &attr,
			    .attr_count = 1};
	sp_status status = SP_INVALID;

	/* Another number of inputs than it takes is the only thing that is invalid. */
	for (; status == SP_INVALID && node.input_count <= MAX_INPUTS; node.input_count++) {
		sp_arena *arena = sp_arena_create(4096), *scratch = sp_arena_create(4096);
		sp_translation functions;
		sp_error err;

		if (arena == NULL || scratch == NULL)
			abort();
		status = sp_stablehlo_translate(&functions, &node, "m", arena, scratch, &err);
		if (status == SP_OK)
			import(&node, arena);
		sp_arena_destroy(scratch);
		sp_arena_destroy(arena);
	}
	return 0;
}
