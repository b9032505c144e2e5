#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/json_space.h"

enum { PATIENCE_MS = 10000 };

bool sp_http_client_open(sp_http_client *client, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int on = 1;

	*client = (sp_http_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	sp_http_client_close(client);
	return false;
}

bool sp_http_client_open_path(sp_http_client *client, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*client = (sp_http_client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	sp_http_client_close(client);
	return false;
}

void sp_http_client_close(sp_http_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	free(client->data);
	*client = (sp_http_client){.fd = -1};
}

bool sp_http_client_send(sp_http_client *client, const void *data, size_t size)
{
	const char *at = data;

	while (size != 0) {
		ssize_t n = send(client->fd, at, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

bool sp_http_client_send_text(sp_http_client *client, const char *text)
{
	return sp_http_client_send(client, text, strlen(text));
}

/* Appends what comes next; false at the end, or when nothing comes. */
static bool read_more(sp_http_client *client, int timeout_ms)
{
	struct pollfd poller = {client->fd, POLLIN, 0};
	ssize_t n;

	if (client->ended || poll(&poller, 1, timeout_ms) != 1)
		return false;
	client->data = realloc(client->data, client->size + 65536 + 1);
	n = recv(client->fd, client->data + client->size, 65536, 0);
	client->ended = n <= 0;
	if (n > 0)
		client->size += (size_t)n;
	client->data[client->size] = '\0';
	return n > 0;
}

static void drop(sp_http_client *client, size_t n)
{
	client->size -= n;
	memmove(client->data, client->data + n, client->size + 1);
}

bool sp_http_client_read(sp_http_client *client, void *out, size_t size)
{
	while (client->size < size)
		if (!read_more(client, PATIENCE_MS))
			return false;
	if (size == 0)
		return true;
	memcpy(out, client->data, size);
	drop(client, size);
	return true;
}

static void copy(char *to, size_t room, const char *from, size_t size)
{
	if (size >= room)
		size = room - 1;
	memcpy(to, from, size);
	to[size] = '\0';
}

static void receive(sp_http_client *client, sp_http_reply *reply, bool head_only)
{
	const char *end = NULL, *length;
	size_t head_size;

	memset(reply, 0, sizeof(*reply));
	while (client->size == 0 || (end = strstr(client->data, "\r\n\r\n")) == NULL)
		if (!read_more(client, PATIENCE_MS))
			return;
	head_size = (size_t)(end - client->data) + 4;
	copy(reply->head, sizeof(reply->head), client->data, head_size);
	length = strcasestr(reply->head, "\r\nContent-Length:");
	if (length != NULL && !head_only)
		reply->body_size = strtoul(length + 17, NULL, 10);
	while (client->size < head_size + reply->body_size)
		if (!read_more(client, PATIENCE_MS))
			return;
	copy(reply->body, sizeof(reply->body), client->data + head_size, reply->body_size);
	if (*reply->body == '{')
		sp_json_remove_space(reply->body);
	drop(client, head_size + reply->body_size);
	sscanf(reply->head, "HTTP/1.1 %d", &reply->status);
}

void sp_http_client_receive(sp_http_client *client, sp_http_reply *reply)
{
	receive(client, reply, false);
}

void sp_http_client_receive_head(sp_http_client *client, sp_http_reply *reply)
{
	receive(client, reply, true);
}

bool sp_http_client_ends(sp_http_client *client, int timeout_ms)
{
	if (client->size != 0)
		return false;
	return client->ended || (!read_more(client, timeout_ms) && client->ended);
}

void sp_http_call(uint16_t port, const char *method, const char *path, const char *body,
		  sp_http_reply *reply)
{
	sp_http_client client;
	char head[1024];

	memset(reply, 0, sizeof(*reply));
	if (!sp_http_client_open(&client, port))
		return;
	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", method, path,
		 body != NULL ? strlen(body) : 0);
	if (sp_http_client_send_text(&client, head) &&
	    (body == NULL || sp_http_client_send_text(&client, body)))
		sp_http_client_receive(&client, reply);
	sp_http_client_close(&client);
}
