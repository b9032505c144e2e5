#include <stdlib.h>
#include <string.h>

#include "engine/kernels/protobuf_reader.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/parse/proto_message.h"

/*
 * DecodeProtoV2: fields of serialized messages.  Each field is a tensor with room for the largest
 * number of values in a message, at least one; the rest is the field's default.  `sizes` has the
 * numbers of values.
 *
 * A field with an unexpected wire type is skipped, as are fields that are not requested; the last
 * value of a field that is not repeated is used.  Three peculiarities of TensorFlow's reader are
 * kept: a packed block for a field that is not repeated leaves the default, packed negative int32
 * values come as large int64 ones, and a packed block behind the last value is an error even when
 * it is empty.
 *
 * Strings are views of the messages.  Only message_format "binary" without `sanitize` is supported.
 *
 * Source: decode_proto_op.cc, decode.h of TensorFlow 2.15.
 */

/* The nesting limit of groups, as in protobuf. */
#define MAX_GROUPS 100

typedef struct column {
	sp_proto_field field;
	uint32_t wire; /* of the field when it is not packed */
	sp_dtype dtype;
	size_t output; /* index of the output; sizes are in the same order */
	sp_proto_default fallback;
} column;

typedef struct decode_state {
	column *columns; /* sorted by number; those of one number in the order of the attribute */
	size_t count;
} decode_state;

/* ------------------------------------------------------------------- preparing */

static int by_number(const void *a, const void *b)
{
	const column *x = a, *y = b;

	if (x->field.number != y->field.number)
		return x->field.number < y->field.number ? -1 : 1;
	return x->output < y->output ? -1 : 1;
}

static sp_status check_format(const sp_prepare *prepare, sp_error *err)
{
	bool sanitize;
	sp_bytes format;

	SP_TRY(sp_node_attr_bool(prepare->node, "sanitize", false, &sanitize, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "message_format", "binary", &format, err));
	if (sanitize || !sp_bytes_equal_text(format, "binary"))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "DecodeProtoV2 with sanitize or a message_format other than "
				    "\"binary\" is not supported");
	return SP_OK;
}

static sp_status prepare_column(sp_prepare *prepare, const sp_proto_message *message, sp_bytes name,
				column *to, sp_error *err)
{
	SP_TRY(sp_proto_message__field(message, name, true, &to->field, err));
	SP_TRY(sp_proto_message__check(&to->field, to->dtype, err));
	to->wire = sp_proto_message__wire(to->field.type);
	return sp_proto_message__default(message, &to->field, to->dtype, prepare->arena,
					 &to->fallback, err);
}

static sp_status prepare_decode(sp_prepare *prepare, sp_error *err)
{
	decode_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_attr *names, *types;
	sp_proto_message message;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "string", err));
	SP_TRY(sp_node_attr_list(prepare->node, "field_names", SP_ATTR_BYTES, &names, err));
	SP_TRY(sp_node_attr_list(prepare->node, "output_types", SP_ATTR_TYPE, &types, err));
	if (names->count != types->count || names->count > SP_ARRAY_MAX_OUTPUTS)
		return sp_error_set(err, SP_INVALID, "%zu field_names for %zu output_types",
				    names->count, types->count);
	SP_TRY(check_format(prepare, err));
	SP_TRY(sp_proto_message__open(prepare, &message, err));
	SP_TRY(sp_prepare_outputs(prepare, 1 + names->count, SP_INT32, err));
	state->count = names->count;
	state->columns = sp_arena_zeros(prepare->arena, names->count, sizeof(column));
	SP_NEED_MEMORY(state->columns, err, "%zu fields", names->count);
	for (size_t i = 0; i < names->count; i++) {
		column *to = &state->columns[i];

		to->output = i;
		to->dtype = prepare->out_dtypes[i + 1] = types->type_list[i];
		SP_TRY(prepare_column(prepare, &message, names->bytes_list[i], to, err));
	}
	if (names->count != 0)
		qsort(state->columns, names->count, sizeof(column), by_number);
	return SP_OK;
}

/* --------------------------------------------------------------------- walking */

/* One pass over a message: the first pass counts values, the second stores them. */
typedef struct walk {
	const sp_call *call;
	const decode_state *state;
	int32_t *counts; /* [columns] values of this message: all, or those stored so far */
	bool store;
	const int32_t *room; /* [columns] values per message in the outputs */
	size_t index;        /* of the message */
} walk;

static sp_status bad(const walk *w, const char *what)
{
	return sp_call_invalid(w->call, "message %zu is malformed: %s", w->index, what);
}

/* The first column with that field number, or NULL. */
static const column *find(const decode_state *state, uint32_t number)
{
	size_t low = 0, high = state->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (state->columns[middle].field.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < state->count && state->columns[low].field.number == number
		       ? &state->columns[low]
		       : NULL;
}

/* Skips a group after its start tag, up to its end tag. */
static bool skip_group(sp_bytes *from, uint32_t number)
{
	uint32_t open[MAX_GROUPS] = {number}, tag;
	size_t depth = 1;
	uint64_t value;
	sp_bytes bytes;

	while (depth > 0) {
		if (!sp_protobuf_tag(from, &tag) || tag < 8)
			return false;
		if ((tag & 7) == SP_PROTO_WIRE_GROUP) {
			if (depth == MAX_GROUPS)
				return false;
			open[depth++] = tag >> 3;
		} else if ((tag & 7) == SP_PROTO_WIRE_GROUP_END) {
			if (open[--depth] != tag >> 3)
				return false;
		} else if (!sp_protobuf_value(from, tag, &value, &bytes)) {
			return false;
		}
	}
	return true;
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Converts a number of the wire to an integer of the field's type. */
static int64_t integer_of(const column *c, uint64_t number, bool packed)
{
	switch (c->field.type) {
	case SP_PROTO_INT32:
		return packed ? (int64_t)(uint32_t)number : (int32_t)number;
	case SP_PROTO_UINT32:
	case SP_PROTO_FIXED32:
		return (uint32_t)number;
	case SP_PROTO_SFIXED32:
	case SP_PROTO_ENUM:
		return (int32_t)number;
	case SP_PROTO_SINT32:
		return (int32_t)unzigzag((uint32_t)number);
	case SP_PROTO_SINT64:
		return unzigzag(number);
	case SP_PROTO_BOOL:
		return number != 0;
	default:
		return (int64_t)number;
	}
}

/* The address of value `i` of this message. */
static char *slot(const walk *w, const column *c, size_t i)
{
	size_t room = (size_t)w->room[c - w->state->columns];

	return (char *)w->call->out[1 + c->output]->data +
	       (w->index * room + i) * sp_dtype_size(c->dtype);
}

/* Stores the low bytes: the machine is little-endian. */
static void put(const walk *w, const column *c, size_t i, uint64_t number, bool packed)
{
	char *to = slot(w, c, i);
	int64_t integer;
	float narrow;
	double wide;

	if (c->field.type == SP_PROTO_FLOAT && c->dtype == SP_DOUBLE) {
		memcpy(&narrow, &number, sizeof(narrow));
		wide = narrow;
		memcpy(to, &wide, sizeof(wide));
		return;
	}
	integer = integer_of(c, number, packed);
	memcpy(to, &integer, sp_dtype_size(c->dtype));
}

/* Reads one number of a field. */
static bool take_number(sp_bytes *from, uint32_t wire, uint64_t *out)
{
	sp_bytes bytes;

	if (!sp_protobuf_value(from, wire, out, &bytes))
		return false;
	if (wire != SP_PROTOBUF_VARINT)
		memcpy(out, bytes.data, bytes.size);
	return true;
}

/* Reads a delimited field or a group; the bytes of a group include its tag, at `start`. */
static bool take_text(const column *c, sp_bytes start, sp_bytes *from, sp_bytes *out)
{
	if (c->wire != SP_PROTO_WIRE_GROUP)
		return sp_protobuf_delimited(from, out);
	if (!skip_group(from, c->field.number))
		return false;
	*out = (sp_bytes){start.data, (size_t)(from->data - start.data)};
	return true;
}

static sp_status take_value(walk *w, const column *c, sp_bytes start, sp_bytes *from)
{
	int32_t *count = &w->counts[c - w->state->columns];
	size_t i = c->field.is_repeated ? (size_t)*count : 0;
	uint64_t number;
	sp_bytes text;

	if (i == INT32_MAX)
		return bad(w, "too many values");
	*count = (int32_t)i + 1;
	if (c->dtype == SP_STRING) {
		if (!take_text(c, start, from, &text))
			return bad(w, "a text ends too early");
		if (w->store)
			memcpy(slot(w, c, i), &text, sizeof(text));
		return SP_OK;
	}
	if (!take_number(from, c->wire, &number))
		return bad(w, "a value ends too early");
	if (w->store)
		put(w, c, i, number, false);
	return SP_OK;
}

static sp_status take_packed(walk *w, const column *c, sp_bytes *from)
{
	int32_t *count = &w->counts[c - w->state->columns];
	uint64_t number;
	sp_bytes block;
	size_t n = (size_t)*count;

	if (!sp_protobuf_delimited(from, &block))
		return bad(w, "a packed block ends too early");
	if (w->store && *count >= w->room[c - w->state->columns])
		return bad(w, "a packed block behind the last value");
	if (c->wire == SP_PROTO_WIRE_GROUP && block.size != 0)
		return bad(w, "a packed block of groups");
	while (block.size != 0) {
		if (!take_number(&block, c->wire, &number))
			return bad(w, "a packed block is cut off");
		if (n == INT32_MAX)
			return bad(w, "too many values");
		if (w->store && c->field.is_repeated)
			put(w, c, n, number, true);
		n++;
	}
	if (c->field.is_repeated)
		*count = (int32_t)n;
	else if (!w->store && n > 0)
		*count = 1;
	return SP_OK;
}

static sp_status walk_message(walk *w, sp_bytes from)
{
	uint64_t number;
	sp_bytes bytes;
	uint32_t tag;

	while (from.size > 0) {
		const column *c;
		sp_bytes start = from;

		if (!sp_protobuf_tag(&from, &tag) || tag < 8)
			return bad(w, "a malformed tag");
		c = find(w->state, tag >> 3);
		if (c != NULL && (tag & 7) == c->wire)
			SP_TRY(take_value(w, c, start, &from));
		else if (c != NULL && (tag & 7) == SP_PROTOBUF_DELIMITED)
			SP_TRY(take_packed(w, c, &from));
		else if ((tag & 7) == SP_PROTO_WIRE_GROUP
				 ? !skip_group(&from, tag >> 3)
				 : !sp_protobuf_value(&from, tag, &number, &bytes))
			return bad(w, "a field that was to be skipped");
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- running */

/* Fills `sizes` and room[columns]; the counts of a message are scratch. */
static sp_status count_values(walk *w, const sp_tensor *messages, int32_t *room)
{
	size_t columns = w->state->count;
	int32_t *sizes = sp_tensor_i32(w->call->out[0]);

	for (size_t c = 0; c < columns; c++)
		room[c] = 1;
	for (size_t m = 0; m < messages->count; m++) {
		w->index = m;
		memset(w->counts, 0, columns * sizeof(*w->counts));
		SP_TRY(walk_message(w, sp_tensor_strings(messages)[m]));
		for (size_t c = 0; c < columns; c++) {
			sizes[m * columns + w->state->columns[c].output] = w->counts[c];
			if (w->counts[c] > room[c])
				room[c] = w->counts[c];
		}
	}
	return SP_OK;
}

static void put_defaults(const walk *w, const column *c, size_t first)
{
	size_t room = (size_t)w->room[c - w->state->columns];
	bool is_text = c->dtype == SP_STRING;

	if (first < room)
		sp_elements__fill(slot(w, c, first), room - first,
				  is_text ? (const void *)&c->fallback.text : c->fallback.element,
				  sp_dtype_size(c->dtype));
}

static sp_status store_values(walk *w, const sp_tensor *messages)
{
	size_t columns = w->state->count;

	w->store = true;
	for (size_t m = 0; m < messages->count; m++) {
		w->index = m;
		memset(w->counts, 0, columns * sizeof(*w->counts));
		SP_TRY(walk_message(w, sp_tensor_strings(messages)[m]));
		for (size_t c = 0; c < columns; c++)
			put_defaults(w, &w->state->columns[c], (size_t)w->counts[c]);
	}
	return SP_OK;
}

static sp_status run_decode(const sp_call *call)
{
	const decode_state *state = call->state;
	sp_tensor messages = *call->in[0];
	int32_t *scratch = sp_call_bytes(call, 2 * state->count + 1, sizeof(*scratch));
	walk w = {.call = call, .state = state, .counts = scratch};
	sp_shape shape = messages.shape;

	if (scratch == NULL)
		return sp_call_no_memory(call);
	if (messages.count == 0)
		return sp_call_invalid(call, "Bufs argument must contain at least one value");
	SP_TRY(sp_array__rank(call, (int64_t)shape.rank + 1));
	shape.dims[shape.rank++] = (int64_t)state->count;
	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	w.room = scratch + state->count;
	SP_TRY(count_values(&w, &messages, scratch + state->count));
	for (size_t c = 0; c < state->count; c++) {
		shape.dims[shape.rank - 1] = w.room[c];
		SP_TRY(sp_call_output(call, 1 + state->columns[c].output, state->columns[c].dtype,
				      &shape));
	}
	return store_values(&w, &messages);
}

SP_DEFINE_OP(DecodeProtoV2, "sizes values:output_types", 0, prepare_decode, run_decode);
