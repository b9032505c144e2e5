#include "base/wire_values.h"

#include "base/half.h"

/* ------------------------------------------------------------------- reading */

static bool is_in_range(const sp_wire_form *form, uint64_t value)
{
	int64_t limit = (int64_t)1 << (8 * form->size - 1), number = (int32_t)value;

	if (form->is_signed)
		return number >= -limit && number < limit;
	return (uint32_t)value < 2 * (uint64_t)limit;
}

/* Inlined for each size and conversion, so that a value is a single store. */
static inline __attribute__((always_inline)) bool take_varints(sp_wire_sink *out, sp_wire *wire,
							       size_t size,
							       sp_wire_conversion conversion)
{
	char *at = out->at;
	uint64_t value;

	while (wire->at != wire->end) {
		if (*wire->at < 0x80)
			value = *wire->at++;
		else if (!sp_wire_read_varint(wire, &value))
			return false;
		if (at == out->end) {
			out->dropped++;
			continue;
		}
		if (conversion == SP_WIRE_IN_RANGE && !is_in_range(&out->form, value)) {
			out->out_of_range = true;
			return false;
		}
		if (conversion == SP_WIRE_TO_BOOL)
			value = value != 0;
		memcpy(at, &value, size); /* little-endian: the lower bytes */
		at += size;
	}
	out->at = at;
	return true;
}

static bool take_any_varints(sp_wire_sink *out, sp_bytes run)
{
	sp_wire wire = sp_wire_of(run);
	size_t size = out->form.size;

	if (out->form.conversion == SP_WIRE_TO_BOOL)
		return take_varints(out, &wire, 1, SP_WIRE_TO_BOOL);
	if (out->form.conversion == SP_WIRE_IN_RANGE)
		return take_varints(out, &wire, size, SP_WIRE_IN_RANGE);
	switch (size) {
	case 1:
		return take_varints(out, &wire, 1, SP_WIRE_AS_IS);
	case 2:
		return take_varints(out, &wire, 2, SP_WIRE_AS_IS);
	case 4:
		return take_varints(out, &wire, 4, SP_WIRE_AS_IS);
	default:
		return take_varints(out, &wire, 8, SP_WIRE_AS_IS);
	}
}

static uint16_t narrow(float value, sp_wire_conversion conversion)
{
	if (conversion == SP_WIRE_TO_HALF)
		return sp_half_from_float(value);
	return value != value ? sp_bfloat16_from_float(value)
			      : (uint16_t)(sp_float_bits(value) >> 16);
}

static bool take_halves(sp_wire_sink *out, sp_bytes run)
{
	for (size_t i = 0; i < run.size; i += sizeof(float)) {
		float value;
		uint16_t half;

		if (out->at == out->end) {
			out->dropped++;
			continue;
		}
		memcpy(&value, run.data + i, sizeof(value));
		half = narrow(value, (sp_wire_conversion)out->form.conversion);
		memcpy(out->at, &half, sizeof(half));
		out->at += sizeof(half);
	}
	return true;
}

static size_t fixed_size(unsigned char type)
{
	return type == SP_WIRE_FIXED32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

static bool take_fixed(sp_wire_sink *out, sp_bytes run)
{
	size_t size = fixed_size(out->form.type), room = (size_t)(out->end - out->at);

	if (run.size % size != 0)
		return false;
	if (out->form.conversion != SP_WIRE_AS_IS)
		return take_halves(out, run);
	if (run.size > room)
		out->dropped += (run.size - room) / size;
	else
		room = run.size;
	if (room != 0)
		memcpy(out->at, run.data, room);
	out->at += room;
	return true;
}

static bool take_text(sp_wire_sink *out, sp_bytes text)
{
	if (out->at == out->end) {
		out->dropped++;
		return true;
	}
	memcpy(out->at, &text, sizeof(text));
	out->at += sizeof(text);
	return true;
}

static bool take_run(sp_wire_sink *out, sp_bytes run)
{
	switch (out->form.type) {
	case SP_WIRE_BYTES:
		return take_text(out, run);
	case SP_WIRE_VARINT:
		return take_any_varints(out, run);
	default:
		return take_fixed(out, run);
	}
}

bool sp_wire_take_values(sp_wire_sink *out, const sp_wire_field *field)
{
	unsigned char one[10]; /* a single value as in a packed field */
	unsigned char *end = one;

	if (field->type == SP_WIRE_BYTES)
		return take_run(out, field->bytes);
	if (field->type != out->form.type)
		return true;
	if (field->type == SP_WIRE_VARINT)
		end = sp_wire_put_varint(one, field->value);
	else
		end = sp_wire_put_bytes(one, &field->value, fixed_size(out->form.type));
	return take_run(out, (sp_bytes){(const char *)one, (size_t)(end - one)});
}

/* ------------------------------------------------------------------- writing */

/* An integer as the varint that is written: negative ones have all upper bits set. */
static inline uint64_t value_at(const sp_wire_form *form, const char *data, size_t i)
{
	int8_t i8;
	int16_t i16;
	int32_t i32;
	uint64_t value = 0;

	switch (form->is_signed ? form->size : 0) {
	case 1:
		memcpy(&i8, data + i, sizeof(i8));
		return (uint64_t)(int64_t)i8;
	case 2:
		memcpy(&i16, data + i * sizeof(i16), sizeof(i16));
		return (uint64_t)(int64_t)i16;
	case 4:
		memcpy(&i32, data + i * sizeof(i32), sizeof(i32));
		return (uint64_t)(int64_t)i32;
	default:
		memcpy(&value, data + i * form->size, form->size);
		return value;
	}
}

size_t sp_wire_values_size(const sp_wire_form *form, const void *data, size_t count)
{
	size_t size = 0;

	if (form->type != SP_WIRE_VARINT)
		return count * fixed_size(form->type);
	for (size_t i = 0; i < count; i++)
		size += sp_wire_varint_size(value_at(form, data, i));
	return size;
}

static unsigned char *put_halves(unsigned char *at, const sp_wire_form *form, const char *data,
				 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t half;
		float value;

		memcpy(&half, data + i * sizeof(half), sizeof(half));
		value = form->conversion == SP_WIRE_TO_HALF ? sp_half_to_float(half)
							    : sp_bfloat16_to_float(half);
		at = sp_wire_put_bytes(at, &value, sizeof(value));
	}
	return at;
}

unsigned char *sp_wire_put_values(unsigned char *at, const sp_wire_form *form, const void *data,
				  size_t count)
{
	if (form->conversion == SP_WIRE_TO_HALF || form->conversion == SP_WIRE_TO_BFLOAT16)
		return put_halves(at, form, data, count);
	if (form->type != SP_WIRE_VARINT)
		return sp_wire_put_bytes(at, data, count * form->size);
	for (size_t i = 0; i < count; i++)
		at = sp_wire_put_varint(at, value_at(form, data, i));
	return at;
}
