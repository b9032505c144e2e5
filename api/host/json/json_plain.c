#include "api/host/json/json_plain.h"

#include <string.h>

#include "api/host/json/decimal.h"

/*
 * A number is looked for in the next two blocks of eight characters, or three.  What the next
 * number waits for is only the length of this one, so that is computed in registers, without a
 * branch per character.
 */
enum { BLOCK = 8, MOST_BYTES = 4 * BLOCK, MOST_DIGITS = 18, MOST_FRACTION = 19 };

#define ALL_BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

typedef struct plain {
	uint64_t digits;
	size_t fraction; /* how many of the digits */
	bool negative;
} plain;

/* The first character in the lowest byte, on any machine; a digit becomes its value. */
static inline uint64_t load(const char *at)
{
	uint64_t block;

	memcpy(&block, at, sizeof(block));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	block = __builtin_bswap64(block);
#endif
	return block ^ ALL_BYTES('0');
}

/* The highest bit of each byte of a block that is no digit. */
static inline uint64_t others_in(uint64_t block)
{
	return (((block & ALL_BYTES(0x7f)) + ALL_BYTES(0x76)) | block) & ALL_BYTES(0x80);
}

/* The same as one bit per byte. */
static inline uint64_t others_of(uint64_t block)
{
	return others_in(block) * UINT64_C(0x0002040810204081) >> 56;
}

/*
 * The value of `count` (1 to 8) digits at the start of a block, added up in pairs, fours and eights
 * in one register.
 */
static inline uint64_t value_of(uint64_t block, size_t count)
{
	const uint64_t low = UINT64_C(0x000000ff000000ff);

	block <<= (BLOCK - count) * 8; /* zeros before them */
	block = block * 10 + (block >> 8);
	block = (block & low) * UINT64_C(0x000f424000000064) +
		(block >> 16 & low) * UINT64_C(0x0000271000000001);
	return block >> 32;
}

/* The value of `count` digits: those of the first block and, from `next` on, the others. */
static inline uint64_t value_of_all(uint64_t first, const char *next, size_t count)
{
	uint64_t value;

	if (count <= BLOCK)
		return value_of(first, count);
	value = value_of(first, BLOCK);
	for (count -= BLOCK; count > BLOCK; next += BLOCK, count -= BLOCK)
		value = value * 100000000 + value_of(load(next), BLOCK);
	return value * sp_power_of_ten[count] + value_of(load(next), count);
}

/* Where the number ends, and in *point, its whole part; `limit` if not before that. */
static inline size_t find_end(const char *at, uint64_t ends, size_t limit, size_t *point)
{
	ends |= UINT64_C(1) << limit;
	*point = (size_t)__builtin_ctzll(ends);
	ends &= ends - 1;
	return at[*point] != '.' || ends == 0 ? *point : (size_t)__builtin_ctzll(ends);
}

/* Returns the end of the number at `at`, behind which MOST_BYTES follow; NULL if not plain. */
static inline __attribute__((always_inline)) const char *read_plain(const char *at, plain *out)
{
	uint64_t others = others_of(load(at)) | others_of(load(at + BLOCK)) << BLOCK;
	size_t minus = others & 1, point, end, count;
	const char *start = at + minus;
	uint64_t first = load(start), whole;

	others -= minus;
	end = find_end(at, others, 2 * BLOCK, &point);
	if (end == 2 * BLOCK) {
		others |= others_of(load(at + end)) << end;
		end = find_end(at, others, 3 * BLOCK, &point);
	}
	count = point - minus;
	if (count == 0 || end == 3 * BLOCK || minus > (size_t)(*at == '-') ||
	    (*start == '0' && count > 1) || (at[end] | 0x20) == 'e')
		return NULL;
	out->negative = minus != 0;
	out->fraction = 0;
	if (end != point) {
		if (count >= BLOCK || end == point + 1)
			return NULL;
		whole = (UINT64_C(1) << count * 8) - 1; /* the bytes before the point */
		first = (first & whole) | (load(start + 1) & ~whole);
		start++;
		out->fraction = end - point - 1;
		count += out->fraction;
	}
	/* So many fit in int64, and up to two more if the first is 0. */
	if (count > MOST_DIGITS && ((first & 0xff) != 0 || count > MOST_FRACTION + 1))
		return NULL;
	out->digits = value_of_all(first, start + BLOCK, count);
	return count > MOST_DIGITS && out->digits > INT64_MAX ? NULL : at + end;
}

/* As read_plain(), for a type that has no fractions. */
static inline __attribute__((always_inline)) const char *read_integer(const char *at, plain *out)
{
	uint64_t block = load(at), others = others_in(block), ends = others & ~UINT64_C(0xff);
	size_t minus = others >> 7 & 1, end = ends == 0 ? 0 : (size_t)__builtin_ctzll(ends) / 8;
	size_t whole = end - minus;
	char first = at[minus];

	if (ends == 0)
		return read_plain(at, out);
	if (whole == 0 || minus > (size_t)(*at == '-') || (first == '0' && whole > 1) ||
	    at[end] == '.' || (at[end] | 0x20) == 'e')
		return NULL;
	*out = (plain){value_of(block >> minus * 8, whole), 0, minus != 0};
	return at + end;
}

static sp_json_number number_of(const plain *number)
{
	return (sp_json_number){.negative = number->negative,
				.digits = number->digits,
				.exponent = -(int64_t)number->fraction};
}

static inline double magnitude_f64(const plain *number)
{
	sp_json_number slow;

	if (number->digits >> 53 == 0) /* both are exact: one rounding */
		return (double)(int64_t)number->digits / (double)sp_power_of_ten[number->fraction];
	slow = number_of(number);
	slow.negative = false;
	return sp_json_number_to_f64(&slow);
}

/* Without a branch, because signs are hard to predict. */
static inline double with_sign(double magnitude, bool negative)
{
	uint64_t bits;

	memcpy(&bits, &magnitude, sizeof(bits));
	bits |= (uint64_t)negative << 63;
	memcpy(&magnitude, &bits, sizeof(bits));
	return magnitude;
}

static inline float to_f32(const plain *number)
{
	static const double inverse[MOST_FRACTION + 1] = {
		1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,
		1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19};
	double value = (double)(int64_t)number->digits * inverse[number->fraction];
	sp_json_number slow;
	uint64_t bits;

	/*
	 * Three roundings: the double is off by less than 4 of its units.  The float nearest to it
	 * is right unless it is as near to the middle between two floats.
	 */
	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x1fffffff) - (0x10000000 - 8) > 16)
		return (float)with_sign(value, number->negative);
	slow = number_of(number);
	return sp_json_number_to_f32(&slow);
}

static inline bool to_i64(const plain *number, int64_t *out)
{
	*out = number->negative ? -(int64_t)number->digits : (int64_t)number->digits;
	return number->fraction == 0;
}

typedef enum kind { F32, F64, I64, I32 } kind;

static inline bool store(kind type, void *out, size_t i, const plain *number)
{
	int64_t integer;

	switch (type) {
	case F32:
		((float *)out)[i] = to_f32(number);
		return true;
	case F64:
		((double *)out)[i] = with_sign(magnitude_f64(number), number->negative);
		return true;
	case I64:
		return to_i64(number, (int64_t *)out + i);
	case I32:
		if (!to_i64(number, &integer) || integer < INT32_MIN || integer > INT32_MAX)
			return false;
		((int32_t *)out)[i] = (int32_t)integer;
		return true;
	}
	return false;
}

/* Inlined once for each type. */
static inline __attribute__((always_inline)) size_t read_list(kind type, sp_json_reader *reader,
							      void *out, size_t room)
{
	const char *at = reader->at, *after;
	size_t count = 0;
	plain number;

	while (count < room && reader->end - at >= MOST_BYTES) {
		after = type == I64 || type == I32 ? read_integer(at, &number)
						   : read_plain(at, &number);
		if (after == NULL || !store(type, out, count, &number))
			break;
		count++;
		reader->at = after;
		if (*after != ',')
			break;
		at = after + 1;
		if (*at == ' ')
			at++;
	}
	return count;
}

size_t sp_json_plain_f32(sp_json_reader *reader, float *out, size_t room)
{
	return read_list(F32, reader, out, room);
}

size_t sp_json_plain_f64(sp_json_reader *reader, double *out, size_t room)
{
	return read_list(F64, reader, out, room);
}

size_t sp_json_plain_i64(sp_json_reader *reader, int64_t *out, size_t room)
{
	return read_list(I64, reader, out, room);
}

size_t sp_json_plain_i32(sp_json_reader *reader, int32_t *out, size_t room)
{
	return read_list(I32, reader, out, room);
}
