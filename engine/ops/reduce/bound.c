#include "engine/ops/array/array.h"

/*
 * LowerBound, UpperBound: for each value the first position in the same row of `sorted_inputs`
 * whose element is >= the value (LowerBound) or > the value (UpperBound); n when there is none.
 *
 *     sorted_inputs [batch, n]   each row sorted
 *     values        [batch, m]
 *     output        [batch, m]   int32 or int64
 */

typedef struct bound_state {
	bool upper;
	sp_dtype out_dtype;
} bound_state;

static sp_status prepare(sp_prepare *prepare, bool upper, sp_error *err)
{
	bound_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->upper = upper;
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_array__same_dtype(prepare, 0, 2, err));
	SP_TRY(sp_array__index_type(prepare, "out_type", SP_INT32, &state->out_dtype, err));
	dtype = prepare->in_dtypes[0];
	if (!sp_dtype_is_integer(dtype) && !sp_dtype_is_floating(dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, state->out_dtype, err);
}

static sp_status prepare_lower(sp_prepare *p, sp_error *err)
{
	return prepare(p, false, err);
}

static sp_status prepare_upper(sp_prepare *p, sp_error *err)
{
	return prepare(p, true, err);
}

/* Searches one value in a row; `load` converts an element to a comparable number. */
#define BOUND(T, load)                                                      \
	do {                                                                \
		const T *row = (const T *)sorted->data + row_at;            \
		const T x = ((const T *)values->data)[i];                   \
                                                                            \
		while (first < last) {                                      \
			size_t middle = first + (last - first) / 2;         \
			bool after = upper ? !(load(x) < load(row[middle])) \
					   : load(row[middle]) < load(x);   \
                                                                            \
			if (after)                                          \
				first = middle + 1;                         \
			else                                                \
				last = middle;                              \
		}                                                           \
	} while (0)

#define PLAIN(x) (x)

/* The bound of element i of `values` in the row of n elements that begins at row_at. */
static size_t find(const sp_tensor *sorted, size_t row_at, size_t n, const sp_tensor *values,
		   size_t i, bool upper)
{
	size_t first = 0, last = n;

	switch (sorted->dtype) {
	case SP_FLOAT:
		BOUND(float, PLAIN);
		break;
	case SP_DOUBLE:
		BOUND(double, PLAIN);
		break;
	case SP_HALF:
		BOUND(uint16_t, sp_half_to_float);
		break;
	case SP_BFLOAT16:
		BOUND(uint16_t, sp_bfloat16_to_float);
		break;
	case SP_INT8:
		BOUND(int8_t, PLAIN);
		break;
	case SP_INT16:
		BOUND(int16_t, PLAIN);
		break;
	case SP_INT32:
		BOUND(int32_t, PLAIN);
		break;
	case SP_INT64:
		BOUND(int64_t, PLAIN);
		break;
	case SP_UINT8:
		BOUND(uint8_t, PLAIN);
		break;
	case SP_UINT16:
		BOUND(uint16_t, PLAIN);
		break;
	case SP_UINT32:
		BOUND(uint32_t, PLAIN);
		break;
	default:
		BOUND(uint64_t, PLAIN);
		break;
	}
	return first;
}

static sp_status run(const sp_call *call)
{
	const bound_state *state = call->state;
	const sp_tensor *sorted = call->in[0], *values = call->in[1];
	size_t n, m;

	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 2));
	if (sorted->shape.dims[0] != values->shape.dims[0])
		return sp_call_invalid(call, "sorted_inputs has %lld rows, values has %lld",
				       (long long)sorted->shape.dims[0],
				       (long long)values->shape.dims[0]);
	if (state->out_dtype == SP_INT32 &&
	    (sorted->shape.dims[1] > INT32_MAX || values->count > INT32_MAX))
		return sp_call_invalid(call, "the inputs are too large for int32 positions");
	n = (size_t)sorted->shape.dims[1];
	m = (size_t)values->shape.dims[1];
	SP_TRY(sp_call_output(call, 0, state->out_dtype, &values->shape));
	for (size_t i = 0; i < values->count; i++)
		sp_array__put_index(call->out[0], i,
				    (int64_t)find(sorted, i / m * n, n, values, i, state->upper));
	return SP_OK;
}

const sp_op sp_op_LowerBound = {.name = "LowerBound", .prepare = prepare_lower, .run = run};
const sp_op sp_op_UpperBound = {.name = "UpperBound", .prepare = prepare_upper, .run = run};
