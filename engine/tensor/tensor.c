#include "engine/tensor/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

bool sp_shape_count(const sp_shape *shape, size_t *count)
{
	size_t n = 1, bytes;

	for (int i = 0; i < shape->rank; i++)
		if (!sp_size_mul(&n, n, (size_t)shape->dims[i]))
			return false;
	*count = n;
	return sp_size_mul(&bytes, n, 16) && bytes <= INT64_MAX;
}

bool sp_shape_equal(const sp_shape *a, const sp_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

const char *sp_shape_text(const sp_shape *shape, char text[SP_SHAPE_TEXT_SIZE])
{
	size_t used = 0;

	text[used++] = '[';
	for (int i = 0; i < shape->rank; i++)
		used += (size_t)snprintf(text + used, SP_SHAPE_TEXT_SIZE - used, "%s%lld",
					 i != 0 ? "," : "", (long long)shape->dims[i]);
	memcpy(text + used, "]", 2);
	return text;
}

int64_t sp_shape_product(const sp_shape *shape, int first, int last)
{
	int64_t n = 1;

	for (int i = first; i < last; i++)
		if (!sp_i64_mul(&n, n, shape->dims[i]))
			return 0; /* another dimension is 0: the tensor is empty */
	return n;
}

sp_status sp_tensor_create(sp_tensor *out, sp_arena *arena, sp_dtype dtype, const sp_shape *shape,
			   sp_error *err)
{
	size_t size = sp_dtype_size(dtype), count, bytes;
	void *data;

	if (size == 0)
		return sp_error_set(err, SP_UNSUPPORTED, "a tensor of %s is not supported",
				    sp_dtype_name(dtype));
	if (!sp_shape_count(shape, &count) || !sp_size_mul(&bytes, count, size) ||
	    !sp_size_add(&bytes, bytes, SP_TENSOR_TAIL)) {
		char text[SP_SHAPE_TEXT_SIZE];

		return sp_error_set(err, SP_INVALID, "a tensor of shape %s is too large",
				    sp_shape_text(shape, text));
	}
	data = sp_arena_alloc(arena, bytes);
	SP_NEED_MEMORY(data, err, "a tensor of %zu bytes", bytes);
	*out = (sp_tensor){.dtype = dtype, .shape = *shape, .count = count, .data = data};
	return SP_OK;
}

void sp_tensor_repeat_last(sp_tensor *t, size_t have)
{
	size_t size = sp_dtype_size(t->dtype);
	char *to = (char *)t->data + have * size;
	size_t rest = (t->count - have) * size;

	if (have == 0) {
		if (rest != 0)
			memset(to, 0, rest);
		return;
	}
	/* The copied length doubles each time. */
	for (size_t n = size; rest != 0; n *= 2) {
		size_t piece = n < rest ? n : rest;

		memcpy(to, (char *)t->data + (have - 1) * size, piece);
		to += piece;
		rest -= piece;
	}
}

static sp_status copy_strings(sp_tensor *out, sp_arena *arena, sp_error *err)
{
	sp_bytes *items = sp_tensor_strings(out);

	for (size_t i = 0; i < out->count; i++) {
		char *text = sp_arena_text(arena, items[i]);

		SP_NEED_MEMORY(text, err, "%zu bytes of text", items[i].size);
		items[i].data = text;
	}
	return SP_OK;
}

sp_status sp_tensor_copy(sp_tensor *out, sp_arena *arena, const sp_tensor *tensor, sp_error *err)
{
	SP_TRY(sp_tensor_create(out, arena, tensor->dtype, &tensor->shape, err));
	if (tensor->count != 0)
		memcpy(out->data, tensor->data, tensor->count * sp_dtype_size(tensor->dtype));
	return tensor->dtype == SP_STRING ? copy_strings(out, arena, err) : SP_OK;
}
