#include "tests/support/json_space.h"

#include <stdbool.h>

void sp_json_remove_space(char *json)
{
	bool in_string = false;
	char *to = json;

	for (const char *from = json; *from != '\0'; from++) {
		if (!in_string && (*from == ' ' || *from == '\n'))
			continue;
		in_string ^= *from == '"';
		*to++ = *from;
		if (in_string && *from == '\\' && from[1] != '\0')
			*to++ = *++from;
	}
	*to = '\0';
}
