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

typedef struct field {
	uint32_t number, type;
	uint64_t varint;
	sp_bytes bytes;
} field;

/* False at the end of a message, and at a malformed field, which stays in `from`. */
static bool next_field(sp_bytes *from, field *out)
{
	sp_bytes rest = *from;
	uint32_t tag;

	if (!sp_protobuf_tag(&rest, &tag) || tag >> 3 == 0 ||
	    !sp_protobuf_value(&rest, tag, &out->varint, &out->bytes))
		return false;
	out->number = tag >> 3;
	out->type = tag & 7;
	*from = rest;
	return true;
}

static bool is_message(const field *f, uint32_t number)
{
	return f->number == number && f->type == SP_PROTOBUF_DELIMITED;
}

/* Whether f is field `number` with one float, or with packed floats. */
static bool is_floats(const field *f, uint32_t number)
{
	return f->number == number &&
	       (f->type == SP_PROTOBUF_FIXED32 ||
		(f->type == SP_PROTOBUF_DELIMITED && f->bytes.size % sizeof(float) == 0));
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

/* SP_CORRUPT if next_field() has left something. */
static sp_status at_end(const reader *r, sp_bytes message)
{
	return message.size == 0 ? SP_OK : broken(r->err);
}

static sp_status no_memory(const reader *r)
{
	return sp_error_set(r->err, SP_NO_MEMORY, "no memory for an ensemble of trees");
}

/* ------------------------------------------------------------------ leaves */

/* The number of floats in fields with that number. */
static sp_status count_floats(const reader *r, sp_bytes vector, uint32_t number, size_t *count)
{
	field f;

	*count = 0;
	while (next_field(&vector, &f))
		if (is_floats(&f, number))
			*count += f.bytes.size / sizeof(float);
	return at_end(r, vector);
}

static sp_status read_vector(const reader *r, sp_bytes vector, sp_tree_node *node)
{
	float *values;
	size_t count, at = 0;
	field f;

	SP_TRY(count_floats(r, vector, VECTOR_VALUE, &count));
	values = sp_arena_array(r->arena, count, sizeof(*values));
	if (values == NULL)
		return no_memory(r);
	while (next_field(&vector, &f)) {
		if (!is_floats(&f, VECTOR_VALUE))
			continue;
		memcpy(values + at, f.bytes.data, f.bytes.size);
		at += f.bytes.size / sizeof(float);
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
	field f;

	if (node->values != NULL)
		return broken(r->err);
	while (next_field(&leaf, &f)) {
		if (f.number == LEAF_SCALAR && f.type == SP_PROTOBUF_FIXED32) {
			memcpy(&scalar, f.bytes.data, sizeof(scalar));
		} else if (is_message(&f, LEAF_VECTOR)) {
			SP_TRY(read_vector(r, f.bytes, node));
			has_vector = true;
		} else if (is_message(&f, LEAF_SPARSE)) {
			has_vector = false;
		}
	}
	SP_TRY(at_end(r, leaf));
	return has_vector ? SP_OK : read_scalar(r, scalar, node);
}

static sp_status read_metadata(const reader *r, sp_bytes metadata, sp_tree_node *node)
{
	field f;

	while (next_field(&metadata, &f))
		if (is_message(&f, METADATA_LEAF))
			SP_TRY(read_leaf(r, f.bytes, node));
	return at_end(r, metadata);
}

/* ------------------------------------------------------------------- nodes */

static sp_status read_split(const reader *r, sp_bytes split, sp_tree_node *node)
{
	int32_t *const fields[] = {
		[SPLIT_FEATURE] = &node->feature, [SPLIT_NUMBER] = &node->number,
		[SPLIT_LEFT] = &node->left,       [SPLIT_RIGHT] = &node->right,
		[SPLIT_COLUMN] = &node->column,
	};
	field f;

	while (next_field(&split, &f))
		if (f.number <= SPLIT_COLUMN && f.type == SP_PROTOBUF_VARINT)
			*fields[f.number] = (int32_t)f.varint;
	return at_end(r, split);
}

/* The metadata of a leaf are not needed and skipped. */
static sp_status read_node(const reader *r, sp_bytes message, sp_tree_node *node)
{
	sp_bytes metadata = {"", 0};
	field f;

	while (next_field(&message, &f)) {
		if (is_message(&f, NODE_METADATA)) {
			metadata = f.bytes;
			continue;
		}
		if (f.number > NODE_CATEGORICAL || f.type != SP_PROTOBUF_DELIMITED)
			continue;
		if (node->kind != SP_TREE_NONE)
			return broken(r->err);
		node->kind = f.number == NODE_LEAF        ? SP_TREE_LEAF
			     : f.number == NODE_THRESHOLD ? SP_TREE_THRESHOLD
							  : SP_TREE_CATEGORICAL;
		if (node->kind == SP_TREE_LEAF)
			SP_TRY(read_leaf(r, f.bytes, node));
		else
			SP_TRY(read_split(r, f.bytes, node));
	}
	SP_TRY(at_end(r, message));
	return node->kind == SP_TREE_LEAF ? SP_OK : read_metadata(r, metadata, node);
}

/* The count of message fields with that number. */
static sp_status count_messages(const reader *r, sp_bytes from, uint32_t number, size_t *count)
{
	field f;

	*count = 0;
	while (next_field(&from, &f))
		*count += is_message(&f, number);
	return at_end(r, from);
}

static sp_status read_tree(const reader *r, sp_bytes message, sp_tree *tree)
{
	sp_tree_node *nodes;
	field f;

	SP_TRY(count_messages(r, message, TREE_NODES, &tree->node_count));
	nodes = sp_arena_zeros(r->arena, tree->node_count, sizeof(*nodes));
	if (nodes == NULL)
		return no_memory(r);
	tree->nodes = nodes;
	while (next_field(&message, &f))
		if (is_message(&f, TREE_NODES))
			SP_TRY(read_node(r, f.bytes, nodes++));
	return SP_OK;
}

static sp_status read_ensemble(reader *r, sp_bytes message)
{
	size_t tree = 0, weight = 0;
	field f;

	SP_TRY(count_messages(r, message, ENSEMBLE_TREES, &r->tree_count));
	SP_TRY(count_floats(r, message, ENSEMBLE_WEIGHTS, &r->weight_count));
	if (r->weight_count < r->tree_count)
		return sp_error_set(r->err, SP_CORRUPT, "%zu trees have %zu weights", r->tree_count,
				    r->weight_count);
	r->trees = sp_arena_zeros(r->arena, r->tree_count, sizeof(*r->trees));
	r->weights = sp_arena_array(r->arena, r->weight_count, sizeof(*r->weights));
	if (r->trees == NULL || r->weights == NULL)
		return no_memory(r);
	while (next_field(&message, &f)) {
		if (is_message(&f, ENSEMBLE_TREES)) {
			SP_TRY(read_tree(r, f.bytes, &r->trees[tree++]));
		} else if (is_floats(&f, ENSEMBLE_WEIGHTS)) {
			memcpy(r->weights + weight, f.bytes.data, f.bytes.size);
			weight += f.bytes.size / sizeof(float);
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
