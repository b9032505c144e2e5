#include "engine/fuse.h"

#include "engine/drop_unread.h"
#include "engine/fuse_columns.h"
#include "engine/fuse_dense.h"
#include "engine/graph_sort.h"
#include "engine/push_constants.h"
#include "engine/reduce_strength.h"
#include "engine/regroup.h"
#include "engine/simplify.h"

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}

/* A bit for each output of each entry; the last bit stands for all that have none of their own. */
static void take_ends(sp_graph_ends *ends, const sp_entry_spec *entries, size_t count)
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

static void list_kept(bool *kept, const sp_graph_ends *ends, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kept[i] = ends->fed[i] || ends->wanted[i] != 0;
}

/* Sums in TensorFlow's order; the nodes that entries name are listed anew. */
static sp_status regroup_sums(sp_graph *graph, sp_graph_ends *ends, bool *kept, sp_error *err)
{
	list_kept(kept, ends, graph->node_count);
	SP_TRY(sp_graph_drop_unread(graph, kept, err));
	SP_TRY(sp_graph_simplify(graph, kept, false, err));
	SP_TRY(sp_graph_push_constants(graph, ends->fed, kept, err));
	SP_TRY(sp_graph_sort(graph, ends, err));
	list_kept(kept, ends, graph->node_count);
	SP_TRY(sp_graph_regroup_sums(graph, ends->fed, kept, err));
	return sp_graph_sort(graph, ends, err);
}

/* Its cheaper operators and its order of products. */
static sp_status regroup_products(sp_graph *graph, sp_graph_ends *ends, bool *kept, sp_error *err)
{
	list_kept(kept, ends, graph->node_count);
	SP_TRY(sp_graph_reduce_strength(graph, ends->fed, kept, err));
	SP_TRY(sp_graph_regroup_products(graph, ends->fed, kept, err));
	SP_TRY(sp_graph_sort(graph, ends, err));
	list_kept(kept, ends, graph->node_count);
	return sp_graph_simplify(graph, kept, true, err);
}

static sp_status run_passes(sp_graph *graph, sp_graph_ends *ends, bool *kept, sp_error *err)
{
	SP_TRY(regroup_sums(graph, ends, kept, err));
	SP_TRY(sp_graph_fuse_columns(graph, ends, err));
	SP_TRY(sp_graph_sort(graph, ends, err));
	SP_TRY(regroup_products(graph, ends, kept, err));
	return sp_graph_fuse_dense(graph, kept, err);
}

static sp_status run_number_passes(sp_graph *graph, sp_graph_ends *ends, bool *kept, sp_error *err)
{
	SP_TRY(regroup_sums(graph, ends, kept, err));
	return regroup_products(graph, ends, kept, err);
}

typedef sp_status passes_fn(sp_graph *graph, sp_graph_ends *ends, bool *kept, sp_error *err);

static sp_status with_ends(sp_graph *graph, const sp_entry_spec *entries, size_t count,
			   passes_fn *passes, sp_error *err)
{
	/* push_constants.h and then fuse_columns.h add nodes, fewer than there were. */
	size_t most = 4 * graph->node_count;
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_graph_ends ends = {0};
	bool *kept = NULL;
	sp_status status;

	if (scratch == NULL)
		return no_memory(err);
	ends.fed = sp_arena_zeros(scratch, most, sizeof(*ends.fed));
	ends.wanted = sp_arena_zeros(scratch, most, sizeof(*ends.wanted));
	kept = sp_arena_zeros(scratch, most, sizeof(*kept));
	if (ends.fed == NULL || ends.wanted == NULL || kept == NULL) {
		status = no_memory(err);
	} else {
		take_ends(&ends, entries, count);
		status = passes(graph, &ends, kept, err);
	}
	sp_arena_destroy(scratch);
	return status;
}

sp_status sp_graph_fuse(sp_graph *graph, const sp_entry_spec *entries, size_t count, sp_error *err)
{
	return with_ends(graph, entries, count, run_passes, err);
}

sp_status sp_graph_take_numbers(sp_graph *graph, const sp_entry_spec *entries, size_t count,
				sp_error *err)
{
	return with_ends(graph, entries, count, run_number_passes, err);
}
