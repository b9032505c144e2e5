#ifndef SP_ENGINE_PUSH_CONSTANTS_H
#define SP_ENGINE_PUSH_CONSTANTS_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph.h"

/*
 * Divides by constants and brings constants together as TensorFlow's optimizer does.
 *
 *   Div(x, c), RealDiv(x, c)    Mul(x, Reciprocal(c)), of float32, double, half and bfloat16
 *
 * and of float32 and double, where nobody else reads the inner sum or product,
 *
 *   (x + a) + b                 x + (b + a), which is a constant again
 *   (1 - x) + b                 (b + 1) - x
 *   (x + y) + b                 x + (b + y)
 *
 * and likewise all that Add, AddV2 and Sub, or Mul and Div, can make of a constant and an inner
 * operator of two.  Of two inputs of a sum or product x is the one whose name comes first.  A
 * constant sinks as long as it finds such operators below.
 *
 * More than last bits can hang on this: log(1 - p + 1e-8) of a p of 1 is infinite.
 *
 * The graph is sorted, and nobody reads through an identity (simplify.h); sp_graph_sort() has to
 * follow.  It gets longer by a node for each quotient at most.  `fed` and `kept` name the nodes
 * whose value comes from outside, and those and the ones whose value is wanted there.
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_push_constants(sp_graph *graph, const bool *fed, const bool *kept,
						sp_error *err);

#endif
