#ifndef SP_BASE_BUDGET_H
#define SP_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bound on the memory of many blocks together.  The owner of a block asks the budget before
 * it enlarges the block and tells it when the block shrinks or is freed.
 *
 * Blocks of up to SP_BUDGET_TINY bytes are not counted: something else must bound their
 * number.  An eighth of the budget is reserved for blocks of up to SP_BUDGET_SMALL bytes, so
 * that large ones cannot take all of it.
 *
 * NULL is a budget without a bound.
 *
 * Threads: thread-safe, without locks.
 */
enum { SP_BUDGET_TINY = 4 << 10, SP_BUDGET_SMALL = 64 << 10 };

typedef struct sp_budget {
	size_t limit;
	atomic_size_t used;
	atomic_uint_least64_t refused; /* requests for memory that were refused */
	atomic_uint_least64_t freed;   /* bytes freed of blocks above SP_BUDGET_SMALL */
} sp_budget;

void sp_budget_init(sp_budget *budget, size_t limit);

/*
 * Enlarges a block of `from` bytes to `most` bytes or, if there is no room for that, to
 * `least`.  Returns which of the two; 0: neither.
 */
size_t sp_budget_grow(sp_budget *budget, size_t from, size_t least, size_t most);

/* A block of `from` bytes has shrunk to `to`; 0: it is freed. */
void sp_budget_shrink(sp_budget *budget, size_t from, size_t to);

/* Whether a block of that size would fit into the empty budget. */
bool sp_budget_allows(const sp_budget *budget, size_t size);

/* More than a quarter is used: owners should not keep memory for later. */
bool sp_budget_is_scarce(const sp_budget *budget);

size_t sp_budget_used(const sp_budget *budget);

#endif
