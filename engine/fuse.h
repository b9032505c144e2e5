#ifndef SP_ENGINE_FUSE_H
#define SP_ENGINE_FUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/graph.h"
#include "engine/program.h"

/*
 * Everything that makes a graph's plan shorter, in this order:
 *
 *   simplify.h         what is said twice is said once
 *   push_constants.h   constants where TensorFlow brings them
 *   regroup.h          sums in TensorFlow's order
 *   fuse_columns.h     embedding lookups of feature columns: one operator for all
 *   reduce_strength.h  the cheaper operators that TensorFlow takes
 *   regroup.h          products in TensorFlow's order
 *   fuse_dense.h       dense layers: one operator each, on packed weights
 *
 * Answers stay the same within rounding: sums may be taken in another order.
 *
 * Nodes move: ports must be looked up again by name.
 */
SP_MUST_CHECK sp_status sp_graph_fuse(sp_graph *graph, const sp_entry_spec *entries, size_t count,
				      sp_error *err);

/*
 * Only what gives TensorFlow's numbers, simplify.h to regroup.h without fuse_columns.h: for a graph
 * whose operators run one by one.  Nodes move here, too.
 */
SP_MUST_CHECK sp_status sp_graph_take_numbers(sp_graph *graph, const sp_entry_spec *entries,
					      size_t count, sp_error *err);

/* What entries do with nodes, for the passes. */
typedef struct sp_graph_ends {
	bool *fed;        /* [nodes] its value comes from the client */
	uint64_t *wanted; /* [nodes] bit per output of an entry that it is; one bit for many */
} sp_graph_ends;

#endif
