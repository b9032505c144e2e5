#ifndef SP_MODEL_LOADER_EMBEDDING_PART_ROUTES_H
#define SP_MODEL_LOADER_EMBEDDING_PART_ROUTES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * Finds the partitioned embeddings that a graph asks as DeepRec does: part key % 1000 % parts for
 * the unchanged key,
 *
 *   part = Cast(FloorMod(FloorMod(keys, 1000), parts))
 *   KvResourceGather(handle of part i, DynamicPartition:i(keys, part))
 *
 * with reshapes, casts and Unique in between.  A key then means the same in all parts, wherever a
 * checkpoint stores it.  Nothing is found for other graphs: older ones divide keys by the number of
 * parts.
 *
 * Fills *out, which the caller has initialised: names of handles ("user_emb/part_0") -> parts.
 * Functions of the graph are not searched.  The names live in `arena`.
 */
SP_MUST_CHECK sp_status sp_part_routes_find(sp_map *out, const sp_graph_def *graph, sp_arena *arena,
					    sp_error *err);

#endif
