#ifndef SP_ENGINE_OPS_UNICODE_CASE_H
#define SP_ENGINE_OPS_UNICODE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Language-independent upper and lower case of characters.
 *
 * Source: full case mappings of the Unicode Character Database (UnicodeData.txt,
 * SpecialCasing.txt), as TensorFlow 2.15 applies them (scripts/make_unicode_case.py).
 *
 * Threads: pure.
 */
enum { SP_UNICODE_MOST_CASED = 3 };

/*
 * Writes the characters that a character maps to; returns how many, at least 1.  A sigma is mapped
 * as if it were not at the end of a word.
 */
size_t sp_unicode__lower(int32_t character, int32_t out[SP_UNICODE_MOST_CASED]);
size_t sp_unicode__upper(int32_t character, int32_t out[SP_UNICODE_MOST_CASED]);

enum { SP_UNICODE_SIGMA = 0x3a3, SP_UNICODE_FINAL_SIGMA = 0x3c2 };

/*
 * How a character affects a sigma beside it: a sigma is final when a cased character precedes it
 * and none follows.
 */
typedef enum sp_unicode_case_class {
	SP_UNICODE_CASELESS,
	SP_UNICODE_CASED,
	SP_UNICODE_IGNORED, /* case-ignorable: skipped */
} sp_unicode_case_class;

sp_unicode_case_class sp_unicode__case_class(int32_t character);

#endif
