#ifndef SP_ENGINE_CONSTANTS_H
#define SP_ENGINE_CONSTANTS_H

#include <stdbool.h>

#include "engine/graph.h"

/* Of what others do without: each of these would have to wait for as many nodes. */
enum { SP_MOST_CONTROLS = 8 };

/*
 * Whether a node is a constant for TensorFlow's optimizer, or made of constants alone.
 * `constant` [nodes] says it of those before it.
 */
bool sp_node_is_constant(const sp_node *node, const bool *constant);

/*
 * The operator that takes a number to the power that a constant node is: Square, _Cube, Sqrt,
 * Rsqrt, Reciprocal; NULL for all else.
 */
const char *sp_power_op(const sp_node *exponent);

#endif
