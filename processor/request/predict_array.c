#include <inttypes.h>
#include <string.h>

#include "processor/request/predict_fields.h"
#include "base/size.h"
#include "base/wire.h"

/*
 * An array is read twice: a scan finds type, shape and the number of values, so that the tensor is
 * allocated once, with the right size; then the values are filled in.
 *
 * Protocol buffers allow repeating any field: of a scalar the last one counts, repeated fields and
 * submessages are concatenated.  Writers rarely do so, but a reader must accept it.
 */

/* An ArrayProto after the scan. */
typedef struct array_scan {
	sp_bytes message;
	const char *alias;
	sp_dtype dtype;
	sp_shape shape;
	size_t counts[SP_ARRAY_FIELD_COUNT]; /* values per value field */
	sp_bytes runs[SP_ARRAY_FIELD_COUNT]; /* the last packed run of each */
} array_scan;

static sp_status malformed_input(const array_scan *array, sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "input '%s' is not an ArrayProto message",
			    array->alias);
}

/* --------------------------------------------------------------------- scan */

static sp_status add_dim(array_scan *array, int64_t dim, sp_error *err)
{
	if (dim < 0)
		return sp_error_set(err, SP_INVALID, "input '%s' has a dimension of %" PRId64,
				    array->alias, dim);
	if (array->shape.rank == SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED, "input '%s' has more than %d dimensions",
				    array->alias, SP_MAX_RANK);
	array->shape.dims[array->shape.rank++] = dim;
	return SP_OK;
}

static sp_status scan_shape(array_scan *array, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	uint64_t dim;

	while (sp_wire_next(&wire, &field)) {
		sp_wire dims;

		if (field.number != SP_SHAPE_DIM)
			continue;
		if (field.type == SP_WIRE_VARINT)
			SP_TRY(add_dim(array, (int64_t)field.value, err));
		if (field.type != SP_WIRE_BYTES)
			continue;
		dims = sp_wire_of(field.bytes);
		while (dims.at != dims.end) {
			if (!sp_wire_read_varint(&dims, &dim))
				return malformed_input(array, err);
			SP_TRY(add_dim(array, (int64_t)dim, err));
		}
	}
	return !wire.malformed ? SP_OK : malformed_input(array, err);
}

/* The number of varints in the bytes, if well formed: the number of bytes that end one. */
static size_t count_varints(sp_bytes packed)
{
	size_t count = 0;

	for (size_t i = 0; i < packed.size; i++)
		count += (unsigned char)packed.data[i] < 0x80;
	return count;
}

/* Counts the values of one field; false when a packed run is truncated. */
static bool count_values(const sp_wire_field *field, size_t *count)
{
	sp_wire_type type = sp_predict__fields[field->number].type;
	size_t size = field->bytes.size;

	*count = 0;
	if (field->type == type) { /* a string is one value */
		*count = 1;
		return true;
	}
	if (field->type !=
	    SP_WIRE_BYTES) /* a known number with another wire type: an unknown field */
		return true;
	switch (type) {
	case SP_WIRE_FIXED32:
		*count = size / 4;
		return size % 4 == 0;
	case SP_WIRE_FIXED64:
		*count = size / 8;
		return size % 8 == 0;
	default:
		*count = count_varints(field->bytes);
		return size == 0 || (unsigned char)field->bytes.data[size - 1] < 0x80;
	}
}

static sp_status scan_array(array_scan *array, sp_error *err)
{
	sp_wire wire = sp_wire_of(array->message);
	sp_wire_field field;
	size_t count;

	while (sp_wire_next(&wire, &field)) {
		if (field.number == SP_ARRAY_DTYPE && field.type == SP_WIRE_VARINT) {
			array->dtype = (sp_dtype)(int32_t)field.value;
		} else if (field.number == SP_ARRAY_SHAPE && field.type == SP_WIRE_BYTES) {
			SP_TRY(scan_shape(array, field.bytes, err));
		} else if (field.number > SP_ARRAY_SHAPE && field.number < SP_ARRAY_FIELD_COUNT) {
			if (!count_values(&field, &count))
				return malformed_input(array, err);
			array->counts[field.number] += count;
			if (field.type == SP_WIRE_BYTES && count != 0)
				array->runs[field.number] = field.bytes;
		}
	}
	return !wire.malformed ? SP_OK : malformed_input(array, err);
}

/* Finds the field of the values, and checks their number against the shape. */
static sp_status check_array(const array_scan *array, uint32_t *field, sp_error *err)
{
	char text[SP_SHAPE_TEXT_SIZE];
	size_t count, values;

	*field = sp_predict__field_of(array->dtype);
	if (array->dtype == SP_INVALID_DTYPE)
		return sp_error_set(err, SP_INVALID, "input '%s' has no dtype", array->alias);
	if (*field == 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "input '%s' has dtype %d (%s), which requests cannot carry",
				    array->alias, (int)array->dtype, sp_dtype_name(array->dtype));
	if (!sp_shape_count(&array->shape, &count) ||
	    !sp_size_mul(&values, count, sp_predict__values_per_element(array->dtype)))
		return sp_error_set(err, SP_INVALID, "input '%s' has a shape too large: %s",
				    array->alias, sp_shape_text(&array->shape, text));
	if (values != array->counts[*field])
		return sp_error_set(err, SP_INVALID,
				    "input '%s' (%s) has %zu values in %s, but shape %s needs %zu",
				    array->alias, sp_dtype_name(array->dtype),
				    array->counts[*field], sp_predict__fields[*field].name,
				    sp_shape_text(&array->shape, text), values);
	return SP_OK;
}

/*
 * The scan counts packed varints without decoding them.  Those of field `number` are decoded later;
 * values in other fields, which are rare, need a validation of the whole message.
 */
static sp_status check_unread(const array_scan *array, uint32_t number, sp_error *err)
{
	for (uint32_t i = SP_ARRAY_FLOAT_VAL; i < SP_ARRAY_FIELD_COUNT; i++)
		if (i != number && array->counts[i] != 0)
			return sp_wire_check(array->message, &sp_predict__array_schema)
				       ? SP_OK
				       : malformed_input(array, err);
	return SP_OK;
}

/* --------------------------------------------------------------------- fill */

/* The scan has counted the values: exactly that many elements are written. */
static sp_status fill(const array_scan *array, uint32_t number, sp_tensor *out, sp_error *err)
{
	sp_wire wire = sp_wire_of(array->message);
	sp_wire_sink sink = {.form = sp_predict__form_of(array->dtype), .at = out->data};
	sp_wire_field field;

	sink.end = sink.at + array->counts[number] * sink.form.size;
	while (sp_wire_next(&wire, &field))
		if (field.number == number && !sp_wire_take_values(&sink, &field))
			return malformed_input(array, err);
	return SP_OK;
}

/*
 * Whether the values can be used in place: floats or doubles in one aligned packed run, followed by
 * at least SP_TENSOR_TAIL readable bytes.
 */
static bool may_stay(const array_scan *array, uint32_t number, sp_bytes request)
{
	uintptr_t first = (uintptr_t)request.data, end = first + request.size;
	uintptr_t run = (uintptr_t)array->runs[number].data;
	size_t size = array->runs[number].size, element = sp_dtype_size(array->dtype);

	return (array->dtype == SP_FLOAT || array->dtype == SP_DOUBLE) && size != 0 &&
	       size == array->counts[number] * element && run % element == 0 && run >= first &&
	       run < end && end - run >= size + SP_TENSOR_TAIL;
}

sp_status sp_predict__array_decode(sp_tensor *out, const char *alias, sp_bytes message,
				   sp_bytes request, sp_workspace *workspace, sp_error *err)
{
	array_scan array = {.message = message, .alias = alias};
	sp_status status;
	uint32_t field;

	SP_TRY(scan_array(&array, err));
	SP_TRY(check_array(&array, &field, err));
	SP_TRY(check_unread(&array, field, err));
	if (may_stay(&array, field, request)) {
		*out = (sp_tensor){.dtype = array.dtype,
				   .shape = array.shape,
				   .count = array.counts[field],
				   .data = (void *)(uintptr_t)array.runs[field].data};
		return SP_OK;
	}
	status = sp_workspace_tensor(workspace, out, array.dtype, &array.shape, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "input '%s'", alias);
	return fill(&array, field, out, err);
}
