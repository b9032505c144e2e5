#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/messages/tensor_message.h"
#include "base/wire_values.h"

sp_status sp_tensor_dims_take(sp_tensor_dims *dims, const sp_wire_field *field, sp_error *err)
{
	int64_t *first = dims->dims;
	sp_wire_sink out = {.form = {SP_WIRE_VARINT, sizeof(*first), SP_WIRE_AS_IS, true},
			    .at = (char *)(first + dims->rank),
			    .end = (char *)(first + SP_TENSOR_MAX_DIMS)};

	if (!sp_wire_take_values(&out, field))
		return sp_error_set(err, SP_INVALID, "the shape cannot be parsed");
	if (out.dropped != 0)
		return sp_error_set(err, SP_UNSUPPORTED, "more than %d dimensions",
				    SP_TENSOR_MAX_DIMS);
	dims->rank = (int)((size_t)(out.at - (char *)first) / sizeof(*first));
	return SP_OK;
}

sp_status sp_tensor_dims_set(serving_processor_tensor *tensor, const sp_tensor_dims *dims,
			     sp_arena *arena, sp_error *err)
{
	size_t size = (size_t)dims->rank * sizeof(dims->dims[0]), bytes;
	int64_t *copy = sp_arena_alloc(arena, size);

	if (copy == NULL)
		return sp_no_memory(err, "an input");
	memcpy(copy, dims->dims, size);
	tensor->rank = dims->rank;
	tensor->dims = copy;
	return sp_tensor_message_size(copy, dims->rank, sp_tensor_element_size(tensor->dtype),
				      &tensor->count, &bytes)
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "the shape is negative or too large");
}
