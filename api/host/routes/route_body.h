#ifndef SP_API_HOST_ROUTES_ROUTE_BODY_H
#define SP_API_HOST_ROUTES_ROUTE_BODY_H

#include <stdbool.h>

#include "api/host/http/http_request.h"
#include "api/host/infer/infer_run.h"
#include "api/host/routes/serving.h"
#include "base/buffer.h"
#include "base/status.h"

/* Bodies of requests and answers, on a worker.  Threads: any, several at once. */

typedef struct sp_route_body {
	sp_bytes bytes; /* followed by a NUL */
	sp_buffer unpacked;
} sp_route_body;

/*
 * The body, uncompressed if it has a Content-Encoding.  Returns 200, or the HTTP status of the
 * failure: 400, 413 above --max_body_bytes or a ratio, 415 for an unknown coding, 503.  Call fini
 * in either case.
 */
int sp_route__read_body(sp_route_body *out, sp_serving *serving, const sp_http_request *request,
			sp_error *err);
void sp_route__body_fini(sp_route_body *body);

/* Whether the Content-Type is protobuf's, not JSON's: then the answer is protobuf, too. */
bool sp_route__is_protobuf(const sp_http_request *request);

/* What ends the run of a request early. */
sp_infer_limits sp_route__limits(sp_http_request *request);

/* Initialises the buffer for an answer. */
void sp_route__init_answer(sp_buffer *body, sp_serving *serving);

/*
 * Answers with the body, or with {"error": ...} if `status` is not 200.  A large body is compressed
 * if the client accepts it.  *body is left empty.
 *
 * type     NULL: JSON
 * headers  [count] further ones, at most 2
 */
void sp_route__answer(sp_serving *serving, sp_http_request *request, int status, const char *type,
		      sp_buffer *body, const sp_http_header *headers, size_t count,
		      const sp_error *err);

#define SP_ROUTE_PROTOBUF "application/x-protobuf"

#endif
