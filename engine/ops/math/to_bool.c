#include "engine/graph/op.h"

#include "engine/ops/reduce/element_types.h"

/*
 * ToBool: for a scalar whether the number is not 0 or the string is not empty, for other tensors
 * whether they have elements.  Scalars of types that TensorFlow does not convert are refused.
 */
#define TRUTH(type, name)                                                     \
	static bool name##_##type(const void *data)                           \
	{                                                                     \
		return SP_LOAD_##type(*(const sp_element_##type *)data) != 0; \
	}

typedef bool truth_fn(const void *data);

TRUTH(f32, truth)
TRUTH(f64, truth)
TRUTH(i8, truth)
TRUTH(i16, truth)
TRUTH(i32, truth)
TRUTH(i64, truth)
TRUTH(u8, truth)
TRUTH(b8, truth)

static bool truth_string(const void *data)
{
	return ((const sp_bytes *)data)->size != 0;
}

static truth_fn *const truths[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = truth_f32, [SP_DOUBLE] = truth_f64, [SP_INT8] = truth_i8,
	[SP_INT16] = truth_i16, [SP_INT32] = truth_i32,  [SP_INT64] = truth_i64,
	[SP_UINT8] = truth_u8,  [SP_BOOL] = truth_b8,    [SP_STRING] = truth_string,
};

static sp_status prepare_truth(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	if (sp_dtype_size(prepare->in_dtypes[0]) == 0)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, SP_BOOL, err);
}

static sp_status run_truth(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_shape scalar = sp_shape_scalar();

	if (sp_tensor_is_scalar(in) && truths[in->dtype] == NULL)
		return sp_call_invalid(call, "%s cannot be converted to a boolean",
				       sp_dtype_name(in->dtype));
	SP_TRY(sp_call_output(call, 0, SP_BOOL, &scalar));
	*sp_tensor_bool(call->out[0]) = sp_tensor_is_scalar(in) ? truths[in->dtype](in->data)
								: in->count != 0;
	return SP_OK;
}

const sp_op sp_op_ToBool = {.name = "ToBool", .prepare = prepare_truth, .run = run_truth};
