#include "engine/ops/array/elements.h"
#include "engine/ops/array/strided_copy.h"

/*
 * XlaPad: inserts `padding_value` before (padding_low), after (padding_high) and between
 * (padding_interior) the elements of `input`, a number of times for each dimension.  The first two
 * may be negative: then that many elements are removed, including interior padding.
 *
 *     input, padding_value scalar, padding_low, padding_high, padding_interior [rank]
 *
 * Source: pad of the StableHLO specification.
 */

static sp_status need_paddings(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 1, 0));
	for (size_t i = 2; i < 5; i++) {
		SP_TRY(sp_call_need_rank(call, i, 1));
		if (call->in[i]->count != (size_t)call->in[0]->shape.rank)
			return sp_call_invalid(call, "%zu paddings for rank %d", call->in[i]->count,
					       call->in[0]->shape.rank);
	}
	return SP_OK;
}

/*
 * One dimension: its size in the output, the range of input elements that are kept (first, kept),
 * and the output index of the first of them.
 */
typedef struct padding {
	int64_t dim, first, kept, at;
} padding;

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

static sp_status plan(const sp_call *call, int d, int64_t *step, padding *out)
{
	int64_t dim = call->in[0]->shape.dims[d];
	int64_t low = sp_tensor_index(call->in[2], (size_t)d);
	int64_t high = sp_tensor_index(call->in[3], (size_t)d);
	int64_t interior = sp_tensor_index(call->in[4], (size_t)d);
	int64_t spread, end;

	if (interior < 0)
		return sp_call_invalid(call, "interior padding of dimension %d is %lld", d,
				       (long long)interior);
	if (__builtin_add_overflow(interior, 1, step) ||
	    __builtin_mul_overflow(dim > 0 ? dim - 1 : 0, *step, &spread) ||
	    __builtin_add_overflow(spread, dim > 0, &spread) ||
	    __builtin_add_overflow(spread, low, &end) ||
	    __builtin_add_overflow(end, high, &out->dim) || low < -INT64_MAX)
		return sp_call_invalid(call, "the padding of dimension %d is too large", d);
	if (out->dim < 0)
		return sp_call_invalid(call, "dimension %d of %lld is padded by %lld and %lld", d,
				       (long long)dim, (long long)low, (long long)high);
	out->first = low < 0 ? ceil_div(-low, *step) : 0;
	out->kept = 0;
	if (out->first >= dim)
		return SP_OK;
	out->at = low + out->first * *step;
	if (out->at < out->dim)
		out->kept = ceil_div(out->dim - out->at, *step);
	if (out->kept > dim - out->first)
		out->kept = dim - out->first;
	return SP_OK;
}

static sp_status run_pad(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	int rank = in->shape.rank;
	int64_t from[SP_MAX_RANK], to[SP_MAX_RANK], steps[SP_MAX_RANK];
	int64_t from_at = 0, to_at = 0;
	padding paddings[SP_MAX_RANK];
	sp_shape shape = {.rank = rank};
	sp_strided_copy strided = {.rank = 0};
	bool covered = true;

	SP_TRY(need_paddings(call));
	for (int d = 0; d < rank; d++) {
		SP_TRY(plan(call, d, &steps[d], &paddings[d]));
		shape.dims[d] = paddings[d].dim;
		covered &= paddings[d].kept == paddings[d].dim;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	if (!covered)
		sp_elements__fill(call->out[0]->data, call->out[0]->count, call->in[1]->data, size);
	for (int d = 0; d < rank; d++)
		if (paddings[d].kept == 0)
			return SP_OK;
	sp_strided_copy__strides(&in->shape, size, from);
	sp_strided_copy__strides(&shape, size, to);
	for (int d = 0; d < rank; d++) {
		from_at += paddings[d].first * from[d];
		to_at += paddings[d].at * to[d];
		/* The distance to the next element, if there is none, may overflow. */
		sp_strided_copy__add(&strided, paddings[d].kept,
				     paddings[d].kept > 1 ? to[d] * steps[d] : 0, from[d]);
	}
	sp_strided_copy__run(&strided, (char *)call->out[0]->data + to_at,
			     (const char *)in->data + from_at, size);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(XlaPad, NULL, 0, "E E index index index -> E", run_pad);
