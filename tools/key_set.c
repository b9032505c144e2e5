#include "tools/key_set.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { LEAST_SLOTS = 1024 };

/* A pass handles slots / 3 keys on average, so the slots cannot run out. */
bool sp_key_set_init(sp_key_set *set, size_t keys, size_t cap_bytes)
{
	size_t slots = LEAST_SLOTS;

	while (slots / 3 < keys && 2 * slots * sizeof(int64_t) <= cap_bytes)
		slots *= 2;
	*set = (sp_key_set){.passes = keys / (slots / 3) + 1, .mask = slots - 1};
	set->slots = sp_alloc_zero(slots, sizeof(*set->slots));
	return set->slots != NULL;
}

void sp_key_set_fini(sp_key_set *set)
{
	sp_free(set->slots);
	*set = (sp_key_set){0};
}

void sp_key_set_start(sp_key_set *set, size_t pass)
{
	set->pass = pass;
	memset(set->slots, 0xff, (set->mask + 1) * sizeof(*set->slots));
}

bool sp_key_set_add(sp_key_set *set, int64_t key)
{
	uint64_t hash = sp_siphash13(sp_hash_process_key(), &key, sizeof(key));

	if ((hash >> 32) % set->passes != set->pass)
		return false;
	for (size_t at = hash & set->mask, tries = 0; tries <= set->mask; tries++) {
		int64_t *slot = &set->slots[(at + tries) & set->mask];

		if (*slot == key)
			return true;
		if (*slot == -1) {
			*slot = key;
			return false;
		}
	}
	return false;
}
