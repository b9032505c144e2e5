#include "engine/tensor/partial_shape.h"

#include <stdio.h>
#include <string.h>

const char *sp_partial_shape_text(const sp_partial_shape *shape, char text[SP_SHAPE_TEXT_SIZE])
{
	size_t used = 0;

	if (shape->rank < 0)
		return strcpy(text, "<unknown>");
	text[used++] = '[';
	for (int i = 0; i < shape->rank; i++) {
		char dim[24] = "?";

		if (shape->dims[i] >= 0)
			snprintf(dim, sizeof(dim), "%lld", (long long)shape->dims[i]);
		used += (size_t)snprintf(text + used, SP_SHAPE_TEXT_SIZE - used, "%s%s",
					 i != 0 ? "," : "", dim);
	}
	memcpy(text + used, "]", 2);
	return text;
}

bool sp_partial_shape_matches(const sp_partial_shape *partial, const sp_shape *shape)
{
	if (partial->rank < 0)
		return true;
	if (partial->rank != shape->rank)
		return false;
	for (int i = 0; i < shape->rank; i++)
		if (partial->dims[i] >= 0 && partial->dims[i] != shape->dims[i])
			return false;
	return true;
}

bool sp_partial_shape_is_full(const sp_partial_shape *partial, sp_shape *out)
{
	if (partial->rank < 0)
		return false;
	out->rank = partial->rank;
	for (int i = 0; i < partial->rank; i++) {
		if (partial->dims[i] < 0)
			return false;
		out->dims[i] = partial->dims[i];
	}
	return true;
}

bool sp_partial_shape_merge(const sp_partial_shape *a, const sp_partial_shape *b,
			    sp_partial_shape *out)
{
	sp_partial_shape merged = a->rank < 0 ? *b : *a;

	if (a->rank >= 0 && b->rank >= 0) {
		if (a->rank != b->rank)
			return false;
		for (int i = 0; i < a->rank; i++) {
			if (merged.dims[i] < 0)
				merged.dims[i] = b->dims[i];
			else if (b->dims[i] >= 0 && b->dims[i] != merged.dims[i])
				return false;
		}
	}
	*out = merged;
	return true;
}

sp_partial_shape sp_partial_shape_of(const sp_shape *shape)
{
	sp_partial_shape partial = {.rank = shape->rank};

	memcpy(partial.dims, shape->dims, (size_t)shape->rank * sizeof(shape->dims[0]));
	return partial;
}
