/*
 * Golden cases with requests in parts: those that are proved answer as TensorFlow does, and the
 * others are refused by name.
 */
#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/serving_processor.h"
#include "tests/support/golden.h"

static const char *refusal; /* what the error of the case must say; NULL: it is served */
static size_t requests;

static void check_requests(const sp_golden_case *golden, void *model)
{
	for (int i = 0;; i++) {
		char name[64], path[80], *in, *want;
		size_t in_size, want_size;
		void *out = NULL;
		int size = 0;

		snprintf(name, sizeof(name), "requests/%03d", i);
		snprintf(path, sizeof(path), "%s.request.pb", name);
		in = sp_golden_read(golden, path, &in_size);
		if (in == NULL)
			break;
		snprintf(path, sizeof(path), "%s.response.pb", name);
		want = sp_golden_read(golden, path, &want_size);
		if (process(model, in, (int)in_size, &out, &size) != 200)
			fail_msg("%s %s: %.*s", golden->name, name, size, (char *)out);
		if (!sp_golden_same_response(golden, name, out, (size_t)size, want, want_size))
			fail_msg("%s %s is answered otherwise in parts", golden->name, name);
		requests++;
		free(in);
		free(want);
		free(out);
	}
}

static void check_case(sp_golden_case *golden)
{
	cJSON *about = cJSON_GetObjectItem(golden->about, "model_config");
	serving_processor_error *error = NULL;
	char *config;
	void *model;

	cJSON_AddNumberToObject(about, "split_batch_rows", 4);
	cJSON_DeleteItemFromObject(about, "session_num");
	cJSON_AddNumberToObject(about, "session_num", 3);
	config = sp_golden_config(golden, NULL, false);
	model = serving_processor_create(config, &error);
	free(config);
	if (refusal == NULL && model == NULL)
		fail_msg("%s: %s", golden->name, serving_processor_error_text(error));
	if (refusal == NULL)
		check_requests(golden, model);
	else if (model != NULL || strstr(serving_processor_error_text(error), refusal) == NULL ||
		 strstr(serving_processor_error_text(error), "'split_batch_rows'") == NULL)
		fail_msg("%s is not refused by '%s': %s", golden->name, refusal,
			 error != NULL ? serving_processor_error_text(error) : "served");
	serving_processor_error_free(error);
	serving_processor_destroy(model);
}

/* Our own, then those of $SP_GOLDEN_DIR if they are there. */
static void proved_models_answer_the_same(void **state)
{
	static const char *const names[] = {
		"ev-bags",          "ev-ctr",         "ev-ctr-ssd",
		"ev-rows",          "keras2-mlp",     "keras3-saved",
		"keras3-jax-parts", "jax-layers",     "tf1-fed-iterator",
		"tf1-frozen-graph", "tf1-text",       "tf2-calls",
		"ev-filter-cbf",    "ev-g3",          "ev-incremental",
		"ev-int32-keys",    "ev-wdl",         "tf-keras2-deepfm",
		"tf-keras2-din",    "tf-keras2-mmoe", "tf-v2-dlrm"};

	(void)state;
	refusal = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sp_golden_each(names[i], check_case);
	assert_true(requests > 20);
}

static void others_are_refused(void **state)
{
	(void)state;
	refusal = "(Mean), which may mix rows"; /* of batch norm in training mode */
	sp_golden_each("keras2-updates", check_case);
	refusal = "(ParseExampleV2)";
	sp_golden_each("tf1-feature-columns", check_case);
	refusal = "input 'flag' is declared without a dimension for rows";
	sp_golden_each("tf1-control-flow", check_case);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proved_models_answer_the_same),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests_name("golden_split", tests, NULL, NULL);
}
