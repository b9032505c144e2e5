#ifndef SP_API_HOST_V2_V2_REQUEST_H
#define SP_API_HOST_V2_V2_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/messages/message.h"
#include "api/host/predict/signature.h"
#include "base/budget.h"

/*
 * Parses the body of the Open Inference Protocol's "infer" (version 2): JSON, and behind it the
 * binary data of the inputs that have parameters.binary_data_size.
 *
 * Beyond the protocol the request's parameter "signature_name" selects a signature.  Refused by
 * name: shared memory, classification, FP16 and BF16 as JSON.  Other parameters are skipped.
 *
 * Memory of JSON data: as in predict/json_request.h.
 *
 * Threads: one thread at a time; each worker has its own.
 */
typedef struct sp_v2_request sp_v2_request;

/* NULL when out of memory.  `budget` may be NULL. */
sp_v2_request *sp_v2_request_create(sp_budget *budget);

/* NULL is fine. */
void sp_v2_request_destroy(sp_v2_request *request);

typedef struct sp_v2_parsed {
	sp_message_inputs inputs;  /* all given */
	sp_bytes id;               /* for the response; {NULL, 0}: none */
	bool binary_by_default;    /* outputs are binary unless `binary` says otherwise */
	const signed char *binary; /* [inputs.output_count] 1, 0, or -1: by default */
	int64_t timeout_us;        /* 0: none */
} sp_v2_parsed;

/* The length of the JSON when no header tells it: all of the body. */
enum { SP_V2_ALL_JSON = -1 };

/*
 * json_size  value of the header Inference-Header-Content-Length, or SP_V2_ALL_JSON; 0: the body is
 *            the binary data of the signature's only input, and all outputs are binary
 *
 * A NUL follows `body`.  The tensors are views of body, request and memory->arena.
 *
 * Errors: SP_INVALID, SP_CORRUPT (not JSON), SP_NOT_FOUND (no such signature), SP_UNSUPPORTED,
 *         SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_v2_request_parse(sp_v2_parsed *out, sp_v2_request *request,
					    const sp_host_signatures *set, sp_bytes body,
					    int64_t json_size, sp_message_memory *memory,
					    sp_error *err);

/* Frees the memory of a large request. */
void sp_v2_request_trim(sp_v2_request *request);

#endif
