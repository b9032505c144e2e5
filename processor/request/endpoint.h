#ifndef SP_PROCESSOR_REQUEST_ENDPOINT_H
#define SP_PROCESSOR_REQUEST_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/status.h"
#include "model_loader/saved_model/saved_model.h"

/*
 * A signature as clients see it: the names of its inputs and outputs.
 *
 * A tensor has three names, tried in this order: its alias in the signature ("x"), the name of the
 * tensor ("dense/BiasAdd:0"), and that name without ":0".  So clients of older and newer DeepRec
 * both work.
 *
 * Input aliases of the same tensor are one input, the first of them.
 *
 * `json` is the answer of process() to an empty request: the signature, spaced as DeepRec does,
 *
 *   {"signature_name": "s","inputs": [{"name": "x","shape": [-1, 3],"type": "DT_FLOAT"}],
 *    "outputs": [...]}
 *
 * without the line break; "" if the method is not tensorflow/serving/predict.
 *
 * Threads: immutable once made.
 */
typedef struct sp_endpoint {
	sp_signature signature;   /* its pointers refer to the model */
	size_t entry;             /* index in the program */
	int64_t timeout_ms;       /* of a request; 0: none */
	const sp_error *refused;  /* why it cannot be served; NULL: it can */
	bool splits;              /* requests may be answered in parts: engine/rows/row_proof.h */
	size_t *canonical_inputs; /* [input_count]: the first input with the same tensor */
	const char *json;
	sp_map inputs;
	sp_map outputs;
} sp_endpoint;

typedef enum sp_spelling {
	SP_SPELLING_ALIAS = 0,
	SP_SPELLING_TENSOR,
	SP_SPELLING_NODE,
	SP_SPELLING_COUNT,
} sp_spelling;

/* Allocates in `arena`; everything that `signature` points to must outlive the endpoint. */
SP_MUST_CHECK sp_status sp_endpoint_init(sp_endpoint *out, const sp_signature *signature,
					 size_t entry, sp_arena *arena, sp_error *err);

/* SP_INVALID, with a list of the valid names. */
SP_MUST_CHECK sp_status sp_endpoint_find_input(const sp_endpoint *endpoint, sp_bytes name,
					       size_t *index, sp_error *err);
SP_MUST_CHECK sp_status sp_endpoint_find_output(const sp_endpoint *endpoint, sp_bytes name,
						size_t *index, sp_spelling *spelling,
						sp_error *err);

#endif
