#ifndef SP_ENGINE_CONSTANT_WRITES_H
#define SP_ENGINE_CONSTANT_WRITES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Signatures must not change the model, but some graphs write the same constants into the same rows
 * of a variable with every request (tf.scatter_update, to keep the row of the padding zero).  From
 * the second request on such a write changes nothing, so it becomes a pure expression:
 *
 *     ScatterUpdate(variable, rows, updates)
 *
 * with constant expressions `rows` and `updates` becomes
 *
 *     TensorScatterUpdate(variable, ExpandDims(rows, -1), updates)
 *
 * and all readers of the variable read that.  Several writes of one variable apply in the order of
 * the graph.  The variable itself keeps the value that was restored.
 *
 * An AssignVariableOp that writes back the value that it has read (Keras 3 with the JAX backend:
 * moving averages and seeds) becomes a NoOp.
 *
 * All other writes stay, and are refused where a signature reaches them.
 *
 * For a lowered graph of signatures (engine/import/lower.h), not for a load program.
 */
SP_MUST_CHECK sp_status sp_graph_fold_constant_writes(sp_graph *graph, sp_error *err);

#endif
