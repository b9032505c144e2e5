
#include "api/host/messages/tensor_fields.h"
#include "api/host/messages/tensor_message.h"

/* A tensor to write, and the form of its values. */
typedef struct source {
	const serving_processor_tensor *tensor;
	const sp_tensor_form *form;
	sp_tensor_style style;
	size_t values; /* tag and length of the field with the values are in front of so many bytes
			*/
} source;

/* ------------------------------------------------------------------- sizes */

static size_t dim_size(int64_t dim)
{
	return dim != 0 ? 1 + sp_wire_varint_size((uint64_t)dim) : 0;
}

static size_t shape_size(const source *s)
{
	const serving_processor_tensor *tensor = s->tensor;
	size_t size = 0;

	if (s->style == SP_TENSOR_AS_ARRAY)
		return tensor->rank != 0 ? sp_wire_field_size(sp_tensor_packed_dims_size(tensor))
					 : 0;
	for (int i = 0; i < tensor->rank; i++)
		size += sp_wire_field_size(dim_size(tensor->dims[i]));
	return size;
}

static size_t texts_size(const source *s)
{
	const serving_processor_bytes *texts = s->tensor->data;
	size_t tag = s->style == SP_TENSOR_IN_CONTENT ? 0 : 1, size = 0;

	for (size_t i = 0; i < s->tensor->count; i++)
		size += tag + sp_wire_varint_size(texts[i].size) + texts[i].size;
	return size;
}

static size_t values_size(const source *s)
{
	size_t count = s->tensor->count * s->form->parts;

	if (s->form->values.type == SP_WIRE_BYTES)
		return texts_size(s);
	return s->style == SP_TENSOR_IN_CONTENT
		       ? count * s->form->values.size
		       : sp_wire_values_size(&s->form->values, s->tensor->data, count);
}

/* Strings are a field each, unless they are in tensor_content. */
static size_t values_header_size(const source *s)
{
	bool content = s->style == SP_TENSOR_IN_CONTENT;

	if (s->values == 0 || (!content && s->form->values.type == SP_WIRE_BYTES))
		return 0;
	return (!content && s->form->field >= 16 ? 2 : 1) + sp_wire_varint_size(s->values);
}

/* Returns false for a type that the message has no field for. */
static bool begin(source *s, const serving_processor_tensor *tensor, sp_tensor_style style)
{
	*s = (source){.tensor = tensor, .style = style};
	s->form = sp_tensor__form(
		style == SP_TENSOR_AS_ARRAY ? &sp_tensor__array : &sp_tensor__proto, tensor->dtype);
	if (s->form != NULL)
		s->values = values_size(s);
	return s->form != NULL;
}

size_t sp_tensor_message_encoded_size(const serving_processor_tensor *tensor, sp_tensor_style style)
{
	source s;

	if (!begin(&s, tensor, style))
		return 0;
	return 2 + sp_wire_field_size(shape_size(&s)) + values_header_size(&s) + s.values;
}

/* ----------------------------------------------------------------- writing */

static unsigned char *put_shape(unsigned char *at, const source *s)
{
	const serving_processor_tensor *tensor = s->tensor;

	at = sp_wire_put_header(at, SP_TENSOR_SHAPE, shape_size(s));
	if (s->style == SP_TENSOR_AS_ARRAY && tensor->rank != 0)
		at = sp_wire_put_header(at, SP_ARRAY_SHAPE_DIM, sp_tensor_packed_dims_size(tensor));
	for (int i = 0; i < tensor->rank; i++) {
		if (s->style == SP_TENSOR_AS_ARRAY) {
			at = sp_wire_put_varint(at, (uint64_t)tensor->dims[i]);
			continue;
		}
		at = sp_wire_put_header(at, SP_SHAPE_DIM, dim_size(tensor->dims[i]));
		if (tensor->dims[i] == 0)
			continue;
		*at++ = SP_DIM_SIZE << 3 | SP_WIRE_VARINT;
		at = sp_wire_put_varint(at, (uint64_t)tensor->dims[i]);
	}
	return at;
}

/* In tensor_content, all lengths are before all bytes. */
static unsigned char *put_texts(unsigned char *at, const source *s)
{
	const serving_processor_bytes *texts = s->tensor->data;
	bool content = s->style == SP_TENSOR_IN_CONTENT;

	for (size_t i = 0; content && i < s->tensor->count; i++)
		at = sp_wire_put_varint(at, texts[i].size);
	for (size_t i = 0; i < s->tensor->count; i++) {
		if (!content)
			at = sp_wire_put_header(at, s->form->field, texts[i].size);
		at = sp_wire_put_bytes(at, texts[i].data, texts[i].size);
	}
	return at;
}

unsigned char *sp_tensor_message_put(unsigned char *at, const serving_processor_tensor *tensor,
				     sp_tensor_style style)
{
	bool content = style == SP_TENSOR_IN_CONTENT;
	source s;

	if (!begin(&s, tensor, style))
		return at;
	*at++ = SP_TENSOR_DTYPE << 3 | SP_WIRE_VARINT;
	*at++ = (unsigned char)tensor->dtype;
	at = put_shape(at, &s);
	if (values_header_size(&s) != 0) {
		uint32_t field = content ? SP_TENSOR_CONTENT : s.form->field;

		at = sp_wire_put_varint(at, field << 3 | SP_WIRE_BYTES);
		at = sp_wire_put_varint(at, s.values);
	}
	if (s.form->values.type == SP_WIRE_BYTES)
		return put_texts(at, &s);
	if (content)
		return sp_wire_put_bytes(at, tensor->data, s.values);
	return sp_wire_put_values(at, &s.form->values, tensor->data, tensor->count * s.form->parts);
}

sp_status sp_tensor_message_no_field(const serving_processor_tensor *output, sp_error *err)
{
	return sp_error_set(
		err, SP_UNSUPPORTED, "output '%s' has dtype %d (%s), which a response cannot carry",
		output->name, output->dtype, serving_processor_dtype_name(output->dtype));
}
