#include "engine/ops/ctc.h"

#include "engine/ops/array.h"

sp_status sp_ctc__check_logits(const sp_call *call)
{
	const sp_shape *shape = &call->in[0]->shape;

	SP_TRY(sp_array__need_rank(call, 0, 3));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	if (call->in[0]->count == 0)
		return sp_call_invalid(call, "inputs must not be empty");
	if (call->in[1]->shape.dims[0] != shape->dims[1])
		return sp_call_invalid(call, "len(sequence_length) != batch_size: %zu and %lld",
				       call->in[1]->count, (long long)shape->dims[1]);
	for (size_t b = 0; b < call->in[1]->count; b++)
		if (sp_tensor_i32(call->in[1])[b] > shape->dims[0])
			return sp_call_invalid(call, "sequence_length(%zu) is above %lld", b,
					       (long long)shape->dims[0]);
	return SP_OK;
}
