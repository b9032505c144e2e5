#ifndef SP_ENGINE_FUSE_COLUMNS_H
#define SP_ENGINE_FUSE_COLUMNS_H

#include "engine/passes/fuse.h"

/*
 * A feature column with an embedding is some forty nodes in a graph: cells that
 * are not empty, keys of their texts, negative keys dropped, empty rows filled,
 * unique keys, their rows, sums or means by row, zeros where nothing was, and
 * much arithmetic on shapes between.  All of it becomes one column of an
 * _EmbeddingColumns (embedding_columns.h), and columns that the same outputs
 * need become one operator, so that their reads of memory overlap.
 *
 * The nodes are those of safe_embedding_lookup_sparse and
 * embedding_lookup_sparse of TensorFlow 1.15, DeepRec and TensorFlow 2, around
 * one gather: from an EmbeddingVariable, or from float32 weights that a model
 * version fixes.  Whatever differs from them in the least is left alone.
 *
 * Call sp_graph_simplify() before and sp_graph_sort() after.
 */
SP_MUST_CHECK sp_status sp_graph_fuse_columns(sp_graph *graph, const sp_graph_ends *ends,
					      sp_error *err);

#endif
