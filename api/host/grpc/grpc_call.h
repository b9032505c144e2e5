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

/* The same on the I/O thread.  A compressed message must be small. */
void sp_grpc__call_here(sp_serving *serving, sp_http_request *request, sp_grpc_handler *handler);

/*
 * Replaces a compressed message by what it stands for, in the arena and within its budget.  On
 * failure *code is set unless the status has the code.
 */
SP_MUST_CHECK sp_status sp_grpc__decompress(sp_bytes *message, sp_bytes encoding_name,
					    size_t max_bytes, sp_arena *arena, sp_grpc_code *code,
					    sp_error *err);

enum { SP_GRPC_MESSAGE_TEXT = 1024 };

/* What an answer with messages begins with. */
enum { SP_GRPC_HEADERS = 2 };
sp_http_answer sp_grpc__head(sp_http_header headers[SP_GRPC_HEADERS], sp_content_coding coding);

/* What the host may compress answers with, for a client that sends this head. */
sp_content_coding sp_grpc__answer_coding(const sp_serving *serving, const sp_http_head *head);

/* An answer without a message, and its texts. */
typedef struct sp_grpc_failure {
	sp_http_answer answer;
	sp_buffer body;
	sp_http_header fields[3];
	char code[8];
	char message[SP_GRPC_MESSAGE_TEXT];
} sp_grpc_failure;

/*
 * Fills it in; `text` must live as long.  For SP_GRPC_OK it is the end of a stream.
 *
 * id  sp_http_request_label(): of a message of ModelStreamInfer, which is answered by a message
 *     with the text; `data` is NULL for all other calls
 */
const sp_http_answer *sp_grpc__failure(sp_grpc_failure *out, sp_bytes id, sp_grpc_code code,
				       const char *text);

/* Answers so, with the label of the request. */
void sp_grpc__fail(sp_http_request *request, sp_grpc_code code, const char *text);

/* Sets call->code and the error; returns `status`. */
sp_status sp_grpc__error(sp_grpc_call *call, sp_grpc_code code, sp_status status, sp_error *err,
			 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* What ends the run of a call. */
sp_infer_limits sp_grpc__limits(const sp_grpc_call *call);

/* What a ModelSpec selects; SP_INVALID if it names no model. */
SP_MUST_CHECK sp_status sp_grpc__select(sp_model_selector *out, const sp_model_spec *spec,
					sp_error *err);

/* Holds the model version of a ModelSpec.  Errors: as of sp_models_acquire(), with their code. */
SP_MUST_CHECK sp_status sp_grpc__acquire(sp_grpc_call *call, sp_servable *out,
					 const sp_model_spec *spec, sp_error *err);

/* The same by a model's name and version as the Open Inference Protocol gives them. */
SP_MUST_CHECK sp_status sp_grpc__acquire_named(sp_grpc_call *call, sp_servable *out, sp_bytes name,
					       sp_bytes version, sp_error *err);

#endif
