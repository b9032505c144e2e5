#include "engine/graph/graph_def.h"

#include <string.h>

const sp_attr *sp_attr_find(const sp_attr *attrs, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(attrs[i].name, name) == 0)
			return &attrs[i];
	return NULL;
}
