#include "model_loader/checkpoint/tensor_slice.h"

#include <string.h>

#include "base/size.h"

sp_tensor_slice sp_tensor_slice_all(const sp_shape *shape)
{
	sp_tensor_slice all = {.rank = shape->rank};

	for (int i = 0; i < shape->rank; i++)
		all.length[i] = shape->dims[i];
	return all;
}

bool sp_tensor_slice_resolve(sp_tensor_slice *slice, const sp_shape *shape)
{
	if (slice->rank != shape->rank)
		return false;
	for (int i = 0; i < slice->rank; i++) {
		int64_t start = slice->start[i], *length = &slice->length[i];

		if (*length == SP_SLICE_FULL && start == 0)
			*length = shape->dims[i];
		if (start < 0 || *length < 0 || start > shape->dims[i] ||
		    *length > shape->dims[i] - start)
			return false;
	}
	return true;
}

sp_shape sp_tensor_slice_shape(const sp_tensor_slice *slice)
{
	sp_shape shape = {.rank = slice->rank};

	memcpy(shape.dims, slice->length, sizeof(shape.dims));
	return shape;
}

/* Parses digits up to `end` or the end of the text, and moves *text past them. */
static bool parse_number(sp_bytes *text, int64_t *out)
{
	size_t n = 0;

	for (*out = 0; n < text->size && text->data[n] >= '0' && text->data[n] <= '9'; n++)
		if (!sp_i64_mul(out, *out, 10) || !sp_i64_add(out, *out, text->data[n] - '0'))
			return false;
	*text = (sp_bytes){text->data + n, text->size - n};
	return n != 0;
}

static bool skip(sp_bytes *text, char c)
{
	if (text->size == 0 || *text->data != c)
		return false;
	*text = (sp_bytes){text->data + 1, text->size - 1};
	return true;
}

/* Parses "start,length" or "-" for each dimension, separated by colons. */
static bool parse_extents(sp_tensor_slice *out, sp_bytes text)
{
	for (int i = 0; i < out->rank; i++) {
		if (i != 0 && !skip(&text, ':'))
			return false;
		if (skip(&text, '-')) {
			out->start[i] = 0;
			out->length[i] = SP_SLICE_FULL;
		} else if (!parse_number(&text, &out->start[i]) || !skip(&text, ',') ||
			   !parse_number(&text, &out->length[i]) || out->length[i] == 0) {
			return false;
		}
	}
	return text.size == 0;
}

/* Parses the dims, each followed by a space; the slice remains in *text. */
static bool parse_dims(sp_shape *out, sp_bytes *text, int32_t rank)
{
	for (out->rank = 0; out->rank < rank; out->rank++)
		if (!parse_number(text, &out->dims[out->rank]) || !skip(text, ' '))
			return false;
	return true;
}

sp_status sp_tensor_slice_parse(sp_tensor_slice *out, sp_bytes text, const sp_shape *shape,
				sp_error *err)
{
	sp_bytes rest = text;
	sp_shape stated;

	*out = sp_tensor_slice_all(shape);
	if (text.size == 0)
		return SP_OK;
	if (!parse_dims(&stated, &rest, shape->rank) || !sp_shape_equal(&stated, shape) ||
	    !parse_extents(out, rest) || !sp_tensor_slice_resolve(out, shape)) {
		char stored[SP_SHAPE_TEXT_SIZE];

		return sp_error_set(err, SP_INVALID, "\"%.*s\" is no slice of shape %s",
				    (int)(text.size < 200 ? text.size : 200), text.data,
				    sp_shape_text(shape, stored));
	}
	return SP_OK;
}

/* Sets n bits from `first` on; false if one of them was set. */
static bool mark(uint64_t *seen, size_t first, size_t n)
{
	while (n != 0) {
		size_t offset = first % 64;
		size_t room = 64 - offset, here = n < room ? n : room;
		uint64_t bits = (here == 64 ? ~(uint64_t)0 : ((uint64_t)1 << here) - 1) << offset;

		if (seen[first / 64] & bits)
			return false;
		seen[first / 64] |= bits;
		first += here;
		n -= here;
	}
	return true;
}

/* The intersection of two slices: its start in each, and its lengths. */
typedef struct overlap {
	int32_t rank;
	int64_t in_src[SP_MAX_RANK];
	int64_t in_dst[SP_MAX_RANK];
	int64_t length[SP_MAX_RANK];
} overlap;

static bool intersect(overlap *out, const sp_tensor_slice *to, const sp_tensor_slice *from)
{
	out->rank = to->rank;
	for (int i = 0; i < to->rank; i++) {
		int64_t first = to->start[i] > from->start[i] ? to->start[i] : from->start[i];
		int64_t to_end = to->start[i] + to->length[i];
		int64_t from_end = from->start[i] + from->length[i];

		out->in_src[i] = first - from->start[i];
		out->in_dst[i] = first - to->start[i];
		out->length[i] = (to_end < from_end ? to_end : from_end) - first;
		if (out->length[i] <= 0)
			return false;
	}
	return true;
}

bool sp_tensor_slice_overlap(const sp_tensor_slice *a, const sp_tensor_slice *b)
{
	overlap unused;

	return intersect(&unused, a, b);
}

/* The index of the element at `start` plus the outer `index` in a tensor of that shape. */
static size_t position(const sp_shape *shape, const int64_t *start, const int64_t *index)
{
	size_t at = 0;

	for (int i = 0; i < shape->rank; i++)
		at = at * (size_t)shape->dims[i] + (size_t)(start[i] + index[i]);
	return at;
}

/* Advances the outermost `rank` indices; false after the last. */
static bool next_index(int64_t *index, const int64_t *length, int rank)
{
	for (int i = rank - 1; i >= 0; i--) {
		if (++index[i] < length[i])
			return true;
		index[i] = 0;
	}
	return false;
}

bool sp_tensor_slice_copy(sp_tensor *dst, const sp_tensor_slice *to, const sp_tensor *src,
			  const sp_tensor_slice *from, uint64_t *seen, size_t *copied)
{
	size_t size = sp_dtype_size(dst->dtype), run = 1;
	int64_t index[SP_MAX_RANK] = {0};
	overlap common;
	int outer;

	if (!intersect(&common, to, from))
		return true;
	/* Elements contiguous in both: whole inner dimensions, and one more. */
	for (outer = common.rank; outer > 0;) {
		outer--;
		run *= (size_t)common.length[outer];
		if (common.length[outer] != src->shape.dims[outer] ||
		    common.length[outer] != dst->shape.dims[outer])
			break;
	}
	do {
		size_t in_dst = position(&dst->shape, common.in_dst, index);
		size_t in_src = position(&src->shape, common.in_src, index);

		if (!mark(seen, in_dst, run))
			return false;
		memcpy((char *)dst->data + in_dst * size, (const char *)src->data + in_src * size,
		       run * size);
		*copied += run;
	} while (next_index(index, common.length, outer));
	return true;
}
