#ifndef SP_BASE_BUDGET_H
#define SP_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bound on the memory that many blocks take together.  Whoever makes a block
 * larger asks first, and says so when it is freed.
 *
 * Blocks of up to SP_BUDGET_TINY bytes are free: who has them bounds their number.
 * An eighth of the budget is kept for blocks of up to SP_BUDGET_SMALL bytes, so
 * that large ones never take everything.
 *
 * NULL is a budget without a bound.
 *
 * Threads: thread-safe; a change is one atomic step.
 */
enum { SP_BUDGET_TINY = 4 << 10, SP_BUDGET_SMALL = 64 << 10 };

typedef struct sp_budget {
	size_t limit;
	atomic_size_t used;
	atomic_uint_least64_t refused; /* how often the answer was no */
	atomic_uint_least64_t freed;   /* bytes of blocks that were larger than small */
} sp_budget;

void sp_budget_init(sp_budget *budget, size_t limit);

/*
 * A block of `from` bytes is to have at least `least` bytes and, when there is
 * room, `most`.  Returns which of the two it may have; 0: neither.
 */
size_t sp_budget_grow(sp_budget *budget, size_t from, size_t least, size_t most);

/* A block of `from` bytes has only `to` any more; 0: it is freed. */
void sp_budget_shrink(sp_budget *budget, size_t from, size_t to);

/* Whether a block of that size could be had if there were no other. */
bool sp_budget_allows(const sp_budget *budget, size_t size);

/* Memory should not be kept for later: more than a quarter of the budget is used. */
bool sp_budget_is_scarce(const sp_budget *budget);

size_t sp_budget_used(const sp_budget *budget);

#endif
