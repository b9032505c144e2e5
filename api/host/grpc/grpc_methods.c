
#include "api/host/grpc/grpc.h"
#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/examples_message.h"
#include "api/host/messages/infer_message.h"
#include "api/host/routes/route_errors.h"
#include "base/clock.h"

/* The thread that answers a call and, for workers, where the message names the model. */
typedef enum method_kind {
	HERE,    /* the I/O thread: it is quick */
	PREDICT, /* a worker: model_spec */
	INFER,   /* a worker: model_name */
	MULTI,   /* a worker: tasks */
	ORDER,   /* the thread for orders, if sp_flags.orders_by_rpc allows them */
} method_kind;

typedef struct method {
	const char *path;
	method_kind kind;
	sp_request_kind counted;
	sp_grpc_handler *handler;
} method;

#define PREDICTION "/tensorflow.serving.PredictionService/"
#define MODEL      "/tensorflow.serving.ModelService/"
#define V2         "/inference.GRPCInferenceService/"

static const method methods[] = {
	{PREDICTION "Predict", PREDICT, SP_REQUEST_GRPC_PREDICT, sp_grpc__predict},
	{PREDICTION "Classify", PREDICT, SP_REQUEST_EXAMPLES, sp_grpc__classify},
	{PREDICTION "Regress", PREDICT, SP_REQUEST_EXAMPLES, sp_grpc__regress},
	{PREDICTION "MultiInference", MULTI, SP_REQUEST_EXAMPLES, sp_grpc__multi_inference},
	{PREDICTION "GetModelMetadata", HERE, SP_REQUEST_METADATA, sp_grpc__get_model_metadata},
	{MODEL "GetModelStatus", HERE, SP_REQUEST_STATUS, sp_grpc__get_model_status},
	{MODEL "HandleReloadConfigRequest", ORDER, SP_REQUEST_ADMIN, sp_grpc__reload_config},
	{V2 "ModelInfer", INFER, SP_REQUEST_GRPC_PREDICT, sp_grpc__model_infer},
	{V2 "ModelStreamInfer", INFER, SP_REQUEST_GRPC_PREDICT, sp_grpc__model_stream_infer},
	{V2 "ServerLive", HERE, SP_REQUEST_HEALTH, sp_grpc__server_live},
	{V2 "ServerReady", HERE, SP_REQUEST_HEALTH, sp_grpc__server_ready},
	{V2 "ModelReady", HERE, SP_REQUEST_HEALTH, sp_grpc__model_ready},
	{V2 "ServerMetadata", HERE, SP_REQUEST_METADATA, sp_grpc__server_metadata},
	{V2 "ModelMetadata", HERE, SP_REQUEST_METADATA, sp_grpc__model_metadata},
	{V2 "ModelConfig", HERE, SP_REQUEST_METADATA, sp_grpc__model_config},
	{V2 "ModelStatistics", HERE, SP_REQUEST_STATUS, sp_grpc__model_statistics},
	{V2 "RepositoryIndex", HERE, SP_REQUEST_STATUS, sp_grpc__repository_index},
	{V2 "RepositoryModelLoad", ORDER, SP_REQUEST_ADMIN, sp_grpc__repository_load},
	{V2 "RepositoryModelUnload", ORDER, SP_REQUEST_ADMIN, sp_grpc__repository_unload},
	{"/grpc.health.v1.Health/Check", HERE, SP_REQUEST_HEALTH, sp_grpc__health_check},
};

/* NULL if there is no such method. */
static const method *find(sp_bytes path)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (sp_bytes_equal_text(path, methods[i].path))
			return &methods[i];
	return NULL;
}

/* A queue's job: answers the call on the thread that took it. */
static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	const method *called = find(sp_http_request_head(request)->path);
	sp_message_memory memory = {worker->arena, worker->input_order};

	sp_grpc__call(serving, request, &memory, called->handler);
}

/* The name of the model that a call is for; empty if the message is compressed or malformed. */
static sp_bytes model_name(const method *called, const sp_http_request *request)
{
	const sp_bytes none = {"", 0};
	sp_grpc_frame frame;
	sp_infer_head head;
	sp_model_spec spec;

	if (sp_grpc_frame_read(&frame, sp_http_request_body(request)) != SP_GRPC_READ_DONE ||
	    frame.compressed)
		return none;
	if (called->kind == INFER)
		return sp_infer_message_head(&head, frame.message, NULL) == SP_OK ? head.model_name
										  : none;
	if (called->kind == MULTI)
		return sp_examples_message_model(frame.message);
	return sp_model_spec_find(&spec, frame.message, NULL) == SP_OK ? spec.name : none;
}

/* The time that the client gives counts from the arrival of the whole request. */
static bool set_deadline(sp_http_request *request)
{
	sp_bytes value = sp_http_head_get(sp_http_request_head(request), "grpc-timeout");
	int64_t ns;

	if (value.data == NULL)
		return true;
	if (!sp_grpc_timeout(value, &ns))
		return false;
	sp_http_request_set_deadline(request, sp_clock_now_ns() + ns);
	return true;
}

static bool is_grpc(const sp_http_head *head)
{
	return head->major == 2 && sp_grpc_is_content_type(sp_http_head_get(head, "content-type"));
}

/* Whether the path may be that of a method: "/package.Service/Method". */
static bool is_method_like(sp_bytes path)
{
	return sp_bytes_starts_with(path, "/tensorflow.serving.") ||
	       sp_bytes_starts_with(path, "/inference.") || sp_bytes_starts_with(path, "/grpc.");
}

bool sp_grpc_is_call(const sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);

	return is_grpc(head) || is_method_like(head->path);
}

bool sp_grpc_refuse(sp_serving *serving, sp_http_request *request, int status, const char *text)
{
	sp_grpc_code code = sp_grpc_code_of_http(status);
	sp_grpc_failure failure;

	if (!is_grpc(sp_http_request_head(request)))
		return false;
	/* The client should try another server, not this one again. */
	if (status == 503 && atomic_load(&serving->draining))
		code = SP_GRPC_UNAVAILABLE;
	(void)sp_grpc__failure(&failure, sp_http_request_label(request), code, text);
	failure.answer.outcome = status;
	sp_http_request_set_answer(request, &failure.answer);
	return true;
}

void sp_grpc_route(sp_serving *serving, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	const method *called = find(head->path);
	sp_model *model = NULL;

	if (!is_grpc(head)) {
		sp_http_request_fail(request, 415,
				     "gRPC needs HTTP/2 and Content-Type: application/grpc");
		return;
	}
	if (called == NULL || head->method != SP_HTTP_POST) {
		sp_grpc__fail(request, SP_GRPC_UNIMPLEMENTED, "there is no such method");
		return;
	}
	if (called->kind != HERE && called->kind != ORDER)
		model = sp_models_find(serving->models, model_name(called, request));
	sp_serving_tag(request, called->counted, model);
	if (!set_deadline(request))
		sp_grpc__fail(request, SP_GRPC_INTERNAL, "grpc-timeout is malformed");
	else if (called->kind == HERE)
		sp_grpc__call_here(serving, request, called->handler);
	else if (called->kind != ORDER)
		sp_route__enqueue(serving, request, compute);
	else if (serving->flags->orders_by_rpc)
		sp_route__enqueue_order(serving, request, compute);
	else
		sp_grpc__fail(request, SP_GRPC_PERMISSION_DENIED, SP_SERVING_NO_ORDERS);
}
