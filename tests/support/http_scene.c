#include "tests/support/http_scene.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/cmocka.h"

static void answer_echo(sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	sp_bytes body = sp_http_request_body(request);
	sp_buffer out;

	sp_buffer_init(&out, 1 << 20);
	sp_buffer_append(&out, head->method_name.data, head->method_name.size);
	sp_buffer_append(&out, head->path.data, head->path.size);
	sp_buffer_append_char(&out, ' ');
	sp_buffer_append(&out, body.data, body.size);
	assert_true(body.data[body.size] == '\0');
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &out});
}

static void answer_with_headers(sp_http_request *request)
{
	const sp_http_header fields[] = {
		{sp_bytes_of("x-one"), sp_bytes_of("1")},
		{sp_bytes_of("x-two"), sp_bytes_of("a b")},
	};
	const sp_http_header bad = {sp_bytes_of("x"), sp_bytes_of("a\r\nb: c")};
	bool is_bad = sp_bytes_equal_text(sp_http_request_head(request)->path, "/headers/bad");

	sp_http_request_answer(request, &(sp_http_answer){.status = 200,
							  .headers = is_bad ? &bad : fields,
							  .header_count = is_bad ? 1 : 2});
}

static void answer_with_trailers(sp_http_request *request, bool only)
{
	const sp_http_header trailers[] = {
		{sp_bytes_of("x-status"), sp_bytes_of("0")},
		{sp_bytes_of("x-message"), sp_bytes_of("done")},
	};
	sp_buffer out;

	sp_buffer_init(&out, 1 << 20);
	sp_buffer_append_text(&out, "body");
	sp_http_request_answer(request, &(sp_http_answer){.status = 200,
							  .body = only ? NULL : &out,
							  .trailers = trailers,
							  .trailer_count = 2});
	sp_buffer_fini(&out);
}

static void answer_largely(sp_http_request *request)
{
	sp_buffer out;

	sp_buffer_init(&out, 1 << 20);
	memset(sp_buffer_reserve(&out, 1 << 20), 'x', 1 << 20);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &out});
}

static void answer_whether_alone(sp_http_request *request)
{
	bool alone = sp_http_request_is_alone(request);
	sp_buffer out;

	sp_buffer_init(&out, 1 << 10);
	sp_buffer_append_text(&out, alone ? "alone" : "not alone");
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &out});
}

/* Says how much memory the body of the last answer has left. */
static void answer_in_kept_memory(sp_http_request *request)
{
	sp_buffer out = sp_http_request_take_buffer(request);
	size_t kept = out.size == 0 ? out.capacity : SIZE_MAX;

	sp_buffer_printf(&out, "%zu kept", kept);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &out});
}

/* ------------------------------------------------------------------- streams */

static const sp_http_answer stream_head = {.status = 200, .content_type = "text/plain"};

static size_t stream_data(void *state, sp_http_stream *stream, sp_bytes data)
{
	sp_http_scene *scene = state;

	sp_http_stream_begin(stream, &stream_head);
	if (!sp_http_stream_send(stream, data))
		scene->refused++;
	return data.size;
}

static size_t stream_lines(void *state, sp_http_stream *stream, sp_bytes data)
{
	sp_http_scene *scene = state;
	size_t taken = 0;

	sp_http_stream_begin(stream, &stream_head);
	while (taken < data.size && sp_http_stream_has_room(stream)) {
		const char *line = data.data + taken;
		const char *end = memchr(line, '\n', data.size - taken);
		size_t size = end != NULL ? (size_t)(end - line) + 1 : data.size - taken;
		sp_buffer body;

		sp_buffer_init(&body, 1 << 20);
		sp_buffer_append(&body, line, size);
		if (!sp_http_stream_ask(stream, (sp_bytes){line, size}, &body))
			scene->refused++;
		else
			assert_int_equal(body.size, 0);
		sp_buffer_fini(&body);
		taken += size;
	}
	return taken;
}

static void stream_end(void *state, sp_http_stream *stream)
{
	const sp_http_header trailer = {sp_bytes_of("x-status"), sp_bytes_of("0")};
	sp_http_answer end = stream_head;

	(void)state;
	end.trailers = &trailer;
	end.trailer_count = 1;
	sp_http_stream_end(stream, &end);
}

static void stream_tick(void *state, sp_http_stream *stream)
{
	(void)stream_data(state, stream, sp_bytes_of("tick"));
}

static void no_tick(void *state, sp_http_stream *stream)
{
	(void)state;
	(void)stream;
}

static void stream_closed(void *state)
{
	sp_http_scene *scene = state;

	scene->closed++;
}

static const sp_http_stream_handler *open_stream(void *context, sp_http_stream *stream,
						 const sp_http_head *head, void **state)
{
	static const sp_http_stream_handler handler = {stream_data, stream_end, stream_tick,
						       stream_closed},
					    asker = {stream_lines, stream_end, no_tick,
						     stream_closed};

	*state = context;
	if (sp_bytes_equal_text(head->path, "/stream/soon"))
		sp_http_stream_set_deadline(stream, sp_clock_now_ns() + 100 * INT64_C(1000000));
	if (sp_bytes_starts_with(head->path, "/stream/ask") ||
	    sp_bytes_starts_with(head->path, "/stream/later"))
		return &asker;
	return sp_bytes_starts_with(head->path, "/stream") ? &handler : NULL;
}

/* ------------------------------------------------------------------ requests */

/* Plain text in place of JSON. */
static bool refuse_plainly(void *context, sp_http_request *request, int status, const char *text)
{
	sp_buffer out;

	(void)context;
	if (!sp_bytes_starts_with(sp_http_request_head(request)->path, "/later/plain"))
		return false;
	sp_buffer_init(&out, 1000);
	sp_buffer_printf(&out, "%d: %s", status, text);
	sp_http_request_set_answer(request, &(sp_http_answer){.status = 200,
							      .content_type = "text/plain",
							      .body = &out,
							      .outcome = status});
	return true;
}

/* Whether it goes through the queue. */
static bool is_for_later(const sp_http_request *request)
{
	sp_bytes path = sp_http_request_head(request)->path;

	return sp_bytes_starts_with(path, "/later") ||
	       (sp_bytes_starts_with(path, "/stream/later") &&
		!sp_bytes_equal_text(sp_http_request_body(request), "now\n"));
}

/* A part of a stream's body has that as its label. */
static void check_label(const sp_http_request *request)
{
	sp_bytes label = sp_http_request_label(request);
	bool is_part = sp_bytes_starts_with(sp_http_request_head(request)->path, "/stream/");

	assert_int_equal(label.data != NULL, is_part);
	if (is_part && sp_http_request_body(request).size <= SP_HTTP_LABEL_SIZE)
		assert_true(sp_bytes_equal(label, sp_http_request_body(request)));
}

static void handle(void *context, sp_http_request *request)
{
	sp_http_scene *scene = context;
	sp_bytes path = sp_http_request_head(request)->path;

	check_label(request);
	scene->handled++;
	if (sp_bytes_starts_with(path, "/later/soon")) {
		int64_t soon_ns = sp_clock_now_ns() + 100 * INT64_C(1000000);

		sp_http_request_set_deadline(request, soon_ns);
		sp_http_request_set_deadline(request, soon_ns + 1000);
		assert_true(sp_http_request_deadline_ns(request) == soon_ns);
	}
	if (sp_bytes_starts_with(path, "/headers"))
		answer_with_headers(request);
	else if (sp_bytes_starts_with(path, "/trailers"))
		answer_with_trailers(request, sp_bytes_equal_text(path, "/trailers/only"));
	else if (sp_bytes_equal_text(path, "/large") ||
		 sp_bytes_equal_text(sp_http_request_body(request), "large\n"))
		answer_largely(request);
	else if (sp_bytes_equal_text(path, "/alone"))
		answer_whether_alone(request);
	else if (sp_bytes_equal_text(path, "/memory"))
		answer_in_kept_memory(request);
	else if (!is_for_later(request))
		answer_echo(request);
	else if (!sp_queue_try_push(scene->queue, request))
		sp_http_request_fail(request, 503, "full");
}

static void *work(void *context)
{
	sp_http_scene *scene = context;
	sp_http_request *request;

	while ((request = sp_queue_pop(scene->queue)) != NULL) {
		pthread_mutex_lock(&scene->gate);
		pthread_mutex_unlock(&scene->gate);
		if (sp_http_request_begin(request)) {
			scene->begun++;
			if (sp_bytes_starts_with(sp_http_request_head(request)->path,
						 "/later/cancelled")) {
				const atomic_bool *flag = sp_http_request_cancel_flag(request);

				for (int i = 0; i < 500 && !atomic_load(flag); i++)
					usleep(10000);
				scene->cancelled += atomic_load(flag);
			}
			answer_echo(request);
		} else {
			scene->dropped++;
		}
	}
	return NULL;
}

void sp_http_scene_start(sp_http_scene *scene, sp_http_options options)
{
	static const sp_http_address anywhere = {.host = "127.0.0.1"};
	sp_error err;

	if (options.addresses == NULL) {
		options.addresses = &anywhere;
		options.address_count = 1;
	}
	options.handler = handle;
	options.refusal = refuse_plainly;
	options.open_stream = open_stream;
	options.context = scene;
	options.io_threads = options.io_threads ? options.io_threads : 1;
	options.max_connections = options.max_connections ? options.max_connections : 100;
	options.max_head_bytes = 1024;
	options.max_body_bytes = options.max_body_bytes ? options.max_body_bytes : 10000;
	options.request_timeout_ms = options.request_timeout_ms ? options.request_timeout_ms
								: 10000;
	options.head_timeout_ms = options.head_timeout_ms ? options.head_timeout_ms : 10000;
	options.idle_timeout_ms = options.idle_timeout_ms ? options.idle_timeout_ms : 10000;
	scene->queue = sp_queue_create(4);
	pthread_mutex_init(&scene->gate, NULL);
	pthread_create(&scene->worker, NULL, work, scene);
	assert_ok(sp_http_server_create(&scene->server, &options, &err), &err);
	scene->port = sp_http_server_port(scene->server, 0);
}

void sp_http_scene_finish(sp_http_scene *scene)
{
	assert_true(sp_http_server_stop(scene->server, 10000));
	sp_queue_close(scene->queue);
	pthread_join(scene->worker, NULL);
	sp_http_server_destroy(scene->server);
	sp_queue_destroy(scene->queue);
	pthread_mutex_destroy(&scene->gate);
}

void sp_http_scene_pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

void sp_http_scene_wait_for(atomic_int *counter, int value)
{
	for (int i = 0; i < 500 && *counter < value; i++)
		sp_http_scene_pause_ms(10);
	assert_int_equal(*counter, value);
}
