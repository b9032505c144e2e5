#ifndef SP_ENGINE_CONSTANTS_H
#define SP_ENGINE_CONSTANTS_H

#include <stdbool.h>

#include "engine/graph.h"
#include "engine/optimizer_names.h"

/* Of what others do without: each of these would have to wait for as many nodes. */
enum { SP_MOST_CONTROLS = 8 };

/*
 * Whether a node is a constant for TensorFlow's optimizer, or made of constants alone.
 * `constant` [nodes] says it of those before it.
 */
bool sp_node_is_constant(const sp_optimizer_names *names, const sp_node *node,
			 const bool *constant);

/*
 * Whether input k of a node is one.  A constant from around a loop or a branch that is a function
 * is none in it (sp_optimizer_sees()).
 */
bool sp_node_reads_constant(const sp_optimizer_names *names, const sp_node *node, size_t k,
			    const bool *constant);

/*
 * The operator that takes a number to the power that a constant node is: Square, _Cube, Sqrt,
 * Rsqrt, Reciprocal; NULL for all else.
 */
const char *sp_power_op(const sp_node *exponent);

#endif
