#include "tests/support/imported_graph.h"

#include <string.h>

#include "engine/import/import.h"
#include "tests/support/cmocka.h"

sp_graph sp_imported;
sp_arena *sp_imported_arena;
sp_error sp_imported_err;

int sp_imported_set_up(void **state)
{
	(void)state;
	sp_imported_arena = sp_arena_create(64 << 10);
	return 0;
}

int sp_imported_tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(sp_imported_arena);
	return 0;
}

sp_status sp_imported_try(const sp_graph_def *def, const char *root)
{
	sp_import_roots roots = {&root, 1};

	return sp_graph_import(&sp_imported, def, &roots, sp_imported_arena, &sp_imported_err);
}

void sp_imported_take(const sp_node_def *nodes, size_t count)
{
	sp_graph_def def = {.nodes = nodes, .node_count = count};

	assert_ok(sp_imported_try(&def, "end"), &sp_imported_err);
}

const sp_node *sp_node_named(const char *name)
{
	for (size_t i = 0; i < sp_imported.node_count; i++)
		if (strcmp(sp_imported.nodes[i].name, name) == 0)
			return &sp_imported.nodes[i];
	return NULL;
}

uint32_t sp_number_of(const char *name)
{
	const sp_node *node = sp_node_named(name);

	if (node == NULL)
		fail_msg("there is no node '%s'", name);
	return (uint32_t)(node - sp_imported.nodes);
}

bool *sp_imported_none(void)
{
	return sp_arena_zeros(sp_imported_arena, sp_imported.node_count, sizeof(bool));
}

bool *sp_imported_placeholders(void)
{
	bool *out = sp_imported_none();

	for (size_t i = 0; i < sp_imported.node_count; i++)
		out[i] = strcmp(sp_imported.nodes[i].op_name, "Placeholder") == 0;
	return out;
}
