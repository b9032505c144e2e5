#include "model_loader/proto/tensor_proto.h"

#include <string.h>

#include "base/varint.h"
#include "model_loader/proto/unpack.h"
#include "model_loader/proto/proto_internal.h"

enum {
	REFERENCE = 100,           /* DT_FLOAT_REF is DT_FLOAT + 100, and so on */
	LEAST_LEFT_OUT = 16 << 10, /* fewer repeated bytes are always expanded */
};

sp_dtype sp_proto__dtype(int32_t number)
{
	if (number > REFERENCE)
		number -= REFERENCE;
	return number > 0 && number <= SP_FILE_DTYPE_MAX ? (sp_dtype)number : SP_INVALID_DTYPE;
}

sp_status sp_proto__known_dtype(sp_dtype *out, int32_t number, sp_error *err)
{
	/* Types of TensorFlow without an sp_dtype. */
	static const char *const names[] = {[24] = "DT_FLOAT8_E5M2",
					    [25] = "DT_FLOAT8_E4M3FN",
					    [29] = "DT_INT4",
					    [30] = "DT_UINT4"};
	size_t count = sizeof(names) / sizeof(names[0]);
	size_t plain = (size_t)(number > REFERENCE ? number - REFERENCE : number);

	*out = sp_proto__dtype(number);
	if (*out != SP_INVALID_DTYPE)
		return SP_OK;
	if (plain < count && names[plain] != NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "data type %s is not supported",
				    names[plain]);
	return sp_error_set(err, SP_UNSUPPORTED, "data type %d is not known", number);
}

sp_status sp_proto__partial_shape(sp_partial_shape *out, const SpPb__TensorShapeProto *proto,
				  sp_error *err)
{
	*out = (sp_partial_shape){.rank = 0};
	if (proto == NULL)
		return SP_OK;
	if (proto->unknown_rank) {
		out->rank = -1;
		return SP_OK;
	}
	if (proto->n_dim > SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED, "rank %zu is above the supported %d",
				    proto->n_dim, SP_MAX_RANK);
	out->rank = (int32_t)proto->n_dim;
	for (size_t i = 0; i < proto->n_dim; i++) {
		out->dims[i] = proto->dim[i]->size;
		if (out->dims[i] < -1)
			return sp_error_set(err, SP_CORRUPT, "dimension %zu of a shape is %lld", i,
					    (long long)out->dims[i]);
	}
	return SP_OK;
}

sp_status sp_proto__shape(sp_shape *out, const SpPb__TensorShapeProto *proto, sp_error *err)
{
	sp_partial_shape partial;
	size_t count;

	SP_TRY(sp_proto__partial_shape(&partial, proto, err));
	if (partial.rank < 0)
		return sp_error_set(err, SP_CORRUPT, "a tensor's shape has no rank");
	out->rank = partial.rank;
	memcpy(out->dims, partial.dims, sizeof(out->dims));
	for (int i = 0; i < out->rank; i++)
		if (out->dims[i] < 0)
			return sp_error_set(err, SP_CORRUPT, "dimension %d of a tensor is %lld", i,
					    (long long)out->dims[i]);
	if (!sp_shape_count(out, &count)) {
		char text[SP_SHAPE_TEXT_SIZE];

		return sp_error_set(err, SP_CORRUPT, "a tensor of shape %s is too large",
				    sp_shape_text(out, text));
	}
	return SP_OK;
}

/* The values of one typed field; `width` is the size of a value in the message. */
typedef struct values {
	const void *data;
	size_t count;
	size_t width;
} values;

static values values_of(const SpPb__TensorProto *p, sp_dtype dtype)
{
	switch (dtype) {
	case SP_FLOAT:
		return (values){p->float_val, p->n_float_val, sizeof(float)};
	case SP_DOUBLE:
		return (values){p->double_val, p->n_double_val, sizeof(double)};
	case SP_COMPLEX64: /* pairs */
		return (values){p->scomplex_val, p->n_scomplex_val / 2, 2 * sizeof(float)};
	case SP_COMPLEX128:
		return (values){p->dcomplex_val, p->n_dcomplex_val / 2, 2 * sizeof(double)};
	case SP_INT64:
		return (values){p->int64_val, p->n_int64_val, sizeof(int64_t)};
	case SP_UINT64:
		return (values){p->uint64_val, p->n_uint64_val, sizeof(uint64_t)};
	case SP_UINT32:
		return (values){p->uint32_val, p->n_uint32_val, sizeof(uint32_t)};
	case SP_BOOL:
		return (values){p->bool_val, p->n_bool_val, sizeof(protobuf_c_boolean)};
	case SP_HALF:
	case SP_BFLOAT16:
		return (values){p->half_val, p->n_half_val, sizeof(int32_t)};
	case SP_STRING:
		return (values){p->string_val, p->n_string_val, sizeof(ProtobufCBinaryData)};
	default: /* int8 ... int32, uint8, uint16, the quantized ones */
		return (values){p->int_val, p->n_int_val, sizeof(int32_t)};
	}
}

static sp_status copy_string(sp_bytes *out, sp_bytes from, sp_arena *arena, sp_error *err)
{
	char *text = sp_arena_text(arena, from);

	SP_NEED_MEMORY(text, err, "%zu bytes of text", from.size);
	*out = (sp_bytes){text, from.size};
	return SP_OK;
}

static sp_status copy_values(sp_tensor *t, const values *from, size_t count, sp_arena *arena,
			     sp_error *err)
{
	const int32_t *ints = from->data;

	if (t->dtype == SP_STRING) {
		const ProtobufCBinaryData *texts = from->data;

		for (size_t i = 0; i < count; i++)
			SP_TRY(copy_string(&sp_tensor_strings(t)[i], sp_message_bytes(&texts[i]),
					   arena, err));
	} else if (t->dtype == SP_BOOL) {
		for (size_t i = 0; i < count; i++)
			sp_tensor_bool(t)[i] = ((const protobuf_c_boolean *)from->data)[i] != 0;
	} else if (sp_dtype_size(t->dtype) == from->width) {
		if (count != 0)
			memcpy(t->data, from->data, count * from->width);
	} else if (sp_dtype_size(t->dtype) == 2) {
		for (size_t i = 0; i < count; i++)
			((uint16_t *)t->data)[i] = (uint16_t)ints[i];
	} else {
		for (size_t i = 0; i < count; i++)
			((uint8_t *)t->data)[i] = (uint8_t)ints[i];
	}
	return SP_OK;
}

/* Counts the elements with their own values, and the bytes of the others. */
static size_t count_values(const values *from, const sp_shape *shape, sp_dtype dtype, size_t *extra)
{
	size_t count, have;

	(void)sp_shape_count(shape, &count); /* sp_proto__shape() has checked for overflow */
	have = from->count < count ? from->count : count;
	*extra = (count - have) * sp_dtype_size(dtype);
	return have;
}

static sp_status from_values(sp_tensor *out, sp_dtype dtype, const sp_shape *shape,
			     const SpPb__TensorProto *proto, sp_proto_target *target, sp_error *err)
{
	values from = values_of(proto, dtype);
	size_t extra, have = count_values(&from, shape, dtype, &extra);

	if (extra > target->repeated_left)
		return sp_error_set(err, SP_CORRUPT,
				    "constants of this file repeat values into more than %zu bytes",
				    SP_TENSOR_PROTO_MAX_REPEATED);
	target->repeated_left -= extra;
	SP_TRY(sp_tensor_create(out, target->arena, dtype, shape, err));
	SP_TRY(copy_values(out, &from, have, target->arena, err));
	if (have < out->count)
		sp_tensor_repeat_last(out, have);
	return SP_OK;
}

/* tensor_content of strings: the lengths as varints, then all bytes. */
static sp_status strings_of_content(sp_tensor *out, sp_bytes content, sp_arena *arena,
				    sp_error *err)
{
	const uint8_t *at = (const uint8_t *)content.data, *end = at + content.size;
	sp_bytes *items = sp_tensor_strings(out);

	for (size_t i = 0; i < out->count; i++) {
		uint64_t length;

		if (!sp_varint_read(&at, end, &length) || length > content.size)
			return sp_error_set(err, SP_CORRUPT, "tensor_content ends in a length");
		items[i].size = (size_t)length;
	}
	for (size_t i = 0; i < out->count; i++) {
		if (items[i].size > (size_t)(end - at))
			return sp_error_set(err, SP_CORRUPT, "tensor_content ends in a string");
		SP_TRY(copy_string(&items[i], (sp_bytes){(const char *)at, items[i].size}, arena,
				   err));
		at += items[i].size;
	}
	if (at != end)
		return sp_error_set(err, SP_CORRUPT, "tensor_content has %zu bytes too many",
				    (size_t)(end - at));
	return SP_OK;
}

static sp_status from_content(sp_tensor *out, sp_dtype dtype, const sp_shape *shape,
			      sp_bytes content, sp_arena *arena, sp_error *err)
{
	/* A string takes at least one byte, for its length. */
	size_t size = dtype == SP_STRING ? 1 : sp_dtype_size(dtype), count;

	(void)sp_shape_count(shape, &count);
	if (dtype == SP_STRING ? content.size < count : content.size != count * size) {
		char text[SP_SHAPE_TEXT_SIZE];

		return sp_error_set(err, SP_CORRUPT,
				    "tensor_content has %zu bytes, which is no %s of shape %s",
				    content.size, sp_dtype_name(dtype), sp_shape_text(shape, text));
	}
	SP_TRY(sp_tensor_create(out, arena, dtype, shape, err));
	if (dtype == SP_STRING)
		return strings_of_content(out, content, arena, err);
	memcpy(out->data, content.data, content.size);
	if (dtype == SP_BOOL)
		for (size_t i = 0; i < count; i++)
			sp_tensor_bool(out)[i] = content.data[i] != 0;
	return SP_OK;
}

/* Reads type and shape, and whether the values are in tensor_content. */
static sp_status read_type(sp_dtype *dtype, sp_shape *shape, bool *has_content,
			   const SpPb__TensorProto *proto, sp_error *err)
{
	size_t count;

	SP_TRY(sp_proto__known_dtype(dtype, proto->dtype, err));
	if (sp_dtype_size(*dtype) == 0 || *dtype == SP_RESOURCE)
		return sp_error_set(err, SP_UNSUPPORTED, "a constant of %s is not supported",
				    sp_dtype_name(*dtype));
	SP_TRY(sp_proto__shape(shape, proto->tensor_shape, err));
	(void)sp_shape_count(shape, &count);
	*has_content = count != 0 && proto->tensor_content.len != 0;
	return SP_OK;
}

sp_status sp_proto__tensor(sp_tensor *out, const SpPb__TensorProto *proto, sp_proto_target *target,
			   sp_error *err)
{
	sp_dtype dtype;
	sp_shape shape;
	bool has_content;

	SP_TRY(read_type(&dtype, &shape, &has_content, proto, err));
	if (has_content)
		return from_content(out, dtype, &shape, sp_message_bytes(&proto->tensor_content),
				    target->arena, err);
	return from_values(out, dtype, &shape, proto, target, err);
}

sp_status sp_proto__repeated_values(sp_repeated_values **out, const SpPb__TensorProto *proto,
				    sp_proto_target *target, sp_error *err)
{
	sp_dtype dtype;
	sp_shape shape, row = {.rank = 1};
	bool has_content;
	values from;
	size_t extra, have;

	*out = NULL;
	SP_TRY(read_type(&dtype, &shape, &has_content, proto, err));
	from = values_of(proto, dtype);
	have = count_values(&from, &shape, dtype, &extra);
	if (has_content || extra < LEAST_LEFT_OUT)
		return SP_OK;
	*out = sp_arena_alloc(target->arena, sizeof(**out));
	SP_NEED_MEMORY(*out, err, "a constant");
	row.dims[0] = (int64_t)have;
	(*out)->shape = shape;
	SP_TRY(sp_tensor_create(&(*out)->values, target->arena, dtype, &row, err));
	return copy_values(&(*out)->values, &from, have, target->arena, err);
}

sp_status sp_tensor_parse(sp_tensor *out, sp_bytes bytes, sp_arena *arena, sp_error *err)
{
	sp_proto_target target = {arena, SP_TENSOR_PROTO_MAX_REPEATED};
	sp_arena *scratch = sp_arena_create(4096);
	ProtobufCMessage *message;
	sp_status status;

	SP_NEED_MEMORY(scratch, err, "a constant");
	status = sp_message_unpack(&message, &sp_pb__tensor_proto__descriptor, bytes, scratch, err);
	if (status == SP_OK)
		status = sp_proto__tensor(out, (const SpPb__TensorProto *)message, &target, err);
	sp_arena_destroy(scratch);
	return status;
}
