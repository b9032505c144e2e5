#ifndef SP_STORAGE_LOOKUP_INTERNAL_H
#define SP_STORAGE_LOOKUP_INTERNAL_H

#include "storage/table_internal.h"

/* Keys of one lookup that no layer in memory holds, for its slower tier. */
typedef struct sp_misses {
	int64_t *keys;  /* NULL: there is no slower tier, and an absent key is answered at once */
	float **places; /* where their rows go */
	size_t *at;     /* their numbers in the lookup */
	size_t count;
} sp_misses;

/*
 * Answers what memory holds; collects the rest in misses [count], which may be
 * NULL.  A lookup with misses has no pooling.  Segments are checked.
 */
void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses);

/*
 * Whether the lookup is large and simple enough for this; and all of it at once.
 * `alone`: no other could be answered while its memory is on the way.
 */
bool sp_lookup__is_plain(const sp_lookup *lookup, bool alone);
void sp_lookup__gather_plain(const sp_lookup *lookup);

/* The same rows for a lookup with pooling, when they are at hand: elements [count, dim]. */
void sp_lookup__pool(const sp_lookup *lookup, const float *elements);

/* Asks (before) or tells (after) the guards of the memory that the lookups read. */
SP_MUST_CHECK sp_status sp_lookup__guard(const sp_lookup *lookups, size_t count, bool before,
					 sp_error *err);

/* All of it, where some table has a slower tier. */
SP_MUST_CHECK sp_status sp_lookup__run_with_tiers(const sp_lookup *lookups, size_t count,
						  void *scratch, int64_t deadline_ns,
						  sp_error *err);

#endif
