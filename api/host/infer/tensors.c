#include "api/host/infer/tensors.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"

size_t sp_tensor_element_size(int dtype)
{
	static const unsigned char sizes[] = {
		[SERVING_PROCESSOR_FLOAT] = 4,     [SERVING_PROCESSOR_DOUBLE] = 8,
		[SERVING_PROCESSOR_INT32] = 4,     [SERVING_PROCESSOR_UINT8] = 1,
		[SERVING_PROCESSOR_INT16] = 2,     [SERVING_PROCESSOR_INT8] = 1,
		[SERVING_PROCESSOR_COMPLEX64] = 8, [SERVING_PROCESSOR_INT64] = 8,
		[SERVING_PROCESSOR_BOOL] = 1,      [SERVING_PROCESSOR_BFLOAT16] = 2,
		[SERVING_PROCESSOR_UINT16] = 2,    [SERVING_PROCESSOR_COMPLEX128] = 16,
		[SERVING_PROCESSOR_HALF] = 2,      [SERVING_PROCESSOR_UINT32] = 4,
		[SERVING_PROCESSOR_UINT64] = 8,    [SERVING_PROCESSOR_STRING] = sizeof(sp_bytes),
	};

	return dtype > 0 && (size_t)dtype < sizeof(sizes) ? sizes[dtype] : 0;
}

const char *sp_dims_print(char out[SP_DIMS_TEXT], const int64_t *dims, int rank)
{
	size_t size = 1;

	strcpy(out, "[");
	for (int i = 0; i < rank && size < SP_DIMS_TEXT - 24; i++)
		size += (size_t)sprintf(out + size, i == 0 ? "%lld" : ",%lld", (long long)dims[i]);
	strcpy(out + size, "]");
	return out;
}

/* ----------------------------------------------------------------------- copies */

size_t sp_tensor_bytes(const serving_processor_tensor *tensor)
{
	const serving_processor_bytes *texts = tensor->data;
	size_t size = tensor->count * sp_tensor_element_size(tensor->dtype);

	for (size_t i = 0; tensor->dtype == SERVING_PROCESSOR_STRING && i < tensor->count; i++)
		size += texts[i].size;
	return size;
}

static bool copy_texts(serving_processor_bytes *texts, size_t count, sp_arena *arena)
{
	for (size_t i = 0; i < count; i++) {
		texts[i].data = sp_arena_text(arena, (sp_bytes){texts[i].data, texts[i].size});
		if (texts[i].data == NULL)
			return false;
	}
	return true;
}

bool sp_host_tensor_copy(serving_processor_tensor *out, const serving_processor_tensor *tensor,
			 sp_arena *arena)
{
	size_t rank = tensor->rank > 0 ? (size_t)tensor->rank : 0;
	size_t size = tensor->count * sp_tensor_element_size(tensor->dtype);
	int64_t *dims = sp_arena_array(arena, rank, sizeof(*dims));
	void *data = sp_arena_alloc(arena, size);

	*out = *tensor;
	out->name = sp_arena_text(arena, (sp_bytes){tensor->name, strlen(tensor->name)});
	out->dims = dims;
	out->data = data;
	if (out->name == NULL || dims == NULL || data == NULL)
		return false;
	if (rank != 0)
		memcpy(dims, tensor->dims, rank * sizeof(*dims));
	if (size != 0)
		memcpy(data, tensor->data, size);
	return tensor->dtype != SERVING_PROCESSOR_STRING || copy_texts(data, tensor->count, arena);
}

/* ------------------------------------------------------------------- comparison */

static bool is_float(int dtype)
{
	return dtype == SERVING_PROCESSOR_FLOAT || dtype == SERVING_PROCESSOR_DOUBLE ||
	       dtype == SERVING_PROCESSOR_HALF || dtype == SERVING_PROCESSOR_BFLOAT16;
}

static double value_of(const serving_processor_tensor *tensor, size_t i)
{
	switch (tensor->dtype) {
	case SERVING_PROCESSOR_FLOAT:
		return (double)((const float *)tensor->data)[i];
	case SERVING_PROCESSOR_DOUBLE:
		return ((const double *)tensor->data)[i];
	case SERVING_PROCESSOR_HALF:
		return (double)sp_half_to_float(((const uint16_t *)tensor->data)[i]);
	default:
		return (double)sp_bfloat16_to_float(((const uint16_t *)tensor->data)[i]);
	}
}

static bool are_near(const serving_processor_tensor *a, const serving_processor_tensor *b,
		     double tolerance)
{
	for (size_t i = 0; i < a->count; i++) {
		double x = value_of(a, i), y = value_of(b, i);

		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (!isfinite(x) || !isfinite(y) ||
		    fabs(x - y) > tolerance * fmax(1, fmax(fabs(x), fabs(y))))
			return false;
	}
	return true;
}

static bool are_equal_texts(const serving_processor_tensor *a, const serving_processor_tensor *b)
{
	const serving_processor_bytes *texts = a->data, *others = b->data;

	for (size_t i = 0; i < a->count; i++)
		if (!sp_bytes_equal((sp_bytes){texts[i].data, texts[i].size},
				    (sp_bytes){others[i].data, others[i].size}))
			return false;
	return true;
}

bool sp_tensors_are_alike(const serving_processor_tensor *a, const serving_processor_tensor *b,
			  double tolerance)
{
	size_t size = a->count * sp_tensor_element_size(a->dtype);

	if (a->dtype != b->dtype || a->rank != b->rank || a->count != b->count)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	if (is_float(a->dtype))
		return are_near(a, b, tolerance);
	if (a->dtype == SERVING_PROCESSOR_STRING)
		return are_equal_texts(a, b);
	return size == 0 || memcmp(a->data, b->data, size) == 0;
}

bool sp_tensor_lists_are_alike(const serving_processor_tensor *a, const serving_processor_tensor *b,
			       size_t count, double tolerance)
{
	for (size_t i = 0; i < count; i++)
		if (!sp_tensors_are_alike(&a[i], &b[i], tolerance))
			return false;
	return true;
}
