#include "api/host/v2/v2_response.h"

#include "api/host/json/json_writer.h"
#include "api/host/messages/infer_message.h"
#include "api/host/predict/json_element.h"
#include "base/utf8.h"

static bool is_binary(const sp_v2_parsed *request, size_t output)
{
	if (request->inputs.output_count == 0 || request->binary[output] < 0)
		return request->binary_by_default;
	return request->binary[output];
}

static sp_status check_json(const serving_processor_tensor *tensor, sp_error *err)
{
	const serving_processor_bytes *texts = tensor->data;

	if (tensor->dtype == SERVING_PROCESSOR_HALF || tensor->dtype == SERVING_PROCESSOR_BFLOAT16)
		return sp_error_set(err, SP_INVALID,
				    "output '%s': %s data must be asked for as binary data",
				    tensor->name, sp_infer_datatype(tensor->dtype));
	for (size_t i = 0; tensor->dtype == SERVING_PROCESSOR_STRING && i < tensor->count; i++)
		if (!sp_utf8_valid((sp_bytes){texts[i].data, texts[i].size}))
			return sp_error_set(err, SP_INVALID,
					    "output '%s': bytes that are not UTF-8 must be asked "
					    "for as binary data",
					    tensor->name);
	return SP_OK;
}

static void write_values(sp_buffer *out, const serving_processor_tensor *tensor)
{
	sp_json_write_key(out, "data");
	sp_buffer_append_char(out, '[');
	for (size_t i = 0; i < tensor->count && !out->failed; i++) {
		if (i != 0)
			sp_buffer_append_char(out, ',');
		sp_json_write_element(out, tensor, i);
	}
	sp_buffer_append_char(out, ']');
}

static sp_status write_output(sp_buffer *out, const serving_processor_tensor *tensor, bool binary,
			      sp_error *err)
{
	const char *datatype = sp_infer_datatype(tensor->dtype);
	size_t size;

	if (datatype == NULL || !sp_infer_raw_size(tensor, &size))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "output '%s' has dtype %s, which the protocol lacks",
				    tensor->name, serving_processor_dtype_name(tensor->dtype));
	sp_buffer_append_text(out, "{\"name\":");
	sp_json_text_append(out, sp_bytes_of(tensor->name));
	sp_buffer_printf(out, ",\"datatype\":\"%s\",\"shape\":[", datatype);
	for (int i = 0; i < tensor->rank; i++) {
		sp_buffer_append_text(out, i == 0 ? "" : ",");
		sp_json_write_i64(out, tensor->dims[i]);
	}
	sp_buffer_append_char(out, ']');
	if (binary) {
		sp_buffer_printf(out, ",\"parameters\":{\"binary_data_size\":%zu}", size);
	} else {
		SP_TRY(check_json(tensor, err));
		write_values(out, tensor);
	}
	sp_buffer_append_char(out, '}');
	return SP_OK;
}

static void append_binary(sp_buffer *out, const serving_processor_tensor *tensor)
{
	size_t size = 0;
	char *at;

	if (!sp_infer_raw_size(tensor, &size))
		return; /* refused by write_output() */
	at = sp_buffer_reserve(out, size);
	if (at != NULL)
		sp_infer_raw_put((unsigned char *)at, tensor);
}

sp_status sp_v2_response_write(sp_buffer *out, size_t *json_size,
			       const serving_processor_tensor *outputs, size_t count,
			       const sp_v2_parsed *request, const char *model, int64_t version,
			       sp_error *err)
{
	size_t begin = out->size;

	*json_size = 0;
	sp_buffer_append_text(out, "{\"model_name\":");
	sp_json_text_append(out, sp_bytes_of(model));
	sp_buffer_append_text(out, ",\"model_version\":\"");
	sp_json_write_i64(out, version);
	sp_buffer_append_char(out, '"');
	if (request->id.data != NULL) {
		sp_json_write_key(out, "id");
		sp_json_text_append(out, request->id);
	}
	sp_json_write_key(out, "outputs");
	for (size_t i = 0; i < count; i++) {
		sp_buffer_append_char(out, i == 0 ? '[' : ',');
		SP_TRY(write_output(out, &outputs[i], is_binary(request, i), err));
	}
	sp_buffer_append_text(out, count == 0 ? "[]}" : "]}");
	for (size_t i = 0; i < count; i++)
		if (is_binary(request, i)) {
			if (*json_size == 0)
				*json_size = out->size - begin;
			append_binary(out, &outputs[i]);
		}
	return SP_OK;
}
