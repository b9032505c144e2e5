#include "api/host/json/json_indent.h"
#include "api/host/json/json_writer.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { FIRST_ARENA = 16 << 10, MAX_BYTES = 4 << 20 };

static void write_status(sp_buffer *body, const sp_version_status *s)
{
	sp_buffer_append_text(body, "{\"version\":\"");
	sp_json_write_i64(body, s->version);
	sp_buffer_printf(body, "\",\"state\":\"%s\",\"status\":{\"error_code\":\"%s\",",
			 sp_version_state_word(s->state), sp_tensorflow_code_name(s->code));
	sp_buffer_append_text(body, "\"error_message\":");
	sp_json_write_string(body, s->message);
	sp_buffer_append_text(body, "}}");
}

static void write_statuses(sp_buffer *body, const sp_version_statuses *list)
{
	sp_buffer_append_text(body, "{\"model_version_status\":[");
	for (size_t i = 0; i < list->count; i++) {
		if (i != 0)
			sp_buffer_append_char(body, ',');
		write_status(body, &list->items[i]);
	}
	sp_buffer_append_text(body, "]}");
}

static void answer(sp_http_request *request, const sp_version_statuses *list)
{
	sp_buffer value, body;

	sp_buffer_init(&value, MAX_BYTES);
	sp_buffer_init(&body, 2 * MAX_BYTES);
	write_statuses(&value, list);
	if (!value.failed)
		sp_json_indent(&body, (sp_bytes){value.data, value.size});
	if (value.failed || body.failed)
		sp_http_request_fail(request, 503, "no memory for the versions");
	else
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&value);
	sp_buffer_fini(&body);
}

void sp_route_status(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	sp_model_selector selector = sp_route__selector(path);
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_version_statuses list;
	sp_status status;
	sp_error err;

	if (arena == NULL)
		status = sp_no_memory(&err, "the versions");
	else
		status = sp_models_statuses(serving->models, &selector, &list, arena, &err);
	if (status == SP_OK)
		answer(request, &list);
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
	sp_arena_destroy(arena);
}
