#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/messages/tensor_message.h"
#include "base/wire.h"
#include "tests/support/wire.h"

/*
 * Expected values are TensorFlow's: tf.io.parse_tensor() of the same messages, tf.make_ndarray() of
 * what is written.
 */

static sp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(1024);
	return arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

/* A TensorProto with dtype and shape; -2 ends the dims. */
static sp_buffer begin(int dtype, const int64_t *dims)
{
	sp_buffer out = sp_wire_begin(), shape = sp_wire_begin();

	sp_wire_varint(&out, 1, (uint64_t)dtype);
	for (; *dims != -2; dims++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, (uint64_t)*dims);
		sp_wire_message(&shape, 2, &dim);
	}
	sp_wire_message(&out, 2, &shape);
	return out;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__, -2})
#define SCALAR    ((const int64_t[]){-2})

static sp_status decode(serving_processor_tensor *out, sp_buffer *message, sp_error *err)
{
	/* A copy of its exact size, so that a memory checker sees reading behind it. */
	char *copy = sp_arena_alloc(arena, message->size);
	sp_bytes view = {copy, message->size};

	if (message->size != 0)
		memcpy(copy, message->data, message->size);
	memset(out, 0, sizeof(*out));
	sp_buffer_fini(message);
	return sp_tensor_message_decode(out, view, arena, err);
}

static void expect(sp_buffer *message, const void *data, size_t count, size_t size)
{
	serving_processor_tensor tensor;
	sp_error err;

	assert_ok(decode(&tensor, message, &err), &err);
	assert_int_equal(tensor.count, count);
	assert_memory_equal(tensor.data, data, count * size);
}

#define EXPECT(message, type, ...)                                                          \
	do {                                                                                \
		const type expected_[] = {__VA_ARGS__};                                     \
		expect(message, expected_, sizeof(expected_) / sizeof(type), sizeof(type)); \
	} while (0)

typedef struct complex_float {
	float real, imaginary;
} complex_float;

static void expect_refused(sp_buffer *message, sp_status status, const char *words)
{
	serving_processor_tensor tensor;
	sp_error err;

	assert_int_equal(decode(&tensor, message, &err), status);
	if (strstr(err.text, words) == NULL)
		fail_msg("not in \"%s\": %s", err.text, words);
}

/* -------------------------------------------------------------------- decode */

static void put_floats(sp_buffer *out, const float *values, size_t count)
{
	sp_wire_bytes(out, 5, (sp_bytes){(const char *)values, count * sizeof(float)});
}

static void packed_floats_are_used_in_place(void **state)
{
	const float values[] = {1.5f, -2.0f};
	sp_buffer message = begin(SERVING_PROCESSOR_FLOAT, DIMS(2, 1));
	serving_processor_tensor tensor;
	sp_error err;

	(void)state;
	put_floats(&message, values, 2);
	assert_ok(decode(&tensor, &message, &err), &err);
	assert_int_equal(tensor.dtype, SERVING_PROCESSOR_FLOAT);
	assert_int_equal(tensor.rank, 2);
	assert_int_equal(tensor.dims[0], 2);
	assert_int_equal(tensor.dims[1], 1);
	assert_memory_equal(tensor.data, values, sizeof(values));
}

static void values_may_come_one_by_one_and_in_pieces(void **state)
{
	const float last[] = {3.0f, 4.0f};
	sp_buffer message = begin(SERVING_PROCESSOR_FLOAT, DIMS(4));

	(void)state;
	sp_wire_float(&message, 5, 1.0f);
	sp_wire_float(&message, 5, 2.0f);
	put_floats(&message, last, 2);
	EXPECT(&message, float, 1.0f, 2.0f, 3.0f, 4.0f);
}

static void the_last_value_repeats(void **state)
{
	const float values[] = {1.0f, 2.0f};
	sp_buffer message = begin(SERVING_PROCESSOR_FLOAT, DIMS(5));

	(void)state;
	put_floats(&message, values, 2);
	EXPECT(&message, float, 1.0f, 2.0f, 2.0f, 2.0f, 2.0f);
	message = begin(SERVING_PROCESSOR_INT64, DIMS(3));
	sp_wire_varint(&message, 10, 7);
	EXPECT(&message, int64_t, 7, 7, 7);
	message = begin(SERVING_PROCESSOR_COMPLEX64, DIMS(3)); /* half a number does not count */
	sp_wire_float(&message, 9, 1.0f);
	sp_wire_float(&message, 9, 2.0f);
	sp_wire_float(&message, 9, 3.0f);
	EXPECT(&message, complex_float, {1.0f, 2.0f}, {1.0f, 2.0f}, {1.0f, 2.0f});
}

static void without_values_all_are_zero_and_more_than_needed_are_ignored(void **state)
{
	const float values[] = {1.0f, 2.0f, 3.0f};
	sp_buffer message = begin(SERVING_PROCESSOR_FLOAT, DIMS(2));

	(void)state;
	EXPECT(&message, float, 0.0f, 0.0f);
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS(2));
	put_floats(&message, values, 3);
	EXPECT(&message, float, 1.0f, 2.0f);
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS(2)); /* values of another type */
	sp_wire_varint(&message, 7, 1);
	EXPECT(&message, float, 0.0f, 0.0f);
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS(0));
	put_floats(&message, values, 1);
	expect(&message, values, 0, 4);
}

static void integers_are_truncated_to_their_width(void **state)
{
	sp_buffer message = begin(SERVING_PROCESSOR_INT8, DIMS(2));

	(void)state;
	sp_wire_varint(&message, 7, 300);
	sp_wire_varint(&message, 7, (uint64_t)-1);
	EXPECT(&message, int8_t, 44, -1);
	message = begin(SERVING_PROCESSOR_UINT8, DIMS(2));
	sp_wire_varint(&message, 7, 300);
	sp_wire_varint(&message, 7, (uint64_t)-1);
	EXPECT(&message, uint8_t, 44, 255);
	message = begin(SERVING_PROCESSOR_HALF, DIMS(2));
	sp_wire_varint(&message, 13, 15360);
	sp_wire_varint(&message, 13, 70000);
	EXPECT(&message, uint16_t, 15360, 4464);
	message = begin(SERVING_PROCESSOR_INT32, SCALAR);
	sp_wire_varint(&message, 7, (uint64_t)INT32_MIN);
	EXPECT(&message, int32_t, INT32_MIN);
	message = begin(SERVING_PROCESSOR_BOOL, DIMS(2));
	sp_wire_varint(&message, 11, 0);
	sp_wire_varint(&message, 11, 200);
	EXPECT(&message, uint8_t, 0, 1);
	message = begin(SERVING_PROCESSOR_UINT64, SCALAR);
	sp_wire_varint(&message, 17, UINT64_MAX);
	EXPECT(&message, uint64_t, UINT64_MAX);
	message = begin(SERVING_PROCESSOR_UINT32, SCALAR);
	sp_wire_varint(&message, 16, UINT32_MAX);
	EXPECT(&message, uint32_t, UINT32_MAX);
}

static void content_is_taken_as_it_is(void **state)
{
	const int64_t values[] = {1, -2};
	sp_buffer message = begin(SERVING_PROCESSOR_INT64, DIMS(2));

	(void)state;
	sp_wire_varint(&message, 10, 99); /* not used beside it */
	sp_wire_bytes(&message, 4, (sp_bytes){(const char *)values, sizeof(values)});
	EXPECT(&message, int64_t, 1, -2);
	message = begin(SERVING_PROCESSOR_INT64, DIMS(3));
	sp_wire_bytes(&message, 4, (sp_bytes){(const char *)values, sizeof(values)});
	expect_refused(&message, SP_INVALID, "16 bytes of tensor_content, but the shape needs 24");
	message = begin(SERVING_PROCESSOR_BOOL, DIMS(2));
	sp_wire_bytes(&message, 4, (sp_bytes){"\1\2", 2});
	expect_refused(&message, SP_INVALID, "neither 0 nor 1");
}

static void expect_texts(sp_buffer *message, const char *const *texts, size_t count)
{
	serving_processor_tensor tensor;
	const sp_bytes *views;
	sp_error err;

	assert_ok(decode(&tensor, message, &err), &err);
	assert_int_equal(tensor.count, count);
	views = tensor.data;
	for (size_t i = 0; i < count; i++)
		assert_true(sp_bytes_equal_text(views[i], texts[i]));
}

static void strings_are_views(void **state)
{
	sp_buffer message = begin(SERVING_PROCESSOR_STRING, DIMS(3));

	(void)state;
	sp_wire_text(&message, 8, "a");
	sp_wire_text(&message, 8, "bc");
	expect_texts(&message, (const char *const[]){"a", "bc", "bc"}, 3);
	message = begin(SERVING_PROCESSOR_STRING, DIMS(2));
	expect_texts(&message, (const char *const[]){"", ""}, 2);
	message = begin(SERVING_PROCESSOR_STRING, DIMS(2));
	sp_wire_bytes(&message, 4, (sp_bytes){"\1\2abc", 5});
	expect_texts(&message, (const char *const[]){"a", "bc"}, 2);
	for (size_t size = 4; size <= 6; size += 2) {
		message = begin(SERVING_PROCESSOR_STRING, DIMS(2));
		sp_wire_bytes(&message, 4, (sp_bytes){"\1\2abcd", size});
		expect_refused(&message, SP_INVALID, "tensor_content is");
	}
	message = begin(SERVING_PROCESSOR_STRING, DIMS(1000000));
	sp_wire_bytes(&message, 4, (sp_bytes){"\1\2abc", 5});
	expect_refused(&message, SP_INVALID, "5 bytes of tensor_content for 1000000 strings");
}

static void wrong_shapes_are_refused(void **state)
{
	sp_buffer message = begin(SERVING_PROCESSOR_FLOAT, DIMS(-1));
	int64_t many[18];

	(void)state;
	expect_refused(&message, SP_INVALID, "a dimension of -1");
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS((int64_t)1 << 40, (int64_t)1 << 40));
	expect_refused(&message, SP_INVALID, "too large");
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS((int64_t)1 << 62, 0, 8));
	expect_refused(&message, SP_INVALID, "too large");
	message = begin(SERVING_PROCESSOR_FLOAT, DIMS((int64_t)1 << 30));
	sp_wire_float(&message, 5, 1.0f);
	expect_refused(&message, SP_INVALID, "bytes of values by repetition");
	for (int i = 0; i < 17; i++)
		many[i] = 1;
	many[17] = -2;
	message = begin(SERVING_PROCESSOR_FLOAT, many);
	expect_refused(&message, SP_UNSUPPORTED, "more than 16 dimensions");
	message = sp_wire_begin();
	sp_wire_varint(&message, 1, SERVING_PROCESSOR_FLOAT);
	sp_wire_bytes(&message, 2, (sp_bytes){"\x18\1", 2});
	expect_refused(&message, SP_INVALID, "unknown rank");
}

static void wrong_types_are_refused(void **state)
{
	sp_buffer message = sp_wire_begin();

	(void)state;
	expect_refused(&message, SP_INVALID, "no dtype");
	message = begin(20, SCALAR);
	expect_refused(&message, SP_UNSUPPORTED, "dtype 20");
	message = begin(1000000, SCALAR);
	expect_refused(&message, SP_UNSUPPORTED, "dtype 1000000");
}

static void malformed_messages_are_refused(void **state)
{
	static const sp_bytes endings[] = {
		{"\x52\2\x81", 3},         /* a length past the end */
		{"\x52\1\x81", 3},         /* half a varint */
		{"\x2a\3abc", 5},          /* three bytes of a float */
		{"\xff", 1},               /* half a tag */
		{"\x3a\1\xff\x52\1\1", 6}, /* in a field that is not used */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		int dtype = i == 2 ? SERVING_PROCESSOR_FLOAT : SERVING_PROCESSOR_INT64;
		sp_buffer message = begin(dtype, DIMS(1));

		sp_buffer_append(&message, endings[i].data, endings[i].size);
		expect_refused(&message, SP_INVALID, "not a TensorProto message");
	}
}

/* Large sizes leave the usual form; the answers are the same. */
static void long_values_are_read(void **state)
{
	enum { COUNT = 20000 };
	sp_buffer message = begin(SERVING_PROCESSOR_INT64, DIMS(COUNT)), run = sp_wire_begin();
	serving_processor_tensor tensor;
	sp_error err;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		sp_wire_number(&run, i * i * i * i);
	sp_wire_message(&message, 10, &run);
	assert_ok(decode(&tensor, &message, &err), &err);
	for (int64_t i = 0; i < COUNT; i++)
		assert_int_equal(((const int64_t *)tensor.data)[i], i * i * i * i);
}

/* -------------------------------------------------------------------- encode */

static void expect_written(const serving_processor_tensor *tensor, bool content, const char *bytes,
			   size_t size)
{
	unsigned char out[256];

	assert_int_equal(sp_tensor_message_encoded_size(tensor, content), size);
	assert_ptr_equal(sp_tensor_message_put(out, tensor, content), out + size);
	assert_memory_equal(out, bytes, size);
}

#define WRITTEN(tensor, content, bytes) expect_written(tensor, content, bytes, sizeof(bytes) - 1)

static void tensors_are_written_in_typed_fields_or_content(void **state)
{
	static const int64_t dims[] = {2};
	static const float floats[] = {1.0f, 0.0f};
	static const int16_t shorts[] = {-1, 300};
	static const sp_bytes texts[] = {{"a", 1}, {NULL, 0}};
	static const uint32_t words[] = {1, 2};
	serving_processor_tensor t = {"y", SERVING_PROCESSOR_FLOAT, 1, dims, 2, floats};

	(void)state;
	WRITTEN(&t, false, "\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x08\0\0\x80\x3f\0\0\0\0");
	WRITTEN(&t, true, "\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\0");
	t.dtype = SERVING_PROCESSOR_INT16;
	t.data = shorts;
	WRITTEN(&t, false,
		"\x08\x05\x12\x04\x12\x02\x08\x02\x3a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		"\xac\x02");
	WRITTEN(&t, true, "\x08\x05\x12\x04\x12\x02\x08\x02\x22\x04\xff\xff\x2c\x01");
	t.dtype = SERVING_PROCESSOR_STRING;
	t.data = texts;
	WRITTEN(&t, false, "\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01\x61\x42\x00");
	WRITTEN(&t, true, "\x08\x07\x12\x04\x12\x02\x08\x02\x22\x03\x01\x00\x61");
	t.dtype = SERVING_PROCESSOR_UINT32;
	t.data = words;
	WRITTEN(&t, false, "\x08\x16\x12\x04\x12\x02\x08\x02\x82\x01\x02\x01\x02");
	t.dtype = SERVING_PROCESSOR_FLOAT;
	t.data = floats;
	t.rank = 0;
	t.count = 1;
	WRITTEN(&t, false, "\x08\x01\x12\x00\x2a\x04\0\0\x80\x3f");
}

/* What is written is read back, for all types, in both forms. */
static void every_type_comes_back(void **state)
{
	static const int64_t dims[] = {3, 2};
	unsigned char data[6 * 16], out[1024];
	sp_bytes texts[6] = {{"", 0}, {"a", 1}, {"\0b", 2}, {"c", 1}, {"d", 1}, {"\xff", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 37 + 11);
	for (int dtype = 1; dtype <= 23; dtype++) {
		size_t size = sp_tensor_element_size(dtype);
		serving_processor_tensor t = {"y", dtype, 2, dims, 6, data}, back;
		unsigned char flags[] = {0, 1, 1, 0, 1, 0};
		sp_error err;

		if (dtype == SERVING_PROCESSOR_STRING)
			t.data = texts;
		if (dtype == SERVING_PROCESSOR_BOOL)
			t.data = flags;
		for (int content = 0; size != 0 && content < 2; content++) {
			sp_bytes view = {(const char *)out,
					 (size_t)(sp_tensor_message_put(out, &t, content) - out)};

			assert_ok(sp_tensor_message_decode(&back, view, arena, &err), &err);
			assert_int_equal(back.dtype, dtype);
			assert_int_equal(back.count, 6);
			if (dtype != SERVING_PROCESSOR_STRING)
				assert_memory_equal(back.data, t.data, 6 * size);
			for (size_t i = 0; dtype == SERVING_PROCESSOR_STRING && i < 6; i++)
				assert_true(
					sp_bytes_equal(((const sp_bytes *)back.data)[i], texts[i]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_floats_are_used_in_place),
		cmocka_unit_test(values_may_come_one_by_one_and_in_pieces),
		cmocka_unit_test(the_last_value_repeats),
		cmocka_unit_test(without_values_all_are_zero_and_more_than_needed_are_ignored),
		cmocka_unit_test(integers_are_truncated_to_their_width),
		cmocka_unit_test(content_is_taken_as_it_is),
		cmocka_unit_test(strings_are_views),
		cmocka_unit_test(wrong_shapes_are_refused),
		cmocka_unit_test(wrong_types_are_refused),
		cmocka_unit_test(malformed_messages_are_refused),
		cmocka_unit_test(long_values_are_read),
		cmocka_unit_test(tensors_are_written_in_typed_fields_or_content),
		cmocka_unit_test(every_type_comes_back),
	};

	return cmocka_run_group_tests_name("tensor_message", tests, set_up, tear_down);
}
