#ifndef SP_TOOLS_KEY_SET_H
#define SP_TOOLS_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set that finds repeated keys in bounded memory: the caller goes through all keys in
 * several passes, and each pass handles the keys whose hash selects it.
 *
 *     for (pass = 0; pass < set.passes; pass++) {
 *             sp_key_set_start(&set, pass);
 *             for each key
 *                     if (sp_key_set_add(&set, key))
 *                             ... the key is repeated
 *     }
 *
 * Threads: one thread at a time.
 */
typedef struct sp_key_set {
	size_t passes;
	size_t pass;
	int64_t *slots; /* INT64_C(-1): empty */
	size_t mask;    /* slots - 1 */
} sp_key_set;

/* Room for `keys` keys in at most `cap_bytes`; false when out of memory. */
bool sp_key_set_init(sp_key_set *set, size_t keys, size_t cap_bytes);
void sp_key_set_fini(sp_key_set *set);

void sp_key_set_start(sp_key_set *set, size_t pass);

/* Whether `key`, which must not be -1, belongs to this pass and was added before. */
bool sp_key_set_add(sp_key_set *set, int64_t key);

#endif
