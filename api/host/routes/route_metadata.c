#include "api/host/json/json_indent.h"
#include "api/host/json/json_writer.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 64 << 20 };

static void write_text(sp_buffer *out, const char *key, const char *text, bool first)
{
	sp_json_write_key(out, key, first);
	sp_json_write_string(out, sp_bytes_of(text));
}

/* Sizes are strings, as protobuf's JSON mapping writes an int64. */
static void write_shape(sp_buffer *out, const serving_processor_tensor_info *info)
{
	sp_buffer_append_text(out, "{\"dim\":[");
	for (int i = 0; i < info->rank; i++) {
		sp_buffer_append_text(out, i == 0 ? "{\"size\":\"" : ",{\"size\":\"");
		sp_json_write_i64(out, info->dims[i]);
		sp_buffer_append_text(out, "\",\"name\":\"\"}");
	}
	sp_buffer_printf(out, "],\"unknown_rank\":%s}", info->rank < 0 ? "true" : "false");
}

static void write_tensors(sp_buffer *out, const serving_processor_tensor_info *const *infos,
			  size_t count)
{
	sp_buffer_append_char(out, '{');
	for (size_t i = 0; i < count; i++) {
		sp_json_write_key(out, infos[i]->alias, i == 0);
		sp_buffer_append_char(out, '{');
		write_text(out, "dtype", serving_processor_dtype_name(infos[i]->dtype), true);
		sp_json_write_key(out, "tensor_shape", false);
		write_shape(out, infos[i]);
		write_text(out, "name", infos[i]->tensor_name, false);
		sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_char(out, '}');
}

static void write_signature(sp_buffer *out, const serving_processor_signature *signature)
{
	sp_buffer_append_char(out, '{');
	sp_json_write_key(out, "inputs", true);
	write_tensors(out, signature->inputs, signature->input_count);
	sp_json_write_key(out, "outputs", false);
	write_tensors(out, signature->outputs, signature->output_count);
	write_text(out, "method_name", signature->method, false);
	sp_buffer_append_text(out, ",\"defaults\":{}}");
}

static void write_signatures(sp_buffer *out, const serving_processor_signature *signatures,
			     size_t count)
{
	sp_buffer_append_text(out, "{\"signature_def\":{");
	for (size_t i = 0; i < count; i++) {
		sp_json_write_key(out, signatures[i].name, i == 0);
		write_signature(out, &signatures[i]);
	}
	sp_buffer_append_text(out, "}}");
}

/* Appends the value in `part`, laid out, and empties it. */
static void move_indented(sp_buffer *out, sp_buffer *part)
{
	out->failed |= part->failed;
	if (!out->failed)
		sp_json_indent(out, (sp_bytes){part->data, part->size});
	sp_buffer_clear(part);
}

/* Laid out as by TensorFlow Serving: two of protobuf's texts within one of its own. */
static void write_metadata(sp_buffer *out, const char *name, int64_t version,
			   const serving_processor_signature *signatures, size_t count)
{
	sp_buffer part;

	sp_buffer_init(&part, MAX_BYTES);
	sp_buffer_append_char(&part, '{');
	write_text(&part, "name", name, true);
	sp_buffer_append_text(&part, ",\"signature_name\":\"\",\"version\":\"");
	sp_json_write_i64(&part, version);
	sp_buffer_append_text(&part, "\"}");
	sp_buffer_append_text(out, "{\n\"model_spec\":");
	move_indented(out, &part);
	/* A map inside a message of the same name, so the key occurs twice. */
	sp_buffer_append_text(out, ",\n\"metadata\": {\"signature_def\": ");
	write_signatures(&part, signatures, count);
	move_indented(out, &part);
	sp_buffer_append_text(out, "}\n}\n");
	sp_buffer_fini(&part);
}

void sp_route_metadata(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	sp_model_selector selector = sp_route__selector(path);
	const serving_processor_signature *signatures;
	sp_servable servable;
	size_t count;
	sp_buffer body;
	sp_error err;
	sp_status status = sp_models_acquire(serving->models, &selector, &servable, &err);

	if (status != SP_OK) {
		sp_route__fail(request, sp_route__selection_status(status), &err);
		return;
	}
	signatures = serving_processor_handle_signatures(servable.handle, &count);
	sp_buffer_init(&body, MAX_BYTES);
	write_metadata(&body, servable.model->name, servable.version, signatures, count);
	sp_servable_release(&servable);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}
