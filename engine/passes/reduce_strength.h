#ifndef SP_ENGINE_REDUCE_STRENGTH_H
#define SP_ENGINE_REDUCE_STRENGTH_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Replaces operators by cheaper or more accurate ones with the same result.
 *
 * For float32, half and bfloat16, if the exponent is a constant of one element:
 *
 *     Pow(x, 2), Pow(x, 3)          Square, Cube
 *     Pow(x, 0.5), Pow(x, -0.5)     Sqrt, Rsqrt
 *     Pow(x, -1)                    Reciprocal
 *
 * For float32:
 *
 *     Log(x + 1), Exp(x) - 1        Log1p, Expm1
 *     Log(Softmax(x))               LogSoftmax, if nothing else reads the softmax
 *     MatMul(x, Transpose(y))       MatMul with transpose_b; BatchMatMul with either side
 * transposed
 *
 * A producer is bypassed only if it is in the region of its reader and has no control inputs; a
 * constant may be in any region.  Nodes without readers stay in the list; plans leave them out.
 *
 * The graph is in topological order.
 *
 * fed   [node_count]  the node's value comes from the client kept  [node_count]  the node is fed,
 * fetched or a target of an entry
 *
 * Linear in the size of the graph.  SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_graph_reduce_strength(sp_graph *graph, const bool *fed, const bool *kept,
						 sp_error *err);

#endif
