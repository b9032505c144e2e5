#ifndef SP_ENGINE_OPS_INDEX_SORT_H
#define SP_ENGINE_OPS_INDEX_SORT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Sorts a list of numbers by what `before` says of two of them, and leaves those that are equal
 * where TensorFlow's std::sort() leaves them: up to sixteen in the order they stand in, more in
 * that of its quicksort, which answers show where an index comes several times.
 *
 * Introsort (D. Musser, "Introspective Sorting and Selection Algorithms", 1997) as libstdc++ has
 * it: the median of the second, the middle and the last divides what is longer than sixteen, a heap
 * sorts what has been divided 2 log2(count) times, and insertions finish.  O(count log count).
 */
typedef bool sp_index_before_fn(const void *context, size_t a, size_t b);

void sp_index_sort(size_t *list, size_t count, sp_index_before_fn *before, const void *context);

#endif
