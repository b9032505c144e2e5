#ifndef SP_API_HOST_PREDICT_JSON_EXAMPLES_H
#define SP_API_HOST_PREDICT_JSON_EXAMPLES_H

#include <stddef.h>

#include "api/serving_processor.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Parses the body of TensorFlow Serving's ":classify" and ":regress" into serialized tf.Example
 * messages:
 *
 *	{"signature_name": "...", "context": {...}, "examples": [{...}, ...]}
 *
 * An example is an object of features.  A feature is a value or a list of values of one kind. Which
 * list it makes is said by the parser of the signature's input, if that reads the feature: a float
 * list takes all numbers, an int64 list takes booleans and numbers that are whole, a bytes list
 * takes strings and {"b64": "..."}.  Of other features the value says it: strings and {"b64": ...}
 * make a bytes list, numbers with a fraction or an exponent a float list, integers and booleans an
 * int64 list.  The features of the context come before those of each example, so that an example's
 * own feature of the same name counts.
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

/*
 * Checks the body's syntax and finds the name of the signature; {"", 0}: none.  A NUL follows
 * `body`, which must outlive what is read from it.
 *
 * Errors of this and the next: SP_INVALID, SP_CORRUPT (not JSON), SP_NO_MEMORY; texts as TensorFlow
 * Serving's.
 */
SP_MUST_CHECK sp_status sp_json_examples_begin(sp_bytes *signature_name, sp_json_examples *examples,
					       sp_bytes body, sp_error *err);

/* What the signature's input takes, as serving_processor_handle_example_features() tells it. */
typedef struct sp_known_features {
	const serving_processor_example_feature *items; /* [count] */
	size_t count;
} sp_known_features;

/* After a read that succeeded; valid until the next begin or a trim. */
typedef struct sp_examples {
	const sp_bytes *items; /* [count] serialized tf.Example messages */
	size_t count;          /* >= 1 */
} sp_examples;

/* Reads the examples of the body, once. */
SP_MUST_CHECK sp_status sp_json_examples_read(sp_examples *out, sp_json_examples *examples,
					      const sp_known_features *known, sp_error *err);

/* Frees the memory of a large request. */
void sp_json_examples_trim(sp_json_examples *examples);

#endif
