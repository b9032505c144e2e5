#include "processor/request/predict_fields.h"

static const sp_wire_member shape_members[] = {
	[SP_SHAPE_DIM] = {.kind = SP_WIRE_MEMBER_VARINTS},
};
static const sp_wire_schema shape_schema = {shape_members, SP_SHAPE_DIM + 1};

static const sp_wire_member array_members[SP_ARRAY_FIELD_COUNT] = {
	[SP_ARRAY_SHAPE] = {.kind = SP_WIRE_MEMBER_MESSAGE, .schema = &shape_schema},
	[SP_ARRAY_FLOAT_VAL] = {.kind = SP_WIRE_MEMBER_FIXED32S},
	[SP_ARRAY_DOUBLE_VAL] = {.kind = SP_WIRE_MEMBER_FIXED64S},
	[SP_ARRAY_INT_VAL] = {.kind = SP_WIRE_MEMBER_VARINTS},
	[SP_ARRAY_INT64_VAL] = {.kind = SP_WIRE_MEMBER_VARINTS},
	[SP_ARRAY_BOOL_VAL] = {.kind = SP_WIRE_MEMBER_VARINTS},
};
const sp_wire_schema sp_predict__array_schema = {array_members, SP_ARRAY_FIELD_COUNT};

const sp_predict_field sp_predict__fields[SP_ARRAY_FIELD_COUNT] = {
	[SP_ARRAY_FLOAT_VAL] = {"float_val", SP_WIRE_FIXED32},
	[SP_ARRAY_DOUBLE_VAL] = {"double_val", SP_WIRE_FIXED64},
	[SP_ARRAY_INT_VAL] = {"int_val", SP_WIRE_VARINT},
	[SP_ARRAY_STRING_VAL] = {"string_val", SP_WIRE_BYTES},
	[SP_ARRAY_INT64_VAL] = {"int64_val", SP_WIRE_VARINT},
	[SP_ARRAY_BOOL_VAL] = {"bool_val", SP_WIRE_VARINT},
};

uint32_t sp_predict__field_of(sp_dtype dtype)
{
	switch (dtype) {
	case SP_FLOAT:
	case SP_HALF:
	case SP_BFLOAT16:
	case SP_COMPLEX64:
		return SP_ARRAY_FLOAT_VAL;
	case SP_DOUBLE:
	case SP_COMPLEX128:
		return SP_ARRAY_DOUBLE_VAL;
	case SP_INT32:
	case SP_UINT8:
	case SP_INT16:
	case SP_INT8:
	case SP_UINT16:
	case SP_QINT8:
	case SP_QUINT8:
	case SP_QINT16:
	case SP_QUINT16:
	case SP_QINT32:
		return SP_ARRAY_INT_VAL;
	case SP_STRING:
		return SP_ARRAY_STRING_VAL;
	case SP_INT64:
		return SP_ARRAY_INT64_VAL;
	case SP_BOOL:
		return SP_ARRAY_BOOL_VAL;
	default:
		return 0;
	}
}

size_t sp_predict__values_per_element(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128 ? 2 : 1;
}

sp_wire_form sp_predict__form_of(sp_dtype dtype)
{
	bool is_signed = dtype == SP_INT8 || dtype == SP_QINT8 || dtype == SP_INT16 ||
			 dtype == SP_QINT16 || dtype == SP_INT32 || dtype == SP_QINT32;
	sp_wire_conversion conversion = SP_WIRE_AS_IS;

	if (dtype == SP_BOOL)
		conversion = SP_WIRE_TO_BOOL;
	else if (dtype == SP_HALF)
		conversion = SP_WIRE_TO_HALF;
	else if (dtype == SP_BFLOAT16)
		conversion = SP_WIRE_TO_BFLOAT16;
	return (sp_wire_form){
		.type = (unsigned char)sp_predict__fields[sp_predict__field_of(dtype)].type,
		.size = (unsigned char)(sp_dtype_size(dtype) /
					sp_predict__values_per_element(dtype)),
		.conversion = (unsigned char)conversion,
		.is_signed = is_signed};
}
