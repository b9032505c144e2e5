#include <string.h>

#include "engine/ops/array/array.h"

/*
 * Where: the indices of the nonzero elements in row-major order, as int64 [found, rank].  NaN
 * counts as nonzero, -0.0 as zero.
 */

static inline bool is_set(const sp_tensor *in, size_t i)
{
	switch (in->dtype) {
	case SP_FLOAT:
		return ((const float *)in->data)[i] != 0;
	case SP_DOUBLE:
		return ((const double *)in->data)[i] != 0;
	case SP_HALF:
	case SP_BFLOAT16:
		return (((const uint16_t *)in->data)[i] & 0x7fff) != 0;
	case SP_COMPLEX64:
		return ((const float *)in->data)[2 * i] != 0 ||
		       ((const float *)in->data)[2 * i + 1] != 0;
	case SP_COMPLEX128:
		return ((const double *)in->data)[2 * i] != 0 ||
		       ((const double *)in->data)[2 * i + 1] != 0;
	default: /* integers */
		break;
	}
	switch (sp_dtype_size(in->dtype)) {
	case 1:
		return ((const uint8_t *)in->data)[i] != 0;
	case 2:
		return ((const uint16_t *)in->data)[i] != 0;
	case 4:
		return ((const uint32_t *)in->data)[i] != 0;
	default:
		return ((const uint64_t *)in->data)[i] != 0;
	}
}

static size_t count_set(const sp_tensor *in)
{
	size_t n = 0;

	if (in->dtype == SP_BOOL) { /* the most frequent type */
		const uint8_t *flags = in->data;

		for (size_t i = 0; i < in->count; i++)
			n += flags[i] != 0;
		return n;
	}
	for (size_t i = 0; i < in->count; i++)
		n += is_set(in, i);
	return n;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	int rank = in->shape.rank;
	int64_t at[SP_MAX_RANK] = {0}, *out;

	if (rank == 0)
		return sp_call_invalid(call, "the condition is a scalar");
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, (int64_t)count_set(in), rank));
	out = sp_tensor_i64(call->out[0]);
	for (size_t i = 0; i < in->count; i++) {
		int d = rank - 1;

		if (is_set(in, i)) {
			memcpy(out, at, (size_t)rank * sizeof(at[0]));
			out += rank;
		}
		while (d >= 0 && ++at[d] == in->shape.dims[d])
			at[d--] = 0;
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Where, NULL, 0, "P -> int64", run);
