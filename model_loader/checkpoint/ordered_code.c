#include "model_loader/checkpoint/ordered_code.h"

void sp_ordered_code_number(sp_buffer *out, uint64_t value)
{
	int size = value == 0 ? 0 : (71 - __builtin_clzll(value)) / 8;

	sp_buffer_append_char(out, (char)size);
	while (size-- > 0)
		sp_buffer_append_char(out, (char)(value >> 8 * size));
}

void sp_ordered_code_string(sp_buffer *out, sp_bytes text)
{
	for (size_t i = 0; i < text.size; i++) {
		sp_buffer_append_char(out, text.data[i]);
		if (text.data[i] == '\0')
			sp_buffer_append_char(out, '\xff');
		else if (text.data[i] == '\xff')
			sp_buffer_append_char(out, '\0');
	}
	sp_buffer_append(out, "\0\1", 2);
}

void sp_ordered_code_signed(sp_buffer *out, int64_t value)
{
	/* By the number of bytes: as many leading one bits. */
	static const uint8_t header[11][2] = {
		{0, 0},    {0x80, 0}, {0xc0, 0}, {0xe0, 0},    {0xf0, 0},    {0xf8, 0},
		{0xfc, 0}, {0xfe, 0}, {0xff, 0}, {0xff, 0x80}, {0xff, 0xc0},
	};
	uint64_t bits = (uint64_t)value, magnitude = value < 0 ? ~bits : bits;
	int size = (magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude)) / 7 + 1;

	for (int i = 0; i < size; i++) {
		int shift = 8 * (size - 1 - i);
		uint8_t byte = shift < 64 ? (uint8_t)(bits >> shift) : value < 0 ? 0xff : 0;

		sp_buffer_append_char(out, (char)(i < 2 ? byte ^ header[size][i] : byte));
	}
}

void sp_ordered_code_slice_key(sp_buffer *out, sp_bytes name, const sp_tensor_slice *slice)
{
	sp_ordered_code_number(out, 0);
	sp_ordered_code_string(out, name);
	sp_ordered_code_number(out, (uint64_t)slice->rank);
	for (int i = 0; i < slice->rank; i++) {
		sp_ordered_code_signed(out, slice->start[i]);
		sp_ordered_code_signed(out, slice->length[i]);
	}
}
