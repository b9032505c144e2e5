#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/host/http/http_server.h"
#include "tests/support/fuzz.h"

/*
 * Any bytes as what a client sends over a connection to a server, which speaks HTTP/1.1 or HTTP/2
 * as they begin.  Whatever they are, the server ends the connection soon after the client has ended
 * its side.
 */

static char name[] = "unix:/tmp/sp_fuzz_XXXXXX/socket";

static void handle(void *context, sp_http_request *request)
{
	const sp_http_header trailer = {sp_bytes_of("x-status"), sp_bytes_of("0")};
	const sp_http_head *head = sp_http_request_head(request);
	sp_bytes body = sp_http_request_body(request);
	sp_buffer out;

	(void)context;
	if (head->path.size == 0 || body.data[body.size] != '\0')
		abort();
	sp_buffer_init(&out, 1 << 20);
	sp_buffer_append(&out, head->path.data, head->path.size);
	sp_buffer_append(&out, body.data, body.size);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200,
							  .body = &out,
							  .trailers = &trailer,
							  .trailer_count = body.size % 2});
}

static size_t stream_data(void *state, sp_http_stream *stream, sp_bytes data)
{
	const sp_http_answer head = {.status = 200};

	(void)state;
	sp_http_stream_begin(stream, &head);
	if (!sp_http_stream_send(stream, data))
		sp_http_stream_end(stream, &head);
	return data.size;
}

/* Each byte is a request. */
static size_t stream_bytes(void *state, sp_http_stream *stream, sp_bytes data)
{
	const sp_http_answer head = {.status = 200};
	sp_buffer body;
	size_t taken = 0;

	(void)state;
	sp_http_stream_begin(stream, &head);
	for (; taken < data.size && sp_http_stream_has_room(stream); taken++) {
		sp_buffer_init(&body, 1);
		sp_buffer_append(&body, data.data + taken, 1);
		if (!sp_http_stream_ask(stream, (sp_bytes){"x", 1}, &body))
			sp_http_stream_end(stream, &head);
		sp_buffer_fini(&body);
	}
	return taken;
}

static void stream_end(void *state, sp_http_stream *stream)
{
	(void)state;
	sp_http_stream_end(stream, &(sp_http_answer){.status = 200});
}

static void stream_closed(void *state)
{
	(void)state;
}

static const sp_http_stream_handler *open_stream(void *context, sp_http_stream *stream,
						 const sp_http_head *head, void **state)
{
	static const sp_http_stream_handler handler = {stream_data, stream_end, stream_end,
						       stream_closed};
	static const sp_http_stream_handler asker = {stream_bytes, stream_end, stream_end,
						     stream_closed};

	(void)stream;
	*state = context;
	if (sp_bytes_starts_with(head->path, "/sa"))
		return &asker;
	return sp_bytes_starts_with(head->path, "/s") ? &handler : NULL;
}

static sp_http_server *server;

static void finish(void)
{
	if (!sp_http_server_stop(server, 10000))
		abort();
	sp_http_server_destroy(server);
	*strrchr(name, '/') = '\0';
	rmdir(name + 5);
}

static void start(void)
{
	static const sp_http_address address = {.host = name};
	char *slash = strrchr(name, '/');
	sp_http_options options = {
		.addresses = &address,
		.address_count = 1,
		.io_threads = 1,
		.max_connections = 10,
		.max_head_bytes = 1024,
		.max_body_bytes = 10000,
		.request_timeout_ms = 5000,
		.head_timeout_ms = 5000,
		.idle_timeout_ms = 5000,
		.handler = handle,
		.open_stream = open_stream,
	};
	sp_error err;

	*slash = '\0';
	if (mkdtemp(name + 5) == NULL)
		abort();
	*slash = '/';
	if (sp_http_server_create(&server, &options, &err) != SP_OK) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	atexit(finish);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char answer[65536];
	ssize_t n;
	int fd;

	if (server == NULL)
		start();
	strcpy(address.sun_path, name + 5);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		abort();
	while (size != 0 && (n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0) {
		data += n;
		size -= (size_t)n;
		while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
			;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, answer, sizeof(answer), 0) > 0)
		;
	close(fd);
	return 0;
}
