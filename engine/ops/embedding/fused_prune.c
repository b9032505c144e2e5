#include <string.h>

#include "engine/ops/array/array.h"

/*
 * PruneInvalidAndFillEmptyRows of DeepRec: a sparse tensor of ids without its negative ones, and
 * with default_id (0 when it is negative) at its end for every row without ids.
 *
 * The later releases take weights (use_sparse_weights; with prune_sparse_weights, ids whose weights
 * are not positive are dropped as well) and output bools that mark rows which were empty.  The
 * earlier ones output int32 flags, followed by one per id: 0 if it was dropped.  The attribute to
 * drop ids was called prune_invalid_id, then prune_invalid, and is called prune now.
 */
typedef struct prune_state {
	bool fill, prune, has_weights, prune_weights;
	bool earlier; /* an earlier release */
	int64_t default_id;
	float default_weight;
} prune_state;

static sp_status read_prune(const sp_node *node, bool *out, sp_error *err)
{
	static const char *const names[] = {"prune_invalid_id", "prune_invalid", "prune"};

	*out = false;
	for (size_t i = 0; i < 3; i++)
		SP_TRY(sp_node_attr_bool(node, names[i], *out, out, err));
	return SP_OK;
}

static sp_status prepare_prune(sp_prepare *prepare, sp_error *err)
{
	prune_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;

	SP_NEED_MEMORY(state, err, "an operator");
	state->earlier = prepare->in_count == 3;
	SP_TRY(sp_prepare_types(prepare,
				state->earlier
					? "int64 int64 int64 -> int64 int64 int32"
					: "int64 int64 int64 float -> int64 int64 float bool",
				err));
	SP_TRY(sp_node_attr_bool(node, "fill_empty_row", false, &state->fill, err));
	SP_TRY(read_prune(node, &state->prune, err));
	SP_TRY(sp_node_attr_int(node, "default_id", -1, &state->default_id, err));
	if (state->default_id < 0)
		state->default_id = 0;
	if (state->earlier)
		return SP_OK;
	SP_TRY(sp_node_attr_bool(node, "use_sparse_weights", false, &state->has_weights, err));
	SP_TRY(sp_node_attr_bool(node, "prune_sparse_weights", false, &state->prune_weights, err));
	state->prune_weights = state->prune_weights && state->prune;
	return sp_node_attr_float(node, "default_weight", 1, &state->default_weight, err);
}

/* The sparse tensor, and which of it is kept. */
typedef struct pruned {
	const int64_t *ids, *indices;
	const float *weights; /* or NULL */
	size_t count;
	int64_t batch;
	bool *stays;    /* [count] */
	bool *is_empty; /* [batch] */
	int64_t kept, filled;
} pruned;

static sp_status read_input(const sp_call *call, pruned *p)
{
	const prune_state *state = call->state;
	const sp_tensor *ids = call->in[0], *indices = call->in[1], *shape = call->in[2];

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 2));
	SP_TRY(sp_call_need_rank(call, 2, 1));
	if (indices->shape.dims[0] != (int64_t)ids->count || indices->shape.dims[1] != 2)
		return sp_call_invalid(call, "indices of [%lld,%lld] for %zu ids",
				       (long long)indices->shape.dims[0],
				       (long long)indices->shape.dims[1], ids->count);
	if (shape->count == 0 || sp_tensor_i64(shape)[0] < 0)
		return sp_call_invalid(call, "the dense shape has no number of rows");
	if (state->has_weights && call->in[3]->count != ids->count)
		return sp_call_invalid(call, "%zu weights for %zu ids", call->in[3]->count,
				       ids->count);
	*p = (pruned){.ids = ids->data,
		      .indices = indices->data,
		      .weights = state->has_weights ? call->in[3]->data : NULL,
		      .count = ids->count,
		      .batch = sp_tensor_i64(shape)[0]};
	p->stays = sp_call_bytes(call, p->count, sizeof(*p->stays));
	p->is_empty = sp_call_bytes(call, (size_t)p->batch, sizeof(*p->is_empty));
	return p->stays == NULL || p->is_empty == NULL ? sp_call_no_memory(call) : SP_OK;
}

static sp_status decide(const sp_call *call, pruned *p)
{
	const prune_state *state = call->state;

	memset(p->is_empty, true, (size_t)p->batch);
	for (size_t k = 0; k < p->count; k++) {
		int64_t row = p->indices[2 * k];

		if (row < 0 || row >= p->batch)
			return sp_call_invalid(call, "index %zu is of row %lld, not below %lld", k,
					       (long long)row, (long long)p->batch);
		p->stays[k] = !(state->prune && p->ids[k] < 0) &&
			      !(state->prune_weights && p->weights != NULL && !(p->weights[k] > 0));
		if (p->stays[k])
			p->is_empty[row] = false;
		p->kept += p->stays[k];
	}
	for (int64_t row = 0; state->fill && row < p->batch; row++)
		p->filled += p->is_empty[row];
	return SP_OK;
}

static sp_status write_ids(const sp_call *call, const pruned *p)
{
	const prune_state *state = call->state;
	int64_t *ids, *indices;

	SP_TRY(sp_call_output_vector(call, 0, SP_INT64, p->kept + p->filled));
	SP_TRY(sp_call_output_matrix(call, 1, SP_INT64, p->kept + p->filled, 2));
	ids = call->out[0]->data;
	indices = call->out[1]->data;
	for (size_t k = 0; k < p->count; k++) {
		if (!p->stays[k])
			continue;
		*ids++ = p->ids[k];
		*indices++ = p->indices[2 * k];
		*indices++ = p->indices[2 * k + 1];
	}
	for (int64_t row = 0; p->filled != 0 && row < p->batch; row++) {
		if (!p->is_empty[row])
			continue;
		*ids++ = state->default_id;
		*indices++ = row;
		*indices++ = 0;
	}
	return SP_OK;
}

static sp_status write_weights(const sp_call *call, const pruned *p)
{
	const prune_state *state = call->state;
	sp_shape shape = sp_shape_vector(p->weights != NULL ? p->kept + p->filled : 0);
	float *weights;

	SP_TRY(sp_call_output(call, 2, SP_FLOAT, &shape));
	if (p->weights == NULL)
		return SP_OK;
	weights = call->out[2]->data;
	for (size_t k = 0; k < p->count; k++)
		if (p->stays[k])
			*weights++ = p->weights[k];
	for (int64_t i = 0; i < p->filled; i++)
		*weights++ = state->default_weight;
	return SP_OK;
}

static sp_status write_flags(const sp_call *call, const pruned *p)
{
	const prune_state *state = call->state;
	int32_t *flags;

	if (!state->earlier) {
		SP_TRY(sp_call_output_vector(call, 3, SP_BOOL, p->batch));
		for (int64_t row = 0; row < p->batch; row++)
			sp_tensor_bool(call->out[3])[row] = p->is_empty[row];
		return SP_OK;
	}
	SP_TRY(sp_call_output_vector(call, 2, SP_INT32, p->batch + (int64_t)p->count));
	flags = call->out[2]->data;
	for (int64_t row = 0; row < p->batch; row++)
		*flags++ = state->fill && p->is_empty[row];
	for (size_t k = 0; k < p->count; k++)
		*flags++ = p->stays[k];
	return SP_OK;
}

static sp_status run_prune(const sp_call *call)
{
	const prune_state *state = call->state;
	pruned p = {0};

	SP_TRY(read_input(call, &p));
	SP_TRY(decide(call, &p));
	SP_TRY(write_ids(call, &p));
	if (!state->earlier)
		SP_TRY(write_weights(call, &p));
	return write_flags(call, &p);
}

SP_DEFINE_OP(PruneInvalidAndFillEmptyRows,
	     "sp_values_out sp_indices_out sp_weights_values_out is_row_empty", 0, prepare_prune,
	     run_prune);
