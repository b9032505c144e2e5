#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "engine/kernels/protobuf_reader.h"
#include "engine/kernels/protobuf_writer.h"
#include "engine/ops/array.h"
#include "engine/ops/proto_message.h"

/*
 * EncodeProto: tensors to serialized messages, a field from each; `sizes` says how many
 * of its values a message takes.  A size of 0 or less writes nothing.
 *
 * Fields are written by number; packed are those whose own options say so.  The bytes are
 * TensorFlow's.
 *
 * A message's size is computed first, so its bytes are written once.
 *
 * Source: encode_proto_op.cc of TensorFlow 2.15.
 */
typedef struct encode_field {
	sp_proto_field field;
	uint32_t wire;
	size_t input; /* which of the values */
} encode_field;

typedef struct encode_state {
	encode_field *fields; /* by number */
	size_t count;
} encode_state;

static int by_number(const void *a, const void *b)
{
	const encode_field *x = a, *y = b;

	if (x->field.number != y->field.number)
		return x->field.number < y->field.number ? -1 : 1;
	return x->input < y->input ? -1 : 1;
}

static sp_status prepare_encode(sp_prepare *prepare, sp_error *err)
{
	encode_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_proto_message message;
	const sp_attr *names;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_node_attr_list(prepare->node, "field_names", SP_ATTR_BYTES, &names, err));
	SP_TRY(sp_prepare_inputs(prepare, 1 + names->count, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	SP_TRY(sp_proto_message__open(prepare, &message, err));
	state->count = names->count;
	state->fields = sp_arena_zeros(prepare->arena, names->count, sizeof(encode_field));
	if (state->fields == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu fields", names->count);
	for (size_t i = 0; i < names->count; i++) {
		encode_field *to = &state->fields[i];

		to->input = i;
		SP_TRY(sp_proto_message__field(&message, names->bytes_list[i], false, &to->field,
					       err));
		SP_TRY(sp_proto_message__check(&to->field, prepare->in_dtypes[1 + i], err));
		to->wire = sp_proto_message__wire(to->field.type);
	}
	if (names->count != 0)
		qsort(state->fields, names->count, sizeof(encode_field), by_number);
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

/* -------------------------------------------------------------------- one value */

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int64_t integer_at(const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_BOOL:
		return sp_tensor_bool(t)[i];
	case SP_UINT32:
		return ((const uint32_t *)t->data)[i];
	case SP_UINT64:
		return (int64_t)((const uint64_t *)t->data)[i];
	default:
		return sp_tensor_index(t, i);
	}
}

/* The varint of a value: 32-bit types take the low bits first. */
static uint64_t varint_at(const encode_field *f, const sp_tensor *t, size_t i)
{
	int64_t value = integer_at(t, i);

	switch (f->field.type) {
	case SP_PROTO_INT32:
	case SP_PROTO_ENUM:
		return (uint64_t)(int32_t)value;
	case SP_PROTO_UINT32:
		return (uint32_t)value;
	case SP_PROTO_SINT32:
		return (uint32_t)zigzag((int32_t)value);
	case SP_PROTO_SINT64:
		return zigzag(value);
	default:
		return (uint64_t)value;
	}
}

/* Four or eight bytes of a fixed field. */
static char *put_fixed(char *to, const encode_field *f, const sp_tensor *t, size_t i)
{
	size_t size = f->wire == SP_PROTOBUF_FIXED32 ? 4 : 8;
	int64_t integer;
	float narrow;

	if (f->field.type == SP_PROTO_FLOAT && t->dtype == SP_DOUBLE) {
		narrow = (float)sp_tensor_f64(t)[i];
		memcpy(to, &narrow, size);
	} else if (t->dtype == SP_FLOAT || t->dtype == SP_DOUBLE) {
		memcpy(to, (const char *)t->data + i * size, size);
	} else {
		integer = integer_at(t, i);
		memcpy(to, &integer, size);
	}
	return to + size;
}

/* Bytes of a value without its tag; of a text with its length or the end of its group. */
static size_t value_size(const encode_field *f, const sp_tensor *t, size_t i)
{
	size_t size;

	switch (f->wire) {
	case SP_PROTOBUF_VARINT:
		return sp_protobuf_varint_size(varint_at(f, t, i));
	case SP_PROTOBUF_FIXED32:
		return 4;
	case SP_PROTOBUF_FIXED64:
		return 8;
	case SP_PROTO_WIRE_GROUP:
		return sp_tensor_strings(t)[i].size + sp_protobuf_varint_size(f->field.number << 3);
	default:
		size = sp_tensor_strings(t)[i].size;
		return sp_protobuf_varint_size(size) + size;
	}
}

static char *put_bytes(char *to, sp_bytes bytes)
{
	if (bytes.size != 0)
		memcpy(to, bytes.data, bytes.size);
	return to + bytes.size;
}

static char *put_value(char *to, const encode_field *f, const sp_tensor *t, size_t i)
{
	switch (f->wire) {
	case SP_PROTOBUF_VARINT:
		return sp_protobuf_put_varint(to, varint_at(f, t, i));
	case SP_PROTOBUF_FIXED32:
	case SP_PROTOBUF_FIXED64:
		return put_fixed(to, f, t, i);
	case SP_PROTO_WIRE_GROUP:
		to = put_bytes(to, sp_tensor_strings(t)[i]);
		return sp_protobuf_put_varint(to, f->field.number << 3 | SP_PROTO_WIRE_GROUP_END);
	default:
		to = sp_protobuf_put_varint(to, sp_tensor_strings(t)[i].size);
		return put_bytes(to, sp_tensor_strings(t)[i]);
	}
}

/* -------------------------------------------------------------------- a message */

/* The values of a field that message `m` takes. */
typedef struct run {
	const encode_field *field;
	const sp_tensor *values;
	size_t first, end;
	bool packed;
} run;

static run run_of(const sp_call *call, size_t m, size_t f)
{
	const encode_state *state = call->state;
	const encode_field *field = &state->fields[f];
	const sp_tensor *values = call->in[1 + field->input];
	size_t width = (size_t)values->shape.dims[values->shape.rank - 1];
	int32_t size = sp_tensor_i32(call->in[0])[m * state->count + field->input];

	return (run){.field = field,
		     .values = values,
		     .first = m * width,
		     .end = m * width + (size > 0 ? (size_t)size : 0),
		     .packed = field->field.is_packed && values->dtype != SP_STRING};
}

/* False when it does not fit a size. */
static bool block_size(const run *r, size_t *out)
{
	*out = 0;
	for (size_t i = r->first; i < r->end; i++)
		if (!sp_size_add(out, *out, value_size(r->field, r->values, i)))
			return false;
	return true;
}

static bool run_size(const run *r, size_t *out)
{
	size_t tag = sp_protobuf_varint_size(r->field->field.number << 3), tags;

	if (r->first == r->end) {
		*out = 0;
		return true;
	}
	if (!block_size(r, out))
		return false;
	if (r->packed)
		return sp_size_add(out, *out, tag + sp_protobuf_varint_size(*out));
	return sp_size_mul(&tags, tag, r->end - r->first) && sp_size_add(out, *out, tags);
}

static char *put_run(char *to, const run *r)
{
	uint64_t tag = (uint64_t)r->field->field.number << 3;
	size_t size;

	if (r->first == r->end)
		return to;
	if (r->packed && block_size(r, &size)) {
		to = sp_protobuf_put_varint(to, tag | SP_PROTOBUF_DELIMITED);
		to = sp_protobuf_put_varint(to, size);
	}
	for (size_t i = r->first; i < r->end; i++) {
		if (!r->packed)
			to = sp_protobuf_put_varint(to, tag | r->field->wire);
		to = put_value(to, r->field, r->values, i);
	}
	return to;
}

static sp_status encode(const sp_call *call, size_t m, sp_bytes *out)
{
	const encode_state *state = call->state;
	size_t total = 0, size;
	char *text, *to;

	for (size_t f = 0; f < state->count; f++) {
		run r = run_of(call, m, f);

		if (!run_size(&r, &size) || !sp_size_add(&total, total, size))
			return sp_call_no_memory(call);
	}
	text = to = sp_call_bytes(call, total, 1);
	if (text == NULL)
		return sp_call_no_memory(call);
	for (size_t f = 0; f < state->count; f++) {
		run r = run_of(call, m, f);

		to = put_run(to, &r);
	}
	*out = (sp_bytes){text, total};
	return SP_OK;
}

/* ---------------------------------------------------------------------- running */

/* The shape that all values have but for their last dimension. */
static sp_status common_shape(const sp_call *call, sp_shape *out)
{
	sp_shape shape;

	*out = sp_shape_scalar();
	for (size_t i = 1; i < call->in_count; i++) {
		shape = call->in[i]->shape;
		if (shape.rank < 2)
			return sp_call_invalid(call, "the values of field %zu have rank %d", i - 1,
					       shape.rank);
		shape.rank--;
		if (i == 1)
			*out = shape;
		else if (!sp_shape_equal(out, &shape))
			return sp_call_invalid(call, "Values must match up to the last dimension");
	}
	return SP_OK;
}

static sp_status check_sizes(const sp_call *call, const sp_shape *common)
{
	const sp_tensor *sizes = call->in[0];
	size_t fields = call->in_count - 1;
	sp_shape expected = *common;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_array__rank(call, (int64_t)expected.rank + 1));
	expected.dims[expected.rank++] = (int64_t)fields;
	if (!sp_shape_equal(&sizes->shape, &expected))
		return sp_call_invalid(call, "sizes should be %s", sp_shape_text(&expected, text));
	for (size_t i = 0; i < sizes->count; i++) {
		const sp_tensor *values = call->in[1 + i % fields];
		int64_t most = values->shape.dims[values->shape.rank - 1];

		if (sp_tensor_i32(sizes)[i] > most)
			return sp_call_invalid(call,
					       "Size to write must not be larger than value "
					       "tensor; but saw: %d > %lld at message %zu",
					       sp_tensor_i32(sizes)[i], (long long)most,
					       i / fields);
	}
	return SP_OK;
}

static sp_status run_encode(const sp_call *call)
{
	sp_shape shape;

	SP_TRY(common_shape(call, &shape));
	SP_TRY(check_sizes(call, &shape));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	for (size_t m = 0; m < call->out[0]->count; m++)
		SP_TRY(encode(call, m, &sp_tensor_strings(call->out[0])[m]));
	return SP_OK;
}

const sp_op sp_op_EncodeProto = {
	.name = "EncodeProto",
	.outputs = "bytes",
	.prepare = prepare_encode,
	.run = run_encode,
};
