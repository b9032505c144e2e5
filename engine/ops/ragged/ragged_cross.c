#include "engine/ops/sparse/cross.h"

#include <string.h>

#include "engine/ops/ragged/ragged.h"

/*
 * RaggedCross: crosses features of ragged, sparse and dense columns (engine/ops/sparse/cross.h)
 * into a ragged tensor: values and row splits.
 */
typedef struct ragged_cross_state {
	size_t ragged, sparse, dense; /* number of columns; their inputs come in this order */
	sp_bytes order;               /* 'R', 'S' or 'D' of each column */
	sp_dtype values, splits;      /* of the output */
	uint64_t key;
	int64_t buckets;
} ragged_cross_state;

/* ----------------------------------------------------------------- reading */

static sp_status read_ragged(const sp_call *call, size_t i, sp_cross_column *c, int64_t *batch)
{
	const ragged_cross_state *state = call->state;
	sp_splits splits;

	c->values = call->in[i];
	if (c->values->shape.rank != 1)
		return sp_call_invalid(call, "tf.ragged.cross only supports inputs with rank=2.");
	SP_TRY(sp_splits__read(call, state->ragged + i, c->values->shape.dims[0], true, &splits));
	c->starts = splits.at;
	*batch = (int64_t)splits.rows;
	return SP_OK;
}

/*
 * Finds where each row's features begin.  A feature whose row number is below its predecessor's
 * counts for the row of the predecessor.
 */
static sp_status find_rows(const sp_call *call, const sp_tensor *indices, int64_t batch,
			   const int64_t **out)
{
	int64_t *starts = sp_call_bytes(call, (size_t)batch + 1, sizeof(*starts));
	int64_t at = 0, count = indices->shape.dims[0];

	if (starts == NULL)
		return sp_call_no_memory(call);
	starts[0] = 0;
	for (int64_t row = 0; row < batch; row++) {
		while (at < count && sp_tensor_i64(indices)[2 * at] <= row)
			at++;
		starts[row + 1] = at;
	}
	*out = starts;
	return SP_OK;
}

static sp_status read_sparse(const sp_call *call, size_t i, sp_cross_column *c, int64_t *batch)
{
	const ragged_cross_state *state = call->state;
	const sp_tensor *const *in = call->in + 2 * state->ragged + i;
	const sp_tensor *indices = in[0], *shape = in[2 * state->sparse];

	c->values = in[state->sparse];
	if (indices->shape.rank != 2 || indices->shape.dims[1] != 2 || c->values->shape.rank != 1 ||
	    c->values->shape.dims[0] != indices->shape.dims[0] || shape->shape.rank != 1 ||
	    shape->count != 2)
		return sp_call_invalid(call, "Invalid SparseTensor %zu", i);
	*batch = sp_tensor_i64(shape)[0];
	if (*batch < 0 || *batch == INT64_MAX)
		return sp_call_invalid(call, "a batch of %lld rows", (long long)*batch);
	return find_rows(call, indices, *batch, &c->starts);
}

static sp_status read_dense(const sp_call *call, size_t i, sp_cross_column *c, int64_t *batch)
{
	const ragged_cross_state *state = call->state;

	c->values = call->in[2 * state->ragged + 3 * state->sparse + i];
	if (c->values->shape.rank != 2)
		return sp_call_invalid(call, "tf.ragged.cross only supports inputs with rank=2.");
	c->width = (size_t)c->values->shape.dims[1];
	*batch = c->values->shape.dims[0];
	return SP_OK;
}

static sp_status read_columns(const sp_call *call, sp_cross *x)
{
	const ragged_cross_state *state = call->state;
	size_t ragged = 0, sparse = 0, dense = 0;
	int64_t batch = 0;

	for (size_t i = 0; i < x->count; i++) {
		sp_cross_column *c = &x->columns[i];

		*c = (sp_cross_column){.width = 0};
		if (state->order.data[i] == 'R')
			SP_TRY(read_ragged(call, ragged++, c, &batch));
		else if (state->order.data[i] == 'S')
			SP_TRY(read_sparse(call, sparse++, c, &batch));
		else
			SP_TRY(read_dense(call, dense++, c, &batch));
		if (i > 0 && batch != x->batch)
			return sp_call_invalid(call, "inputs must all have the same batch "
						     "dimension size.");
		x->batch = batch;
	}
	return SP_OK;
}

/* ---------------------------------------------------------------- crossing */

static sp_status run_cross(const sp_call *call)
{
	const ragged_cross_state *state = call->state;
	sp_cross x = {.joined = state->values == SP_STRING,
		      .keyed = true,
		      .separator = {"_X_", 3},
		      .key = state->key,
		      .buckets = state->buckets};
	sp_shape shape;
	size_t first, n;

	SP_TRY(sp_cross__columns(call, &x, state->order.size));
	SP_TRY(read_columns(call, &x));
	SP_TRY(sp_cross__begin(call, &x));
	SP_TRY(sp_splits__create(call, 1, state->splits, (size_t)x.batch));
	for (int64_t row = 0; row < x.batch; row++) {
		SP_TRY(sp_cross__count(call, &x, row, &n));
		SP_TRY(sp_splits__append(call, 1, (size_t)row, (int64_t)n));
	}
	shape = sp_shape_vector(sp_tensor_index(call->out[1], (size_t)x.batch));
	SP_TRY(sp_call_output(call, 0, state->values, &shape));
	for (int64_t row = 0; row < x.batch; row++) {
		first = (size_t)sp_tensor_index(call->out[1], (size_t)row);
		n = (size_t)sp_tensor_index(call->out[1], (size_t)row + 1) - first;
		SP_TRY(sp_cross__write(call, &x, row, n, call->out[0]->data, first));
	}
	return SP_OK;
}

/* --------------------------------------------------------------- preparing */

static sp_status check_feature(const sp_prepare *prepare, size_t i, sp_error *err)
{
	if (prepare->in_dtypes[i] == SP_STRING)
		return SP_OK;
	return sp_prepare_input_dtype(prepare, i, SP_INT64, err);
}

static sp_status check_inputs(const sp_prepare *prepare, const ragged_cross_state *state,
			      sp_error *err)
{
	size_t i = 0;

	SP_TRY(sp_prepare_inputs(prepare, 2 * state->ragged + 3 * state->sparse + state->dense,
				 err));
	for (size_t k = 0; k < state->ragged; k++)
		SP_TRY(check_feature(prepare, i++, err));
	for (size_t k = 0; k < state->ragged; k++)
		SP_TRY(sp_prepare_input_index(prepare, i++, err));
	for (size_t k = 0; k < state->sparse; k++)
		SP_TRY(sp_prepare_input_dtype(prepare, i++, SP_INT64, err));
	for (size_t k = 0; k < state->sparse; k++)
		SP_TRY(check_feature(prepare, i++, err));
	for (size_t k = 0; k < state->sparse; k++)
		SP_TRY(sp_prepare_input_dtype(prepare, i++, SP_INT64, err));
	for (size_t k = 0; k < state->dense; k++)
		SP_TRY(check_feature(prepare, i++, err));
	return SP_OK;
}

/* Counts the columns of each kind in `order`. */
static sp_status count_columns(ragged_cross_state *state, sp_error *err)
{
	for (size_t i = 0; i < state->order.size; i++) {
		switch (state->order.data[i]) {
		case 'R':
			state->ragged++;
			break;
		case 'S':
			state->sparse++;
			break;
		case 'D':
			state->dense++;
			break;
		default:
			return sp_error_set(err, SP_INVALID,
					    "input_order of RaggedCross has another letter than "
					    "R, S and D");
		}
	}
	return SP_OK;
}

static sp_status prepare_cross(sp_prepare *prepare, sp_error *err)
{
	ragged_cross_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t key;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for RaggedCross");
	SP_TRY(sp_node_attr_bytes(prepare->node, "input_order", "", &state->order, err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_buckets", 0, &state->buckets, err));
	SP_TRY(sp_node_attr_int(prepare->node, "hash_key", 0, &key, err));
	SP_TRY(sp_node_attr_type(prepare->node, "out_values_type", SP_INVALID_DTYPE, &state->values,
				 err));
	SP_TRY(sp_node_attr_type(prepare->node, "out_row_splits_type", SP_INVALID_DTYPE,
				 &state->splits, err));
	state->key = (uint64_t)key;
	if (state->values != SP_INT64 && state->values != SP_STRING)
		return sp_prepare_unsupported(prepare, state->values, err);
	if (state->splits != SP_INT64 && state->splits != SP_INT32)
		return sp_prepare_unsupported(prepare, state->splits, err);
	SP_TRY(count_columns(state, err));
	SP_TRY(check_inputs(prepare, state, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, state->values, err));
	prepare->out_dtypes[1] = state->splits;
	return SP_OK;
}

SP_DEFINE_OP(RaggedCross, "output_values output_row_splits", 0, prepare_cross, run_cross);
