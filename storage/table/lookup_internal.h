#ifndef SP_STORAGE_TABLE_LOOKUP_INTERNAL_H
#define SP_STORAGE_TABLE_LOOKUP_INTERNAL_H

#include "base/cpu.h"
#include "storage/table/table_internal.h"

/*
 * The parts of a lookup, each of which calls those above it only:
 *
 *   lookup_pool.c      sums of rows by segment
 *   lookup_plain.c     the most frequent kind of lookup, as one tight loop
 *   lookup_pipeline.c  any lookups in tables in memory
 *   lookup_tiers.c     lookups of which some have a slower tier
 *   lookup.c           checks, and chooses between the last two
 */

/* ---- lookup_pool.c ---- */

/* Zeros for all output rows of a pooled lookup. */
void sp_lookup__clear_pools(const sp_lookup *lookup);

/*
 * Adds rows [count], which lie `row_size` bytes apart from `rows` on, as those of the keys from
 * `first` on: an output row is complete after the last key of its segment.  Calls follow
 * the order of the keys; *divisor is kept between them.
 */
void sp_lookup__pool_rows(const sp_lookup *lookup, size_t first, size_t count, sp_stored_row rows,
			  size_t row_size, float *divisor);

/* ---- lookup_plain.c ---- */

/* Whether it is large and simple enough; `alone`: no other lookup could use the time in which its
 * memory is on the way. */
bool sp_lookup__is_plain(const sp_lookup *lookup, bool alone);
void sp_lookup__run_plain(const sp_lookup *lookup);

/*
 * Whether to ask for memory in bursts, with no other work between: where a
 * prefetch is not done with until its page is translated, what follows fills the
 * processor's window, and one translation comes after another instead of several
 * side by side.  So it is on AMD's that end at AVX2.  Intel's with AVX-512 would
 * rather have a burst wait, for the few lines that can be on their way at once.
 */
static inline bool sp_lookup__in_bursts(void)
{
	return sp_cpu_isa() == SP_ISA_AVX2;
}

/* ---- lookup_pipeline.c ---- */

/* Keys of one lookup that no layer in memory holds, for its slower tier. */
typedef struct sp_misses {
	int64_t *keys;  /* NULL: there is no slower tier, and an absent key is answered at once */
	float **places; /* where their rows go */
	size_t *at;     /* their numbers in the lookup */
	size_t count;
} sp_misses;

/*
 * Answers what memory holds and collects the other keys in misses [count]; NULL: no table has a
 * slower tier.  A lookup with misses has no pooling.  Segments are checked.
 */
void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses);

/* ---- lookup_tiers.c ---- */

/* Lookups of which some table has a slower tier; scratch is that of sp_lookup_scratch(). */
SP_MUST_CHECK sp_status sp_lookup__run_with_tiers(const sp_lookup *lookups, size_t count,
						  void *scratch, int64_t deadline_ns,
						  sp_error *err);

#endif
