#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "processor/request/predict_codec.h"
#include "base/wire.h"
#include "tests/support/predict.pb-c.h"

/*
 * Requests that were changed at random: what the decoder answers must be a message, and what it
 * calls none must be none.  What is a message is said here once more: slowly, from the encoding's
 * documentation, with the fields that protobuf-c's compiler found in the schema.  Of a million
 * such requests these verdicts were those of protobuf's own parsers (C++ 3.21, upb 7.36) wherever
 * the two agree.  protobuf-c's parser is of no use here: it knows no groups, no UTF-8, and
 * no unknown fields under a known number.
 *
 * SP_MUTATIONS says how many (200000), SP_SEED which ones (1).
 */

enum { LARGEST = 512 };

/* ---------------------------------------------------------- what is a message */

typedef struct span {
	const unsigned char *at, *end;
} span;

/* At most `most` bytes. */
static bool varint(span *s, size_t most, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < most && s->at != s->end; i++) {
		unsigned char byte = *s->at++;

		*value |= (uint64_t)(byte & 127) << 7 * i;
		if (byte < 128)
			return true;
	}
	return false;
}

static bool pass(span *s, uint64_t size)
{
	if (size > (uint64_t)(s->end - s->at))
		return false;
	s->at += size;
	return true;
}

/* No overlong form, no surrogate, nothing above U+10FFFF. */
static bool is_text(span s)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

	while (s.at != s.end) {
		unsigned char first = *s.at++;
		int more = first < 0x80   ? 0
			   : first < 0xc0 ? 4
			   : first < 0xe0 ? 1
			   : first < 0xf0 ? 2
					  : 3;
		uint32_t code = more == 0 ? first : first & (0x3f >> more);

		if (more == 4 || first > 0xf7 || s.end - s.at < more)
			return false;
		for (int i = 0; i < more; i++, s.at++) {
			if (*s.at >> 6 != 2)
				return false;
			code = code << 6 | (*s.at & 0x3f);
		}
		if (code < least[more] || code > 0x10ffff || code >> 11 == 0xd800 >> 11)
			return false;
	}
	return true;
}

static bool are_numbers(span s, ProtobufCType type)
{
	uint64_t value;

	switch (type) {
	case PROTOBUF_C_TYPE_FLOAT:
		return (s.end - s.at) % 4 == 0;
	case PROTOBUF_C_TYPE_DOUBLE:
		return (s.end - s.at) % 8 == 0;
	default:
		while (s.at != s.end)
			if (!varint(&s, 10, &value))
				return false;
		return true;
	}
}

static bool is_message(span *s, const ProtobufCMessageDescriptor *type, uint32_t group);

static bool is_inside(span inside, const ProtobufCFieldDescriptor *field)
{
	if (field == NULL)
		return true;
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		return is_text(inside);
	case PROTOBUF_C_TYPE_BYTES:
		return true;
	case PROTOBUF_C_TYPE_MESSAGE:
		return is_message(&inside, field->descriptor, 0);
	default:
		return field->label != PROTOBUF_C_LABEL_REPEATED ||
		       are_numbers(inside, field->type);
	}
}

/* What follows a tag. */
static bool is_value(span *s, const ProtobufCMessageDescriptor *type, uint32_t number,
		     uint32_t wire)
{
	const unsigned char *start;
	uint64_t value;

	switch (wire) {
	case 0:
		return varint(s, 10, &value);
	case 1:
		return pass(s, 8);
	case 2:
		if (!varint(s, 5, &value))
			return false;
		start = s->at;
		return pass(s, value) &&
		       is_inside((span){start, s->at},
				 type != NULL
					 ? protobuf_c_message_descriptor_get_field(type, number)
					 : NULL);
	case 3:
		return is_message(s, NULL, number);
	case 5:
		return pass(s, 4);
	default:
		return false;
	}
}

/* Up to the end, or, as a group of that number, up to its end.  `type` is NULL when unknown. */
static bool is_message(span *s, const ProtobufCMessageDescriptor *type, uint32_t group)
{
	uint64_t tag;

	while (s->at != s->end) {
		if (!varint(s, 5, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
			return false;
		if ((tag & 7) == 4)
			return tag >> 3 == group;
		if (!is_value(s, type, (uint32_t)tag >> 3, tag & 7))
			return false;
	}
	return group == 0;
}

static bool is_request(sp_bytes message)
{
	span s = {(const unsigned char *)message.data, NULL};

	s.end = s.at + message.size;
	return is_message(&s, &tensorflow__eas__predict_request__descriptor, 0);
}

/* ----------------------------------------------------------------- mutations */

#define MESSAGE(text) ((sp_bytes){text, sizeof(text) - 1})

/* Each is answered as it is. */
static const sp_bytes requests[] = {
	/* two inputs, two outputs */
	MESSAGE("\x0a\x03sig"
		"\x12\x16\x0a\x01x\x12\x11\x08\x01\x12\x03\x0a\x01\x02\x1a\x08\x00\x00\x80?"
		"\x00\x00\x00@"
		"\x12\x1b\x0a\x01y\x12\x16\x08\x09\x12\x03\x0a\x01\x03:"
		"\x0d\x01\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"
		"\x1a\x01p"
		"\x1a\x01q"),
	/* x: int32, with values in all the other fields */
	MESSAGE("\x12"
		"8\x0a\x01x\x12"
		"3\x08\x03\x12\x03\x0a\x01\x01*\x0a\xf9\xff\xff\xff\xff\xff\xff\xff\xff\x01:"
		"\x03\x01\x80\x01"
		"B\x03\x01\x00\x01\x1a\x04\x00\x00\xc0?\x22\x08\x00\x00\x00\x00\x00\x00\x04@"
		"2\x02\xff"
		"A2\x00"),
	/* an unknown field of each kind at each level */
	MESSAGE("(\x96\x01"
		"\x12)\x0a\x01x\x12\x1e\x08\x09\x12\x07\x08\x02J\x03unk8\x05"
		"8\x06Mabcd\xa1\x01"
		"12345678\x18\x07\x22\x02zz"
		"+"
		"\x08\x05"
		"3"
		"4"
		"\x12\x02"
		"ab"
		","
		"\x1a\x01p"),
	/* x in two parts, y twice */
	MESSAGE("\x12\x18\x0a\x01x\x12\x07\x08\x01\x12\x03\x0a\x01\x02\x12\x0a\x1a\x08\x00\x00\x80?"
		"\x00\x00\x00@"
		"\x12\x0e\x0a\x01y\x12\x09\x08\x0a"
		"B\x01\x01*\x02\x05\x06"
		"\x12\x0b\x0a\x01y\x12\x06\x08\x07"
		"2\x02\xc3("
		"\x1a\x08head/q:0"),
};

static unsigned seed = 1;

static size_t below(size_t limit)
{
	return limit != 0 ? ((size_t)rand_r(&seed) << 15 ^ (size_t)rand_r(&seed)) % limit : 0;
}

static sp_bytes any_request(void)
{
	return requests[below(sizeof(requests) / sizeof(requests[0]))];
}

/* Replaces `count` bytes at `at` by `size` others. */
static void splice(sp_buffer *message, size_t at, size_t count, const char *bytes, size_t size)
{
	char rest[2 * LARGEST];
	size_t left;

	if (count > message->size - at)
		count = message->size - at;
	left = message->size - at - count;
	memcpy(rest, message->data + at + count, left);
	message->size = at;
	sp_buffer_append(message, bytes, size);
	sp_buffer_append(message, rest, left);
}

/* A byte that means something to a parser, or any. */
static char telling_byte(void)
{
	static const char telling[] = {0, 1, 2, 3, 4, 5, 8, 10, 18, 26, 127, (char)128, (char)255};

	return below(2) == 0 ? telling[below(sizeof(telling))] : (char)below(256);
}

static void mutate(sp_buffer *message)
{
	size_t at = below(message->size);
	sp_bytes other = any_request();
	size_t from = below(other.size), size = below(other.size - from);
	char run[12];

	if (message->size == 0)
		return;
	switch (below(8)) {
	case 0:
		message->data[at] ^= (char)(1 << below(8));
		break;
	case 1:
		message->data[at] = telling_byte();
		break;
	case 2:
		memset(run, telling_byte(), sizeof(run));
		splice(message, at, 0, run, below(sizeof(run)));
		break;
	case 3:
		splice(message, at, 1 + below(4), "", 0);
		break;
	case 4:
		message->size = at;
		break;
	case 5:
		splice(message, at, 0, other.data + from, size < 24 ? size : 24);
		break;
	case 6:
		message->data[at] |= (char)0x80;
		break;
	default: /* whole fields more */
		splice(message, message->size, 0, other.data, other.size);
		break;
	}
}

/*
 * A byte more or less breaks the lengths around it, and hides what is inside them: so an entry
 * of x is also made around an array that was changed.
 */
static void enclose(sp_buffer *message)
{
	char inside[2 * LARGEST];
	size_t size = message->size < LARGEST / 2 ? message->size : LARGEST / 2;
	unsigned char header[16], *at = header;

	memcpy(inside, message->data, size);
	at = sp_wire_put_header(at, 2, 3 + sp_wire_field_size(size));
	at = sp_wire_put_bytes(at, "\x0a\x01x", 3);
	at = sp_wire_put_header(at, 2, size);
	message->size = 0;
	sp_buffer_append(message, header, (size_t)(at - header));
	sp_buffer_append(message, inside, size);
}

static void make_mutation(sp_buffer *message)
{
	static const sp_bytes arrays[] = {
		MESSAGE("\x08\x09\x12\x03\x0a\x01\x03:\x04\x01\x80\x01\x05"
			"B\x01\x01*\x02\x05\x06"),
		MESSAGE("\x08\x01\x12\x00\x1a\x04\x00\x00\x80?\x0b\x0c:\x03\x02\x80\x01J\x03unk"),
		MESSAGE("\x12\x05\x08\x01J\x01x\x08\x07"
			"2\x03\xff\xfe\xfd\x22\x08xxxxxxxx"),
	};
	bool is_array = below(2) == 0;
	sp_bytes start = is_array ? arrays[below(sizeof(arrays) / sizeof(arrays[0]))]
				  : any_request();

	message->size = 0;
	sp_buffer_append(message, start.data, start.size);
	for (size_t i = 1 + below(3); i > 0; i--)
		mutate(message);
	if (is_array)
		enclose(message);
	if (is_array && below(4) == 0)
		splice(message, 0, 0, requests[0].data, requests[0].size);
	if (message->size > LARGEST)
		message->size = LARGEST;
}

/* ---------------------------------------------------------------------- test */

static sp_endpoint endpoint;
static sp_workspace *workspace;

static sp_status decode(sp_bytes message, sp_error *err)
{
	sp_predict_request request;

	sp_workspace_reset(workspace);
	return sp_predict_request_decode(&request, &endpoint, message, workspace, err);
}

static void fail_with(sp_bytes message, const char *what)
{
	char hex[2 * LARGEST + 1] = "";

	for (size_t i = 0; i < message.size; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)message.data[i]);
	fail_msg("%s: %s", what, hex);
}

/* In a block of its own size, so that a memory checker sees its end. */
static void check(const sp_buffer *message, size_t *answered)
{
	char *copy = malloc(message->size + 1);
	sp_bytes bytes = {copy, message->size};
	sp_error err = {SP_OK, ""};
	sp_status status;

	assert_non_null(copy);
	memcpy(copy, message->data, message->size);
	status = decode(bytes, &err);
	if (status == SP_OK && !is_request(bytes))
		fail_with(bytes, "answered, and it is no message");
	if (strstr(err.text, "is not a") != NULL && is_request(bytes))
		fail_with(bytes, "it is a message");
	*answered += status == SP_OK;
	free(copy);
}

static void no_mutation_is_answered_that_is_no_message(void **state)
{
	const char *wanted = getenv("SP_MUTATIONS");
	size_t count = wanted != NULL ? strtoul(wanted, NULL, 10) : 200000, answered = 0;
	sp_buffer message;

	(void)state;
	if (getenv("SP_SEED") != NULL)
		seed = (unsigned)strtoul(getenv("SP_SEED"), NULL, 10);
	sp_buffer_init(&message, 64 << 10);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		sp_error err;

		assert_true(is_request(requests[i]));
		assert_ok(decode(requests[i], &err), &err);
	}
	for (size_t i = 0; i < count; i++) {
		make_mutation(&message);
		assert_false(message.failed);
		check(&message, &answered);
	}
	assert_in_range(answered, count / 50, count / 2);
	sp_buffer_fini(&message);
}

int main(void)
{
	static const sp_tensor_info inputs[] = {{.alias = "x", .tensor_name = "ph/x:0"},
						{.alias = "y", .tensor_name = "ph/y:0"}};
	static const sp_tensor_info outputs[] = {{.alias = "p", .tensor_name = "head/p:0"},
						 {.alias = "q", .tensor_name = "head/q:0"}};
	static const sp_signature signature = {.name = "serving_default",
					       .method = "tensorflow/serving/predict",
					       .inputs = inputs,
					       .input_count = 2,
					       .outputs = outputs,
					       .output_count = 2};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mutation_is_answered_that_is_no_message),
	};
	sp_arena *arena = sp_arena_create(4096);
	int failed;

	workspace = sp_workspace_create(16 << 20);
	if (arena == NULL || workspace == NULL ||
	    sp_endpoint_init(&endpoint, &signature, 0, arena, NULL) != SP_OK)
		return 1;
	failed = cmocka_run_group_tests_name("predict_mutations", tests, NULL, NULL);
	sp_workspace_destroy(workspace);
	sp_arena_destroy(arena);
	return failed;
}
