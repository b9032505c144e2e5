#include "tests/support/http2_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

enum { HEAD = 9 };

void sp_http2_client_init(sp_http2_client *client, sp_http_client *socket)
{
	nghttp2_hd_inflater *inflater;

	if (nghttp2_hd_inflate_new(&inflater) != 0)
		abort();
	*client = (sp_http2_client){.socket = *socket, .inflater = inflater};
}

bool sp_http2_client_open(sp_http2_client *client, uint16_t port)
{
	sp_http_client socket;

	if (!sp_http_client_open(&socket, port))
		return false;
	sp_http2_client_init(client, &socket);
	return sp_http_client_send_text(&client->socket, SP_HTTP2_PREFACE) &&
	       sp_http2_send(client, SP_HTTP2_SETTINGS, 0, 0, "", 0);
}

void sp_http2_client_close(sp_http2_client *client)
{
	sp_http_client_close(&client->socket);
	nghttp2_hd_inflate_del(client->inflater);
	free(client->kept);
}

/* ------------------------------------------------------------------- sending */

bool sp_http2_send(sp_http2_client *client, int type, int flags, uint32_t stream,
		   const void *payload, size_t size)
{
	char *frame = malloc(HEAD + size);
	const char head[HEAD] = {(char)(size >> 16),   (char)(size >> 8),   (char)size,
				 (char)type,           (char)flags,         (char)(stream >> 24),
				 (char)(stream >> 16), (char)(stream >> 8), (char)stream};
	bool sent;

	memcpy(frame, head, HEAD);
	memcpy(frame + HEAD, payload, size);
	sent = sp_http_client_send(&client->socket, frame, HEAD + size);
	free(frame);
	return sent;
}

/* A literal without an index and without Huffman's code (RFC 7541, section 6.2.2). */
static size_t put_text(char *out, const char *text, size_t size)
{
	size_t n = 0;

	if (size < 127) {
		out[n++] = (char)size;
	} else { /* up to 16,000 */
		out[n++] = 127;
		out[n++] = (char)(0x80 | ((size - 127) & 0x7f));
		out[n++] = (char)((size - 127) >> 7);
	}
	memcpy(out + n, text, size);
	return n + size;
}

size_t sp_http2_block(char *out, size_t room, const char *fields)
{
	size_t n = 0;

	while (*fields != '\0') {
		const char *colon = strstr(fields + 1, ": "), *end = strchr(fields, '\n');

		if (colon == NULL || end == NULL || n + (size_t)(end - fields) + 8 > room)
			abort();
		out[n++] = 0;
		n += put_text(out + n, fields, (size_t)(colon - fields));
		n += put_text(out + n, colon + 2, (size_t)(end - colon) - 2);
		fields = end + 1;
	}
	return n;
}

bool sp_http2_send_headers(sp_http2_client *client, int flags, uint32_t stream, const char *fields)
{
	char block[16384];
	size_t size = sp_http2_block(block, sizeof(block), fields);

	return sp_http2_send(client, SP_HTTP2_HEADERS, flags | SP_HTTP2_END_HEADERS, stream, block,
			     size);
}

bool sp_http2_request(sp_http2_client *client, uint32_t stream, const char *path, const char *body)
{
	char fields[1000];

	snprintf(fields, sizeof(fields), ":method: %s\n:scheme: http\n:path: %s\n:authority: a\n",
		 body != NULL ? "POST" : "GET", path);
	if (!sp_http2_send_headers(client, body != NULL ? 0 : SP_HTTP2_END_STREAM, stream, fields))
		return false;
	return body == NULL || sp_http2_send(client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, stream,
					     body, strlen(body));
}

bool sp_http2_play(sp_http2_client *client, const sp_http2_step *steps, size_t count)
{
	bool sent = true;

	for (size_t i = 0; i < count && sent; i++)
		if (steps[i].fields != NULL)
			sent = sp_http2_send_headers(client, steps[i].flags, steps[i].stream,
						     steps[i].fields);
		else if (steps[i].payload != NULL)
			sent = sp_http2_send(client, steps[i].type, steps[i].flags, steps[i].stream,
					     steps[i].payload, steps[i].size);
	return sent;
}

bool sp_http2_send_window(sp_http2_client *client, uint32_t stream, uint32_t more)
{
	const char payload[4] = {(char)(more >> 24), (char)(more >> 16), (char)(more >> 8),
				 (char)more};

	return sp_http2_send(client, SP_HTTP2_WINDOW_UPDATE, 0, stream, payload, 4);
}

/* ----------------------------------------------------------------- receiving */

uint32_t sp_http2_number(const sp_http2_frame *frame, size_t at)
{
	const unsigned char *p = (const unsigned char *)frame->payload + at;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void inflate(sp_http2_client *client, sp_http2_frame *frame)
{
	const uint8_t *at = (const uint8_t *)frame->payload;
	size_t left = frame->size, n = 0;
	int flags = 0;

	while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
		nghttp2_nv field;
		ssize_t used;

		flags = 0;
		used = nghttp2_hd_inflate_hd2(client->inflater, &field, &flags, at, left, 1);
		if (used < 0)
			abort();
		at += used;
		left -= (size_t)used;
		if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
			n += (size_t)snprintf(frame->fields + n, sizeof(frame->fields) - n,
					      "%s: %s\n", field.name, field.value);
	}
	nghttp2_hd_inflate_end_headers(client->inflater);
}

void sp_http2_receive(sp_http2_client *client, sp_http2_frame *frame)
{
	unsigned char head[HEAD];

	frame->type = SP_HTTP2_END;
	frame->flags = 0;
	frame->stream = 0;
	frame->fields[0] = frame->payload[0] = '\0';
	if (!sp_http_client_read(&client->socket, head, HEAD))
		return;
	frame->size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	if (frame->size >= sizeof(frame->payload) ||
	    !sp_http_client_read(&client->socket, frame->payload, frame->size))
		return;
	frame->payload[frame->size] = '\0';
	frame->type = head[3];
	frame->flags = head[4];
	frame->stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 |
			head[8];
	if (frame->type == SP_HTTP2_HEADERS)
		inflate(client, frame);
}

void sp_http2_receive_type(sp_http2_client *client, sp_http2_frame *frame, int type)
{
	do
		sp_http2_receive(client, frame);
	while (frame->type != type && frame->type != SP_HTTP2_END);
}

static void add_fields(sp_http2_reply *reply, const sp_http2_frame *frame)
{
	size_t at = strlen(reply->fields);

	snprintf(reply->fields + at, sizeof(reply->fields) - at, "%s", frame->fields);
}

static void add_body(sp_http2_reply *reply, const sp_http2_frame *frame)
{
	size_t room = sizeof(reply->body) - 1;
	size_t at = reply->body_size < room ? reply->body_size : room;
	size_t n = frame->size < room - at ? frame->size : room - at;

	memcpy(reply->body + at, frame->payload, n);
	reply->body_size += frame->size;
}

static void keep(sp_http2_client *client, const sp_http2_frame *frame)
{
	client->kept = realloc(client->kept, (client->kept_count + 1) * sizeof(*frame));
	client->kept[client->kept_count++] = *frame;
}

/* The next frame of the stream, from those that were kept first. */
static void receive_of_stream(sp_http2_client *client, uint32_t stream, sp_http2_frame *frame)
{
	for (size_t i = 0; i < client->kept_count; i++)
		if (client->kept[i].stream == stream) {
			*frame = client->kept[i];
			memmove(client->kept + i, client->kept + i + 1,
				(client->kept_count - i - 1) * sizeof(*frame));
			client->kept_count--;
			return;
		}
	for (;;) {
		sp_http2_receive(client, frame);
		if (frame->type == SP_HTTP2_END || frame->stream == stream)
			return;
		if (frame->stream != 0)
			keep(client, frame);
	}
}

void sp_http2_receive_reply(sp_http2_client *client, uint32_t stream, sp_http2_reply *reply)
{
	sp_http2_frame frame;

	memset(reply, 0, sizeof(*reply));
	reply->reset = -1;
	do {
		receive_of_stream(client, stream, &frame);
		if (frame.type == SP_HTTP2_END)
			return;
		if (frame.type == SP_HTTP2_HEADERS) {
			reply->headers_frames++;
			add_fields(reply, &frame);
			if (strncmp(frame.fields, ":status: ", 9) == 0)
				reply->status = atoi(frame.fields + 9);
		} else if (frame.type == SP_HTTP2_DATA) {
			add_body(reply, &frame);
		} else if (frame.type == SP_HTTP2_RST_STREAM) {
			reply->reset = sp_http2_number(&frame, 0);
			return;
		}
	} while ((frame.type != SP_HTTP2_DATA && frame.type != SP_HTTP2_HEADERS) ||
		 (frame.flags & SP_HTTP2_END_STREAM) == 0);
}

void sp_http2_get(sp_http2_client *client, uint32_t stream, const char *path, sp_http2_reply *reply)
{
	(void)sp_http2_request(client, stream, path, NULL);
	sp_http2_receive_reply(client, stream, reply);
}

int64_t sp_http2_code_of_end(sp_http2_client *client)
{
	sp_http2_frame frame;
	int64_t code = -1;

	for (;;) {
		sp_http2_receive(client, &frame);
		if (frame.type == SP_HTTP2_END)
			return code;
		if (frame.type == SP_HTTP2_GOAWAY)
			code = sp_http2_number(&frame, 4);
	}
}
