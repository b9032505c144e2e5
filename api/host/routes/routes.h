#ifndef SP_API_HOST_ROUTES_ROUTES_H
#define SP_API_HOST_ROUTES_ROUTES_H

#include "api/host/http/http_request.h"
#include "api/host/routes/model_path.h"
#include "api/host/routes/serving.h"

/*
 * The routes, one file each.  A route answers its request or puts it into a queue.
 * Threads: any, several at once.
 */

/* A route below /v1/models/NAME. */
typedef void sp_model_route(sp_serving *serving, sp_http_request *request,
			    const sp_model_path *path);

sp_model_route sp_route_status;
sp_model_route sp_route_metadata;
sp_model_route sp_route_predict;
sp_model_route sp_route_examples; /* :classify and :regress */
sp_model_route sp_route_admin;    /* list of versions, and orders */

void sp_route_health(const sp_serving *serving, sp_http_request *request);
void sp_route_options(sp_http_request *request);
void sp_route_metrics(sp_serving *serving, sp_http_request *request);

/* `rest` is the path behind "/v1/log_level". */
void sp_route_log_level(const sp_serving *serving, sp_http_request *request, sp_bytes rest);

#endif
