#include "engine/ops/array/strided_copy.h"

#include <stdlib.h>
#include <string.h>

/*
 * Simplifies the plan: removes dimensions of 1, merges neighbouring dimensions that one stride
 * covers on both sides, and makes a last dimension that is contiguous on both sides part of the
 * element. A slice of rows then is one line of memcpy()s, a concat two nested loops, and only a
 * real transpose is copied as one.
 */
static size_t simplify(sp_strided_copy *plan, size_t size)
{
	int n = 0;

	for (int i = 0; i < plan->rank; i++) {
		if (plan->dims[i] == 1)
			continue;
		if (n > 0 && plan->to[n - 1] == plan->to[i] * plan->dims[i] &&
		    plan->from[n - 1] == plan->from[i] * plan->dims[i]) {
			n--;
			plan->dims[n] *= plan->dims[i];
		} else {
			plan->dims[n] = plan->dims[i];
		}
		plan->to[n] = plan->to[i];
		plan->from[n] = plan->from[i];
		n++;
	}
	if (n > 0 && plan->to[n - 1] == (int64_t)size && plan->from[n - 1] == (int64_t)size)
		size *= (size_t)plan->dims[--n];
	plan->rank = n;
	return size;
}

/* Copies of a constant size become single moves. */
#define LINE(size)                      \
	for (int64_t i = 0; i < n; i++) \
	memcpy(to + i * to_stride, from + i * from_stride, size)

static void copy_line(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
		      size_t size)
{
	switch (size) {
	case 1:
		LINE(1);
		break;
	case 2:
		LINE(2);
		break;
	case 4:
		LINE(4);
		break;
	case 8:
		LINE(8);
		break;
	case 16:
		LINE(16);
		break;
	default:
		LINE(size);
		break;
	}
}

/*
 * Copies the last two dimensions.  If the source has the smaller stride along the other one of the
 * two, 16 columns are copied at a time, so that the cache lines of both sides stay in use.
 */
static void copy_plane(const sp_strided_copy *plan, char *to, const char *from, size_t size)
{
	enum { TILE = 16 };
	int y = plan->rank - 2, x = plan->rank - 1;
	int64_t rows = plan->dims[y], columns = plan->dims[x];
	int64_t width = columns;

	if (size <= 16 && llabs(plan->from[y]) < llabs(plan->from[x]) && columns > TILE)
		width = TILE;
	for (int64_t first = 0; first < columns; first += width) {
		int64_t n = columns - first < width ? columns - first : width;

		for (int64_t i = 0; i < rows; i++)
			copy_line(to + i * plan->to[y] + first * plan->to[x], plan->to[x],
				  from + i * plan->from[y] + first * plan->from[x], plan->from[x],
				  n, size);
	}
}

static void copy_simple(const sp_strided_copy *plan, char *to, const char *from, size_t size)
{
	int64_t index[SP_STRIDED_COPY_MAX_RANK] = {0};
	int outer = plan->rank - 2;

	if (plan->rank == 0) {
		memcpy(to, from, size);
		return;
	}
	if (plan->rank == 1) {
		copy_line(to, plan->to[0], from, plan->from[0], plan->dims[0], size);
		return;
	}
	for (;;) {
		int d = outer - 1;

		copy_plane(plan, to, from, size);
		while (d >= 0 && ++index[d] == plan->dims[d]) {
			to -= (plan->dims[d] - 1) * plan->to[d];
			from -= (plan->dims[d] - 1) * plan->from[d];
			index[d--] = 0;
		}
		if (d < 0)
			return;
		to += plan->to[d];
		from += plan->from[d];
	}
}

void sp_strided_copy__run(const sp_strided_copy *plan, void *to, const void *from, size_t size)
{
	sp_strided_copy simple = *plan;

	for (int i = 0; i < plan->rank; i++)
		if (plan->dims[i] == 0)
			return;
	size = simplify(&simple, size);
	copy_simple(&simple, to, from, size);
}

void sp_strided_copy__strides(const sp_shape *shape, size_t size, int64_t strides[SP_MAX_RANK])
{
	bool empty = false;
	int64_t stride = (int64_t)size;

	for (int i = 0; i < shape->rank; i++)
		empty |= shape->dims[i] == 0;
	for (int i = shape->rank - 1; i >= 0; i--) {
		strides[i] = empty ? 0 : stride;
		stride = empty ? 0 : stride * shape->dims[i];
	}
}
