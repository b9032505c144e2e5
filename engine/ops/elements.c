#include "engine/ops/elements.h"

void sp_elements__fill(void *out, size_t count, const void *element, size_t size)
{
	size_t total = count * size, done = size;

	if (count == 0)
		return;
	memcpy(out, element, size);
	while (done < total) {
		size_t n = done < total - done ? done : total - done;

		memcpy((char *)out + done, out, n);
		done += n;
	}
}

sp_status sp_elements__widen(const sp_call *call, const sp_tensor *tensor, const int64_t **out)
{
	int64_t *wide;

	if (tensor->dtype == SP_INT64) {
		*out = tensor->data;
		return SP_OK;
	}
	wide = sp_call_bytes(call, tensor->count, sizeof(*wide));
	if (wide == NULL)
		return sp_call_no_memory(call);
	if (tensor->dtype == SP_INT16)
		for (size_t i = 0; i < tensor->count; i++)
			wide[i] = ((const int16_t *)tensor->data)[i];
	else
		for (size_t i = 0; i < tensor->count; i++)
			wide[i] = sp_tensor_i32(tensor)[i];
	*out = wide;
	return SP_OK;
}
