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

/* The block that a HEADERS frame has for them; returns its size. */
size_t sp_http2_block(char *out, size_t room, const char *fields);

/* The next frame; its type is SP_HTTP2_END when there is none. */
void sp_http2_receive(sp_http2_client *client, sp_http2_frame *frame);

/* The next frame of that type, without those before it. */
void sp_http2_receive_type(sp_http2_client *client, sp_http2_frame *frame, int type);

/* All of the next answer on the stream; frames of others are kept for later calls. */
void sp_http2_receive_reply(sp_http2_client *client, uint32_t stream, sp_http2_reply *reply);

/* Four bytes of the payload. */
uint32_t sp_http2_number(const sp_http2_frame *frame, size_t at);

#endif
