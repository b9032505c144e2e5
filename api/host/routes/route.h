#ifndef SP_API_HOST_ROUTES_ROUTE_H
#define SP_API_HOST_ROUTES_ROUTE_H

#include "api/host/http/http_request.h"
#include "api/host/routes/serving.h"

/*
 * Finds the route of a request by its path and calls it.  The route answers the request or
 * puts it into a queue of `serving`.
 *
 * Threads: any, several at once.
 */
void sp_route(sp_serving *serving, sp_http_request *request);

/* The same for a request that came to the admin listener, which may need a token. */
void sp_route_admin_listener(sp_serving *serving, sp_http_request *request);

#endif
