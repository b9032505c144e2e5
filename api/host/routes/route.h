#ifndef SP_API_HOST_ROUTES_ROUTE_H
#define SP_API_HOST_ROUTES_ROUTE_H

#include "api/host/host.h"
#include "api/host/predict/json_request.h"
#include "api/host/routes/model_path.h"

/*
 * From a request to the part of the host that answers it.  One file per route;
 * each of these functions answers the request, or hands it on.
 *
 * Threads: any, several at once.
 */
void sp_route(sp_host *host, sp_http_request *request);

void sp_route_health(sp_host *host, sp_http_request *request);
void sp_route_options(sp_host *host, sp_http_request *request);
void sp_route_status(sp_host *host, sp_http_request *request, const sp_model_path *path);
void sp_route_metadata(sp_host *host, sp_http_request *request, const sp_model_path *path);
void sp_route_predict(sp_host *host, sp_http_request *request, const sp_model_path *path);
void sp_route_examples(sp_host *host, sp_http_request *request, const sp_model_path *path);

void sp_route_admin(sp_host *host, sp_http_request *request, const sp_model_path *path);

/* False, and the request is not touched, when it is about something else. */
bool sp_route_log_level(sp_host *host, sp_http_request *request);

/* The part of an order that waits until it is carried out. */
void sp_route_admin_obey(sp_host *host, sp_http_request *request);

/* For --metrics_path; written on a thread of its own, which may wait for a lock. */
void sp_route_metrics(sp_host *host, sp_http_request *request);
void sp_route_metrics_write(sp_host *host, sp_http_request *request);

/* The part of :predict that is for a worker, with its own memory. */
void sp_route_predict_compute(sp_host *host, sp_json_request *json, sp_http_request *request);

/* --------------------------------------------------------- for the routes */

/* The HTTP status for what went wrong in the processor. */
int sp_route__http_status(sp_status status);

void sp_route__fail(sp_http_request *request, int status, const sp_error *err);

/*
 * Whether the model of the path is served, by its name, version or label; when
 * not, the request is answered: 404, 400 for an unknown label, 503 while the
 * model is loading.
 */
bool sp_route__find_model(sp_host *host, sp_http_request *request, const sp_model_path *path);

#endif
