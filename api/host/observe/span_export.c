#include "api/host/observe/span_export.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "api/host/observe/http_post.h"
#include "api/host/observe/otlp.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/thread.h"

enum { FIRST_PAUSE_MS = 250, MAX_MESSAGE = 16 << 20 };

struct sp_span_export {
	const char *url;
	sp_http_post *post; /* only the thread posts; others may set when it must end */
	sp_thread_group *thread;
	sp_log_limit limit;
	atomic_uint_least64_t sent, dropped;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	bool closing;
	size_t first, count; /* in `ring` */
	sp_span_call ring[SP_SPAN_QUEUE];

	/* Only the thread uses these. */
	sp_span_call batch[SP_SPAN_BATCH];
	size_t batch_count;
};

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

/* Waits for `ms`, or until the export is closed; returns whether it is. */
static bool pause_for(sp_span_export *spans, int64_t ms)
{
	struct timespec until = time_of(sp_clock_now_ns() + ms * INT64_C(1000000));
	bool closing;

	pthread_mutex_lock(&spans->lock);
	while (!spans->closing &&
	       pthread_cond_timedwait(&spans->changed, &spans->lock, &until) == 0)
		;
	closing = spans->closing;
	pthread_mutex_unlock(&spans->lock);
	return closing;
}

/* Waits for calls and fills the batch; false: the export is closed and no call is left. */
static bool take_batch(sp_span_export *spans)
{
	struct timespec until;

	pthread_mutex_lock(&spans->lock);
	while (spans->count == 0 && !spans->closing)
		pthread_cond_wait(&spans->changed, &spans->lock);
	until = time_of(sp_clock_now_ns() + SP_SPAN_DELAY_MS * INT64_C(1000000));
	while (spans->count < SP_SPAN_BATCH && !spans->closing &&
	       pthread_cond_timedwait(&spans->changed, &spans->lock, &until) == 0)
		;
	spans->batch_count = spans->count < SP_SPAN_BATCH ? spans->count : SP_SPAN_BATCH;
	for (size_t i = 0; i < spans->batch_count; i++) {
		spans->batch[i] = spans->ring[spans->first];
		spans->first = (spans->first + 1) % SP_SPAN_QUEUE;
	}
	spans->count -= spans->batch_count;
	pthread_mutex_unlock(&spans->lock);
	return spans->batch_count != 0;
}

static bool is_worth_another_try(int status)
{
	return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

static void send_batch(sp_span_export *spans, sp_bytes message)
{
	int64_t pause_ms = FIRST_PAUSE_MS;
	sp_error err;
	int status = 0;

	for (int tries = 1;; tries++, pause_ms *= 2) {
		status = sp_http_post_send(spans->post, message, SP_SPAN_TIMEOUT_MS, &err);
		if (status >= 200 && status < 300) {
			atomic_fetch_add(&spans->sent, spans->batch_count);
			return;
		}
		if (tries == SP_SPAN_TRIES || !is_worth_another_try(status) ||
		    pause_for(spans, pause_ms))
			break;
	}
	atomic_fetch_add(&spans->dropped, spans->batch_count);
	if (status == 0)
		sp_log_limited(&spans->limit, SP_LOG_WARNING,
			       "the traces of %zu requests are lost: %s: %s", spans->batch_count,
			       spans->url, err.text);
	else
		sp_log_limited(&spans->limit, SP_LOG_WARNING,
			       "the traces of %zu requests are lost: %s answers %d",
			       spans->batch_count, spans->url, status);
}

static void send_all(void *context)
{
	sp_span_export *spans = context;
	sp_buffer message;

	sp_buffer_init(&message, MAX_MESSAGE);
	while (take_batch(spans)) {
		sp_buffer_clear(&message);
		sp_otlp_write(&message, spans->batch, spans->batch_count);
		if (message.failed)
			atomic_fetch_add(&spans->dropped, spans->batch_count);
		else
			send_batch(spans, (sp_bytes){message.data, message.size});
	}
	sp_buffer_fini(&message);
}

sp_status sp_span_export_open(sp_span_export **out, const char *url, sp_error *err)
{
	sp_span_export *spans;
	sp_status status;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return sp_error_set(err, SP_INVALID,
				    "--trace_endpoint: \"%s\" is neither http:// nor https://",
				    url);
	spans = sp_alloc_zero(1, sizeof(*spans));
	if (spans == NULL)
		return sp_no_memory(err, "traces");
	spans->url = url;
	pthread_mutex_init(&spans->lock, NULL);
	sp_condition_init(&spans->changed);
	status = sp_http_post_open(&spans->post, url, err);
	if (status == SP_OK)
		status = sp_thread_group_create(&spans->thread, 1, "traces", send_all, spans, err);
	if (status != SP_OK) {
		sp_span_export_close(spans);
		return status;
	}
	*out = spans;
	return SP_OK;
}

void sp_span_export_close(sp_span_export *spans)
{
	if (spans == NULL)
		return;
	sp_http_post_end_by(spans->post, sp_clock_now_ns() + SP_SPAN_LAST_MS * INT64_C(1000000));
	pthread_mutex_lock(&spans->lock);
	spans->closing = true;
	pthread_cond_signal(&spans->changed);
	pthread_mutex_unlock(&spans->lock);
	sp_thread_group_destroy(spans->thread);
	sp_http_post_close(spans->post);
	pthread_cond_destroy(&spans->changed);
	pthread_mutex_destroy(&spans->lock);
	sp_free(spans);
}

void sp_span_export_add(sp_span_export *spans, const sp_observed *observed)
{
	pthread_mutex_lock(&spans->lock);
	if (spans->count == SP_SPAN_QUEUE) {
		atomic_fetch_add_explicit(&spans->dropped, 1, memory_order_relaxed);
	} else {
		size_t last = (spans->first + spans->count) % SP_SPAN_QUEUE;

		sp_span_call_fill(&spans->ring[last], observed);
		spans->count++;
		if (spans->count == 1 || spans->count == SP_SPAN_BATCH)
			pthread_cond_signal(&spans->changed);
	}
	pthread_mutex_unlock(&spans->lock);
}

uint64_t sp_span_export_sent(const sp_span_export *spans)
{
	return spans != NULL ? atomic_load_explicit(&spans->sent, memory_order_relaxed) : 0;
}

uint64_t sp_span_export_dropped(const sp_span_export *spans)
{
	return spans != NULL ? atomic_load_explicit(&spans->dropped, memory_order_relaxed) : 0;
}
