#include <string.h>

#include "api/host/grpc/grpc.h"
#include "api/host/grpc/grpc_call.h"
#include "api/host/grpc/grpc_health.h"
#include "api/host/grpc/grpc_reflection.h"
#include "api/host/http/content_coding.h"
#include "api/host/messages/infer_message.h"
#include "base/alloc.h"
#include "base/clock.h"

/*
 * The methods with streams.  Reflection and Health/Watch are answered here, message by message.
 * Each message of ModelStreamInfer becomes a request of its own, which takes the way of a unary
 * call of that method (grpc_predict.c); http_stream.h keeps their order and holds the client back.
 */

/* Limits of Watch and reflection. */
enum { MAX_MESSAGE = 64 << 10, MAX_ANSWER = 256 << 10, MAX_SERVICE = 512 };

typedef enum stream_kind { WATCH, REFLECT, INFER } stream_kind;

typedef struct call {
	sp_serving *serving;
	stream_kind kind;
	char encoding[16];         /* of the messages */
	sp_content_coding answers; /* what the answers of INFER may be compressed with */
	sp_buffer in;              /* the start of a message that is incomplete, and its prefix */
	int64_t began_ns;          /* when the first byte of that message was taken */

	/* Watch: the service that is watched, once `asked` is set, and the state last told. */
	bool asked;
	char service[MAX_SERVICE];
	size_t service_size;
	sp_grpc_health told;
} call;

static void end(sp_http_stream *stream, sp_grpc_code code, const char *text)
{
	sp_grpc_failure failure;

	sp_http_stream_end(stream, sp_grpc__failure(&failure, (sp_bytes){NULL, 0}, code, text));
}

/* ---------------------------------------------------------- Watch and reflection */

/* Sends what is in `out` behind its prefix, or ends the stream. */
static bool send(sp_http_stream *stream, sp_buffer *out)
{
	sp_grpc_frame_end(out, false);
	if (!out->failed && sp_http_stream_send(stream, (sp_bytes){out->data, out->size}))
		return true;
	end(stream, SP_GRPC_RESOURCE_EXHAUSTED, "the client does not take the answers");
	return false;
}

/* Sends the state of the watched service if it has changed since the last message. */
static bool tell(call *c, sp_http_stream *stream)
{
	sp_grpc_health health = sp_grpc__health(c->serving,
						(sp_bytes){c->service, c->service_size});
	sp_buffer out;
	bool goes_on;

	if (health == c->told)
		return true;
	c->told = health;
	sp_buffer_init(&out, MAX_ANSWER);
	sp_grpc_frame_begin(&out);
	sp_grpc__health_response(&out, health);
	goes_on = send(stream, &out);
	sp_buffer_fini(&out);
	return goes_on;
}

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

/* Answers a message of Watch or reflection; false: the stream has ended. */
static bool answer(call *c, sp_http_stream *stream, sp_bytes message)
{
	sp_status status;
	sp_buffer out;
	sp_error err;
	bool goes_on = false;

	sp_buffer_init(&out, MAX_ANSWER);
	sp_grpc_frame_begin(&out);
	status = c->kind == WATCH ? watch(c, message, &err) : sp_grpc_reflect(&out, message, &err);
	if (status != SP_OK)
		end(stream, sp_grpc_code_of(status), err.text);
	else
		goes_on = c->kind == WATCH ? tell(c, stream) : send(stream, &out);
	sp_buffer_fini(&out);
	return goes_on;
}

static bool answer_compressed(call *c, sp_http_stream *stream, sp_bytes message)
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
		goes_on = answer(c, stream, message);
	else
		end(stream, code != SP_GRPC_OK ? code : sp_grpc_code_of(err.status), err.text);
	sp_arena_destroy(arena);
	return goes_on;
}

/* --------------------------------------------------------------- one message */

/* Makes a request of a message of INFER; its label is the message's id. */
static bool ask(call *c, sp_http_stream *stream, const sp_grpc_frame *frame)
{
	sp_bytes id = frame->compressed ? (sp_bytes){"", 0} : sp_infer_message_id(frame->message);

	if (sp_http_stream_ask(stream, id, &c->in))
		return true;
	end(stream, SP_GRPC_RESOURCE_EXHAUSTED, "no memory for the message");
	return false;
}

static bool take_message(call *c, sp_http_stream *stream, const sp_grpc_frame *frame)
{
	bool goes_on;

	if (c->kind == INFER)
		return ask(c, stream, frame);
	goes_on = frame->compressed ? answer_compressed(c, stream, frame->message)
				    : answer(c, stream, frame->message);
	sp_buffer_clear(&c->in);
	return goes_on;
}

/* Appends bytes up to the end of the message that has begun; returns how many. */
static size_t append(call *c, sp_bytes bytes)
{
	sp_grpc_frame frame;
	size_t wanted;

	if (c->in.size == 0)
		c->began_ns = sp_clock_now_ns();
	(void)!sp_grpc_frame_read(&frame, (sp_bytes){c->in.data, c->in.size});
	wanted = frame.size - c->in.size;
	if (wanted > bytes.size)
		wanted = bytes.size;
	sp_buffer_append(&c->in, bytes.data, wanted);
	return wanted;
}

/* Takes the message if it is complete.  False: the stream has ended. */
static bool check_message(call *c, sp_http_stream *stream)
{
	size_t most = c->kind == INFER ? (size_t)c->serving->flags->max_body_bytes : MAX_MESSAGE;
	sp_grpc_frame frame;
	sp_grpc_read result = sp_grpc_frame_read(&frame, (sp_bytes){c->in.data, c->in.size});

	if (result == SP_GRPC_READ_BAD)
		end(stream, SP_GRPC_INTERNAL, "the request is not a message of gRPC");
	else if (frame.size > most)
		end(stream, SP_GRPC_RESOURCE_EXHAUSTED, "the message is too large");
	else if (c->in.failed)
		end(stream, SP_GRPC_RESOURCE_EXHAUSTED, "no memory for the message");
	else
		return result == SP_GRPC_READ_MORE || take_message(c, stream, &frame);
	return false;
}

/* ------------------------------------------------------------------ the stream */

static size_t data(void *state, sp_http_stream *stream, sp_bytes bytes)
{
	size_t taken = 0;
	call *c = state;
	sp_http_header headers[SP_GRPC_HEADERS];
	const sp_http_answer head = sp_grpc__head(headers, c->answers);

	sp_http_stream_begin(stream, &head);
	while (taken < bytes.size && sp_http_stream_has_room(stream)) {
		taken += append(c, (sp_bytes){bytes.data + taken, bytes.size - taken});
		if (!check_message(c, stream))
			break;
	}
	return taken;
}

static void end_of_data(void *state, sp_http_stream *stream)
{
	call *c = state;

	if (c->in.size != 0 || (c->kind == WATCH && !c->asked))
		end(stream, SP_GRPC_INTERNAL, "the request ends within a message");
	else if (c->kind != WATCH)
		end(stream, SP_GRPC_OK, "");
}

/* A client that is held back need not send the rest of its message. */
static void tick(void *state, sp_http_stream *stream)
{
	call *c = state;
	int64_t now = sp_clock_now_ns();

	if (!sp_http_stream_has_room(stream))
		c->began_ns = now;
	if (c->in.size != 0 &&
	    (now - c->began_ns) / 1000000 > c->serving->flags->rest_api_timeout_in_ms)
		end(stream, SP_GRPC_DEADLINE_EXCEEDED, "the message did not arrive in time");
	else if (c->asked)
		(void)tell(c, stream);
}

static void closed(void *state)
{
	call *c = state;

	sp_buffer_fini(&c->in);
	sp_free(c);
}

static const sp_http_stream_handler handler = {data, end_of_data, tick, closed};

static bool has_streams(sp_bytes path, stream_kind *kind)
{
	static const struct {
		const char *path;
		stream_kind kind;
	} methods[] = {
		{"/inference.GRPCInferenceService/ModelStreamInfer", INFER},
		{"/grpc.health.v1.Health/Watch", WATCH},
		{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", REFLECT},
		{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", REFLECT},
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		*kind = methods[i].kind;
		if (sp_bytes_equal_text(path, methods[i].path))
			return true;
	}
	return false;
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
	stream_kind kind;
	int64_t ns;
	call *c;

	if (!has_streams(head->path, &kind) || head->method != SP_HTTP_POST ||
	    !sp_grpc_is_content_type(sp_http_head_get(head, "content-type")))
		return NULL;
	c = sp_alloc_zero(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->serving = serving;
	c->kind = kind;
	c->answers = kind == INFER ? sp_grpc__answer_coding(serving, head) : SP_CODING_IDENTITY;
	note_encoding(c, sp_http_head_get(head, "grpc-encoding"));
	sp_buffer_init(&c->in, SIZE_MAX / 2);
	sp_buffer_set_budget(&c->in, &serving->memory);
	if (timeout.size != 0 && sp_grpc_timeout(timeout, &ns))
		sp_http_stream_set_deadline(stream, sp_clock_now_ns() + ns);
	*state = c;
	return &handler;
}
