#include <string.h>

#include "api/host/json/json_writer.h"
#include "api/host/metrics/counters.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/route_v2.h"
#include "api/host/v2/v2_describe.h"

enum { MAX_BYTES = 64 << 20, FIRST_ARENA = 16 << 10 };

static void answer(sp_http_request *request, sp_buffer *body)
{
	if (body->failed)
		sp_http_request_fail(request, 503, "no memory for the answer");
	else
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = body});
}

/* -------------------------------------------------------------------- one model */

/* Writes {"name": ..., "ready": true}. */
static void write_ready(sp_buffer *out, const char *model)
{
	sp_json_write_key(out, "name", true);
	sp_json_write_string(out, sp_bytes_of(model));
	sp_buffer_append_text(out, ",\"ready\":true}");
}

static void describe_model(sp_serving *serving, sp_http_request *request, const sp_v2_path *path,
			   sp_buffer *body)
{
	sp_model_selector selector = sp_route__v2_selector(path);
	const serving_processor_signature *signature = NULL;
	sp_servable servable;
	sp_error err;
	sp_status status = sp_models_acquire(serving->models, &selector, &servable, &err);

	if (status == SP_OK)
		signature = serving_processor_handle_signature(servable.handle,
							       servable.served->signature_name);
	if (status == SP_OK && path->verb == SP_V2_MODEL_READY) {
		sp_buffer_append_char(body, '{');
		write_ready(body, servable.model->name);
	} else if (status == SP_OK && signature == NULL) {
		status = sp_route__no_signature((sp_bytes){"", 0}, &err);
	} else if (status == SP_OK && path->verb == SP_V2_MODEL) {
		sp_v2_write_metadata(body, servable.model->name, servable.version, signature);
	} else if (status == SP_OK) {
		sp_v2_write_config(body, servable.model->name, signature);
	}
	sp_servable_release(&servable);
	if (status == SP_OK)
		answer(request, body);
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
}

/* ---------------------------------------------------------------- all of them */

static void write_index_entry(sp_buffer *out, const char *name, const sp_version_status *status)
{
	sp_buffer_append_text(out, out->size == 1 ? "{" : ",{");
	sp_json_write_key(out, "name", true);
	sp_json_write_string(out, sp_bytes_of(name));
	if (status != NULL) {
		sp_buffer_append_text(out, ",\"version\":\"");
		sp_json_write_i64(out, status->version);
		sp_buffer_append_char(out, '"');
	}
	sp_buffer_printf(out, ",\"state\":\"%s\",\"reason\":",
			 status != NULL ? sp_version_state_in_index(status->state) : "UNAVAILABLE");
	sp_json_write_string(out, status != NULL ? status->message : (sp_bytes){"", 0});
	sp_buffer_append_char(out, '}');
}

static void write_index(sp_buffer *out, sp_serving *serving, const char *name, bool only_ready,
			sp_arena *arena)
{
	const sp_model_selector selector = {.name = sp_bytes_of(name)};
	sp_version_statuses list;

	if (sp_models_statuses(serving->models, &selector, &list, arena, NULL) != SP_OK)
		list.count = 0;
	for (size_t i = 0; i < list.count; i++)
		if (!only_ready || list.items[i].state == SP_VERSION_AVAILABLE)
			write_index_entry(out, name, &list.items[i]);
	if (list.count == 0 && !only_ready)
		write_index_entry(out, name, NULL);
}

/* Of all versions of the model together. */
static void write_statistics(sp_buffer *out, const sp_model *model)
{
	const sp_model_totals totals = sp_model_counters_sum(&model->counters);

	sp_buffer_append_text(
		out, sp_bytes_ends_with((sp_bytes){out->data, out->size}, "[") ? "{" : ",{");
	sp_json_write_key(out, "name", true);
	sp_json_write_string(out, sp_bytes_of(model->name));
	sp_buffer_printf(out, ",\"version\":\"\",\"inference_count\":%llu,\"execution_count\":%llu",
			 (unsigned long long)totals.good, (unsigned long long)totals.runs);
	sp_buffer_printf(out,
			 ",\"inference_stats\":{\"success\":{\"count\":%llu,\"ns\":%llu},"
			 "\"fail\":{\"count\":%llu,\"ns\":0},"
			 "\"compute_infer\":{\"count\":%llu,\"ns\":%llu}}}",
			 (unsigned long long)totals.good, (unsigned long long)totals.good_ns,
			 (unsigned long long)totals.failed, (unsigned long long)totals.runs,
			 (unsigned long long)totals.runs_ns);
}

/* The body of "index" may be {"ready": true}. */
static bool asks_for_ready(const sp_http_request *request)
{
	sp_bytes body = sp_http_request_body(request);
	const char *key = memmem(body.data, body.size, "\"ready\"", 7);

	return key != NULL && memmem(key, body.size - (size_t)(key - body.data), "true", 4) != NULL;
}

static sp_status describe_all(sp_serving *serving, const sp_http_request *request,
			      const sp_v2_path *path, sp_arena *arena, sp_buffer *body,
			      sp_error *err)
{
	const sp_model_summary *models;
	bool only_ready = asks_for_ready(request);
	size_t count;

	if (arena == NULL)
		return sp_no_memory(err, "the answer");
	SP_TRY(sp_models_list(serving->models, &models, &count, arena, err));
	sp_buffer_append_text(body, path->verb == SP_V2_INDEX ? "[" : "{\"model_stats\":[");
	for (size_t i = 0; i < count; i++)
		if (path->verb == SP_V2_INDEX)
			write_index(body, serving, models[i].model->name, only_ready, arena);
		else if (path->verb == SP_V2_ALL_STATS ||
			 strcmp(models[i].model->name, path->name) == 0)
			write_statistics(body, models[i].model);
	sp_buffer_append_text(body, path->verb == SP_V2_INDEX ? "]" : "]}");
	return SP_OK;
}

static void answer_all(sp_serving *serving, sp_http_request *request, const sp_v2_path *path,
		       sp_buffer *body)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_error err;
	sp_status status;

	if (path->verb == SP_V2_MODEL_STATS &&
	    sp_models_find(serving->models, sp_bytes_of(path->name)) == NULL)
		status = sp_error_set(&err, SP_NOT_FOUND,
				      "Servable not found for request: Latest(%s)", path->name);
	else
		status = describe_all(serving, request, path, arena, body, &err);
	if (status == SP_OK)
		answer(request, body);
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
	sp_arena_destroy(arena);
}

/* ---------------------------------------------------------------------- orders */

/* On the thread for orders: the model's processor looks for a newer version now. */
static void load(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	serving_processor_error *error = NULL;
	sp_servable servable = {0};
	sp_v2_path path;
	sp_status status;
	sp_error err;

	(void)worker;
	sp_v2_path_parse(&path, sp_http_request_head(request)->path);
	status = sp_models_acquire_processor(serving->models, sp_bytes_of(path.name), &servable,
					     &err);
	if (status == SP_OK) {
		status = (sp_status)serving_processor_give_order(
			servable.served->processor, SERVING_PROCESSOR_RELOAD, -1, -1,
			sp_http_request_peer(request), &error);
		if (status != SP_OK)
			sp_error_set(&err, status, "%s", serving_processor_error_text(error));
		serving_processor_error_free(error);
	}
	sp_servable_release(&servable);
	if (status == SP_OK)
		sp_http_request_answer(request, &(sp_http_answer){.status = 200});
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
}

static void queue_load(sp_serving *serving, sp_http_request *request)
{
	sp_queued item = {.request = request, .job = load};

	if (!serving->flags->orders_by_rpc) {
		sp_http_request_fail(request, 403, "Only with --admin_routes");
		return;
	}
	sp_http_request_note_peer(request); /* the log says who gave the order */
	if (!sp_request_queue_try_push(serving->orders, &item, 0))
		sp_http_request_fail(request, 503, "too many orders are waiting");
}

void sp_route__v2_describe(sp_serving *serving, sp_http_request *request, const sp_v2_path *path)
{
	sp_buffer body;

	sp_buffer_init(&body, MAX_BYTES);
	switch (path->verb) {
	case SP_V2_MODEL:
	case SP_V2_MODEL_READY:
	case SP_V2_MODEL_CONFIG:
		describe_model(serving, request, path, &body);
		break;
	case SP_V2_LOAD:
		queue_load(serving, request);
		break;
	case SP_V2_UNLOAD:
		sp_http_request_fail(request, 501,
				     "a model is unloaded by a configuration without it: "
				     "HandleReloadConfigRequest");
		break;
	default:
		answer_all(serving, request, path, &body);
		break;
	}
	sp_buffer_fini(&body);
}
