#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/host/http/http_internal.h"
#include "api/host/json/json_writer.h"
#include "base/alloc.h"
#include "base/clock.h"

/* Larger buffers are not kept for the next request. */
enum { KEEP_BYTES = 64 << 10 };

/*
 * A client that has closed its side may still read the answer (half-close).  After this wait it has
 * most likely given up, and its request is skipped.
 */
static const int64_t gone_after_ns = 100 * INT64_C(1000000);

sp_http_request *sp_http__request_create(const sp_http_options *options, sp_http_answers *answers,
					 sp_http_connection *connection, int socket)
{
	sp_http_request *request = sp_alloc_zero(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	request->connection = connection;
	request->answers = answers;
	request->socket = socket;
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

/* Empties a buffer; if memory is scarce, only a tiny one keeps its capacity. */
static void empty(sp_buffer *buffer)
{
	size_t keep = sp_budget_is_scarce(buffer->budget) ? SP_BUDGET_TINY : KEEP_BYTES;

	if (buffer->capacity > keep)
		sp_buffer_fini(buffer);
	sp_buffer_clear(buffer);
}

void sp_http__request_reset(sp_http_request *request, size_t max_body_bytes)
{
	empty(&request->head_text);
	empty(&request->body);
	request->body.max_size = max_body_bytes;
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

int sp_http_request_tag(const sp_http_request *request)
{
	return request->tag;
}

void sp_http_request_note_peer(sp_http_request *request)
{
	sp_http_peer_print(request->peer, request->socket);
}

const char *sp_http_request_peer(const sp_http_request *request)
{
	return request->peer;
}

bool sp_http_request_expired(const sp_http_request *request)
{
	return sp_clock_now_ns() >= request->deadline_ns;
}

void sp_http_peer_print(char out[SP_HTTP_PEER_SIZE], int socket)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
	socklen_t size = sizeof(address);
	char name[INET6_ADDRSTRLEN] = "";

	if (getpeername(socket, (struct sockaddr *)&address, &size) != 0) {
		strcpy(out, "unknown");
	} else if (address.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, name, sizeof(name));
		snprintf(out, SP_HTTP_PEER_SIZE, "[%s]:%u", name, (unsigned)ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, name, sizeof(name));
		snprintf(out, SP_HTTP_PEER_SIZE, "%s:%u", name, (unsigned)ntohs(v4->sin_port));
	}
}

void sp_http__answers_wake(sp_http_answers *answers)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(answers->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

/* Hands the answered request back to its loop. */
static void post(sp_http_request *request)
{
	sp_http_answers *answers = request->answers;
	bool first;

	empty(&request->body); /* freed now, because sending the answer may take long */
	atomic_store(&request->state, SP_HTTP_ANSWERED);
	pthread_mutex_lock(&answers->lock);
	first = STAILQ_EMPTY(&answers->list);
	STAILQ_INSERT_TAIL(&answers->list, request, link);
	pthread_mutex_unlock(&answers->lock);
	if (first)
		sp_http__answers_wake(answers);
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
