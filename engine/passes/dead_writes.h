#ifndef SP_ENGINE_DEAD_WRITES_H
#define SP_ENGINE_DEAD_WRITES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Removes dead writes.  Signatures must not change the model, but some are exported with updates
 * that belong to training: metrics of a Keras model, call counters, moving averages.
 *
 * An AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp or ResourceScatter... outside of
 * conditions and loops becomes a NoOp if no fetched value, no condition or loop, and no operator
 * with a side effect (an assertion, say) depends on the value of its variable.  The variable keeps
 * the value that was restored.
 *
 * All other writes stay, and are refused where a signature reaches them.
 *
 * fetched [count]: the nodes whose values requests fetch.  For a lowered graph of signatures
 * (engine/import/lower.h) in topological order, not for a load program.  Linear in the size of the
 * graph.
 */
SP_MUST_CHECK sp_status sp_graph_drop_dead_writes(sp_graph *graph, const uint32_t *fetched,
						  size_t count, sp_error *err);

#endif
