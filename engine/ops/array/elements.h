#ifndef SP_ENGINE_OPS_ELEMENTS_H
#define SP_ENGINE_OPS_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/graph/op.h"

/* Moves elements of any type by their size, 1, 2, 4, 8 or 16 bytes (sp_dtype_size()). */

/* out[i] = in[j] */
static inline void sp_element__copy(void *out, size_t i, const void *in, size_t j, size_t size)
{
	switch (size) {
	case 1:
		((uint8_t *)out)[i] = ((const uint8_t *)in)[j];
		return;
	case 2:
		((uint16_t *)out)[i] = ((const uint16_t *)in)[j];
		return;
	case 4:
		((uint32_t *)out)[i] = ((const uint32_t *)in)[j];
		return;
	case 8:
		((uint64_t *)out)[i] = ((const uint64_t *)in)[j];
		return;
	default:
		memcpy((char *)out + i * size, (const char *)in + j * size, size);
	}
}

/* Writes `count` copies of the element at `element`. */
void sp_elements__fill(void *out, size_t count, const void *element, size_t size);

/* Element i of a tensor of integers of any width; uint64 wraps around. */
int64_t sp_element__integer(const sp_tensor *tensor, size_t i);

/* The elements of a tensor of integers as int64: its own bytes, or a widened copy. */
SP_MUST_CHECK sp_status sp_elements__widen(const sp_call *call, const sp_tensor *tensor,
					   const int64_t **out);

#endif
