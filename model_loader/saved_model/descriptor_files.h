#ifndef SP_MODEL_LOADER_SAVED_MODEL_DESCRIPTOR_FILES_H
#define SP_MODEL_LOADER_SAVED_MODEL_DESCRIPTOR_FILES_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * DecodeProtoV2 may name a file with the descriptors of its messages, a serialized
 * FileDescriptorSet.  Replaces the name in the graph by the file's bytes ("bytes://..."), because
 * the graph cannot read files.
 *
 * The path is tried as written, as TensorFlow does, then the file of that name in
 * `directory`/assets, then in `directory`/assets.extra.  If none can be read, or it is larger than
 * 64 MiB, the node is left unchanged: a warning is logged, and the operator fails when it is
 * needed.
 *
 * Only fails with SP_NO_MEMORY; new attributes live in the arena.
 */
SP_MUST_CHECK sp_status sp_descriptor_files_read(sp_graph_def *graph, const char *directory,
						 sp_arena *arena, sp_error *err);

#endif
