#ifndef SP_API_HOST_GRPC_GRPC_CALL_H
#define SP_API_HOST_GRPC_GRPC_CALL_H

#include "api/host/grpc/grpc_protocol.h"
#include "api/host/http/content_coding.h"
#include "api/host/http/http_request.h"
#include "api/host/infer/infer_run.h"
#include "api/host/messages/message.h"
#include "api/host/messages/predict_message.h"
#include "api/host/routes/serving.h"
#include "base/arena.h"
#include "base/buffer.h"

/*
 * One unary call: its message in, the message that answers it or a code out.
 *
 * Threads: the one that answers it.
 */
typedef struct sp_grpc_call {
	sp_serving *serving;
	sp_http_request *request;
	sp_message_memory memory;
	sp_bytes message;
	sp_buffer out;     /* the answer's message goes behind what is there */
	sp_grpc_code code; /* of a failure, if not that of its status; else OK */
} sp_grpc_call;

/* A method: appends the answer's message to call->out. */
typedef sp_status sp_grpc_handler(sp_grpc_call *call, sp_error *err);

/* Answers the request by the handler.  The request must not be touched any more. */
void sp_grpc__call(sp_serving *serving, sp_http_request *request, sp_message_memory *memory,
		   sp_grpc_handler *handler);

/* As sp_grpc__call(), on the I/O thread.  A compressed message must be small. */
void sp_grpc__call_here(sp_serving *serving, sp_http_request *request, sp_grpc_handler *handler);

/*
 * Replaces a compressed message by what it stands for, in the arena and within its budget.  On
 * failure *code is set unless the status has the code.
 */
SP_MUST_CHECK sp_status sp_grpc__decompress(sp_bytes *message, sp_bytes encoding_name,
					    size_t max_bytes, sp_arena *arena, sp_grpc_code *code,
					    sp_error *err);

enum { SP_GRPC_MESSAGE_TEXT = 1024 };

/* The status and headers of an answer with messages. */
enum { SP_GRPC_HEADERS = 2 };
sp_http_answer sp_grpc__head(sp_http_header headers[SP_GRPC_HEADERS], sp_content_coding coding);

/* The coding by which answers to a client that sends this head are compressed. */
sp_content_coding sp_grpc__answer_coding(const sp_serving *serving, const sp_http_head *head);

/* An answer without a message, and the memory of its texts. */
typedef struct sp_grpc_failure {
	sp_http_answer answer;
	sp_buffer body;
	sp_http_header fields[3];
	char code[8];
	char message[SP_GRPC_MESSAGE_TEXT];
} sp_grpc_failure;

/*
 * Sets *out to a failure, or for SP_GRPC_OK to the end of a stream.  `text` must outlive *out.
 *
 * id  sp_http_request_label(): of a message of ModelStreamInfer, which is answered by a message
 *     with the text; `data` is NULL for all other calls
 */
const sp_http_answer *sp_grpc__failure(sp_grpc_failure *out, sp_bytes id, sp_grpc_code code,
				       const char *text);

/* Answers the request with a failure; its id is in the label of the request. */
void sp_grpc__fail(sp_http_request *request, sp_grpc_code code, const char *text);

/* The deadline and the cancellation that end the run of a call. */
sp_infer_limits sp_grpc__limits(const sp_grpc_call *call);

/* Sets *out to what a ModelSpec selects; SP_INVALID if it names no model. */
SP_MUST_CHECK sp_status sp_grpc__select(sp_model_selector *out, const sp_model_spec *spec,
					sp_error *err);

/* Holds the model version of a ModelSpec.  Errors: as of sp_models_acquire(), with their code. */
SP_MUST_CHECK sp_status sp_grpc__acquire(sp_grpc_call *call, sp_servable *out,
					 const sp_model_spec *spec, sp_error *err);

/* As sp_grpc__acquire(), by a name and a version of the Open Inference Protocol. */
SP_MUST_CHECK sp_status sp_grpc__acquire_named(sp_grpc_call *call, sp_servable *out, sp_bytes name,
					       sp_bytes version, sp_error *err);

#endif
