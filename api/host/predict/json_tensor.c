#include "api/host/predict/json_tensor.h"

#include <math.h>

#include "api/host/json/json_base64.h"
#include "api/host/json/json_plain.h"
#include "api/host/predict/dtype_name.h"
#include "base/alloc.h"

typedef struct input {
	sp_json_reader *reader;
	sp_json_elements *elements;
	sp_json_shape *shape;
	sp_arena *arena;
	sp_error *err;
} input;

/* ----------------------------------------------------------------- errors */

/* Most bytes of the body that an error text quotes. */
enum { EXCERPT = 48 };

static sp_bytes excerpt(const sp_json_reader *reader, const char *start)
{
	size_t rest = (size_t)(reader->end - start);

	return (sp_bytes){start, rest < EXCERPT ? rest : EXCERPT};
}

/* Returns a type error for the value at `start`, or a syntax error if it is not JSON. */
static sp_status type_error(input *in, const char *start)
{
	sp_json_kind kind;
	sp_bytes text;

	in->reader->at = start;
	kind = sp_json_peek(in->reader);
	SP_TRY(sp_json_skip(in->reader, in->err));
	text = excerpt(in->reader, start);
	if (text.size > (size_t)(in->reader->at - start))
		text.size = (size_t)(in->reader->at - start);
	return sp_error_set(in->err, SP_INVALID,
			    "JSON Value: %.*s Type: %s is not of expected type: %s", (int)text.size,
			    text.data, sp_json_kind_name(kind),
			    sp_host_dtype_name(in->elements->dtype));
}

/* --------------------------------------------------------------- elements */

static sp_status grow(sp_json_elements *elements, size_t size, sp_error *err)
{
	size_t old = elements->capacity_bytes, least = elements->count * size + size;
	size_t bytes = old == 0 ? 256 : 2 * old;
	char *data;

	/* If the budget refuses to double the room, it grows by a sixteenth. */
	least += least / 16;
	bytes = sp_budget_grow(elements->budget, old, least, bytes > least ? bytes : least);
	if (bytes == 0)
		return sp_no_memory(err,
				    "a tensor of %zu bytes: the memory for requests "
				    "is used up",
				    least);
	data = sp_alloc_resize(elements->data, bytes, 1);
	if (data == NULL) {
		sp_budget_shrink(elements->budget, bytes, old);
		return sp_no_memory(err, "a tensor of %zu bytes", bytes);
	}
	elements->data = data;
	elements->capacity_bytes = bytes;
	return SP_OK;
}

void sp_json_elements_fini(sp_json_elements *elements)
{
	sp_budget_shrink(elements->budget, elements->capacity_bytes, 0);
	sp_free(elements->data);
	*elements = (sp_json_elements){0};
}

/* Room for one more element of `size` bytes. */
static inline sp_status reserve(input *in, size_t size, void **slot)
{
	sp_json_elements *elements = in->elements;

	if (elements->capacity_bytes - elements->count * size < size)
		SP_TRY(grow(elements, size, in->err));
	*slot = elements->data + elements->count * size;
	return SP_OK;
}

static sp_status read_number(input *in, sp_json_number *number)
{
	const char *start = in->reader->at;

	if (sp_json_peek(in->reader) != SP_JSON_NUMBER)
		return type_error(in, start);
	return sp_json_number_read(in->reader, number, in->err);
}

/* Refuses a number with digits that has become an infinity. */
static sp_status check_range(input *in, const sp_json_number *number, double value)
{
	size_t size = (size_t)(in->reader->at - number->text);

	if (!isinf(value) || number->infinite)
		return SP_OK;
	return sp_error_set(in->err, SP_INVALID, "JSON Value: %.*s is out of the range of type: %s",
			    size < EXCERPT ? (int)size : EXCERPT, number->text,
			    sp_host_dtype_name(in->elements->dtype));
}

static sp_status read_float(input *in)
{
	sp_json_number number;
	void *slot;

	SP_TRY(read_number(in, &number));
	if (in->elements->dtype == SERVING_PROCESSOR_FLOAT) {
		SP_TRY(reserve(in, sizeof(float), &slot));
		*(float *)slot = sp_json_number_to_f32(&number);
		return check_range(in, &number, (double)*(float *)slot);
	}
	SP_TRY(reserve(in, sizeof(double), &slot));
	*(double *)slot = sp_json_number_to_f64(&number);
	return check_range(in, &number, *(double *)slot);
}

/* For integers of 64 bits. */
static sp_status read_wide(input *in, bool is_signed)
{
	sp_json_number number;
	void *slot;

	SP_TRY(read_number(in, &number));
	SP_TRY(reserve(in, sizeof(int64_t), &slot));
	return (is_signed ? sp_json_number_to_i64(&number, slot)
			  : sp_json_number_to_u64(&number, slot))
		       ? SP_OK
		       : type_error(in, number.text);
}

/* For integers of 32 bits and fewer. */
static sp_status read_small(input *in, int64_t least, int64_t most, size_t size)
{
	sp_json_number number;
	int64_t value;
	void *slot;

	SP_TRY(read_number(in, &number));
	if (!sp_json_number_to_i64(&number, &value) || value < least || value > most)
		return type_error(in, number.text);
	SP_TRY(reserve(in, size, &slot));
	if (size == 1)
		*(uint8_t *)slot = (uint8_t)value;
	else if (size == 2)
		*(uint16_t *)slot = (uint16_t)value;
	else
		*(uint32_t *)slot = (uint32_t)value;
	return SP_OK;
}

/* Reads up to `most` plain numbers into the room that is left, and returns how many. */
static size_t read_plain(sp_json_reader *reader, sp_json_elements *elements, size_t most)
{
	static const size_t sizes[] = {[SERVING_PROCESSOR_FLOAT] = sizeof(float),
				       [SERVING_PROCESSOR_DOUBLE] = sizeof(double),
				       [SERVING_PROCESSOR_INT32] = sizeof(int32_t),
				       [SERVING_PROCESSOR_INT64] = sizeof(int64_t)};
	size_t dtype = (size_t)elements->dtype, size, room;
	void *to;

	if (dtype >= sizeof(sizes) / sizeof(sizes[0]) || sizes[dtype] == 0)
		return 0;
	size = sizes[dtype];
	room = elements->capacity_bytes / size - elements->count;
	room = room < most ? room : most;
	if (room == 0)
		return 0;
	to = elements->data + elements->count * size;
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
		return sp_json_plain_f32(reader, to, room);
	case SERVING_PROCESSOR_DOUBLE:
		return sp_json_plain_f64(reader, to, room);
	case SERVING_PROCESSOR_INT32:
		return sp_json_plain_i32(reader, to, room);
	default:
		return sp_json_plain_i64(reader, to, room);
	}
}

bool sp_json_tensor_read_plain(sp_json_reader *reader, sp_json_elements *elements)
{
	if (read_plain(reader, elements, 1) == 0)
		return false;
	elements->count++;
	return true;
}

static sp_status read_bool(input *in)
{
	sp_json_kind kind = sp_json_peek(in->reader);
	void *slot;

	if (kind != SP_JSON_TRUE && kind != SP_JSON_FALSE)
		return type_error(in, in->reader->at);
	SP_TRY(sp_json_literal(in->reader, in->err));
	SP_TRY(reserve(in, 1, &slot));
	*(uint8_t *)slot = kind == SP_JSON_TRUE;
	return SP_OK;
}

bool sp_json_is_base64(sp_json_reader *reader, sp_arena *arena)
{
	const char *start = reader->at;
	bool more, found = false;
	sp_bytes text;

	if (sp_json_peek(reader) == SP_JSON_OBJECT &&
	    sp_json_object_next(reader, 0, &more, &text, arena, NULL) == SP_OK && more &&
	    sp_bytes_equal_text(text, "b64") && sp_json_peek(reader) == SP_JSON_STRING &&
	    sp_json_skip(reader, NULL) == SP_OK &&
	    sp_json_object_next(reader, 1, &more, &text, arena, NULL) == SP_OK)
		found = !more;
	reader->at = start;
	return found;
}

sp_status sp_json_read_base64(sp_json_reader *reader, sp_bytes *out, sp_arena *arena, sp_error *err)
{
	sp_bytes key, text;
	bool more;

	(void)sp_json_peek(reader);
	SP_TRY(sp_json_object_next(reader, 0, &more, &key, arena, err));
	(void)sp_json_peek(reader);
	SP_TRY(sp_json_string(reader, &text, arena, err));
	SP_TRY(sp_json_object_next(reader, 1, &more, &key, arena, err));
	switch (sp_base64_decode(out, text, arena)) {
	case SP_BASE64_OK:
		return SP_OK;
	case SP_BASE64_INVALID:
		return sp_error_set(err, SP_INVALID, "Unable to base64 decode");
	case SP_BASE64_NO_MEMORY:
		break;
	}
	return sp_no_memory(err, "a string");
}

static sp_status read_base64(input *in, sp_bytes *out)
{
	const char *start = in->reader->at;

	if (!sp_json_is_base64(in->reader, in->arena)) {
		sp_bytes words;

		SP_TRY(sp_json_skip(in->reader, in->err));
		words = excerpt(in->reader, start);
		return sp_error_set(in->err, SP_INVALID,
				    "JSON Value: %.*s not formatted correctly for base64 data",
				    (int)words.size, words.data);
	}
	return sp_json_read_base64(in->reader, out, in->arena, in->err);
}

static sp_status read_string(input *in)
{
	sp_json_kind kind = sp_json_peek(in->reader);
	sp_bytes text;
	void *slot;

	if (kind == SP_JSON_STRING)
		SP_TRY(sp_json_string(in->reader, &text, in->arena, in->err));
	else if (kind == SP_JSON_OBJECT)
		SP_TRY(read_base64(in, &text));
	else
		return type_error(in, in->reader->at);
	SP_TRY(reserve(in, sizeof(serving_processor_bytes), &slot));
	*(serving_processor_bytes *)slot = (serving_processor_bytes){text.data, text.size};
	return SP_OK;
}

static sp_status read_element(input *in)
{
	switch (in->elements->dtype) {
	case SERVING_PROCESSOR_FLOAT:
	case SERVING_PROCESSOR_DOUBLE:
		return read_float(in);
	case SERVING_PROCESSOR_INT64:
		return read_wide(in, true);
	case SERVING_PROCESSOR_UINT64:
		return read_wide(in, false);
	case SERVING_PROCESSOR_INT32:
		return read_small(in, INT32_MIN, INT32_MAX, 4);
	case SERVING_PROCESSOR_UINT32:
		return read_small(in, 0, UINT32_MAX, 4);
	case SERVING_PROCESSOR_INT16:
		return read_small(in, INT16_MIN, INT16_MAX, 2);
	case SERVING_PROCESSOR_UINT16:
		return read_small(in, 0, UINT16_MAX, 2);
	case SERVING_PROCESSOR_INT8:
		return read_small(in, INT8_MIN, INT8_MAX, 1);
	case SERVING_PROCESSOR_UINT8:
		return read_small(in, 0, UINT8_MAX, 1);
	case SERVING_PROCESSOR_BOOL:
		return read_bool(in);
	case SERVING_PROCESSOR_STRING:
		return read_string(in);
	default:
		return sp_error_set(in->err, SP_UNSUPPORTED,
				    "Conversion of JSON Value to type: %s is not supported",
				    sp_host_dtype_name(in->elements->dtype));
	}
}

/* ------------------------------------------------------------------ shape */

/* The first element, or the first empty list, determines the rank. */
static void fix_rank(sp_json_shape *shape, int rank)
{
	if (shape->rank < 0)
		shape->rank = shape->closed = rank;
}

static sp_status read_leaf(input *in, int level)
{
	sp_json_shape *shape = in->shape;

	fix_rank(shape, level);
	if (level != shape->rank)
		return sp_error_set(in->err, SP_INVALID,
				    "JSON Value found at incorrect level: %d in the JSON DOM. "
				    "Expected at level: %d",
				    level + 1, shape->rank + 1);
	SP_TRY(read_element(in));
	in->elements->count++;
	return SP_OK;
}

static sp_status check_level(input *in, int level)
{
	int rank = in->shape->rank;

	if (rank >= 0 && level >= rank)
		return sp_error_set(in->err, SP_INVALID,
				    "Encountered list at unexpected level: %d expected < %d", level,
				    rank);
	if (level >= SP_JSON_TENSOR_MAX_RANK)
		return sp_error_set(in->err, SP_INVALID,
				    "JSON nesting depth exceeds the limit of %d",
				    SP_JSON_TENSOR_MAX_RANK);
	return SP_OK;
}

/*
 * A list at `level` has ended after n values.  The first list to end at a level sets that
 * dimension; since lists end from the inside out, the dimensions become known from the
 * deepest level upwards.
 */
static sp_status close_level(input *in, int level, size_t n)
{
	sp_json_shape *shape = in->shape;

	fix_rank(shape, level + 1);
	if (level < shape->closed) {
		shape->dims[level] = (int64_t)n;
		shape->closed = level;
	}
	if (shape->dims[level] != (int64_t)n)
		return sp_error_set(
			in->err, SP_INVALID,
			"Encountered list at unexpected size: %zu at level: %d expected size: %lld",
			n, level, (long long)shape->dims[level]);
	return SP_OK;
}

/*
 * Reads as many elements of a list as there are plain numbers and room for them; returns how many.
 * When it returns 0, read_leaf() makes room or says what is wrong.
 */
static size_t read_run(input *in, int level)
{
	size_t count;

	if (in->shape->rank >= 0 && in->shape->rank != level)
		return 0;
	count = read_plain(in->reader, in->elements, SIZE_MAX);
	if (count != 0)
		fix_rank(in->shape, level);
	in->elements->count += count;
	return count;
}

/* The recursion is at most SP_JSON_TENSOR_MAX_RANK deep. */
static sp_status read_level(input *in, int level)
{
	size_t many;
	bool more;

	if (sp_json_peek(in->reader) != SP_JSON_ARRAY)
		return read_leaf(in, level);
	SP_TRY(check_level(in, level));
	for (size_t n = 0;;) {
		SP_TRY(sp_json_array_next(in->reader, n, &more, in->err));
		if (!more)
			return close_level(in, level, n);
		many = read_run(in, level + 1);
		n += many;
		if (many == 0) {
			SP_TRY(read_level(in, level + 1));
			n++;
		}
	}
}

sp_status sp_json_tensor_read(sp_json_reader *reader, sp_json_elements *elements,
			      sp_json_shape *shape, sp_arena *arena, sp_error *err)
{
	input in = {reader, elements, shape, arena, err};

	shape->rank = -1;
	return read_level(&in, 0);
}
