#ifndef SP_ENGINE_GRAPH_SORT_H
#define SP_ENGINE_GRAPH_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/* Which nodes entries feed, fetch or target. */
typedef struct sp_graph_boundary {
	bool *fed;        /* [nodes] requests give its value */
	uint64_t *wanted; /* [nodes] a bit per entry output that fetches it; from the 63rd on, bit
			     63 */
	size_t capacity;  /* of both: the most nodes that the graph may grow to */
} sp_graph_boundary;

/*
 * Puts the nodes in topological order, for passes that append nodes; nodes keep their order where
 * they can.  `ends` is reordered with them.
 *
 * SP_INTERNAL when nodes depend on each other in a cycle.
 */
SP_MUST_CHECK sp_status sp_graph_sort(sp_graph *graph, sp_graph_boundary *ends, sp_error *err);

#endif
