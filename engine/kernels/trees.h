#ifndef SP_ENGINE_TREES_H
#define SP_ENGINE_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * An ensemble of boosted trees: what it says about an example is the sum, over the trees,
 * of a tree's weight times the leaf that the example comes to.
 *
 * It comes as a message tensorflow.boosted_trees.TreeEnsemble, and is checked once, when it
 * is read: every tree has a weight, children lie in their tree, each is the child of one
 * node only, features and dimensions are not negative, a node that can be come to is a leaf
 * or a split.  Walking down needs no checks then but those that follow from the request:
 * each feature has the columns it is asked for.
 *
 * Threads: immutable once read.
 * Source: TensorFlow, core/kernels/boosted_trees/boosted_trees.proto.
 */
typedef enum sp_tree_node_kind {
	SP_TREE_NONE,        /* says nothing; no split leads to it */
	SP_TREE_LEAF,        /* `values` */
	SP_TREE_THRESHOLD,   /* left where the feature is at most `number` */
	SP_TREE_CATEGORICAL, /* left where the feature is `number` */
} sp_tree_node_kind;

typedef struct sp_tree_node {
	sp_tree_node_kind kind;
	int32_t feature;
	int32_t column; /* of that feature, which may be a matrix */
	int32_t number;
	int32_t left, right; /* of the same tree */
	/* Of a leaf; of a split what it was as a leaf, none where it never was one. */
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
	/* How many features splits ask for, and how many columns of each. */
	const int64_t *columns;
	size_t feature_count;
} sp_trees;

/* In the arena.  SP_CORRUPT where the message is none, or breaks what is said above. */
SP_MUST_CHECK sp_status sp_trees_read(const sp_trees **out, sp_arena *arena, sp_bytes message,
				      sp_error *err);

#endif
