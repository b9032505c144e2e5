#include <stdio.h>

#include "api/host/infer/tensors.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/message_writer.h"
#include "api/host/messages/tensor_message.h"
#include "base/utf8.h"
#include "base/wire.h"

/* The bytes that an InferOutputTensor takes. */
static size_t output_size(const serving_processor_tensor *tensor)
{
	size_t dims = sp_tensor_packed_dims_size(tensor);

	return sp_wire_text_size(sp_bytes_of(tensor->name)) +
	       sp_wire_text_size(sp_bytes_of(sp_infer_datatype(tensor->dtype))) +
	       (dims != 0 ? sp_wire_field_size(dims) : 0);
}

static unsigned char *put_output(unsigned char *at, const serving_processor_tensor *tensor)
{
	at = sp_wire_put_header(at, SP_INFERRED_OUTPUTS, output_size(tensor));
	at = sp_wire_put_text(at, SP_INFER_TENSOR_NAME, sp_bytes_of(tensor->name));
	at = sp_wire_put_text(at, SP_INFER_TENSOR_DATATYPE,
			      sp_bytes_of(sp_infer_datatype(tensor->dtype)));
	if (tensor->rank == 0)
		return at;
	at = sp_wire_put_header(at, SP_INFER_TENSOR_SHAPE, sp_tensor_packed_dims_size(tensor));
	for (int i = 0; i < tensor->rank; i++)
		at = sp_wire_put_varint(at, (uint64_t)tensor->dims[i]);
	return at;
}

bool sp_infer_raw_size(const serving_processor_tensor *tensor, size_t *size)
{
	const serving_processor_bytes *texts = tensor->data;

	*size = tensor->count * sp_tensor_element_size(tensor->dtype);
	if (tensor->dtype != SERVING_PROCESSOR_STRING)
		return true;
	*size = 0;
	for (size_t i = 0; i < tensor->count; i++) {
		if (texts[i].size > UINT32_MAX)
			return false;
		*size += sizeof(uint32_t) + texts[i].size;
	}
	return true;
}

unsigned char *sp_infer_raw_put(unsigned char *at, const serving_processor_tensor *tensor)
{
	const serving_processor_bytes *texts = tensor->data;

	if (tensor->dtype != SERVING_PROCESSOR_STRING)
		return sp_wire_put_bytes(at, tensor->data,
					 tensor->count * sp_tensor_element_size(tensor->dtype));
	for (size_t i = 0; i < tensor->count; i++) {
		uint32_t length = (uint32_t)texts[i].size;

		at = sp_wire_put_bytes(at, &length, sizeof(length));
		at = sp_wire_put_bytes(at, texts[i].data, texts[i].size);
	}
	return at;
}

static unsigned char *put_raw(unsigned char *at, const serving_processor_tensor *tensor)
{
	size_t size = 0;

	(void)sp_infer_raw_size(tensor, &size); /* checked by measure() */
	return sp_infer_raw_put(sp_wire_put_header(at, SP_INFERRED_RAW_OUTPUTS, size), tensor);
}

static sp_status measure(size_t *size, const serving_processor_tensor *outputs, size_t count,
			 const sp_infer_head *head, sp_error *err)
{
	size_t raw;

	*size = sp_wire_text_size(head->model_name) + sp_wire_text_size(head->model_version) +
		sp_wire_text_size(head->id);
	for (size_t i = 0; i < count; i++) {
		const serving_processor_tensor *tensor = &outputs[i];

		if (sp_infer_datatype(tensor->dtype) == NULL || !sp_infer_raw_size(tensor, &raw))
			return sp_tensor_message_no_field(tensor, err);
		*size += sp_wire_field_size(output_size(tensor)) + sp_wire_field_size(raw);
	}
	return SP_OK;
}

sp_status sp_infer_message_encode(sp_buffer *out, const serving_processor_tensor *outputs,
				  size_t count, const sp_infer_head *head, sp_error *err)
{
	size_t size;
	unsigned char *at;

	SP_TRY(measure(&size, outputs, count, head, err));
	at = (unsigned char *)sp_buffer_reserve(out, size);
	if (at == NULL)
		return sp_no_memory(err, "the response");
	at = sp_wire_put_text(at, SP_INFER_MODEL_NAME, head->model_name);
	at = sp_wire_put_text(at, SP_INFER_MODEL_VERSION, head->model_version);
	at = sp_wire_put_text(at, SP_INFER_ID, head->id);
	for (size_t i = 0; i < count; i++)
		at = put_output(at, &outputs[i]);
	for (size_t i = 0; i < count; i++)
		at = put_raw(at, &outputs[i]);
	return SP_OK;
}

void sp_infer_message_encode_error(sp_buffer *out, sp_bytes id, const char *text)
{
	char printable[SP_ERROR_TEXT_SIZE];
	size_t response;

	/* snprintf() may cut within a character. */
	snprintf(printable, sizeof(printable), "%s", text);
	sp_utf8_make_printable(printable);
	sp_message_put_text(out, SP_STREAMED_ERROR, sp_bytes_of(printable));
	response = sp_message_open(out, SP_STREAMED_RESPONSE);
	sp_message_put_text(out, SP_INFER_ID, id);
	sp_message_close(out, response);
}
