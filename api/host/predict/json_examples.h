#ifndef SP_API_HOST_PREDICT_JSON_EXAMPLES_H
#define SP_API_HOST_PREDICT_JSON_EXAMPLES_H

#include <stddef.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Parses the body of TensorFlow Serving's ":classify" and ":regress" into serialized tf.Example
 * messages:
 *
 *	{"signature_name": "...", "context": {...}, "examples": [{...}, ...]}
 *
 * An example is an object of features.  A feature is a value or a list of values of one kind:
 * strings and {"b64": "..."} make a bytes list, numbers with a fraction or an exponent a float
 *list, integers and booleans an int64 list.  The features of the context come before those of each
 * example, so that an example's own feature of the same name counts.
 *
 * Memory: the context is copied into each example; the sum is bounded by the budget and by 1 GiB.
 *
 * Threads: one thread at a time; each worker has its own.
 */
typedef struct sp_json_examples sp_json_examples;

/* NULL when out of memory.  `budget` may be NULL. */
sp_json_examples *sp_json_examples_create(sp_budget *budget);

/* NULL is fine. */
void sp_json_examples_destroy(sp_json_examples *examples);

/* After a parse that succeeded; valid until the next one or a trim. */
typedef struct sp_examples {
	sp_bytes signature_name; /* {"", 0}: none was named */
	const sp_bytes *items;   /* [count] serialized tf.Example messages */
	size_t count;            /* >= 1 */
} sp_examples;

/*
 * A NUL follows `body`, which must outlive *out.
 *
 * Errors: SP_INVALID, SP_CORRUPT (not JSON), SP_NO_MEMORY; texts as TensorFlow Serving's.
 */
SP_MUST_CHECK sp_status sp_json_examples_parse(sp_examples *out, sp_json_examples *examples,
					       sp_bytes body, sp_error *err);

/* Frees the memory of a large request. */
void sp_json_examples_trim(sp_json_examples *examples);

#endif
