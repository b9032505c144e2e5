#include <inttypes.h>
#include <string.h>

#include "api/host/messages/message.h"
#include "api/host/messages/tensor_fields.h"
#include "api/host/messages/tensor_message.h"

/*
 * One pass finds type, shape and the fields with values; the values are then read by the type.
 * Protocol buffers allow to give a repeated field in pieces, packed or not, and other value fields
 * beside it: that takes a second pass over the message, and is checked as a whole.
 */

typedef struct tensor_scan {
	const sp_tensor_layout *layout;
	sp_bytes message;
	int dtype;
	sp_tensor_dims shape;
	bool unknown_rank;
	sp_bytes content;
	sp_wire_field values; /* the last field with values */
	size_t pieces;        /* fields with values */
} tensor_scan;

static sp_status malformed(const tensor_scan *scan, sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "not %s message", scan->layout->name);
}

static void begin_scan(tensor_scan *scan)
{
	scan->dtype = scan->shape.rank = 0;
	scan->unknown_rank = false;
	scan->content = (sp_bytes){NULL, 0};
	scan->pieces = 0;
}

static sp_status scan_dim(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire_field size = {.number = 1, .type = SP_WIRE_VARINT, .value = 0};

	if (!sp_wire_read(message, &(sp_wire_place){SP_DIM_SIZE, SP_WIRE_VARINT, &size.value}, 1))
		return malformed(scan, err);
	return sp_tensor_dims_take(&scan->shape, &size, err);
}

static sp_status scan_shape(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (scan->layout->is_array) {
			if (field.number == SP_ARRAY_SHAPE_DIM)
				SP_TRY(sp_tensor_dims_take(&scan->shape, &field, err));
		} else if (field.number == SP_SHAPE_DIM && field.type == SP_WIRE_BYTES) {
			SP_TRY(scan_dim(scan, field.bytes, err));
		} else if (field.number == SP_SHAPE_UNKNOWN_RANK && field.type == SP_WIRE_VARINT) {
			scan->unknown_rank = field.value != 0;
		}
	}
	return !wire.malformed ? SP_OK : malformed(scan, err);
}

static sp_status scan_tensor(tensor_scan *scan, sp_error *err)
{
	const sp_tensor_layout *layout = scan->layout;
	sp_wire wire = sp_wire_of(scan->message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.number == SP_TENSOR_DTYPE && field.type == SP_WIRE_VARINT) {
			scan->dtype = (int)(int32_t)field.value;
		} else if (field.number == SP_TENSOR_SHAPE && field.type == SP_WIRE_BYTES) {
			SP_TRY(scan_shape(scan, field.bytes, err));
		} else if (field.number >= layout->first_values &&
			   field.number < layout->schema->count) {
			scan->values = field;
			scan->pieces++;
		} else if (field.number == SP_TENSOR_CONTENT && field.type == SP_WIRE_BYTES) {
			scan->content = field.bytes;
		}
	}
	return !wire.malformed ? SP_OK : malformed(scan, err);
}

/*
 * Reads a TensorProto as writers make them: type, shape, and one field with values, of small sizes.
 * False for any other message, whose scan starts afresh.
 */
static bool scan_usual(tensor_scan *scan)
{
	enum { TAG_DTYPE = 0x08, TAG_SHAPE = 0x12, TAG_DIM = 0x12, TAG_SIZE = 0x08 };
	enum { LEAST = 4 }; /* bytes of the two fields without dims; of a dim */
	const unsigned char *at = (const unsigned char *)scan->message.data;
	const unsigned char *end = at + scan->message.size, *shape_end, *dim_end;
	int tag, size;

	if (scan->message.size < LEAST || at[0] != TAG_DTYPE || at[1] >= 0x80 ||
	    at[2] != TAG_SHAPE || at[3] >= 0x80 || at[3] > end - at - LEAST)
		return false;
	scan->dtype = at[1];
	shape_end = at + LEAST + at[3];
	for (at += LEAST; at != shape_end; scan->shape.rank++) {
		if (shape_end - at < LEAST || at[0] != TAG_DIM || at[1] > shape_end - at - 2 ||
		    at[2] != TAG_SIZE || scan->shape.rank == SP_TENSOR_MAX_DIMS)
			return false;
		dim_end = at + 2 + at[1];
		at += 3;
		size = sp_wire_read_small(&at, dim_end);
		if (size < 0 || at != dim_end)
			return false;
		scan->shape.dims[scan->shape.rank] = size;
	}
	tag = sp_wire_read_small(&at, end);
	size = sp_wire_read_small(&at, end);
	if (tag < SP_TENSOR_FLOAT_VAL << 3 || tag >= SP_TENSOR_FIELD_COUNT << 3 ||
	    (tag & 7) != SP_WIRE_BYTES || size != end - at)
		return false;
	scan->values.number = (uint32_t)tag >> 3;
	scan->values.type = SP_WIRE_BYTES;
	scan->values.bytes = (sp_bytes){(const char *)at, (size_t)size};
	scan->pieces = 1;
	return true;
}

/* -------------------------------------------------------------------- values */

static bool take_pieces(const tensor_scan *scan, uint32_t number, sp_wire_sink *out)
{
	sp_wire wire = sp_wire_of(scan->message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.number == number && !sp_wire_take_values(out, &field))
			return false;
	return true;
}

/* Fills the rest with the last element. */
static void repeat(char *data, sp_wire_sink *out, size_t element_size)
{
	size_t left = (size_t)(out->end - out->at), done = element_size;

	/* Half a complex number at the end does not count. */
	left += (size_t)(out->at - data) % element_size;
	out->at = out->end - left;
	if (left == 0)
		return;
	if (out->at == data) {
		memset(out->at, 0, left);
		return;
	}
	memcpy(out->at, out->at - element_size, element_size);
	for (; done < left; done *= 2)
		memcpy(out->at + done, out->at, done < left - done ? done : left - done);
}

/* Whether all values are one packed field that can be used in place. */
static bool may_stay(const tensor_scan *scan, const sp_tensor_form *form, size_t bytes)
{
	return scan->pieces == 1 && scan->values.number == form->field &&
	       scan->values.type == SP_WIRE_BYTES && scan->values.bytes.size == bytes &&
	       form->values.conversion == SP_WIRE_AS_IS &&
	       (form->values.type == SP_WIRE_FIXED32 || form->values.type == SP_WIRE_FIXED64);
}

/* Reads the values into `data`, which has `bytes` of room. */
static sp_status decode_values(const tensor_scan *scan, const sp_tensor_form *form, char *data,
			       size_t bytes, sp_error *err)
{
	bool plain = scan->pieces == 1 && scan->values.number == form->field;
	sp_wire_sink to = {.form = form->values, .at = data, .end = data + bytes};

	if (!plain && scan->pieces != 0 && !sp_wire_check(scan->message, scan->layout->schema))
		return malformed(scan, err);
	if (!(plain ? sp_wire_take_values(&to, &scan->values)
		    : take_pieces(scan, form->field, &to)))
		return malformed(scan, err);
	if (scan->layout->is_array && (to.at != to.end || to.dropped != 0))
		return sp_error_set(err, SP_INVALID, "%zu values, but the shape needs %zu",
				    (size_t)(to.at - data) / form->values.size + to.dropped,
				    bytes / form->values.size);
	if (to.at != to.end)
		repeat(data, &to, (size_t)form->values.size * form->parts);
	return SP_OK;
}

/* ------------------------------------------------------------------- content */

/* Strings in tensor_content: all lengths as varints, then all bytes. */
static sp_status decode_texts(serving_processor_tensor *out, sp_bytes content, sp_arena *arena,
			      sp_error *err)
{
	sp_wire wire = sp_wire_of(content);
	sp_bytes *texts;
	uint64_t size;

	if (out->count > content.size)
		return sp_error_set(err, SP_INVALID, "%zu bytes of tensor_content for %zu strings",
				    content.size, out->count);
	texts = sp_arena_array(arena, out->count, sizeof(*texts));
	if (texts == NULL)
		return sp_no_memory(err, "an input");
	for (size_t i = 0; i < out->count; i++) {
		if (!sp_wire_read_varint(&wire, &size) || size > content.size)
			return sp_error_set(err, SP_INVALID, "a wrong length in tensor_content");
		texts[i].size = (size_t)size;
	}
	for (size_t i = 0; i < out->count; i++) {
		if ((size_t)(wire.end - wire.at) < texts[i].size)
			return sp_error_set(err, SP_INVALID, "tensor_content is cut short");
		texts[i].data = (const char *)wire.at;
		wire.at += texts[i].size;
	}
	if (wire.at != wire.end)
		return sp_error_set(err, SP_INVALID, "tensor_content is too long");
	out->data = texts;
	return SP_OK;
}

static sp_status decode_content(serving_processor_tensor *out, sp_bytes content, size_t bytes,
				sp_arena *arena, sp_error *err)
{
	if (out->dtype == SERVING_PROCESSOR_STRING)
		return decode_texts(out, content, arena, err);
	if (content.size != bytes)
		return sp_error_set(err, SP_INVALID,
				    "%zu bytes of tensor_content, but the shape needs %zu",
				    content.size, bytes);
	if (out->dtype == SERVING_PROCESSOR_BOOL)
		SP_TRY(sp_message_check_bools(content, err));
	out->data = content.data;
	return SP_OK;
}

/* -------------------------------------------------------------------- tensor */

/*
 * Bounds what a tensor may take by the bytes of its message: a value of an ArrayProto takes at
 * least one, those of a TensorProto may repeat.
 */
static sp_status check_shape(serving_processor_tensor *out, const tensor_scan *scan,
			     const sp_tensor_form *form, size_t *bytes, sp_error *err)
{
	const sp_tensor_dims *shape = &scan->shape;

	if (scan->unknown_rank)
		return sp_error_set(err, SP_INVALID, "the shape is of unknown rank");
	for (int i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 0)
			return sp_error_set(err, SP_INVALID, "a dimension of %" PRId64,
					    shape->dims[i]);
	if (!sp_tensor_message_size(shape->dims, shape->rank,
				    (size_t)form->values.size * form->parts, &out->count, bytes))
		return sp_error_set(err, SP_INVALID, "a shape too large");
	if (scan->layout->is_array && out->count > scan->message.size)
		return sp_error_set(err, SP_INVALID, "too few values for %zu elements", out->count);
	if (scan->content.size == 0 && *bytes > SP_TENSOR_MESSAGE_MAX_FILL &&
	    *bytes / 16 > scan->message.size)
		return sp_error_set(err, SP_INVALID, "%zu bytes of values by repetition", *bytes);
	return SP_OK;
}

static sp_status scan_message(tensor_scan *scan, sp_error *err)
{
	begin_scan(scan);
	if (!scan->layout->is_array && scan_usual(scan))
		return SP_OK;
	begin_scan(scan);
	SP_TRY(scan_tensor(scan, err));
	if (scan->dtype == 0)
		return sp_error_set(err, SP_INVALID, "no dtype");
	return SP_OK;
}

/* It is inlined once for each layout, which is then a constant. */
static inline __attribute__((always_inline)) sp_status decode(serving_processor_tensor *out,
							      tensor_scan *scan, sp_arena *arena,
							      sp_error *err)
{
	const sp_tensor_form *form;
	size_t bytes = 0, own;
	int64_t *dims;

	SP_TRY(scan_message(scan, err));
	form = sp_tensor__form(scan->layout, scan->dtype);
	if (form == NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "dtype %d (%s) is not supported",
				    scan->dtype, serving_processor_dtype_name(scan->dtype));
	SP_TRY(check_shape(out, scan, form, &bytes, err));
	/* Makes one block for the dims and for values that cannot stay in the message. */
	own = scan->content.size != 0 || may_stay(scan, form, bytes) ? 0 : bytes;
	dims = sp_arena_alloc(arena, (size_t)scan->shape.rank * sizeof(*dims) + own);
	if (dims == NULL)
		return sp_no_memory(err, "an input");
	for (int i = 0; i < scan->shape.rank; i++) /* memcpy() would wait for the last stores */
		dims[i] = scan->shape.dims[i];
	out->dtype = scan->dtype;
	out->rank = scan->shape.rank;
	out->dims = dims;
	if (scan->content.size != 0) {
		if (scan->pieces != 0 && !sp_wire_check(scan->message, scan->layout->schema))
			return malformed(scan, err);
		return decode_content(out, scan->content, bytes, arena, err);
	}
	out->data = own != 0 || bytes == 0 ? (const void *)(dims + out->rank)
					   : scan->values.bytes.data;
	if (own == 0 && bytes != 0)
		return SP_OK;
	return decode_values(scan, form, (char *)(dims + out->rank), own, err);
}

sp_status sp_tensor_message_decode(serving_processor_tensor *out, sp_bytes message, sp_arena *arena,
				   sp_error *err)
{
	tensor_scan scan;

	scan.layout = &sp_tensor__proto;
	scan.message = message;
	return decode(out, &scan, arena, err);
}

sp_status sp_tensor_message_decode_array(serving_processor_tensor *out, sp_bytes message,
					 sp_arena *arena, sp_error *err)
{
	tensor_scan scan;

	scan.layout = &sp_tensor__array;
	scan.message = message;
	return decode(out, &scan, arena, err);
}
