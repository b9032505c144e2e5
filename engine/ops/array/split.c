#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"

/*
 * Split: equal parts along an axis (the first input).  SplitV: parts of given sizes (the second
 * input), one of which may be -1: the rest.
 */

/* Split: split_dim, value. */
static sp_status prepare_split(sp_prepare *prepare, sp_error *err)
{
	size_t num;

	SP_TRY(sp_prepare_types(prepare, "int32 E", err));
	SP_TRY(sp_array__output_count(prepare, "num_split", &num, err));
	return sp_prepare_outputs(prepare, num, prepare->in_dtypes[1], err);
}

/* SplitV: value, size_splits, split_dim. */
static sp_status prepare_split_v(sp_prepare *prepare, sp_error *err)
{
	size_t num;

	SP_TRY(sp_prepare_types(prepare, "E any int32", err));
	if (prepare->in_dtypes[1] != SP_INT8)
		SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_array__output_count(prepare, "num_split", &num, err));
	return sp_prepare_outputs(prepare, num, prepare->in_dtypes[0], err);
}

/* Output i becomes `part` elements of input `from` along `axis`, from `first` on. */
static sp_status take_part(const sp_call *call, size_t i, size_t from, int axis, int64_t first,
			   int64_t part)
{
	const sp_tensor *in = call->in[from];
	size_t size = sp_dtype_size(in->dtype);
	sp_shape shape = in->shape;
	int64_t inner, row;
	sp_strided_copy plan = {.rank = 1};

	shape.dims[axis] = part;
	SP_TRY(sp_call_output(call, i, in->dtype, &shape));
	if (call->out[i]->count == 0)
		return SP_OK;
	inner = sp_shape_product(&shape, axis + 1, shape.rank) * (int64_t)size;
	row = in->shape.dims[axis] * inner;
	plan.dims[0] = sp_shape_product(&shape, 0, axis);
	plan.to[0] = part * inner;
	plan.from[0] = row;
	sp_strided_copy__run(&plan, call->out[i]->data, (const char *)in->data + first * inner,
			     (size_t)(part * inner));
	return SP_OK;
}

static sp_status read_axis(const sp_call *call, size_t input, int rank, int *axis)
{
	int64_t wanted;

	SP_TRY(sp_call_need_rank(call, input, 0));
	SP_TRY(sp_call_scalar(call, input, &wanted));
	return sp_call_axis(call, wanted, rank, axis);
}

static sp_status run_split(const sp_call *call)
{
	const sp_shape *in = &call->in[1]->shape;
	int64_t n = (int64_t)call->out_count, part;
	int axis;

	SP_TRY(read_axis(call, 0, in->rank, &axis));
	if (in->dims[axis] % n != 0)
		return sp_call_invalid(call, "dimension %d is %lld: not a multiple of %lld parts",
				       axis, (long long)in->dims[axis], (long long)n);
	if (n == 1) {
		sp_array__pass(call, 0, 1);
		return SP_OK;
	}
	part = in->dims[axis] / n;
	for (int64_t i = 0; i < n; i++)
		SP_TRY(take_part(call, (size_t)i, 1, axis, i * part, part));
	return SP_OK;
}

/* Checks the sizes against `dim`; *rest is the value of a size of -1. */
static sp_status check_sizes(const sp_call *call, int64_t dim, int64_t *rest)
{
	const sp_tensor *sizes = call->in[1];
	int64_t sum = 0;
	bool open = false;

	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (sizes->count != call->out_count)
		return sp_call_invalid(call, "%zu sizes for %zu parts", sizes->count,
				       call->out_count);
	for (size_t i = 0; i < sizes->count; i++) {
		int64_t size = sp_element__integer(sizes, i);

		if (size == -1 && open)
			return sp_call_invalid(call, "more than one size is -1");
		if (size < -1)
			return sp_call_invalid(call, "size %zu is %lld", i, (long long)size);
		if (size == -1)
			open = true;
		else if (!sp_i64_add(&sum, sum, size))
			return sp_call_invalid(call, "the sizes are too large");
	}
	if (open ? sum > dim : sum != dim)
		return sp_call_invalid(call, "the sizes sum to %lld, the dimension is %lld",
				       (long long)sum, (long long)dim);
	*rest = dim - sum;
	return SP_OK;
}

static sp_status run_split_v(const sp_call *call)
{
	const sp_shape *in = &call->in[0]->shape;
	int64_t rest = 0, first = 0;
	int axis;

	SP_TRY(read_axis(call, 2, in->rank, &axis));
	SP_TRY(check_sizes(call, in->dims[axis], &rest));
	if (call->out_count == 1) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	for (size_t i = 0; i < call->out_count; i++) {
		int64_t size = sp_element__integer(call->in[1], i);

		size = size == -1 ? rest : size;
		SP_TRY(take_part(call, i, 0, axis, first, size));
		first += size;
	}
	return SP_OK;
}

SP_DEFINE_OP(Split, "output:num_split", SP_OP_MOVES, prepare_split, run_split);
SP_DEFINE_OP(SplitV, "output:num_split", SP_OP_MOVES, prepare_split_v, run_split_v);
