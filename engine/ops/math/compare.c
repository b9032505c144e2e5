#include "engine/ops/ops.h"
#include "engine/ops/math/binary.h"

/*
 * Comparisons.  Equal and NotEqual also take complex numbers, bools, strings and quantized types,
 * whose codes are compared without their ranges.  With incompatible_shape_error=false, shapes that
 * do not broadcast give one bool that says "not equal".
 */
SP_FOR_NUMBER(SP_BINARY_BOOL, Less, a < b)
SP_BINARY_OP(Less, SP_BOOL, NULL, SP_TABLE_NUMBER(Less));

SP_FOR_NUMBER(SP_BINARY_BOOL, LessEqual, a <= b)
SP_BINARY_OP(LessEqual, SP_BOOL, NULL, SP_TABLE_NUMBER(LessEqual));

SP_FOR_NUMBER(SP_BINARY_BOOL, Greater, a > b)
SP_BINARY_OP(Greater, SP_BOOL, NULL, SP_TABLE_NUMBER(Greater));

SP_FOR_NUMBER(SP_BINARY_BOOL, GreaterEqual, a >= b)
SP_BINARY_OP(GreaterEqual, SP_BOOL, NULL, SP_TABLE_NUMBER(GreaterEqual));

SP_FOR_ARITHMETIC(SP_BINARY_BOOL, equal, a == b)
SP_BINARY_BOOL(b8, equal, a == b)
SP_BINARY_BOOL(string, equal, sp_bytes_equal(a, b))

SP_FOR_ARITHMETIC(SP_BINARY_BOOL, not_equal, a != b)
SP_BINARY_BOOL(b8, not_equal, a != b)
SP_BINARY_BOOL(string, not_equal, !sp_bytes_equal(a, b))

#define TABLE_CODES(name)                                                          \
	[SP_QINT8] = name##_i8, [SP_QUINT8] = name##_u8, [SP_QINT16] = name##_i16, \
	[SP_QUINT16] = name##_u16, [SP_QINT32] = name##_i32

static const sp_binary equal = {
	.kernels = {SP_TABLE_ARITHMETIC(equal),
		    TABLE_CODES(equal), [SP_BOOL] = equal_b8, [SP_STRING] = equal_string},
	.result = SP_BOOL};

static const sp_binary not_equal = {
	.kernels =
		{SP_TABLE_ARITHMETIC(not_equal),
		 TABLE_CODES(not_equal), [SP_BOOL] = not_equal_b8, [SP_STRING] = not_equal_string},
	.result = SP_BOOL};

typedef struct equality_state {
	sp_binary_state binary;
	bool refuse_shapes; /* shapes that do not broadcast are an error */
} equality_state;

static sp_status prepare_equality(sp_prepare *prepare, sp_error *err)
{
	equality_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_binary *binary = prepare->node->op == &sp_op_Equal ? &equal : &not_equal;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_node_attr_bool(prepare->node, "incompatible_shape_error", true,
				 &state->refuse_shapes, err));
	return sp_binary__prepare_state(prepare, binary, &state->binary, err);
}

static sp_status run_equality(const sp_call *call)
{
	const equality_state *state = call->state;
	sp_shape shape;

	if (state->refuse_shapes ||
	    sp_broadcast__shape(&shape, &call->in[0]->shape, &call->in[1]->shape))
		return sp_binary__run(call);
	SP_TRY(sp_call_output_scalar(call, 0, SP_BOOL));
	*sp_tensor_bool(call->out[0]) = state->binary.binary == &not_equal;
	return SP_OK;
}

SP_DEFINE_OP(Equal, NULL, 0, prepare_equality, run_equality);
SP_DEFINE_OP(NotEqual, NULL, 0, prepare_equality, run_equality);
