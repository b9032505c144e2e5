#ifndef SP_API_HOST_GRPC_GRPC_H
#define SP_API_HOST_GRPC_GRPC_H

#include <stdbool.h>

#include "api/host/http/http_request.h"
#include "api/host/http/http_stream.h"
#include "api/host/routes/serving.h"

/*
 * The services of gRPC: TensorFlow Serving's PredictionService and ModelService, the Open Inference
 * Protocol's GRPCInferenceService, health and reflection.
 *
 * Threads: any, several at once.
 */

/* Whether it is a request of gRPC, by its content type or its path. */
bool sp_grpc_is_call(const sp_http_request *request);

/* Answers the call or puts it into a queue of `serving`. */
void sp_grpc_route(sp_serving *serving, sp_http_request *request);

/* An sp_http_stream_opener (http_stream.h) for the methods with streams. */
const sp_http_stream_handler *sp_grpc_open_stream(sp_serving *serving, sp_http_stream *stream,
						  const sp_http_head *head, void **state);

/* An sp_http_refusal (http_server.h): false for other requests than gRPC's. */
bool sp_grpc_refuse(sp_serving *serving, sp_http_request *request, int status, const char *text);

#endif
