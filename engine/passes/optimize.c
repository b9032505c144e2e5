#include "engine/passes/optimize.h"

#include "engine/passes/dead_outputs.h"
#include "engine/passes/fuse_columns.h"
#include "engine/passes/fuse_dense.h"
#include "engine/passes/graph_sort.h"
#include "engine/passes/reduce_strength.h"
#include "engine/passes/simplify.h"

/* A bit per output of the entries; bit 63 is shared by targets and by outputs from the 63rd on. */
static void take_ends(sp_graph_boundary *ends, const sp_entry_spec *entries, size_t count)
{
	size_t output = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < entries[i].feed_count; k++)
			ends->fed[entries[i].feeds[k].node] = true;
		for (size_t k = 0; k < entries[i].fetch_count; k++, output++)
			ends->wanted[entries[i].fetches[k].node] |= (uint64_t)1
								    << (output < 63 ? output : 63);
		for (size_t k = 0; k < entries[i].target_count; k++)
			ends->wanted[entries[i].targets[k]] |= (uint64_t)1 << 63;
	}
}

static void list_kept(bool *kept, const sp_graph_boundary *ends, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kept[i] = ends->fed[i] || ends->wanted[i] != 0;
}

static sp_status run_passes(sp_graph *graph, sp_graph_boundary *ends, bool *kept, sp_error *err)
{
	list_kept(kept, ends, graph->node_count);
	SP_TRY(sp_graph_drop_dead_outputs(graph, kept, err));
	SP_TRY(sp_graph_simplify(graph, kept, err));
	SP_TRY(sp_graph_fuse_columns(graph, ends, err));
	SP_TRY(sp_graph_sort(graph, ends, err));
	list_kept(kept, ends, graph->node_count);
	SP_TRY(sp_graph_reduce_strength(graph, ends->fed, kept, err));
	SP_TRY(sp_graph_simplify(graph, kept, err));
	return sp_graph_fuse_dense(graph, kept, err);
}

sp_status sp_graph_optimize(sp_graph *graph, const sp_entry_spec *entries, size_t count,
			    sp_error *err)
{
	size_t most = graph->node_count + SP_FUSE_COLUMNS_MOST_GROUPS;
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_graph_boundary ends = {.capacity = most};
	bool *kept = NULL;
	sp_status status;

	if (scratch != NULL) {
		ends.fed = sp_arena_zeros(scratch, most, sizeof(*ends.fed));
		ends.wanted = sp_arena_zeros(scratch, most, sizeof(*ends.wanted));
		kept = sp_arena_zeros(scratch, most, sizeof(*kept));
	}
	if (ends.fed == NULL || ends.wanted == NULL || kept == NULL) {
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	} else {
		take_ends(&ends, entries, count);
		status = run_passes(graph, &ends, kept, err);
	}
	sp_arena_destroy(scratch);
	return status;
}
