#include <string.h>

#include "api/host/grpc/grpc.h"
#include "api/host/grpc/grpc_call.h"
#include "api/host/grpc/grpc_health.h"
#include "api/host/grpc/grpc_reflection.h"
#include "api/host/http/content_coding.h"
#include "base/alloc.h"
#include "base/clock.h"

/* The methods with streams: Health/Watch, and reflection, which answers message by message. */

enum { MAX_MESSAGE = 64 << 10, MAX_ANSWER = 256 << 10, MAX_SERVICE = 512 };

typedef struct call {
	sp_serving *serving;
	bool watch; /* else reflection */
	char encoding[16];
	sp_buffer in; /* the start of a message that is incomplete */

	/* Of a watch, once it has been asked. */
	bool asked;
	char service[MAX_SERVICE];
	size_t service_size;
	sp_grpc_health told;
} call;

static void end(sp_http_stream *stream, sp_grpc_code code, const char *text)
{
	sp_grpc_failure failure;

	sp_http_stream_end(stream, sp_grpc__failure(&failure, code, text));
}

/* Sends what is in `out` behind its prefix, or ends the stream. */
static bool send(sp_http_stream *stream, sp_buffer *out)
{
	static const sp_http_answer head = {.status = 200, .content_type = "application/grpc"};

	sp_grpc_frame_end(out, false);
	if (!out->failed && sp_http_stream_send(stream, &head, (sp_bytes){out->data, out->size}))
		return true;
	end(stream, SP_GRPC_RESOURCE_EXHAUSTED, "the client does not take the answers");
	return false;
}

/* Tells the state of the watched service, if it has changed. */
static void tell(call *c, sp_http_stream *stream)
{
	sp_grpc_health health = sp_grpc__health(c->serving,
						(sp_bytes){c->service, c->service_size});
	sp_buffer out;

	if (health == c->told)
		return;
	c->told = health;
	sp_buffer_init(&out, MAX_ANSWER);
	sp_grpc_frame_begin(&out);
	sp_grpc__health_response(&out, health);
	(void)send(stream, &out);
	sp_buffer_fini(&out);
}

/* --------------------------------------------------------------- one message */

static sp_status watch(call *c, sp_bytes message, sp_error *err)
{
	sp_bytes service;

	SP_TRY(sp_grpc__health_request(&service, message, err));
	if (c->asked || service.size > MAX_SERVICE)
		return sp_error_set(err, SP_INVALID, "the request is not one HealthCheckRequest");
	if (service.size != 0)
		memcpy(c->service, service.data, service.size);
	c->service_size = service.size;
	c->asked = true;
	return SP_OK;
}

/* False: the stream has ended. */
static bool take_message(call *c, sp_http_stream *stream, sp_bytes message)
{
	sp_status status;
	sp_buffer out;
	sp_error err;
	bool goes_on = true;

	sp_buffer_init(&out, MAX_ANSWER);
	sp_grpc_frame_begin(&out);
	status = c->watch ? watch(c, message, &err) : sp_grpc_reflect(&out, message, &err);
	if (status != SP_OK) {
		end(stream, sp_grpc_code_of(status), err.text);
		goes_on = false;
	} else if (c->watch) {
		tell(c, stream);
	} else {
		goes_on = send(stream, &out);
	}
	sp_buffer_fini(&out);
	return goes_on;
}

static bool take_compressed(call *c, sp_http_stream *stream, sp_bytes message)
{
	sp_arena *arena = sp_arena_create(MAX_MESSAGE);
	sp_grpc_code code = SP_GRPC_RESOURCE_EXHAUSTED;
	bool goes_on = false;
	sp_error err;

	if (arena == NULL) {
		end(stream, code, "no memory for a compressed message");
		return false;
	}
	if (sp_grpc__decompress(&message, sp_bytes_of(c->encoding), MAX_MESSAGE, arena, &code,
				&err) == SP_OK)
		goes_on = take_message(c, stream, message);
	else
		end(stream, code != SP_GRPC_OK ? code : sp_grpc_code_of(err.status), err.text);
	sp_arena_destroy(arena);
	return goes_on;
}

/* ------------------------------------------------------------------ the stream */

static void data(void *state, sp_http_stream *stream, sp_bytes bytes)
{
	sp_grpc_frame frame;
	size_t taken = 0;
	call *c = state;

	sp_buffer_append(&c->in, bytes.data, bytes.size);
	for (;;) {
		sp_bytes rest = {c->in.data + taken, c->in.size - taken};
		sp_grpc_read result = sp_grpc_frame_read(&frame, rest);
		bool too_large = c->in.failed ||
				 (result == SP_GRPC_READ_MORE && frame.size > MAX_MESSAGE);

		if (too_large || result == SP_GRPC_READ_BAD) {
			end(stream, too_large ? SP_GRPC_RESOURCE_EXHAUSTED : SP_GRPC_INTERNAL,
			    too_large ? "the message is too large"
				      : "the request is not a message of gRPC");
			return;
		}
		if (result == SP_GRPC_READ_MORE)
			break;
		taken += frame.size;
		if (!(frame.compressed ? take_compressed(c, stream, frame.message)
				       : take_message(c, stream, frame.message)))
			return;
	}
	if (taken != 0) {
		memmove(c->in.data, c->in.data + taken, c->in.size - taken);
		c->in.size -= taken;
	}
}

static void end_of_data(void *state, sp_http_stream *stream)
{
	call *c = state;

	if (c->in.size != 0 || (c->watch && !c->asked))
		end(stream, SP_GRPC_INTERNAL, "the request ends within a message");
	else if (!c->watch)
		end(stream, SP_GRPC_OK, "");
}

static void tick(void *state, sp_http_stream *stream)
{
	call *c = state;

	if (c->asked)
		tell(c, stream);
}

static void closed(void *state)
{
	call *c = state;

	sp_buffer_fini(&c->in);
	sp_free(c);
}

static const sp_http_stream_handler handler = {data, end_of_data, tick, closed};

static bool has_streams(sp_bytes path, bool *watch)
{
	*watch = sp_bytes_equal_text(path, "/grpc.health.v1.Health/Watch");
	return *watch ||
	       sp_bytes_equal_text(path,
				   "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") ||
	       sp_bytes_equal_text(
		       path, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
}

static void note_encoding(call *c, sp_bytes name)
{
	if (name.size < sizeof(c->encoding) && name.size != 0)
		memcpy(c->encoding, name.data, name.size);
	else if (name.size != 0)
		strcpy(c->encoding, "unknown");
}

const sp_http_stream_handler *sp_grpc_open_stream(sp_serving *serving, sp_http_stream *stream,
						  const sp_http_head *head, void **state)
{
	sp_bytes timeout = sp_http_head_get(head, "grpc-timeout");
	bool is_watch;
	int64_t ns;
	call *c;

	if (!has_streams(head->path, &is_watch) || head->method != SP_HTTP_POST ||
	    !sp_grpc_is_content_type(sp_http_head_get(head, "content-type")))
		return NULL;
	c = sp_alloc_zero(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->serving = serving;
	c->watch = is_watch;
	note_encoding(c, sp_http_head_get(head, "grpc-encoding"));
	/* What one call of data() brings, and the start of a message from before. */
	sp_buffer_init(&c->in, 2 * SP_HTTP_STREAM_BYTES);
	if (timeout.size != 0 && sp_grpc_timeout(timeout, &ns))
		sp_http_stream_set_deadline(stream, sp_clock_now_ns() + ns);
	*state = c;
	return &handler;
}
