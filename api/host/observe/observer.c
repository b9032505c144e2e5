#include "api/host/observe/observer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/host/observe/access_line.h"

enum { MAX_LINE = 1 << 20, FIRST_LINE = 1 << 10 };

static sp_status read_rate(double *out, const char *text, sp_error *err)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end != '\0' || !(*out >= 0 && *out <= 1))
		return sp_error_set(err, SP_INVALID,
				    "--trace_sample_rate: \"%s\" is not a number from 0 to 1",
				    text);
	return SP_OK;
}

static sp_status open_all(sp_observer *observer, const sp_flags *flags, sp_error *err)
{
	SP_TRY(read_rate(&observer->sample_rate, flags->trace_sample_rate, err));
	if (flags->access_log != NULL && *flags->access_log != '\0')
		SP_TRY(sp_line_log_open(&observer->access, flags->access_log, err));
	observer->slow_ns = flags->slow_request_ms * INT64_C(1000000);
	if (observer->slow_ns != 0)
		SP_TRY(sp_line_log_open(&observer->slow, flags->slow_request_log, err));
	if (flags->trace_endpoint != NULL && *flags->trace_endpoint != '\0')
		SP_TRY(sp_span_export_open(&observer->spans, flags->trace_endpoint, err));
	else
		observer->sample_rate = 0;
	return SP_OK;
}

sp_status sp_observer_open(sp_observer *observer, const sp_flags *flags, sp_error *err)
{
	sp_status status;

	*observer = (sp_observer){0};
	status = open_all(observer, flags, err);
	if (status != SP_OK)
		sp_observer_close(observer);
	return status;
}

void sp_observer_close(sp_observer *observer)
{
	sp_line_log_close(observer->access);
	sp_line_log_close(observer->slow);
	sp_span_export_close(observer->spans);
	*observer = (sp_observer){0};
}

uint64_t sp_observer_lines_dropped(const sp_observer *observer)
{
	if (observer == NULL)
		return 0;
	return sp_line_log_dropped(observer->access) + sp_line_log_dropped(observer->slow);
}

void sp_observer_reopen(sp_observer *observer)
{
	sp_line_log_reopen(observer->access);
	sp_line_log_reopen(observer->slow);
}

void sp_observer_trace(const sp_observer *observer, sp_trace_context *out,
		       const sp_http_outcome *outcome)
{
	sp_trace_context_take(out, sp_http_head_get(outcome->head, "traceparent"),
			      observer->sample_rate);
}

static int64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool is_grpc(const sp_http_head *head)
{
	static const char type[] = "application/grpc";
	sp_bytes value = sp_http_head_get(head, "content-type");

	return head->major == 2 && value.size >= sizeof(type) - 1 &&
	       strncasecmp(value.data, type, sizeof(type) - 1) == 0;
}

static void write_line(sp_line_log *to, const sp_observed *observed, bool with_steps)
{
	sp_buffer line;

	sp_buffer_init(&line, MAX_LINE);
	sp_buffer_reserve(&line, FIRST_LINE);
	sp_buffer_clear(&line);
	sp_access_line_write(&line, observed, with_steps);
	if (!line.failed)
		sp_line_log_add(to, (sp_bytes){line.data, line.size});
	sp_buffer_fini(&line);
}

/* Whether it is a probe or a scrape that the caller has not put into a trace. */
static bool is_noise(sp_request_kind kind, const sp_trace_context *trace)
{
	return !trace->has_parent && (kind == SP_REQUEST_HEALTH || kind == SP_REQUEST_METRICS);
}

void sp_observer_note(const sp_observer *observer, const sp_http_outcome *outcome,
		      sp_request_kind kind, const char *model, const sp_trace_context *trace)
{
	bool is_slow = observer->slow != NULL &&
		       sp_call_record_took(outcome->record) >= observer->slow_ns;
	bool is_spanned = observer->spans != NULL && trace->sampled && !is_noise(kind, trace);
	sp_observed observed;

	if (observer->access == NULL && !is_slow && !is_spanned)
		return;
	observed = (sp_observed){.outcome = outcome,
				 .kind = kind,
				 .model = model,
				 .trace = *trace,
				 .wall_ns = unix_ns(),
				 .is_grpc = is_grpc(outcome->head)};
	sp_http_peer_print(observed.peer, outcome->socket);
	if (observer->access != NULL)
		write_line(observer->access, &observed, false);
	if (is_slow)
		write_line(observer->slow, &observed, true);
	if (is_spanned)
		sp_span_export_add(observer->spans, &observed);
}
