#ifndef SP_MODEL_LOADER_PROTO_SORTED_NAMES_H
#define SP_MODEL_LOADER_PROTO_SORTED_NAMES_H

#include <stddef.h>

/*
 * Sorts an array of structs of `size` bytes whose first member is `const char *name` by name.
 * Returns a name that occurs twice, or NULL.
 */
const char *sp_sorted_names_make(void *items, size_t count, size_t size);

/* The struct of that name in a sorted array; NULL: none. */
void *sp_sorted_names_find(const void *items, size_t count, size_t size, const char *name);

#endif
