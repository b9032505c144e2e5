#include <string.h>

#include "api/host/messages/message_fields.h"
#include "api/host/messages/predict_message.h"

static size_t version_size(int64_t version)
{
	return version != 0 ? 1 + sp_wire_varint_size((uint64_t)version) : 0;
}

static size_t spec_size(const sp_model_spec *spec)
{
	return sp_wire_text_size(spec->name) + sp_wire_text_size(spec->signature_name) +
	       (spec->has_version ? sp_wire_field_size(version_size(spec->version)) : 0) +
	       (spec->has_label ? sp_wire_field_size(spec->label.size) : 0);
}

static unsigned char *put_spec(unsigned char *at, uint32_t number, const sp_model_spec *spec)
{
	at = sp_wire_put_header(at, number, spec_size(spec));
	at = sp_wire_put_text(at, SP_SPEC_NAME, spec->name);
	if (spec->has_version) {
		at = sp_wire_put_header(at, SP_SPEC_VERSION, version_size(spec->version));
		if (spec->version != 0) {
			*at++ = SP_INT64_VALUE << 3 | SP_WIRE_VARINT;
			at = sp_wire_put_varint(at, (uint64_t)spec->version);
		}
	}
	at = sp_wire_put_text(at, SP_SPEC_SIGNATURE_NAME, spec->signature_name);
	if (spec->has_label) {
		at = sp_wire_put_header(at, SP_SPEC_LABEL, spec->label.size);
		at = sp_wire_put_bytes(at, spec->label.data, spec->label.size);
	}
	return at;
}

void sp_model_spec_append(sp_buffer *out, uint32_t number, const sp_model_spec *spec)
{
	unsigned char *at = (unsigned char *)sp_buffer_reserve(out,
							       sp_wire_field_size(spec_size(spec)));

	if (at != NULL)
		put_spec(at, number, spec);
}

static size_t entry_size(const serving_processor_tensor *tensor, size_t tensor_size)
{
	return sp_wire_field_size(strlen(tensor->name)) + sp_wire_field_size(tensor_size);
}

/* Adds the bytes that the entries of a map take to *size. */
static sp_status add_entries_size(size_t *size, const serving_processor_tensor *tensors,
				  size_t count, sp_tensor_style style, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t tensor_size = sp_tensor_message_encoded_size(&tensors[i], style);

		if (tensor_size == 0)
			return sp_tensor_message_no_field(&tensors[i], err);
		*size += sp_wire_field_size(entry_size(&tensors[i], tensor_size));
	}
	return SP_OK;
}

static unsigned char *put_entry(unsigned char *at, uint32_t number,
				const serving_processor_tensor *tensor, sp_tensor_style style)
{
	size_t name = strlen(tensor->name), size = sp_tensor_message_encoded_size(tensor, style);

	at = sp_wire_put_header(at, number, entry_size(tensor, size));
	at = sp_wire_put_header(at, SP_ENTRY_KEY, name);
	at = sp_wire_put_bytes(at, tensor->name, name);
	at = sp_wire_put_header(at, SP_ENTRY_VALUE, size);
	return sp_tensor_message_put(at, tensor, style);
}

sp_status sp_predict_message_encode_request(sp_buffer *out, const sp_infer_request *request,
					    const sp_model_spec *spec, sp_error *err)
{
	size_t size = sp_wire_field_size(spec_size(spec));
	unsigned char *at;

	SP_TRY(add_entries_size(&size, request->inputs, request->input_count, SP_TENSOR_IN_FIELDS,
				err));
	for (size_t i = 0; i < request->output_count; i++)
		size += sp_wire_field_size(strlen(request->outputs[i]));
	at = (unsigned char *)sp_buffer_reserve(out, size);
	if (at == NULL)
		return sp_no_memory(err, "the request");
	at = put_spec(at, SP_REQUEST_SPEC, spec);
	for (size_t i = 0; i < request->input_count; i++)
		at = put_entry(at, SP_PREDICT_INPUTS, &request->inputs[i], SP_TENSOR_IN_FIELDS);
	for (size_t i = 0; i < request->output_count; i++) {
		size_t name = strlen(request->outputs[i]);

		at = sp_wire_put_header(at, SP_PREDICT_OUTPUT_FILTER, name);
		at = sp_wire_put_bytes(at, request->outputs[i], name);
	}
	return SP_OK;
}

sp_status sp_predict_message_encode(sp_buffer *out, const serving_processor_tensor *outputs,
				    size_t count, const sp_model_spec *spec, sp_tensor_style style,
				    sp_error *err)
{
	size_t size = spec != NULL ? sp_wire_field_size(spec_size(spec)) : 0;
	unsigned char *at;

	SP_TRY(add_entries_size(&size, outputs, count, style, err));
	at = (unsigned char *)sp_buffer_reserve(out, size);
	if (at == NULL)
		return sp_no_memory(err, "the response");
	for (size_t i = 0; i < count; i++)
		at = put_entry(at, SP_PREDICTED_OUTPUTS, &outputs[i], style);
	if (spec != NULL)
		put_spec(at, SP_PREDICTED_SPEC, spec);
	return SP_OK;
}
