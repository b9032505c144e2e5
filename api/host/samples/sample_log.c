#include "api/host/samples/sample_log.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "api/host/samples/sample_message.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/queue.h"
#include "base/thread.h"

enum { MAX_WAITING = 1024, MAX_BYTES = 64 << 20 };

/* The files of a prefix, which several models may share.  Only the log's thread uses it. */
typedef struct series {
	struct series *next;
	const char *prefix;
	sp_record_files *files;
} series;

struct sp_sample_log {
	sp_sample_sink sink;
	sp_record_limits limits;
	sp_queue *queue;
	sp_thread_group *thread;
	atomic_size_t bytes; /* of the records that wait */
	series *first;
	char tick; /* its address in the queue asks the thread to close old files */
};

/* A message that waits to be written; its bytes follow. */
typedef struct record {
	sp_model *model;
	const sp_sampling *sampling;
	size_t size;
} record;

/* -------------------------------------------------------------------- taking */

/* NULL when out of memory, or if the sample cannot be a message. */
static record *make_record(const sp_sample *sample)
{
	const sp_servable *servable = sample->servable;
	record head = {servable->model, servable->sampling, 0}, *made;
	sp_buffer out;
	size_t size;

	sp_buffer_init(&out, MAX_BYTES);
	sp_buffer_append(&out, &head, sizeof(head));
	if (sp_sample_message_encode(&out, sample, NULL) != SP_OK) {
		sp_buffer_fini(&out);
		return NULL;
	}
	made = (record *)(void *)sp_buffer_take(&out, &size);
	if (made != NULL)
		made->size = size - sizeof(head);
	return made;
}

static void end_record(sp_sample_log *log, record *r)
{
	atomic_fetch_sub(&log->bytes, r->size);
	sp_free(r);
}

static void offer(void *context, const sp_servable *servable, const sp_infer_request *request,
		  const sp_infer_result *result, const sp_examples_result *examples)
{
	const sp_sample sample = {servable, request, result, examples, (int64_t)time(NULL)};
	sp_sample_log *log = context;
	record *r = NULL;

	if (atomic_load(&log->bytes) < MAX_BYTES)
		r = make_record(&sample);
	if (r != NULL) {
		if (atomic_fetch_add(&log->bytes, r->size) + r->size <= MAX_BYTES &&
		    sp_queue_try_push(log->queue, r))
			return;
		end_record(log, r);
	}
	sp_counter_add(&servable->model->counters.samples_dropped, 1);
}

/* ------------------------------------------------------------------- writing */

/* NULL when out of memory. */
static sp_record_files *find_files(sp_sample_log *log, const char *prefix)
{
	series *s = log->first;

	while (s != NULL && strcmp(s->prefix, prefix) != 0)
		s = s->next;
	if (s != NULL)
		return s->files;
	s = sp_alloc_zero(1, sizeof(*s));
	if (s == NULL || (s->files = sp_record_files_create(prefix, &log->limits)) == NULL) {
		sp_free(s);
		return NULL;
	}
	s->prefix = prefix;
	s->next = log->first;
	log->first = s;
	return s->files;
}

static void write_record(sp_sample_log *log, const record *r)
{
	sp_record_files *files = find_files(log, r->sampling->prefix);
	bool written = files != NULL &&
		       sp_record_files_add(files, (sp_bytes){(const char *)(r + 1), r->size});

	sp_counter_add(written ? &r->model->counters.samples_written
			       : &r->model->counters.samples_dropped,
		       1);
}

static void write_all(void *context)
{
	sp_sample_log *log = context;
	void *item;

	while ((item = sp_queue_pop(log->queue)) != NULL) {
		if (item == &log->tick) {
			for (series *s = log->first; s != NULL; s = s->next)
				sp_record_files_tick(s->files, sp_clock_now_ns());
			continue;
		}
		write_record(log, item);
		end_record(log, item);
	}
}

void sp_sample_log_tick(sp_sample_log *log)
{
	/* If the queue is full, the next tick does it. */
	(void)sp_queue_try_push(log->queue, &log->tick);
}

/* ------------------------------------------------------------------- its life */

sp_status sp_sample_log_create(sp_sample_log **out, const sp_record_limits *limits, sp_error *err)
{
	sp_sample_log *log = sp_alloc_zero(1, sizeof(*log));
	sp_status status;

	if (log == NULL)
		return sp_no_memory(err, "the log of requests");
	log->limits = *limits;
	log->sink = (sp_sample_sink){offer, log};
	log->queue = sp_queue_create(MAX_WAITING);
	status = log->queue == NULL
			 ? sp_no_memory(err, "the log of requests")
			 : sp_thread_group_create(&log->thread, 1, "samples", write_all, log, err);
	if (status != SP_OK) {
		sp_sample_log_destroy(log);
		return status;
	}
	*out = log;
	return SP_OK;
}

const sp_sample_sink *sp_sample_log_get_sink(const sp_sample_log *log)
{
	return &log->sink;
}

void sp_sample_log_destroy(sp_sample_log *log)
{
	series *next;

	if (log == NULL)
		return;
	if (log->queue != NULL)
		sp_queue_close(log->queue);
	sp_thread_group_destroy(log->thread);
	sp_queue_destroy(log->queue);
	for (series *s = log->first; s != NULL; s = next) {
		next = s->next;
		sp_record_files_destroy(s->files);
		sp_free(s);
	}
	sp_free(log);
}
