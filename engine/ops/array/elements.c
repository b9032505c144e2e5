#include "engine/ops/array/elements.h"

/* Doubles the filled part up to a page, then repeats that page, which stays in the cache. */
void sp_elements__fill(void *out, size_t count, const void *element, size_t size)
{
	size_t total = count * size, page, done = size;

	if (total == 0)
		return;
	page = size < 4096 ? 4096 / size * size : size;
	memcpy(out, element, size);
	while (done < total) {
		size_t step = done < page ? done : page;

		if (step > total - done)
			step = total - done;
		memcpy((char *)out + done, out, step);
		done += step;
	}
}

int64_t sp_element__integer(const sp_tensor *tensor, size_t i)
{
	switch (tensor->dtype) {
	case SP_INT8:
		return ((const int8_t *)tensor->data)[i];
	case SP_UINT8:
		return ((const uint8_t *)tensor->data)[i];
	case SP_INT16:
		return ((const int16_t *)tensor->data)[i];
	case SP_UINT16:
		return ((const uint16_t *)tensor->data)[i];
	case SP_INT32:
		return ((const int32_t *)tensor->data)[i];
	case SP_UINT32:
		return ((const uint32_t *)tensor->data)[i];
	default:
		return ((const int64_t *)tensor->data)[i];
	}
}

sp_status sp_elements__widen(const sp_call *call, const sp_tensor *tensor, const int64_t **out)
{
	int64_t *wide;

	if (tensor->dtype == SP_INT64) {
		*out = tensor->data;
		return SP_OK;
	}
	SP_CALL_ARRAY(wide, call, tensor->count);
	if (tensor->dtype == SP_INT32)
		for (size_t i = 0; i < tensor->count; i++)
			wide[i] = sp_tensor_i32(tensor)[i];
	else
		for (size_t i = 0; i < tensor->count; i++)
			wide[i] = sp_element__integer(tensor, i);
	*out = wide;
	return SP_OK;
}
