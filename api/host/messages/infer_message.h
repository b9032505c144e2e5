#ifndef SP_API_HOST_MESSAGES_INFER_MESSAGE_H
#define SP_API_HOST_MESSAGES_INFER_MESSAGE_H

#include "api/host/messages/message.h"
#include "base/buffer.h"

/*
 * inference.ModelInferRequest and ModelInferResponse (proto/inference.proto) of the Open Inference
 * Protocol, version 2: bytes to typed tensors and back.
 *
 * An input has its values in `contents`, or all inputs have them in raw_input_contents, in their
 * order: little-endian, row-major, a bool in a byte, a string behind its length in four bytes.  A
 * response always has raw_output_contents.  Parameters are read over.
 *
 * Threads: pure but for `memory`.
 */

/* The fields beside the tensors; views into the message. */
typedef struct sp_infer_head {
	sp_bytes model_name;
	sp_bytes model_version; /* empty: any */
	sp_bytes id;            /* for the response */

	/*
	 * Parameters.  triton_enable_empty_final_response is checked and changes nothing, as each
	 * request has one response; all others are read over.
	 */
	sp_bytes signature_name; /* empty: the default one */
	int64_t timeout_us;      /* 0: none */
} sp_infer_head;

SP_MUST_CHECK sp_status sp_infer_message_head(sp_infer_head *out, sp_bytes message, sp_error *err);

/* The id alone; of a malformed message, one before the fault.  Empty, not NULL, without an id. */
sp_bytes sp_infer_message_id(sp_bytes message);

/*
 * Reads inputs and requested outputs.  All inputs of the signature are given on success.
 *
 * Errors: SP_INVALID, SP_UNSUPPORTED, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_infer_message_decode(sp_message_inputs *out,
						const serving_processor_signature *signature,
						sp_bytes message, sp_message_memory *memory,
						sp_error *err);

/* The tensor of that name, whatever the signature; SP_NOT_FOUND if the request has none. */
SP_MUST_CHECK sp_status sp_infer_message_find(serving_processor_tensor *out, sp_bytes name,
					      sp_bytes message, sp_arena *arena, sp_error *err);

/*
 * Appends a ModelInferResponse with the outputs, [count].  SP_UNSUPPORTED for a type without a
 * datatype, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_infer_message_encode(sp_buffer *out,
						const serving_processor_tensor *outputs,
						size_t count, const sp_infer_head *head,
						sp_error *err);

/*
 * Steps that JSON shares (v2/v2_request.h).  Sets *out to the tensor of the nth input of a request,
 * with name and dtype.  SP_INVALID if the signature lacks the input, the request has it twice, or
 * the datatype does not exist.
 */
SP_MUST_CHECK sp_status sp_infer_take_input(serving_processor_tensor **out,
					    sp_message_inputs *inputs, size_t nth, sp_bytes name,
					    sp_bytes datatype, sp_message_memory *memory,
					    sp_error *err);

/* Appends a requested output; `out` has room for all outputs of the signature. */
SP_MUST_CHECK sp_status sp_infer_take_output(sp_message_inputs *inputs, sp_bytes name,
					     sp_error *err);

/*
 * Appends the ModelStreamInferResponse to a request with that id which has failed.  Of the text,
 * bytes of control characters and of no character become '?'.
 */
void sp_infer_message_encode_error(sp_buffer *out, sp_bytes id, const char *text);

/*
 * Raw values, as in raw_input_contents and in the binary data of HTTP, of a tensor whose dtype,
 * dims and count are set.  Numbers are a view and need not be aligned; strings are views.
 */
SP_MUST_CHECK sp_status sp_infer_raw_decode(serving_processor_tensor *tensor, sp_bytes raw,
					    sp_arena *arena, sp_error *err);

/* Bytes of the raw values; false if a string is too long for its length. */
bool sp_infer_raw_size(const serving_processor_tensor *tensor, size_t *size);

/* Writes the raw values; returns the position behind them. */
unsigned char *sp_infer_raw_put(unsigned char *at, const serving_processor_tensor *tensor);

/* "FP32" ...; NULL for a type that the protocol does not have. */
const char *sp_infer_datatype(int dtype);

/* 0: none. */
int sp_infer_dtype(sp_bytes datatype);

#endif
