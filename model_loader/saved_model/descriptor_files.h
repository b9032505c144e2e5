#ifndef SP_MODEL_LOADER_SAVED_MODEL_DESCRIPTOR_FILES_H
#define SP_MODEL_LOADER_SAVED_MODEL_DESCRIPTOR_FILES_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * DecodeProtoV2 may name a file that holds the descriptors of its messages, a serialized
 * FileDescriptorSet.  Its bytes take the name's place in the graph ("bytes://..."), which
 * knows no files.
 *
 * TensorFlow opens the path as it is written, and so does this first; where there
 * is none, the file of that name in `directory`/assets, then in
 * `directory`/assets.extra, which travel with a model.  A file that is nowhere, or
 * is no file of at most 64 MiB, leaves the node as it is: it is refused where it is
 * needed, and a warning says why.
 *
 * Only fails with SP_NO_MEMORY; what is new lives in the arena.
 */
SP_MUST_CHECK sp_status sp_descriptor_files_read(sp_graph_def *graph, const char *directory,
						 sp_arena *arena, sp_error *err);

#endif
