#include "object_store/transfer.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "object_store/listing.h"

enum {
	NS_PER_MS = 1000000,
	CONNECTIONS = 16,
	MAX_CONNECTIONS = 64,
	URGENT_CONNECTIONS = 4, /* more, for transfers of sp_transfer_start() only */
	CONNECT_MS = 5000,
	BACKOFF_MS = 100, /* before the second attempt */
	MAX_BACKOFF_MS = 5000,
	MAX_ERROR_BODY = 2048, /* of an error response */
	IDLE_MS = 1000,
	/*
	 * An attempt below so many bytes/s for a quarter of the timeout, at most MAX_SLOW_S, fails.
	 */
	SLOW_BYTES = 4096,
	MAX_SLOW_S = 15,
	/* Retries of all transfers; some successes add one retry to the budget. */
	RETRY_BUDGET = 200,
	SUCCESSES_PER_RETRY = 4,
};

/* The thread's state of a transfer. */
typedef struct sp_transfer_state {
	CURL *curl;
	struct curl_slist *headers;
	sp_http_request request;
	char *redirect; /* a data node's URL, which holds a token; NULL: none */
	char reason[CURL_ERROR_SIZE];
	char body[MAX_ERROR_BODY + 1]; /* of an error response */
	size_t body_size;
	int64_t deadline_ns, due_ns;
	int attempts;
	bool has_data;          /* this attempt has received bytes of the body */
	sp_status abort_status; /* of receive(), which ended the attempt; else SP_OK */
	sp_error why;
} sp_transfer_state;

static struct {
	pthread_mutex_t lock; /* protects all down to `thread` */
	bool is_started, closing;
	sp_transfer *started, **started_end;
	sp_transfer *(*source)(void);
	size_t connections;
	CURLM *multi;
	sp_thread_group *thread;

	/* Used by the thread only. */
	sp_transfer *waiting; /* for their next attempt */
	size_t active;
	uint64_t random;
	unsigned retry_budget, successes;
	sp_transfer *running[MAX_CONNECTIONS + URGENT_CONNECTIONS];
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .connections = CONNECTIONS};

/* ----------------------------------------------------------------- responses */

static bool is_header(sp_bytes line, const char *name, char value[256])
{
	size_t size = strlen(name), end = line.size;

	if (line.size <= size || line.data[size] != ':' || strncasecmp(line.data, name, size) != 0)
		return false;
	size++;
	while (size < end && (line.data[size] == ' ' || line.data[size] == '\t'))
		size++;
	while (end > size && strchr("\r\n \t", line.data[end - 1]) != NULL)
		end--;
	if (end - size >= 256)
		return false;
	memcpy(value, line.data + size, end - size);
	value[end - size] = '\0';
	return true;
}

static bool parse_number(const char **at, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* "bytes 0-9/443" */
static void parse_range(sp_http_response *response, const char *text)
{
	if (strncasecmp(text, "bytes ", 6) != 0)
		return;
	text += 6;
	response->has_range = parse_number(&text, &response->first) && *text++ == '-' &&
			      parse_number(&text, &response->last) && *text++ == '/' &&
			      parse_number(&text, &response->total);
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
	sp_transfer *t = context;
	sp_bytes line = {data, size * count};
	sp_http_response *response = &t->response;
	char value[256];
	const char *at = value;

	if (sp_bytes_starts_with(line, "HTTP/")) {
		*response = (sp_http_response){.length = UINT64_MAX};
		for (size_t i = 5; i + 3 < line.size && response->status == 0; i++)
			if (line.data[i] == ' ')
				response->status = atoi(line.data + i + 1);
	} else if (is_header(line, "content-length", value)) {
		(void)parse_number(&at, &response->length);
	} else if (is_header(line, "content-range", value)) {
		parse_range(response, value);
	} else if (is_header(line, "etag", value)) {
		snprintf(response->etag, sizeof(response->etag), "%.127s", value);
	} else if (is_header(line, "last-modified", value)) {
		snprintf(response->last_modified, sizeof(response->last_modified), "%.47s", value);
		response->modified_s = sp_listing_time(value);
	} else if (is_header(line, "date", value)) {
		response->date_s = sp_listing_time(value);
	}
	return line.size;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	sp_transfer *t = context;
	sp_transfer_state *state = t->state;
	size_t total = size * count;

	if (t->response.status == 200 || t->response.status == 206) {
		state->abort_status = t->receive(t, data, total, &state->why);
		state->has_data = true;
		return state->abort_status == SP_OK ? total : CURL_WRITEFUNC_ERROR;
	}
	if (state->body_size + total > MAX_ERROR_BODY)
		size = MAX_ERROR_BODY - state->body_size;
	else
		size = total;
	memcpy(state->body + state->body_size, data, size);
	state->body_size += size;
	state->body[state->body_size] = '\0';
	return total;
}

/* ------------------------------------------------------------------- attempts */

static bool set_headers(sp_transfer_state *state)
{
	for (size_t i = 0; i < state->request.header_count && state->redirect == NULL; i++) {
		const sp_http_header *header = &state->request.headers[i];
		size_t size = strlen(header->name) + strlen(header->value) + 3;
		char *line = sp_alloc(size);
		struct curl_slist *list = NULL;

		if (line != NULL) {
			snprintf(line, size, "%s: %s", header->name, header->value);
			list = curl_slist_append(state->headers, line);
		}
		sp_free(line);
		if (list == NULL)
			return false;
		state->headers = list;
	}
	return true;
}

static bool set_method(CURL *curl, const char *method)
{
	if (strcmp(method, "HEAD") == 0)
		return curl_easy_setopt(curl, CURLOPT_NOBODY, 1L) == CURLE_OK;
	return strcmp(method, "GET") == 0 ||
	       curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

static bool set_options(sp_transfer *t)
{
	sp_transfer_state *state = t->state;
	CURL *curl = state->curl;
	bool is_secure = strncmp(state->request.url, "https:", 6) == 0;
	const char *url = state->redirect != NULL ? state->redirect : state->request.url;
	long left_ms = (long)((state->deadline_ns - sp_clock_now_ns()) / NS_PER_MS) + 1;
	long slow_s = (long)(t->timeout_ms / 4000) + 1;

	if (slow_s > MAX_SLOW_S)
		slow_s = MAX_SLOW_S;
	return set_headers(state) && set_method(curl, state->request.method) &&
	       curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_secure ? "https" : "http,https") ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTPHEADER, state->headers) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, state->reason) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERDATA, t) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEDATA, t) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PRIVATE, t) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L << 10) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
				left_ms < CONNECT_MS ? left_ms : CONNECT_MS) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, left_ms) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, slow_s) == CURLE_OK &&
	       (!t->is_direct || curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK) &&
	       (state->request.ca_file == NULL ||
		curl_easy_setopt(curl, CURLOPT_CAINFO, state->request.ca_file) == CURLE_OK);
}

static void end(sp_transfer *t)
{
	sp_transfer_state *state = t->state;

	if (state != NULL) {
		sp_http_request_fini(&state->request);
		sp_free(state->redirect);
		sp_free(state);
	}
	t->state = NULL;
	t->end(t);
}

static void fail(sp_transfer *t, sp_status status, const char *text)
{
	t->status = sp_error_set(&t->error, status, "%s", text);
	end(t);
}

/* Schedules the next attempt, or ends the transfer if its time or the retry budget is used up. */
static void retry(sp_transfer *t)
{
	sp_transfer_state *state = t->state;

	t->is_transient = true;
	state->due_ns = sp_clock_now_ns() + sp_backoff_ns((uint32_t)state->attempts, BACKOFF_MS,
							  MAX_BACKOFF_MS, &engine.random);
	state->attempts = state->has_data ? 1 : state->attempts + 1;
	if (state->due_ns >= state->deadline_ns || engine.retry_budget == 0 ||
	    state->attempts == t->max_attempts) {
		if (engine.retry_budget == 0)
			sp_error_prefix(&t->error, t->error.status,
					"too many requests have failed lately");
		else if (state->attempts == t->max_attempts)
			sp_error_prefix(&t->error, t->error.status, "given up after %d attempts",
					state->attempts);
		else
			sp_error_prefix(&t->error, t->error.status, "given up after %" PRId64 " ms",
					t->timeout_ms);
		t->status = t->error.status;
		end(t);
		return;
	}
	engine.retry_budget--;
	t->next = engine.waiting;
	engine.waiting = t;
}

/* A response that is neither a success nor an accepted redirect. */
static void handle_error(sp_transfer *t)
{
	int status = t->response.status;
	char code[64];
	bool is_transient = status == 408 || status == 425 || status == 429 || status >= 500;
	sp_status kind = status == 404 || status == 410 ? SP_NOT_FOUND : SP_IO;

	sp_listing_error_code(code, (sp_bytes){t->state->body, t->state->body_size});
	t->is_denied = status == 401 || status == 403;
	if (status == 412 || status == 416)
		t->status = sp_error_set(&t->error, SP_IO,
					 "the object was changed while it was read (HTTP %d)",
					 status);
	else if (status >= 300 && status < 400)
		t->status = sp_error_set(
			&t->error, SP_IO,
			"the server redirects to another place (HTTP %d), which is "
			"not followed",
			status);
	else
		t->status = sp_error_set(&t->error, kind, "the server answers with HTTP %d%s%s",
					 status, code[0] != '\0' ? ", " : "", code);
	if (is_transient)
		retry(t);
	else
		end(t);
}

static bool accept_redirect(sp_transfer *t)
{
	sp_transfer_state *state = t->state;
	const char *to = NULL;

	if (t->response.status != 307 || !state->request.may_redirect || state->redirect != NULL ||
	    curl_easy_getinfo(state->curl, CURLINFO_REDIRECT_URL, &to) != CURLE_OK || to == NULL)
		return false;
	state->redirect = sp_alloc_text(to);
	return state->redirect != NULL;
}

/* Whether another attempt would fail in the same way. */
static bool is_permanent(CURLcode code)
{
	return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
	       code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

/* Whether the transfer's timeout ended a later attempt before it received any bytes. */
static bool is_cut_short(const sp_transfer_state *state, CURLcode code)
{
	return code == CURLE_OPERATION_TIMEDOUT && state->attempts != 0 && !state->has_data &&
	       sp_clock_now_ns() + NS_PER_MS >= state->deadline_ns;
}

static bool is_success(const sp_transfer *t)
{
	return t->response.status == 200 || t->response.status == 206 ||
	       (t->response.status == 304 && t->state->request.is_conditional);
}

static void complete_attempt(sp_transfer *t, CURLcode code)
{
	sp_transfer_state *state = t->state;

	if (state->abort_status != SP_OK) {
		t->error = state->why;
		t->status = state->why.status = state->abort_status;
	} else if (is_cut_short(state, code)) {
		t->status = SP_BUSY; /* the previous attempt's error is kept: it says more */
	} else if (code != CURLE_OK) {
		sp_error_set(&t->error, SP_IO, "%s",
			     state->reason[0] != '\0' ? state->reason : curl_easy_strerror(code));
		t->status = is_permanent(code) ? SP_IO : SP_BUSY;
	} else if (!is_success(t)) {
		handle_error(t);
		return;
	} else {
		t->status = t->verify != NULL ? t->verify(t, &t->error) : SP_OK;
	}
	if (t->status == SP_OK && ++engine.successes % SUCCESSES_PER_RETRY == 0 &&
	    engine.retry_budget < RETRY_BUDGET)
		engine.retry_budget++;
	if (t->status == SP_BUSY) {
		t->error.status = SP_IO;
		retry(t);
	} else {
		end(t);
	}
}

static void drop_curl(sp_transfer *t)
{
	sp_transfer_state *state = t->state;

	curl_multi_remove_handle(engine.multi, state->curl);
	curl_easy_cleanup(state->curl);
	curl_slist_free_all(state->headers);
	state->curl = NULL;
	state->headers = NULL;
	for (size_t i = 0; i < engine.active; i++)
		if (engine.running[i] == t)
			engine.running[i] = engine.running[--engine.active];
}

static void start_attempt(sp_transfer *t)
{
	sp_transfer_state *state = t->state;

	t->is_transient = t->is_denied = false;
	state->abort_status = SP_OK;
	state->has_data = false;
	state->body_size = 0;
	state->reason[0] = '\0';
	t->response = (sp_http_response){.length = UINT64_MAX};
	if (state->redirect == NULL) {
		sp_http_request_fini(&state->request);
		t->status = t->prepare(t, &state->request, &t->error);
		if (t->status == SP_OK && state->request.failed)
			t->status = sp_no_memory(&t->error, "a request");
		if (t->status != SP_OK) {
			end(t);
			return;
		}
	}
	state->curl = curl_easy_init();
	engine.running[engine.active++] = t;
	if (state->curl == NULL || !set_options(t) ||
	    curl_multi_add_handle(engine.multi, state->curl) != CURLM_OK) {
		drop_curl(t);
		fail(t, SP_NO_MEMORY, "no memory for a request");
	}
}

static void end_attempt(sp_transfer *t, CURLcode code)
{
	bool is_redirected = code == CURLE_OK && accept_redirect(t);

	drop_curl(t);
	if (is_redirected) {
		start_attempt(t);
		return;
	}
	sp_free(t->state->redirect);
	t->state->redirect = NULL;
	complete_attempt(t, code);
}

/* ------------------------------------------------------------------ the thread */

static void begin(sp_transfer *t)
{
	t->state = sp_alloc_zero(1, sizeof(*t->state));
	if (t->state == NULL) {
		fail(t, SP_NO_MEMORY, "no memory for a request");
		return;
	}
	t->state->deadline_ns = sp_clock_now_ns() + t->timeout_ms * NS_PER_MS;
	start_attempt(t);
}

static sp_transfer *pop_started(void)
{
	sp_transfer *t = engine.started;

	if (t != NULL) {
		engine.started = t->next;
		if (engine.started == NULL)
			engine.started_end = &engine.started;
	}
	return t;
}

/* A transfer whose next attempt is due; *pause_ms is lowered to the time until another's is. */
static sp_transfer *pop_due(int *pause_ms)
{
	int64_t now = sp_clock_now_ns();

	for (sp_transfer **at = &engine.waiting; *at != NULL; at = &(*at)->next) {
		sp_transfer *t = *at;
		int64_t left_ms = (t->state->due_ns - now) / NS_PER_MS;

		if (t->state->due_ns <= now) {
			*at = t->next;
			return t;
		}
		if (left_ms + 1 < *pause_ms)
			*pause_ms = (int)left_ms + 1;
	}
	return NULL;
}

/* Starts transfers while connections are free; returns the time until the next retry in ms. */
static int start_all(void)
{
	int pause_ms = IDLE_MS;

	for (;;) {
		sp_transfer *(*source)(void), *t = NULL;
		size_t connections;

		pthread_mutex_lock(&engine.lock);
		connections = engine.connections;
		source = engine.source;
		if (engine.active < connections + URGENT_CONNECTIONS)
			t = pop_started();
		pthread_mutex_unlock(&engine.lock);
		if (t != NULL) {
			begin(t);
			continue;
		}
		if (engine.active < connections && (t = pop_due(&pause_ms)) != NULL) {
			start_attempt(t);
			continue;
		}
		if (engine.active < connections && source != NULL)
			t = source();
		if (t == NULL)
			return pause_ms;
		begin(t);
	}
}

static void end_all(void)
{
	sp_transfer *t;

	while (engine.active != 0) {
		t = engine.running[0];
		drop_curl(t);
		fail(t, SP_CANCELLED, "object stores are closed");
	}
	while ((t = engine.waiting) != NULL) {
		engine.waiting = t->next;
		fail(t, SP_CANCELLED, "object stores are closed");
	}
	for (;;) {
		pthread_mutex_lock(&engine.lock);
		t = pop_started();
		pthread_mutex_unlock(&engine.lock);
		if (t == NULL)
			return;
		fail(t, SP_CANCELLED, "object stores are closed");
	}
}

static bool is_closing(void)
{
	bool closing;

	pthread_mutex_lock(&engine.lock);
	closing = engine.closing;
	pthread_mutex_unlock(&engine.lock);
	return closing;
}

static void work(void *context)
{
	CURLMsg *message;
	int left, running;

	(void)context;
	while (!is_closing()) {
		int pause_ms = start_all();

		curl_multi_perform(engine.multi, &running);
		while ((message = curl_multi_info_read(engine.multi, &left)) != NULL) {
			sp_transfer *t = NULL;
			CURLcode code = message->data.result;

			curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
			end_attempt(t, code);
			pause_ms = 0;
		}
		curl_multi_poll(engine.multi, NULL, 0, pause_ms, NULL);
	}
	end_all();
}

static void initialise(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static sp_status start_thread(sp_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *outer;
	sp_status status;

	pthread_once(&once, initialise);
	engine.multi = curl_multi_init();
	SP_NEED_MEMORY(engine.multi, err, "object stores");
	curl_multi_setopt(engine.multi, CURLMOPT_MAXCONNECTS, 2L * MAX_CONNECTIONS);
	engine.closing = false;
	engine.started_end = &engine.started;
	engine.retry_budget = RETRY_BUDGET;
	engine.random = sp_hash_process_key()[0] | 1;
	outer = sp_log_set_subject(NULL); /* the thread outlives the model that comes first */
	status = sp_thread_group_create(&engine.thread, 1, "sp-objects", work, NULL, err);
	sp_log_set_subject(outer);
	engine.is_started = status == SP_OK;
	if (status != SP_OK)
		curl_multi_cleanup(engine.multi);
	return status;
}

void sp_transfers_close(void)
{
	bool is_started;

	pthread_mutex_lock(&engine.lock);
	is_started = engine.is_started;
	engine.closing = true;
	if (is_started)
		curl_multi_wakeup(engine.multi);
	pthread_mutex_unlock(&engine.lock);
	if (!is_started)
		return;
	sp_thread_group_destroy(engine.thread);
	curl_multi_cleanup(engine.multi);
	engine.is_started = false;
}

void sp_transfers_set_connections(size_t count)
{
	pthread_mutex_lock(&engine.lock);
	engine.connections = count < 1 ? 1 : count > MAX_CONNECTIONS ? MAX_CONNECTIONS : count;
	pthread_mutex_unlock(&engine.lock);
}

void sp_transfers_set_source(sp_transfer *(*source)(void))
{
	pthread_mutex_lock(&engine.lock);
	engine.source = source;
	pthread_mutex_unlock(&engine.lock);
}

void sp_transfers_wake(void)
{
	pthread_mutex_lock(&engine.lock);
	if (engine.is_started)
		curl_multi_wakeup(engine.multi);
	pthread_mutex_unlock(&engine.lock);
}

sp_status sp_transfer_start(sp_transfer *transfer, sp_error *err)
{
	sp_status status = SP_OK;

	pthread_mutex_lock(&engine.lock);
	if (!engine.is_started)
		status = start_thread(err);
	if (status == SP_OK) {
		transfer->next = NULL;
		*engine.started_end = transfer;
		engine.started_end = &transfer->next;
		curl_multi_wakeup(engine.multi);
	}
	pthread_mutex_unlock(&engine.lock);
	return status;
}

/* ------------------------------------------------------------------ blocking calls */

typedef struct waiter {
	sp_transfer transfer;
	sp_transfer_call *call;
	pthread_mutex_t lock; /* protects `done` */
	pthread_cond_t ended;
	bool done;
} waiter;

static sp_status prepare_call(sp_transfer *t, sp_http_request *out, sp_error *err)
{
	waiter *w = (waiter *)t;

	if (w->call->body != NULL)
		sp_buffer_clear(w->call->body);
	return w->call->prepare(w->call->context, out, err);
}

static sp_status receive_body(sp_transfer *t, const char *data, size_t size, sp_error *err)
{
	sp_buffer *body = ((waiter *)t)->call->body;

	if (body == NULL)
		return SP_OK;
	sp_buffer_append(body, data, size);
	return body->failed ? sp_error_set(err, SP_IO, "the server's answer is too large") : SP_OK;
}

static void end_call(sp_transfer *t)
{
	waiter *w = (waiter *)t;

	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
}

sp_status sp_transfer_call_make(sp_transfer_call *call, sp_error *err)
{
	waiter *w = sp_alloc_zero(1, sizeof(*w));
	sp_status status;

	SP_NEED_MEMORY(w, err, "a request");
	w->call = call;
	w->transfer = (sp_transfer){.prepare = prepare_call,
				    .receive = receive_body,
				    .end = end_call,
				    .timeout_ms = call->timeout_ms,
				    .max_attempts = call->max_attempts,
				    .is_direct = call->is_direct};
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ended, NULL);
	status = sp_transfer_start(&w->transfer, err);
	if (status == SP_OK) {
		pthread_mutex_lock(&w->lock);
		while (!w->done)
			pthread_cond_wait(&w->ended, &w->lock);
		pthread_mutex_unlock(&w->lock);
		status = w->transfer.status;
		if (status != SP_OK && err != NULL)
			*err = w->transfer.error;
	}
	call->response = w->transfer.response;
	call->is_denied = w->transfer.is_denied;
	call->is_transient = status != SP_OK && w->transfer.is_transient;
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	sp_free(w);
	return status;
}
