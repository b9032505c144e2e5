#ifndef SP_BASE_SIZE_H
#define SP_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Checked arithmetic, for sizes and counts that come from a file or a request.
 *
 * Each returns true and sets *out, or returns false if the result does not fit; *out is then
 * unspecified.
 */

static inline bool sp_size_add(size_t *out, size_t a, size_t b)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool sp_size_mul(size_t *out, size_t a, size_t b)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline bool sp_i64_add(int64_t *out, int64_t a, int64_t b)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool sp_i64_mul(int64_t *out, int64_t a, int64_t b)
{
	return !__builtin_mul_overflow(a, b, out);
}

/* Rounds up to a multiple of `unit`, a power of two. */
static inline bool sp_size_round_up(size_t *out, size_t size, size_t unit)
{
	if (!sp_size_add(out, size, unit - 1))
		return false;
	*out &= ~(unit - 1);
	return true;
}

#endif
