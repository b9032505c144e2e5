#ifndef SP_ENGINE_OPTIMIZE_H
#define SP_ENGINE_OPTIMIZE_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * The passes that shorten a graph's plan, in this order:
 *
 *     dead_outputs.h     removes outputs of conditions and loops that nothing reads
 *     simplify.h         merges common subexpressions
 *     fuse_columns.h     fuses the embedding lookups of feature columns
 *     reduce_strength.h  picks cheaper or more accurate operators
 *     fuse_dense.h       fuses each dense layer, on packed weights
 *
 * Results stay the same within rounding.
 *
 * Nodes move: ports must be looked up again by name.
 */
SP_MUST_CHECK sp_status sp_graph_optimize(sp_graph *graph, const sp_entry_spec *entries,
					  size_t count, sp_error *err);

#endif
