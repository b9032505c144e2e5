#ifndef SP_TOOLS_GRAPH_TABLES_H
#define SP_TOOLS_GRAPH_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model_loader/saved_model/saved_model.h"

/*
 * The EmbeddingVariables of a serving graph, from the nodes that make handles (KvVarHandleOp), that
 * create the variables (InitializeKvVariableOp, InitializeKvVariableV2Op, KvResourceImportV2), and
 * that restore them from a checkpoint (KvResourceImportV2, KvResourceImportV3).
 */
typedef struct sp_graph_table {
	const char *name;                    /* of a part: "user_emb/part_0" */
	const char *base;                    /* without the part: "user_emb" */
	int64_t dim;                         /* -1: unknown */
	sp_dtype key_dtype;                  /* SP_INVALID_DTYPE: unknown */
	int64_t partition_id, partition_num; /* 0 of 1 without parts */
	uint64_t dealt_parts; /* see model_loader/embedding/part_routes.h; 0: unknown */
	int64_t filter_freq;
	bool bloom; /* a counting Bloom filter, where filter_freq > 0 */
	int64_t default_rows;
	float no_permission;
} sp_graph_table;

SP_MUST_CHECK sp_status sp_graph_tables_find(sp_graph_table **out, size_t *count,
					     const sp_saved_model *model, sp_arena *arena,
					     sp_error *err);

/* The first part of the table `base`; NULL when the graph has none. */
const sp_graph_table *sp_graph_tables_get(const sp_graph_table *tables, size_t count,
					  const char *base);

/* A tensor that the graph restores by name (RestoreV2). */
typedef struct sp_graph_restored {
	sp_bytes name;
	sp_dtype dtype;                /* SP_INVALID_DTYPE: unknown */
	const sp_partial_shape *shape; /* of the variable with that name; NULL: there is none */
} sp_graph_restored;

SP_MUST_CHECK sp_status sp_graph_restored_find(const sp_graph_restored **out, size_t *count,
					       const sp_saved_model *model, sp_arena *arena,
					       sp_error *err);

#endif
