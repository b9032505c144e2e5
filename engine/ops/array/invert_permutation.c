#include <string.h>

#include "engine/ops/array/array.h"

/* InvertPermutation: y[x[i]] = i. */

static sp_status run(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *out = call->out[0];

	SP_TRY(sp_call_need_rank(call, 0, 1));
	if (in->count > INT32_MAX)
		return sp_call_invalid(call, "a permutation of %zu numbers is too large",
				       in->count);
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	memset(out->data, 0xff, in->count * sp_dtype_size(in->dtype)); /* -1: not seen */
	for (size_t i = 0; i < in->count; i++) {
		int64_t x = sp_tensor_index(in, i);

		if (x < 0 || (uint64_t)x >= in->count)
			return sp_call_invalid(call, "%lld is not in [0, %zu)", (long long)x,
					       in->count);
		if (sp_tensor_index(out, (size_t)x) != -1)
			return sp_call_invalid(call, "%lld is twice in the permutation",
					       (long long)x);
		sp_array__put_index(out, (size_t)x, (int64_t)i);
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(InvertPermutation, NULL, 0, "I -> I", run);
