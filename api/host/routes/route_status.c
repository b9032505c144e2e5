#include <string.h>

#include "api/host/json/json_writer.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "api/host/model/versions_report.h"
#include "base/alloc.h"

enum { FIRST_ARENA = 16 << 10, MAX_STATUSES = 128 };

/* The reported status of a version, in TensorFlow Serving's terms. */
typedef struct version_status {
	int64_t version;
	int weight; /* of several entries with the same number the heaviest is reported */
	const char *state;
	const char *code;
	sp_bytes message;
} version_status;

typedef struct statuses {
	version_status items[MAX_STATUSES];
	size_t count;
} statuses;

/* -------------------------------------------------------------------- words */

/* TensorFlow's error code for the reason of a refusal. */
static const char *code_of(sp_bytes reason)
{
	static const struct {
		const char *reason, *code;
	} codes[] = {
		{"not_found", "NOT_FOUND"},
		{"invalid", "INVALID_ARGUMENT"},
		{"unsupported", "UNIMPLEMENTED"},
		{"corrupt", "DATA_LOSS"},
		{"io", "UNAVAILABLE"},
		{"no_memory", "RESOURCE_EXHAUSTED"},
		{"deadline", "DEADLINE_EXCEEDED"},
		{"internal", "INTERNAL"},
		{"busy", "UNAVAILABLE"},
		{"rolled_back", "CANCELLED"},
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (sp_bytes_equal_text(reason, codes[i].reason))
			return codes[i].code;
	return "UNKNOWN";
}

static version_status status_of(const sp_reported_version *v)
{
	static const struct {
		const char *reported, *state;
		int weight;
	} states[] = {
		{"live", "AVAILABLE", 5},     {"warming", "LOADING", 4}, {"loading", "LOADING", 4},
		{"draining", "UNLOADING", 3}, {"retired", "END", 2},     {"refused", "END", 2},
		{"discovered", "START", 1},
	};
	version_status s = {.version = v->full_step, .state = "UNKNOWN", .code = "OK"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (sp_bytes_equal_text(v->state, states[i].reported)) {
			s.state = states[i].state;
			s.weight = states[i].weight;
		}
	if (sp_bytes_equal_text(v->state, "refused")) {
		s.code = code_of(v->reason);
		s.message = v->why;
	}
	return s;
}

/* ------------------------------------------------------------------ versions */

/* Inserts in descending order of version.  Deltas on one full checkpoint share its number. */
static void put(statuses *list, version_status s)
{
	size_t at = 0;

	while (at < list->count && list->items[at].version > s.version)
		at++;
	if (at < list->count && list->items[at].version == s.version) {
		if (s.weight > list->items[at].weight)
			list->items[at] = s;
		return;
	}
	if (list->count == MAX_STATUSES)
		return;
	memmove(&list->items[at + 1], &list->items[at],
		(list->count++ - at) * sizeof(list->items[0]));
	list->items[at] = s;
}

/* False if a single folder is served, whose version never changes. */
static bool has_versions(const sp_serving *serving)
{
	return serving->model.version < 0 || serving->model.numbered;
}

static sp_status put_reported(statuses *out, const char *json, sp_arena *arena, sp_error *err)
{
	const sp_reported_version *versions;
	sp_versions_report report;

	if (json == NULL || arena == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the versions");
	SP_TRY(sp_versions_report_read(&report, json, arena, err));
	versions = report.versions.items;
	for (size_t i = 0; i < report.versions.count; i++)
		if (versions[i].full_step >= 0)
			put(out, status_of(&versions[i]));
	return SP_OK;
}

/* The live version or, while it loads, the version found on disk; -1: unknown. */
static int64_t served_version(const sp_serving *serving, bool available)
{
	return available ? sp_served_model_version(&serving->model) : serving->model.version;
}

static void put_served(statuses *out, int64_t version, bool available)
{
	if (version >= 0)
		put(out, (version_status){.version = version,
					  .weight = 6,
					  .state = available ? "AVAILABLE" : "LOADING",
					  .code = "OK"});
}

/* ------------------------------------------------------------------- answers */

static void answer_unknown(sp_http_request *request, const sp_model_path *path)
{
	sp_error err;

	if (path->has_version)
		sp_error_set(&err, SP_NOT_FOUND, "Could not find version %lld of model %s",
			     (long long)path->version, path->name);
	else
		sp_error_set(&err, SP_NOT_FOUND, "Could not find any versions of model %s",
			     path->name);
	sp_route__fail(request, 404, &err);
}

static void write_status(sp_buffer *body, const version_status *s)
{
	sp_buffer_append_text(body, "{\"version\":\"");
	sp_json_write_i64(body, s->version);
	sp_buffer_printf(body, "\",\"state\":\"%s\",\"status\":{\"error_code\":\"%s\",", s->state,
			 s->code);
	sp_buffer_append_text(body, "\"error_message\":");
	sp_json_write_string(body, s->message);
	sp_buffer_append_text(body, "}}");
}

/* Writes all statuses or that of `version`; false if there is none. */
static bool write_statuses(sp_buffer *body, const statuses *list, bool all, int64_t version)
{
	bool any = false;

	sp_buffer_append_text(body, "{\"model_version_status\":[");
	for (size_t i = 0; i < list->count; i++) {
		if (!all && list->items[i].version != version)
			continue;
		if (any)
			sp_buffer_append_char(body, ',');
		write_status(body, &list->items[i]);
		any = true;
	}
	sp_buffer_append_text(body, "]}");
	return any;
}

static void answer(sp_http_request *request, const sp_model_path *path, const statuses *list,
		   int64_t served)
{
	bool all = !path->has_version && !path->has_label;
	sp_buffer body;

	sp_buffer_init(&body, 4 << 20);
	if (!write_statuses(&body, list, all, path->has_version ? path->version : served))
		answer_unknown(request, path);
	else if (body.failed)
		sp_http_request_fail(request, 503, "no memory for the versions");
	else
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}

/* Answers from the report of all versions; texts of `list` are views of `json` and the arena. */
static void answer_all(const sp_serving *serving, sp_http_request *request,
		       const sp_model_path *path)
{
	char *json = serving_processor_versions(serving->model.processor);
	int64_t served = served_version(serving, true);
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	statuses list = {.count = 0};
	sp_error err;
	sp_status status = put_reported(&list, json, arena, &err);

	put_served(&list, served, true);
	if (status == SP_OK)
		answer(request, path, &list, served);
	else
		sp_route__fail(request, sp_route__http_status(status), &err);
	sp_arena_destroy(arena);
	serving_processor_free(json);
}

void sp_route_status(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	bool available = atomic_load(&serving->available);
	statuses list = {.count = 0};

	if (path->has_label && available && !sp_route__find_model(serving, request, path))
		return;
	if (strcmp(path->name, serving->flags->model_name) != 0) {
		answer_unknown(request, path);
	} else if (available && has_versions(serving)) {
		answer_all(serving, request, path);
	} else {
		put_served(&list, served_version(serving, available), available);
		answer(request, path, &list, served_version(serving, available));
	}
}
