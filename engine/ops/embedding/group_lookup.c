#include <string.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/nn/pooling.h"
#include "engine/ops/reduce/row_set.h"

/*
 * DeepRec's group lookups: lookups in many tables of one width by one operator.  A table is an
 * EmbeddingVariable (GroupEmbeddingVarLookup) or a matrix (GroupVariableLookup).
 *
 * Inputs, n = num_lookups:
 *
 *   n tables
 *   n sp_values    the keys of a sparse tensor
 *   n sp_indices   int64; the first column is the row
 *   n sp_weights   a weight per key; unused with ignore_weights
 *   dense_shape    either one int32 for all, the number of rows, and then
 *                  sp_indices are the rows themselves (the earlier releases), or
 *                  n int64 vectors, and then sp_indices are whole indices
 *   default_value  row i is the result for the i-th distinct key if it is absent;
 *                  read only with is_use_default_value_tensor in a lookup in
 *                  EmbeddingVariables
 *
 * Outputs: n times [rows, dimension], pooled (engine/ops/nn/pooling.h); with is_sequence [rows,
 * dense_shape[1], dimension], pooled over the rest of the index.  Then n times the distinct keys,
 * for each key the index of its distinct key, and the cumulative number of keys by row.
 *
 * Keys must be in the order of their rows.  Negative keys are looked up like others.
 *
 * The ...Dense operators gather: n tables, n tensors of keys, default_value; n times [keys...,
 * dimension], the distinct keys, for each key the index of its distinct key.
 *
 * DeepRec's Python always sets is_use_default_value_tensor for matrices, and its kernels for them
 * ignore it.  Where its kernel for EmbeddingVariables reads another input instead of default_value
 * (several lookups with a dense_shape each, and the Dense one) it is refused.  max_norm is ignored:
 * Python never sets it, and the kernels for CPUs do not read it.
 */
typedef struct group_state {
	size_t n;
	int64_t dim;
	bool has_matrices; /* tables are matrices, not EmbeddingVariables */
	bool is_dense;     /* no pooling */
	bool one_shape;    /* one int32 dense_shape for all lookups */
	bool has_weights, is_sequence;
	bool has_fallback; /* default_value is read */
	sp_pool_combiner combiner;
} group_state;

/* Checks what is known about the embedding of lookup i when the graph is prepared. */
static sp_status check_embedding(const sp_prepare *prepare, const group_state *state, size_t i,
				 sp_error *err)
{
	const sp_resource *resource;

	SP_TRY(sp_embedding__declared(prepare, i, &resource, err));
	if (resource == NULL)
		return SP_OK;
	SP_TRY(sp_embedding__check_keys(resource, prepare->in_dtypes[state->n + i], err));
	if (sp_resource_row_width(resource) == (size_t)state->dim)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "embedding '%s' has rows of %zu, not %lld",
			    resource->name, sp_resource_row_width(resource), (long long)state->dim);
}

static sp_status check_tables(const sp_prepare *prepare, const group_state *state, sp_error *err)
{
	const sp_dtype *in = prepare->in_dtypes;

	for (size_t i = 0; i < state->n; i++) {
		SP_TRY(sp_prepare_input_dtype(prepare, i,
					      state->has_matrices ? SP_FLOAT : SP_RESOURCE, err));
		SP_TRY(sp_prepare_input_index(prepare, state->n + i, err));
		SP_TRY(sp_prepare_input_dtype(prepare, state->n + i, in[state->n], err));
		if (!state->has_matrices)
			SP_TRY(check_embedding(prepare, state, i, err));
	}
	return SP_OK;
}

static sp_status check_sparse(const sp_prepare *prepare, const group_state *state, sp_error *err)
{
	size_t n = state->n;

	for (size_t i = 0; i < n; i++) {
		SP_TRY(sp_prepare_input_dtype(prepare, 2 * n + i, SP_INT64, err));
		if (state->has_weights)
			SP_TRY(sp_prepare_input_dtype(prepare, 3 * n + i, SP_FLOAT, err));
		if (!state->one_shape)
			SP_TRY(sp_prepare_input_dtype(prepare, 4 * n + i, SP_INT64, err));
	}
	return SP_OK;
}

static sp_status check_fallback(const sp_prepare *prepare, group_state *state, sp_error *err)
{
	SP_TRY(sp_node_attr_bool(prepare->node, "is_use_default_value_tensor", false,
				 &state->has_fallback, err));
	if (state->has_matrices)
		state->has_fallback = false;
	if (!state->has_fallback)
		return SP_OK;
	if (state->is_dense || (!state->one_shape && state->n > 1))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s of %zu embeddings: no is_use_default_value_tensor",
				    prepare->node->op_name, state->n);
	SP_TRY(sp_prepare_input_dtype(prepare, prepare->in_count - 1, SP_FLOAT, err));
	return sp_embedding__check_defaults(prepare, prepare->in_count - 1, (size_t)state->dim,
					    err);
}

static sp_status prepare_any(sp_prepare *prepare, group_state **out, sp_error *err)
{
	group_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;
	sp_dtype dtype;
	int64_t n;

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	state->has_matrices = node->op == &sp_op_GroupVariableLookup ||
			      node->op == &sp_op_GroupVariableLookupDense;
	SP_TRY(sp_node_attr_type(node, "dtype", SP_FLOAT, &dtype, err));
	if (dtype != SP_FLOAT)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_node_attr_int(node, "dimension", 0, &state->dim, err));
	if (state->dim < 1 || state->dim > INT32_MAX)
		return sp_error_set(err, SP_INVALID, "attribute 'dimension' is %lld",
				    (long long)state->dim);
	SP_TRY(sp_node_attr_int(node, "num_lookups", 0, &n, err));
	if (n < 1 || (uint64_t)n > prepare->in_count)
		return sp_error_set(err, SP_INVALID,
				    "attribute 'num_lookups' is %lld for %zu inputs", (long long)n,
				    prepare->in_count);
	state->n = (size_t)n;
	return SP_OK;
}

/* Declares n outputs of float rows, n of keys, and `numbers` of int32. */
static sp_status state_outputs(sp_prepare *prepare, size_t n, size_t numbers, sp_error *err)
{
	SP_TRY(sp_prepare_outputs(prepare, (2 + numbers) * n, SP_INT32, err));
	for (size_t i = 0; i < n; i++) {
		prepare->out_dtypes[i] = SP_FLOAT;
		prepare->out_dtypes[n + i] = prepare->in_dtypes[n];
	}
	return SP_OK;
}

static sp_status prepare_sparse(sp_prepare *prepare, sp_error *err)
{
	group_state *state;
	bool no_weights;
	size_t n;

	SP_TRY(prepare_any(prepare, &state, err));
	n = state->n;
	state->one_shape = prepare->in_count > 4 * n && prepare->in_dtypes[4 * n] == SP_INT32;
	SP_TRY(sp_prepare_inputs(prepare, state->one_shape ? 4 * n + 2 : 5 * n + 1, err));
	SP_TRY(sp_pool__read_combiner(prepare, "", &state->combiner, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "ignore_weights", false, &no_weights, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "is_sequence", false, &state->is_sequence, err));
	state->has_weights = !no_weights;
	if (state->is_sequence && state->one_shape)
		return sp_error_set(err, SP_INVALID, "is_sequence needs a dense_shape per lookup");
	SP_TRY(check_tables(prepare, state, err));
	SP_TRY(check_sparse(prepare, state, err));
	SP_TRY(check_fallback(prepare, state, err));
	return state_outputs(prepare, n, 2, err);
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	group_state *state;

	SP_TRY(prepare_any(prepare, &state, err));
	state->is_dense = true;
	SP_TRY(sp_prepare_inputs(prepare, 2 * state->n + 1, err));
	SP_TRY(check_tables(prepare, state, err));
	SP_TRY(check_fallback(prepare, state, err));
	return state_outputs(prepare, state->n, 1, err);
}

/* -------------------------------------------------------------- the lookups */

/* One of the n lookups. */
typedef struct lookup {
	size_t i;
	size_t count; /* of the keys */
	const int64_t *keys;
	const int64_t *indices; /* [count, stride] */
	size_t stride;
	const float *weights;  /* or NULL */
	int64_t batch;         /* rows */
	int64_t steps;         /* of each row if it is a sequence; else 1 */
	int64_t *places;       /* the output row of each key */
	const float *fallback; /* [count, dim] the result for each key if it is absent, or NULL */
	sp_pool pool;          /* the output */
} lookup;

static sp_status check_keys(const sp_call *call, const lookup *l)
{
	const group_state *state = call->state;
	const sp_tensor *matrix = call->in[l->i];
	char text[SP_SHAPE_TEXT_SIZE];

	if (matrix->shape.rank != 2 || matrix->shape.dims[1] != state->dim)
		return sp_call_invalid(call, "table %zu of shape %s has no rows of %lld", l->i,
				       sp_shape_text(&matrix->shape, text), (long long)state->dim);
	for (size_t k = 0; k < l->count; k++)
		if (l->keys[k] < 0 || l->keys[k] >= matrix->shape.dims[0])
			return sp_call_invalid(call, "key %lld is not a row of table %zu, of %lld",
					       (long long)l->keys[k], l->i,
					       (long long)matrix->shape.dims[0]);
	return SP_OK;
}

/* Reads the keys, and finds the table of an EmbeddingVariable. */
static sp_status read_keys(const sp_call *call, lookup *l, const sp_table **table)
{
	const group_state *state = call->state;
	sp_resource *resource;

	if (state->has_matrices) {
		SP_TRY(sp_elements__widen(call, call->in[state->n + l->i], &l->keys));
		return check_keys(call, l);
	}
	SP_TRY(sp_embedding__find(call, l->i, &resource));
	SP_TRY(sp_embedding__keys(call, state->n + l->i, resource, &l->keys));
	*table = resource->table;
	if (sp_table_dim(*table) != (size_t)state->dim)
		return sp_call_invalid(call, "embedding '%s' has rows of %zu, not %lld",
				       resource->name, sp_table_dim(*table), (long long)state->dim);
	return SP_OK;
}

/* Reads the number of rows and the rows of the keys. */
static sp_status read_shape(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	const sp_tensor *shape = call->in[4 * state->n + (state->one_shape ? 0 : l->i)];
	char text[SP_SHAPE_TEXT_SIZE];

	l->stride = 1;
	l->steps = 1;
	if (state->one_shape) {
		SP_TRY(sp_call_scalar(call, 4 * state->n, &l->batch));
	} else {
		if (shape->shape.rank != 1 || shape->count < (state->is_sequence ? 2 : 1))
			return sp_call_invalid(call, "dense_shape %zu is of shape %s", l->i,
					       sp_shape_text(&shape->shape, text));
		l->stride = shape->count;
		l->batch = sp_tensor_i64(shape)[0];
		if (state->is_sequence)
			l->steps = sp_tensor_i64(shape)[1];
	}
	if (l->batch < 0 || l->steps < 0)
		return sp_call_invalid(call, "dense_shape %zu has a negative dimension", l->i);
	return SP_OK;
}

static sp_status read_sparse(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	const sp_tensor *indices = call->in[2 * state->n + l->i];
	const sp_tensor *weights = call->in[3 * state->n + l->i];

	SP_TRY(read_shape(call, l));
	if (indices->count / l->stride != l->count || indices->count % l->stride != 0)
		return sp_call_invalid(call, "%zu indices of %zu for the %zu keys of lookup %zu",
				       indices->count, l->stride, l->count, l->i);
	if (state->has_weights && weights->count != l->count)
		return sp_call_invalid(call, "%zu weights for the %zu keys of lookup %zu",
				       weights->count, l->count, l->i);
	l->indices = sp_tensor_i64(indices);
	l->weights = state->has_weights ? sp_tensor_f32(weights) : NULL;
	return SP_OK;
}

/* ------------------------------------------------------------------- outputs */

/* Writes the distinct keys, and for each key the index of its distinct key. */
static sp_status write_unique(const sp_call *call, const lookup *l)
{
	size_t n = ((const group_state *)call->state)->n;
	const sp_tensor *keys = call->in[n + l->i];
	sp_rows rows = {
		.dtype = keys->dtype, .data = keys->data, .outer = 1, .n = keys->count, .inner = 1};
	size_t size = sp_dtype_size(keys->dtype), distinct;
	uint32_t *firsts;
	sp_row_set set;

	SP_TRY(sp_row_set__init(&set, call, &rows));
	SP_CALL_ARRAY(firsts, call, keys->count);
	SP_TRY(sp_call_output_vector(call, 2 * n + l->i, SP_INT32, (int64_t)keys->count));
	distinct = sp_row_set__number(&set, call->out[2 * n + l->i]->data, firsts);
	SP_TRY(sp_call_output_vector(call, n + l->i, keys->dtype, (int64_t)distinct));
	for (size_t k = 0; k < distinct; k++)
		memcpy((char *)call->out[n + l->i]->data + k * size,
		       (const char *)keys->data + firsts[k] * size, size);
	return SP_OK;
}

/* Copies the rows of default_value in the order of the keys, which write_unique() has numbered. */
static sp_status spread_fallback(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	const sp_tensor *rows = call->in[(state->one_shape ? 4 : 5) * state->n + state->one_shape];
	const int32_t *numbers = call->out[2 * state->n + l->i]->data;
	size_t distinct = call->out[state->n + l->i]->count, dim = (size_t)state->dim;
	float *to;

	if (rows->count % dim != 0 || rows->count / dim < distinct)
		return sp_call_invalid(
			call, "%zu defaults are no rows of %zu for %zu distinct keys of lookup %zu",
			rows->count, dim, distinct, l->i);
	SP_CALL_BYTES(to, call, l->count, dim * sizeof(*to));
	for (size_t k = 0; k < l->count; k++)
		memcpy(to + k * dim, sp_tensor_f32(rows) + (size_t)numbers[k] * dim,
		       dim * sizeof(*to));
	l->fallback = to;
	return SP_OK;
}

/* The output row of key k; `last` is the row of the key before it. */
static sp_status find_place(const sp_call *call, const lookup *l, size_t k, int64_t last)
{
	const group_state *state = call->state;
	int64_t row = l->indices[k * l->stride];
	int64_t step = state->is_sequence ? l->indices[k * l->stride + 1] : 0;

	if (row < 0 || row >= l->batch || step < 0 || step >= l->steps)
		return sp_call_invalid(
			call, "index %zu of lookup %zu, [%lld,%lld], not in [%lld,%lld]", k, l->i,
			(long long)row, (long long)step, (long long)l->batch, (long long)l->steps);
	l->places[k] = row * l->steps + step;
	if (l->places[k] < last)
		return sp_call_invalid(call, "the indices of lookup %zu are not in order", l->i);
	return SP_OK;
}

/* Writes the output row of each key, the keys per output row, and their cumulative number. */
static sp_status write_counts(const sp_call *call, lookup *l)
{
	size_t output = 3 * ((const group_state *)call->state)->n + l->i;
	int32_t *up_to;

	SP_TRY(sp_call_output_vector(call, output, SP_INT32, l->batch));
	up_to = call->out[output]->data;
	if (l->batch != 0)
		memset(up_to, 0, (size_t)l->batch * sizeof(*up_to));
	for (size_t k = 0; k < l->count; k++) {
		SP_TRY(find_place(call, l, k, k == 0 ? 0 : l->places[k - 1]));
		l->pool.counts[l->places[k]]++;
		up_to[l->indices[k * l->stride]]++;
	}
	for (int64_t i = 1; i < l->batch; i++)
		up_to[i] += up_to[i - 1];
	return SP_OK;
}

static sp_status make_sparse(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	sp_shape shape = {.rank = 1, .dims = {l->batch}};
	size_t dim = (size_t)state->dim, places;
	int32_t *counts;

	if (state->is_sequence)
		shape.dims[shape.rank++] = l->steps;
	shape.dims[shape.rank++] = state->dim;
	SP_TRY(sp_call_output(call, l->i, SP_FLOAT, &shape));
	places = call->out[l->i]->count / dim;
	SP_CALL_ARRAY(counts, call, places);
	SP_CALL_ARRAY(l->places, call, l->count);
	sp_pool__init(&l->pool, call->out[l->i]->data, counts, places, dim);
	return write_counts(call, l);
}

static sp_status make_dense(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	sp_shape shape = call->in[state->n + l->i]->shape;

	SP_TRY(sp_array__rank(call, shape.rank + 1));
	shape.dims[shape.rank++] = state->dim;
	return sp_call_output(call, l->i, SP_FLOAT, &shape);
}

/* ------------------------------------------------------------------- lookups */

static void look_up_in_matrix(const sp_call *call, lookup *l)
{
	const group_state *state = call->state;
	const float *matrix = call->in[l->i]->data;
	size_t dim = (size_t)state->dim;

	for (size_t k = 0; k < l->count; k++) {
		const float *row = matrix + (size_t)l->keys[k] * dim;

		if (state->is_dense)
			memcpy((float *)call->out[l->i]->data + k * dim, row, dim * sizeof(*row));
		else
			sp_pool__sum(&l->pool, (size_t)l->places[k], row,
				     l->weights != NULL ? l->weights[k] : 1);
	}
}

/* Looks up in all tables at once; means are divided afterwards. */
static sp_status look_up_in_tables(const sp_call *call, const lookup *l,
				   const sp_table *const *tables)
{
	const group_state *state = call->state;
	sp_lookup *lookups = sp_call_bytes(call, state->n, sizeof(*lookups));
	sp_pooling *poolings = sp_call_bytes(call, state->n, sizeof(*poolings));

	if (lookups == NULL || poolings == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < state->n; i++) {
		poolings[i] = (sp_pooling){.combiner = SP_COMBINE_SUM,
					   .segments = l[i].places,
					   .weights = l[i].weights,
					   .segment_count = l[i].pool.count};
		lookups[i] = (sp_lookup){.table = tables[i],
					 .keys = l[i].keys,
					 .count = l[i].count,
					 .fallback = l[i].fallback,
					 .pooling = state->is_dense ? NULL : &poolings[i],
					 .rows = call->out[i]->data,
					 .stride = (size_t)state->dim};
	}
	return sp_embedding__look_up(call, lookups, state->n);
}

static sp_status run_group(const sp_call *call)
{
	const group_state *state = call->state;
	lookup *l = sp_call_bytes(call, state->n, sizeof(*l));
	const sp_table **tables = sp_call_bytes(call, state->n, sizeof(*tables));

	if (l == NULL || tables == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < state->n; i++) {
		l[i] = (lookup){.i = i, .count = call->in[state->n + i]->count};
		SP_TRY(read_keys(call, &l[i], &tables[i]));
		if (!state->is_dense)
			SP_TRY(read_sparse(call, &l[i]));
		SP_TRY(state->is_dense ? make_dense(call, &l[i]) : make_sparse(call, &l[i]));
		SP_TRY(write_unique(call, &l[i]));
		if (state->has_fallback)
			SP_TRY(spread_fallback(call, &l[i]));
	}
	if (!state->has_matrices)
		SP_TRY(look_up_in_tables(call, l, tables));
	for (size_t i = 0; i < state->n; i++) {
		if (state->has_matrices)
			look_up_in_matrix(call, &l[i]);
		if (!state->is_dense)
			sp_pool__finish(&l[i].pool, state->combiner);
	}
	return SP_OK;
}

#define DENSE_OUTPUTS  "output:num_lookups unique_keys:num_lookups unique_idx:num_lookups"
#define SPARSE_OUTPUTS DENSE_OUTPUTS " batch_nums:num_lookups"

SP_DEFINE_OP(GroupEmbeddingVarLookup, SPARSE_OUTPUTS, SP_OP_READS_VARIABLE, prepare_sparse,
	     run_group);
SP_DEFINE_OP(GroupEmbeddingVarLookupDense, DENSE_OUTPUTS, SP_OP_READS_VARIABLE, prepare_dense,
	     run_group);
SP_DEFINE_OP(GroupVariableLookup, SPARSE_OUTPUTS, 0, prepare_sparse, run_group);
SP_DEFINE_OP(GroupVariableLookupDense, DENSE_OUTPUTS, 0, prepare_dense, run_group);
