#include <string.h>

#include "api/host/routes/routes.h"

/* Answers a CORS preflight request of a browser. */
void sp_route_options(sp_http_request *request)
{
	sp_bytes origin = sp_http_head_get(sp_http_request_head(request), "origin");
	bool known = origin.data != NULL &&
		     (memmem(origin.data, origin.size, "http://", 7) != NULL ||
		      memmem(origin.data, origin.size, "https://", 8) != NULL);

	if (known)
		sp_http_request_answer(request, &(sp_http_answer){.status = 200});
	else
		sp_http_request_fail(request, 400, "OPTIONS needs an Origin header");
}
