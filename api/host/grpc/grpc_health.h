#ifndef SP_API_HOST_GRPC_GRPC_HEALTH_H
#define SP_API_HOST_GRPC_GRPC_HEALTH_H

#include "api/host/routes/serving.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * grpc.health.v1 (proto/health.proto): the host under "" and the names of its services, a model
 * under its name.
 *
 * Threads: any, several at once.
 */
typedef enum sp_grpc_health {
	SP_GRPC_SERVING = 1,
	SP_GRPC_NOT_SERVING = 2,
	SP_GRPC_SERVICE_UNKNOWN = 3,
} sp_grpc_health;

sp_grpc_health sp_grpc__health(sp_serving *serving, sp_bytes service);

/* HealthCheckRequest and HealthCheckResponse. */
SP_MUST_CHECK sp_status sp_grpc__health_request(sp_bytes *service, sp_bytes message, sp_error *err);
void sp_grpc__health_response(sp_buffer *out, sp_grpc_health health);

#endif
