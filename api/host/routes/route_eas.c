#include "api/host/routes/route_eas.h"

#include <string.h>

#include "api/host/eas/eas_token.h"
#include "api/host/routes/route_body.h"
#include "api/host/routes/route_errors.h"
#include "base/clock.h"
#include "base/percent.h"
#include "base/wire.h"

enum { MAX_NAME = 512, SIGNATURE_NAME = 1 };

/* The service of the path; false if it has none. */
static bool read_name(char out[MAX_NAME], const sp_http_request *request)
{
	sp_bytes path = sp_http_request_head(request)->path;
	size_t begin = strlen(SP_ROUTE_EAS);
	sp_bytes name = {path.data + begin, path.size - begin};

	if (name.size != 0 && name.data[name.size - 1] == '/')
		name.size--;
	return name.size != 0 && memchr(name.data, '/', name.size) == NULL &&
	       sp_percent_decode(out, MAX_NAME, name);
}

static int hold(sp_serving *serving, const sp_http_request *request, sp_sticky_body *body,
		sp_servable *out, sp_error *err)
{
	char name[MAX_NAME];
	sp_model_selector selector;
	sp_status status;

	(void)read_name(name, request); /* it has one: the route has looked */
	selector = (sp_model_selector){.name = sp_bytes_of(name)};
	sp_route__use_headers(&selector, request);
	status = sp_models_acquire(serving->models, &selector, out, err);
	sp_models_follow_field(serving->models, out, sp_sticky_find, body);
	return sp_route__selection_status(status);
}

/*
 * The signature that the message names, if the version has it, else the default one: DeepRec's
 * processor ignores the name, so clients send any.
 */
static const char *signature_of(const sp_servable *servable, sp_bytes message)
{
	sp_host_signatures set = sp_route__signatures(servable);
	const sp_host_signature *named = NULL;
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == SIGNATURE_NAME && field.type == SP_WIRE_BYTES)
			named = sp_host_signature_find(&set, field.bytes);
	if (named != NULL)
		return named->name;
	return set.fallback != NULL ? set.fallback->name : NULL;
}

/* An empty message asks for the signature. */
static sp_status answer(const sp_servable *servable, sp_bytes message,
			const sp_infer_limits *limits, sp_buffer *out, sp_error *err)
{
	const serving_processor_run_options options = {.size = sizeof(options),
						       .deadline_ns = limits->deadline_ns,
						       .cancelled = limits->cancelled};
	serving_processor_error *error = NULL;
	int64_t began = sp_clock_now_ns();
	void *data = NULL;
	size_t size = 0;
	serving_processor_code code = serving_processor_handle_process(
		servable->handle, signature_of(servable, message), message.data, message.size,
		&options, &data, &size, &error);

	if (code != SERVING_PROCESSOR_OK) {
		sp_error_set(err, (sp_status)code, "%s", serving_processor_error_text(error));
		serving_processor_error_free(error);
		return (sp_status)code;
	}
	sp_histogram_add(&servable->model->counters.runtime, sp_clock_now_ns() - began);
	atomic_fetch_add_explicit(&servable->served->runs, 1, memory_order_relaxed);
	sp_buffer_append(out, data, size);
	serving_processor_free(data);
	return out->failed ? sp_no_memory(err, "the answer") : SP_OK;
}

static bool is_allowed(const sp_serving *serving, const sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	sp_eas_request signed_parts = {.method = head->method_name,
				       .authorization = sp_http_head_get(head, "authorization"),
				       .content_md5 = sp_http_head_get(head, "content-md5"),
				       .content_type = sp_http_head_get(head, "content-type"),
				       .date = sp_http_head_get(head, "date"),
				       .path = head->path,
				       .body = sp_http_request_body(request)};

	return serving->flags->eas_token == NULL ||
	       sp_eas_token_check(&signed_parts, serving->flags->eas_token);
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	bool get = sp_http_request_head(request)->method != SP_HTTP_POST;
	sp_infer_limits limits = sp_route__limits(request);
	sp_servable servable = {0};
	sp_sticky_body sticky;
	sp_route_body body;
	sp_buffer out;
	sp_error err;
	int status = sp_route__read_body(&body, serving, request, &err);

	sticky = (sp_sticky_body){
		.form = SP_STICKY_EAS, .bytes = body.bytes, .arena = worker->arena};
	sp_route__init_answer(&out, serving);
	if (status == 200)
		status = hold(serving, request, &sticky, &servable, &err);
	if (status == 200)
		status = sp_route__http_status(answer(
			&servable, get ? (sp_bytes){NULL, 0} : body.bytes, &limits, &out, &err));
	sp_servable_release(&servable);
	sp_route__body_fini(&body);
	sp_route__answer(serving, request, status, get ? NULL : "application/octet-stream", &out,
			 NULL, 0, &err);
}

void sp_route_eas(sp_serving *serving, sp_http_request *request)
{
	sp_http_method method = sp_http_request_head(request)->method;
	sp_model *model = NULL;
	char name[MAX_NAME];

	if (!read_name(name, request)) {
		sp_http_request_fail(request, 404, "Not found");
		return;
	}
	model = sp_models_find(serving->models, sp_bytes_of(name));
	if (method != SP_HTTP_GET && method != SP_HTTP_HEAD && method != SP_HTTP_POST)
		sp_route__refuse_method(request, "GET, HEAD, POST");
	else if (!is_allowed(serving, request))
		sp_http_request_fail(request, 401, "Invalid token");
	else if (model == NULL)
		sp_http_request_fail(request, 404, "no such service");
	else {
		sp_serving_tag(request, SP_REQUEST_PREDICT, model);
		sp_route__enqueue(serving, request, compute);
	}
}
