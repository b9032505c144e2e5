#ifndef SP_API_HOST_MESSAGES_TENSOR_FIELDS_H
#define SP_API_HOST_MESSAGES_TENSOR_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/wire_values.h"

/* Field numbers of proto/tensorflow.proto (TensorProto) and api/predict.proto (ArrayProto). */
enum {
	SP_TENSOR_DTYPE = 1, /* of both, and so is the shape */
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

	SP_ARRAY_FLOAT_VAL = 3, /* the first of the value fields */
	SP_ARRAY_DOUBLE_VAL = 4,
	SP_ARRAY_INT_VAL = 5,
	SP_ARRAY_STRING_VAL = 6,
	SP_ARRAY_INT64_VAL = 7,
	SP_ARRAY_BOOL_VAL = 8,
	SP_ARRAY_FIELD_COUNT = 9,

	SP_ARRAY_SHAPE_DIM = 1,
};

/* The form in which the values of a type are written. */
typedef struct sp_tensor_form {
	unsigned char field; /* 0: not at all */
	unsigned char parts; /* values of one element */
	sp_wire_form values;
} sp_tensor_form;

/* The differences of TensorProto and ArrayProto. */
typedef struct sp_tensor_layout {
	const char *name;            /* with its article */
	bool is_array;               /* ArrayProto */
	const sp_tensor_form *forms; /* [form_count] by type */
	size_t form_count;
	uint32_t first_values;        /* number of the first value field; the others follow */
	const sp_wire_schema *schema; /* all fields */
} sp_tensor_layout;

extern const sp_tensor_layout sp_tensor__proto, sp_tensor__array;

/* NULL for a type that no tensor of this layout has. */
static inline const sp_tensor_form *sp_tensor__form(const sp_tensor_layout *layout, int dtype)
{
	if (dtype < 0 || (size_t)dtype >= layout->form_count || layout->forms[dtype].field == 0)
		return NULL;
	return &layout->forms[dtype];
}

#endif
