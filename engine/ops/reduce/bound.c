#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/element_types.h"

/*
 * LowerBound, UpperBound: for each value the first position in the same row of `sorted_inputs`
 * whose element is >= the value (LowerBound) or > the value (UpperBound); n when there is none.
 *
 *     sorted_inputs [batch, n]   each row sorted
 *     values        [batch, m]
 *     output        [batch, m]   int32 or int64
 */

/* The bound of element i of `values` in the row of n elements at `sorted`. */
typedef size_t bound_fn(const void *sorted, size_t n, const void *values, size_t i, bool upper);

#define BOUND(type, name)                                                                       \
	static size_t name##_##type(const void *sorted, size_t n, const void *values, size_t i, \
				    bool upper)                                                 \
	{                                                                                       \
		const sp_element_##type *row = sorted;                                          \
		sp_value_##type x = SP_LOAD_##type(((const sp_element_##type *)values)[i]);     \
		size_t first = 0, last = n;                                                     \
                                                                                                \
		while (first < last) {                                                          \
			size_t middle = first + (last - first) / 2;                             \
			sp_value_##type y = SP_LOAD_##type(row[middle]);                        \
                                                                                                \
			if (upper ? !(x < y) : y < x)                                           \
				first = middle + 1;                                             \
			else                                                                    \
				last = middle;                                                  \
		}                                                                               \
		return first;                                                                   \
	}

SP_FOR_NUMBER(BOUND, bound)

static bound_fn *const bounds[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(bound)};

typedef struct bound_state {
	bound_fn *find;
	bool upper;
	sp_dtype out_dtype;
} bound_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	bound_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->upper = prepare->node->op == &sp_op_UpperBound;
	SP_TRY(sp_prepare_types(prepare, "T T", err));
	SP_TRY(sp_array__index_type(prepare, "out_type", SP_INT32, &state->out_dtype, err));
	state->find = bounds[prepare->in_dtypes[0]];
	if (state->find == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, state->out_dtype, err);
}

static sp_status run(const sp_call *call)
{
	const bound_state *state = call->state;
	const sp_tensor *sorted = call->in[0], *values = call->in[1];
	size_t n, m, row;

	SP_TRY(sp_call_need_rank(call, 0, 2));
	SP_TRY(sp_call_need_rank(call, 1, 2));
	if (sorted->shape.dims[0] != values->shape.dims[0])
		return sp_call_invalid(call, "sorted_inputs has %lld rows, values has %lld",
				       (long long)sorted->shape.dims[0],
				       (long long)values->shape.dims[0]);
	if (state->out_dtype == SP_INT32 &&
	    (sorted->shape.dims[1] > INT32_MAX || values->count > INT32_MAX))
		return sp_call_invalid(call, "the inputs are too large for int32 positions");
	n = (size_t)sorted->shape.dims[1];
	m = (size_t)values->shape.dims[1];
	row = n * sp_dtype_size(sorted->dtype);
	SP_TRY(sp_call_output(call, 0, state->out_dtype, &values->shape));
	for (size_t i = 0; i < values->count; i++)
		sp_array__put_index(call->out[0], i,
				    (int64_t)state->find((const char *)sorted->data + i / m * row,
							 n, values->data, i, state->upper));
	return SP_OK;
}

SP_DEFINE_OP(LowerBound, NULL, 0, prepare, run);
SP_DEFINE_OP(UpperBound, NULL, 0, prepare, run);
