#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "tests/support/shard_scene.h"

/* Holders that lie to the client, and clients that send nonsense, or pieces, to a server. */

static sp_error err;

/* ---- lies ---- */

typedef struct liar {
	int listener;
	const char *bytes;
	size_t size;
	bool echoes_id; /* of the request, into the answer */
	bool greets;    /* it lies later */
} liar;

static void answer_greeting(int fd)
{
	char asked[SP_SHARD_HEADER + 16];
	sp_buffer out;

	(void)!recv(fd, asked, sizeof(asked), MSG_WAITALL);
	sp_buffer_init(&out, 1 << 10);
	sp_shard_error_write(&out, 0, SP_SHARD_NO_VERSION, "no");
	(void)!send(fd, out.data, out.size, MSG_NOSIGNAL);
	sp_buffer_fini(&out);
}

/* Answers one request, or the one after the greeting, of one connection. */
static void lie(void *context)
{
	liar *l = context;
	char asked[4096], answer[4096];
	int fd = accept(l->listener, NULL, NULL);
	ssize_t n;

	if (l->greets)
		answer_greeting(fd);
	n = recv(fd, asked, sizeof(asked), 0);
	memcpy(answer, l->bytes, l->size);
	if (l->echoes_id && n >= SP_SHARD_HEADER)
		memcpy(answer + 8, asked + 8, 8);
	(void)!send(fd, answer, l->size, MSG_NOSIGNAL);
	(void)recv(fd, asked, sizeof(asked), 0); /* until it is disconnected */
	close(fd);
}

static void refuse_lie(const char *bytes, size_t size, bool echoes_id, bool greets)
{
	liar l = {.bytes = bytes, .size = size, .echoes_id = echoes_id, .greets = greets};
	sp_thread_group *thread;
	sp_shard_store_options options;
	sp_shard_store *store;
	char text[512];
	sp_shard_scene s;

	l.listener = sp_shard_scene_listen_at("liar");
	assert_ok(sp_thread_group_create(&thread, 1, "liar", lie, &l, &err), &err);
	snprintf(text, sizeof(text), "unix:%s/liar", sp_shard_scene_folder);
	sp_shard_scene_connect(&s, text, &(sp_shard_client_options){.silence_ms = 100});
	while (greets ? sp_shard_scene_client_counters(&s).peers_up != 1
		      : sp_shard_scene_client_counters(&s).losses == 0)
		sp_shard_scene_nap();
	assert_int_equal(sp_shard_scene_client_counters(&s).connects, greets);
	options = sp_shard_scene_options(&s);
	options.open_timeout_ms = 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_IO);
	sp_thread_group_destroy(thread);
	sp_shard_scene_close(&s);
	close(l.listener);
	sp_shard_scene_remove_socket("liar");
}

static void a_lie_is_no_answer(const char *bytes, size_t size, bool echoes_id)
{
	refuse_lie(bytes, size, echoes_id, true);
	refuse_lie(bytes, size, echoes_id, false);
}

static void lies_are_no_answers(void **state)
{
	static const char garbage[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	static char tables[64], rows[24], other_id[64], too_long[SP_SHARD_HEADER];
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	/* Two slices of which it holds the third. */
	(void)sp_shard_frame_begin(&out, SP_SHARD_TABLES, 12345);
	sp_shard_put_u64(&out, 1);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u64(&out, 0);
	assert_true(sp_shard_frame_end(&out, 0));
	memcpy(tables, out.data, out.size);
	memcpy(other_id, out.data, out.size);
	a_lie_is_no_answer(garbage, sizeof(garbage) - 1, false);
	a_lie_is_no_answer(tables, out.size, true);
	a_lie_is_no_answer(other_id, out.size, false);
	sp_buffer_clear(&out);
	(void)sp_shard_frame_begin(&out, SP_SHARD_ROWS, 1);
	sp_shard_put_u64(&out, 0);
	assert_true(sp_shard_frame_end(&out, 0));
	memcpy(rows, out.data, out.size);
	a_lie_is_no_answer(rows, out.size, true);
	memcpy(too_long, rows, sizeof(too_long));
	too_long[3] = SP_SHARD_TABLES;
	memset(too_long + 4, 0xf8, 4);
	a_lie_is_no_answer(too_long, sizeof(too_long), true);
	sp_buffer_fini(&out);
}

/* ---- requests ---- */

static void hostile_requests_end_their_connection(void **state)
{
	static const char *const hostile[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"\x53\x48\x01\x03\xff\xff\xff\xff........",
		"\x53\x48\x01\x04........................",
	};
	sp_shard_server_counters c;
	char rest[64];
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_open(&s);
	for (size_t i = 0; i < 3; i++) {
		int fd = sp_shard_scene_connect_to("0");

		assert_true(send(fd, hostile[i], strlen(hostile[i]), MSG_NOSIGNAL) > 0);
		assert_true(recv(fd, rest, sizeof(rest), 0) <= 0);
		close(fd);
	}
	sp_shard_server_count(sp_shard_scene_servers[0], &c);
	assert_int_equal(c.malformed, 3);
	sp_shard_scene_ask_well(&s, 0); /* others are answered */
	sp_shard_scene_close(&s);
}

/* Many requests in one write, and byte by byte; answers are read late. */
static void requests_come_in_any_pieces(void **state)
{
	enum { REQUESTS = 2000 };
	sp_shard_header header;
	sp_buffer out;
	int fd = sp_shard_scene_connect_to("0");
	char *answers;
	size_t size = 0;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	for (uint64_t i = 0; i < REQUESTS; i++)
		sp_shard_version_write(&out, i, SP_SHARD_SCENE_FULL, SP_SHARD_SCENE_CONTENT);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(send(fd, out.data + i, 1, 0), 1);
	assert_int_equal(send(fd, out.data + 40, out.size - 40, 0), out.size - 40);
	answers = malloc(1 << 20);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		while (size < SP_SHARD_HEADER || !sp_shard_header_read(&header, answers, false) ||
		       size < SP_SHARD_HEADER + header.size) {
			ssize_t n = recv(fd, answers + size, 1000, 0);

			assert_true(n > 0);
			size += (size_t)n;
		}
		assert_int_equal(header.id, i);
		assert_int_equal(header.kind, SP_SHARD_TABLES);
		size -= SP_SHARD_HEADER + header.size;
		memmove(answers, answers + SP_SHARD_HEADER + header.size, size);
	}
	free(answers);
	close(fd);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SP_SHARD_SCENE_CASE(lies_are_no_answers),
		SP_SHARD_SCENE_CASE(hostile_requests_end_their_connection),
		SP_SHARD_SCENE_CASE(requests_come_in_any_pieces),
	};

	return cmocka_run_group_tests_name("shard_hostile", tests, NULL, NULL);
}
