#include "api/host/grpc/grpc_call.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/host/messages/infer_message.h"
#include "api/host/routes/route_errors.h"

enum {
	MAX_ANSWER_BYTES = 1 << 30,
	HERE_BYTES = 1 << 20,    /* of a compressed message on the I/O thread */
	COMPRESS_FROM = 1 << 10, /* bytes */
	KEEP_ARENA = 4 << 20,
};

#define TYPE      "application/grpc"
#define ENCODINGS "identity, deflate, gzip"

static sp_http_header field(const char *name, const char *value)
{
	return (sp_http_header){sp_bytes_of(name), sp_bytes_of(value)};
}

/* -------------------------------------------------------------------- answers */

const sp_http_answer *sp_grpc__failure(sp_grpc_failure *out, sp_bytes id, sp_grpc_code code,
				       const char *text)
{
	snprintf(out->code, sizeof(out->code), "%d", (int)code);
	sp_grpc_message(out->message, sizeof(out->message), text);
	out->fields[0] = field("grpc-status", out->code);
	out->fields[1] = field("grpc-message", out->message);
	out->fields[2] = field("grpc-accept-encoding", ENCODINGS);
	out->answer = (sp_http_answer){.status = 200,
				       .content_type = TYPE,
				       .trailers = out->fields,
				       .trailer_count = code == SP_GRPC_OK ? 1 : 3,
				       .outcome = sp_grpc_http_status(code),
				       .reason = text};
	if (id.data != NULL) {
		sp_buffer_init(&out->body, SIZE_MAX / 2);
		sp_grpc_frame_begin(&out->body);
		sp_infer_message_encode_error(&out->body, id, text);
		sp_grpc_frame_end(&out->body, false);
		out->answer.body = &out->body;
	}
	return &out->answer;
}

void sp_grpc__fail(sp_http_request *request, sp_grpc_code code, const char *text)
{
	sp_grpc_failure failure;

	sp_http_request_answer(
		request, sp_grpc__failure(&failure, sp_http_request_label(request), code, text));
}

sp_content_coding sp_grpc__answer_coding(const sp_serving *serving, const sp_http_head *head)
{
	if (!serving->flags->grpc_compress_answers)
		return SP_CODING_IDENTITY;
	return sp_content_coding_accepted(sp_http_head_get(head, "grpc-accept-encoding"));
}

sp_http_answer sp_grpc__head(sp_http_header headers[SP_GRPC_HEADERS], sp_content_coding coding)
{
	const char *name = sp_content_coding_name(coding);

	headers[0] = field("grpc-accept-encoding", ENCODINGS);
	if (name != NULL)
		headers[1] = field("grpc-encoding", name);
	return (sp_http_answer){.status = 200,
				.content_type = TYPE,
				.headers = headers,
				.header_count = name != NULL ? 2 : 1};
}

/* Replaces the answer's message by its compressed form. */
static sp_status compress(sp_grpc_call *call, sp_content_coding encoding, sp_error *err)
{
	sp_bytes message = {call->out.data + SP_GRPC_PREFIX, call->out.size - SP_GRPC_PREFIX};
	sp_buffer smaller;

	sp_buffer_init(&smaller, MAX_ANSWER_BYTES);
	sp_buffer_set_budget(&smaller, &call->serving->memory);
	sp_grpc_frame_begin(&smaller);
	sp_content_encode(&smaller, encoding, message);
	if (smaller.failed) {
		sp_buffer_fini(&smaller);
		return sp_no_memory(err, "the compressed answer");
	}
	sp_buffer_fini(&call->out);
	call->out = smaller;
	return SP_OK;
}

static void answer_ok(sp_grpc_call *call, sp_content_coding encoding)
{
	sp_http_header trailer = field("grpc-status", "0"), headers[SP_GRPC_HEADERS];
	sp_http_answer made = sp_grpc__head(headers, encoding);

	sp_grpc_frame_end(&call->out, encoding != SP_CODING_IDENTITY);
	made.body = &call->out;
	made.trailers = &trailer;
	made.trailer_count = 1;
	sp_http_request_answer(call->request, &made);
}

/* The label has no id if the message was compressed or the id is long. */
static void fail(sp_grpc_call *call, sp_grpc_code code, const char *text)
{
	sp_bytes id = sp_http_request_label(call->request);
	sp_grpc_failure failure;

	if (id.data != NULL && id.size == 0)
		id = sp_infer_message_id(call->message);
	sp_http_request_answer(call->request, sp_grpc__failure(&failure, id, code, text));
}

static void answer(sp_grpc_call *call, sp_status status, sp_error *err)
{
	sp_content_coding encoding = SP_CODING_IDENTITY;

	if (status == SP_OK && call->out.failed)
		status = sp_no_memory(err, "the answer");
	if (status == SP_OK && call->out.size >= COMPRESS_FROM)
		encoding = sp_grpc__answer_coding(call->serving,
						  sp_http_request_head(call->request));
	if (encoding != SP_CODING_IDENTITY)
		status = compress(call, encoding, err);
	if (status == SP_OK)
		answer_ok(call, encoding);
	else
		fail(call, call->code != SP_GRPC_OK ? call->code : sp_grpc_code_of(status),
		     err->text);
}

/* ------------------------------------------------------------------- requests */

/* Sets the error of a body that is not exactly one message. */
static sp_status fail_framing(sp_grpc_call *call, const char *text, sp_error *err)
{
	call->code = SP_GRPC_INTERNAL;
	return sp_error_set(err, SP_INVALID, "%s", text);
}

sp_status sp_grpc__decompress(sp_bytes *message, sp_bytes encoding_name, size_t max_bytes,
			      sp_arena *arena, sp_grpc_code *code, sp_error *err)
{
	sp_content_coding encoding = sp_content_coding_of(encoding_name);
	sp_buffer larger;
	sp_status status;

	if (encoding == SP_CODING_UNKNOWN) {
		*code = SP_GRPC_UNIMPLEMENTED;
		return sp_error_set(err, SP_UNSUPPORTED,
				    "grpc-encoding is not supported; supported are " ENCODINGS);
	}
	*code = SP_GRPC_INTERNAL;
	if (encoding == SP_CODING_IDENTITY)
		return sp_error_set(err, SP_INVALID,
				    "the message is compressed, but grpc-encoding is missing");
	sp_buffer_init(&larger, max_bytes);
	sp_buffer_set_budget(&larger, sp_arena_budget(arena));
	status = sp_content_decode(&larger, encoding, *message, err);
	if (status != SP_INVALID)
		*code = SP_GRPC_OK;
	if (status == SP_OK) {
		char *copy = sp_arena_alloc(arena, larger.size);

		if (copy == NULL)
			status = sp_no_memory(err, "a compressed message");
		else if (larger.size != 0)
			memcpy(copy, larger.data, larger.size);
		*message = (sp_bytes){copy, larger.size};
	}
	sp_buffer_fini(&larger);
	return status;
}

static sp_status read_message(sp_grpc_call *call, size_t max_bytes, sp_error *err)
{
	sp_bytes body = sp_http_request_body(call->request);
	sp_bytes encoding = sp_http_head_get(sp_http_request_head(call->request), "grpc-encoding");
	sp_grpc_frame frame;

	if (sp_grpc_frame_read(&frame, body) != SP_GRPC_READ_DONE)
		return fail_framing(call, "the request is not a complete message of gRPC", err);
	if (frame.size != body.size)
		return fail_framing(call, "the request has more than one message", err);
	if (frame.compressed)
		SP_TRY(sp_grpc__decompress(&frame.message, encoding, max_bytes, call->memory.arena,
					   &call->code, err));
	call->message = frame.message;
	return SP_OK;
}

static void run(sp_grpc_call *call, size_t max_bytes, sp_grpc_handler *handler)
{
	sp_status status;
	sp_error err;

	sp_buffer_init(&call->out, MAX_ANSWER_BYTES);
	sp_buffer_set_budget(&call->out, &call->serving->memory);
	sp_grpc_frame_begin(&call->out);
	status = read_message(call, max_bytes, &err);
	if (status == SP_OK)
		status = handler(call, &err);
	answer(call, status, &err);
	if (sp_arena_footprint(call->memory.arena) > KEEP_ARENA)
		sp_arena_trim(call->memory.arena);
	sp_buffer_fini(&call->out);
}

void sp_grpc__call(sp_serving *serving, sp_http_request *request, sp_message_memory *memory,
		   sp_grpc_handler *handler)
{
	sp_grpc_call call = {.serving = serving, .request = request, .memory = *memory};

	run(&call, (size_t)serving->flags->max_body_bytes, handler);
}

void sp_grpc__call_here(sp_serving *serving, sp_http_request *request, sp_grpc_handler *handler)
{
	enum { FIRST_ARENA = 16 << 10 };
	sp_grpc_call call = {.serving = serving, .request = request};

	call.memory.arena = sp_arena_create(FIRST_ARENA);
	if (call.memory.arena == NULL) {
		sp_grpc__fail(request, SP_GRPC_RESOURCE_EXHAUSTED, "no memory for the call");
		return;
	}
	sp_arena_set_budget(call.memory.arena, &serving->memory);
	run(&call, HERE_BYTES, handler);
	sp_arena_destroy(call.memory.arena);
}

/* ------------------------------------------------------ steps of the handlers */

sp_infer_limits sp_grpc__limits(const sp_grpc_call *call)
{
	return (sp_infer_limits){sp_http_request_deadline_ns(call->request),
				 sp_http_request_cancel_flag(call->request),
				 sp_http_request_record(call->request)};
}

static sp_status acquire(sp_grpc_call *call, sp_servable *out, sp_model_selector *selector,
			 sp_error *err)
{
	sp_status status;

	sp_route__use_headers(selector, call->request);
	status = sp_models_acquire(call->serving->models, selector, out, err);
	if (status == SP_BUSY) /* the first version is still loading */
		call->code = SP_GRPC_UNAVAILABLE;
	return status;
}

sp_status sp_grpc__select(sp_model_selector *out, const sp_model_spec *spec, sp_error *err)
{
	*out = (sp_model_selector){.name = spec->name,
				   .has_version = spec->has_version,
				   .version = spec->version,
				   .label = spec->label};
	return spec->name.size != 0 ? SP_OK : sp_error_set(err, SP_INVALID, "Missing ModelSpec");
}

sp_status sp_grpc__acquire(sp_grpc_call *call, sp_servable *out, const sp_model_spec *spec,
			   sp_error *err)
{
	sp_model_selector selector;

	SP_TRY(sp_grpc__select(&selector, spec, err));
	return acquire(call, out, &selector, err);
}

sp_status sp_grpc__acquire_named(sp_grpc_call *call, sp_servable *out, sp_bytes name,
				 sp_bytes version, sp_error *err)
{
	sp_model_selector selector = {.name = name, .has_version = version.size != 0};

	for (size_t i = 0; i < version.size; i++) {
		char digit = version.data[i];

		if (digit < '0' || digit > '9' ||
		    __builtin_mul_overflow(selector.version, (int64_t)10, &selector.version) ||
		    __builtin_add_overflow(selector.version, (int64_t)(digit - '0'),
					   &selector.version))
			return sp_error_set(err, SP_INVALID,
					    "failed to get model version from specified version "
					    "string '%.*s'",
					    sp_bytes_shown(version, 64), version.data);
	}
	return acquire(call, out, &selector, err);
}
