#ifndef SP_ENGINE_OPS_UNICODE_H
#define SP_ENGINE_OPS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/op.h"

/*
 * UTF-8 text.
 *
 * Malformed text: each maximal subpart of a character is one error (Unicode 15, section 3.9).
 *
 * Threads: pure, except readers: one thread at a time.
 */

/* How errors are handled. */
typedef struct sp_unicode_policy {
	enum { SP_UNICODE_STRICT, SP_UNICODE_REPLACE, SP_UNICODE_IGNORE } errors;
	int32_t replacement;
	bool replace_controls; /* U+0000 ... U+001F count as errors; if strict, they are replaced */
} sp_unicode_policy;

/* Attribute `name` names an encoding; SP_UNSUPPORTED for any but UTF-8. */
SP_MUST_CHECK sp_status sp_unicode__check_encoding(const sp_prepare *prepare, const char *name,
						   sp_error *err);

/* Attributes "errors", "replacement_char" and "replace_control_characters". */
SP_MUST_CHECK sp_status sp_unicode__read_policy(const sp_prepare *prepare, sp_unicode_policy *out,
						sp_error *err);

/* A text that is being decoded. */
typedef struct sp_unicode_reader {
	const unsigned char *at, *end;
} sp_unicode_reader;

void sp_unicode__open(sp_unicode_reader *reader, sp_bytes text);

/* Reads the next character; U+FFFD and *is_error for malformed bytes; false at the end. */
bool sp_unicode__next(sp_unicode_reader *reader, int32_t *character, bool *is_error);

/*
 * Reads the next character after applying the policy; characters that it ignores are skipped.
 * SP_INVALID for an error that the policy does not allow.
 */
SP_MUST_CHECK sp_status sp_unicode__next_by(sp_unicode_reader *reader,
					    const sp_unicode_policy *policy, const sp_call *call,
					    bool *more, int32_t *character);

/* Writes a character (U+FFFD for a surrogate) unless `out` is NULL; returns its size, at most 4. */
size_t sp_unicode__put(int32_t character, char *out);

/* Whether the value is a Unicode scalar value and no noncharacter. */
bool sp_unicode__is_character(int32_t value);

#endif
