#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/kernels/regex.h"
#include "tests/support/fuzz.h"

static void *take(void *arena, size_t count, size_t size)
{
	return sp_arena_array(arena, count, size);
}

/* Up to the first NUL a pattern, behind it the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_arena *arena = sp_arena_create(1 << 14);
	sp_regex_memory memory = {take, arena};
	size_t pattern_size = strnlen((const char *)data, size);
	sp_bytes pattern = {(const char *)data, pattern_size};
	sp_bytes text = {pattern.data + pattern_size, size - pattern_size};
	sp_bytes groups[3];
	sp_regex *regex;
	void *scratch;

	if (arena != NULL && sp_regex_compile(&regex, &memory, pattern, NULL) == SP_OK) {
		/* An exact block, so that a memory checker sees its ends. */
		scratch = malloc(sp_regex_scratch_size(regex, 3));
		if (scratch == NULL)
			abort();
		if (sp_regex_match(regex, text, 0, SP_REGEX_SEARCH, groups, 3, scratch) &&
		    text.size != 0 &&
		    (groups[0].data < text.data ||
		     groups[0].data + groups[0].size > text.data + text.size))
			abort();
		free(scratch);
	}
	sp_arena_destroy(arena);
	return 0;
}
