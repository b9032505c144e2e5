#ifndef SP_ENGINE_ENVIRONMENT_H
#define SP_ENGINE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"
#include "engine/tensor/resource.h"
#include "engine/tensor/tensor.h"

/*
 * What restore and init operations need from outside of the graph.  The engine does not open files;
 * the caller of a load program implements these calls.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_environment sp_environment;

/*
 * The default rows and filter settings of an embedding: attributes and inputs of
 * InitializeKvVariableOp and KvResourceImportV2.
 */
typedef struct sp_embedding_options {
	const sp_tensor *default_rows; /* [default_value_dim, dim], or flattened to a vector */
	int64_t default_value_dim;
	int64_t filter_freq;
	int64_t max_element_size;
	float false_positive_probability;
	float default_value_no_permission;
} sp_embedding_options;

/* Where an embedding's rows are. */
typedef struct sp_embedding_import {
	sp_bytes prefix;      /* of the checkpoint */
	sp_bytes name;        /* of the EmbeddingVariable in it */
	int64_t partition_id; /* the partition that the handle is; 0 of 1: the whole embedding */
	int64_t partition_num;
	bool reset_versions; /* rows count as changed at step 0 */
} sp_embedding_import;

struct sp_environment {
	void *context;

	/*
	 * The tensor `name` of the checkpoint `prefix`, or the part of it that
	 * `slice` names ("" is all of it; else "30 16 10,300:0,16"), in `arena`.
	 * SP_NOT_FOUND when the checkpoint lacks it; SP_CORRUPT when its bytes
	 * fail their check; SP_INVALID when it is not of `dtype`.
	 */
	sp_status (*restore)(void *context, sp_bytes prefix, sp_bytes name, sp_bytes slice,
			     sp_dtype dtype, sp_arena *arena, sp_tensor *out, sp_error *err);

	/* The whole file at `path`, in `arena`. */
	sp_status (*read_file)(void *context, sp_bytes path, sp_arena *arena, sp_bytes *out,
			       sp_error *err);

	/*
	 * Notes the options of embedding `resource`, which are copied.  The last call for a
	 * resource counts.  Default rows of another width than the embedding's fail only when its
	 * rows are loaded.
	 */
	sp_status (*create_embedding)(void *context, sp_resource *resource,
				      const sp_embedding_options *options, sp_error *err);

	/*
	 * Notes where embedding `resource` is to be loaded from; the last call for a resource
	 * counts. The rows are read, and resource->table is set, after the load program has run.
	 * SP_INVALID when `prefix` is not of the checkpoint that is being loaded.
	 */
	sp_status (*import_embedding)(void *context, sp_resource *resource,
				      const sp_embedding_import *import, sp_error *err);

	/*
	 * The same for an embedding whose rows the program computes: keys [n] int32 or int64,
	 * values [n, dim], and versions [<= n] int64 of the first keys.  All are copied; wrong
	 * shapes fail only when the rows are loaded.
	 */
	sp_status (*import_embedding_rows)(void *context, sp_resource *resource,
					   const sp_tensor *keys, const sp_tensor *values,
					   const sp_tensor *versions, sp_error *err);

	sp_arena *arena; /* of the version that is being loaded */
};

#endif
