#ifndef SP_STORAGE_TABLE_LOOKUP_INTERNAL_H
#define SP_STORAGE_TABLE_LOOKUP_INTERNAL_H

#include <sched.h>

#include "base/cpu.h"
#include "storage/table/table_internal.h"

/*
 * The parts of a lookup; each calls only those above it:
 *
 *   lookup_pool.c      sums of rows by segment
 *   lookup_plain.c     the most frequent kind of lookup, as one tight loop
 *   lookup_pipeline.c  any lookups in tables in memory
 *   lookup_tiers.c     several lookups, some with a slower tier
 *   lookup_fresh.c     several lookups, some of which see rows that arrive meanwhile
 *   lookup.c           checks, and chooses between the last two
 */

/* Which tally the lookups of a run are counted in. */
static inline size_t sp_lookup__tally(void)
{
	return (size_t)sched_getcpu() % SP_TABLE_TALLIES; /* also of -1: the system cannot say */
}

/* Counts the keys of a lookup: `in_memory` that no slower tier is asked for, `absent` of these. */
static inline void sp_lookup__count(const sp_lookup *lookup, size_t number, size_t in_memory,
				    size_t absent)
{
	sp_table_tally *tally = &lookup->table->rules->tallies[number];

	atomic_fetch_add_explicit(&tally->in_memory, in_memory, memory_order_relaxed);
	if (absent != 0)
		atomic_fetch_add_explicit(&tally->absent, absent, memory_order_relaxed);
}

/* ---- lookup_pool.c ---- */

/* Zeros for all output rows of a pooled lookup. */
void sp_lookup__clear_pools(const sp_lookup *lookup);

/*
 * Adds rows [count], `row_size` bytes apart, of the keys from `first` on.  An output row is
 * complete after the last key of its segment.  Calls must follow the order of the keys; *divisor is
 * kept between them.
 */
void sp_lookup__pool_rows(const sp_lookup *lookup, size_t first, size_t count, sp_stored_row rows,
			  size_t row_size, float *divisor);

/* ---- lookup_plain.c ---- */

/*
 * Whether the lookup is large and simple enough; `alone`: there are no other lookups to overlap
 * with its memory latency.
 */
bool sp_lookup__is_plain(const sp_lookup *lookup, bool alone);
size_t sp_lookup__run_plain(const sp_lookup *lookup); /* returns how many keys are held */

/*
 * Whether to issue the prefetches of a block together, with no other work between.
 *
 * Where a prefetch retires only after its address translation, the instructions after it fill the
 * reorder buffer, and translations are done one by one instead of in parallel: so on AMD processors
 * without AVX-512.  On Intel's with AVX-512 a burst would wait for the few line fill buffers.
 */
static inline bool sp_lookup__in_bursts(void)
{
	return sp_cpu_isa() == SP_ISA_AVX2;
}

/* ---- lookup_pipeline.c ---- */

/* Keys of one lookup that are not in memory, for its slower tier. */
typedef struct sp_misses {
	int64_t *keys;  /* NULL: there is no slower tier, and absent keys are answered at once */
	float **places; /* where their rows go */
	size_t *at;     /* their indices in the lookup */
	size_t count;
} sp_misses;

/*
 * Answers and counts the keys that are in memory, and collects the others in misses [count]; NULL:
 * no table has a slower tier.  A lookup with misses has no pooling.  Segments have been checked.
 */
void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses);

/* ---- lookup_tiers.c ---- */

/* Lookups in all layers; scratch as given by sp_lookup__layers_scratch(). */
size_t sp_lookup__layers_scratch(const sp_lookup *lookups, size_t count);
SP_MUST_CHECK sp_status sp_lookup__run_layers(const sp_lookup *lookups, size_t count, void *scratch,
					      int64_t deadline_ns, sp_error *err);

/* ---- lookup_fresh.c ---- */

/* The rows over those of the table that the lookup may see; NULL: none. */
static inline const sp_fresh_rows *sp_lookup__fresh(const sp_lookup *lookup)
{
	if (lookup->fresh == NULL)
		return NULL;
	return atomic_load_explicit(&lookup->table->rules->fresh, memory_order_acquire);
}

/* Lookups of which some may see such rows; scratch as given by sp_lookup_scratch(). */
SP_MUST_CHECK sp_status sp_lookup__run_with_fresh(const sp_lookup *lookups, size_t count,
						  void *scratch, int64_t deadline_ns,
						  sp_error *err);

#endif
