#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Pad, PadV2: surrounds the input with a constant (zero, or the third input); paddings[d] =
 * {before, after}.
 */

/* The shape of the output, and where the input begins in it. */
static sp_status read_paddings(const sp_call *call, sp_shape *shape, int64_t first[SP_MAX_RANK])
{
	const sp_tensor *in = call->in[0], *paddings = call->in[1];
	char text[SP_SHAPE_TEXT_SIZE];
	int rank = in->shape.rank;

	if (paddings->shape.rank != 2 || paddings->shape.dims[0] != rank ||
	    paddings->shape.dims[1] != 2)
		return sp_call_invalid(call, "paddings must have the shape [%d,2], not %s", rank,
				       sp_shape_text(&paddings->shape, text));
	shape->rank = rank;
	for (int d = 0; d < rank; d++) {
		int64_t before = sp_tensor_index(paddings, 2 * (size_t)d);
		int64_t after = sp_tensor_index(paddings, 2 * (size_t)d + 1);

		if (before < 0 || after < 0)
			return sp_call_invalid(call, "paddings[%d] is {%lld, %lld}", d,
					       (long long)before, (long long)after);
		first[d] = before;
		if (!sp_i64_add(&before, before, after) ||
		    !sp_i64_add(&shape->dims[d], in->shape.dims[d], before))
			return sp_call_invalid(call, "paddings[%d] is too large", d);
	}
	return SP_OK;
}

/* Pads with `value`; NULL: zeros. */
static sp_status run(const sp_call *call, const void *value)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	int64_t first[SP_MAX_RANK];
	sp_strided_copy copy = {.rank = in->shape.rank};
	sp_shape shape;
	char *to;

	SP_TRY(read_paddings(call, &shape, first));
	if (sp_shape_equal(&shape, &in->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	to = call->out[0]->data;
	if (value == NULL)
		memset(to, 0, call->out[0]->count * size);
	else
		sp_elements__fill(to, call->out[0]->count, value, size);
	if (in->count == 0)
		return SP_OK;
	memcpy(copy.dims, in->shape.dims, sizeof(in->shape.dims));
	sp_strided_copy__strides(&shape, size, copy.to);
	sp_strided_copy__strides(&in->shape, size, copy.from);
	for (int d = 0; d < shape.rank; d++)
		to += first[d] * copy.to[d];
	sp_strided_copy__run(&copy, to, in->data, size);
	return SP_OK;
}

static sp_status run_pad(const sp_call *call)
{
	return run(call, NULL);
}

static sp_status run_pad_v2(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 2, 0));
	return run(call, call->in[2]->data);
}

SP_DEFINE_TYPED_OP(Pad, NULL, 0, "E index -> E", run_pad);
SP_DEFINE_TYPED_OP(PadV2, NULL, 0, "E index E -> E", run_pad_v2);
