#ifndef SP_TESTS_SUPPORT_HTTP2_CLIENT_H
#define SP_TESTS_SUPPORT_HTTP2_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/http_client.h"

/*
 * A client of HTTP/2 that sends the frames that it is told, right or wrong, and reads frames; the
 * loopback only.  A call that waits gives up after ten seconds.
 */
typedef struct sp_http2_client {
	sp_http_client socket;
	void *inflater;              /* of nghttp2: reads blocks of headers */
	struct sp_http2_frame *kept; /* [kept_count], of streams whose replies have not been read */
	size_t kept_count;
} sp_http2_client;

enum {
	SP_HTTP2_DATA,
	SP_HTTP2_HEADERS,
	SP_HTTP2_PRIORITY,
	SP_HTTP2_RST_STREAM,
	SP_HTTP2_SETTINGS,
	SP_HTTP2_PUSH_PROMISE,
	SP_HTTP2_PING,
	SP_HTTP2_GOAWAY,
	SP_HTTP2_WINDOW_UPDATE,
	SP_HTTP2_CONTINUATION,
	SP_HTTP2_END, /* of the connection */
};

enum { SP_HTTP2_END_STREAM = 1, SP_HTTP2_ACK = 1, SP_HTTP2_END_HEADERS = 4, SP_HTTP2_PADDED = 8 };

/* Codes of errors (RFC 9113, section 7). */
enum {
	SP_HTTP2_NO_ERROR,
	SP_HTTP2_PROTOCOL_ERROR,
	SP_HTTP2_INTERNAL_ERROR,
	SP_HTTP2_FLOW_CONTROL_ERROR,
	SP_HTTP2_SETTINGS_TIMEOUT,
	SP_HTTP2_STREAM_CLOSED,
	SP_HTTP2_FRAME_SIZE_ERROR,
	SP_HTTP2_REFUSED_STREAM,
	SP_HTTP2_CANCEL,
	SP_HTTP2_COMPRESSION_ERROR,
	SP_HTTP2_CONNECT_ERROR,
	SP_HTTP2_ENHANCE_YOUR_CALM,
};

#define SP_HTTP2_PREFACE     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SP_HTTP2_GET_FIELDS  ":method: GET\n:scheme: http\n:path: /\n:authority: a\n"
#define SP_HTTP2_POST_FIELDS ":method: POST\n:scheme: http\n:path: /\n:authority: a\n"

/* GET of / as a block: three from the static table and an authority. */
#define SP_HTTP2_GET_BLOCK     \
	"\x82\x86\x84\x41\x01" \
	"a"

/* A frame to send; `fields` instead of a payload makes it HEADERS that are whole. */
typedef struct sp_http2_step {
	const char *fields;
	int type, flags;
	uint32_t stream;
	const char *payload;
	size_t size;
} sp_http2_step;

#define SP_HTTP2_FRAME(type, flags, stream, text)                 \
	{                                                         \
		NULL, type, flags, stream, text, sizeof(text) - 1 \
	}
#define SP_HTTP2_HEAD(flags, stream, fields)                     \
	{                                                        \
		fields, SP_HTTP2_HEADERS, flags, stream, NULL, 0 \
	}

typedef struct sp_http2_frame {
	uint8_t type, flags;
	uint32_t stream;
	size_t size;
	char payload[20000]; /* terminated */
	char fields[4096];   /* of HEADERS: "name: value" and a line break each */
} sp_http2_frame;

typedef struct sp_http2_reply {
	int status;        /* 0: there was none */
	int64_t reset;     /* code of RST_STREAM; -1: none */
	char fields[4096]; /* of all HEADERS */
	size_t body_size;
	char body[1 << 16]; /* terminated; the beginning */
	size_t headers_frames;
} sp_http2_reply;

/* Connects and sends the preface and empty SETTINGS.  False when nobody listens. */
bool sp_http2_client_open(sp_http2_client *client, uint16_t port);

/* With a socket that is connected, and sends nothing. */
void sp_http2_client_init(sp_http2_client *client, sp_http_client *socket);
void sp_http2_client_close(sp_http2_client *client);

/* False when the connection broke.  `size` is the length in the frame's head, too. */
bool sp_http2_send(sp_http2_client *client, int type, int flags, uint32_t stream,
		   const void *payload, size_t size);

/* HEADERS with END_HEADERS; `fields` are as in sp_http2_frame. */
bool sp_http2_send_headers(sp_http2_client *client, int flags, uint32_t stream, const char *fields);

/* GET or, with a body, POST of a path, whole. */
bool sp_http2_request(sp_http2_client *client, uint32_t stream, const char *path, const char *body);

/* False when the connection broke; a step without fields and payload is none. */
bool sp_http2_play(sp_http2_client *client, const sp_http2_step *steps, size_t count);

/* Lets the server send so much more, on the stream or (0) all together. */
bool sp_http2_send_window(sp_http2_client *client, uint32_t stream, uint32_t more);

/* The block that a HEADERS frame has for them; returns its size. */
size_t sp_http2_block(char *out, size_t room, const char *fields);

/* The next frame; its type is SP_HTTP2_END when there is none. */
void sp_http2_receive(sp_http2_client *client, sp_http2_frame *frame);

/* The next frame of that type, without those before it. */
void sp_http2_receive_type(sp_http2_client *client, sp_http2_frame *frame, int type);

/* All of the next answer on the stream; frames of others are kept for later calls. */
void sp_http2_receive_reply(sp_http2_client *client, uint32_t stream, sp_http2_reply *reply);

/* GET of a path, and its answer. */
void sp_http2_get(sp_http2_client *client, uint32_t stream, const char *path,
		  sp_http2_reply *reply);

/* Reads until the connection ends: the code with which it does; -1: none. */
int64_t sp_http2_code_of_end(sp_http2_client *client);

/* Four bytes of the payload. */
uint32_t sp_http2_number(const sp_http2_frame *frame, size_t at);

#endif
