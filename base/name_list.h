#ifndef SP_BASE_NAME_LIST_H
#define SP_BASE_NAME_LIST_H

#include <stddef.h>

/*
 * What there is instead of what was asked for, as an error tells it: "'x', 'y'".  It is cut, and
 * says so by "...", where it gets too long for a line.
 *
 *     sp_name_list list = {0};
 *
 *     sp_name_list_add(&list, "x");
 */
typedef struct sp_name_list {
	char text[512];
	size_t used; /* what it would take; from sizeof(text) on it is cut */
} sp_name_list;

void sp_name_list_add(sp_name_list *list, const char *name);

/* "none" for none.  In `list`, which must not change after it. */
const char *sp_name_list_text(sp_name_list *list);

#endif
