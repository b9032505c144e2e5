#include "engine/ops/array/array.h"

#include <string.h>

sp_status sp_array__movable(const sp_prepare *prepare, sp_dtype dtype, sp_error *err)
{
	return sp_dtype_size(dtype) != 0 ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

sp_status sp_array__output_count(const sp_prepare *prepare, const char *name, size_t *out,
				 sp_error *err)
{
	int64_t n;

	SP_TRY(sp_node_attr_int(prepare->node, name, 0, &n, err));
	if (n < 1 || n > SP_ARRAY_MAX_OUTPUTS)
		return sp_error_set(err, SP_INVALID, "attribute '%s' is %lld, not in [1, %d]", name,
				    (long long)n, SP_ARRAY_MAX_OUTPUTS);
	*out = (size_t)n;
	return SP_OK;
}

sp_status sp_array__index_type(const sp_prepare *prepare, const char *name, sp_dtype fallback,
			       sp_dtype *out, sp_error *err)
{
	SP_TRY(sp_node_attr_type(prepare->node, name, fallback, out, err));
	if (*out == SP_INT32 || *out == SP_INT64)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "attribute '%s' must be int32 or int64, not %s", name,
			    sp_dtype_name(*out));
}

sp_status sp_array__rank(const sp_call *call, int64_t rank)
{
	if (rank <= SP_MAX_RANK)
		return SP_OK;
	return sp_error_set(call->err, SP_UNSUPPORTED, "rank %lld is above the supported %d",
			    (long long)rank, SP_MAX_RANK);
}

sp_status sp_array__shape(const sp_call *call, size_t i, bool scalar_too, sp_shape *out)
{
	const sp_tensor *in = call->in[i];

	if (in->shape.rank > 1 || (in->shape.rank == 0 && !scalar_too))
		return sp_call_invalid(call, "input %zu, a shape, must be a vector, not of rank %d",
				       i, in->shape.rank);
	SP_TRY(sp_array__rank(call, (int64_t)in->count));
	out->rank = (int32_t)in->count;
	for (int d = 0; d < out->rank; d++) {
		out->dims[d] = sp_tensor_index(in, (size_t)d);
		if (out->dims[d] < 0)
			return sp_call_invalid(call, "dimension %d of input %zu, a shape, is %lld",
					       d, i, (long long)out->dims[d]);
	}
	return SP_OK;
}

void sp_array__pass(const sp_call *call, size_t i, size_t from)
{
	sp_call_forward(call, i, from, &call->in[from]->shape);
}

sp_status sp_array__take_over(const sp_call *call, bool is_shared)
{
	const sp_tensor *in = call->in[0], *out = call->out[0];

	if (is_shared)
		SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	else
		SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	if (out->data != in->data && in->count != 0)
		memcpy(out->data, in->data, in->count * sp_dtype_size(in->dtype));
	return SP_OK;
}
