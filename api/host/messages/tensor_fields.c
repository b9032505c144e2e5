#include "api/host/messages/tensor_fields.h"

#include "api/host/messages/tensor_message.h"

#define INTEGERS(bytes, negative)                                                              \
	{                                                                                      \
		.field = SP_TENSOR_INT_VAL, .wire = SP_WIRE_VARINT, .size = bytes, .parts = 1, \
		.is_signed = negative                                                          \
	}

static const sp_tensor_form forms[] = {
	[SERVING_PROCESSOR_FLOAT] = {SP_TENSOR_FLOAT_VAL, SP_WIRE_FIXED32, 4, 1, false, false},
	[SERVING_PROCESSOR_DOUBLE] = {SP_TENSOR_DOUBLE_VAL, SP_WIRE_FIXED64, 8, 1, false, false},
	[SERVING_PROCESSOR_INT32] = INTEGERS(4, true),
	[SERVING_PROCESSOR_UINT8] = INTEGERS(1, false),
	[SERVING_PROCESSOR_INT16] = INTEGERS(2, true),
	[SERVING_PROCESSOR_INT8] = INTEGERS(1, true),
	[SERVING_PROCESSOR_STRING] = {SP_TENSOR_STRING_VAL, SP_WIRE_BYTES, sizeof(sp_bytes), 1,
				      false, false},
	[SERVING_PROCESSOR_COMPLEX64] = {SP_TENSOR_SCOMPLEX_VAL, SP_WIRE_FIXED32, 4, 2, false,
					 false},
	[SERVING_PROCESSOR_INT64] = {SP_TENSOR_INT64_VAL, SP_WIRE_VARINT, 8, 1, false, true},
	[SERVING_PROCESSOR_BOOL] = {SP_TENSOR_BOOL_VAL, SP_WIRE_VARINT, 1, 1, true, false},
	[SERVING_PROCESSOR_BFLOAT16] = {SP_TENSOR_HALF_VAL, SP_WIRE_VARINT, 2, 1, false, false},
	[SERVING_PROCESSOR_UINT16] = INTEGERS(2, false),
	[SERVING_PROCESSOR_COMPLEX128] = {SP_TENSOR_DCOMPLEX_VAL, SP_WIRE_FIXED64, 8, 2, false,
					  false},
	[SERVING_PROCESSOR_HALF] = {SP_TENSOR_HALF_VAL, SP_WIRE_VARINT, 2, 1, false, false},
	[SERVING_PROCESSOR_UINT32] = {SP_TENSOR_UINT32_VAL, SP_WIRE_VARINT, 4, 1, false, false},
	[SERVING_PROCESSOR_UINT64] = {SP_TENSOR_UINT64_VAL, SP_WIRE_VARINT, 8, 1, false, false},
};

const sp_tensor_form *sp_tensor__form(int dtype)
{
	if (dtype < 0 || (size_t)dtype >= sizeof(forms) / sizeof(forms[0]) ||
	    forms[dtype].field == 0)
		return NULL;
	return &forms[dtype];
}

size_t sp_tensor_message_element_size(int dtype)
{
	const sp_tensor_form *form = sp_tensor__form(dtype);

	return form != NULL ? (size_t)form->size * form->parts : 0;
}

static const sp_wire_member dim_members[] = {[2] = {SP_WIRE_MEMBER_TEXT, NULL}};
static const sp_wire_schema dim_schema = {dim_members, 3};

static const sp_wire_member shape_members[] = {
	[SP_SHAPE_DIM] = {SP_WIRE_MEMBER_MESSAGE, &dim_schema}};
static const sp_wire_schema shape_schema = {shape_members, 3};

static const sp_wire_member members[SP_TENSOR_FIELD_COUNT] = {
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

const sp_wire_schema sp_tensor__schema = {members, SP_TENSOR_FIELD_COUNT};
