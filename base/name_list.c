#include "base/name_list.h"

#include <stdio.h>
#include <string.h>

static const char cut[] = " ...";

void sp_name_list_add(sp_name_list *list, const char *name)
{
	if (list->used < sizeof(list->text))
		list->used += (size_t)snprintf(list->text + list->used,
					       sizeof(list->text) - list->used, "%s'%s'",
					       list->used == 0 ? "" : ", ", name);
}

const char *sp_name_list_text(sp_name_list *list)
{
	if (list->used == 0)
		return "none";
	if (list->used >= sizeof(list->text))
		memcpy(list->text + sizeof(list->text) - sizeof(cut), cut, sizeof(cut));
	return list->text;
}
