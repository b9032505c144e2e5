#ifndef SP_BASE_BUDGET_H
#define SP_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bound on the total memory of many blocks.  The owner of a block calls sp_budget_grow() before
 * it enlarges the block, and sp_budget_shrink() after the block has shrunk or been freed.
 *
 * Blocks of up to SP_BUDGET_TINY bytes are not counted: something else must bound their number.  So
 * that large blocks cannot take all of it, an eighth of the budget is reserved for blocks of up to
 * SP_BUDGET_SMALL bytes, and half of it for those of up to SP_BUDGET_LARGE.
 *
 * NULL is a budget without a bound.
 *
 * Threads: thread-safe, without locks.
 */
enum { SP_BUDGET_TINY = 4 << 10, SP_BUDGET_SMALL = 64 << 10, SP_BUDGET_LARGE = 16 << 20 };

typedef struct sp_budget {
	size_t limit;
	atomic_size_t used;
	atomic_uint_least64_t refused; /* requests for memory that were refused */
	atomic_uint_least64_t freed;   /* bytes freed of blocks above SP_BUDGET_SMALL */
} sp_budget;

void sp_budget_init(sp_budget *budget, size_t limit);

/*
 * Accounts for a block of `from` bytes that grows to `most` bytes or, if that exceeds the budget,
 * to `least`.  Returns the new size; 0 if neither fits.
 */
size_t sp_budget_grow(sp_budget *budget, size_t from, size_t least, size_t most);

/* Accounts for a block of `from` bytes that has shrunk to `to`; 0: it was freed. */
void sp_budget_shrink(sp_budget *budget, size_t from, size_t to);

/* Whether a block of that size would fit into the empty budget. */
bool sp_budget_allows(const sp_budget *budget, size_t size);

/* Whether more than a quarter is used: owners should then not keep memory for later. */
bool sp_budget_is_scarce(const sp_budget *budget);

size_t sp_budget_used(const sp_budget *budget);

#endif
