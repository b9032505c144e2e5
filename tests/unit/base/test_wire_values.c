#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "base/wire_values.h"

static sp_wire_field packed(const char *bytes, size_t size)
{
	return (sp_wire_field){1, SP_WIRE_BYTES, 0, {bytes, size}};
}

static sp_wire_sink sink_of(sp_wire_form form, void *room, size_t size)
{
	return (sp_wire_sink){.form = form, .at = room, .end = (char *)room + size};
}

/* 1, 300 and -1 in a packed field, then 7 alone. */
static void integers_come_in_pieces(void **state)
{
	const sp_wire_field run = packed("\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
					 13);
	const sp_wire_field one = {1, SP_WIRE_VARINT, 7, {NULL, 0}};
	const sp_wire_field other = {1, SP_WIRE_FIXED32, 7, {NULL, 0}};
	int32_t wide[4];
	int8_t narrow[3];
	sp_wire_sink out = sink_of((sp_wire_form){SP_WIRE_VARINT, 4, SP_WIRE_AS_IS, true}, wide,
				   sizeof(wide));

	(void)state;
	assert_true(sp_wire_take_values(&out, &run));
	assert_true(sp_wire_take_values(&out, &other)); /* an unknown field */
	assert_true(sp_wire_take_values(&out, &one));
	assert_true(out.at == out.end);
	assert_int_equal(wide[1], 300);
	assert_int_equal(wide[2], -1);
	assert_int_equal(wide[3], 7);
	assert_true(sp_wire_take_values(&out, &run));
	assert_int_equal(out.dropped, 3);

	out = sink_of((sp_wire_form){SP_WIRE_VARINT, 1, SP_WIRE_AS_IS, true}, narrow, 3);
	assert_true(sp_wire_take_values(&out, &run));
	assert_int_equal(narrow[1], 300 - 256);
	out = sink_of((sp_wire_form){SP_WIRE_VARINT, 1, SP_WIRE_IN_RANGE, true}, narrow, 3);
	assert_false(sp_wire_take_values(&out, &run));
	assert_true(out.out_of_range);
	out = sink_of((sp_wire_form){SP_WIRE_VARINT, 1, SP_WIRE_TO_BOOL, false}, narrow, 3);
	assert_true(sp_wire_take_values(&out, &run));
	assert_memory_equal(narrow, "\1\1\1", 3);
}

/* An int32 or uint32 of the message as a smaller number: both ends of its range, and beyond. */
static void the_range_is_that_of_the_type(void **state)
{
	static const struct {
		unsigned char size;
		bool is_signed;
		int64_t least, most;
	} types[] = {{1, true, -128, 127},
		     {1, false, 0, 255},
		     {2, true, -32768, 32767},
		     {2, false, 0, 65535}};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (int64_t value = types[i].least - 1; value <= types[i].most + 1; value++) {
			bool inside = value >= types[i].least && value <= types[i].most;
			sp_wire_field field = {1, SP_WIRE_VARINT, (uint64_t)value, {NULL, 0}};
			uint16_t room = 0;
			sp_wire_sink out = sink_of((sp_wire_form){SP_WIRE_VARINT, types[i].size,
								  SP_WIRE_IN_RANGE,
								  types[i].is_signed},
						   &room, types[i].size);

			assert_int_equal(sp_wire_take_values(&out, &field), inside);
		}
}

static void floats_and_texts(void **state)
{
	const float values[] = {1.5f, -65504, NAN, 1e-8f};
	const sp_wire_field run = packed((const char *)values, sizeof(values));
	const sp_wire_field cut = packed((const char *)values, 7);
	const sp_wire_field text = packed("ab", 2);
	uint16_t halves[4];
	float copies[2];
	sp_bytes texts[1];
	sp_wire_sink out = sink_of((sp_wire_form){SP_WIRE_FIXED32, 4, SP_WIRE_AS_IS, false}, copies,
				   sizeof(copies));

	(void)state;
	assert_true(sp_wire_take_values(&out, &run));
	assert_true(copies[0] == 1.5f && copies[1] == -65504);
	assert_int_equal(out.dropped, 2);
	assert_false(sp_wire_take_values(&out, &cut));
	out = sink_of((sp_wire_form){SP_WIRE_FIXED32, 2, SP_WIRE_TO_HALF, false}, halves,
		      sizeof(halves));
	assert_true(sp_wire_take_values(&out, &run));
	assert_int_equal(halves[0], 0x3e00);
	assert_int_equal(halves[1], 0xfbff);
	assert_true(halves[2] > 0x7c00 && halves[3] == 0);
	out = sink_of((sp_wire_form){SP_WIRE_FIXED32, 2, SP_WIRE_TO_BFLOAT16, false}, halves,
		      sizeof(halves));
	assert_true(sp_wire_take_values(&out, &run));
	assert_int_equal(halves[1], 0xc77f); /* cut, not rounded to 0xc780 */
	assert_true((halves[2] & 0x7fff) > 0x7f80);
	out = sink_of((sp_wire_form){SP_WIRE_BYTES, sizeof(sp_bytes), SP_WIRE_AS_IS, false}, texts,
		      sizeof(texts));
	assert_true(sp_wire_take_values(&out, &text) && sp_wire_take_values(&out, &text));
	assert_true(sp_bytes_equal_text(texts[0], "ab"));
	assert_int_equal(out.dropped, 1);
}

/* What is written reads back as it was, and has the size that was told. */
static void values_come_back(void **state)
{
	static const sp_wire_form forms[] = {
		{SP_WIRE_VARINT, 1, SP_WIRE_AS_IS, true},
		{SP_WIRE_VARINT, 1, SP_WIRE_AS_IS, false},
		{SP_WIRE_VARINT, 2, SP_WIRE_AS_IS, true},
		{SP_WIRE_VARINT, 2, SP_WIRE_AS_IS, false},
		{SP_WIRE_VARINT, 4, SP_WIRE_AS_IS, true},
		{SP_WIRE_VARINT, 4, SP_WIRE_AS_IS, false},
		{SP_WIRE_VARINT, 8, SP_WIRE_AS_IS, true},
		{SP_WIRE_FIXED32, 4, SP_WIRE_AS_IS, false},
		{SP_WIRE_FIXED64, 8, SP_WIRE_AS_IS, false},
		{SP_WIRE_FIXED32, 2, SP_WIRE_TO_HALF, false},
		{SP_WIRE_FIXED32, 2, SP_WIRE_TO_BFLOAT16, false},
	};
	unsigned char data[64], wire[10 * 64], back[64], *end;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i % 7 == 0 ? 0 : 37 * i & 0x7b); /* no exponent is full */
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t count = sizeof(data) / forms[i].size;
		sp_wire_sink out = sink_of(forms[i], back, sizeof(back));
		sp_wire_field run;

		end = sp_wire_put_values(wire, &forms[i], data, count);
		assert_int_equal(end - wire, sp_wire_values_size(&forms[i], data, count));
		run = packed((const char *)wire, (size_t)(end - wire));
		assert_true(sp_wire_take_values(&out, &run));
		assert_memory_equal(back, data, sizeof(data));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_come_in_pieces),
		cmocka_unit_test(the_range_is_that_of_the_type),
		cmocka_unit_test(floats_and_texts),
		cmocka_unit_test(values_come_back),
	};

	return cmocka_run_group_tests_name("wire_values", tests, NULL, NULL);
}
