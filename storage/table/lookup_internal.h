#ifndef SP_STORAGE_TABLE_LOOKUP_INTERNAL_H
#define SP_STORAGE_TABLE_LOOKUP_INTERNAL_H

#include "base/cpu.h"
#include "storage/table/table_internal.h"

/* Keys of one lookup that no layer in memory holds, for its slower tier. */
typedef struct sp_misses {
	int64_t *keys;  /* NULL: there is no slower tier, and an absent key is answered at once */
	float **places; /* where their rows go */
	size_t *at;     /* their numbers in the lookup */
	size_t count;
} sp_misses;

/*
 * Answers what memory holds; collects the rest in misses [count], which may be
 * NULL.  A lookup with misses has no pooling; `lanes` are for others that have.
 * Segments are checked.
 */
void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses,
			      float *lanes);

/*
 * Whether the lookup is large and simple enough for this; and all of it at once.
 * `alone`: no other could be answered while its memory is on the way.
 */
bool sp_lookup__is_plain(const sp_lookup *lookup, bool alone);
void sp_lookup__run_plain(const sp_lookup *lookup, float *lanes);

/* Its two ways: the first leaves the pooling out, the second takes rows that are short enough. */
void sp_lookup__gather_plain(const sp_lookup *lookup);
void sp_lookup__pool_plain(const sp_lookup *lookup, float *lanes);
bool sp_lookup__pools_plain(const sp_lookup *lookup);

/*
 * Whether memory is to be asked for in bursts, with nothing between: where a
 * prefetch is not done with until its page is translated, what follows fills the
 * processor's window, and one translation comes after another instead of several
 * side by side.  So it is on AMD's that end at AVX2.  Intel's with AVX-512 would
 * rather have a burst wait, for the few lines that can be on their way at once.
 */
static inline bool sp_lookup__in_bursts(void)
{
	return sp_cpu_isa() == SP_ISA_AVX2;
}

/*
 * The sum that a row of the answer has so far; all zeros before the first key.  What is to be
 * summed by itself first stands in `lanes` meanwhile.
 */
typedef struct sp_row_pool {
	float *lanes; /* sp_row_pool__lanes() of them */
	size_t segment;
	size_t count; /* its rows, and how many of them are added */
	size_t added;
	float divisor;
	bool open;
} sp_row_pool;

/* How many floats `lanes` must be for all of the lookups; SIZE_MAX when too many to count. */
size_t sp_row_pool__lanes(const sp_lookup *lookups, size_t count);

/* Whether the row of a key is the answer of its segment, as with features of one value. */
static inline bool sp_row_pool__is_alone(const sp_pooling *pooling, size_t key, size_t count)
{
	const int64_t *segments = pooling->segments;

	return pooling->weights == NULL && (key == 0 || segments[key - 1] != segments[key]) &&
	       (key + 1 == count || segments[key + 1] != segments[key]);
}

/* Zeros for all rows of the answer, where keys are missing. */
void sp_row_pool__clear(const sp_lookup *lookup);

/* Adds one stored row as key `key` of the lookup; and after the last one. */
void sp_row_pool__add(const sp_lookup *lookup, sp_row_pool *p, size_t key, sp_stored_row row);
void sp_row_pool__close(const sp_lookup *lookup, sp_row_pool *p);

/* All of it, when the rows are at hand: elements [count, dim]. */
void sp_lookup__pool(const sp_lookup *lookup, const float *elements, float *lanes);

/* Asks the guards of the memory that the lookups read, before; and tells them, after. */
SP_MUST_CHECK sp_status sp_lookup__prepare(const sp_lookup *lookups, size_t count,
					   int64_t deadline_ns, sp_error *err);
SP_MUST_CHECK sp_status sp_lookup__confirm(const sp_lookup *lookups, size_t count, sp_error *err);

/* All of it, where some table has a slower tier. */
SP_MUST_CHECK sp_status sp_lookup__run_with_tiers(const sp_lookup *lookups, size_t count,
						  void *scratch, int64_t deadline_ns,
						  sp_error *err);

#endif
