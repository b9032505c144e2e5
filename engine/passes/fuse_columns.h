#ifndef SP_ENGINE_FUSE_COLUMNS_H
#define SP_ENGINE_FUSE_COLUMNS_H

#include "engine/passes/graph_sort.h"

/* The most nodes that the pass appends; further columns stay as they are. */
#define SP_FUSE_COLUMNS_MOST_GROUPS 64

/*
 * A feature column with an embedding is some forty nodes in a graph, which select elements that are
 * not empty, hash strings, drop negative keys, fill empty rows, find unique keys, gather their
 * rows, sum or average them by row, clear rows without keys, and compute shapes in between.  All of
 * it becomes one column of an EmbeddingColumns node (engine/ops/embedding/column_spec.h).  Columns
 * that the same outputs need share a node, so that their memory accesses overlap.
 *
 * The nodes are those of safe_embedding_lookup_sparse and embedding_lookup_sparse of TensorFlow
 * 1.15, DeepRec and TensorFlow 2, around one gather: from an EmbeddingVariable, or from float32
 * weights that are fixed by the model version.  Everything else is left alone.
 *
 * Call sp_graph_simplify() before and sp_graph_sort() after.  SP_INTERNAL when ends->capacity has
 * no room for the new nodes.
 */
SP_MUST_CHECK sp_status sp_graph_fuse_columns(sp_graph *graph, const sp_graph_boundary *ends,
					      sp_error *err);

#endif
