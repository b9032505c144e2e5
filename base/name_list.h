#ifndef SP_BASE_NAME_LIST_H
#define SP_BASE_NAME_LIST_H

#include <stddef.h>

/*
 * A list of names for an error text, "'x', 'y'"; truncated with "..." if it is too long for a line.
 *
 *     sp_name_list list = {0};
 *
 *     sp_name_list_add(&list, "x");
 */
typedef struct sp_name_list {
	char text[512];
	size_t used; /* length without truncation */
} sp_name_list;

void sp_name_list_add(sp_name_list *list, const char *name);

/* "none" if there are no names.  The text is in `list`, which must not be changed afterwards. */
const char *sp_name_list_text(sp_name_list *list);

#endif
