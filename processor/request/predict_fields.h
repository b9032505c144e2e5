#ifndef SP_PROCESSOR_REQUEST_PREDICT_FIELDS_H
#define SP_PROCESSOR_REQUEST_PREDICT_FIELDS_H

#include "base/status.h"
#include "base/wire_values.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"

/* Field numbers of api/predict.proto. */
enum {
	SP_REQUEST_SIGNATURE_NAME = 1,
	SP_REQUEST_INPUTS = 2,
	SP_REQUEST_OUTPUT_FILTER = 3,

	SP_RESPONSE_OUTPUTS = 1,

	SP_ENTRY_KEY = 1, /* of a map */
	SP_ENTRY_VALUE = 2,

	SP_ARRAY_DTYPE = 1,
	SP_ARRAY_SHAPE = 2,
	SP_ARRAY_FLOAT_VAL = 3,
	SP_ARRAY_DOUBLE_VAL = 4,
	SP_ARRAY_INT_VAL = 5,
	SP_ARRAY_STRING_VAL = 6,
	SP_ARRAY_INT64_VAL = 7,
	SP_ARRAY_BOOL_VAL = 8,
	SP_ARRAY_FIELD_COUNT = 9,

	SP_SHAPE_DIM = 1,

	SP_MODEL_INFO_PATH = 1,
};

extern const sp_wire_schema sp_predict__array_schema;

/* The value fields of an ArrayProto: name, and wire type of unpacked values. */
typedef struct sp_predict_field {
	const char *name;
	sp_wire_type type;
} sp_predict_field;

extern const sp_predict_field sp_predict__fields[SP_ARRAY_FIELD_COUNT];

/* The value field of a type; 0: the message has none. */
uint32_t sp_predict__field_of(sp_dtype dtype);

/* How a value of a type that has a field is written; a complex number is two values. */
sp_wire_form sp_predict__form_of(sp_dtype dtype);

/* 2 of a complex number: its real part, then its imaginary part. */
size_t sp_predict__values_per_element(sp_dtype dtype);

/*
 * Decodes the ArrayProto `message` to a tensor in the workspace.  `request` is the whole request:
 * floats and doubles that are packed and aligned in it are used in place.  Errors name the input by
 * `alias`; they are those of processor/request/predict_codec.h.
 */
SP_MUST_CHECK sp_status sp_predict__array_decode(sp_tensor *out, const char *alias,
						 sp_bytes message, sp_bytes request,
						 sp_workspace *workspace, sp_error *err);

/* The workspace has no more room: SP_NO_MEMORY, with the key that says how much it may have. */
sp_status sp_predict__no_memory(sp_error *err);

#endif
