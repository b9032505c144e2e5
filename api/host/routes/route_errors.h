#ifndef SP_API_HOST_ROUTES_ROUTE_ERRORS_H
#define SP_API_HOST_ROUTES_ROUTE_ERRORS_H

#include <stdbool.h>

#include "api/host/http/http_request.h"
#include "api/host/predict/signature.h"
#include "api/host/routes/model_path.h"
#include "api/host/routes/serving.h"
#include "api/host/sticky/sticky.h"
#include "base/status.h"

/* Errors and steps shared by several routes.  Threads: any, several at once. */

/* The HTTP status for a failure of the library, as TensorFlow Serving maps them. */
int sp_route__http_status(sp_status status);

/* Answers {"error": "<text of err>"}. */
void sp_route__fail(sp_http_request *request, int status, const sp_error *err);

/* What the path selects; views of `path`. */
sp_model_selector sp_route__selector(const sp_model_path *path);

/* Lets the headers of the request decide about its share of a traffic split. */
void sp_route__use_headers(sp_model_selector *selector, const sp_http_request *request);

/* The HTTP status for a failure of sp_models_acquire(). */
int sp_route__selection_status(sp_status status);

/* Answers 405 with the methods that the route has: "GET, HEAD". */
void sp_route__refuse_method(sp_http_request *request, const char *allowed);

/*
 * Whether the model, version or label of the path is served.  If not, answers the request:
 * 404, 400 for an unknown label, 503 while the model is loading.
 */
bool sp_route__find_model(const sp_serving *serving, sp_http_request *request,
			  const sp_model_path *path);

/*
 * Holds the version that the path selects, or returns the HTTP status of the failure.  On a worker:
 * the path is parsed and the version selected again, so that the queue holds no version, since
 * another one may be live meanwhile.  `body` may decide about a share of a traffic split.
 */
int sp_route__hold_model(sp_serving *serving, const sp_http_request *request, sp_sticky_body *body,
			 sp_servable *out, sp_error *err);

/* The signatures of a held version, and the default one. */
sp_host_signatures sp_route__signatures(const sp_servable *servable);

/* SP_NOT_FOUND with TensorFlow Serving's text. */
sp_status sp_route__no_signature(sp_bytes name, sp_error *err);

/*
 * Queues a tagged request for the workers, and counts it for its model; answers 503 if too many are
 * waiting.  Then the request must not be touched any more.
 */
void sp_route__enqueue(sp_serving *serving, sp_http_request *request, sp_job *job);

#endif
