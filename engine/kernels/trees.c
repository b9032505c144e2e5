#include "engine/kernels/trees.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"

/*
 * The message is parsed twice: first to count the nodes and values, then into memory of that size.
 * Field numbers are those of TensorFlow's boosted_trees.proto; others are skipped.
 */
enum {
	ENSEMBLE_TREES = 1,
	ENSEMBLE_WEIGHTS = 2,
	TREE_NODES = 1,
	NODE_LEAF = 1,
	NODE_THRESHOLD = 2,
	NODE_CATEGORICAL = 3,
	NODE_METADATA = 777,
	METADATA_LEAF = 2,
	LEAF_VECTOR = 1,
	LEAF_SPARSE = 2,
	LEAF_SCALAR = 3,
	VECTOR_VALUE = 1,
	SPLIT_FEATURE = 1,
	SPLIT_NUMBER = 2,
	SPLIT_LEFT = 3,
	SPLIT_RIGHT = 4,
	SPLIT_COLUMN = 5,
};

/* Whether it is that field with one float, or with packed floats. */
static bool is_floats(const sp_protobuf_cursor *at, uint32_t field)
{
	return sp_protobuf_is(at, field, SP_PROTOBUF_FIXED32) ||
	       (sp_protobuf_is_message(at, field) && at->bytes.size % sizeof(float) == 0);
}

static sp_status broken(sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "the ensemble of trees is malformed");
}

typedef struct reader {
	sp_arena *arena;
	sp_tree *trees;
	size_t tree_count;
	float *weights;
	size_t weight_count;
	int64_t *columns;
	size_t feature_count;
	sp_error *err;
} reader;

/* After the last field. */
static sp_status end(const reader *r, const sp_protobuf_cursor *at)
{
	return at->broken ? broken(r->err) : SP_OK;
}

static sp_status no_memory(const reader *r)
{
	return sp_error_set(r->err, SP_NO_MEMORY, "no memory for an ensemble of trees");
}

/* ------------------------------------------------------------------ leaves */

/* The number of floats in fields with that number. */
static sp_status count_floats(const reader *r, sp_bytes vector, uint32_t number, size_t *count)
{
	sp_protobuf_cursor at = {.rest = vector};

	*count = 0;
	while (sp_protobuf_next(&at))
		if (is_floats(&at, number))
			*count += at.bytes.size / sizeof(float);
	return end(r, &at);
}

static sp_status read_vector(const reader *r, sp_bytes vector, sp_tree_node *node)
{
	float *values;
	size_t count, filled = 0;
	sp_protobuf_cursor at = {.rest = vector};

	SP_TRY(count_floats(r, vector, VECTOR_VALUE, &count));
	values = sp_arena_array(r->arena, count, sizeof(*values));
	if (values == NULL)
		return no_memory(r);
	while (sp_protobuf_next(&at)) {
		if (!is_floats(&at, VECTOR_VALUE))
			continue;
		memcpy(values + filled, at.bytes.data, at.bytes.size);
		filled += at.bytes.size / sizeof(float);
	}
	node->values = values;
	node->value_count = count;
	return SP_OK;
}

static sp_status read_scalar(const reader *r, float scalar, sp_tree_node *node)
{
	float *value = sp_arena_array(r->arena, 1, sizeof(*value));

	if (value == NULL)
		return no_memory(r);
	*value = scalar;
	node->values = value;
	node->value_count = 1;
	return SP_OK;
}

/* Reads the vector of values if there is one, else the scalar. */
static sp_status read_leaf(const reader *r, sp_bytes leaf, sp_tree_node *node)
{
	bool has_vector = false;
	float scalar = 0;
	sp_protobuf_cursor at = {.rest = leaf};

	if (node->values != NULL)
		return broken(r->err);
	while (sp_protobuf_next(&at)) {
		if (sp_protobuf_is(&at, LEAF_SCALAR, SP_PROTOBUF_FIXED32)) {
			memcpy(&scalar, at.bytes.data, sizeof(scalar));
		} else if (sp_protobuf_is_message(&at, LEAF_VECTOR)) {
			SP_TRY(read_vector(r, at.bytes, node));
			has_vector = true;
		} else if (sp_protobuf_is_message(&at, LEAF_SPARSE)) {
			has_vector = false;
		}
	}
	SP_TRY(end(r, &at));
	return has_vector ? SP_OK : read_scalar(r, scalar, node);
}

static sp_status read_metadata(const reader *r, sp_bytes metadata, sp_tree_node *node)
{
	sp_protobuf_cursor at = {.rest = metadata};

	while (sp_protobuf_next(&at))
		if (sp_protobuf_is_message(&at, METADATA_LEAF))
			SP_TRY(read_leaf(r, at.bytes, node));
	return end(r, &at);
}

/* ------------------------------------------------------------------- nodes */

static sp_status read_split(const reader *r, sp_bytes split, sp_tree_node *node)
{
	int32_t *const fields[] = {
		[SPLIT_FEATURE] = &node->feature, [SPLIT_NUMBER] = &node->number,
		[SPLIT_LEFT] = &node->left,       [SPLIT_RIGHT] = &node->right,
		[SPLIT_COLUMN] = &node->column,
	};
	sp_protobuf_cursor at = {.rest = split};

	while (sp_protobuf_next(&at))
		if (at.tag >> 3 <= SPLIT_COLUMN && (at.tag & 7) == SP_PROTOBUF_VARINT)
			*fields[at.tag >> 3] = (int32_t)at.number;
	return end(r, &at);
}

/* The metadata of a leaf are not needed and skipped. */
static sp_status read_node(const reader *r, sp_bytes message, sp_tree_node *node)
{
	sp_bytes metadata = {"", 0};
	sp_protobuf_cursor at = {.rest = message};

	while (sp_protobuf_next(&at)) {
		if (sp_protobuf_is_message(&at, NODE_METADATA)) {
			metadata = at.bytes;
			continue;
		}
		if (at.tag >> 3 > NODE_CATEGORICAL || (at.tag & 7) != SP_PROTOBUF_DELIMITED)
			continue;
		if (node->kind != SP_TREE_NONE)
			return broken(r->err);
		node->kind = sp_protobuf_is_message(&at, NODE_LEAF)        ? SP_TREE_LEAF
			     : sp_protobuf_is_message(&at, NODE_THRESHOLD) ? SP_TREE_THRESHOLD
									   : SP_TREE_CATEGORICAL;
		if (node->kind == SP_TREE_LEAF)
			SP_TRY(read_leaf(r, at.bytes, node));
		else
			SP_TRY(read_split(r, at.bytes, node));
	}
	SP_TRY(end(r, &at));
	return node->kind == SP_TREE_LEAF ? SP_OK : read_metadata(r, metadata, node);
}

/* The count of message fields with that number. */
static sp_status count_messages(const reader *r, sp_bytes from, uint32_t number, size_t *count)
{
	sp_protobuf_cursor at = {.rest = from};

	*count = 0;
	while (sp_protobuf_next(&at))
		*count += sp_protobuf_is_message(&at, number);
	return end(r, &at);
}

static sp_status read_tree(const reader *r, sp_bytes message, sp_tree *tree)
{
	sp_tree_node *nodes;
	sp_protobuf_cursor at = {.rest = message};

	SP_TRY(count_messages(r, message, TREE_NODES, &tree->node_count));
	nodes = sp_arena_zeros(r->arena, tree->node_count, sizeof(*nodes));
	if (nodes == NULL)
		return no_memory(r);
	tree->nodes = nodes;
	while (sp_protobuf_next(&at))
		if (sp_protobuf_is_message(&at, TREE_NODES))
			SP_TRY(read_node(r, at.bytes, nodes++));
	return SP_OK;
}

static sp_status read_ensemble(reader *r, sp_bytes message)
{
	size_t tree = 0, weight = 0;
	sp_protobuf_cursor at = {.rest = message};

	SP_TRY(count_messages(r, message, ENSEMBLE_TREES, &r->tree_count));
	SP_TRY(count_floats(r, message, ENSEMBLE_WEIGHTS, &r->weight_count));
	if (r->weight_count < r->tree_count)
		return sp_error_set(r->err, SP_CORRUPT, "%zu trees have %zu weights", r->tree_count,
				    r->weight_count);
	r->trees = sp_arena_zeros(r->arena, r->tree_count, sizeof(*r->trees));
	r->weights = sp_arena_array(r->arena, r->weight_count, sizeof(*r->weights));
	if (r->trees == NULL || r->weights == NULL)
		return no_memory(r);
	while (sp_protobuf_next(&at)) {
		if (sp_protobuf_is_message(&at, ENSEMBLE_TREES)) {
			SP_TRY(read_tree(r, at.bytes, &r->trees[tree++]));
		} else if (is_floats(&at, ENSEMBLE_WEIGHTS)) {
			memcpy(r->weights + weight, at.bytes.data, at.bytes.size);
			weight += at.bytes.size / sizeof(float);
		}
	}
	for (size_t i = 0; i < r->tree_count; i++)
		r->trees[i].weight = r->weights[i];
	return SP_OK;
}

/* ------------------------------------------------------------------ checks */

/*
 * Visits all nodes that can be reached from the root.  `todo` has room for every node: a node is
 * pushed at most once, since a second parent is an error.
 */
static sp_status check_tree(const reader *r, size_t number, int32_t *todo, bool *seen)
{
	const sp_tree *tree = &r->trees[number];
	size_t count = 1;

	if (tree->node_count == 0)
		return sp_error_set(r->err, SP_CORRUPT, "tree %zu has no root", number);
	memset(seen, 0, tree->node_count * sizeof(*seen));
	todo[0] = 0;
	seen[0] = true;
	while (count > 0) {
		const sp_tree_node *node = &tree->nodes[todo[--count]];
		const int32_t children[] = {node->left, node->right};

		if (node->kind == SP_TREE_LEAF)
			continue;
		if (node->kind == SP_TREE_NONE || node->feature < 0 || node->column < 0)
			return sp_error_set(
				r->err, SP_CORRUPT,
				"tree %zu has a node that is neither a leaf nor a split", number);
		for (size_t i = 0; i < 2; i++) {
			if (children[i] < 0 || (size_t)children[i] >= tree->node_count ||
			    seen[children[i]])
				return sp_error_set(r->err, SP_CORRUPT,
						    "a split of tree %zu leads to node %d of %zu",
						    number, (int)children[i], tree->node_count);
			seen[children[i]] = true;
			todo[count++] = children[i];
		}
	}
	return SP_OK;
}

static sp_status check_trees(const reader *r)
{
	sp_arena_mark mark = sp_arena_here(r->arena);
	sp_status status = SP_OK;
	size_t most = 0;
	int32_t *todo;
	bool *seen;

	for (size_t i = 0; i < r->tree_count; i++)
		if (r->trees[i].node_count > most)
			most = r->trees[i].node_count;
	if (most > INT32_MAX)
		return broken(r->err);
	todo = sp_arena_array(r->arena, most, sizeof(*todo));
	seen = sp_arena_array(r->arena, most, sizeof(*seen));
	if (todo == NULL || seen == NULL)
		return no_memory(r);
	for (size_t i = 0; status == SP_OK && i < r->tree_count; i++)
		status = check_tree(r, i, todo, seen);
	sp_arena_rewind(r->arena, mark);
	return status;
}

static bool is_split(const sp_tree_node *node)
{
	return node->kind == SP_TREE_THRESHOLD || node->kind == SP_TREE_CATEGORICAL;
}

/* Splits refer to features by number; each feature needs an input, so the number is bounded. */
enum { MAX_FEATURES = 1 << 20 };

static sp_status count_columns(reader *r)
{
	for (size_t i = 0; i < r->tree_count; i++)
		for (size_t j = 0; j < r->trees[i].node_count; j++) {
			const sp_tree_node *node = &r->trees[i].nodes[j];

			if (is_split(node) && (int64_t)node->feature >= (int64_t)r->feature_count)
				r->feature_count = (size_t)node->feature + 1;
		}
	if (r->feature_count > MAX_FEATURES)
		return sp_error_set(r->err, SP_CORRUPT, "a split asks for feature %zu",
				    r->feature_count - 1);
	r->columns = sp_arena_zeros(r->arena, r->feature_count, sizeof(*r->columns));
	if (r->columns == NULL)
		return no_memory(r);
	for (size_t i = 0; i < r->tree_count; i++)
		for (size_t j = 0; j < r->trees[i].node_count; j++) {
			const sp_tree_node *node = &r->trees[i].nodes[j];

			if (is_split(node) && node->feature >= 0 &&
			    node->column >= r->columns[node->feature])
				r->columns[node->feature] = (int64_t)node->column + 1;
		}
	return SP_OK;
}

sp_status sp_trees_read(const sp_trees **out, sp_arena *arena, sp_bytes message, sp_error *err)
{
	reader r = {.arena = arena, .err = err};
	sp_trees *trees;

	SP_TRY(read_ensemble(&r, message));
	SP_TRY(check_trees(&r));
	SP_TRY(count_columns(&r));
	trees = sp_arena_alloc(arena, sizeof(*trees));
	if (trees == NULL)
		return no_memory(&r);
	*trees = (sp_trees){.trees = r.trees,
			    .count = r.tree_count,
			    .columns = r.columns,
			    .feature_count = r.feature_count};
	*out = trees;
	return SP_OK;
}
