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
 * The body of TensorFlow Serving's ":predict" into typed tensors:
 *
 *	{"signature_name": "...", "instances": [...]}   one value per example
 *	{"signature_name": "...", "inputs": ...}        one value per input
 *
 * The rules are those of its REST guide, except that an integer which its
 * tensor cannot hold, invalid UTF-8, a key that occurs twice, and lists nested
 * deeper than 32 are refused.  Unknown keys are passed over at any depth; what
 * follows the object is not read.
 *
 * Memory: below 24 times the size of the body, for one element per two bytes
 *         of it and the doubling of arrays.  What a large request needed is
 *         given back by sp_json_request_trim(), or by the next request.
 * Threads: one thread at a time; a worker keeps one.
 */
typedef struct sp_json_request sp_json_request;

/* NULL when out of memory. */
sp_json_request *sp_json_request_create(void);
void sp_json_request_destroy(sp_json_request *request);

/* Its memory counts from now on; before the first parse. */
void sp_json_request_set_budget(sp_json_request *request, sp_budget *budget);

/* Gives back what only a large request needs; the tensors are gone. */
void sp_json_request_trim(sp_json_request *request);

/*
 * `body` has a NUL behind its last byte.  It, and the set, must outlive the
 * tensors: strings are views of it.
 *
 * Errors: SP_INVALID, SP_CORRUPT (not JSON), SP_NOT_FOUND (no such signature),
 *         SP_UNSUPPORTED, SP_NO_MEMORY.
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
