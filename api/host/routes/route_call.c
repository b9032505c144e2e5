#include "api/host/routes/route_call.h"

#include <string.h>
#include <strings.h>

#include "api/host/http/content_coding.h"
#include "api/host/routes/route_errors.h"

enum { MAX_ANSWER_BYTES = 1 << 30 };

/* Compressing less costs more time than sending it. */
enum { LEAST_COMPRESSED = 4 << 10 };

static sp_bytes header_of(const sp_route_call *call, const char *name)
{
	return sp_http_head_get(sp_http_request_head(call->request), name);
}

/* Returns 200 or the HTTP status of the failure. */
static int read_body(sp_route_call *call, sp_buffer *unpacked, sp_error *err)
{
	sp_content_coding coding = sp_content_coding_of(header_of(call, "content-encoding"));
	sp_status status;

	sp_buffer_init(unpacked, (size_t)call->serving->flags->max_body_bytes);
	call->body = sp_http_request_body(call->request);
	if (coding == SP_CODING_IDENTITY)
		return 200;
	sp_buffer_set_budget(unpacked, &call->serving->memory);
	status = sp_content_decode(unpacked, coding, call->body, err);
	call->body = (sp_bytes){unpacked->data != NULL ? unpacked->data : "", unpacked->size};
	if (status == SP_UNSUPPORTED)
		return 415;
	return status == SP_BUSY ? 413 : sp_route__http_status(status);
}

static bool is_protobuf(const sp_route_call *call)
{
	static const char *const types[] = {"application/x-protobuf", "application/protobuf",
					    "application/vnd.google.protobuf",
					    "application/x-google-protobuf"};
	sp_bytes type = header_of(call, "content-type");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t size = strlen(types[i]);

		if (type.size >= size && strncasecmp(type.data, types[i], size) == 0 &&
		    (type.size == size || type.data[size] == ';' || type.data[size] == ' '))
			return true;
	}
	return false;
}

/* Likewise.  An input in the body, which has this form, may decide about the version. */
static int hold_version(sp_route_call *call, sp_sticky_form form, sp_error *err)
{
	sp_sticky_body body = {.form = form,
			       .bytes = call->body,
			       .json_size = call->json_size,
			       .arena = call->memory.arena};
	sp_model_selector selector;
	sp_route_path path;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(call->request), err);

	if (status != SP_OK)
		return 400;
	call->verb = path.verb;
	selector = sp_route__selector(&path);
	sp_route__use_headers(&selector, call->request);
	status = sp_models_acquire(call->serving->models, &selector, &call->servable, err);
	sp_models_follow_field(call->serving->models, &call->servable, sp_sticky_find, &body);
	return sp_route__selection_status(status);
}

static void init_answer(sp_buffer *out, sp_serving *serving)
{
	sp_buffer_init(out, MAX_ANSWER_BYTES);
	sp_buffer_set_budget(out, &serving->memory);
}

/* Takes the buffer of an earlier answer, if that counts against the budget. */
static void begin_answer(sp_route_call *call)
{
	call->out = sp_http_request_take_buffer(call->request);
	if (call->out.budget != &call->serving->memory) {
		sp_buffer_fini(&call->out);
		init_answer(&call->out, call->serving);
	}
	call->out.max_size = MAX_ANSWER_BYTES;
}

/* Replaces the answer by its compressed form; false if it stays as it is. */
static bool compress(sp_route_call *call, sp_content_coding coding)
{
	sp_buffer packed;

	if (coding == SP_CODING_IDENTITY || call->out.size < LEAST_COMPRESSED || call->out.failed)
		return false;
	init_answer(&packed, call->serving);
	sp_content_encode(&packed, coding, (sp_bytes){call->out.data, call->out.size});
	if (packed.failed || packed.size >= call->out.size) {
		sp_buffer_fini(&packed);
		return false;
	}
	sp_buffer_fini(&call->out);
	call->out = packed;
	return true;
}

static void answer(sp_route_call *call)
{
	sp_content_coding coding = sp_content_coding_accepted(header_of(call, "accept-encoding"));
	sp_http_header headers[2] = {call->header};
	size_t count = call->header.name.size != 0;

	if (compress(call, coding))
		headers[count++] = (sp_http_header){sp_bytes_of("content-encoding"),
						    sp_bytes_of(sp_content_coding_name(coding))};
	sp_http_request_answer(call->request, &(sp_http_answer){.status = 200,
								.content_type = call->type,
								.body = &call->out,
								.headers = headers,
								.header_count = count});
}

static int compute(sp_route_call *call, const sp_route_codec *codec, sp_error *err)
{
	int status;

	if (codec->json_size != NULL)
		call->json_size = codec->json_size(call->request);
	status = hold_version(call, codec->form, err);
	if (status != 200)
		return status;
	call->run = (sp_message_run){&call->servable,
				     {sp_http_request_deadline_ns(call->request),
				      sp_http_request_cancel_flag(call->request),
				      sp_http_request_record(call->request)},
				     &call->memory};
	return sp_route__http_status(codec->answer(call, err));
}

void sp_route__compute(sp_serving *serving, sp_worker *worker, sp_http_request *request,
		       const sp_route_codec *json, const sp_route_codec *message)
{
	sp_route_call call = {.serving = serving,
			      .worker = worker,
			      .request = request,
			      .memory = {worker->arena, worker->input_order}};
	sp_buffer unpacked;
	sp_error err;
	int status = read_body(&call, &unpacked, &err);

	begin_answer(&call);
	if (message != NULL && is_protobuf(&call)) {
		call.type = "application/x-protobuf";
		json = message;
	}
	if (status == 200)
		status = compute(&call, json, &err);
	sp_servable_release(&call.servable);
	sp_worker_trim(worker); /* before sending the answer, which may take long */
	sp_buffer_fini(&unpacked);
	if (status == 200)
		answer(&call);
	else
		sp_route__fail(request, status, &err);
	sp_buffer_fini(&call.out);
}

sp_host_signatures sp_route__signatures(const sp_route_call *call)
{
	sp_host_signatures set = {
		.fallback = serving_processor_handle_signature(
			call->servable.handle, call->servable.served->signature_name)};

	set.signatures = serving_processor_handle_signatures(call->servable.handle, &set.count);
	return set;
}
