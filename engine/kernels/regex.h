#ifndef SP_ENGINE_KERNELS_REGEX_H
#define SP_ENGINE_KERNELS_REGEX_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * Regular expressions by RE2, with the options that TensorFlow's operators use: UTF-8, leftmost
 * match, first alternative first.  A match takes time linear in the text.
 *
 * Limits: a pattern of more than SP_REGEX_MAX_PATTERN bytes, and one whose compiled form and cached
 * states would need more than SP_REGEX_MAX_MEMORY bytes, are SP_UNSUPPORTED.
 *
 * Memory: RE2 allocates from the C++ heap, which no arena or budget accounts for: in compilation,
 * in a match while the expression's cache of states grows, and in each match that reports groups.
 * So matching in a request may allocate.  A failed allocation gives SP_NO_MEMORY; no exception
 * leaves these functions.  RE2 writes no log.
 *
 * Threads: any number of threads may match by one expression at once; RE2 locks its cache.
 */
typedef struct sp_regex sp_regex;

#define SP_REGEX_MAX_PATTERN (256u << 10)
#define SP_REGEX_MAX_MEMORY  (8 << 20) /* RE2's default, as in TensorFlow */

enum { SP_REGEX_MAX_GROUPS = 10 }; /* reported per match: the whole match and \1 to \9 */

/* The caller owns *out.  SP_INVALID when the pattern is malformed. */
SP_MUST_CHECK sp_status sp_regex_create(sp_regex **out, sp_bytes pattern, sp_error *err);

/* NULL is allowed. */
void sp_regex_destroy(sp_regex *regex);

/* The number of groups in the pattern, without the whole match. */
size_t sp_regex_group_count(const sp_regex *regex);

/* Whether the expression matches the whole text: SP_OK, SP_NOT_FOUND or SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_regex_match_whole(const sp_regex *regex, sp_bytes text);

/*
 * The leftmost match that begins at or after byte `start` <= text.size: SP_OK, SP_NOT_FOUND or
 * SP_NO_MEMORY.
 *
 * groups  [group_count]  set on success: the whole match and what the first groups matched, as
 * views of the text; {NULL, 0} for a group that took no part or that the pattern does not have
 */
SP_MUST_CHECK sp_status sp_regex_search(const sp_regex *regex, sp_bytes text, size_t start,
					sp_bytes *groups, size_t group_count);

#endif
