#include <string.h>

#include "api/host/messages/tensor_fields.h"
#include "api/host/messages/tensor_message.h"

/* A value as it is in memory, widened: negative numbers have all upper bits set. */
static inline uint64_t value_at(const sp_tensor_form *form, const char *data, size_t i)
{
	int8_t i8;
	int16_t i16;
	int32_t i32;
	uint64_t value = 0;

	switch (form->is_signed ? form->size : 0) {
	case 1:
		memcpy(&i8, data + i, sizeof(i8));
		return (uint64_t)(int64_t)i8;
	case 2:
		memcpy(&i16, data + i * 2, sizeof(i16));
		return (uint64_t)(int64_t)i16;
	case 4:
		memcpy(&i32, data + i * 4, sizeof(i32));
		return (uint64_t)(int64_t)i32;
	default:
		memcpy(&value, data + i * form->size, form->size);
		return value;
	}
}

/* ------------------------------------------------------------------- sizes */

static size_t dim_size(int64_t dim)
{
	return dim != 0 ? 1 + sp_wire_varint_size((uint64_t)dim) : 0;
}

static size_t shape_size(const serving_processor_tensor *tensor)
{
	size_t size = 0;

	for (int i = 0; i < tensor->rank; i++)
		size += sp_wire_field_size(dim_size(tensor->dims[i]));
	return size;
}

static size_t texts_size(const serving_processor_tensor *tensor, bool content)
{
	const serving_processor_bytes *texts = tensor->data;
	size_t size = 0;

	for (size_t i = 0; i < tensor->count; i++)
		size += (content ? 0 : 1) + sp_wire_varint_size(texts[i].size) + texts[i].size;
	return size;
}

/* Bytes of the values without tag and length. */
static size_t values_size(const serving_processor_tensor *tensor, const sp_tensor_form *form,
			  bool content)
{
	size_t values = tensor->count * form->parts, size = 0;

	if (form->wire == SP_WIRE_BYTES)
		return texts_size(tensor, content);
	if (content || form->wire != SP_WIRE_VARINT)
		return values * form->size;
	for (size_t i = 0; i < values; i++)
		size += sp_wire_varint_size(value_at(form, tensor->data, i));
	return size;
}

/* Tag and length of the field with the values; strings are a field each. */
static size_t values_header_size(const sp_tensor_form *form, bool content, size_t size)
{
	if (!content && form->wire == SP_WIRE_BYTES)
		return 0;
	return size == 0 ? 0 : (!content && form->field >= 16 ? 2 : 1) + sp_wire_varint_size(size);
}

size_t sp_tensor_message_encoded_size(const serving_processor_tensor *tensor, bool content)
{
	const sp_tensor_form *form = sp_tensor__form(tensor->dtype);
	size_t values;

	if (form == NULL)
		return 0;
	values = values_size(tensor, form, content);
	return 2 + sp_wire_field_size(shape_size(tensor)) +
	       values_header_size(form, content, values) + values;
}

/* ----------------------------------------------------------------- writing */

static unsigned char *put_shape(unsigned char *at, const serving_processor_tensor *tensor)
{
	at = sp_wire_put_header(at, SP_TENSOR_SHAPE, shape_size(tensor));
	for (int i = 0; i < tensor->rank; i++) {
		at = sp_wire_put_header(at, SP_SHAPE_DIM, dim_size(tensor->dims[i]));
		if (tensor->dims[i] == 0)
			continue;
		*at++ = SP_DIM_SIZE << 3 | SP_WIRE_VARINT;
		at = sp_wire_put_varint(at, (uint64_t)tensor->dims[i]);
	}
	return at;
}

static unsigned char *put_texts(unsigned char *at, const serving_processor_tensor *tensor,
				bool content)
{
	const serving_processor_bytes *texts = tensor->data;

	for (size_t i = 0; content && i < tensor->count; i++)
		at = sp_wire_put_varint(at, texts[i].size);
	for (size_t i = 0; i < tensor->count; i++) {
		if (!content)
			at = sp_wire_put_header(at, SP_TENSOR_STRING_VAL, texts[i].size);
		at = sp_wire_put_bytes(at, texts[i].data, texts[i].size);
	}
	return at;
}

static unsigned char *put_values(unsigned char *at, const serving_processor_tensor *tensor,
				 const sp_tensor_form *form, bool content)
{
	size_t size = values_size(tensor, form, content), values = tensor->count * form->parts;

	if (size == 0)
		return at;
	if (content || form->wire != SP_WIRE_BYTES) {
		at = sp_wire_put_varint(at, (uint32_t)(content ? SP_TENSOR_CONTENT : form->field)
							    << 3 |
						    SP_WIRE_BYTES);
		at = sp_wire_put_varint(at, size);
	}
	if (form->wire == SP_WIRE_BYTES)
		return put_texts(at, tensor, content);
	if (content || form->wire != SP_WIRE_VARINT)
		return sp_wire_put_bytes(at, tensor->data, size);
	for (size_t i = 0; i < values; i++)
		at = sp_wire_put_varint(at, value_at(form, tensor->data, i));
	return at;
}

unsigned char *sp_tensor_message_put(unsigned char *at, const serving_processor_tensor *tensor,
				     bool content)
{
	const sp_tensor_form *form = sp_tensor__form(tensor->dtype);

	if (form == NULL)
		return at;
	*at++ = SP_TENSOR_DTYPE << 3 | SP_WIRE_VARINT;
	*at++ = (unsigned char)tensor->dtype;
	at = put_shape(at, tensor);
	return put_values(at, tensor, form, content);
}
