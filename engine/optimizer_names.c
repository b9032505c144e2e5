#include "engine/optimizer_names.h"

#include <string.h>

#include "engine/op.h"

/* Regions that lie deeper keep the names they have. */
enum { MOST_DEPTH = 32 };

typedef sp_optimizer_names names;

/* ------------------------------------------------------------------ regions */

static const sp_node *owner_of(const names *n, uint32_t region)
{
	return &n->graph->nodes[n->owners[region]];
}

/* Of a graph from before functions. */
static bool is_frame(const sp_node *owner)
{
	return strcmp(owner->op_name, "LoopCond") == 0;
}

static bool is_loop(const sp_node *owner)
{
	return owner->op != NULL && strstr(owner->op->name, "While") != NULL;
}

/* The region that a function is, of those that a loop's frame makes. */
static uint32_t function_around(const names *n, uint32_t region)
{
	while (region != 0 && is_frame(owner_of(n, region)))
		region = n->graph->around[region];
	return region;
}

static const char *part_of(const sp_node *owner, uint32_t region)
{
	bool first = region == owner->first_region;

	if (is_loop(owner))
		return first ? "cond" : "body";
	return first ? "then" : "else";
}

/* -------------------------------------------------------------------- names */

static const char *own_name(const names *n, const sp_node *node, int depth)
{
	uint32_t region = function_around(n, node->region);
	const sp_node *owner;
	const char *around;
	size_t length;

	if (region == 0 || depth == MOST_DEPTH)
		return node->name;
	owner = owner_of(n, region);
	length = strlen(owner->name);
	if (strncmp(node->name, owner->name, length) != 0 || node->name[length] != '/')
		return node->name;
	around = own_name(n, owner, depth + 1);
	return around == NULL ? NULL
			      : sp_arena_printf(n->arena, "%s/%s/_0%s", around,
						part_of(owner, region), node->name + length);
}

/* The same place in a frame's row of Merge, Switch and Exit. */
static const char *of_row(const names *n, const char *merge, const char *op, const char *port)
{
	const char *slash = strrchr(merge, '/'), *base = slash != NULL ? slash + 1 : merge;

	if (strncmp(base, "Merge", strlen("Merge")) != 0)
		return merge;
	return sp_arena_printf(n->arena, "%.*s%s%s%s", (int)(base - merge), merge, op,
			       base + strlen("Merge"), port);
}

static const char *name_in(const names *n, const sp_node *reader, uint32_t region, sp_port port,
			   int depth);

static const char *name_of_variable(const names *n, uint32_t i, int depth)
{
	const sp_node *node = &n->graph->nodes[i], *owner = owner_of(n, node->region);
	const char *around, *first;
	size_t k = 0;

	if (is_frame(owner))
		return of_row(n, node->name, "Switch", ":1");
	if (depth == MOST_DEPTH || node->input_count == 0)
		return node->name;
	while (k < owner->input_count && owner->inputs[k].node != i)
		k++;
	around = own_name(n, owner, 0);
	first = name_in(n, owner, owner->region, (sp_port){node->inputs[0].node, 0}, depth + 1);
	return around == NULL || first == NULL
		       ? NULL
		       : sp_arena_printf(n->arena, "%s/%s_switch/_%04zu", around, first, k);
}

/* Of an output of a condition or a loop. */
static const char *name_of_result(const names *n, uint32_t i, uint32_t port)
{
	const sp_node *owner = &n->graph->nodes[i];
	const char *around = own_name(n, owner, 0);

	if (is_frame(owner) && port < owner->input_count)
		return of_row(n, n->graph->nodes[owner->inputs[port].node].name, "Exit", "");
	return around == NULL ? NULL
			      : sp_arena_printf(n->arena, "%s/%s/_%04u", around,
						is_loop(owner) ? "exit" : "output", port);
}

/* Whether the node came out of a function that one of the graph calls. */
static bool is_inlined(const names *n, const sp_node *node)
{
	const char *slash = strchr(node->name, '/');
	uint64_t call;

	return slash != NULL &&
	       sp_map_get(&n->graph->names, (sp_bytes){node->name, (size_t)(slash - node->name)},
			  &call) &&
	       strcmp(n->graph->nodes[call].op_name, "IdentityN") == 0;
}

/* In its own region. */
static const char *name_at_home(const names *n, const sp_node *reader, sp_port port, int depth)
{
	const sp_node *node = &n->graph->nodes[port.node];

	if (strcmp(node->op_name, "Placeholder") == 0 && is_inlined(n, reader) &&
	    !(depth == 0 && n->bypassed != NULL && n->bypassed[port.node]))
		return sp_arena_printf(n->arena, "Func/%.*s/input/_%08u",
				       (int)strcspn(reader->name, "/"), reader->name, port.node);

	if (node->region_count != 0)
		return name_of_result(n, port.node, port.port);
	if (node->region != 0 && strcmp(node->op_name, "_Argument") == 0)
		return name_of_variable(n, port.node, depth);
	if (port.port == 0)
		return port.node < n->count ? n->own[port.node] : node->name;
	return sp_arena_printf(n->arena, "%s:%u",
			       port.node < n->count ? n->own[port.node] : node->name, port.port);
}

/* Whether what comes from around a region has another name in it. */
static bool renames(const sp_node *owner, uint32_t region)
{
	return !is_loop(owner) || region == owner->first_region;
}

static const char *name_in(const names *n, const sp_node *reader, uint32_t region, sp_port port,
			   int depth)
{
	const sp_node *owner = owner_of(n, region);
	const char *outside, *around;

	if (region == n->graph->nodes[port.node].region || region == 0 || depth == MOST_DEPTH)
		return name_at_home(n, reader, port, depth);
	if (is_frame(owner) && renames(owner, region))
		return sp_arena_printf(n->arena, "%s/Enter", reader->name);
	outside = name_in(n, reader, n->graph->around[region], port, depth + 1);
	if (outside == NULL || !renames(owner, region))
		return outside;
	around = own_name(n, owner, 0);
	return around == NULL ? NULL
			      : sp_arena_printf(n->arena, "%s/%s%s/_0", around, outside,
						is_loop(owner) ? "_switch" : "");
}

const char *sp_optimizer_name_of(const sp_optimizer_names *n, const sp_node *reader, sp_port port)
{
	return name_in(n, reader, reader->region, port, 0);
}

const char *sp_optimizer_first_name_of(const sp_optimizer_names *n, const sp_node *reader, size_t k)
{
	uint32_t given = sp_node_given(reader, k);

	if (given == SP_NOT_GIVEN)
		return sp_optimizer_name_of(n, reader, reader->inputs[k]);
	return sp_arena_printf(n->arena, "Func/input/_%08u", given);
}

bool sp_optimizer_sees(const sp_optimizer_names *n, const sp_node *reader, sp_port port)
{
	return function_around(n, reader->region) ==
	       function_around(n, n->graph->nodes[port.node].region);
}

/* ------------------------------------------------------ what is left out */

/* The node of the whole graph that runs node i, which may be in a region. */
static uint32_t runner_of(const names *n, uint32_t i)
{
	while (n->graph->nodes[i].region != 0)
		i = n->owners[n->graph->nodes[i].region];
	return i;
}

/* Some of those that read a node; how many is only of interest up to three. */
typedef struct readers {
	uint32_t count, some[2];
} readers;

static void add_reader(readers *of, uint32_t reader)
{
	for (uint32_t k = 0; k < of->count && k < 2; k++)
		if (of->some[k] == reader)
			return;
	if (of->count < 2)
		of->some[of->count] = reader;
	of->count++;
}

sp_status sp_optimizer_names_bypass(sp_optimizer_names *n, const bool *live)
{
	bool *bypassed = sp_arena_zeros(n->arena, n->count, sizeof(*bypassed)), waits = false;
	readers *all = sp_arena_zeros(n->arena, n->count, sizeof(*all));

	if (bypassed == NULL || all == NULL)
		return SP_NO_MEMORY;
	for (uint32_t i = 0; i < n->count; i++) {
		const sp_node *node = &n->graph->nodes[i];

		waits |= live[i] && strcmp(node->op_name, "VarHandleOp") == 0;
		for (size_t k = 0; k < node->input_count && live[i]; k++)
			add_reader(&all[node->inputs[k].node], runner_of(n, i));
	}
	for (uint32_t i = 0; i < n->count; i++)
		bypassed[i] = !waits || all[i].count <= 2;
	n->bypassed = bypassed;
	return SP_OK;
}

/* ---------------------------------------------------------------------- all */

static bool list_owners(names *n)
{
	uint32_t *owners = sp_arena_zeros(n->arena, n->graph->region_count, sizeof(*owners));

	for (uint32_t i = 0; owners != NULL && i < n->count; i++)
		for (uint32_t r = 0; r < n->graph->nodes[i].region_count; r++)
			owners[n->graph->nodes[i].first_region + r] = i;
	n->owners = owners;
	return owners != NULL;
}

sp_status sp_optimizer_names_make(sp_optimizer_names *out, const sp_graph *graph, sp_arena *arena,
				  sp_error *err)
{
	bool fits;

	*out = (names){.graph = graph,
		       .arena = arena,
		       .count = graph->node_count,
		       .own = sp_arena_array(arena, graph->node_count, sizeof(*out->own))};
	fits = out->own != NULL && list_owners(out);
	for (size_t i = 0; fits && i < graph->node_count; i++) {
		out->own[i] = own_name(out, &graph->nodes[i], 0);
		fits = out->own[i] != NULL;
	}
	return fits ? SP_OK : sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}
