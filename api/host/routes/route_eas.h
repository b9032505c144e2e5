#ifndef SP_API_HOST_ROUTES_ROUTE_EAS_H
#define SP_API_HOST_ROUTES_ROUTE_EAS_H

#include "api/host/http/http_request.h"
#include "api/host/routes/serving.h"

/*
 * The routes of Alibaba's EAS: POST /api/predict/NAME takes a serialized
 * tensorflow.eas.PredictRequest and answers a PredictResponse, GET answers the signature as JSON.
 * With --eas_token a request needs a token.
 *
 * Threads: any, several at once.
 */
#define SP_ROUTE_EAS "/api/predict/"

void sp_route_eas(sp_serving *serving, sp_http_request *request);

#endif
