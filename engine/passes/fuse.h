#ifndef SP_ENGINE_FUSE_H
#define SP_ENGINE_FUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/runtime/program.h"

/*
 * The passes that make a graph's plan shorter, in this order:
 *
 *   drop_unread.h      parts of conditions and loops that nothing reads are removed
 *   simplify.h         equal nodes become one
 *   fuse_columns.h     embedding lookups of feature columns become one operator
 *   reduce_strength.h  operators become cheaper or more accurate ones
 *   fuse_dense.h       dense layers become one operator each, on packed weights
 *
 * Answers stay the same within rounding.
 *
 * Nodes move: ports must be looked up again by name.
 */
SP_MUST_CHECK sp_status sp_graph_fuse(sp_graph *graph, const sp_entry_spec *entries, size_t count,
				      sp_error *err);

/* What entries do with nodes, for the passes. */
typedef struct sp_graph_ends {
	bool *fed;        /* [nodes] its value comes from the client */
	uint64_t *wanted; /* [nodes] bit per output of an entry that it is; one bit for many */
} sp_graph_ends;

#endif
