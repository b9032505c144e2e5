/*
 * What the host is compared with: a server of evhttp (libevent) whose handler reads the whole body
 * and answers with a constant one.
 *
 *   bench_evhttp PORT ANSWER
 *
 * ANSWER is a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "bench/usage.h"

static char answer[1 << 20];
static size_t answer_size;

static void handle(struct evhttp_request *request, void *context)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(request), *out = evbuffer_new();
	size_t size = evbuffer_get_length(in), sum = 0;
	const unsigned char *body = evbuffer_pullup(in, -1);

	(void)context;
	for (size_t i = 0; i < size; i++)
		sum += body[i];
	evbuffer_add(out, answer, sum == 1 ? 0 : answer_size);
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
			  "application/json");
	evhttp_send_reply(request, 200, "OK", out);
	evbuffer_free(out);
}

static const char usage[] = "usage: bench_evhttp PORT ANSWER\n";

int main(int argc, char **argv)
{
	struct event_base *base;
	struct evhttp *server;
	FILE *file;

	sp_bench_read_options(argc, argv, usage);
	if (argc != 3) {
		fputs(usage, stderr);
		return 2;
	}
	file = fopen(argv[2], "rb");
	if (file == NULL) {
		perror(argv[2]);
		return 1;
	}
	answer_size = fread(answer, 1, sizeof(answer), file);
	fclose(file);
	base = event_base_new();
	server = evhttp_new(base);
	evhttp_set_gencb(server, handle, NULL);
	if (evhttp_bind_socket(server, "127.0.0.1", (unsigned short)atoi(argv[1])) != 0) {
		fprintf(stderr, "cannot listen on port %s\n", argv[1]);
		return 1;
	}
	event_base_dispatch(base);
	return 0;
}
