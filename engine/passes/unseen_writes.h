#ifndef SP_ENGINE_UNSEEN_WRITES_H
#define SP_ENGINE_UNSEEN_WRITES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * A signature may not change the model, but some are exported with updates that belong to training:
 * metrics of a Keras model, numbers of calls, moving averages of a layer that normalises with the
 * batch's own mean.  Answers wait for them and show nothing of them.
 *
 * An AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp or ResourceScatter... outside of
 * conditions and loops becomes a NoOp where the value of its variable comes into no answer of
 * any signature, into no condition or loop, and into no operator that does more than compute
 * (an assertion, say).  The variable stays as it was restored.
 *
 * Any other write stays what it is, and is refused where a signature reaches it.
 *
 * fetched [count]: the nodes whose values requests are answered.  For the graph of signatures,
 * lowered (engine/import/lower.h) and sorted; not for one that loads.  Linear in the size of the
 * graph.
 */
SP_MUST_CHECK sp_status sp_graph_drop_unseen_writes(sp_graph *graph, const uint32_t *fetched,
						    size_t count, sp_error *err);

#endif
