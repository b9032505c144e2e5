#include "api/host/messages/tensor_fields.h"

#include "api/serving_processor.h"

#define INTEGERS(bytes, negative)                              \
	{                                                      \
		SP_WIRE_VARINT, bytes, SP_WIRE_AS_IS, negative \
	}
#define FLOATS                                           \
	{                                                \
		SP_WIRE_FIXED32, 4, SP_WIRE_AS_IS, false \
	}
#define DOUBLES                                          \
	{                                                \
		SP_WIRE_FIXED64, 8, SP_WIRE_AS_IS, false \
	}
#define BOOLS                                             \
	{                                                 \
		SP_WIRE_VARINT, 1, SP_WIRE_TO_BOOL, false \
	}
#define TEXTS                                                         \
	{                                                             \
		SP_WIRE_BYTES, sizeof(sp_bytes), SP_WIRE_AS_IS, false \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --------------------------------------------------------------- TensorProto */

static const sp_tensor_form tensor_forms[] = {
	[SERVING_PROCESSOR_FLOAT] = {SP_TENSOR_FLOAT_VAL, 1, FLOATS},
	[SERVING_PROCESSOR_DOUBLE] = {SP_TENSOR_DOUBLE_VAL, 1, DOUBLES},
	[SERVING_PROCESSOR_INT32] = {SP_TENSOR_INT_VAL, 1, INTEGERS(4, true)},
	[SERVING_PROCESSOR_UINT8] = {SP_TENSOR_INT_VAL, 1, INTEGERS(1, false)},
	[SERVING_PROCESSOR_INT16] = {SP_TENSOR_INT_VAL, 1, INTEGERS(2, true)},
	[SERVING_PROCESSOR_INT8] = {SP_TENSOR_INT_VAL, 1, INTEGERS(1, true)},
	[SERVING_PROCESSOR_STRING] = {SP_TENSOR_STRING_VAL, 1, TEXTS},
	[SERVING_PROCESSOR_COMPLEX64] = {SP_TENSOR_SCOMPLEX_VAL, 2, FLOATS},
	[SERVING_PROCESSOR_INT64] = {SP_TENSOR_INT64_VAL, 1, INTEGERS(8, true)},
	[SERVING_PROCESSOR_BOOL] = {SP_TENSOR_BOOL_VAL, 1, BOOLS},
	[SERVING_PROCESSOR_BFLOAT16] = {SP_TENSOR_HALF_VAL, 1, INTEGERS(2, false)},
	[SERVING_PROCESSOR_UINT16] = {SP_TENSOR_INT_VAL, 1, INTEGERS(2, false)},
	[SERVING_PROCESSOR_COMPLEX128] = {SP_TENSOR_DCOMPLEX_VAL, 2, DOUBLES},
	[SERVING_PROCESSOR_HALF] = {SP_TENSOR_HALF_VAL, 1, INTEGERS(2, false)},
	[SERVING_PROCESSOR_UINT32] = {SP_TENSOR_UINT32_VAL, 1, INTEGERS(4, false)},
	[SERVING_PROCESSOR_UINT64] = {SP_TENSOR_UINT64_VAL, 1, INTEGERS(8, false)},
};

static const sp_wire_member dim_members[] = {[2] = {SP_WIRE_MEMBER_TEXT, NULL}};
static const sp_wire_schema dim_schema = {dim_members, COUNT(dim_members)};
static const sp_wire_member shape_members[] = {
	[SP_SHAPE_DIM] = {SP_WIRE_MEMBER_MESSAGE, &dim_schema}};
static const sp_wire_schema shape_schema = {shape_members, COUNT(shape_members)};
static const sp_wire_member tensor_members[SP_TENSOR_FIELD_COUNT] = {
	[SP_TENSOR_SHAPE] = {SP_WIRE_MEMBER_MESSAGE, &shape_schema},
	[SP_TENSOR_FLOAT_VAL] = {SP_WIRE_MEMBER_FIXED32S, NULL},
	[SP_TENSOR_DOUBLE_VAL] = {SP_WIRE_MEMBER_FIXED64S, NULL},
	[SP_TENSOR_INT_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_TENSOR_SCOMPLEX_VAL] = {SP_WIRE_MEMBER_FIXED32S, NULL},
	[SP_TENSOR_INT64_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_TENSOR_BOOL_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_TENSOR_DCOMPLEX_VAL] = {SP_WIRE_MEMBER_FIXED64S, NULL},
	[SP_TENSOR_HALF_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_TENSOR_UINT32_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_TENSOR_UINT64_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
};
static const sp_wire_schema tensor_schema = {tensor_members, SP_TENSOR_FIELD_COUNT};

const sp_tensor_layout sp_tensor__proto = {"a TensorProto",     false,
					   tensor_forms,        COUNT(tensor_forms),
					   SP_TENSOR_FLOAT_VAL, &tensor_schema};

/* ---------------------------------------------------------------- ArrayProto */

/* Quantized integers, which the library's header does not name. */
enum { QINT8 = 11, QUINT8 = 12, QINT32 = 13, QINT16 = 15, QUINT16 = 16 };

static const sp_tensor_form array_forms[] = {
	[SERVING_PROCESSOR_FLOAT] = {SP_ARRAY_FLOAT_VAL, 1, FLOATS},
	[SERVING_PROCESSOR_DOUBLE] = {SP_ARRAY_DOUBLE_VAL, 1, DOUBLES},
	[SERVING_PROCESSOR_INT32] = {SP_ARRAY_INT_VAL, 1, INTEGERS(4, true)},
	[SERVING_PROCESSOR_UINT8] = {SP_ARRAY_INT_VAL, 1, INTEGERS(1, false)},
	[SERVING_PROCESSOR_INT16] = {SP_ARRAY_INT_VAL, 1, INTEGERS(2, true)},
	[SERVING_PROCESSOR_INT8] = {SP_ARRAY_INT_VAL, 1, INTEGERS(1, true)},
	[SERVING_PROCESSOR_STRING] = {SP_ARRAY_STRING_VAL, 1, TEXTS},
	[SERVING_PROCESSOR_COMPLEX64] = {SP_ARRAY_FLOAT_VAL, 2, FLOATS},
	[SERVING_PROCESSOR_INT64] = {SP_ARRAY_INT64_VAL, 1, INTEGERS(8, true)},
	[SERVING_PROCESSOR_BOOL] = {SP_ARRAY_BOOL_VAL, 1, BOOLS},
	[QINT8] = {SP_ARRAY_INT_VAL, 1, INTEGERS(1, true)},
	[QUINT8] = {SP_ARRAY_INT_VAL, 1, INTEGERS(1, false)},
	[QINT32] = {SP_ARRAY_INT_VAL, 1, INTEGERS(4, true)},
	[SERVING_PROCESSOR_BFLOAT16] = {SP_ARRAY_FLOAT_VAL,
					1,
					{SP_WIRE_FIXED32, 2, SP_WIRE_TO_BFLOAT16, false}},
	[QINT16] = {SP_ARRAY_INT_VAL, 1, INTEGERS(2, true)},
	[QUINT16] = {SP_ARRAY_INT_VAL, 1, INTEGERS(2, false)},
	[SERVING_PROCESSOR_UINT16] = {SP_ARRAY_INT_VAL, 1, INTEGERS(2, false)},
	[SERVING_PROCESSOR_COMPLEX128] = {SP_ARRAY_DOUBLE_VAL, 2, DOUBLES},
	[SERVING_PROCESSOR_HALF] = {SP_ARRAY_FLOAT_VAL,
				    1,
				    {SP_WIRE_FIXED32, 2, SP_WIRE_TO_HALF, false}},
};

static const sp_wire_member array_shape_members[] = {
	[SP_ARRAY_SHAPE_DIM] = {SP_WIRE_MEMBER_VARINTS, NULL}};
static const sp_wire_schema array_shape_schema = {array_shape_members, COUNT(array_shape_members)};
static const sp_wire_member array_members[SP_ARRAY_FIELD_COUNT] = {
	[SP_TENSOR_SHAPE] = {SP_WIRE_MEMBER_MESSAGE, &array_shape_schema},
	[SP_ARRAY_FLOAT_VAL] = {SP_WIRE_MEMBER_FIXED32S, NULL},
	[SP_ARRAY_DOUBLE_VAL] = {SP_WIRE_MEMBER_FIXED64S, NULL},
	[SP_ARRAY_INT_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_ARRAY_INT64_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
	[SP_ARRAY_BOOL_VAL] = {SP_WIRE_MEMBER_VARINTS, NULL},
};
static const sp_wire_schema array_schema = {array_members, SP_ARRAY_FIELD_COUNT};

const sp_tensor_layout sp_tensor__array = {
	"an ArrayProto", true, array_forms, COUNT(array_forms), SP_ARRAY_FLOAT_VAL, &array_schema};
