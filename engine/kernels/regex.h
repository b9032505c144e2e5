#ifndef SP_ENGINE_KERNELS_REGEX_H
#define SP_ENGINE_KERNELS_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * Regular expressions as TensorFlow's operators have them: RE2's syntax and
 * its leftmost, first-alternative matches, over UTF-8, in time linear in the
 * text.  A byte that is not UTF-8 matches nothing but \C.
 *
 * Not there, and refused by name: characters outside ASCII under (?i), patterns
 * that grow beyond SP_REGEX_MAX_PROGRAM steps or SP_REGEX_MAX_RANGES ranges of
 * Unicode classes (\pL has 650).
 *
 * Threads: immutable once compiled; every match brings its own scratch.
 * Source: the syntax page of RE2; R. Cox, "Regular Expression Matching: the
 * Virtual Machine Approach", 2009.
 */
typedef struct sp_regex sp_regex;

#define SP_REGEX_MAX_PROGRAM 8192
#define SP_REGEX_MAX_RANGES  65536
#define SP_REGEX_MAX_DEPTH   200

/* Where a compiled pattern lies; it is never given back singly. */
typedef struct sp_regex_memory {
	void *(*take)(void *context, size_t count, size_t size); /* NULL: no memory */
	void *context;
} sp_regex_memory;

/* SP_INVALID when the pattern is none, SP_UNSUPPORTED when it is beyond us. */
SP_MUST_CHECK sp_status sp_regex_compile(sp_regex **out, const sp_regex_memory *memory,
					 sp_bytes pattern, sp_error *err);

/* The groups of the pattern, not counting the whole match. */
size_t sp_regex_group_count(const sp_regex *regex);

/* Bytes of scratch for a match that reports `group_count` groups, the whole match among them. */
size_t sp_regex_scratch_size(const sp_regex *regex, size_t group_count);

typedef enum sp_regex_manner {
	SP_REGEX_SEARCH, /* the leftmost match at or behind `start` */
	SP_REGEX_FULL,   /* from `start` to the end of the text, or none */
} sp_regex_manner;

/*
 * groups  [group_count]  set on success: the whole match and what its groups
 *                        matched, as views of the text; {NULL, 0} for a group
 *                        that took no part
 */
bool sp_regex_match(const sp_regex *regex, sp_bytes text, size_t start, sp_regex_manner manner,
		    sp_bytes *groups, size_t group_count, void *scratch);

/*
 * The bytes of the character at `at`, which lies within the text; 0 when there
 * is none.  As for RE2, a surrogate is one, an overlong form is not.
 */
size_t sp_regex_character(sp_bytes text, size_t at, uint32_t *out);

#endif
