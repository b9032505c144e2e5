#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/grpc/grpc.h"
#include "api/host/grpc/grpc_protocol.h"
#include "tests/support/http2_client.h"

/*
 * The messages on a stream, however they arrive.  A request that the stream makes of one is
 * answered with its label and its size.
 */

enum { MAX_MESSAGE = 1000 };

typedef struct scene {
	sp_flags flags;
	sp_serving serving;
	sp_http_server *server;
	sp_http2_client client;
} scene;

static void handle(void *context, sp_http_request *request)
{
	sp_bytes label = sp_http_request_label(request), body = sp_http_request_body(request);
	sp_buffer out;

	(void)context;
	sp_buffer_init(&out, 1000);
	sp_buffer_printf(&out, "[%.*s %zu]", (int)label.size, label.data, body.size);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &out});
}

static const sp_http_stream_handler *open_stream(void *context, sp_http_stream *stream,
						 const sp_http_head *head, void **state)
{
	return sp_grpc_open_stream(context, stream, head, state);
}

static void open_path(scene *s, const char *path, const char *more)
{
	char fields[500];

	snprintf(fields, sizeof(fields),
		 ":method: POST\n:scheme: http\n:path: %s\n:authority: a\n"
		 "content-type: application/grpc\n%s",
		 path, more);
	assert_true(sp_http2_client_open(&s->client, sp_http_server_port(s->server, 0)));
	assert_true(sp_http2_send_headers(&s->client, 0, 1, fields));
}

#define INFER   "/inference.GRPCInferenceService/ModelStreamInfer"
#define REFLECT "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

static void start(scene *s)
{
	static const sp_http_address address = {.host = "127.0.0.1"};
	const sp_http_options options = {.addresses = &address,
					 .address_count = 1,
					 .io_threads = 1,
					 .max_connections = 10,
					 .max_head_bytes = 1024,
					 .max_body_bytes = MAX_MESSAGE,
					 .memory = &s->serving.memory,
					 .request_timeout_ms = 10000,
					 .head_timeout_ms = 10000,
					 .idle_timeout_ms = 10000,
					 .stream_tick_ms = 20,
					 .handler = handle,
					 .open_stream = open_stream,
					 .context = &s->serving};
	sp_error err;

	s->flags.max_body_bytes = MAX_MESSAGE;
	s->flags.rest_api_timeout_in_ms = 10000;
	s->serving.flags = &s->flags;
	sp_budget_init(&s->serving.memory, 16 << 20);
	assert_ok(sp_http_server_create(&s->server, &options, &err), &err);
}

static void finish(scene *s)
{
	assert_true(sp_http_server_stop(s->server, 10000));
	sp_http_server_destroy(s->server);
	assert_int_equal(sp_budget_used(&s->serving.memory), 0);
}

static void send_bytes(scene *s, int flags, sp_bytes bytes)
{
	assert_true(sp_http2_send(&s->client, SP_HTTP2_DATA, flags, 1, bytes.data, bytes.size));
}

#define BYTES(text) ((sp_bytes){text, sizeof(text) - 1})

/* A ModelInferRequest with the id "one", and one without. */
#define ONE  "\0\0\0\0\5\x1a\3one"
#define NONE "\0\0\0\0\0"

static void messages_may_come_in_any_pieces(void **state)
{
	static const char text[] = ONE NONE ONE;
	static sp_http2_reply reply;
	scene s = {0};

	(void)state;
	start(&s);
	for (size_t piece = 1; piece <= sizeof(text) - 1; piece += 3) {
		open_path(&s, INFER, "");
		for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
			size_t left = sizeof(text) - 1 - at;

			send_bytes(&s, 0, (sp_bytes){text + at, piece < left ? piece : left});
		}
		send_bytes(&s, SP_HTTP2_END_STREAM, BYTES(""));
		sp_http2_receive_reply(&s.client, 1, &reply);
		assert_string_equal(reply.body, "[one 10][ 5][one 10]");
		assert_non_null(strstr(reply.fields, "\ngrpc-accept-encoding: "));
		assert_non_null(strstr(reply.fields, "\ngrpc-status: 0\n"));
		sp_http2_client_close(&s.client);
	}
	finish(&s);
}

static void what_is_no_message_ends_the_stream(void **state)
{
	static const struct {
		const char *path;
		sp_bytes data;
		const char *status;
	} cases[] = {
		{INFER, BYTES("\2\0\0\0\1a"), "\ngrpc-status: 13\n"},
		{INFER, BYTES("\0\0\0\0\2a"), "\ngrpc-status: 13\n"},
		{INFER, BYTES("\0\0"), "\ngrpc-status: 13\n"},
		{INFER, BYTES("\0\0\0\3\xe4x"), "\ngrpc-status: 8\n"}, /* 996 and a prefix */
		{INFER, BYTES("\0\xff\xff\xff\xff"), "\ngrpc-status: 8\n"},
		{REFLECT, BYTES("\0\0\1\0\1"), "\ngrpc-status: 8\n"},
		{REFLECT, BYTES("\0\0\0\0\1\xff"), "\ngrpc-status: 3\n"},
		{REFLECT, BYTES("\1\0\0\0\1\xff"), "\ngrpc-status: 13\n"},
		{"/grpc.health.v1.Health/Watch", BYTES(""), "\ngrpc-status: 13\n"},
	};
	static sp_http2_reply reply;
	scene s = {0};

	(void)state;
	start(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_path(&s, cases[i].path, "");
		send_bytes(&s, SP_HTTP2_END_STREAM, cases[i].data);
		sp_http2_receive_reply(&s.client, 1, &reply);
		if (strstr(reply.fields, cases[i].status) == NULL)
			fail_msg("%zu: %s", i, reply.fields);
		sp_http2_client_close(&s.client);
	}
	finish(&s);
}

static void a_message_that_does_not_arrive_ends_the_stream(void **state)
{
	static sp_http2_reply reply;
	scene s = {0};

	(void)state;
	start(&s);
	s.flags.rest_api_timeout_in_ms = 100;
	open_path(&s, INFER, "");
	send_bytes(&s, 0, BYTES(ONE "\0\0"));
	sp_http2_receive_reply(&s.client, 1, &reply);
	assert_string_equal(reply.body, "[one 10]");
	assert_non_null(strstr(reply.fields, "\ngrpc-status: 4\n"));
	sp_http2_client_close(&s.client);
	open_path(&s, INFER, "grpc-timeout: 50m\n");
	sp_http2_receive_reply(&s.client, 1, &reply);
	assert_int_equal(reply.status, 504); /* as `refusal` would have it */
	sp_http2_client_close(&s.client);
	finish(&s);
}

static void answers_say_what_they_may_be_compressed_with(void **state)
{
	static sp_http2_reply reply;
	scene s = {0};

	(void)state;
	start(&s);
	s.flags.grpc_compress_answers = true;
	open_path(&s, INFER, "grpc-accept-encoding: identity, gzip\n");
	send_bytes(&s, SP_HTTP2_END_STREAM, BYTES(NONE));
	sp_http2_receive_reply(&s.client, 1, &reply);
	assert_non_null(strstr(reply.fields, "\ngrpc-encoding: gzip\n"));
	sp_http2_client_close(&s.client);
	finish(&s);
}

static void questions_of_reflection_share_a_stream(void **state)
{
	sp_http2_frame frame;
	sp_grpc_frame answer;
	scene s = {0};

	(void)state;
	start(&s);
	open_path(&s, REFLECT, "");
	for (int i = 0; i < 3; i++) {
		send_bytes(&s, 0, BYTES("\0\0\0\0\3\x3a\1*")); /* list_services */
		sp_http2_receive_type(&s.client, &frame, SP_HTTP2_DATA);
		assert_int_equal(sp_grpc_frame_read(&answer, (sp_bytes){frame.payload, frame.size}),
				 SP_GRPC_READ_DONE);
		assert_non_null(memmem(answer.message.data, answer.message.size,
				       "grpc.health.v1.Health", 21));
	}
	sp_http2_client_close(&s.client);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_may_come_in_any_pieces),
		cmocka_unit_test(what_is_no_message_ends_the_stream),
		cmocka_unit_test(a_message_that_does_not_arrive_ends_the_stream),
		cmocka_unit_test(answers_say_what_they_may_be_compressed_with),
		cmocka_unit_test(questions_of_reflection_share_a_stream),
	};

	return cmocka_run_group_tests_name("grpc_stream", tests, NULL, NULL);
}
