#include "processor/request/predict_codec.h"

#include <limits.h>

#include "base/alloc.h"
#include "processor/request/predict_fields.h"
#include "base/wire.h"

/*
 * All sizes are computed first, because a length precedes its bytes; then one block is allocated
 * and filled.  Sizes that require a pass over the values are kept in the outputs.
 *
 * Sums cannot overflow: a message is at most ten times as large as its tensors in memory.
 */

static size_t value_count(const sp_tensor *tensor)
{
	return tensor->count * sp_predict__values_per_element(tensor->dtype);
}

/* Bytes of the values of a packed run, or of all string fields with their headers. */
static size_t values_size(const sp_tensor *tensor)
{
	sp_wire_form form = sp_predict__form_of(tensor->dtype);
	size_t size = 0;

	if (tensor->dtype != SP_STRING)
		return sp_wire_values_size(&form, tensor->data, value_count(tensor));
	for (size_t i = 0; i < tensor->count; i++)
		size += sp_wire_field_size(sp_tensor_strings(tensor)[i].size);
	return size;
}

static size_t dims_size(const sp_shape *shape)
{
	size_t size = 0;

	for (int i = 0; i < shape->rank; i++)
		size += sp_wire_varint_size((uint64_t)shape->dims[i]);
	return size;
}

/* An empty repeated field is not written. */
static size_t shape_size(const sp_shape *shape)
{
	return shape->rank == 0 ? 0 : sp_wire_field_size(dims_size(shape));
}

static size_t array_size(const sp_predict_output *output)
{
	size_t size = 1 + sp_wire_varint_size(output->tensor->dtype) +
		      sp_wire_field_size(shape_size(&output->tensor->shape));

	if (output->tensor->count == 0)
		return size;
	if (output->tensor->dtype == SP_STRING)
		return size + output->values_size;
	return size + sp_wire_field_size(output->values_size);
}

static size_t entry_size(const sp_predict_output *output)
{
	return sp_wire_field_size(output->name.size) + sp_wire_field_size(array_size(output));
}

/* ------------------------------------------------------------------ writing */

static unsigned char *put_strings(unsigned char *at, const sp_tensor *tensor)
{
	for (size_t i = 0; i < tensor->count; i++) {
		sp_bytes text = sp_tensor_strings(tensor)[i];

		at = sp_wire_put_header(at, SP_ARRAY_STRING_VAL, text.size);
		at = sp_wire_put_bytes(at, text.data, text.size);
	}
	return at;
}

static unsigned char *put_values(unsigned char *at, const sp_predict_output *output)
{
	const sp_tensor *tensor = output->tensor;
	sp_wire_form form = sp_predict__form_of(tensor->dtype);

	if (tensor->count == 0)
		return at;
	if (tensor->dtype == SP_STRING)
		return put_strings(at, tensor);
	at = sp_wire_put_header(at, sp_predict__field_of(tensor->dtype), output->values_size);
	return sp_wire_put_values(at, &form, tensor->data, value_count(tensor));
}

static unsigned char *put_shape(unsigned char *at, const sp_shape *shape)
{
	at = sp_wire_put_header(at, SP_ARRAY_SHAPE, shape_size(shape));
	if (shape->rank == 0)
		return at;
	at = sp_wire_put_header(at, SP_SHAPE_DIM, dims_size(shape));
	for (int i = 0; i < shape->rank; i++)
		at = sp_wire_put_varint(at, (uint64_t)shape->dims[i]);
	return at;
}

static unsigned char *put_output(unsigned char *at, const sp_predict_output *output)
{
	at = sp_wire_put_header(at, SP_RESPONSE_OUTPUTS, entry_size(output));
	at = sp_wire_put_header(at, SP_ENTRY_KEY, output->name.size);
	at = sp_wire_put_bytes(at, output->name.data, output->name.size);
	at = sp_wire_put_header(at, SP_ENTRY_VALUE, array_size(output));
	*at++ = SP_ARRAY_DTYPE << 3 | SP_WIRE_VARINT;
	at = sp_wire_put_varint(at, output->tensor->dtype);
	at = put_shape(at, &output->tensor->shape);
	return put_values(at, output);
}

/* Allocates `size` bytes and a NUL; fails if the size does not fit in an int. */
static sp_status make_block(unsigned char **out, size_t size, sp_error *err)
{
	if (size > INT_MAX)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the answer would take %zu bytes; at most %d can be handed out",
				    size, INT_MAX);
	*out = sp_alloc(size + 1);
	SP_NEED_MEMORY(*out, err, "an answer of %zu bytes", size);
	(*out)[size] = '\0';
	return SP_OK;
}

sp_status sp_predict_response_encode(void **out, size_t *out_size, sp_predict_output *outputs,
				     size_t count, sp_error *err)
{
	size_t size = 0;
	unsigned char *block, *at;

	for (size_t i = 0; i < count; i++) {
		if (sp_predict__field_of(outputs[i].tensor->dtype) == 0)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "output '%.*s' is %s, which responses cannot carry",
					    (int)outputs[i].name.size, outputs[i].name.data,
					    sp_dtype_name(outputs[i].tensor->dtype));
		outputs[i].values_size = values_size(outputs[i].tensor);
		size += sp_wire_field_size(entry_size(&outputs[i]));
	}
	SP_TRY(make_block(&block, size, err));
	at = block;
	for (size_t i = 0; i < count; i++)
		at = put_output(at, &outputs[i]);
	*out = block;
	*out_size = (size_t)(at - block);
	return SP_OK;
}

sp_status sp_model_info_encode(void **out, size_t *out_size, const char *model_path, sp_error *err)
{
	sp_bytes path = sp_bytes_of(model_path);
	size_t size = path.size == 0 ? 0 : sp_wire_field_size(path.size);
	unsigned char *block;

	SP_TRY(make_block(&block, size, err));
	if (path.size != 0)
		sp_wire_put_bytes(sp_wire_put_header(block, SP_MODEL_INFO_PATH, path.size),
				  path.data, path.size);
	*out = block;
	*out_size = size;
	return SP_OK;
}
