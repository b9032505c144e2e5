#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "model_loader/proto/tensor_proto.h"
#include "tests/support/expected.h"
#include "tests/support/wire.h"

/* Fields of TensorProto. */
enum {
	DTYPE = 1,
	SHAPE = 2,
	CONTENT = 4,
	FLOAT_VAL = 5,
	DOUBLE_VAL = 6,
	INT_VAL = 7,
	STRING_VAL = 8,
	SCOMPLEX_VAL = 9,
	INT64_VAL = 10,
	BOOL_VAL = 11,
	DCOMPLEX_VAL = 12,
	HALF_VAL = 13,
	UINT32_VAL = 16,
	UINT64_VAL = 17,
};

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

static void add_shape(sp_buffer *out, size_t rank, const int64_t *dims)
{
	sp_buffer shape = sp_wire_begin();

	for (size_t i = 0; i < rank; i++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, (uint64_t)dims[i]);
		sp_wire_message(&shape, 2, &dim);
	}
	sp_wire_message(out, SHAPE, &shape);
}

/* A vector of that many elements. */
static sp_buffer vector(sp_dtype dtype, int64_t size)
{
	sp_buffer out = sp_wire_begin();

	sp_wire_varint(&out, DTYPE, dtype);
	add_shape(&out, 1, &size);
	return out;
}

static sp_status parse(sp_tensor *out, sp_buffer *message, void **state, sp_error *err)
{
	sp_status status = sp_tensor_parse(out, sp_wire_view(message), *state, err);

	sp_buffer_fini(message);
	return status;
}

static sp_tensor parsed(sp_buffer *message, void **state)
{
	sp_error err;
	sp_tensor tensor;

	assert_ok(parse(&tensor, message, state, &err), &err);
	return tensor;
}

static void a_tensor_without_shape_is_a_scalar(void **state)
{
	sp_buffer m = sp_wire_begin();
	sp_tensor t;

	sp_wire_varint(&m, DTYPE, SP_FLOAT);
	sp_wire_float(&m, FLOAT_VAL, 2.5f);
	t = parsed(&m, state);
	assert_int_equal(t.dtype, SP_FLOAT);
	assert_true(sp_tensor_is_scalar(&t));
	assert_int_equal(t.count, 1);
	assert_true(*sp_tensor_f32(&t) == 2.5f);
}

static void content_is_taken_as_it_lies(void **state)
{
	static const int64_t dims[] = {2, 3};
	static const int32_t values[] = {1, -2, 3, -4, 5, INT32_MIN};
	sp_buffer m = sp_wire_begin();
	sp_tensor t;

	sp_wire_varint(&m, DTYPE, SP_INT32);
	add_shape(&m, 2, dims);
	sp_wire_bytes(&m, CONTENT, (sp_bytes){(const char *)values, sizeof(values)});
	t = parsed(&m, state);
	assert_int_equal(t.shape.rank, 2);
	assert_int_equal(t.shape.dims[1], 3);
	assert_memory_equal(t.data, values, sizeof(values));
}

static void the_last_value_is_repeated(void **state)
{
	static const int64_t want[] = {7, -9, -9, -9, -9, -9, -9, -9, -9, -9};
	sp_buffer m = vector(SP_INT64, 10);
	sp_tensor t;

	sp_wire_varint(&m, INT64_VAL, 7);
	sp_wire_varint(&m, INT64_VAL, (uint64_t)-9);
	t = parsed(&m, state);
	assert_int_equal(t.count, 10);
	assert_memory_equal(t.data, want, sizeof(want));
}

static void without_a_value_all_are_zero(void **state)
{
	static const double zeros[5];
	sp_buffer m = vector(SP_DOUBLE, 5), texts = vector(SP_STRING, 2);
	sp_tensor t = parsed(&m, state);

	assert_memory_equal(t.data, zeros, sizeof(zeros));
	t = parsed(&texts, state);
	assert_int_equal(sp_tensor_strings(&t)[1].size, 0);
}

static void values_beyond_the_shape_are_ignored(void **state)
{
	sp_buffer m = vector(SP_UINT64, 1);
	sp_tensor t;

	sp_wire_varint(&m, UINT64_VAL, UINT64_MAX);
	sp_wire_varint(&m, UINT64_VAL, 2);
	t = parsed(&m, state);
	assert_int_equal(t.count, 1);
	assert_true(*(uint64_t *)t.data == UINT64_MAX);
}

static void packed_and_single_values_are_one_field(void **state)
{
	static const int32_t want[] = {1, 2, 3};
	sp_buffer m = vector(SP_INT32, 3);
	sp_tensor t;

	sp_wire_bytes(&m, INT_VAL, (sp_bytes){"\1\2", 2});
	sp_wire_varint(&m, INT_VAL, 3);
	t = parsed(&m, state);
	assert_memory_equal(t.data, want, sizeof(want));
}

static void narrow_integers_are_cut_to_their_width(void **state)
{
	static const sp_dtype bytes[] = {SP_INT8, SP_UINT8, SP_QINT8, SP_QUINT8};
	static const sp_dtype shorts[] = {SP_INT16, SP_UINT16, SP_QINT16, SP_QUINT16};

	for (size_t i = 0; i < 4; i++) {
		sp_buffer b = vector(bytes[i], 2), s = vector(shorts[i], 2);
		sp_tensor t;

		sp_wire_varint(&b, INT_VAL, (uint64_t)-2);
		sp_wire_varint(&b, INT_VAL, 0x1ff);
		t = parsed(&b, state);
		assert_memory_equal(t.data, "\xfe\xff", 2);
		sp_wire_varint(&s, INT_VAL, (uint64_t)-2);
		sp_wire_varint(&s, INT_VAL, 0x10102);
		t = parsed(&s, state);
		assert_memory_equal(t.data, "\xfe\xff\x02\x01", 4);
	}
}

static void half_val_holds_bits(void **state)
{
	static const sp_dtype types[] = {SP_HALF, SP_BFLOAT16};

	for (size_t i = 0; i < 2; i++) {
		static const uint16_t want[] = {0x3c00, 0xc500, 0xc500};
		sp_buffer m = vector(types[i], 3);
		sp_tensor t;

		sp_wire_varint(&m, HALF_VAL, 0x3c00);
		sp_wire_varint(&m, HALF_VAL, 0xc500);
		t = parsed(&m, state);
		assert_memory_equal(t.data, want, sizeof(want));
	}
}

static void complex_numbers_are_pairs(void **state)
{
	static const float want32[] = {1, 2, 1, 2};
	static const double want64[] = {3, 4, 3, 4};
	sp_buffer c = vector(SP_COMPLEX64, 2), z = vector(SP_COMPLEX128, 2);
	sp_tensor t;

	sp_wire_float(&c, SCOMPLEX_VAL, 1);
	sp_wire_float(&c, SCOMPLEX_VAL, 2);
	t = parsed(&c, state);
	assert_memory_equal(t.data, want32, sizeof(want32));
	sp_wire_double(&z, DCOMPLEX_VAL, 3);
	sp_wire_double(&z, DCOMPLEX_VAL, 4);
	t = parsed(&z, state);
	assert_memory_equal(t.data, want64, sizeof(want64));
}

static void any_byte_but_zero_is_true(void **state)
{
	sp_buffer content = vector(SP_BOOL, 3), values = vector(SP_BOOL, 3);
	sp_tensor t;

	sp_wire_bytes(&content, CONTENT, (sp_bytes){"\0\1\xff", 3});
	t = parsed(&content, state);
	assert_memory_equal(t.data, "\0\1\1", 3);
	sp_wire_varint(&values, BOOL_VAL, 0);
	sp_wire_varint(&values, BOOL_VAL, 1);
	t = parsed(&values, state);
	assert_memory_equal(t.data, "\0\1\1", 3);
}

static void strings_may_hold_any_byte(void **state)
{
	sp_buffer m = vector(SP_STRING, 3);
	sp_tensor t;

	sp_wire_bytes(&m, STRING_VAL, (sp_bytes){"a\0b", 3});
	sp_wire_text(&m, STRING_VAL, "");
	sp_wire_text(&m, STRING_VAL, "\xff");
	t = parsed(&m, state);
	assert_true(sp_bytes_equal(sp_tensor_strings(&t)[0], (sp_bytes){"a\0b", 3}));
	assert_int_equal(sp_tensor_strings(&t)[1].size, 0);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&t)[2], "\xff"));
}

static void strings_also_come_as_content(void **state)
{
	sp_buffer m = vector(SP_STRING, 3);
	sp_tensor t;

	sp_wire_bytes(&m, CONTENT, (sp_bytes){"\2\0\1abc", 6});
	t = parsed(&m, state);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&t)[0], "ab"));
	assert_int_equal(sp_tensor_strings(&t)[1].size, 0);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&t)[2], "c"));
}

static void string_content_of_another_length_is_refused(void **state)
{
	static const sp_bytes wrong[] = {
		{"\2\0\1ab", 5}, {"\2\0\1abcd", 7}, /* one less, one more */
		{"\2\0\x81", 3}, {"\2\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11}, /* bad lengths */
		{"\2\0", 2},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer m = vector(SP_STRING, 3);
		sp_tensor t;

		sp_wire_bytes(&m, CONTENT, wrong[i]);
		assert_int_equal(parse(&t, &m, state, NULL), SP_CORRUPT);
	}
}

static void content_of_another_size_is_refused(void **state)
{
	for (size_t size = 1; size < 12; size++) {
		sp_buffer m = vector(SP_FLOAT, 2);
		sp_status status;
		sp_tensor t;

		sp_wire_bytes(&m, CONTENT, (sp_bytes){"0123456789ab", size});
		status = parse(&t, &m, state, NULL);
		assert_int_equal(status, size == 8 ? SP_OK : SP_CORRUPT);
	}
}

static void reference_types_are_their_plain_types(void **state)
{
	sp_buffer m = vector((sp_dtype)(SP_FLOAT + 100), 1);
	sp_tensor t;

	sp_wire_float(&m, FLOAT_VAL, 1);
	t = parsed(&m, state);
	assert_int_equal(t.dtype, SP_FLOAT);
}

static void unreadable_types_are_refused_by_name(void **state)
{
	static const struct {
		int number;
		const char *words;
	} types[] = {
		{0, "type 0 is"},
		{SP_RESOURCE, "of DT_RESOURCE"},
		{SP_VARIANT, "of DT_VARIANT"},
		{24, "DT_FLOAT8_E5M2"},
		{25, "DT_FLOAT8_E4M3FN"},
		{26, "type 26 is"},
		{29, "DT_INT4"},
		{30, "DT_UINT4"},
		{31, "type 31 is"},
		{100, "type 100 is"},
		{120, "of DT_RESOURCE"},
		{124, "DT_FLOAT8_E5M2"},
		{-1, "type -1 is"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		sp_buffer m = sp_wire_begin();
		sp_error err;
		sp_tensor t;

		sp_wire_varint(&m, DTYPE, (uint64_t)(int64_t)types[i].number);
		assert_int_equal(parse(&t, &m, state, &err), SP_UNSUPPORTED);
		assert_non_null(strstr(err.text, types[i].words));
	}
}

static void shapes_that_are_none_are_refused(void **state)
{
	static const int64_t negative[] = {2, -1}, below[] = {-2};
	static const int64_t huge[] = {(int64_t)1 << 40, (int64_t)1 << 40};
	static const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const struct {
		const int64_t *dims;
		size_t rank;
		sp_status status;
	} cases[] = {
		{negative, 2, SP_CORRUPT}, {below, 1, SP_CORRUPT}, {huge, 2, SP_CORRUPT},
		{nine, 9, SP_UNSUPPORTED}, {nine, 8, SP_OK},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sp_buffer m = sp_wire_begin();
		sp_tensor t;

		sp_wire_varint(&m, DTYPE, SP_FLOAT);
		add_shape(&m, cases[i].rank, cases[i].dims);
		assert_int_equal(parse(&t, &m, state, NULL), cases[i].status);
	}
}

static void an_unknown_rank_is_refused(void **state)
{
	sp_buffer m = sp_wire_begin();
	sp_tensor t;

	sp_wire_varint(&m, DTYPE, SP_FLOAT);
	sp_wire_bytes(&m, SHAPE, (sp_bytes){"\x18\x01", 2});
	assert_int_equal(parse(&t, &m, state, NULL), SP_CORRUPT);
}

static void an_empty_tensor_has_no_elements(void **state)
{
	sp_buffer m = vector(SP_FLOAT, 0);
	sp_tensor t;

	sp_wire_float(&m, FLOAT_VAL, 1);
	t = parsed(&m, state);
	assert_int_equal(t.count, 0);
}

static void a_few_bytes_cannot_ask_for_much_memory(void **state)
{
	sp_buffer most = vector(SP_FLOAT, (SP_TENSOR_PROTO_MAX_REPEATED >> 2) + 1);
	sp_tensor t;

	assert_int_equal(parse(&t, &most, state, NULL), SP_CORRUPT);
}

static void bytes_that_are_no_message_are_refused(void **state)
{
	static const char *const wrong[] = {"\x08", "\x0f\x01", "\x22\x05xyz",
					    "\xff\xff\xff\xff\xff"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_tensor t;

		assert_int_equal(sp_tensor_parse(&t, sp_bytes_of(wrong[i]), *state, NULL),
				 SP_CORRUPT);
	}
}

/* Constants of all types and forms; the values are what TensorFlow makes of them. */
static void constants_are_read_as_tensorflow_reads_them(void **state)
{
	size_t count;
	const sp_expected *want = sp_expected_read("tests/golden/protos/tensors.txt", 1, *state,
						   &count);

	assert_true(count > 100);
	for (size_t i = 0; i < count; i++) {
		const char *hex = want[i].texts[0];
		sp_error err;
		sp_tensor got;

		assert_ok(sp_tensor_parse(&got, sp_expected_bytes(hex, strlen(hex), *state), *state,
					  &err),
			  &err);
		sp_assert_same_tensor(&got, &want[i].tensor, hex);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_tensor_without_shape_is_a_scalar),
		TEST(content_is_taken_as_it_lies),
		TEST(the_last_value_is_repeated),
		TEST(without_a_value_all_are_zero),
		TEST(values_beyond_the_shape_are_ignored),
		TEST(packed_and_single_values_are_one_field),
		TEST(narrow_integers_are_cut_to_their_width),
		TEST(half_val_holds_bits),
		TEST(complex_numbers_are_pairs),
		TEST(any_byte_but_zero_is_true),
		TEST(strings_may_hold_any_byte),
		TEST(strings_also_come_as_content),
		TEST(string_content_of_another_length_is_refused),
		TEST(content_of_another_size_is_refused),
		TEST(reference_types_are_their_plain_types),
		TEST(unreadable_types_are_refused_by_name),
		TEST(shapes_that_are_none_are_refused),
		TEST(an_unknown_rank_is_refused),
		TEST(an_empty_tensor_has_no_elements),
		TEST(a_few_bytes_cannot_ask_for_much_memory),
		TEST(bytes_that_are_no_message_are_refused),
		TEST(constants_are_read_as_tensorflow_reads_them),
	};

	return cmocka_run_group_tests_name("tensor_proto", tests, NULL, NULL);
}
