#ifndef SP_MODEL_LOADER_EMBEDDING_FEATURE_NUMBERS_H
#define SP_MODEL_LOADER_EMBEDDING_FEATURE_NUMBERS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * The numbers that DeepRec's processor gives embeddings in a remote store: a KvVarHandleOp has the
 * number of those before it in the GraphDef.
 *
 * Fills *out, which the caller has initialised: names of handles ("user_emb/part_0") -> numbers.
 * The names live in `arena`.
 */
SP_MUST_CHECK sp_status sp_feature_numbers_find(sp_map *out, const sp_graph_def *graph,
						sp_arena *arena, sp_error *err);

#endif
