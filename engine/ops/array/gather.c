#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"

/*
 * GatherV2: slices of `params` along `axis`, one per index.
 *
 *     params  [batch..., outer..., n, inner...]
 *     indices [batch..., picks...]         int32 or int64, in [0, n)
 *     output  [batch..., outer..., picks..., inner...]
 *
 * `axis` is the dimension of n; the first batch_dims dimensions are shared.  Gather has axis 0.  An
 * index out of range is an error, as on TensorFlow's CPU; all indices are checked before anything
 * is copied.
 */

typedef struct gather_state {
	int64_t batch_dims;
} gather_state;

typedef struct gather_plan {
	sp_shape shape; /* of the output */
	size_t batch, outer, n, picks;
	size_t row; /* bytes of inner */
} gather_plan;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	gather_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_node_attr_int(prepare->node, "batch_dims", 0, &state->batch_dims, err));
	return sp_prepare_types(prepare, "E S index -> E", err);
}

static sp_status check_batch(const sp_call *call, const sp_shape *params, const sp_shape *indices,
			     int axis, int64_t *batch_dims)
{
	int64_t wanted = *batch_dims, n = wanted < 0 ? wanted + indices->rank : wanted;

	if (wanted < -indices->rank || n > indices->rank)
		return sp_call_invalid(call, "batch_dims %lld is not in [%d, %d]",
				       (long long)wanted, -indices->rank, indices->rank);
	if (n > axis)
		return sp_call_invalid(call, "batch_dims %lld is above axis %d", (long long)n,
				       axis);
	for (int d = 0; d < n; d++)
		if (params->dims[d] != indices->dims[d])
			return sp_call_invalid(call, "batch dimension %d is %lld, in indices %lld",
					       d, (long long)params->dims[d],
					       (long long)indices->dims[d]);
	*batch_dims = n;
	return SP_OK;
}

static void add_dims(sp_shape *out, const sp_shape *from, int first, int last)
{
	memcpy(out->dims + out->rank, from->dims + first,
	       (size_t)(last - first) * sizeof(out->dims[0]));
	out->rank += last - first;
}

static sp_status make_plan(const sp_call *call, int64_t wanted_axis, int64_t batch_dims,
			   gather_plan *plan)
{
	const sp_shape *params = &call->in[0]->shape, *indices = &call->in[1]->shape;
	int axis, batch;

	if (params->rank == 0)
		return sp_call_invalid(call, "params must have a dimension to gather from");
	SP_TRY(sp_call_axis(call, wanted_axis, params->rank, &axis));
	SP_TRY(check_batch(call, params, indices, axis, &batch_dims));
	batch = (int)batch_dims;
	SP_TRY(sp_array__rank(call, params->rank - 1 + indices->rank - batch));
	plan->shape.rank = 0;
	add_dims(&plan->shape, params, 0, axis);
	add_dims(&plan->shape, indices, batch, indices->rank);
	add_dims(&plan->shape, params, axis + 1, params->rank);
	plan->batch = (size_t)sp_shape_product(params, 0, batch);
	plan->outer = (size_t)sp_shape_product(params, batch, axis);
	plan->n = (size_t)params->dims[axis];
	plan->picks = (size_t)sp_shape_product(indices, batch, indices->rank);
	plan->row = (size_t)sp_shape_product(params, axis + 1, params->rank) *
		    sp_dtype_size(call->in[0]->dtype);
	return SP_OK;
}

/* The compiler vectorises this; on failure the caller searches for the offending index. */
static bool all_below(const sp_tensor *indices, uint64_t limit)
{
	unsigned bad = 0;

	if (indices->dtype == SP_INT32) {
		const int32_t *index = indices->data;
		uint32_t narrow = limit <= INT32_MAX ? (uint32_t)limit : (uint32_t)INT32_MAX + 1;

		for (size_t i = 0; i < indices->count; i++)
			bad |= (uint32_t)index[i] >= narrow;
	} else {
		const int64_t *index = indices->data;

		for (size_t i = 0; i < indices->count; i++)
			bad |= (uint64_t)index[i] >= limit;
	}
	return bad == 0;
}

static sp_status check_indices(const sp_call *call, const sp_tensor *indices, size_t limit)
{
	if (all_below(indices, limit))
		return SP_OK;
	for (size_t i = 0; i < indices->count; i++)
		if ((uint64_t)sp_tensor_index(indices, i) >= limit)
			return sp_call_invalid(call, "indices[%zu] is %lld, not in [0, %zu)", i,
					       (long long)sp_tensor_index(indices, i), limit);
	return SP_OK;
}

/*
 * Rows are at random addresses of a large table, so each one is prefetched a few steps before it is
 * copied. Inlined per size, so that small rows are single moves.
 */
static inline __attribute__((always_inline)) void copy_rows(char *to, const char *from,
							    const sp_tensor *indices, size_t first,
							    size_t picks, size_t row)
{
	enum { AHEAD = 8, LINE = 64, LINES = 4 };

	for (size_t i = 0; i < picks; i++) {
		if (i + AHEAD < picks) {
			const char *next = from +
					   (size_t)sp_tensor_index(indices, first + i + AHEAD) *
						   row;

			for (size_t k = 0; k < LINES && k * LINE < row; k++)
				__builtin_prefetch(next + k * LINE);
		}
		memcpy(to + i * row, from + (size_t)sp_tensor_index(indices, first + i) * row, row);
	}
}

static void gather(char *to, const char *from, const sp_tensor *indices, size_t first, size_t picks,
		   size_t row)
{
	switch (row) {
	case 4:
		copy_rows(to, from, indices, first, picks, 4);
		break;
	case 8:
		copy_rows(to, from, indices, first, picks, 8);
		break;
	case 16:
		copy_rows(to, from, indices, first, picks, 16);
		break;
	case 32:
		copy_rows(to, from, indices, first, picks, 32);
		break;
	case 64:
		copy_rows(to, from, indices, first, picks, 64);
		break;
	default:
		copy_rows(to, from, indices, first, picks, row);
		break;
	}
}

/* Widens int16 indices to int64. */
static sp_status widen(const sp_call *call, sp_tensor *out)
{
	const int64_t *wide;

	SP_TRY(sp_elements__widen(call, call->in[1], &wide));
	*out = *call->in[1];
	out->dtype = SP_INT64;
	out->data = (void *)wide;
	return SP_OK;
}

static sp_status run(const sp_call *call, int64_t axis, int64_t batch_dims)
{
	const sp_tensor *params = call->in[0], *indices = call->in[1];
	sp_tensor widened;
	gather_plan plan;

	SP_TRY(make_plan(call, axis, batch_dims, &plan));
	SP_TRY(sp_call_output(call, 0, params->dtype, &plan.shape));
	if (indices->count == 0 || plan.outer == 0 || plan.row == 0)
		return SP_OK;
	if (indices->dtype == SP_INT16) {
		SP_TRY(widen(call, &widened));
		indices = &widened;
	}
	SP_TRY(check_indices(call, indices, plan.n));
	for (size_t i = 0; i < plan.batch * plan.outer; i++)
		gather((char *)call->out[0]->data + i * plan.picks * plan.row,
		       (const char *)params->data + i * plan.n * plan.row, indices,
		       i / plan.outer * plan.picks, plan.picks, plan.row);
	return SP_OK;
}

static sp_status run_gather(const sp_call *call)
{
	return run(call, 0, 0);
}

static sp_status run_gather_v2(const sp_call *call)
{
	const gather_state *state = call->state;

	SP_TRY(sp_call_need_rank(call, 2, 0));
	return run(call, sp_tensor_index(call->in[2], 0), state->batch_dims);
}

SP_DEFINE_TYPED_OP(Gather, NULL, SP_OP_MOVES, "E S -> E", run_gather);
SP_DEFINE_OP(GatherV2, NULL, SP_OP_MOVES, prepare, run_gather_v2);
