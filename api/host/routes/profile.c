#include <inttypes.h>

#include "api/host/routes/profile.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 16 << 20 };

/* Fails a request that waits for a profile, unless its deadline or its client is gone. */
static void refuse(sp_http_request *waiting, int status, const char *text)
{
	if (waiting != NULL && sp_http_request_begin(waiting))
		sp_http_request_fail(waiting, status, text);
}

static void write_us(sp_buffer *out, const char *name, int64_t ns)
{
	sp_buffer_printf(out, ",\"%s\":%" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

static void write_stages(sp_buffer *out, const sp_call_record *r)
{
	const int64_t begins[] = {r->arrived_ns, r->begun_ns, r->run_ns, r->ran_ns};

	for (int i = 0; i < SP_STAGE_COUNT; i++) {
		int64_t ns = sp_call_record_stage(r, (sp_stage)i);

		if (ns < 0)
			continue;
		sp_buffer_printf(
			out, "{\"name\":\"%s\",\"cat\":\"stage\",\"ph\":\"X\",\"pid\":1,\"tid\":1",
			sp_stage_name((sp_stage)i));
		write_us(out, "ts", begins[i]);
		write_us(out, "dur", ns);
		sp_buffer_append_text(out, "},");
	}
}

static void write_name(sp_buffer *out, const char *what, int thread, const char *name)
{
	sp_buffer_printf(out,
			 "{\"name\":\"%s_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
			 "\"args\":{\"name\":\"%s\"}},",
			 what, thread, name);
}

void sp_profile_note(sp_model *model, const sp_call_record *record)
{
	sp_http_request *waiting;
	sp_buffer body;

	if (record->events == NULL)
		return;
	waiting = atomic_exchange(&model->profile, NULL);
	if (waiting == NULL || !sp_http_request_begin(waiting))
		return;
	sp_buffer_init(&body, MAX_BYTES);
	sp_buffer_printf(&body,
			 "{\"otherData\":{\"version\":\"%" PRId64 "\",\"rows\":\"%" PRId64 "\"},",
			 record->version, record->rows);
	sp_buffer_append_text(&body, "\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	write_name(&body, "process", 1, "serving_host");
	write_name(&body, "thread", 1, "stages");
	write_name(&body, "thread", 2, "steps");
	write_stages(&body, record);
	sp_buffer_append_text(&body, record->events);
	sp_buffer_append_text(&body, "]}");
	sp_route__answer(waiting, &body);
	sp_buffer_fini(&body);
}

void sp_profile_end(const sp_serving *serving)
{
	sp_model *model;

	for (uint32_t i = 1; (model = sp_models_at(serving->models, i)) != NULL; i++)
		refuse(atomic_exchange(&model->profile, NULL), 503, "draining");
}

void sp_route_profile(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_model *model = sp_models_find(serving->models, sp_bytes_of(path->name));

	if (!sp_route__find_model(serving, request, path))
		return;
	if (model == NULL || atomic_load(&serving->draining))
		sp_http_request_fail(request, 503, "draining");
	else
		refuse(atomic_exchange(&model->profile, request), 409,
		       "a later profile took the place of this one");
}
