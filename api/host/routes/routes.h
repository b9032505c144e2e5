#ifndef SP_API_HOST_ROUTES_ROUTES_H
#define SP_API_HOST_ROUTES_ROUTES_H

#include "api/host/http/http_request.h"
#include "api/host/routes/route_path.h"
#include "api/host/routes/serving.h"

/*
 * The routes, one file each.  A route answers its request or puts it into a queue.
 * Threads: any, several at once.
 */

/* A route about a model, with what its path says (route_path.h). */
typedef void sp_model_route(sp_serving *serving, sp_http_request *request,
			    const sp_route_path *path);

sp_model_route sp_route_status; /* and metadata */
sp_model_route sp_route_predict;
sp_model_route sp_route_examples;  /* :classify and :regress */
sp_model_route sp_route_admin;     /* list of versions, and orders */
sp_model_route sp_route_profile;   /* Chrome's trace of the next request of a model */
sp_model_route sp_route_configure; /* orders about what is served */

/* Below /v2, and of EAS, which may need a token (--eas_token). */
sp_model_route sp_route_v2;
sp_model_route sp_route_eas;

void sp_route_health(const sp_serving *serving, sp_http_request *request);
void sp_route_metrics(sp_serving *serving, sp_http_request *request);

/* `rest` is the path behind "/v1/log_level". */
void sp_route_log_level(sp_http_request *request, sp_bytes rest);

/* The status page, and the document that it shows (status_document.h). */
void sp_route_page(sp_http_request *request);
void sp_route_status_document(sp_serving *serving, sp_http_request *request);

/* glibc's account of its heap, as XML. */
void sp_route_heap(sp_serving *serving, sp_http_request *request);

#endif
