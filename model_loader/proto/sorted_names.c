#include "model_loader/proto/sorted_names.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *sp_sorted_names_make(void *items, size_t count, size_t size)
{
	const char *at = items;

	if (count > 1)
		qsort(items, count, size, by_name);
	for (size_t i = 1; i < count; i++, at += size)
		if (by_name(at, at + size) == 0)
			return *(const char *const *)at;
	return NULL;
}

void *sp_sorted_names_find(const void *items, size_t count, size_t size, const char *name)
{
	return count != 0 ? bsearch(&name, items, count, size, by_name) : NULL;
}
