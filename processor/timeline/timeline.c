#include "processor/timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/thread_pool.h"

enum {
	MAX_STEPS = 1 << 16, /* of one request */
	MAX_WAITING = 8,     /* requests whose files are not written yet */
	MAX_BYTES = 64 << 20,
};

struct sp_timeline {
	const sp_config *config;
	atomic_uint_least64_t requests;
	uint64_t end; /* no request from this number on is traced */
	sp_thread_pool *pool;
};

struct sp_traced {
	sp_thread_pool_job job;
	sp_timeline *timeline;
	uint64_t number; /* of the request */
	sp_version *version;
	const char *signature;
	size_t session;
	int64_t begin_ns, admitted_ns, end_ns;
	sp_run_trace trace;
	sp_step_time steps[MAX_STEPS];
};

/* -------------------------------------------------------------------- opening */

static sp_status check_path(const char *path, sp_error *err)
{
	if (path == NULL || path[0] == '/')
		return SP_OK;
	if (strncmp(path, "oss://", 6) == 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key 'timeline_path': oss is not supported; use "
				    "a local folder");
	return sp_error_set(err, SP_INVALID,
			    "configuration key 'timeline_path' must begin with '/'");
}

sp_status sp_timeline_open(sp_timeline **out, const sp_config *config, sp_error *err)
{
	int64_t span;
	sp_timeline *timeline;
	sp_status status;

	*out = NULL;
	SP_TRY(check_path(config->timeline_path, err));
	if (config->timeline_start_step < 0 || config->timeline_interval_step < 1 ||
	    config->timeline_trace_count < 1 || config->timeline_path == NULL) {
		if (config->timeline_start_step >= 0 || config->timeline_path != NULL)
			sp_log(SP_LOG_WARNING, "no request is traced: timeline_start_step, "
					       "timeline_interval_step, timeline_trace_count and "
					       "timeline_path are needed");
		return SP_OK;
	}
	timeline = sp_alloc_zero(1, sizeof(*timeline));
	SP_NEED_MEMORY(timeline != NULL, err, "timelines");
	timeline->config = config;
	/* The keys are less than 2^31, so neither overflows. */
	span = config->timeline_interval_step * config->timeline_trace_count;
	timeline->end = (uint64_t)(config->timeline_start_step + span);
	status = sp_thread_pool_create(&timeline->pool, 1, MAX_WAITING, "sp-timeline", err);
	if (status != SP_OK) {
		sp_free(timeline);
		return status;
	}
	*out = timeline;
	return SP_OK;
}

void sp_timeline_close(sp_timeline *timeline)
{
	if (timeline == NULL)
		return;
	sp_thread_pool_destroy(timeline->pool);
	sp_free(timeline);
}

/* -------------------------------------------------------------------- writing */

static void append_event(sp_buffer *json, const char *name, const char *category, size_t session,
			 int64_t start_ns, int64_t end_ns)
{
	sp_buffer_append_text(json, ",\n{\"ph\":\"X\",\"name\":");
	sp_json_text_append(json, sp_bytes_of(name));
	sp_buffer_printf(
		json, ",\"cat\":\"%s\",\"pid\":1,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
		category, session, (double)start_ns / 1e3, (double)(end_ns - start_ns) / 1e3);
}

static void write_json(sp_buffer *json, const sp_traced *t)
{
	const sp_run_trace *trace = &t->trace;

	sp_buffer_append_text(json, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
				    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
				    "\"args\":{\"name\":");
	sp_json_text_append(json, sp_bytes_of(t->timeline->config->model_name));
	sp_buffer_printf(json,
			 "}},\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%zu,"
			 "\"args\":{\"name\":\"session %zu\"}}",
			 t->session, t->session);
	append_event(json, t->signature, "request", t->session, t->begin_ns, t->end_ns);
	sp_buffer_printf(json,
			 "\"request\":%" PRIu64 ",\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
			 ",\"steps\":%zu,\"left_out\":%zu}}",
			 t->number, t->version->full_step, t->version->delta_step, trace->count,
			 trace->left_out);
	append_event(json, "wait", "request", t->session, t->begin_ns, t->admitted_ns);
	sp_buffer_append_text(json, "}}");
	for (size_t i = 0; i < trace->count; i++) {
		const sp_step_time *step = &trace->steps[i];

		append_event(json, step->op, "step", t->session, step->start_ns, step->end_ns);
		sp_buffer_append_text(json, "\"name\":");
		sp_json_text_append(json, sp_bytes_of(step->node));
		sp_buffer_append_text(json, "}}");
	}
	sp_buffer_append_text(json, "\n]}\n");
}

static bool write_file(const char *path, const char *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool written = fd >= 0 && sp_file_write_all(fd, data, size);

	return (fd < 0 || close(fd) == 0) && written;
}

static void write_out(sp_thread_pool_job *job, bool cancelled)
{
	sp_traced *t = (sp_traced *)job;
	const sp_config *config = t->timeline->config;
	char path[PATH_MAX], reason[128];
	sp_buffer json;
	size_t size;
	char *text;

	(void)cancelled; /* the last ones are written all the same */
	snprintf(path, sizeof(path), "%s/timeline-%" PRIu64, config->timeline_path,
		 (t->number - (uint64_t)config->timeline_start_step) /
			 (uint64_t)config->timeline_interval_step);
	sp_buffer_init(&json, MAX_BYTES);
	write_json(&json, t);
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	if (text == NULL)
		sp_log(SP_LOG_WARNING, "no memory for '%s'", path);
	else if (!write_file(path, text, size))
		sp_log(SP_LOG_WARNING, "cannot write '%s': %s", path,
		       strerror_r(errno, reason, sizeof(reason)));
	sp_free(text);
	atomic_fetch_sub(&t->version->holders, 1);
	sp_free(t);
}

/* ------------------------------------------------------------------- requests */

sp_traced *sp_timeline_begin(sp_timeline *timeline)
{
	uint64_t start = (uint64_t)timeline->config->timeline_start_step, number;
	sp_traced *traced;

	if (atomic_load_explicit(&timeline->requests, memory_order_relaxed) >= timeline->end)
		return NULL;
	number = atomic_fetch_add_explicit(&timeline->requests, 1, memory_order_relaxed);
	if (number < start || number >= timeline->end ||
	    (number - start) % (uint64_t)timeline->config->timeline_interval_step != 0)
		return NULL;
	traced = sp_alloc(sizeof(*traced));
	if (traced == NULL)
		return NULL;
	traced->job.run = write_out;
	traced->timeline = timeline;
	traced->number = number;
	traced->begin_ns = sp_clock_now_ns();
	traced->trace = (sp_run_trace){.steps = traced->steps, .capacity = MAX_STEPS};
	return traced;
}

sp_run_trace *sp_traced_steps(sp_traced *traced)
{
	return traced != NULL ? &traced->trace : NULL;
}

void sp_timeline_drop(sp_traced *traced)
{
	sp_free(traced);
}

void sp_timeline_end(sp_traced *traced, const sp_version *version, const char *signature,
		     size_t session, int64_t admitted_ns)
{
	traced->end_ns = sp_clock_now_ns();
	traced->admitted_ns = admitted_ns;
	traced->version = (sp_version *)version;
	traced->signature = signature;
	traced->session = session;
	atomic_fetch_add(&traced->version->holders, 1);
	if (sp_thread_pool_try_add(traced->timeline->pool, &traced->job))
		return;
	sp_log(SP_LOG_WARNING, "request %" PRIu64 " is not written to '%s': too many wait",
	       traced->number, traced->timeline->config->timeline_path);
	atomic_fetch_sub(&traced->version->holders, 1);
	sp_free(traced);
}
