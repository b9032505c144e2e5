#ifndef SP_TESTS_SUPPORT_FAKE_RUN_H
#define SP_TESTS_SUPPORT_FAKE_RUN_H

#include <stddef.h>

#include "api/serving_processor.h"

/*
 * Stands in for the library's functions about runs and results, for tests of what is around them.
 * Link it instead of the library.
 */
struct serving_processor_result {
	const serving_processor_tensor *tensors; /* [count] */
	size_t count;
};

/* The result of the next runs; set by the test. */
extern struct serving_processor_result sp_fake_result;

/* The code of the next runs; initially OK. */
extern serving_processor_code sp_fake_code;

/* The inputs of the last run; valid during the run only, so a test copies what it looks at. */
typedef void sp_fake_look(const serving_processor_tensor *inputs, size_t count);
extern sp_fake_look *sp_fake_on_run;

/* How many results have been given out and not been freed. */
extern size_t sp_fake_open;

#endif
