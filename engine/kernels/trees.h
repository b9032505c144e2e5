#ifndef SP_ENGINE_TREES_H
#define SP_ENGINE_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * An ensemble of boosted trees.  Its prediction for an example is the sum over all trees of the
 * tree's weight times the value of the leaf that the example reaches.
 *
 * The serialized tensorflow.boosted_trees.TreeEnsemble is validated once, when it is read: every
 * tree has a weight; children are in the same tree and have one parent; features and dimensions are
 * not negative; reachable nodes are leaves or splits.  Evaluation then only has to check the
 * request: that each feature has the columns in `columns`.
 *
 * Threads: immutable once read.
 * Source: TensorFlow, core/kernels/boosted_trees/boosted_trees.proto.
 */
typedef enum sp_tree_node_kind {
	SP_TREE_NONE,        /* empty; not reachable */
	SP_TREE_LEAF,        /* has `values` */
	SP_TREE_THRESHOLD,   /* left where the feature is at most `number` */
	SP_TREE_CATEGORICAL, /* left where the feature is `number` */
} sp_tree_node_kind;

typedef struct sp_tree_node {
	sp_tree_node_kind kind;
	int32_t feature;
	int32_t column; /* of the feature, which may be a matrix */
	int32_t number;
	int32_t left, right; /* children: indices in the same tree */
	/* Of a leaf, or of a split that was a leaf before it was split; else none. */
	const float *values;
	size_t value_count;
} sp_tree_node;

typedef struct sp_tree {
	const sp_tree_node *nodes; /* the first is the root */
	size_t node_count;
	float weight;
} sp_tree;

typedef struct sp_trees {
	const sp_tree *trees;
	size_t count;
	/* [feature_count]: the columns that splits need of each feature. */
	const int64_t *columns;
	size_t feature_count;
} sp_trees;

/* Allocated in the arena.  SP_CORRUPT if the message is malformed or fails the checks above. */
SP_MUST_CHECK sp_status sp_trees_read(const sp_trees **out, sp_arena *arena, sp_bytes message,
				      sp_error *err);

#endif
