#include "api/host/describe/describe.h"
#include "api/host/json/json_indent.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/* GET of a model's status and metadata, laid out as by TensorFlow Serving. */

enum { MAX_BYTES = 64 << 20 };

/* Appends the value in `part`, laid out, and empties it. */
static void move_indented(sp_buffer *out, sp_buffer *part)
{
	out->failed |= part->failed;
	if (!out->failed)
		sp_json_indent(out, (sp_bytes){part->data, part->size});
	sp_buffer_clear(part);
}

static sp_status write_status(sp_buffer *out, sp_buffer *part, sp_serving *serving,
			      const sp_route_path *path, sp_error *err)
{
	const sp_model_selector selector = sp_route__selector(path);
	sp_document d = sp_document_of(part, true);

	SP_TRY(sp_describe_selected(&d, serving->models, &selector, err));
	move_indented(out, part);
	return SP_OK;
}

/* Two of protobuf's texts within one of TensorFlow Serving's own. */
static sp_status write_metadata(sp_buffer *out, sp_buffer *part, sp_serving *serving,
				const sp_route_path *path, sp_error *err)
{
	const sp_model_selector selector = sp_route__selector(path);
	sp_document d = sp_document_of(part, true);
	sp_document_mark spec;
	sp_servable servable;

	SP_TRY(sp_models_acquire(serving->models, &selector, &servable, err));
	spec = sp_document_open(&d, NULL, 0);
	sp_document_text(&d, "name", 0, sp_bytes_of(servable.model->name));
	sp_document_text(&d, "signature_name", 0, (sp_bytes){"", 0});
	sp_document_int64(&d, "version", 0, servable.version);
	sp_document_close(&d, spec);
	sp_buffer_append_text(out, "{\n\"model_spec\":");
	move_indented(out, part);
	/* A map inside a message of the same name, so the key occurs twice. */
	sp_buffer_append_text(out, ",\n\"metadata\": {\"signature_def\": ");
	d = sp_document_of(part, true);
	sp_describe_signatures(&d, servable.handle);
	move_indented(out, part);
	sp_buffer_append_text(out, "}\n}\n");
	sp_servable_release(&servable);
	return SP_OK;
}

void sp_route_status(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	bool metadata = path->verb == SP_MODEL_METADATA;
	sp_buffer body, part;
	sp_status status;
	sp_error err;

	sp_buffer_init(&body, MAX_BYTES);
	sp_buffer_init(&part, MAX_BYTES);
	status = (metadata ? write_metadata : write_status)(&body, &part, serving, path, &err);
	sp_buffer_fini(&part);
	sp_route__finish(request, sp_route__selection_status(status), &body, &err);
}
