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
 * The path is opened as it is written, as TensorFlow does; where there is no such file, the one of
 * that name in `directory`/assets, then in `directory`/assets.extra, which travel with a model.
 * Where all of them are missing or larger than 64 MiB the node is left as it is: a warning says
 * why, and the operator refuses it when it is needed.
 *
 * Only fails with SP_NO_MEMORY; new attributes live in the arena.
 */
SP_MUST_CHECK sp_status sp_descriptor_files_read(sp_graph_def *graph, const char *directory,
						 sp_arena *arena, sp_error *err);

#endif
