#ifndef SP_API_HOST_INFER_EXAMPLES_H
#define SP_API_HOST_INFER_EXAMPLES_H

#include <stddef.h>

#include "api/host/infer/infer_run.h"
#include "base/bytes.h"

/*
 * Classification and regression of serialized tf.Example records, with the rules and error texts of
 * TensorFlow Serving: the signature has the method's name and one input, "inputs"; a classification
 * has outputs "classes" and "scores" or one of them, a regression "outputs".
 *
 * Threads: pure but for the run.
 */
typedef enum sp_examples_method { SP_EXAMPLES_CLASSIFY, SP_EXAMPLES_REGRESS } sp_examples_method;

/* "tensorflow/serving/classify", "tensorflow/serving/regress" */
const char *sp_examples_method_name(sp_examples_method method);

/* What was computed; views of `owner`. */
typedef struct sp_examples_result {
	sp_examples_method method;
	size_t example_count;
	size_t class_count;                     /* of a classification, for each example */
	const serving_processor_bytes *classes; /* [example_count][class_count]; NULL: none */
	const float *scores;                    /* likewise; of a regression [example_count] */
	sp_infer_result owner;
} sp_examples_result;

/*
 * Whether the signature can be asked by the method.
 *
 * Errors: SP_INVALID; SP_NOT_FOUND for a missing input or output, TensorFlow Serving's
 *         FAILED_PRECONDITION.
 */
SP_MUST_CHECK sp_status sp_examples_check(const serving_processor_signature *signature,
					  sp_examples_method method, sp_error *err);

/*
 * Checks the signature, runs it on the examples, and checks what comes out.
 *
 * examples  [count] serialized records
 *
 * Errors: as of sp_examples_check() and sp_infer_run(); SP_INVALID for no example or for outputs of
 *         another type or shape.
 */
SP_MUST_CHECK sp_status sp_examples_run(sp_examples_result *out, const sp_servable *servable,
					const serving_processor_signature *signature,
					sp_examples_method method, const sp_bytes *examples,
					size_t count, const sp_infer_limits *limits, sp_error *err);

/* All zero is fine. */
void sp_examples_result_fini(sp_examples_result *result);

#endif
