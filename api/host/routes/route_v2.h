#ifndef SP_API_HOST_ROUTES_ROUTE_V2_H
#define SP_API_HOST_ROUTES_ROUTE_V2_H

#include "api/host/http/http_request.h"
#include "api/host/routes/serving.h"
#include "api/host/v2/v2_path.h"

/*
 * The routes below /v2 (v2/v2_path.h).  Threads: any, several at once.
 */
void sp_route_v2(sp_serving *serving, sp_http_request *request);

/* What the path selects; a view of it. */
sp_model_selector sp_route__v2_selector(const sp_v2_path *path);

/* "infer": queued for the workers. */
void sp_route__v2_infer(sp_serving *serving, sp_http_request *request, const sp_v2_path *path);

/* Descriptions of models and of the repository, and orders to it. */
void sp_route__v2_describe(sp_serving *serving, sp_http_request *request, const sp_v2_path *path);

#endif
