#ifndef SP_TESTS_SUPPORT_HTTP_CLIENT_H
#define SP_TESTS_SUPPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A client that sends what it is told, byte by byte, and reads replies; the
 * loopback only.  A call that waits gives up after ten seconds.
 */
typedef struct sp_http_client {
	int fd;
	char *data; /* received, not yet a reply */
	size_t size;
	bool ended; /* the server has closed, or reset, the connection */
} sp_http_client;

typedef struct sp_http_reply {
	int status;         /* 0: the connection ended without a reply */
	char head[8192];    /* up to and with its empty line, terminated */
	char body[1 << 18]; /* terminated; a JSON object without the white space between its tokens
			     */
	size_t body_size;   /* as sent */
} sp_http_reply;

/* False when nobody listens. */
bool sp_http_client_open(sp_http_client *client, uint16_t port);
bool sp_http_client_open_path(sp_http_client *client, const char *path);
void sp_http_client_close(sp_http_client *client);

/* False when the connection broke. */
bool sp_http_client_send(sp_http_client *client, const void *data, size_t size);
bool sp_http_client_send_text(sp_http_client *client, const char *text);

/* So many bytes, as they come; false at the end. */
bool sp_http_client_read(sp_http_client *client, void *out, size_t size);

/* The next reply; what is longer than the fields above is cut off. */
void sp_http_client_receive(sp_http_client *client, sp_http_reply *reply);

/* As receive(), for the reply to a HEAD request. */
void sp_http_client_receive_head(sp_http_client *client, sp_http_reply *reply);

/* Whether the server ends the connection within the time, and sends nothing before. */
bool sp_http_client_ends(sp_http_client *client, int timeout_ms);

/* One request on a connection of its own.  `body` NULL sends none. */
void sp_http_call(uint16_t port, const char *method, const char *path, const char *body,
		  sp_http_reply *reply);

#endif
