#include "base/cpu_list.h"

#include <stddef.h>

static bool read_number(size_t *out, sp_bytes *text)
{
	size_t digits = 0;

	while (text->size != 0 && *text->data == ' ') {
		text->data++;
		text->size--;
	}
	for (*out = 0; digits < text->size; digits++) {
		char c = text->data[digits];

		if (c < '0' || c > '9')
			break;
		*out = *out * 10 + (size_t)(c - '0');
		if (*out >= CPU_SETSIZE)
			return false;
	}
	text->data += digits;
	text->size -= digits;
	return digits != 0;
}

static bool skip(sp_bytes *text, char c)
{
	if (text->size == 0 || *text->data != c)
		return false;
	text->data++;
	text->size--;
	return true;
}

bool sp_cpu_list_read(cpu_set_t *out, sp_bytes text)
{
	size_t first, last;

	CPU_ZERO(out);
	do {
		if (!read_number(&first, &text))
			return false;
		last = first;
		if (skip(&text, '-') && (!read_number(&last, &text) || first > last))
			return false;
		for (size_t cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, out);
	} while (skip(&text, ','));
	return text.size == 0;
}

void sp_cpu_list_allowed(cpu_set_t *out)
{
	CPU_ZERO(out);
	if (sched_getaffinity(0, sizeof(*out), out) != 0)
		CPU_ZERO(out);
}
