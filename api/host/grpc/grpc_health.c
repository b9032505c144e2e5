#include "api/host/grpc/grpc_health.h"

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/message_writer.h"

/* Names under which the host as a whole is asked for. */
static const char *const services[] = {
	"",
	"PredictionService",
	"ModelService",
	"tensorflow.serving.PredictionService",
	"tensorflow.serving.ModelService",
	"inference.GRPCInferenceService",
	"grpc.health.v1.Health",
};

static bool is_service(sp_bytes name)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (sp_bytes_equal_text(name, services[i]))
			return true;
	return false;
}

static sp_grpc_health model_health(sp_serving *serving, sp_bytes name)
{
	const sp_model_selector selector = {.name = name};
	sp_servable servable = {0};
	sp_status status;

	if (sp_models_find(serving->models, name) == NULL)
		return SP_GRPC_SERVICE_UNKNOWN;
	status = sp_models_acquire(serving->models, &selector, &servable, NULL);
	sp_servable_release(&servable);
	return status == SP_OK ? SP_GRPC_SERVING : SP_GRPC_NOT_SERVING;
}

sp_grpc_health sp_grpc__health(sp_serving *serving, sp_bytes service)
{
	sp_grpc_health health = SP_GRPC_SERVING;

	if (!is_service(service))
		health = model_health(serving, service);
	else if (!sp_serving_is_ready(serving, NULL))
		health = SP_GRPC_NOT_SERVING;
	if (health == SP_GRPC_SERVING && atomic_load(&serving->draining))
		health = SP_GRPC_NOT_SERVING;
	return health;
}

sp_status sp_grpc__health_request(sp_bytes *service, sp_bytes message, sp_error *err)
{
	enum { SERVICE = 1 };

	*service = (sp_bytes){"", 0};
	return sp_message_read(message, &(sp_wire_place){SERVICE, SP_WIRE_BYTES, service}, 1, err);
}

void sp_grpc__health_response(sp_buffer *out, sp_grpc_health health)
{
	enum { STATUS = 1 };

	sp_message_put_number(out, STATUS, (uint64_t)health);
}

sp_status sp_grpc__health_check(sp_grpc_call *call, sp_error *err)
{
	sp_grpc_health health;
	sp_bytes service;

	SP_TRY(sp_grpc__health_request(&service, call->message, err));
	health = sp_grpc__health(call->serving, service);
	if (health == SP_GRPC_SERVICE_UNKNOWN)
		return sp_error_set(err, SP_NOT_FOUND, "unknown service %.*s",
				    sp_message_shown(service), service.data);
	sp_grpc__health_response(&call->out, health);
	return SP_OK;
}
