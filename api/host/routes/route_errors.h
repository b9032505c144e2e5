#ifndef SP_API_HOST_ROUTES_ROUTE_ERRORS_H
#define SP_API_HOST_ROUTES_ROUTE_ERRORS_H

#include <stdbool.h>

#include "api/host/http/http_request.h"
#include "api/host/routes/route_path.h"
#include "api/host/routes/serving.h"
#include "base/status.h"

/* Errors and steps shared by several routes.  Threads: any, several at once. */

/* The HTTP status for a failure of the library, as TensorFlow Serving maps them. */
int sp_route__http_status(sp_status status);

/* Answers {"error": "<text of err>"}. */
void sp_route__fail(sp_http_request *request, int status, const sp_error *err);

/* What the path selects; views of `path`. */
sp_model_selector sp_route__selector(const sp_route_path *path);

/* Lets the headers of the request decide about its share of a traffic split. */
void sp_route__use_headers(sp_model_selector *selector, const sp_http_request *request);

/* The HTTP status for a failure of sp_models_acquire(). */
int sp_route__selection_status(sp_status status);

/* Answers {"error": "<text>"} with a header. */
void sp_route__refuse(sp_http_request *request, int status, const char *text, const char *header,
		      const char *value);

/* Answers 405 with the methods that the route has: "GET, HEAD". */
void sp_route__refuse_method(sp_http_request *request, const char *allowed);

/*
 * Whether the model, version or label of the path is served.  If not, answers the request:
 * 404, 400 for an unknown label, 503 while the model is loading.
 */
bool sp_route__find_model(const sp_serving *serving, sp_http_request *request,
			  const sp_route_path *path);

/*
 * Queues a tagged request for the workers, and counts it for its model; answers 503 if too many are
 * waiting.  Then the request must not be touched any more.
 */
void sp_route__enqueue(sp_serving *serving, sp_http_request *request, sp_job *job);

/* The same once sp_route__find_model() has found the model. */
void sp_route__enqueue_for(sp_serving *serving, sp_http_request *request, const sp_route_path *path,
			   sp_job *job);

/* Queues a GET for the thread that writes metrics, or refuses it. */
void sp_route__enqueue_scrape(sp_serving *serving, sp_http_request *request, sp_job *job);

/* Queues an order for the thread that carries them out, or answers 503. */
void sp_route__enqueue_order(sp_serving *serving, sp_http_request *request, sp_job *job);

/* Answers 200 with JSON, or 503 if there was no memory for it.  *body is left empty. */
void sp_route__answer(sp_http_request *request, sp_buffer *body);
void sp_route__answer_text(sp_http_request *request, const char *json);

/* Answers so for the status 200, else by sp_route__fail().  *body is left empty. */
void sp_route__finish(sp_http_request *request, int status, sp_buffer *body, const sp_error *err);

/* Whether the method is GET or HEAD. */
bool sp_route__is_get(const sp_http_request *request);

#endif
