#include "tests/support/graph.h"

#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "engine/passes/constant_writes.h"
#include "engine/passes/dead_writes.h"
#include "engine/passes/optimize.h"
#include "engine/passes/session_variables.h"

enum { MAX_ENDS = COUNT(((sp_ends *)0)->feeds) };

void sp_small_graph_init(sp_small_graph *g)
{
	*g = (sp_small_graph){.arena = sp_arena_create(64 << 10), .workspace_limit = 16 << 20};
	g->environment.arena = g->arena;
	sp_resources_init(&g->resources, g->arena);
}

static void drop_program(sp_small_graph *g)
{
	sp_session_destroy(g->session);
	sp_snapshot_destroy(g->snapshot);
	sp_program_destroy(g->program);
	g->session = NULL;
	g->snapshot = NULL;
	g->program = NULL;
}

void sp_small_graph_fini(sp_small_graph *g)
{
	drop_program(g);
	sp_arena_destroy(g->arena);
}

static size_t add_names(const char **roots, size_t count, const char *const names[MAX_ENDS])
{
	for (size_t i = 0; i < MAX_ENDS && names[i] != NULL; i++)
		roots[count++] = names[i];
	return count;
}

static sp_status find_nodes(sp_small_graph *g, const char *const names[MAX_ENDS], uint32_t *nodes,
			    size_t *count)
{
	sp_port port;

	for (; *count < MAX_ENDS && names[*count] != NULL; ++*count) {
		SP_TRY(sp_graph_find(&g->graph, names[*count], &port, &g->err));
		nodes[*count] = port.node;
	}
	return SP_OK;
}

static sp_status take_writes(sp_small_graph *g, const sp_ends *ends)
{
	uint32_t fed[MAX_ENDS], fetched[MAX_ENDS];
	sp_request_boundary nodes = {.fed = fed, .fetched = fetched};

	SP_TRY(find_nodes(g, ends->feeds, fed, &nodes.fed_count));
	if (!ends->looks_at_counts) {
		SP_TRY(find_nodes(g, ends->fetches, fetched, &nodes.fetched_count));
		SP_TRY(sp_graph_drop_dead_writes(&g->graph, fetched, nodes.fetched_count, &g->err));
	}
	return sp_graph_make_session_variables(&g->graph, &nodes, &g->err);
}

static sp_status import(sp_small_graph *g, const sp_ends *ends)
{
	const char *names[2 * MAX_ENDS + 1];
	sp_import_roots roots = {.names = names};

	roots.count = add_names(names, 0, ends->feeds);
	roots.count = add_names(names, roots.count, ends->fetches);
	if (ends->target != NULL)
		names[roots.count++] = ends->target;
	SP_TRY(sp_graph_import(&g->graph, &g->def, &roots, g->arena, &g->err));
	SP_TRY(sp_graph_lower(&g->graph, &g->err));
	if (ends->loading)
		return SP_OK;
	SP_TRY(sp_graph_fold_constant_writes(&g->graph, &g->err));
	return take_writes(g, ends);
}

static sp_status find_ports(sp_small_graph *g, const char *const names[MAX_ENDS], sp_port *ports,
			    size_t *count)
{
	for (*count = 0; *count < MAX_ENDS && names[*count] != NULL; ++*count)
		SP_TRY(sp_graph_find(&g->graph, names[*count], &ports[*count], &g->err));
	return SP_OK;
}

static sp_status find_entry(sp_small_graph *g, const sp_ends *ends, sp_entry_spec *entry,
			    sp_port *feeds, sp_port *fetches, sp_port *target)
{
	SP_TRY(find_ports(g, ends->feeds, feeds, &entry->feed_count));
	SP_TRY(find_ports(g, ends->fetches, fetches, &entry->fetch_count));
	if (ends->target == NULL)
		return SP_OK;
	SP_TRY(sp_graph_find(&g->graph, ends->target, target, &g->err));
	entry->targets = &target->node;
	entry->target_count = 1;
	return SP_OK;
}

sp_status sp_small_graph_compile(sp_small_graph *g, const sp_node_def *nodes, size_t node_count,
				 const sp_ends *ends)
{
	sp_port feeds[MAX_ENDS], fetches[MAX_ENDS], target;
	sp_entry_spec entry = {.name = "entry", .feeds = feeds, .fetches = fetches};
	sp_program_options options = {.loading = ends->loading};
	const sp_error *why;

	drop_program(g);
	g->loading = ends->loading;
	g->def = (sp_graph_def){.nodes = nodes,
				.node_count = node_count,
				.functions = g->functions,
				.function_count = g->function_count};
	SP_TRY(import(g, ends));
	SP_TRY(find_entry(g, ends, &entry, feeds, fetches, &target));
	if (g->fused) {
		SP_TRY(sp_graph_optimize(&g->graph, &entry, 1, &g->err));
		SP_TRY(find_entry(g, ends, &entry, feeds, fetches, &target));
	}
	SP_TRY(sp_program_compile(&g->program, &g->graph, &entry, 1, &g->resources, &options,
				  &g->err));
	why = sp_program_entry_error(g->program, 0);
	if (why == NULL)
		return SP_OK;
	g->err = *why;
	return why->status;
}

sp_status sp_small_graph_run(sp_small_graph *g, const sp_tensor *feeds, const bool *wanted,
			     const sp_tensor **fetches)
{
	sp_run run = {.feeds = feeds,
		      .wanted = wanted,
		      .deadline_ns = g->deadline_ns,
		      .loop_ns = g->loop_ns,
		      .stop = g->stop,
		      .trace = g->trace};

	if (g->loading) {
		run.resources = &g->resources;
		run.environment = &g->environment;
	} else if (g->snapshot == NULL) {
		SP_TRY(sp_snapshot_build(&g->snapshot, g->program, &g->resources, &g->err));
	}
	run.snapshot = g->snapshot;
	if (g->session == NULL)
		SP_TRY(sp_session_create(&g->session, g->program, g->workspace_limit, &g->err));
	return sp_session_run(g->session, &run, fetches, &g->err);
}
