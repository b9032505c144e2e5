#include "engine/kernels/trees.h"

#include <string.h>

#include "engine/kernels/protobuf_writer.h"
#include "engine/ops/state/resource_handle.h"

/*
 * Ensembles of boosted trees (engine/kernels/trees.h), as TensorFlow's estimators use them.  While
 * a version is loaded, its ensemble is created (from a message that may be empty: no trees) and
 * read from a checkpoint.
 *
 *   BoostedTreesPredict              logits [rows, logits_dimension]
 *   BoostedTreesExampleDebugOutputs  a message DebugOutput per row: the features of the splits on
 * its path, the sum after each, the leaves
 *
 * A feature is int32, [rows] in TensorFlow 1 or [rows, columns] in TensorFlow 2.
 *
 * Errors:   features with different numbers of rows, or with fewer columns than a split reads; a
 * leaf
 *           whose number of values is not logits_dimension.
 * Numerics: sums of weight times leaf in float, tree by tree, as in TensorFlow.
 */
static sp_status prepare_handle(sp_prepare *prepare, sp_error *err)
{
	return sp_resource_handle__prepare(prepare, SP_RESOURCE_TREES, SP_INVALID_DTYPE,
					   SP_INVALID_DTYPE, NULL, err);
}

static sp_status find(const sp_call *call, sp_resource **out)
{
	return sp_resources_get(call->resources, call->in[0], SP_RESOURCE_TREES, out, call->err);
}

static sp_status find_trees(const sp_call *call, const sp_trees **out)
{
	sp_resource *resource;

	SP_TRY(find(call, &resource));
	if (resource->trees == NULL)
		return sp_call_invalid(call, "the ensemble of trees '%s' is not initialized",
				       resource->name);
	*out = resource->trees;
	return SP_OK;
}

/* ----------------------------------------------------------------- loading */

static sp_status fill(const sp_call *call, sp_resource *resource)
{
	const sp_trees *trees;

	if (call->in[1]->count != 1 || call->in[2]->count != 1)
		return sp_call_invalid(call, "the stamp and the ensemble must be scalars");
	SP_TRY(sp_trees_read(&trees, call->resources->arena, *sp_tensor_strings(call->in[2]),
			     call->err));
	resource->trees = trees;
	return SP_OK;
}

/* An existing ensemble stays as it is. */
static sp_status run_create(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find(call, &resource));
	return resource->trees != NULL ? SP_OK : fill(call, resource);
}

static sp_status run_deserialize(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find(call, &resource));
	return fill(call, resource);
}

static sp_status run_is_initialized(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find(call, &resource));
	return sp_resource_handle__answer(call, resource->trees != NULL);
}

/* -------------------------------------------------------------- predicting */

typedef struct predict_state {
	int64_t width; /* logits_dimension */
} predict_state;

static sp_status prepare_walk(sp_prepare *prepare, const char *types, sp_error *err)
{
	predict_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, types, err));
	SP_TRY(sp_node_attr_int(prepare->node, "logits_dimension", 1, &state->width, err));
	if (state->width < 1)
		return sp_error_set(err, SP_INVALID, "logits_dimension is %lld",
				    (long long)state->width);
	return SP_OK;
}

static sp_status prepare_predict(sp_prepare *prepare, sp_error *err)
{
	return prepare_walk(prepare, "resource int32+ -> float", err);
}

static sp_status prepare_debug(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_walk(prepare, "resource int32+ -> string", err));
	if (((const predict_state *)prepare->state)->width != 1)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "Currently only one dimensional outputs are supported.");
	return SP_OK;
}

/* How many columns feature `i` has. */
static int64_t columns_of(const sp_tensor *feature)
{
	return feature->shape.rank == 2 ? feature->shape.dims[1] : 1;
}

static sp_status check_features(const sp_call *call, const sp_trees *trees)
{
	for (size_t i = 1; i < call->in_count; i++) {
		const sp_shape *shape = &call->in[i]->shape;

		if (shape->rank != 1 && shape->rank != 2)
			return sp_call_invalid(call,
					       "feature %zu is of rank %d, not a vector or matrix",
					       i - 1, (int)shape->rank);
		if (shape->dims[0] != call->in[1]->shape.dims[0])
			return sp_call_invalid(call, "feature %zu has %lld rows, the first %lld",
					       i - 1, (long long)shape->dims[0],
					       (long long)call->in[1]->shape.dims[0]);
	}
	if (trees->feature_count >= call->in_count)
		return sp_call_invalid(call, "the trees ask for %zu features, there are %zu",
				       trees->feature_count, call->in_count - 1);
	for (size_t i = 0; i < trees->feature_count; i++)
		if (columns_of(call->in[i + 1]) < trees->columns[i])
			return sp_call_invalid(
				call, "the trees ask for %lld columns of feature %zu, not %lld",
				(long long)trees->columns[i], i,
				(long long)columns_of(call->in[i + 1]));
	return SP_OK;
}

/* The child of a split that a row takes. */
static int32_t next_node(const sp_call *call, const sp_tree_node *split, int64_t row)
{
	const sp_tensor *feature = call->in[1 + split->feature];
	int32_t value = ((const int32_t *)feature->data)[row * columns_of(feature) + split->column];
	bool left = split->kind == SP_TREE_THRESHOLD ? value <= split->number
						     : value == split->number;

	return left ? split->left : split->right;
}

static sp_status check_leaf(const sp_call *call, const sp_tree_node *node, int64_t width)
{
	if ((int64_t)node->value_count == width)
		return SP_OK;
	return sp_call_invalid(call, "a node has %zu values, not %lld", node->value_count,
			       (long long)width);
}

static sp_status add_tree(const sp_call *call, const sp_tree *tree, int64_t row, int64_t width,
			  float *sums)
{
	const sp_tree_node *node = tree->nodes;

	while (node->kind != SP_TREE_LEAF)
		node = &tree->nodes[next_node(call, node, row)];
	SP_TRY(check_leaf(call, node, width));
	for (int64_t i = 0; i < width; i++)
		sums[i] += tree->weight * node->values[i];
	return SP_OK;
}

static sp_status run_predict(const sp_call *call)
{
	const predict_state *state = call->state;
	const sp_trees *trees;
	sp_shape shape;
	float *out;

	SP_TRY(find_trees(call, &trees));
	SP_TRY(check_features(call, trees));
	shape = sp_shape_matrix(call->in[1]->shape.dims[0], state->width);
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	out = sp_tensor_f32(call->out[0]);
	for (size_t i = 0; i < call->out[0]->count; i++)
		out[i] = 0;
	for (int64_t row = 0; row < shape.dims[0]; row++)
		for (size_t t = 0; t < trees->count; t++)
			SP_TRY(add_tree(call, &trees->trees[t], row, state->width,
					out + row * state->width));
	return SP_OK;
}

/* --------------------------------------------------------------- explaining */

typedef struct path {
	int32_t *features;
	size_t feature_count;
	float *sums; /* one more than features */
	int32_t *leaves;
} path;

/* Allocates a path; it passes each node of a tree at most once. */
static sp_status make_path(const sp_call *call, const sp_trees *trees, path *out)
{
	size_t nodes = 0;

	for (size_t t = 0; t < trees->count; t++)
		nodes += trees->trees[t].node_count;
	SP_CALL_ARRAY(out->features, call, nodes);
	SP_CALL_ARRAY(out->sums, call, nodes + 1);
	SP_CALL_ARRAY(out->leaves, call, trees->count);
	return SP_OK;
}

/*
 * sums[k] is the value of the node after k splits plus the leaves of the trees before.  A tree
 * without splits counts only if it is the first one, the bias.  Splits by category are reported as
 * feature 0, because TensorFlow reads a threshold's feature there.
 */
static sp_status find_path(const sp_call *call, const sp_trees *trees, int64_t row, path *out)
{
	float sum, before = 0;

	SP_TRY(check_leaf(call, trees->trees[0].nodes, 1));
	sum = trees->trees[0].weight * trees->trees[0].nodes[0].values[0];
	out->feature_count = 0;
	out->sums[0] = sum;
	for (size_t t = 0; t < trees->count; t++) {
		const sp_tree *tree = &trees->trees[t];
		const sp_tree_node *node = tree->nodes;

		while (node->kind != SP_TREE_LEAF) {
			out->features[out->feature_count++] = node->kind == SP_TREE_THRESHOLD
								      ? node->feature
								      : 0;
			node = &tree->nodes[next_node(call, node, row)];
			SP_TRY(check_leaf(call, node, 1));
			sum = tree->weight * node->values[0];
			out->sums[out->feature_count] = sum + before;
		}
		if (t == 0 || node != tree->nodes)
			before += sum;
		out->leaves[t] = (int32_t)(node - tree->nodes);
	}
	return SP_OK;
}

static size_t ints_size(const int32_t *values, size_t n)
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += sp_protobuf_varint_size((uint64_t)values[i]);
	return size;
}

static char *put_ints(char *to, unsigned number, const int32_t *values, size_t n)
{
	if (n == 0)
		return to;
	to = sp_protobuf_put_varint(to, number << 3 | 2);
	to = sp_protobuf_put_varint(to, ints_size(values, n));
	for (size_t i = 0; i < n; i++)
		to = sp_protobuf_put_varint(to, (uint64_t)values[i]);
	return to;
}

/* DebugOutput: packed feature_ids = 1, logits_path = 2, leaf_node_ids = 3. */
static sp_status write_path(const sp_call *call, const path *p, size_t leaves, sp_bytes *out)
{
	size_t sums_size = (p->feature_count + 1) * sizeof(*p->sums);
	size_t room = ints_size(p->features, p->feature_count) + sums_size +
		      ints_size(p->leaves, leaves) + 3 * (1 + SP_PROTOBUF_MAX_VARINT);
	char *bytes = sp_call_bytes(call, room, 1), *to = bytes;

	if (bytes == NULL)
		return sp_call_no_memory(call);
	to = put_ints(to, 1, p->features, p->feature_count);
	to = sp_protobuf_put_varint(to, 2 << 3 | 2);
	to = sp_protobuf_put_varint(to, sums_size);
	memcpy(to, p->sums, sums_size);
	to = put_ints(to + sums_size, 3, p->leaves, leaves);
	*out = (sp_bytes){bytes, (size_t)(to - bytes)};
	return SP_OK;
}

static sp_status run_debug(const sp_call *call)
{
	const sp_trees *trees;
	path p = {0};
	sp_shape shape;

	SP_TRY(find_trees(call, &trees));
	SP_TRY(check_features(call, trees));
	if (trees->count == 0)
		return sp_call_invalid(call, "an ensemble of no trees has nothing to explain");
	shape = sp_shape_vector(call->in[1]->shape.dims[0]);
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	SP_TRY(make_path(call, trees, &p));
	for (int64_t row = 0; row < shape.dims[0]; row++) {
		SP_TRY(find_path(call, trees, row, &p));
		SP_TRY(write_path(call, &p, trees->count, &sp_tensor_strings(call->out[0])[row]));
	}
	return SP_OK;
}

SP_DEFINE_OP(BoostedTreesEnsembleResourceHandleOp, "resource", 0, prepare_handle,
	     sp_resource_handle__run);
/* tree_ensemble_handle, stamp_token, tree_ensemble_serialized */
SP_DEFINE_TYPED_OP(BoostedTreesCreateEnsemble, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY,
		   "resource int64 string ->", run_create);
SP_DEFINE_TYPED_OP(BoostedTreesDeserializeEnsemble, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY,
		   "resource int64 string ->", run_deserialize);
SP_DEFINE_TYPED_OP(IsBoostedTreesEnsembleInitialized, "is_initialized", SP_OP_READS_VARIABLE,
		   "resource -> bool", run_is_initialized);
SP_DEFINE_OP(BoostedTreesPredict, "logits", SP_OP_READS_VARIABLE, prepare_predict, run_predict);
SP_DEFINE_OP(BoostedTreesExampleDebugOutputs, "examples_debug_outputs_serialized",
	     SP_OP_READS_VARIABLE, prepare_debug, run_debug);
