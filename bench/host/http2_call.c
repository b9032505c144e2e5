#include "bench/host/http2_call.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

enum { WINDOW = 1 << 24, MOST_BODY = 1 << 20 };

struct http2_call {
	nghttp2_session *session;
	const http2_request *request;
	size_t sent; /* of the request's body */
	int32_t stream;
	bool ended;
	int status;
	char *body; /* [MOST_BODY] */
	size_t size;
};

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *user)
{
	static const char status[] = "grpc-status";
	http2_call *call = user;

	(void)session;
	(void)frame;
	(void)value_size;
	(void)flags;
	if (name_size == strlen(status) && memcmp(name, status, name_size) == 0)
		call->status = atoi((const char *)value);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
		   size_t size, void *user)
{
	http2_call *call = user;

	(void)session;
	(void)flags;
	if (stream != call->stream || size > MOST_BODY - call->size)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	memcpy(call->body + call->size, data, size);
	call->size += size;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
	http2_call *call = user;

	(void)session;
	(void)code;
	if (stream == call->stream)
		call->ended = true;
	return 0;
}

http2_call *http2_call_new(const http2_request *request)
{
	static const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW};
	http2_call *call = calloc(1, sizeof(*call));
	nghttp2_session_callbacks *callbacks;

	if (call == NULL || nghttp2_session_callbacks_new(&callbacks) != 0)
		abort();
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	call->request = request;
	call->body = malloc(MOST_BODY);
	if (call->body == NULL || nghttp2_session_client_new(&call->session, callbacks, call) != 0)
		abort();
	nghttp2_session_callbacks_del(callbacks);
	if (nghttp2_submit_settings(call->session, NGHTTP2_FLAG_NONE, &window, 1) != 0 ||
	    nghttp2_session_set_local_window_size(call->session, NGHTTP2_FLAG_NONE, 0, WINDOW) != 0)
		abort();
	return call;
}

void http2_call_free(http2_call *call)
{
	nghttp2_session_del(call->session);
	free(call->body);
	free(call);
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room,
			 uint32_t *flags, nghttp2_data_source *source, void *user)
{
	http2_call *call = user;
	size_t left = call->request->size - call->sent, size = left < room ? left : room;

	(void)session;
	(void)stream;
	(void)source;
	memcpy(out, call->request->body + call->sent, size);
	call->sent += size;
	if (size == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)size;
}

static nghttp2_nv field_of(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			    strlen(value), NGHTTP2_NV_FLAG_NONE};
}

void http2_call_begin(http2_call *call)
{
	const nghttp2_nv fields[] = {field_of(":method", "POST"),
				     field_of(":scheme", "http"),
				     field_of(":path", call->request->path),
				     field_of(":authority", "localhost"),
				     field_of("te", "trailers"),
				     field_of("content-type", "application/grpc")};
	const nghttp2_data_provider body = {.read_callback = read_body};

	call->sent = 0;
	call->size = 0;
	call->ended = false;
	call->status = -1;
	call->stream = nghttp2_submit_request(call->session, NULL, fields,
					      sizeof(fields) / sizeof(fields[0]), &body, NULL);
	if (call->stream < 0)
		call->ended = true;
}

const char *http2_call_output(http2_call *call, size_t *size)
{
	const uint8_t *data;
	ssize_t n = nghttp2_session_mem_send(call->session, &data);

	if (n <= 0)
		return NULL;
	*size = (size_t)n;
	return (const char *)data;
}

bool http2_call_input(http2_call *call, const char *data, size_t size)
{
	return nghttp2_session_mem_recv(call->session, (const uint8_t *)data, size) ==
	       (ssize_t)size;
}

bool http2_call_answer(const http2_call *call, http2_answer *answer)
{
	*answer = (http2_answer){call->status, call->body, call->size};
	return call->ended;
}
