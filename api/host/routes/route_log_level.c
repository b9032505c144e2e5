#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "base/log.h"

/*
 * GET /v1/log_level answers the log level of library and host, POST /v1/log_level/LEVEL sets
 * it.
 */

static void answer_level(sp_http_request *request)
{
	sp_buffer body;

	sp_buffer_init(&body, 64);
	sp_buffer_printf(&body, "{\"log_level\":\"%s\"}",
			 sp_log_level_name((sp_log_level)serving_processor_log_level()));
	sp_route__answer(request, &body);
}

static void set_level(sp_http_request *request, sp_bytes word)
{
	sp_error err;

	for (int level = SP_LOG_DEBUG; level <= SP_LOG_ERROR; level++)
		if (sp_bytes_equal_text(word, sp_log_level_name((sp_log_level)level))) {
			sp_log(SP_LOG_WARNING, "the log level becomes %s by order",
			       sp_log_level_name((sp_log_level)level));
			serving_processor_set_log_level(level);
			answer_level(request);
			return;
		}
	sp_error_set(&err, SP_INVALID,
		     "unknown log level '%.*s'; use one of: debug info warning error",
		     sp_bytes_shown(word, 40), word.data);
	sp_route__fail(request, 400, &err);
}

void sp_route_log_level(sp_http_request *request, sp_bytes rest)
{
	sp_http_method method = sp_http_request_head(request)->method;

	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	if (sp_route__is_get(request) && rest.size == 0)
		answer_level(request);
	else if (method == SP_HTTP_POST && rest.size != 0)
		set_level(request, (sp_bytes){rest.data + 1, rest.size - 1});
	else
		sp_http_request_fail(request, 405,
				     "GET /v1/log_level, or POST /v1/log_level/LEVEL");
}
