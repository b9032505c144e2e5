#ifndef SP_ENGINE_FUSE_DENSE_H
#define SP_ENGINE_FUSE_DENSE_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * MatMul by weights that are fixed by the model version, with the BiasAdd and the Relu after it,
 * becomes one operator on packed weights:
 *
 *     MatMul(x, w) -> BiasAdd(., b) -> Relu      =>      Dense(x, DenseLayer(w, b))
 *
 * of float, half or bfloat16.
 *
 * A node inside the chain has one reader and no control edges to others, and no entry feeds or
 * fetches it.  Weights of other types are left alone.
 *
 * kept [node_count]: nodes that entries feed, fetch or target.
 */
SP_MUST_CHECK sp_status sp_graph_fuse_dense(sp_graph *graph, const bool *kept, sp_error *err);

#endif
