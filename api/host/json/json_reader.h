#ifndef SP_API_HOST_JSON_JSON_READER_H
#define SP_API_HOST_JSON_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * A pull parser for JSON (RFC 8259): the caller walks the text front to back and asks for
 * one typed value at a time; no tree is built.
 *
 * Beyond the RFC it accepts the words NaN, Infinity and Inf, with or without a minus, as
 * numbers, and a byte order mark at the start.  Integers are exact over the whole range of
 * int64 and uint64.  Strings must be valid UTF-8.
 *
 * Errors: SP_CORRUPT when the bytes are not JSON; the text is
 *         "JSON Parse error: <reason> at offset: <byte>".  SP_NO_MEMORY.
 * Threads: one thread at a time.
 */
typedef struct sp_json_reader {
	const char *start;
	const char *at;
	const char *end;   /* *end is NUL */
	sp_buffer nesting; /* while skipping: one bit per level, 1 for an object */
} sp_json_reader;

typedef enum sp_json_kind {
	SP_JSON_NULL,
	SP_JSON_FALSE,
	SP_JSON_TRUE,
	SP_JSON_OBJECT,
	SP_JSON_ARRAY,
	SP_JSON_STRING,
	SP_JSON_NUMBER,
	SP_JSON_NONE, /* no value starts with the next byte */
} sp_json_kind;

/* A NUL byte follows `text`, which must outlive the reader. */
void sp_json_reader_init(sp_json_reader *reader, sp_bytes text);
void sp_json_reader_fini(sp_json_reader *reader);

/* Starts on another text; keeps the memory. */
void sp_json_reader_reset(sp_json_reader *reader, sp_bytes text);

/* The kind of the next value, by its first byte; skips white space before it. */
sp_json_kind sp_json_peek(sp_json_reader *reader);

/* "Null", "Object", ... as TensorFlow Serving spells them. */
const char *sp_json_kind_name(sp_json_kind kind);

/*
 * Iterates over an array or object after sp_json_peek() has returned its kind:
 *
 *	for (size_t i = 0;; i++) {
 *		SP_TRY(sp_json_array_next(reader, i, &more, err));
 *		if (!more)
 *			break;
 *		... read exactly one value ...
 *	}
 *
 * sp_json_object_next() also reads the key, so that the value is next.  A key with escapes
 * is decoded into the arena.
 */
SP_MUST_CHECK sp_status sp_json_array_next(sp_json_reader *reader, size_t index, bool *more,
					   sp_error *err);
SP_MUST_CHECK sp_status sp_json_object_next(sp_json_reader *reader, size_t index, bool *more,
					    sp_bytes *key, sp_arena *arena, sp_error *err);

/*
 * A string: a view of the text or, if it has escapes, of a copy in the arena.  It may
 * contain NUL bytes.
 */
SP_MUST_CHECK sp_status sp_json_string(sp_json_reader *reader, sp_bytes *out, sp_arena *arena,
				       sp_error *err);

/* A number as written; the functions below convert it. */
typedef struct sp_json_number {
	const char *text;
	bool negative;
	bool nan;
	bool infinite;
	bool integer;   /* no fraction, no exponent, and |value| fits uint64 */
	bool truncated; /* there are more digits than `digits` can hold */
	uint64_t digits;
	int64_t exponent; /* |value| = digits * 10^exponent, unless truncated */
} sp_json_number;

SP_MUST_CHECK sp_status sp_json_number_read(sp_json_reader *reader, sp_json_number *out,
					    sp_error *err);

/* False when it is not an integer or does not fit. */
bool sp_json_number_to_i64(const sp_json_number *number, int64_t *out);
bool sp_json_number_to_u64(const sp_json_number *number, uint64_t *out);

/*
 * The nearest value, ties to even, independent of the locale.  A number that is too large
 * becomes an infinity, one that is too small a zero.
 */
double sp_json_number_to_f64(const sp_json_number *number);
float sp_json_number_to_f32(const sp_json_number *number);

/* Skips "true", "false" or "null", after sp_json_peek() has returned one of their kinds. */
SP_MUST_CHECK sp_status sp_json_literal(sp_json_reader *reader, sp_error *err);

/* Skips one value of any depth and checks its syntax, without recursion. */
SP_MUST_CHECK sp_status sp_json_skip(sp_json_reader *reader, sp_error *err);

/* Sets a syntax error at the current offset. */
sp_status sp_json_fail(const sp_json_reader *reader, const char *reason, sp_error *err);

#endif
