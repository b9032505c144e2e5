#ifndef SP_MODEL_LOADER_EMBEDDING_PART_ROUTES_H
#define SP_MODEL_LOADER_EMBEDDING_PART_ROUTES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * Which partitioned embeddings a graph asks as DeepRec does: part key % 1000 % parts of the
 * key as it is,
 *
 *   part = Cast(FloorMod(FloorMod(keys, 1000), parts))
 *   KvResourceGather(handle of part i, DynamicPartition:i(keys, part))
 *
 * with reshapes, casts and Unique in between.  Then a key means the same in all parts, wherever a
 * checkpoint has it.  Of other graphs nothing is said: older ones divide keys by the number of
 * parts.
 *
 * Fills *out, which the caller has initialised: names of handles ("user_emb/part_0") -> parts.
 * What is in functions of the graph is not looked at.  The names live in `arena`.
 */
SP_MUST_CHECK sp_status sp_part_routes_find(sp_map *out, const sp_graph_def *graph, sp_arena *arena,
					    sp_error *err);

#endif
