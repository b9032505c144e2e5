#ifndef SP_MODEL_LOADER_PROTO_SORTED_NAMES_H
#define SP_MODEL_LOADER_PROTO_SORTED_NAMES_H

#include <stddef.h>

/*
 * Arrays of structs of `size` bytes whose first member is `const char *name`.
 *
 * Sorts them by name; returns a name that two of them have, or NULL.
 */
const char *sp_sorted_names_make(void *items, size_t count, size_t size);

/* The struct of that name among sorted ones; NULL: there is none. */
void *sp_sorted_names_find(const void *items, size_t count, size_t size, const char *name);

#endif
