#ifndef SP_API_HOST_PREDICT_JSON_REQUEST_H
#define SP_API_HOST_PREDICT_JSON_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/predict/signature.h"
#include "api/serving_processor.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Parses the body of TensorFlow Serving's ":predict" into typed tensors:
 *
 *	{"signature_name": "...", "instances": [...]}   one value per example
 *	{"signature_name": "...", "inputs": ...}        one value per input
 *
 * The rules are those of its REST guide, except that these are refused: an integer that does not
 * fit its tensor's type, invalid UTF-8, a duplicate key, and lists nested deeper than
 *SP_JSON_TENSOR_MAX_RANK.  Unknown keys are skipped at any depth; text after the object is ignored.
 *
 * Memory: less than 24 times the size of the body: at most one element per two bytes of it, in
 * arrays that grow by doubling.  Memory of a large request is freed by sp_json_request_trim() or by
 * the next request.
 *
 * Threads: one thread at a time; each worker has its own.
 */
typedef struct sp_json_request sp_json_request;

/* NULL when out of memory.  Its memory counts against the budget, which may be NULL. */
sp_json_request *sp_json_request_create(sp_budget *budget);
void sp_json_request_destroy(sp_json_request *request);

/* Frees the memory of a large request; the parsed tensors become invalid. */
void sp_json_request_trim(sp_json_request *request);

/*
 * A NUL follows `body`.  `body` and `set` must outlive the tensors, which are views of them.
 *
 * Errors: SP_INVALID, SP_CORRUPT (not JSON), SP_NOT_FOUND (no such signature), SP_UNSUPPORTED,
 * SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_json_request_parse(sp_json_request *request,
					      const sp_host_signatures *set, sp_bytes body,
					      sp_error *err);

/* After a parse that succeeded; valid until the next one. */
typedef struct sp_json_parsed {
	const sp_host_signature *signature;
	const serving_processor_tensor *tensors; /* [count], one per input, by alias */
	size_t count;
	bool row; /* "instances" */
} sp_json_parsed;

const sp_json_parsed *sp_json_request_parsed(const sp_json_request *request);

#endif
