#include <stdlib.h>
#include <string.h>

#include "engine/kernels/regex.h"
#include "tests/support/fuzz.h"

/* Up to the first NUL a pattern, behind it the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t pattern_size = strnlen((const char *)data, size);
	sp_bytes pattern = {(const char *)data, pattern_size};
	sp_bytes text = {pattern.data + pattern_size, size - pattern_size};
	sp_bytes groups[3];
	sp_regex *regex;

	if (sp_regex_create(&regex, pattern, NULL) != SP_OK)
		return 0;
	if (sp_regex_search(regex, text, 0, groups, 3) == SP_OK && text.size != 0 &&
	    (groups[0].data < text.data || groups[0].data + groups[0].size > text.data + text.size))
		abort();
	sp_regex_destroy(regex);
	return 0;
}
