#include <stdio.h>
#include <string.h>

#include "api/host/http/http_internal.h"
#include "api/host/json/json_writer.h"
#include "base/alloc.h"
#include "base/clock.h"

/* Buffers that grew larger are not kept for the next request; where memory is scarce, tiny ones
 * only. */
enum { KEEP_BYTES = 64 << 10 };

/*
 * A client that has closed its side may still want its answer.  But one whose
 * request has waited this long as well has most likely given up, and under
 * overload work for nobody is what makes it worse.
 */
static const int64_t gone_after_ns = 100 * INT64_C(1000000);

sp_http_request *sp_http__request_create(sp_http_connection *connection, sp_http_loop *loop)
{
	const sp_http_options *options = &loop->server->options;
	sp_http_request *request = sp_alloc_zero(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	request->connection = connection;
	request->loop = loop;
	sp_buffer_init(&request->head_text, SIZE_MAX / 2);
	sp_buffer_init(&request->body, options->max_body_bytes);
	sp_buffer_init(&request->out, SIZE_MAX / 2);
	sp_buffer_set_budget(&request->head_text, options->memory);
	sp_buffer_set_budget(&request->body, options->memory);
	atomic_init(&request->state, SP_HTTP_READING);
	atomic_init(&request->peer_closed, false);
	return request;
}

void sp_http__request_destroy(sp_http_request *request)
{
	if (request == NULL)
		return;
	sp_buffer_fini(&request->head_text);
	sp_buffer_fini(&request->body);
	sp_buffer_fini(&request->out);
	sp_free(request);
}

static void empty(sp_buffer *buffer)
{
	size_t keep = sp_budget_is_scarce(buffer->budget) ? SP_BUDGET_TINY : KEEP_BYTES;

	if (buffer->capacity > keep)
		sp_buffer_fini(buffer);
	sp_buffer_clear(buffer);
}

void sp_http__request_reset(sp_http_request *request)
{
	empty(&request->head_text);
	empty(&request->body);
	request->body.max_size = request->loop->server->options.max_body_bytes;
	empty(&request->out);
	request->status = 0;
	request->reason[0] = '\0';
	request->tag = 0;
	request->peer[0] = '\0';
	request->handed_ns = 0;
	request->head.method = SP_HTTP_OTHER;
	request->head.method_name = request->head.path = (sp_bytes){NULL, 0};
	atomic_store(&request->peer_closed, false);
	atomic_store(&request->state, SP_HTTP_READING);
}

const sp_http_head *sp_http_request_head(const sp_http_request *request)
{
	return &request->head;
}

sp_bytes sp_http_request_body(const sp_http_request *request)
{
	if (request->body.size == 0)
		return (sp_bytes){"", 0};
	return (sp_bytes){request->body.data, request->body.size};
}

void sp_http_request_set_tag(sp_http_request *request, int tag)
{
	request->tag = tag;
}

void sp_http_request_note_peer(sp_http_request *request)
{
	sp_http__connection_peer(request->connection, request->peer, sizeof(request->peer));
}

const char *sp_http_request_peer(const sp_http_request *request)
{
	return request->peer;
}

bool sp_http_request_expired(const sp_http_request *request)
{
	return sp_clock_now_ns() >= request->deadline_ns;
}

/* Hands the request back to its loop. */
static void post(sp_http_request *request)
{
	sp_http_loop *loop = request->loop;
	bool first;

	empty(&request->body); /* sending the answer may take long */
	atomic_store(&request->state, SP_HTTP_ANSWERED);
	pthread_mutex_lock(&loop->lock);
	first = STAILQ_EMPTY(&loop->answers);
	STAILQ_INSERT_TAIL(&loop->answers, request, link);
	pthread_mutex_unlock(&loop->lock);
	if (first)
		sp_http__loop_wake(loop);
}

bool sp_http_request_begin(sp_http_request *request)
{
	int handed = SP_HTTP_HANDED;

	if (!atomic_compare_exchange_strong(&request->state, &handed, SP_HTTP_BEGUN)) {
		sp_http__request_destroy(request);
		return false;
	}
	if (atomic_load(&request->peer_closed) &&
	    sp_clock_now_ns() - request->handed_ns > gone_after_ns) {
		post(request);
		return false;
	}
	return true;
}

void sp_http_request_answer(sp_http_request *request, const sp_http_answer *answer)
{
	request->status = answer->status;
	request->content_type = answer->content_type;
	request->retry = answer->retry;
	if (answer->body != NULL) {
		sp_buffer_fini(&request->out);
		request->out = *answer->body;
		*answer->body = (sp_buffer){.max_size = request->out.max_size};
	}
	post(request);
}

void sp_http__request_set_error(sp_http_request *request, int status, const char *text)
{
	request->status = status;
	request->content_type = NULL;
	request->retry = status == 503;
	snprintf(request->reason, sizeof(request->reason), "%s", text);
	sp_buffer_clear(&request->out);
	sp_buffer_append_text(&request->out, "{\"error\":");
	sp_json_write_string(&request->out, sp_bytes_of(text));
	sp_buffer_append_text(&request->out, "}");
}

void sp_http_request_fail(sp_http_request *request, int status, const char *text)
{
	sp_http__request_set_error(request, status, text);
	post(request);
}
