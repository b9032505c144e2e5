#ifndef SP_ENGINE_FUSE_DENSE_H
#define SP_ENGINE_FUSE_DENSE_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * MatMul by weights that are the same for a whole model version, with the
 * BiasAdd and the Relu behind it, becomes one operator on packed weights:
 *
 *     MatMul(x, w) -> BiasAdd(., b) -> Relu      =>      _Dense(x, _DenseLayer(w, b))
 *
 * and in half and bfloat16 _NarrowDense(x, _NarrowLayer(w, b)).
 *
 * Only what no one else looks at is fused away: not a node with a second
 * reader, a control edge, or a name that an entry feeds or fetches.  Weights
 * of other types are left alone.
 *
 * kept [node_count]  true for nodes that entries feed, fetch or target
 */
SP_MUST_CHECK sp_status sp_graph_fuse_dense(sp_graph *graph, const bool *kept, sp_error *err);

#endif
