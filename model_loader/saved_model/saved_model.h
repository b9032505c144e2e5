#ifndef SP_MODEL_LOADER_SAVED_MODEL_SAVED_MODEL_H
#define SP_MODEL_LOADER_SAVED_MODEL_SAVED_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * A SavedModel's saved_model.pb, or saved_model.pbtxt if there is none, read and checked: one
 * metagraph of it.
 *
 * Errors name what is wrong with the file: SP_NOT_FOUND (no saved_model.pb, no metagraph with the
 * tags), SP_CORRUPT (not a protobuf, hostile sizes, invalid names, assets outside their folder),
 * SP_UNSUPPORTED (another kind of model in the folder or in the file, a SavedModel of another
 * schema version, and errors of model_loader/proto/graph_proto.h).
 *
 * Source: saved_model.proto, meta_graph.proto, saver.proto of TensorFlow 2.15; DeepRec's field 8 of
 * MetaGraphDef (incr_saver_def).
 *
 * Threads: immutable once read.
 */

/*
 * A sparse tensor "x" is three of these, "x/indices", "x/values" and "x/shape", as TensorFlow names
 * its placeholders.  Any other composite tensor is "x/0", "x/1" and so on in the file's order: a
 * ragged one has its flat values first, then the row splits.
 */
typedef struct sp_tensor_info {
	const char *alias;
	const char *tensor_name;        /* "node:0"; "" when the file names none */
	sp_dtype dtype;                 /* SP_INVALID_DTYPE for an unknown type */
	sp_partial_shape shape;         /* as declared; unknown for ranks above SP_MAX_RANK */
	const sp_tensor *default_value; /* for an input missing in a request; NULL: none */
} sp_tensor_info;

typedef struct sp_signature {
	const char *name;
	const char *method;           /* "tensorflow/serving/predict"; "" when the file has none */
	const sp_tensor_info *inputs; /* sorted by alias */
	size_t input_count;
	const sp_tensor_info *outputs; /* sorted by alias */
	size_t output_count;
} sp_signature;

typedef struct sp_saver {
	const char *filename_tensor; /* "save/Const:0"; NULL when the file has no saver */
	const char *restore_op;      /* "save/restore_all" */
} sp_saver;

typedef struct sp_asset {
	const char *tensor_name;
	const char *filename; /* below assets/; a plain relative path without ".." */
} sp_asset;

typedef struct sp_saved_model {
	sp_arena *arena; /* holds everything here */
	sp_graph_def graph;
	/* Sorted by name, without "__saved_model_init_op". */
	const sp_signature *signatures;
	size_t signature_count;
	sp_saver saver;
	sp_saver incremental_saver; /* DeepRec's incr_saver_def */
	const char
		*init_op; /* the signature's, else the main op, else the legacy one; NULL: none */
	const sp_asset *assets;
	size_t asset_count;
	sp_bytes object_graph; /* for model_loader/saved_model/object_graph.h; empty: none */
} sp_saved_model;

/*
 * Reads the file in `directory` and takes the metagraph whose tag set is exactly `tags`, separated
 * by commas; NULL: {"serve"}, or the only metagraph.  Everything is in `arena`.
 */
SP_MUST_CHECK sp_status sp_saved_model_read(sp_saved_model *out, const char *directory,
					    const char *tags, sp_arena *arena, sp_error *err);

/* As sp_saved_model_read(), from the file's bytes, which are not needed afterwards. */
SP_MUST_CHECK sp_status sp_saved_model_parse(sp_saved_model *out, const void *bytes, size_t size,
					     const char *tags, sp_arena *arena, sp_error *err);

/*
 * Reads a file that is no SavedModel but a MetaGraphDef (X.meta beside a checkpoint X) or a
 * GraphDef (a frozen graph), which is found out from its content; as text if the path ends with
 * ".pbtxt".  A GraphDef has no signatures, no saver and no assets.  The init operation of a
 * MetaGraphDef without one is all its table initialisers.
 */
SP_MUST_CHECK sp_status sp_saved_model_read_graph(sp_saved_model *out, const char *path,
						  sp_arena *arena, sp_error *err);
SP_MUST_CHECK sp_status sp_saved_model_parse_graph(sp_saved_model *out, const void *bytes,
						   size_t size, sp_arena *arena, sp_error *err);

/* NULL when there is no such signature. */
const sp_signature *sp_saved_model_signature(const sp_saved_model *model, const char *name);

#endif
