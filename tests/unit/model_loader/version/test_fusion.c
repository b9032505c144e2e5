/* That fusion happens at all: its answers are compared by the golden models. */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "engine/runtime/program.h"
#include "model_loader/version/model.h"
#include "tests/support/paths.h"

static size_t step_count(const char *folder, bool reference)
{
	char path[SP_PATH_SIZE];
	sp_model_options options = {.savedmodel_dir = sp_source_path(path, folder),
				    .signature_name = "serving_default",
				    .reference = reference};
	sp_model *model;
	sp_error err;
	size_t count;

	assert_ok(sp_model_open(&model, &options, &err), &err);
	count = sp_program_step_count(sp_model_program(model), sp_model_default_signature(model));
	sp_model_destroy(model);
	return count;
}

static void columns_become_few_steps(void **state)
{
	(void)state;
	/* Fourteen lookups; the clipped one and the one of ids that rows give stay long. */
	assert_in_range(step_count("tests/golden/tf1-sparse-lookups/model", true), 300, 2000);
	assert_in_range(step_count("tests/golden/tf1-sparse-lookups/model", false), 10, 100);
	/* Columns of every kind; indicators and crosses are not fused. */
	assert_in_range(step_count("tests/golden/tf1-feature-columns/model", true), 300, 2000);
	assert_in_range(step_count("tests/golden/tf1-feature-columns/model", false), 10, 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_become_few_steps),
	};
	return cmocka_run_group_tests_name("fusion", tests, NULL, NULL);
}
