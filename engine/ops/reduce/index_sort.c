#include "engine/ops/reduce/index_sort.h"

#include <string.h>

enum { SHORT = 16 };

typedef struct sorting {
	sp_index_before_fn *before;
	const void *context;
} sorting;

static bool before(const sorting *s, size_t a, size_t b)
{
	return s->before(s->context, a, b);
}

static void swap(size_t *a, size_t *b)
{
	size_t was = *a;

	*a = *b;
	*b = was;
}

/* --------------------------------------------------------------------- heap */

/* `value` sinks from the hole to the end of the larger children, and rises from there. */
static void fill_hole(const sorting *s, size_t *heap, size_t hole, size_t count, size_t value)
{
	size_t top = hole, child = hole;

	while (child < (count - 1) / 2) {
		child = 2 * (child + 1);
		if (before(s, heap[child], heap[child - 1]))
			child--;
		heap[hole] = heap[child];
		hole = child;
	}
	if (count % 2 == 0 && child == (count - 2) / 2) {
		child = 2 * child + 1;
		heap[hole] = heap[child];
		hole = child;
	}
	for (size_t parent; hole > top; hole = parent) {
		parent = (hole - 1) / 2;
		if (!before(s, heap[parent], value))
			break;
		heap[hole] = heap[parent];
	}
	heap[hole] = value;
}

static void sort_by_heap(const sorting *s, size_t *list, size_t count)
{
	for (size_t parent = count / 2; parent-- > 0;)
		fill_hole(s, list, parent, count, list[parent]);
	for (size_t left = count; left-- > 1;) {
		size_t value = list[left];

		list[left] = list[0];
		fill_hole(s, list, 0, left, value);
	}
}

/* ---------------------------------------------------------------- quicksort */

static void median_to_first(const sorting *s, size_t *first, size_t *a, size_t *b, size_t *c)
{
	if (before(s, *a, *b))
		swap(first, before(s, *b, *c) ? b : before(s, *a, *c) ? c : a);
	else
		swap(first, before(s, *a, *c) ? a : before(s, *b, *c) ? c : b);
}

/* How many stand before the cut; what is on both its sides stops the search. */
static size_t divide(const sorting *s, size_t *list, size_t count)
{
	size_t from = 1, to = count;

	median_to_first(s, list, list + 1, list + count / 2, list + count - 1);
	for (;; from++) {
		while (before(s, list[from], list[0]))
			from++;
		to--;
		while (before(s, list[0], list[to]))
			to--;
		if (from >= to)
			return from;
		swap(&list[from], &list[to]);
	}
}

/* Until no part is longer than SHORT; `depth` divisions at most lie in each other. */
static void divide_all(const sorting *s, size_t *list, size_t count, int depth)
{
	while (count > SHORT) {
		size_t cut;

		if (depth-- == 0) {
			sort_by_heap(s, list, count);
			return;
		}
		cut = divide(s, list, count);
		divide_all(s, list + cut, count - cut, depth);
		count = cut;
	}
}

static void insert_all(const sorting *s, size_t *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		size_t value = list[i], to = i;

		while (to > 0 && before(s, value, list[to - 1]))
			to--;
		memmove(list + to + 1, list + to, (i - to) * sizeof(*list));
		list[to] = value;
	}
}

void sp_index_sort(size_t *list, size_t count, sp_index_before_fn *fn, const void *context)
{
	const sorting s = {fn, context};
	int depth = 0;

	for (size_t n = count; n > 1; n /= 2)
		depth += 2;
	divide_all(&s, list, count, depth);
	insert_all(&s, list, count);
}
