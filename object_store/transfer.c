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
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "object_store/listing.h"

enum {
	NS_PER_MS = 1000000,
	CONNECTIONS = 16,
	CONNECTIONS_MOST = 64,
	URGENT_MORE = 4, /* connections that only sp_transfer_start()'s may use */
	CONNECT_MS = 5000,
	PAUSE_MS = 100, /* before the second attempt */
	PAUSE_MOST_MS = 5000,
	BODY_KEPT = 2048, /* of an answer that is an error */
	IDLE_MS = 1000,
	/* Bytes per second below which an attempt is given up, after a quarter of the time. */
	SLOW_BYTES = 4096,
	SLOW_MOST_S = 15,
	/* The budget of repetitions: so many, and one more for each so many good answers. */
	REPETITIONS = 200,
	GOOD_PER_REPETITION = 4,
};

/* What the thread knows of a transfer. */
typedef struct sp_transfer_run {
	CURL *curl;
	struct curl_slist *headers;
	sp_http_request request;
	char *redirect; /* a data node's URL, which holds a token; NULL: none */
	char reason[CURL_ERROR_SIZE];
	char body[BODY_KEPT + 1]; /* of an answer that is an error */
	size_t body_size;
	int64_t deadline_ns, due_ns;
	int attempts;
	bool has_moved;    /* bytes were taken in this attempt */
	sp_status stopped; /* by take(); SP_OK: not */
	sp_error why;
} sp_transfer_run;

static struct {
	pthread_mutex_t lock; /* protects all down to `thread` */
	bool is_started, closing;
	sp_transfer *started, **started_end;
	sp_transfer *(*source)(void);
	size_t connections;
	CURLM *multi;
	sp_thread_group *thread;

	/* Of the thread. */
	sp_transfer *waiting; /* for their next attempt */
	size_t active;
	unsigned repetitions, good;
	sp_transfer *running[CONNECTIONS_MOST + URGENT_MORE];
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .connections = CONNECTIONS};

/* -------------------------------------------------------------------- answers */

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

static bool take_number(const char **at, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* "bytes 0-9/443" */
static void take_range(sp_http_answer *answer, const char *text)
{
	if (strncasecmp(text, "bytes ", 6) != 0)
		return;
	text += 6;
	answer->has_range = take_number(&text, &answer->first) && *text++ == '-' &&
			    take_number(&text, &answer->last) && *text++ == '/' &&
			    take_number(&text, &answer->total);
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
	sp_transfer *t = context;
	sp_bytes line = {data, size * count};
	sp_http_answer *answer = &t->answer;
	char value[256];
	const char *at = value;

	if (sp_bytes_starts_with(line, "HTTP/")) {
		*answer = (sp_http_answer){.length = UINT64_MAX};
		for (size_t i = 5; i + 3 < line.size && answer->status == 0; i++)
			if (line.data[i] == ' ')
				answer->status = atoi(line.data + i + 1);
	} else if (is_header(line, "content-length", value)) {
		(void)take_number(&at, &answer->length);
	} else if (is_header(line, "content-range", value)) {
		take_range(answer, value);
	} else if (is_header(line, "etag", value)) {
		snprintf(answer->etag, sizeof(answer->etag), "%.127s", value);
	} else if (is_header(line, "last-modified", value)) {
		snprintf(answer->changed, sizeof(answer->changed), "%.47s", value);
		answer->changed_s = sp_listing_time(value);
	} else if (is_header(line, "date", value)) {
		answer->date_s = sp_listing_time(value);
	}
	return line.size;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	sp_transfer *t = context;
	sp_transfer_run *run = t->run;
	size_t total = size * count;

	if (t->answer.status == 200 || t->answer.status == 206) {
		run->stopped = t->take(t, data, total, &run->why);
		run->has_moved = true;
		return run->stopped == SP_OK ? total : CURL_WRITEFUNC_ERROR;
	}
	if (run->body_size + total > BODY_KEPT)
		size = BODY_KEPT - run->body_size;
	else
		size = total;
	memcpy(run->body + run->body_size, data, size);
	run->body_size += size;
	run->body[run->body_size] = '\0';
	return total;
}

/* ------------------------------------------------------------------- attempts */

static bool set_headers(sp_transfer_run *run)
{
	for (size_t i = 0; i < run->request.header_count && run->redirect == NULL; i++) {
		const sp_http_header *header = &run->request.headers[i];
		size_t size = strlen(header->name) + strlen(header->value) + 3;
		char *line = sp_alloc(size);
		struct curl_slist *list = NULL;

		if (line != NULL) {
			snprintf(line, size, "%s: %s", header->name, header->value);
			list = curl_slist_append(run->headers, line);
		}
		sp_free(line);
		if (list == NULL)
			return false;
		run->headers = list;
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
	sp_transfer_run *run = t->run;
	CURL *curl = run->curl;
	bool is_secure = strncmp(run->request.url, "https:", 6) == 0;
	const char *url = run->redirect != NULL ? run->redirect : run->request.url;
	long left_ms = (long)((run->deadline_ns - sp_clock_now_ns()) / NS_PER_MS) + 1;
	long slow_s = (long)(t->timeout_ms / 4000) + 1;

	if (slow_s > SLOW_MOST_S)
		slow_s = SLOW_MOST_S;
	return set_headers(run) && set_method(curl, run->request.method) &&
	       curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_secure ? "https" : "http,https") ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTPHEADER, run->headers) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, run->reason) == CURLE_OK &&
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
	       (run->request.ca_file == NULL ||
		curl_easy_setopt(curl, CURLOPT_CAINFO, run->request.ca_file) == CURLE_OK);
}

static void end(sp_transfer *t)
{
	sp_transfer_run *run = t->run;

	if (run != NULL) {
		sp_http_request_fini(&run->request);
		sp_free(run->redirect);
		sp_free(run);
	}
	t->run = NULL;
	t->end(t);
}

static void fail(sp_transfer *t, sp_status status, const char *text)
{
	t->status = sp_error_set(&t->error, status, "%s", text);
	end(t);
}

/* Waits for its next attempt, unless the time or the budget is over. */
static void repeat(sp_transfer *t)
{
	sp_transfer_run *run = t->run;
	int64_t now = sp_clock_now_ns();
	int shift = run->attempts < 6 ? run->attempts : 6;
	int64_t pause_ms = (int64_t)PAUSE_MS << shift;

	t->may_pass = true;
	if (pause_ms > PAUSE_MOST_MS)
		pause_ms = PAUSE_MOST_MS;
	pause_ms = pause_ms / 2 + (int64_t)(sp_siphash13(sp_hash_process_key(), &now, sizeof(now)) %
					    (uint64_t)(pause_ms / 2));
	run->attempts = run->has_moved ? 1 : run->attempts + 1;
	run->due_ns = now + pause_ms * NS_PER_MS;
	if (run->due_ns >= run->deadline_ns || engine.repetitions == 0 ||
	    run->attempts == t->attempts_most) {
		if (engine.repetitions == 0)
			sp_error_prefix(&t->error, t->error.status,
					"too many requests have failed lately");
		else if (run->attempts == t->attempts_most)
			sp_error_prefix(&t->error, t->error.status, "given up after %d attempts",
					run->attempts);
		else
			sp_error_prefix(&t->error, t->error.status, "given up after %" PRId64 " ms",
					t->timeout_ms);
		t->status = t->error.status;
		end(t);
		return;
	}
	engine.repetitions--;
	t->next = engine.waiting;
	engine.waiting = t;
}

/* An answer that is neither good nor a redirect. */
static void refuse(sp_transfer *t)
{
	int status = t->answer.status;
	char code[64];
	bool is_passing = status == 408 || status == 425 || status == 429 || status >= 500;
	sp_status kind = status == 404 || status == 410 ? SP_NOT_FOUND : SP_IO;

	sp_listing_error_code(code, (sp_bytes){t->run->body, t->run->body_size});
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
	if (is_passing)
		repeat(t);
	else
		end(t);
}

static bool take_redirect(sp_transfer *t)
{
	sp_transfer_run *run = t->run;
	const char *to = NULL;

	if (t->answer.status != 307 || !run->request.may_redirect || run->redirect != NULL ||
	    curl_easy_getinfo(run->curl, CURLINFO_REDIRECT_URL, &to) != CURLE_OK || to == NULL)
		return false;
	run->redirect = sp_alloc_text(to);
	return run->redirect != NULL;
}

/* Whether another attempt would fail in the same way. */
static bool is_lasting(CURLcode code)
{
	return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
	       code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

/* Whether the transfer's time ended an attempt before it had any bytes, after others had failed. */
static bool is_cut_short(const sp_transfer_run *run, CURLcode code)
{
	return code == CURLE_OPERATION_TIMEDOUT && run->attempts != 0 && !run->has_moved &&
	       sp_clock_now_ns() + NS_PER_MS >= run->deadline_ns;
}

static bool is_good(const sp_transfer *t)
{
	return t->answer.status == 200 || t->answer.status == 206 ||
	       (t->answer.status == 304 && t->run->request.is_conditional);
}

static void judge(sp_transfer *t, CURLcode code)
{
	sp_transfer_run *run = t->run;

	if (run->stopped != SP_OK) {
		t->error = run->why;
		t->status = run->why.status = run->stopped;
	} else if (is_cut_short(run, code)) {
		t->status = SP_BUSY; /* the error of the attempt before says more, and stays */
	} else if (code != CURLE_OK) {
		sp_error_set(&t->error, SP_IO, "%s",
			     run->reason[0] != '\0' ? run->reason : curl_easy_strerror(code));
		t->status = is_lasting(code) ? SP_IO : SP_BUSY;
	} else if (!is_good(t)) {
		refuse(t);
		return;
	} else {
		t->status = t->judge != NULL ? t->judge(t, &t->error) : SP_OK;
	}
	if (t->status == SP_OK && ++engine.good % GOOD_PER_REPETITION == 0 &&
	    engine.repetitions < REPETITIONS)
		engine.repetitions++;
	if (t->status == SP_BUSY) {
		t->error.status = SP_IO;
		repeat(t);
	} else {
		end(t);
	}
}

static void drop_curl(sp_transfer *t)
{
	sp_transfer_run *run = t->run;

	curl_multi_remove_handle(engine.multi, run->curl);
	curl_easy_cleanup(run->curl);
	curl_slist_free_all(run->headers);
	run->curl = NULL;
	run->headers = NULL;
	for (size_t i = 0; i < engine.active; i++)
		if (engine.running[i] == t)
			engine.running[i] = engine.running[--engine.active];
}

static void attempt(sp_transfer *t)
{
	sp_transfer_run *run = t->run;

	t->may_pass = t->is_denied = false;
	run->stopped = SP_OK;
	run->has_moved = false;
	run->body_size = 0;
	run->reason[0] = '\0';
	t->answer = (sp_http_answer){.length = UINT64_MAX};
	if (run->redirect == NULL) {
		sp_http_request_fini(&run->request);
		t->status = t->prepare(t, &run->request, &t->error);
		if (t->status == SP_OK && run->request.failed)
			t->status = sp_no_memory(&t->error, "a request");
		if (t->status != SP_OK) {
			end(t);
			return;
		}
	}
	run->curl = curl_easy_init();
	engine.running[engine.active++] = t;
	if (run->curl == NULL || !set_options(t) ||
	    curl_multi_add_handle(engine.multi, run->curl) != CURLM_OK) {
		drop_curl(t);
		fail(t, SP_NO_MEMORY, "no memory for a request");
	}
}

static void finish(sp_transfer *t, CURLcode code)
{
	bool is_redirected = code == CURLE_OK && take_redirect(t);

	drop_curl(t);
	if (is_redirected) {
		attempt(t);
		return;
	}
	sp_free(t->run->redirect);
	t->run->redirect = NULL;
	judge(t, code);
}

/* ------------------------------------------------------------------ the thread */

static void begin(sp_transfer *t)
{
	t->run = sp_alloc_zero(1, sizeof(*t->run));
	if (t->run == NULL) {
		fail(t, SP_NO_MEMORY, "no memory for a request");
		return;
	}
	t->run->deadline_ns = sp_clock_now_ns() + t->timeout_ms * NS_PER_MS;
	attempt(t);
}

static sp_transfer *take_started(void)
{
	sp_transfer *t = engine.started;

	if (t != NULL) {
		engine.started = t->next;
		if (engine.started == NULL)
			engine.started_end = &engine.started;
	}
	return t;
}

/* The next attempt that is due; *pause_ms is lowered to the time until another is. */
static sp_transfer *take_waiting(int *pause_ms)
{
	int64_t now = sp_clock_now_ns();

	for (sp_transfer **at = &engine.waiting; *at != NULL; at = &(*at)->next) {
		sp_transfer *t = *at;
		int64_t left_ms = (t->run->due_ns - now) / NS_PER_MS;

		if (t->run->due_ns <= now) {
			*at = t->next;
			return t;
		}
		if (left_ms + 1 < *pause_ms)
			*pause_ms = (int)left_ms + 1;
	}
	return NULL;
}

/* Fills the free connections; returns how long nothing else is due. */
static int start_all(void)
{
	int pause_ms = IDLE_MS;

	for (;;) {
		sp_transfer *(*source)(void), *t = NULL;
		size_t connections;

		pthread_mutex_lock(&engine.lock);
		connections = engine.connections;
		source = engine.source;
		if (engine.active < connections + URGENT_MORE)
			t = take_started();
		pthread_mutex_unlock(&engine.lock);
		if (t != NULL) {
			begin(t);
			continue;
		}
		if (engine.active < connections && (t = take_waiting(&pause_ms)) != NULL) {
			attempt(t);
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
		t = take_started();
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
			finish(t, code);
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
	curl_multi_setopt(engine.multi, CURLMOPT_MAXCONNECTS, 2L * CONNECTIONS_MOST);
	engine.closing = false;
	engine.started_end = &engine.started;
	engine.repetitions = REPETITIONS;
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
	engine.connections = count < 1 ? 1 : count > CONNECTIONS_MOST ? CONNECTIONS_MOST : count;
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

/* ---------------------------------------------------------------- one that waits */

typedef struct call_state {
	sp_transfer transfer;
	sp_transfer_call *call;
	pthread_mutex_t lock; /* protects `done` */
	pthread_cond_t ended;
	bool done;
} call_state;

static sp_status prepare_call(sp_transfer *t, sp_http_request *out, sp_error *err)
{
	call_state *state = (call_state *)t;

	if (state->call->body != NULL)
		sp_buffer_clear(state->call->body);
	return state->call->prepare(state->call->context, out, err);
}

static sp_status take_body(sp_transfer *t, const char *data, size_t size, sp_error *err)
{
	sp_buffer *body = ((call_state *)t)->call->body;

	if (body == NULL)
		return SP_OK;
	sp_buffer_append(body, data, size);
	return body->failed ? sp_error_set(err, SP_IO, "the server's answer is too large") : SP_OK;
}

static void end_call(sp_transfer *t)
{
	call_state *state = (call_state *)t;

	pthread_mutex_lock(&state->lock);
	state->done = true;
	pthread_cond_signal(&state->ended);
	pthread_mutex_unlock(&state->lock);
}

sp_status sp_transfer_call_make(sp_transfer_call *call, sp_error *err)
{
	call_state *state = sp_alloc_zero(1, sizeof(*state));
	sp_status status;

	SP_NEED_MEMORY(state, err, "a request");
	state->call = call;
	state->transfer = (sp_transfer){.prepare = prepare_call,
					.take = take_body,
					.end = end_call,
					.timeout_ms = call->timeout_ms,
					.attempts_most = call->attempts_most,
					.is_direct = call->is_direct};
	pthread_mutex_init(&state->lock, NULL);
	pthread_cond_init(&state->ended, NULL);
	status = sp_transfer_start(&state->transfer, err);
	if (status == SP_OK) {
		pthread_mutex_lock(&state->lock);
		while (!state->done)
			pthread_cond_wait(&state->ended, &state->lock);
		pthread_mutex_unlock(&state->lock);
		status = state->transfer.status;
		if (status != SP_OK && err != NULL)
			*err = state->transfer.error;
	}
	call->answer = state->transfer.answer;
	call->is_denied = state->transfer.is_denied;
	call->may_pass = status != SP_OK && state->transfer.may_pass;
	pthread_cond_destroy(&state->ended);
	pthread_mutex_destroy(&state->lock);
	sp_free(state);
	return status;
}
