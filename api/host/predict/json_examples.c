#include "api/host/predict/json_examples.h"

#include <math.h>
#include <string.h>

#include "api/host/json/json_reader.h"
#include "api/host/predict/json_tensor.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/wire.h"

enum { MAX_BYTES = 1 << 30, KEEP_BYTES = 1 << 20, ARENA_CHUNK = 32 << 10 };

/* Where the members of the document are; NULL: missing. */
typedef struct members {
	const char *signature, *context, *examples;
} members;

struct sp_json_examples {
	sp_budget *budget;
	members found;
	const sp_known_features *known;
	sp_json_reader reader;
	sp_arena *arena;
	sp_buffer values;   /* of the current feature, encoded */
	sp_buffer features; /* the entries of Features, of the context and then of all examples */
	sp_buffer messages; /* the Examples, one behind the other */
	sp_buffer ends;     /* size_t: where each of them ends in `messages` */
	sp_buffer items;    /* sp_bytes */
};

static sp_status no_memory(sp_error *err)
{
	return sp_no_memory(err, "the examples");
}

sp_json_examples *sp_json_examples_create(sp_budget *budget)
{
	sp_json_examples *x = sp_alloc_zero(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	x->budget = budget;
	sp_json_reader_init(&x->reader, (sp_bytes){"", 0});
	sp_buffer_set_budget(&x->reader.nesting, budget);
	x->arena = sp_arena_create(ARENA_CHUNK);
	if (x->arena == NULL) {
		sp_json_examples_destroy(x);
		return NULL;
	}
	sp_arena_set_budget(x->arena, budget);
	for (sp_buffer *b = &x->values; b <= &x->items; b++) {
		sp_buffer_init(b, MAX_BYTES);
		sp_buffer_set_budget(b, budget);
	}
	return x;
}

void sp_json_examples_destroy(sp_json_examples *x)
{
	if (x == NULL)
		return;
	for (sp_buffer *b = &x->values; b <= &x->items; b++)
		sp_buffer_fini(b);
	sp_json_reader_fini(&x->reader);
	sp_arena_destroy(x->arena);
	sp_free(x);
}

void sp_json_examples_trim(sp_json_examples *x)
{
	size_t keep = sp_budget_is_scarce(x->budget) ? SP_BUDGET_SMALL : KEEP_BYTES;

	for (sp_buffer *b = &x->values; b <= &x->items; b++)
		if (b->capacity > keep)
			sp_buffer_fini(b);
	if (sp_arena_footprint(x->arena) > keep)
		sp_arena_trim(x->arena);
	if (x->reader.nesting.capacity > keep)
		sp_buffer_fini(&x->reader.nesting);
}

/* ---------------------------------------------------------------- protobuf */

/* Field numbers of tf.Example and its parts; all are length-delimited. */
enum { FEATURES = 1, ENTRY = 1, KEY = 1, FEATURE = 2, VALUE = 1 };

/* What a feature is made of: the numbers of the fields of Feature. */
typedef enum list_kind { NOTHING = 0, BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 } list_kind;

static void put_varint(sp_buffer *out, uint64_t value)
{
	unsigned char bytes[10];

	sp_buffer_append(out, bytes, (size_t)(sp_wire_put_varint(bytes, value) - bytes));
}

/* Tag and length of a field; its bytes follow. */
static void put_field(sp_buffer *out, unsigned number, size_t size)
{
	unsigned char bytes[12];

	sp_buffer_append(out, bytes, (size_t)(sp_wire_put_header(bytes, number, size) - bytes));
}

/* Appends a map entry of Features: the name, and the list in `values`. */
static void put_feature(sp_json_examples *x, sp_bytes name, list_kind kind)
{
	bool packed = kind == FLOAT_LIST || kind == INT64_LIST;
	size_t list = packed && x->values.size != 0 ? sp_wire_field_size(x->values.size)
						    : x->values.size;
	size_t feature = kind != NOTHING ? sp_wire_field_size(list) : 0;

	put_field(&x->features, ENTRY, sp_wire_field_size(name.size) + sp_wire_field_size(feature));
	put_field(&x->features, KEY, name.size);
	sp_buffer_append(&x->features, name.data, name.size);
	put_field(&x->features, FEATURE, feature);
	if (kind == NOTHING)
		return;
	put_field(&x->features, (unsigned)kind, list);
	if (packed && x->values.size != 0)
		put_field(&x->features, VALUE, x->values.size);
	sp_buffer_append(&x->features, x->values.data, x->values.size);
}

/* Appends an Example of all features from `begin` on, after those of the context. */
static sp_status put_example(sp_json_examples *x, size_t context, size_t begin, sp_error *err)
{
	size_t own = x->features.size - begin;

	put_field(&x->messages, FEATURES, context + own);
	sp_buffer_append(&x->messages, x->features.data, context);
	sp_buffer_append(&x->messages, x->features.data + begin, own);
	sp_buffer_append(&x->ends, &x->messages.size, sizeof(size_t));
	if (x->features.failed || x->values.failed || x->messages.failed || x->ends.failed)
		return no_memory(err);
	x->features.size = begin;
	return SP_OK;
}

/* ---------------------------------------------------------------- features */

static sp_status set_kind(list_kind *of, list_kind new, sp_bytes name, sp_error *err)
{
	static const char *const names[] = {"", "string", "float", "int64"};

	if (*of != NOTHING && *of != new)
		return sp_error_set(err, SP_INVALID, "feature: %.*s expecting type: %s",
				    sp_bytes_shown(name, 64), name.data, names[*of]);
	*of = new;
	return SP_OK;
}

static sp_status unexpected(sp_json_reader *reader, sp_bytes name, sp_error *err)
{
	return sp_error_set(
		err, SP_INVALID, "feature: %.*s has element with unexpected JSON type: %s",
		sp_bytes_shown(name, 64), name.data, sp_json_kind_name(sp_json_peek(reader)));
}

/* The list that the parser wants; NOTHING: it does not read the feature. */
static list_kind known_kind(const sp_known_features *known, sp_bytes name)
{
	size_t low = 0, high = known->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const serving_processor_example_feature *feature = &known->items[middle];
		size_t shorter = feature->name.size < name.size ? feature->name.size : name.size;
		int order = shorter != 0 ? memcmp(name.data, feature->name.data, shorter) : 0;

		if (order == 0 && name.size == feature->name.size)
			return feature->dtype == SERVING_PROCESSOR_FLOAT   ? FLOAT_LIST
			       : feature->dtype == SERVING_PROCESSOR_INT64 ? INT64_LIST
									   : BYTES_LIST;
		if (order < 0 || (order == 0 && name.size < feature->name.size))
			high = middle;
		else
			low = middle + 1;
	}
	return NOTHING;
}

/* Makes an integer of a number such as 30.0 or 3e1; false if it is not whole or too large. */
static bool make_integer(sp_json_number *number)
{
	if (number->nan || number->infinite || number->truncated)
		return false;
	if (number->digits == 0)
		number->exponent = 0;
	for (; number->exponent < 0 && number->digits % 10 == 0; number->exponent++)
		number->digits /= 10;
	for (; number->exponent > 0 && number->digits <= UINT64_MAX / 10; number->exponent--)
		number->digits *= 10;
	number->integer = number->exponent == 0;
	return number->integer;
}

/* Makes the number one of the kind that is wanted. */
static sp_status convert(sp_json_number *number, list_kind wanted, sp_bytes name, sp_error *err)
{
	if (wanted == FLOAT_LIST || number->nan || number->infinite)
		number->integer = false;
	if (wanted == INT64_LIST && !make_integer(number))
		return sp_error_set(err, SP_INVALID,
				    "feature: %.*s expecting type: int64, but got a number that is "
				    "not whole, or too large",
				    sp_bytes_shown(name, 64), name.data);
	return SP_OK;
}

static sp_status read_number(sp_json_examples *x, list_kind *of, list_kind wanted, sp_bytes name,
			     sp_error *err)
{
	sp_json_number number;
	int64_t integer;
	float value;

	SP_TRY(sp_json_number_read(&x->reader, &number, err));
	SP_TRY(convert(&number, wanted, name, err));
	if (number.integer && !sp_json_number_to_i64(&number, &integer))
		return sp_error_set(err, SP_INVALID,
				    "feature: %.*s has uint64 element. Only int64_t is supported.",
				    sp_bytes_shown(name, 64), name.data);
	if (number.integer) {
		SP_TRY(set_kind(of, INT64_LIST, name, err));
		put_varint(&x->values, (uint64_t)integer);
		return SP_OK;
	}
	SP_TRY(set_kind(of, FLOAT_LIST, name, err));
	value = sp_json_number_to_f32(&number);
	if (isinf(value) && !number.infinite)
		return sp_error_set(err, SP_INVALID, "feature: %.*s has a number beyond float",
				    sp_bytes_shown(name, 64), name.data);
	sp_buffer_append(&x->values, &value, sizeof(value));
	return SP_OK;
}

static void put_string(sp_json_examples *x, sp_bytes text)
{
	put_field(&x->values, VALUE, text.size);
	sp_buffer_append(&x->values, text.data, text.size);
}

static sp_status read_value(sp_json_examples *x, list_kind *of, list_kind wanted, sp_bytes name,
			    sp_error *err)
{
	sp_json_kind json = sp_json_peek(&x->reader);
	sp_bytes text;

	switch (json) {
	case SP_JSON_NUMBER:
		return read_number(x, of, wanted, name, err);
	case SP_JSON_TRUE:
	case SP_JSON_FALSE:
		SP_TRY(set_kind(of, INT64_LIST, name, err));
		put_varint(&x->values, json == SP_JSON_TRUE);
		return sp_json_literal(&x->reader, err);
	case SP_JSON_STRING:
		SP_TRY(set_kind(of, BYTES_LIST, name, err));
		SP_TRY(sp_json_string(&x->reader, &text, x->arena, err));
		put_string(x, text);
		return SP_OK;
	case SP_JSON_OBJECT:
		if (!sp_json_is_base64(&x->reader, x->arena))
			return unexpected(&x->reader, name, err);
		SP_TRY(set_kind(of, BYTES_LIST, name, err));
		SP_TRY(sp_json_read_base64(&x->reader, &text, x->arena, err));
		put_string(x, text);
		return SP_OK;
	case SP_JSON_NONE:
		return sp_json_skip(&x->reader, err); /* says what is wrong */
	case SP_JSON_NULL:
	case SP_JSON_ARRAY:
		break;
	}
	return unexpected(&x->reader, name, err);
}

static sp_status read_feature(sp_json_examples *x, sp_bytes name, sp_error *err)
{
	list_kind wanted = known_kind(x->known, name), of = wanted;
	bool more = true;

	sp_buffer_clear(&x->values);
	if (sp_json_peek(&x->reader) != SP_JSON_ARRAY) {
		SP_TRY(read_value(x, &of, wanted, name, err));
	} else {
		for (size_t i = 0;; i++) {
			SP_TRY(sp_json_array_next(&x->reader, i, &more, err));
			if (!more)
				break;
			SP_TRY(read_value(x, &of, wanted, name, err));
		}
	}
	/* A list without a value has no kind: the feature is missing. */
	put_feature(x, name, x->values.size != 0 ? of : NOTHING);
	return SP_OK;
}

/* Appends the features of an example or of the context. */
static sp_status read_features(sp_json_examples *x, sp_error *err)
{
	sp_bytes name;
	bool more;

	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT)
		return sp_error_set(err, SP_INVALID, "Example must be JSON object but got JSON %s",
				    sp_json_kind_name(sp_json_peek(&x->reader)));
	for (size_t i = 0;; i++) {
		SP_TRY(sp_json_object_next(&x->reader, i, &more, &name, x->arena, err));
		if (!more)
			return SP_OK;
		SP_TRY(read_feature(x, name, err));
	}
}

/* ---------------------------------------------------------------- document */

static sp_status find_members(members *out, sp_json_examples *x, sp_error *err)
{
	const char **member;
	sp_bytes key;
	bool more;

	*out = (members){0};
	if (sp_json_peek(&x->reader) == SP_JSON_NONE && x->reader.at == x->reader.end)
		return sp_error_set(err, SP_CORRUPT, "JSON Parse error: The document is empty");
	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT) {
		SP_TRY(sp_json_skip(&x->reader, err));
		return sp_error_set(err, SP_INVALID, "JSON Value: Is not object");
	}
	for (size_t i = 0;; i++) {
		SP_TRY(sp_json_object_next(&x->reader, i, &more, &key, x->arena, err));
		if (!more)
			return SP_OK;
		member = sp_bytes_equal_text(key, "signature_name") ? &out->signature
			 : sp_bytes_equal_text(key, "context")      ? &out->context
			 : sp_bytes_equal_text(key, "examples")     ? &out->examples
								    : NULL;
		if (member != NULL && *member != NULL)
			return sp_error_set(err, SP_INVALID, "'%.*s' occurs twice", (int)key.size,
					    key.data);
		(void)sp_json_peek(&x->reader);
		if (member != NULL)
			*member = x->reader.at;
		SP_TRY(sp_json_skip(&x->reader, err));
	}
}

static sp_status read_examples(sp_json_examples *x, size_t context, sp_error *err)
{
	bool more;
	size_t n;

	if (sp_json_peek(&x->reader) != SP_JSON_ARRAY)
		return sp_error_set(err, SP_INVALID,
				    "Expecting 'examples' value to be an list/array");
	for (n = 0;; n++) {
		SP_TRY(sp_json_array_next(&x->reader, n, &more, err));
		if (!more)
			break;
		SP_TRY(read_features(x, err));
		SP_TRY(put_example(x, context, context, err));
	}
	return n != 0 ? SP_OK : sp_error_set(err, SP_INVALID, "'examples' value is an empty array");
}

/* The messages have their place only when all are written. */
static sp_status list_messages(sp_examples *out, sp_json_examples *x, sp_error *err)
{
	size_t count = x->ends.size / sizeof(size_t), begin = 0;
	const size_t *ends = (const size_t *)(const void *)x->ends.data;
	sp_bytes *items;

	items = (void *)sp_buffer_reserve(&x->items, count * sizeof(*items));
	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; begin = ends[i++])
		items[i] = (sp_bytes){x->messages.data + begin, ends[i] - begin};
	out->items = items;
	out->count = count;
	return SP_OK;
}

sp_status sp_json_examples_begin(sp_bytes *signature_name, sp_json_examples *x, sp_bytes body,
				 sp_error *err)
{
	sp_json_examples_trim(x);
	sp_arena_reset(x->arena);
	for (sp_buffer *b = &x->values; b <= &x->items; b++)
		sp_buffer_clear(b);
	*signature_name = (sp_bytes){"", 0};
	sp_json_reader_reset(&x->reader, body);
	SP_TRY(find_members(&x->found, x, err));
	if (x->found.signature != NULL) {
		x->reader.at = x->found.signature;
		if (sp_json_peek(&x->reader) != SP_JSON_STRING)
			return sp_error_set(err, SP_INVALID,
					    "JSON Value not formatted correctly. 'signature_name' "
					    "key must be a string value.");
		SP_TRY(sp_json_string(&x->reader, signature_name, x->arena, err));
	}
	return x->found.examples != NULL
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID,
				      "key 'examples' is expected and was not found");
}

sp_status sp_json_examples_read(sp_examples *out, sp_json_examples *x,
				const sp_known_features *known, sp_error *err)
{
	size_t context = 0;

	x->known = known;
	if (x->found.context != NULL) {
		x->reader.at = x->found.context;
		SP_TRY(read_features(x, err));
		context = x->features.size;
	}
	x->reader.at = x->found.examples;
	SP_TRY(read_examples(x, context, err));
	return list_messages(out, x, err);
}
