#ifndef SP_ENGINE_OPS_UNICODE_H
#define SP_ENGINE_OPS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/op.h"

/*
 * Text in UTF-8, UTF-16 and UTF-32 of both byte orders, ASCII and Latin-1.  Their names are
 * compared without case, '-' and '_'.
 *
 * Malformed text: each longest beginning of a character that goes no further is
 * one error ("maximal subpart", Unicode 15, section 3.9).
 *
 * Threads: pure, but for readers: one thread at a time.
 */
typedef enum sp_encoding {
	SP_ENCODING_UTF8,
	SP_ENCODING_UTF16_BE,
	SP_ENCODING_UTF16_LE,
	SP_ENCODING_UTF32_BE,
	SP_ENCODING_UTF32_LE,
	SP_ENCODING_ASCII,
	SP_ENCODING_LATIN1,
} sp_encoding;

/* What is done with errors. */
typedef struct sp_unicode_policy {
	enum { SP_UNICODE_STRICT, SP_UNICODE_REPLACE, SP_UNICODE_IGNORE } errors;
	int32_t replacement;
	bool replace_controls; /* U+0000 ... U+001F count as errors, */
	bool spare_controls;   /* but when strict are replaced only */
} sp_unicode_policy;

/* Attribute "output_encoding": UTF-8, UTF-16-BE or UTF-32-BE; SP_INVALID else. */
SP_MUST_CHECK sp_status sp_unicode__read_output(const sp_prepare *prepare, sp_encoding *out,
						sp_error *err);

/* Attribute "input_encoding"; SP_UNSUPPORTED for any that is not above. */
SP_MUST_CHECK sp_status sp_unicode__read_input(const sp_prepare *prepare, sp_encoding *out,
					       sp_error *err);

/* Attributes "errors", "replacement_char" and "replace_control_characters". */
SP_MUST_CHECK sp_status sp_unicode__read_policy(const sp_prepare *prepare, sp_unicode_policy *out,
						sp_error *err);

/* A text that is being decoded. */
typedef struct sp_unicode_reader {
	sp_encoding encoding;
	const unsigned char *start, *at, *end;
} sp_unicode_reader;

void sp_unicode__open(sp_unicode_reader *reader, sp_encoding encoding, sp_bytes text);

/* The next character, *is_error where there is none in the bytes; false at the end. */
bool sp_unicode__next(sp_unicode_reader *reader, int32_t *character, bool *is_error);

/*
 * The same after the policy: characters that are left out are skipped.  *offset
 * is where the character's bytes begin.  SP_INVALID for an error that is not to be.
 */
SP_MUST_CHECK sp_status sp_unicode__next_by(sp_unicode_reader *reader,
					    const sp_unicode_policy *policy, const sp_call *call,
					    bool *more, int32_t *character, size_t *offset);

/* Bytes of a character in UTF-8, UTF-16-BE or UTF-32-BE, at most 4; out may be NULL. */
size_t sp_unicode__put(sp_encoding encoding, int32_t character, char *out);

/* Whether it is a character of its own: no surrogate, no noncharacter, not too large. */
bool sp_unicode__is_character(int32_t value);

#endif
