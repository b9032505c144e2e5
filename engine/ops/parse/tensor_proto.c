#include "engine/ops/parse/tensor_proto.h"

#include <string.h>

#include "base/size.h"
#include "engine/kernels/protobuf_reader.h"
#include "engine/kernels/protobuf_writer.h"
#include "engine/ops/list/list.h"

/*
 * ParseTensor: a serialized TensorProto to the tensor in it.  SerializeTensor: the inverse, with
 * the same bytes as TensorFlow.
 *
 * The elements come from tensor_content or from the typed field of the element type.  If a typed
 * field has fewer values than the shape has elements, the last value is repeated; without values
 * all elements are zero.  Values beyond the shape are ignored; integers are truncated to the type's
 * width.
 *
 * Source: tensor.proto, tensor_shape.proto and Tensor::FromProto of TensorFlow 2.15.
 */
enum {
	DTYPE = 1,
	SHAPE = 2,
	CONTENT = 4,
	STRING_VAL = 8,
};

/* The typed field of an element type, and its encoding. */
typedef struct value_field {
	uint32_t number;
	uint32_t wire; /* of one value */
	size_t width;  /* bytes of a value in the tensor, half an element if it is complex */
} value_field;

static value_field field_of(sp_dtype dtype)
{
	size_t size = sp_dtype_size(dtype);

	switch (dtype) {
	case SP_FLOAT:
		return (value_field){5, SP_PROTOBUF_FIXED32, size};
	case SP_DOUBLE:
		return (value_field){6, SP_PROTOBUF_FIXED64, size};
	case SP_STRING:
		return (value_field){STRING_VAL, SP_PROTOBUF_DELIMITED, size};
	case SP_COMPLEX64:
		return (value_field){9, SP_PROTOBUF_FIXED32, size / 2};
	case SP_INT64:
		return (value_field){10, SP_PROTOBUF_VARINT, size};
	case SP_BOOL:
		return (value_field){11, SP_PROTOBUF_VARINT, size};
	case SP_COMPLEX128:
		return (value_field){12, SP_PROTOBUF_FIXED64, size / 2};
	case SP_HALF:
	case SP_BFLOAT16:
		return (value_field){13, SP_PROTOBUF_VARINT, size};
	case SP_UINT32:
		return (value_field){16, SP_PROTOBUF_VARINT, size};
	case SP_UINT64:
		return (value_field){17, SP_PROTOBUF_VARINT, size};
	default: /* int8 ... int32, uint8, uint16, the quantized ones */
		return (value_field){7, SP_PROTOBUF_VARINT, size};
	}
}

static bool movable(sp_dtype dtype)
{
	return dtype != SP_RESOURCE && sp_dtype_size(dtype) != 0;
}

/* ----------------------------------------------------------------------- reading */

/* A field of a message: a number (varint), or the bytes of the field. */
typedef struct wire_field {
	uint32_t tag;
	uint64_t number;
	sp_bytes bytes;
} wire_field;

/* Reads the next field; false when it is malformed. */
static bool read_field(sp_bytes *from, wire_field *out)
{
	return sp_protobuf_tag(from, &out->tag) && out->tag >= 8 &&
	       sp_protobuf_value(from, out->tag, &out->number, &out->bytes);
}

/* The fields of a message besides its values. */
typedef struct head {
	uint64_t dtype;
	sp_shape shape;
	sp_bytes content;
} head;

static bool read_dim(sp_bytes from, int64_t *out)
{
	wire_field f;

	*out = 0;
	while (from.size > 0) {
		if (!read_field(&from, &f))
			return false;
		if (f.tag == (1 << 3 | SP_PROTOBUF_VARINT))
			*out = (int64_t)f.number;
	}
	return true;
}

/* Appends dimensions, because the field may come in pieces.  unknown_rank is ignored. */
static bool read_shape(sp_bytes from, head *h)
{
	wire_field f;

	while (from.size > 0) {
		if (!read_field(&from, &f))
			return false;
		if (f.tag != (2 << 3 | SP_PROTOBUF_DELIMITED))
			continue;
		if (h->shape.rank == SP_MAX_RANK ||
		    !read_dim(f.bytes, &h->shape.dims[h->shape.rank]))
			return false;
		h->shape.rank++;
	}
	return true;
}

static bool read_head(sp_bytes from, head *h)
{
	wire_field f;

	*h = (head){.dtype = 0};
	while (from.size > 0) {
		if (!read_field(&from, &f))
			return false;
		if (f.tag == (DTYPE << 3 | SP_PROTOBUF_VARINT))
			h->dtype = f.number;
		else if (f.tag == (CONTENT << 3 | SP_PROTOBUF_DELIMITED))
			h->content = f.bytes;
		else if (f.tag == (SHAPE << 3 | SP_PROTOBUF_DELIMITED) && !read_shape(f.bytes, h))
			return false;
	}
	return true;
}

/* Destination of values; those beyond `count` are ignored. */
typedef struct value_sink {
	value_field field;
	sp_dtype dtype;
	char *to;
	size_t count; /* of values: two for a complex element */
	size_t have;
} value_sink;

static void put_bytes(value_sink *s, sp_bytes value)
{
	if (s->have < s->count)
		memcpy(s->to + s->have++ * s->field.width, value.data, value.size);
}

static void put_text(value_sink *s, sp_bytes value)
{
	if (s->have < s->count)
		((sp_bytes *)(void *)s->to)[s->have++] = value;
}

/* Little-endian: the low bytes stand first. */
static void put_number(value_sink *s, uint64_t value)
{
	if (s->dtype == SP_BOOL)
		value = value != 0;
	put_bytes(s, (sp_bytes){(const char *)&value, s->field.width});
}

/* Reads a packed block of values. */
static bool put_packed(value_sink *s, sp_bytes block)
{
	uint64_t number;
	sp_bytes bytes;

	while (block.size > 0) {
		if (!sp_protobuf_value(&block, s->field.wire, &number, &bytes))
			return false;
		if (s->field.wire == SP_PROTOBUF_VARINT)
			put_number(s, number);
		else
			put_bytes(s, bytes);
	}
	return true;
}

/* Reads all values of the typed field, packed or not. */
static bool read_values(sp_bytes from, value_sink *s)
{
	wire_field f;

	while (from.size > 0) {
		if (!read_field(&from, &f))
			return false;
		if (f.tag >> 3 != s->field.number)
			continue;
		if (s->field.wire == SP_PROTOBUF_DELIMITED && (f.tag & 7) == SP_PROTOBUF_DELIMITED)
			put_text(s, f.bytes);
		else if ((f.tag & 7) == SP_PROTOBUF_DELIMITED) {
			if (!put_packed(s, f.bytes))
				return false;
		} else if ((f.tag & 7) == s->field.wire && s->field.wire == SP_PROTOBUF_VARINT)
			put_number(s, f.number);
		else if ((f.tag & 7) == s->field.wire)
			put_bytes(s, f.bytes);
	}
	return true;
}

static sp_status malformed(const sp_call *call)
{
	return sp_call_invalid(call, "Could not parse `serialized` as TensorProto");
}

static sp_status fill_from_values(const sp_call *call, sp_bytes from, sp_tensor *out)
{
	size_t size = sp_dtype_size(out->dtype), have;
	value_field field = field_of(out->dtype);
	value_sink sink = {.field = field, .dtype = out->dtype, .to = out->data};

	sink.count = out->count * (size / field.width);
	if (!read_values(from, &sink))
		return malformed(call);
	have = sink.have / (size / field.width);
	if (have == 0)
		sp_list__clear(out->dtype, out->data, out->count);
	for (size_t i = have; have != 0 && i < out->count; i++)
		memcpy((char *)out->data + i * size, (char *)out->data + (have - 1) * size, size);
	return SP_OK;
}

/* The content has all lengths, then all bytes. */
static sp_status fill_texts(const sp_call *call, sp_bytes content, sp_tensor *out)
{
	uint64_t size;

	for (size_t i = 0; i < out->count; i++) {
		if (!sp_protobuf_varint(&content, &size) || size > content.size)
			return malformed(call);
		sp_tensor_strings(out)[i].size = (size_t)size;
	}
	for (size_t i = 0; i < out->count; i++) {
		sp_bytes *text = &sp_tensor_strings(out)[i];

		if (text->size > content.size)
			return malformed(call);
		text->data = content.data;
		content = sp_protobuf_skip(content, text->size);
	}
	return content.size == 0 ? SP_OK : malformed(call);
}

static sp_status fill_from_content(const sp_call *call, sp_bytes content, sp_tensor *out)
{
	if (out->dtype == SP_STRING)
		return fill_texts(call, content, out);
	if (content.size != out->count * sp_dtype_size(out->dtype))
		return malformed(call);
	memcpy(out->data, content.data, content.size);
	for (size_t i = 0; out->dtype == SP_BOOL && i < out->count; i++)
		sp_tensor_bool(out)[i] = content.data[i] != 0;
	return SP_OK;
}

sp_status sp_tensor_proto__parse(const sp_call *call, sp_bytes from, sp_dtype dtype, sp_tensor *out)
{
	size_t count;
	head h;

	if (!read_head(from, &h) || !sp_shape_count(&h.shape, &count))
		return malformed(call);
	for (int i = 0; i < h.shape.rank; i++)
		if (h.shape.dims[i] < 0)
			return malformed(call);
	if (h.dtype != (uint64_t)dtype)
		return sp_call_invalid(call,
				       "Type mismatch between parsed tensor (type %llu) and dtype "
				       "(%s)",
				       (unsigned long long)h.dtype, sp_dtype_name(dtype));
	/* Each text of the content takes at least one byte for its length. */
	if (dtype == SP_STRING && h.content.size != 0 && count > h.content.size)
		return malformed(call);
	SP_TRY(sp_workspace_tensor(call->workspace, out, dtype, &h.shape, call->err));
	if (h.content.size != 0 && count != 0)
		return fill_from_content(call, h.content, out);
	return fill_from_values(call, from, out);
}

static sp_status run_parse(const sp_call *call)
{
	if (!sp_tensor_is_scalar(call->in[0]))
		return sp_call_invalid(call, "Expected `serialized` to be a scalar, not of rank %d",
				       call->in[0]->shape.rank);
	return sp_tensor_proto__parse(call, *sp_tensor_strings(call->in[0]),
				      *(const sp_dtype *)call->state, call->out[0]);
}

static sp_status prepare_parse(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *dtype = sp_prepare_state(prepare, sizeof(*dtype));

	if (dtype == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for ParseTensor");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_STRING, err));
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INVALID_DTYPE, dtype, err));
	if (!movable(*dtype))
		return sp_prepare_unsupported(prepare, *dtype, err);
	return sp_prepare_outputs(prepare, 1, *dtype, err);
}

/* ----------------------------------------------------------------------- writing */

/* A dimension of 0 is an empty message. */
static size_t dim_size(int64_t dim)
{
	return dim == 0 ? 0 : 1 + sp_protobuf_varint_size((uint64_t)dim);
}

static size_t shape_size(const sp_shape *shape)
{
	size_t size = 0;

	for (int i = 0; i < shape->rank; i++)
		size += 2 + dim_size(shape->dims[i]);
	return size;
}

/* The size of all lengths and bytes, plus `tag` bytes for each string. */
static bool texts_size(const sp_tensor *t, size_t tag, size_t *out)
{
	*out = 0;
	for (size_t i = 0; i < t->count; i++) {
		size_t size = sp_tensor_strings(t)[i].size;

		if (!sp_size_add(out, *out, tag + sp_protobuf_varint_size(size)) ||
		    !sp_size_add(out, *out, size))
			return false;
	}
	return true;
}

static bool content_size(const sp_tensor *t, size_t *out)
{
	if (t->dtype == SP_STRING)
		return texts_size(t, 0, out);
	*out = t->count * sp_dtype_size(t->dtype);
	return true;
}

static bool message_size(const sp_tensor *t, sp_texts texts, size_t *out)
{
	size_t head_size = 2 + 2 + shape_size(&t->shape), size;

	if (t->dtype == SP_STRING && texts == SP_TEXTS_AS_FIELDS)
		return texts_size(t, 1, &size) && sp_size_add(out, head_size, size);
	return content_size(t, &size) &&
	       sp_size_add(out, head_size, size != 0 ? 1 + sp_protobuf_varint_size(size) : 0) &&
	       sp_size_add(out, *out, size);
}

static char *put_delimited(char *to, uint32_t field, const void *data, size_t size)
{
	*to++ = (char)(field << 3 | SP_PROTOBUF_DELIMITED);
	to = sp_protobuf_put_varint(to, size);
	if (size != 0)
		memcpy(to, data, size);
	return to + size;
}

static char *put_shape(char *to, const sp_shape *shape)
{
	*to++ = SHAPE << 3 | SP_PROTOBUF_DELIMITED;
	*to++ = (char)shape_size(shape);
	for (int i = 0; i < shape->rank; i++) {
		*to++ = 2 << 3 | SP_PROTOBUF_DELIMITED;
		*to++ = (char)dim_size(shape->dims[i]);
		if (shape->dims[i] == 0)
			continue;
		*to++ = 1 << 3 | SP_PROTOBUF_VARINT;
		to = sp_protobuf_put_varint(to, (uint64_t)shape->dims[i]);
	}
	return to;
}

static void put_text_fields(char *to, const sp_tensor *t)
{
	for (size_t i = 0; i < t->count; i++)
		to = put_delimited(to, STRING_VAL, sp_tensor_strings(t)[i].data,
				   sp_tensor_strings(t)[i].size);
}

static void put_content(char *to, const sp_tensor *t)
{
	size_t size;

	if (!content_size(t, &size) || size == 0)
		return;
	if (t->dtype != SP_STRING) {
		put_delimited(to, CONTENT, t->data, size);
		return;
	}
	*to++ = CONTENT << 3 | SP_PROTOBUF_DELIMITED;
	to = sp_protobuf_put_varint(to, size);
	for (size_t i = 0; i < t->count; i++)
		to = sp_protobuf_put_varint(to, sp_tensor_strings(t)[i].size);
	for (size_t i = 0; i < t->count; i++) {
		sp_bytes text = sp_tensor_strings(t)[i];

		if (text.size != 0)
			to = (char *)memcpy(to, text.data, text.size) + text.size;
	}
}

sp_status sp_tensor_proto__write(const sp_call *call, const sp_tensor *t, sp_texts texts,
				 sp_bytes *out)
{
	size_t size;
	char *text, *to;

	if (!message_size(t, texts, &size))
		return sp_call_no_memory(call);
	text = to = sp_call_bytes(call, size, 1);
	if (text == NULL)
		return sp_call_no_memory(call);
	*to++ = DTYPE << 3 | SP_PROTOBUF_VARINT;
	*to++ = (char)t->dtype;
	to = put_shape(to, &t->shape);
	if (t->dtype == SP_STRING && texts == SP_TEXTS_AS_FIELDS)
		put_text_fields(to, t);
	else
		put_content(to, t);
	*out = (sp_bytes){text, size};
	return SP_OK;
}

static sp_status run_serialize(const sp_call *call)
{
	sp_shape scalar = sp_shape_scalar();

	SP_TRY(sp_call_output(call, 0, SP_STRING, &scalar));
	return sp_tensor_proto__write(call, call->in[0], SP_TEXTS_AS_FIELDS,
				      sp_tensor_strings(call->out[0]));
}

static sp_status prepare_serialize(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	if (!movable(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

SP_DEFINE_OP(ParseTensor, NULL, 0, prepare_parse, run_parse);
SP_DEFINE_OP(SerializeTensor, NULL, 0, prepare_serialize, run_serialize);
