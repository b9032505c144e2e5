#include <inttypes.h>
#include <string.h>

#include "api/host/messages/tensor_fields.h"
#include "api/host/messages/tensor_message.h"
#include "base/size.h"

/*
 * One pass finds type, shape and the fields with values; the values are then read by the type.
 * Protocol buffers allow to give a repeated field in pieces, packed or not, and other value fields
 * beside it: that takes a second pass over the message, and is checked as a whole.
 */

enum { MAX_DIMS = 16 };

typedef struct tensor_scan {
	sp_bytes message;
	int dtype;
	int rank;
	int64_t dims[MAX_DIMS];
	bool unknown_rank;
	sp_bytes content;
	sp_wire_field values; /* the last field with values */
	size_t pieces;        /* fields with values */
} tensor_scan;

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "not a TensorProto message");
}

static void begin_scan(tensor_scan *scan)
{
	scan->dtype = scan->rank = 0;
	scan->unknown_rank = false;
	scan->content = (sp_bytes){NULL, 0};
	scan->pieces = 0;
}

static sp_status scan_dim(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;
	int64_t size = 0;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD)
		if (field.number == SP_DIM_SIZE && field.type == SP_WIRE_VARINT)
			size = (int64_t)field.value;
	if (result != SP_WIRE_END)
		return malformed(err);
	if (scan->rank == MAX_DIMS)
		return sp_error_set(err, SP_UNSUPPORTED, "more than %d dimensions", MAX_DIMS);
	scan->dims[scan->rank++] = size;
	return SP_OK;
}

static sp_status scan_shape(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == SP_SHAPE_DIM && field.type == SP_WIRE_BYTES)
			SP_TRY(scan_dim(scan, field.bytes, err));
		else if (field.number == SP_SHAPE_UNKNOWN_RANK && field.type == SP_WIRE_VARINT)
			scan->unknown_rank = field.value != 0;
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status scan_tensor(tensor_scan *scan, sp_error *err)
{
	sp_wire wire = sp_wire_of(scan->message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == SP_TENSOR_DTYPE && field.type == SP_WIRE_VARINT) {
			scan->dtype = (int)(int32_t)field.value;
		} else if (field.number == SP_TENSOR_SHAPE && field.type == SP_WIRE_BYTES) {
			SP_TRY(scan_shape(scan, field.bytes, err));
		} else if (field.number == SP_TENSOR_CONTENT && field.type == SP_WIRE_BYTES) {
			scan->content = field.bytes;
		} else if (field.number >= SP_TENSOR_FLOAT_VAL &&
			   field.number < SP_TENSOR_FIELD_COUNT) {
			scan->values = field;
			scan->pieces++;
		}
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

/*
 * Reads a message as writers make them: type, shape, and one field with values, of small sizes.
 * False for any other, whose scan starts afresh.
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
	for (at += LEAST; at != shape_end; scan->rank++) {
		if (shape_end - at < LEAST || at[0] != TAG_DIM || at[1] > shape_end - at - 2 ||
		    at[2] != TAG_SIZE || scan->rank == MAX_DIMS)
			return false;
		dim_end = at + 2 + at[1];
		at += 3;
		size = sp_wire_read_small(&at, dim_end);
		if (size < 0 || at != dim_end)
			return false;
		scan->dims[scan->rank] = size;
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

/* Where the next element goes.  Values that do not fit any more are checked and dropped. */
typedef struct sink {
	const sp_tensor_form *form;
	char *at, *end;
} sink;

static inline __attribute__((always_inline)) bool take_varints(sp_wire *wire, sink *out,
							       size_t size, bool flags)
{
	char *at = out->at;
	uint64_t value;

	while (wire->at != wire->end) {
		if (*wire->at < 0x80)
			value = *wire->at++;
		else if (!sp_wire_read_varint(wire, &value))
			return false;
		if (at == out->end)
			continue;
		if (flags)
			value = value != 0;
		memcpy(at, &value, size); /* little-endian: truncates */
		at += size;
	}
	out->at = at;
	return true;
}

static bool take_packed(sp_bytes run, sink *out)
{
	size_t room = (size_t)(out->end - out->at), size = out->form->size;
	sp_wire wire = sp_wire_of(run);

	switch (out->form->wire) {
	case SP_WIRE_VARINT:
		if (out->form->is_flag)
			return take_varints(&wire, out, 1, true);
		switch (size) {
		case 1:
			return take_varints(&wire, out, 1, false);
		case 2:
			return take_varints(&wire, out, 2, false);
		case 4:
			return take_varints(&wire, out, 4, false);
		default:
			return take_varints(&wire, out, 8, false);
		}
	case SP_WIRE_BYTES:
		if (room != 0) {
			memcpy(out->at, &run, sizeof(run));
			out->at += sizeof(run);
		}
		return true;
	default:
		if (run.size % size != 0)
			return false;
		room = room < run.size ? room : run.size;
		if (room != 0)
			memcpy(out->at, run.data, room);
		out->at += room;
		return true;
	}
}

/* A field of another wire type than the form has is an unknown one. */
static bool take_field(const sp_wire_field *field, sink *out)
{
	unsigned char one[10]; /* a single value as in a packed field */
	unsigned char *end = one;

	if (field->type == SP_WIRE_BYTES)
		return take_packed(field->bytes, out);
	if (field->type != out->form->wire)
		return true;
	if (field->type == SP_WIRE_VARINT)
		end = sp_wire_put_varint(one, field->value);
	else
		end = sp_wire_put_bytes(one, &field->value, out->form->size);
	return take_packed((sp_bytes){(const char *)one, (size_t)(end - one)}, out);
}

static bool take_pieces(const tensor_scan *scan, sink *out)
{
	sp_wire wire = sp_wire_of(scan->message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == out->form->field && !take_field(&field, out))
			return false;
	return true;
}

/* Repeats the last element up to the end. */
static void repeat(char *data, sink *out, size_t element_size)
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
	       (form->wire == SP_WIRE_FIXED32 || form->wire == SP_WIRE_FIXED64);
}

/* Reads the values into `data`, which has `bytes` of room. */
static sp_status decode_values(const tensor_scan *scan, const sp_tensor_form *form, char *data,
			       size_t bytes, sp_error *err)
{
	bool plain = scan->pieces == 1 && scan->values.number == form->field;
	sink to = {.form = form, .at = data, .end = data + bytes};

	if (!plain && scan->pieces != 0 && !sp_wire_check(scan->message, &sp_tensor__schema))
		return malformed(err);
	if (!(plain ? take_field(&scan->values, &to) : take_pieces(scan, &to)))
		return malformed(err);
	if (to.at != to.end)
		repeat(data, &to, (size_t)form->size * form->parts);
	return SP_OK;
}

/* ------------------------------------------------------------------- content */

/* All lengths as varints, then all bytes. */
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
		for (size_t i = 0; i < content.size; i++)
			if ((unsigned char)content.data[i] > 1)
				return sp_error_set(err, SP_INVALID,
						    "a bool that is neither 0 nor 1");
	out->data = content.data;
	return SP_OK;
}

/* -------------------------------------------------------------------- tensor */

static sp_status check_shape(serving_processor_tensor *out, const tensor_scan *scan,
			     size_t element_size, size_t *bytes, sp_error *err)
{
	if (scan->unknown_rank)
		return sp_error_set(err, SP_INVALID, "the shape is of unknown rank");
	for (int i = 0; i < scan->rank; i++)
		if (scan->dims[i] < 0)
			return sp_error_set(err, SP_INVALID, "a dimension of %" PRId64,
					    scan->dims[i]);
	if (!sp_tensor_message_size(scan->dims, scan->rank, element_size, &out->count, bytes))
		return sp_error_set(err, SP_INVALID, "a shape too large");
	if (scan->content.size == 0 && *bytes > SP_TENSOR_MESSAGE_MAX_FILL &&
	    *bytes / 16 > scan->message.size)
		return sp_error_set(err, SP_INVALID, "%zu bytes of values by repetition", *bytes);
	return SP_OK;
}

static sp_status scan_message(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	scan->message = message;
	begin_scan(scan);
	if (scan_usual(scan))
		return SP_OK;
	begin_scan(scan);
	SP_TRY(scan_tensor(scan, err));
	if (scan->dtype == 0)
		return sp_error_set(err, SP_INVALID, "no dtype");
	return SP_OK;
}

sp_status sp_tensor_message_decode(serving_processor_tensor *out, sp_bytes message, sp_arena *arena,
				   sp_error *err)
{
	const sp_tensor_form *form;
	size_t bytes = 0, own;
	tensor_scan scan;
	int64_t *dims;

	SP_TRY(scan_message(&scan, message, err));
	form = sp_tensor__form(scan.dtype);
	if (form == NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "dtype %d (%s) is not supported",
				    scan.dtype, serving_processor_dtype_name(scan.dtype));
	SP_TRY(check_shape(out, &scan, (size_t)form->size * form->parts, &bytes, err));
	/* One block for the dims and for values that do not stay in the message. */
	own = scan.content.size != 0 || may_stay(&scan, form, bytes) ? 0 : bytes;
	dims = sp_arena_alloc(arena, (size_t)scan.rank * sizeof(*dims) + own);
	if (dims == NULL)
		return sp_no_memory(err, "an input");
	for (int i = 0; i < scan.rank; i++)
		dims[i] = scan.dims[i];
	out->dtype = scan.dtype;
	out->rank = scan.rank;
	out->dims = dims;
	if (scan.content.size != 0) {
		if (scan.pieces != 0 && !sp_wire_check(message, &sp_tensor__schema))
			return malformed(err);
		return decode_content(out, scan.content, bytes, arena, err);
	}
	out->data = own != 0 || bytes == 0 ? (const void *)(dims + scan.rank)
					   : scan.values.bytes.data;
	if (own == 0 && bytes != 0)
		return SP_OK;
	return decode_values(&scan, form, (char *)(dims + scan.rank), own, err);
}
