#ifndef SP_API_HOST_STICKY_STICKY_H
#define SP_API_HOST_STICKY_STICKY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/*
 * The value of one input in the body of a request, before it is known which version answers it: the
 * key by which a split of traffic is sticky.
 *
 * It is the first value of the input: row 0 of a tensor, and of examples the first value of the
 * feature with that name in the first one or, if it has none, in the context.  The key is the same
 * in all forms of a body: a string's bytes; a number in decimal digits, if it is whole, and
 * otherwise as the nearest float; true is 1 and false 0.  An empty string is no value, and complex
 * and 16-bit floats have none.
 *
 * The JSON of a signature with one input may leave out its name; its value is then taken for the
 * one that is looked for.
 *
 * Memory: the tensor of a message may be decoded into the arena; texts of JSON are if they have
 * escapes.  Time: one pass over the body, which stops behind the value.
 */
typedef enum sp_sticky_form {
	SP_STICKY_PREDICT_JSON, /* TensorFlow Serving's */
	SP_STICKY_PREDICT,      /* tensorflow.serving.PredictRequest */
	SP_STICKY_EXAMPLES_JSON,
	SP_STICKY_EXAMPLES, /* ClassificationRequest, RegressionRequest, MultiInferenceRequest */
	SP_STICKY_V2_JSON,  /* of the Open Inference Protocol, with its binary data */
	SP_STICKY_V2,       /* inference.ModelInferRequest */
	SP_STICKY_EAS,      /* tensorflow.eas.PredictRequest */
} sp_sticky_form;

enum { SP_STICKY_NUMBER = 32 };

typedef struct sp_sticky_body {
	sp_sticky_form form;
	sp_bytes bytes;    /* a NUL follows JSON */
	int64_t json_size; /* of SP_STICKY_V2_JSON: as sp_v2_request_parse() has it */
	sp_arena *arena;   /* of the request */
	char number[SP_STICKY_NUMBER];
} sp_sticky_body;

/*
 * An sp_field_finder: `body` is an sp_sticky_body.  {NULL, 0} if there is no value, or the body
 * cannot be read as far as that; else a view of the body, the arena or body->number.
 *
 * Threads: that of the request.
 */
sp_bytes sp_sticky_find(void *body, const char *name);

#endif
