#include "engine/ops/array/box.h"

#include <stdlib.h>
#include <string.h>

/*
 * The box is first made simple: dimensions of 1 go away, neighbours that one
 * stride covers on both sides become one, and a last dimension that lies
 * together on both sides becomes part of the element.  What is left of a slice
 * of rows is then one line of memcpy()s, of a concat two nested loops, and of
 * a transpose really a transpose.
 */
static size_t simplify(sp_box *box, size_t size)
{
	int n = 0;

	for (int i = 0; i < box->rank; i++) {
		if (box->dims[i] == 1)
			continue;
		if (n > 0 && box->to[n - 1] == box->to[i] * box->dims[i] &&
		    box->from[n - 1] == box->from[i] * box->dims[i]) {
			n--;
			box->dims[n] *= box->dims[i];
		} else {
			box->dims[n] = box->dims[i];
		}
		box->to[n] = box->to[i];
		box->from[n] = box->from[i];
		n++;
	}
	if (n > 0 && box->to[n - 1] == (int64_t)size && box->from[n - 1] == (int64_t)size)
		size *= (size_t)box->dims[--n];
	box->rank = n;
	return size;
}

/* Copies of a size the compiler knows become single moves. */
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
 * The last two dimensions.  Where the source runs along the other of the two,
 * squares of 16 by 16 elements keep both sides' cache lines in use.
 */
static void copy_plane(const sp_box *box, char *to, const char *from, size_t size)
{
	enum { TILE = 16 };
	int y = box->rank - 2, x = box->rank - 1;
	int64_t rows = box->dims[y], columns = box->dims[x];
	int64_t width = columns;

	if (size <= 16 && llabs(box->from[y]) < llabs(box->from[x]) && columns > TILE)
		width = TILE;
	for (int64_t first = 0; first < columns; first += width) {
		int64_t n = columns - first < width ? columns - first : width;

		for (int64_t i = 0; i < rows; i++)
			copy_line(to + i * box->to[y] + first * box->to[x], box->to[x],
				  from + i * box->from[y] + first * box->from[x], box->from[x], n,
				  size);
	}
}

static void copy_simple(const sp_box *box, char *to, const char *from, size_t size)
{
	int64_t index[SP_BOX_MAX_RANK] = {0};
	int outer = box->rank - 2;

	if (box->rank == 0) {
		memcpy(to, from, size);
		return;
	}
	if (box->rank == 1) {
		copy_line(to, box->to[0], from, box->from[0], box->dims[0], size);
		return;
	}
	for (;;) {
		int d = outer - 1;

		copy_plane(box, to, from, size);
		while (d >= 0 && ++index[d] == box->dims[d]) {
			to -= (box->dims[d] - 1) * box->to[d];
			from -= (box->dims[d] - 1) * box->from[d];
			index[d--] = 0;
		}
		if (d < 0)
			return;
		to += box->to[d];
		from += box->from[d];
	}
}

void sp_box__copy(const sp_box *box, void *to, const void *from, size_t size)
{
	sp_box simple = *box;

	for (int i = 0; i < box->rank; i++)
		if (box->dims[i] == 0)
			return;
	size = simplify(&simple, size);
	copy_simple(&simple, to, from, size);
}

void sp_box__strides(const sp_shape *shape, size_t size, int64_t strides[SP_MAX_RANK])
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
