#include "api/host/observe/access_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/host/json/json_writer.h"
#include "base/hex.h"

static void write_text(sp_buffer *out, const char *key, sp_bytes text)
{
	if (text.size == 0)
		return;
	if (text.size > SP_ACCESS_TEXT)
		text.size = SP_ACCESS_TEXT;
	sp_json_write_key(out, key);
	sp_json_text_append(out, text);
}

static void write_number(sp_buffer *out, const char *key, int64_t value)
{
	sp_json_write_key(out, key);
	sp_json_write_i64(out, value);
}

/* Microseconds, with the nanoseconds behind the point. */
static void write_us(sp_buffer *out, const char *key, int64_t ns)
{
	if (ns < 0)
		return;
	sp_json_write_key(out, key);
	sp_buffer_printf(out, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void write_time(sp_buffer *out, int64_t wall_ns)
{
	time_t second = (time_t)(wall_ns / 1000000000);
	struct tm utc;
	char text[32] = "";

	if (gmtime_r(&second, &utc) != NULL)
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	sp_buffer_printf(out, "{\"time\":\"%s.%06dZ\"", text, (int)(wall_ns % 1000000000 / 1000));
}

static void write_stages(sp_buffer *out, const sp_observed *o)
{
	for (int stage = 0; stage < SP_STAGE_COUNT; stage++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_us", sp_stage_name((sp_stage)stage));
		write_us(out, key, sp_call_record_stage(o->outcome->record, (sp_stage)stage));
	}
	write_us(out, "total_us", sp_call_record_took(o->outcome->record));
}

static const char *protocol_of(const sp_observed *o)
{
	if (o->is_grpc)
		return "grpc";
	switch (o->outcome->head->major) {
	case 1:
		return o->outcome->head->minor == 0 ? "http/1.0" : "http/1.1";
	case 2:
		return "http/2";
	default:
		return "unknown"; /* no head could be read */
	}
}

static void write_run(sp_buffer *out, const sp_call_record *record)
{
	if (record->run_ns == 0)
		return;
	write_number(out, "version", record->version);
	write_text(out, "signature", sp_bytes_of(record->signature));
	if (record->rows >= 0)
		write_number(out, "rows", record->rows);
}

static void write_ids(sp_buffer *out, const sp_observed *o)
{
	char id[SP_TRACE_ID_TEXT];

	if (o->trace.known) {
		sp_hex_print(id, o->trace.trace_id, SP_TRACE_ID);
		write_text(out, "trace_id", sp_bytes_of(id));
	}
	write_text(out, "request_id", sp_http_head_get(o->outcome->head, "x-request-id"));
}

void sp_access_line_write(sp_buffer *out, const sp_observed *o, bool with_steps)
{
	const sp_http_outcome *outcome = o->outcome;

	write_time(out, o->wall_ns);
	write_text(out, "peer", sp_bytes_of(o->peer));
	write_text(out, "protocol", sp_bytes_of(protocol_of(o)));
	write_text(out, "method", outcome->method);
	write_text(out, "path", outcome->path);
	write_text(out, "route", sp_bytes_of(sp_request_kind_name(o->kind)));
	if (o->model != NULL)
		write_text(out, "model", sp_bytes_of(o->model));
	write_run(out, outcome->record);
	write_number(out, "status", outcome->status);
	write_number(out, "bytes_in", (int64_t)outcome->record->bytes_in);
	write_number(out, "bytes_out", (int64_t)outcome->bytes_out);
	write_stages(out, o);
	write_ids(out, o);
	write_text(out, "error", sp_bytes_of(outcome->reason));
	if (with_steps && outcome->record->steps != NULL) {
		sp_json_write_key(out, "steps");
		sp_buffer_append_text(out, outcome->record->steps);
	}
	sp_buffer_append_text(out, "}\n");
}
