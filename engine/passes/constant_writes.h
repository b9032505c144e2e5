#ifndef SP_ENGINE_CONSTANT_WRITES_H
#define SP_ENGINE_CONSTANT_WRITES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * A signature may not change the model, but some graphs write the same constant into the
 * same rows of a variable with every request (tf.scatter_update, to keep the row of the
 * padding zero).  After the first time that changes nothing, so it is taken for a value:
 *
 *     ScatterUpdate(variable, rows, updates)
 *
 * with `rows` and `updates` that follow from constants becomes
 *
 *     TensorScatterUpdate(variable, ExpandDims(rows, -1), updates)
 *
 * and whoever reads the variable reads that, as in TensorFlow from the second request on.
 * Writes of one variable take place in the order of the graph.
 *
 * Others write back what they have read (Keras 3 with the JAX backend: moving averages and
 * seeds, which only training changes).  Such an AssignVariableOp becomes a NoOp.
 *
 * Any other write stays what it is, and is refused where a signature reaches it.
 *
 * For the graph of signatures, lowered (engine/import/lower.h); not for one that loads.  The
 * variable itself stays as it was restored.
 */
SP_MUST_CHECK sp_status sp_graph_take_constant_writes(sp_graph *graph, sp_error *err);

#endif
