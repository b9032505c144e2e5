#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/*
 * /healthz/live: 200 as long as the process answers.  /healthz/ready: 200 once every
 * model has a version, 503 again when the process has been told to end.
 */
void sp_route_health(const sp_serving *serving, sp_http_request *request)
{
	sp_bytes path = sp_http_request_head(request)->path;
	bool live = sp_bytes_equal_text(path, "/healthz/live");
	char why[SP_UNREADY_SIZE];

	sp_serving_tag(request, SP_REQUEST_HEALTH, NULL);
	if (!live && !sp_bytes_equal_text(path, "/healthz/ready"))
		sp_http_request_fail(request, 404, "Not found");
	else if (!sp_route__is_get(request))
		sp_route__refuse_method(request, "GET, HEAD");
	else if (live)
		sp_route__answer_text(request, "{\"live\":true}");
	else if (!sp_serving_is_ready(serving, why))
		sp_http_request_fail(request, 503, why);
	else
		sp_route__answer_text(request, "{\"ready\":true}");
}
