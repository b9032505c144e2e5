#ifndef SP_ENGINE_REGROUP_H
#define SP_ENGINE_REGROUP_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph.h"

/*
 * Adds and multiplies numbers of float32, double, half and bfloat16 in the order that TensorFlow's
 * optimizer takes where it knows enough of the shapes (static_shapes.h).
 *
 * Sums: a tree of Add, AddV2 and AddN, of which only its root is read by others.  What has the same
 * shape becomes one AddN; these and the rest are added from the smallest shape to the largest.
 *
 *   (matrix + row) + other         row + AddN(matrix, other)
 *   ((a + b) + c) + d              AddN(a, b, c, d)
 *
 * An AddN, of such a tree or of the model, adds its inputs in the order of their names.
 *
 * Products, and sums whose root is an output: a tree of one operator.  Its inputs are joined from
 * the smallest to the largest, two by two.
 *
 *   (matrix * column) * row        (column * row) * matrix
 *
 * Which of them are refused, and what shape the others have, stays as it is: a tree is only touched
 * where every shape in it is known and fits the root's.  It stays as it is, too, where
 * TensorFlow's order of two shapes hangs on chance, and where it has more than eight shapes.
 *
 * The graph is sorted, and nobody reads through an identity (simplify.h); sp_graph_sort() has to
 * follow.  `fed` and `kept` [node_count] name the nodes whose value comes from outside, and those
 * and the ones whose value is wanted there.  A tree lies in one region.  Nodes that wait for others
 * stay as they are.
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_regroup_sums(sp_graph *graph, const bool *fed, const bool *kept,
					      sp_error *err);
SP_MUST_CHECK sp_status sp_graph_regroup_products(sp_graph *graph, const bool *fed,
						  const bool *kept, sp_error *err);

#endif
