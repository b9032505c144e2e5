#ifndef SP_API_HOST_ROUTES_ROUTE_CALL_H
#define SP_API_HOST_ROUTES_ROUTE_CALL_H

#include "api/host/http/http_request.h"
#include "api/host/messages/message_answer.h"
#include "api/host/predict/signature.h"
#include "api/host/routes/route_path.h"
#include "api/host/routes/serving.h"
#include "api/host/sticky/sticky.h"
#include "api/host/worker.h"
#include "base/buffer.h"
#include "base/status.h"

/*
 * A request that a worker answers by a version of a model: the body in, the body that answers it
 * out.
 *
 * Threads: that of the worker.
 */
typedef struct sp_route_call {
	sp_serving *serving;
	sp_worker *worker;
	sp_http_request *request;
	sp_route_verb verb;
	sp_servable servable; /* held */
	sp_bytes body;        /* uncompressed, and followed by a NUL */
	int64_t json_size;    /* by the codec */
	sp_message_memory memory;
	sp_message_run run; /* for messages */
	sp_buffer out;
	const char *type;      /* of the answer; NULL: JSON */
	sp_http_header header; /* a further one of the answer; its name empty: none */
	char header_text[24];  /* for its value */
} sp_route_call;

/* How bodies of one kind are answered. */
typedef struct sp_route_codec {
	sp_status (*answer)(sp_route_call *call, sp_error *err); /* appends to call->out */
	sp_sticky_form form;
	int64_t (*json_size)(const sp_http_request *request); /* of SP_STICKY_V2_JSON */
} sp_route_codec;

/* The status of a parser of JSON: a body that is not JSON is the client's fault. */
static inline sp_status sp_route__parsed(sp_status status)
{
	return status == SP_CORRUPT ? SP_INVALID : status;
}

/*
 * Answers by `message` if the Content-Type is protobuf's, else, or if it is NULL, by `json`.
 *
 * The path is parsed and the version selected only now, so that the queue holds no version, since
 * another one may be live meanwhile; the body may decide about a share of a traffic split.  A body
 * with a Content-Encoding is decoded: 413 above
 * --max_body_bytes or a ratio, 415 for an unknown coding.  A large answer is compressed if the
 * client accepts it.
 */
void sp_route__compute(sp_serving *serving, sp_worker *worker, sp_http_request *request,
		       const sp_route_codec *json, const sp_route_codec *message);

/* The signatures of the held version, and the default one. */
sp_host_signatures sp_route__signatures(const sp_route_call *call);

#endif
