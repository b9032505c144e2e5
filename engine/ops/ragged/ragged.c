#include "engine/ops/ragged/ragged.h"

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"

sp_status sp_splits__read(const sp_call *call, size_t i, int64_t length, bool exact, sp_splits *out)
{
	const sp_tensor *in = call->in[i];
	int64_t last;

	if (in->shape.rank != 1)
		return sp_call_invalid(call, "ragged splits must be a vector, not of rank %d",
				       in->shape.rank);
	if (in->count == 0)
		return sp_call_invalid(call, "ragged splits may not be empty");
	SP_TRY(sp_elements__widen(call, in, &out->at));
	out->rows = in->count - 1;
	if (out->at[0] < 0 || (exact && out->at[0] != 0))
		return sp_call_invalid(call, "ragged splits must begin with 0, not %lld",
				       (long long)out->at[0]);
	for (size_t row = 0; row < out->rows; row++)
		if (out->at[row + 1] < out->at[row])
			return sp_call_invalid(call, "ragged splits: %lld comes after %lld",
					       (long long)out->at[row + 1],
					       (long long)out->at[row]);
	last = out->at[out->rows];
	if (last > length || (exact && last != length))
		return sp_call_invalid(call, "ragged splits end with %lld for %lld values",
				       (long long)last, (long long)length);
	return SP_OK;
}

sp_status sp_splits__read_all(const sp_call *call, size_t depth, bool exact, sp_splits **out)
{
	const sp_shape *values = &call->in[depth]->shape;
	sp_splits *levels = *out = sp_call_bytes(call, depth, sizeof(*levels));
	int64_t length;

	if (levels == NULL)
		return sp_call_no_memory(call);
	if (values->rank == 0)
		return sp_call_invalid(call, "the values of a ragged tensor may not be a scalar");
	length = values->dims[0];
	for (size_t k = depth; k-- > 0;) {
		SP_TRY(sp_splits__read(call, k, length, exact, &levels[k]));
		length = (int64_t)levels[k].rows;
	}
	return SP_OK;
}

sp_status sp_splits__create(const sp_call *call, size_t i, sp_dtype dtype, size_t rows)
{
	SP_TRY(sp_call_output_vector(call, i, dtype, (int64_t)rows + 1));
	sp_array__put_index(call->out[i], 0, 0);
	return SP_OK;
}

sp_status sp_splits__append(const sp_call *call, size_t i, size_t row, int64_t length)
{
	sp_tensor *splits = call->out[i];
	int64_t end;

	if (!sp_i64_add(&end, sp_tensor_index(splits, row), length) ||
	    (splits->dtype == SP_INT32 && end > INT32_MAX))
		return sp_call_invalid(call, "%s cannot hold the splits",
				       sp_dtype_name(splits->dtype));
	sp_array__put_index(splits, row + 1, end);
	return SP_OK;
}
