#include "api/host/v2/v2_describe.h"

#include <string.h>

#include "api/host/json/json_writer.h"
#include "api/host/messages/infer_message.h"

static void write_text(sp_buffer *out, const char *key, const char *text, bool first)
{
	sp_json_write_key(out, key, first);
	sp_json_write_string(out, sp_bytes_of(text));
}

void sp_v2_write_server(sp_buffer *out)
{
	sp_buffer_append_char(out, '{');
	write_text(out, "name", "serving_host", true);
	write_text(out, "version", serving_processor_version(), false);
	sp_buffer_append_text(out, ",\"extensions\":[\"binary_tensor_data\",\"model_repository\","
				   "\"model_configuration\",\"statistics\"]}");
}

/* Unknown lengths are -1; so is the only length of a tensor of unknown rank. */
static void write_shape(sp_buffer *out, const char *key, const serving_processor_tensor_info *info)
{
	sp_json_write_key(out, key, false);
	sp_buffer_append_text(out, info->rank < 0 ? "[-1" : "[");
	for (int i = 0; i < info->rank; i++) {
		sp_buffer_append_text(out, i == 0 ? "" : ",");
		sp_json_write_i64(out, info->dims[i]);
	}
	sp_buffer_append_char(out, ']');
}

static const char *datatype_of(const serving_processor_tensor_info *info)
{
	const char *datatype = sp_infer_datatype(info->dtype);

	return datatype != NULL ? datatype : "INVALID";
}

static void write_tensors(sp_buffer *out, const char *key,
			  const serving_processor_tensor_info *const *infos, size_t count)
{
	sp_json_write_key(out, key, false);
	sp_buffer_append_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		sp_buffer_append_text(out, i == 0 ? "{" : ",{");
		write_text(out, "name", infos[i]->alias, true);
		write_text(out, "datatype", datatype_of(infos[i]), false);
		write_shape(out, "shape", infos[i]);
		sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_char(out, ']');
}

void sp_v2_write_metadata(sp_buffer *out, const char *model, int64_t version,
			  const serving_processor_signature *signature)
{
	sp_buffer_append_char(out, '{');
	write_text(out, "name", model, true);
	sp_buffer_append_text(out, ",\"versions\":[\"");
	sp_json_write_i64(out, version);
	sp_buffer_append_text(out, "\"]");
	write_text(out, "platform", "tensorflow_savedmodel", false);
	write_tensors(out, "inputs", signature->inputs, signature->input_count);
	write_tensors(out, "outputs", signature->outputs, signature->output_count);
	sp_buffer_append_char(out, '}');
}

/* "TYPE_FP32"; strings are "TYPE_STRING". */
static void write_config_tensors(sp_buffer *out, const char *key,
				 const serving_processor_tensor_info *const *infos, size_t count)
{
	sp_json_write_key(out, key, false);
	sp_buffer_append_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		const char *datatype = datatype_of(infos[i]);

		if (strcmp(datatype, "BYTES") == 0)
			datatype = "STRING";
		sp_buffer_append_text(out, i == 0 ? "{" : ",{");
		write_text(out, "name", infos[i]->alias, true);
		sp_buffer_printf(out, ",\"data_type\":\"TYPE_%s\"", datatype);
		write_shape(out, "dims", infos[i]);
		sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_char(out, ']');
}

void sp_v2_write_config(sp_buffer *out, const char *model,
			const serving_processor_signature *signature)
{
	sp_buffer_append_char(out, '{');
	write_text(out, "name", model, true);
	write_text(out, "platform", "tensorflow_savedmodel", false);
	write_text(out, "backend", "tensorflow", false);
	sp_buffer_append_text(out, ",\"max_batch_size\":0");
	write_config_tensors(out, "input", signature->inputs, signature->input_count);
	write_config_tensors(out, "output", signature->outputs, signature->output_count);
	sp_buffer_append_char(out, '}');
}
