#include "api/host/observe/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_writer.h"
#include "api/serving_processor.h"
#include "base/hex.h"

/* OTLP's numbers of a span's kind and of the status of one that has failed. */
enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2 };

static void keep(char *out, size_t room, sp_bytes text)
{
	size_t size = text.size < room - 1 ? text.size : room - 1;

	if (size != 0)
		memcpy(out, text.data, size);
	out[size] = '\0';
}

/* The code of an answer of gRPC; UNKNOWN if the answer has none. */
static int grpc_code_of(const sp_http_outcome *outcome)
{
	enum { UNKNOWN = 2 };

	for (size_t i = 0; i < outcome->field_count; i++)
		if (sp_bytes_equal_text(outcome->fields[i].name, "grpc-status")) {
			char text[8];

			keep(text, sizeof(text), outcome->fields[i].value);
			return atoi(text);
		}
	return UNKNOWN;
}

void sp_span_call_fill(sp_span_call *out, const sp_observed *o)
{
	const sp_http_outcome *outcome = o->outcome;

	*out = (sp_span_call){.trace = o->trace,
			      .record = *outcome->record,
			      .wall_ns = o->wall_ns,
			      .status = outcome->status,
			      .major = outcome->head->major,
			      .minor = outcome->head->minor,
			      .grpc_code = o->is_grpc ? grpc_code_of(outcome) : -1,
			      .secure = outcome->secure,
			      .bytes_out = outcome->bytes_out};
	out->record.steps = NULL;
	out->record.events = NULL;
	keep(out->method, sizeof(out->method), outcome->method);
	keep(out->path, sizeof(out->path), outcome->path);
	keep(out->model, sizeof(out->model), sp_bytes_of(o->model != NULL ? o->model : ""));
	keep(out->peer, sizeof(out->peer), sp_bytes_of(o->peer));
	keep(out->agent, sizeof(out->agent), sp_http_head_get(outcome->head, "user-agent"));
	keep(out->reason, sizeof(out->reason), sp_bytes_of(outcome->reason));
}

/* ----------------------------------------------------------------- attributes */

static void begin_attribute(sp_buffer *out, const char *key)
{
	if (out->size != 0 && out->data[out->size - 1] == '}')
		sp_buffer_append_char(out, ',');
	sp_buffer_printf(out, "{\"key\":\"%s\",\"value\":", key);
}

static void add_text(sp_buffer *out, const char *key, sp_bytes text)
{
	if (text.size == 0)
		return;
	begin_attribute(out, key);
	sp_buffer_append_text(out, "{\"stringValue\":");
	sp_json_text_append(out, text);
	sp_buffer_append_text(out, "}}");
}

/* 64-bit integers are texts in OTLP's JSON. */
static void add_number(sp_buffer *out, const char *key, int64_t value)
{
	begin_attribute(out, key);
	sp_buffer_printf(out, "{\"intValue\":\"%" PRId64 "\"}}", value);
}

/* "127.0.0.1:40312", "[::1]:40312" or "unix". */
static void add_client(sp_buffer *out, const char *peer)
{
	const char *colon = strrchr(peer, ':');
	bool v6 = peer[0] == '[';

	if (colon == NULL) {
		add_text(out, "client.address", sp_bytes_of(peer));
		return;
	}
	add_text(out, "client.address",
		 (sp_bytes){peer + v6, (size_t)(colon - peer) - 2 * (size_t)v6});
	add_number(out, "client.port", atoi(colon + 1));
}

/* "/package.Service/Method" */
static void add_rpc(sp_buffer *out, const sp_span_call *call)
{
	const char *service = call->path + (call->path[0] == '/'), *slash = strchr(service, '/');

	add_text(out, "rpc.system", sp_bytes_of("grpc"));
	if (slash != NULL) {
		add_text(out, "rpc.service", (sp_bytes){service, (size_t)(slash - service)});
		add_text(out, "rpc.method", sp_bytes_of(slash + 1));
	}
	add_number(out, "rpc.grpc.status_code", call->grpc_code);
}

static void add_http(sp_buffer *out, const sp_span_call *call)
{
	add_text(out, "http.request.method", sp_bytes_of(call->method));
	add_text(out, "url.path", sp_bytes_of(call->path));
	add_text(out, "url.scheme", sp_bytes_of(call->secure ? "https" : "http"));
	add_number(out, "http.response.status_code", call->status);
	add_number(out, "http.request.body.size", (int64_t)call->record.bytes_in);
	add_number(out, "http.response.body.size", (int64_t)call->bytes_out);
	/* A route is of low cardinality: paths of unknown models, which clients make up, have none.
	 */
	if (call->model[0] != '\0')
		add_text(out, "http.route", sp_bytes_of(call->path));
}

static void add_attributes(sp_buffer *out, const sp_span_call *call)
{
	char number[16];

	if (call->grpc_code >= 0)
		add_rpc(out, call);
	else
		add_http(out, call);
	add_client(out, call->peer);
	add_text(out, "user_agent.original", sp_bytes_of(call->agent));
	add_text(out, "network.protocol.name", sp_bytes_of("http"));
	add_text(out, "network.protocol.version",
		 sp_bytes_of(call->major == 2 ? "2" : (call->minor == 0 ? "1.0" : "1.1")));
	if (call->status >= 500) {
		snprintf(number, sizeof(number), "%d",
			 call->grpc_code >= 0 ? call->grpc_code : call->status);
		add_text(out, "error.type", sp_bytes_of(number));
	}
	add_text(out, "serving.model.name", sp_bytes_of(call->model));
	if (call->record.run_ns == 0)
		return;
	add_number(out, "serving.model.version", call->record.version);
	add_text(out, "serving.signature", sp_bytes_of(call->record.signature));
	if (call->record.rows >= 0)
		add_number(out, "serving.rows", call->record.rows);
}

/* ---------------------------------------------------------------------- spans */

typedef struct span {
	const char *name;
	unsigned char id[SP_SPAN_ID];
	const unsigned char *parent; /* NULL: none */
	int kind;
	int64_t begin_ns, end_ns; /* on the clock of the record */
} span;

/* All of a span but its attributes and its end. */
static void begin_span(sp_buffer *out, const sp_span_call *call, const span *s)
{
	int64_t offset = call->wall_ns - call->record.answered_ns;
	char id[SP_TRACE_ID_TEXT];

	if (out->size != 0 && out->data[out->size - 1] == '}')
		sp_buffer_append_char(out, ',');
	sp_hex_print(id, call->trace.trace_id, SP_TRACE_ID);
	sp_buffer_printf(out, "{\"traceId\":\"%s\"", id);
	sp_hex_print(id, s->id, SP_SPAN_ID);
	sp_buffer_printf(out, ",\"spanId\":\"%s\"", id);
	if (s->parent != NULL) {
		sp_hex_print(id, s->parent, SP_SPAN_ID);
		sp_buffer_printf(out, ",\"parentSpanId\":\"%s\"", id);
	}
	sp_json_write_key(out, "name");
	sp_json_text_append(out, sp_bytes_of(s->name));
	sp_buffer_printf(out,
			 ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64
			 "\",\"endTimeUnixNano\":\"%" PRId64 "\",\"attributes\":[",
			 s->kind, s->begin_ns + offset, s->end_ns + offset);
}

static void write_server_span(sp_buffer *out, const sp_span_call *call, span *s)
{
	const sp_call_record *record = &call->record;
	char name[sizeof(call->method) + sizeof(call->path) + 2];

	if (call->grpc_code >= 0)
		snprintf(name, sizeof(name), "%s", call->path + (call->path[0] == '/'));
	else
		snprintf(name, sizeof(name), "%s%s%s",
			 call->method[0] != '\0' ? call->method : "HTTP",
			 call->model[0] != '\0' ? " " : "",
			 call->model[0] != '\0' ? call->path : "");
	*s = (span){.name = name,
		    .parent = call->trace.has_parent ? call->trace.parent_id : NULL,
		    .kind = KIND_SERVER,
		    .begin_ns = record->arrived_ns != 0 ? record->arrived_ns : record->answered_ns,
		    .end_ns = record->answered_ns};
	sp_trace_new_id(s->id, SP_SPAN_ID);
	begin_span(out, call, s);
	add_attributes(out, call);
	sp_buffer_append_char(out, ']');
	if (call->status >= 500) {
		sp_buffer_printf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
		sp_json_text_append(out, sp_bytes_of(call->reason));
		sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_char(out, '}');
}

static void write_stage_spans(sp_buffer *out, const sp_span_call *call, const span *server)
{
	const sp_call_record *r = &call->record;
	const int64_t begins[] = {r->arrived_ns, r->begun_ns, r->run_ns, r->ran_ns};

	for (int i = 0; i < SP_STAGE_COUNT; i++) {
		int64_t took_ns = sp_call_record_stage(r, (sp_stage)i);
		span s = {.name = sp_stage_name((sp_stage)i),
			  .parent = server->id,
			  .kind = KIND_INTERNAL,
			  .begin_ns = begins[i],
			  .end_ns = begins[i] + took_ns};

		if (took_ns < 0)
			continue;
		sp_trace_new_id(s.id, SP_SPAN_ID);
		begin_span(out, call, &s);
		sp_buffer_append_text(out, "]}");
	}
}

void sp_otlp_write(sp_buffer *out, const sp_span_call *calls, size_t count)
{
	sp_buffer_append_text(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	add_text(out, "service.name", sp_bytes_of("serving_host"));
	add_text(out, "service.version", sp_bytes_of(serving_processor_version()));
	sp_buffer_append_text(out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"serving_processor\"},"
				   "\"spans\":[");
	for (size_t i = 0; i < count; i++) {
		span server;

		write_server_span(out, &calls[i], &server);
		write_stage_spans(out, &calls[i], &server);
	}
	sp_buffer_append_text(out, "]}]}]}");
}
