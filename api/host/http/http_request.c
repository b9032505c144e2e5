#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/host/http/http_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_text.h"

/* Larger buffers are not kept for the next request. */
enum { KEEP_BYTES = 64 << 10 };

/* Requests that a loop keeps for later ones. */
enum { SPARE_REQUESTS = 64 };

/*
 * A client that has closed its side may still read the answer (half-close).  After this wait it has
 * most likely given up, and its request is skipped.
 */
static const int64_t gone_after_ns = 100 * INT64_C(1000000);

static const int64_t at_once_ns = 20 * INT64_C(1000);

/* NULL when out of memory. */
static sp_http_request *create(sp_http_loop *loop)
{
	const sp_http_options *options = loop->options;
	sp_http_request *request = sp_alloc_zero(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	request->options = options;
	request->answers = &loop->answers;
	sp_buffer_init(&request->head_text, SIZE_MAX / 2);
	sp_buffer_init(&request->body, options->max_body_bytes);
	sp_buffer_init(&request->field_text, SIZE_MAX / 2);
	sp_buffer_init(&request->out, SIZE_MAX / 2);
	sp_buffer_set_budget(&request->head_text, options->memory);
	sp_buffer_set_budget(&request->body, options->memory);
	atomic_init(&request->state, SP_HTTP_READING);
	atomic_init(&request->peer_closed, false);
	atomic_init(&request->cancelled, false);
	return request;
}

void sp_http__request_destroy(sp_http_request *request)
{
	if (request == NULL)
		return;
	sp_buffer_fini(&request->head_text);
	sp_buffer_fini(&request->body);
	sp_buffer_fini(&request->field_text);
	sp_buffer_fini(&request->out);
	sp_free(request->record.steps);
	sp_free(request->record.events);
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

void sp_http__request_reset(sp_http_request *request)
{
	empty(&request->head_text);
	empty(&request->body);
	request->body.max_size = request->options->max_body_bytes;
	empty(&request->field_text);
	empty(&request->out);
	request->out.max_size = SIZE_MAX / 2; /* not that of the last answer */
	request->status = request->outcome = 0;
	request->reason[0] = '\0';
	request->header_count = request->trailer_count = 0;
	request->tag = 0;
	sp_free(request->record.steps);
	sp_free(request->record.events);
	request->record = (sp_call_record){0};
	request->peer[0] = '\0';
	request->is_part = false;
	request->handed_ns = 0;
	request->followed = false;
	request->head.method = SP_HTTP_OTHER;
	request->head.method_name = request->head.path = (sp_bytes){NULL, 0};
	request->head.major = 0;
	request->head.header_count = 0;
	atomic_store(&request->peer_closed, false);
	atomic_store(&request->cancelled, false);
	atomic_store(&request->state, SP_HTTP_READING);
}

sp_http_request *sp_http__request_take(sp_http_loop *loop)
{
	sp_http_request *request = STAILQ_FIRST(&loop->spare_requests);

	if (request == NULL)
		return create(loop);
	STAILQ_REMOVE_HEAD(&loop->spare_requests, link);
	loop->spare_count--;
	return request;
}

void sp_http__request_put(sp_http_loop *loop, sp_http_request *request)
{
	if (request == NULL)
		return;
	if (loop->spare_count == SPARE_REQUESTS) {
		sp_http__request_destroy(request);
		return;
	}
	sp_http__request_reset(request);
	STAILQ_INSERT_HEAD(&loop->spare_requests, request, link);
	loop->spare_count++;
}

static sp_bytes moved(sp_bytes view, const char *from, const char *to)
{
	return view.data == NULL ? view : (sp_bytes){to + (view.data - from), view.size};
}

/* Copies the head, whose views are of the text. */
static void copy_head(sp_http_request *copy, const sp_http_request *old)
{
	const char *from = old->head_text.data, *to;

	sp_buffer_append(&copy->head_text, from, old->head_text.size);
	if (copy->head_text.failed || old->head_text.size == 0)
		return;
	to = copy->head_text.data;
	copy->head = old->head;
	copy->head.method_name = moved(old->head.method_name, from, to);
	copy->head.path = moved(old->head.path, from, to);
	for (size_t i = 0; i < old->head.header_count; i++) {
		copy->head.headers[i].name = moved(old->head.headers[i].name, from, to);
		copy->head.headers[i].value = moved(old->head.headers[i].value, from, to);
	}
}

sp_http_request *sp_http__request_copy(sp_http_loop *loop, const sp_http_request *old)
{
	sp_http_request *copy = sp_http__request_take(loop);

	if (copy == NULL)
		return NULL;
	copy_head(copy, old);
	copy->ops = old->ops;
	copy->owner = old->owner;
	copy->socket = old->socket;
	copy->secure = old->secure;
	copy->tag = old->tag;
	if (old->is_part)
		sp_http__request_set_label(copy, sp_http_request_label(old));
	copy->handed_ns = old->handed_ns;
	return copy;
}

bool sp_http__request_orphan(sp_http_request *request)
{
	int handed = SP_HTTP_HANDED;

	return atomic_compare_exchange_strong(&request->state, &handed, SP_HTTP_ORPHANED);
}

bool sp_http__request_leave(sp_http_request *request)
{
	if (sp_http__request_orphan(request))
		return false;
	request->owner = NULL;
	atomic_store(&request->cancelled, true);
	return true;
}

void sp_http__request_observe(sp_http_request *request, int64_t answered_ns)
{
	const sp_http_options *options = request->options;
	sp_call_record *record = &request->record;
	sp_http_outcome outcome = {
		.tag = request->tag,
		.status = request->outcome != 0 ? request->outcome : request->status,
		.record = record,
		.head = &request->head,
		.fields = request->fields,
		.field_count = request->header_count + request->trailer_count,
		.secure = request->secure,
		.bytes_out = record->bytes_out != 0 ? record->bytes_out : request->out.size,
		.method = request->head.method_name,
		.path = request->head.path,
		.reason = request->reason,
		.socket = request->socket};

	if (options->observer == NULL)
		return;
	record->arrived_ns = request->handed_ns;
	record->answered_ns = answered_ns;
	options->observer(options->context, &outcome);
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

sp_call_record *sp_http_request_record(sp_http_request *request)
{
	request->record.arrived_ns = request->handed_ns;
	return &request->record;
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

void sp_http__request_set_label(sp_http_request *request, sp_bytes label)
{
	request->is_part = true;
	request->label_size = label.size <= sizeof(request->label) ? label.size : 0;
	if (request->label_size != 0)
		memcpy(request->label, label.data, label.size);
}

sp_bytes sp_http_request_label(const sp_http_request *request)
{
	return request->is_part ? (sp_bytes){request->label, request->label_size}
				: (sp_bytes){NULL, 0};
}

int64_t sp_http_request_deadline_ns(const sp_http_request *request)
{
	return request->deadline_ns;
}

void sp_http_request_set_deadline(sp_http_request *request, int64_t deadline_ns)
{
	if (deadline_ns >= request->deadline_ns)
		return;
	request->deadline_ns = deadline_ns;
	if (atomic_load(&request->state) == SP_HTTP_HANDED) /* the handler calls */
		request->ops->set_deadline(request->owner, deadline_ns);
}

const atomic_bool *sp_http_request_cancel_flag(const sp_http_request *request)
{
	return &request->cancelled;
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
	} else if (address.ss_family == AF_UNIX) {
		strcpy(out, "unix");
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

/* Of the loop that runs on this thread; NULL: it is no I/O thread. */
static _Thread_local sp_http_answers *own_answers;

void sp_http__answers_own(sp_http_answers *answers)
{
	own_answers = answers;
}

/* Hands the answered request back to its loop. */
static void post(sp_http_request *request)
{
	sp_http_answers *answers = request->answers;
	int socket = request->socket;
	bool first;

	request->record.bytes_in = request->body.size;
	request->record.bytes_out = request->out.size;
	empty(&request->body); /* freed now, because sending the answer may take long */
	atomic_store(&request->state, SP_HTTP_ANSWERED);
	pthread_mutex_lock(&answers->lock);
	first = STAILQ_EMPTY(&answers->list);
	STAILQ_INSERT_TAIL(&answers->list, request, link);
	pthread_mutex_unlock(&answers->lock);
	if (answers == own_answers) {
		answers->own_count++;
		answers->own_socket = socket;
	} else if (first) {
		sp_http__answers_wake(answers);
	}
}

/*
 * A request that arrives within at_once_ns after an answer to another connection must have waited
 * while this thread computed that answer, because no client sends its next request that fast.
 */
bool sp_http_request_is_alone(const sp_http_request *request)
{
	sp_http_answers *answers = request->answers;
	bool waited;

	if (answers != own_answers)
		return false;
	waited = request->socket != answers->own_socket &&
		 request->handed_ns - answers->own_ns < at_once_ns;
	if (waited || request->followed || answers->own_count != 0 ||
	    atomic_load_explicit(answers->busy, memory_order_relaxed) > 1)
		answers->crowd = SP_HTTP_CROWD;
	else if (answers->crowd > 0)
		answers->crowd--;
	return answers->crowd == 0;
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

static void set_json_error(sp_http_request *request, int status, const char *text)
{
	request->status = status;
	request->outcome = 0;
	request->content_type = NULL;
	request->retry = status == 503;
	request->header_count = request->trailer_count = 0;
	snprintf(request->reason, sizeof(request->reason), "%s", text);
	sp_buffer_clear(&request->out);
	sp_buffer_append_text(&request->out, "{\"error\":");
	sp_json_text_append(&request->out, sp_bytes_of(text));
	sp_buffer_append_text(&request->out, "}");
}

/* Whether HTTP allows it, in both versions. */
static bool is_valid_field(const sp_http_header *field)
{
	for (size_t i = 0; i < field->name.size; i++)
		if (!sp_http__is_token_char(field->name.data[i]) ||
		    (field->name.data[i] >= 'A' && field->name.data[i] <= 'Z'))
			return false;
	return field->name.size != 0 && sp_http__is_field_value(field->value);
}

/* Copies headers or trailers behind the `count` there are; false if they can't be sent. */
static bool copy_fields(sp_http_request *request, size_t count, const sp_http_header *fields,
			size_t more)
{
	char *at = request->field_text.data + request->field_text.size;

	if (more > SP_HTTP_MAX_FIELDS - count)
		return false;
	for (size_t i = 0; i < more; i++) {
		sp_http_header *copy = &request->fields[count + i];

		if (!is_valid_field(&fields[i]))
			return false;
		*copy = (sp_http_header){{at, fields[i].name.size},
					 {at + fields[i].name.size, fields[i].value.size}};
		sp_buffer_append(&request->field_text, fields[i].name.data, copy->name.size);
		sp_buffer_append(&request->field_text, fields[i].value.data, copy->value.size);
		at += copy->name.size + copy->value.size;
	}
	return true;
}

static size_t size_of_fields(const sp_http_header *fields, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += fields[i].name.size + fields[i].value.size;
	return size;
}

static bool set_fields(sp_http_request *request, const sp_http_answer *answer)
{
	size_t size = size_of_fields(answer->headers, answer->header_count) +
		      size_of_fields(answer->trailers, answer->trailer_count);

	/* Reserved at once, because the fields are views of it. */
	sp_buffer_clear(&request->field_text);
	sp_buffer_reserve(&request->field_text, size);
	if (request->field_text.failed)
		return false;
	sp_buffer_clear(&request->field_text);
	request->header_count = answer->header_count;
	request->trailer_count = answer->trailer_count;
	return copy_fields(request, 0, answer->headers, answer->header_count) &&
	       copy_fields(request, answer->header_count, answer->trailers, answer->trailer_count);
}

sp_buffer sp_http_request_take_buffer(sp_http_request *request)
{
	sp_buffer taken = request->out;

	sp_buffer_init(&request->out, SIZE_MAX / 2);
	return taken;
}

void sp_http_request_set_answer(sp_http_request *request, const sp_http_answer *answer)
{
	request->status = answer->status;
	request->outcome = answer->outcome;
	request->content_type = answer->content_type;
	request->retry = answer->retry;
	if (answer->reason != NULL)
		snprintf(request->reason, sizeof(request->reason), "%s", answer->reason);
	if (answer->body != NULL) {
		sp_buffer_fini(&request->out);
		request->out = *answer->body;
		*answer->body = (sp_buffer){.max_size = request->out.max_size};
	}
	request->header_count = request->trailer_count = 0;
	if ((answer->header_count != 0 || answer->trailer_count != 0) &&
	    !set_fields(request, answer)) {
		sp_buffer_fini(&request->out);
		set_json_error(request, 500, "the answer has a header that cannot be sent");
	}
}

void sp_http_request_answer(sp_http_request *request, const sp_http_answer *answer)
{
	sp_http_request_set_answer(request, answer);
	post(request);
}

void sp_http__request_set_error(sp_http_request *request, int status, const char *text)
{
	const sp_http_options *options = request->options;

	if (options->refusal == NULL || !options->refusal(options->context, request, status, text))
		set_json_error(request, status, text);
}

void sp_http_request_fail(sp_http_request *request, int status, const char *text)
{
	sp_http__request_set_error(request, status, text);
	post(request);
}
