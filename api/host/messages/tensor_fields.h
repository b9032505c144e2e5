#ifndef SP_API_HOST_MESSAGES_TENSOR_FIELDS_H
#define SP_API_HOST_MESSAGES_TENSOR_FIELDS_H

#include <stdbool.h>

#include "base/wire.h"

/* Field numbers of proto/tensor.proto. */
enum {
	SP_TENSOR_DTYPE = 1,
	SP_TENSOR_SHAPE = 2,
	SP_TENSOR_CONTENT = 4,
	SP_TENSOR_FLOAT_VAL = 5, /* the first of the value fields */
	SP_TENSOR_DOUBLE_VAL = 6,
	SP_TENSOR_INT_VAL = 7,
	SP_TENSOR_STRING_VAL = 8,
	SP_TENSOR_SCOMPLEX_VAL = 9,
	SP_TENSOR_INT64_VAL = 10,
	SP_TENSOR_BOOL_VAL = 11,
	SP_TENSOR_DCOMPLEX_VAL = 12,
	SP_TENSOR_HALF_VAL = 13,
	SP_TENSOR_UINT32_VAL = 16,
	SP_TENSOR_UINT64_VAL = 17,
	SP_TENSOR_FIELD_COUNT = 18,

	SP_SHAPE_DIM = 2,
	SP_SHAPE_UNKNOWN_RANK = 3,
	SP_DIM_SIZE = 1,
};

/* How the values of a type are written. */
typedef struct sp_tensor_form {
	unsigned char field; /* 0: not at all */
	unsigned char wire;  /* sp_wire_type of one value */
	unsigned char size;  /* bytes of one value in memory */
	unsigned char parts; /* values of one element */
	bool is_flag;        /* a bool */
	bool is_signed;      /* negative numbers take ten bytes */
} sp_tensor_form;

/* NULL for a type that no tensor of a request has. */
const sp_tensor_form *sp_tensor__form(int dtype);

extern const sp_wire_schema sp_tensor__schema;

#endif
