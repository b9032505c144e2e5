#include "base/budget.h"

void sp_budget_init(sp_budget *budget, size_t limit)
{
	budget->limit = limit;
	atomic_init(&budget->used, 0);
	atomic_init(&budget->refused, 0);
	atomic_init(&budget->freed, 0);
}

static size_t cost(size_t size)
{
	return size <= SP_BUDGET_TINY ? 0 : size;
}

/* What is reserved for smaller blocks must stay free. */
static size_t limit_for(const sp_budget *budget, size_t size)
{
	size_t reserved = size <= SP_BUDGET_SMALL   ? 0
			  : size <= SP_BUDGET_LARGE ? budget->limit / 8
						    : budget->limit / 2;

	return budget->limit - reserved;
}

/* Whether a block may grow from one size to another while `used` bytes are in use. */
static bool fits(const sp_budget *budget, size_t used, size_t from, size_t to)
{
	size_t more = cost(to) - cost(from), limit = limit_for(budget, to);

	return more == 0 || (used <= limit && more <= limit - used);
}

size_t sp_budget_grow(sp_budget *budget, size_t from, size_t least, size_t most)
{
	size_t used, granted;

	if (budget == NULL)
		return most;
	used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	do {
		granted = fits(budget, used, from, most)    ? most
			  : fits(budget, used, from, least) ? least
							    : 0;
		if (granted == 0) {
			atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
			return 0;
		}
		if (cost(granted) == cost(from))
			return granted;
	} while (!atomic_compare_exchange_weak_explicit(
		&budget->used, &used, used + cost(granted) - cost(from), memory_order_relaxed,
		memory_order_relaxed));
	return granted;
}

void sp_budget_shrink(sp_budget *budget, size_t from, size_t to)
{
	if (budget == NULL || cost(from) == cost(to))
		return;
	atomic_fetch_sub_explicit(&budget->used, cost(from) - cost(to), memory_order_relaxed);
	if (from > SP_BUDGET_SMALL)
		atomic_fetch_add_explicit(&budget->freed, from - to, memory_order_relaxed);
}

bool sp_budget_allows(const sp_budget *budget, size_t size)
{
	return budget == NULL || fits(budget, 0, 0, size);
}

bool sp_budget_is_scarce(const sp_budget *budget)
{
	return budget != NULL && sp_budget_used(budget) > budget->limit / 4;
}

size_t sp_budget_used(const sp_budget *budget)
{
	return atomic_load_explicit(&budget->used, memory_order_relaxed);
}
