#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/serving_processor.h"
#include "tests/support/paths.h"

/* Small SavedModels, written as text, by the exported functions. */

#define FLOAT       "attr { key: 'T' value { type: DT_FLOAT } }"
#define FLOAT_DTYPE "attr { key: 'dtype' value { type: DT_FLOAT } }"
#define SHAPE       "tensor_shape { unknown_rank: true }"
#define END(alias, tensor) \
	" { key: '" alias "' value { name: '" tensor "' dtype: DT_FLOAT " SHAPE " } }"
#define SIGNATURE(name, output)                                                          \
	"signature_def { key: '" name "' value { inputs" END("x", "x:0") " outputs" END( \
		"y", output) " method_name: 'tensorflow/serving/predict' } }"
#define FEED "node { name: 'x' op: 'Placeholder' " FLOAT_DTYPE " }"
/* A metagraph in which y is x by an operator of one input. */
#define GRAPH(tags, op)                                                                           \
	"meta_graphs { meta_info_def { " tags " } graph_def { " FEED " node { name: 'y' op: '" op \
	"' input: 'x' " FLOAT " } } " SIGNATURE("serving_default", "y:0") " }"

static char folder[SP_PATH_SIZE];
static const float four[] = {4};

static int set_up(void **state)
{
	(void)state;
	serving_processor_set_log_level(3);
	sp_temp_make(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	return 0;
}

static void write_model(const char *text)
{
	char path[SP_PATH_SIZE + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/saved_model.pbtxt", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fprintf(file, "saved_model_schema_version: 1 %s", text) > 0);
	assert_int_equal(fclose(file), 0);
}

static void *open_model(const char *more, serving_processor_error **error)
{
	char config[SP_PATH_SIZE + 512];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"serving_default\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\"%s}",
		 folder, more);
	return serving_processor_create(config, error);
}

static serving_processor_code ask(void *model, const char *signature, float *y,
				  serving_processor_error **error)
{
	static const int64_t dims[] = {1};
	const serving_processor_tensor x = {"x", SERVING_PROCESSOR_FLOAT, 1, dims, 1, four};
	serving_processor_result *result = NULL;
	serving_processor_code code = serving_processor_run(model, signature, &x, 1, NULL, 0,
							    &result, error);

	if (code == SERVING_PROCESSOR_OK)
		*y = *(const float *)serving_processor_result_tensor(result, 0)->data;
	serving_processor_result_free(result);
	return code;
}

static void opens_and_answers(const char *more, float want)
{
	void *model = open_model(more, NULL);
	float y = 0;

	assert_non_null(model);
	assert_int_equal(ask(model, NULL, &y, NULL), SERVING_PROCESSOR_OK);
	assert_true(y == want);
	serving_processor_destroy(model);
}

static void is_refused(const char *more, const char *words)
{
	serving_processor_error *error = NULL;

	assert_null(open_model(more, &error));
	assert_int_equal(serving_processor_error_code(error), SERVING_PROCESSOR_NOT_FOUND);
	assert_non_null(strstr(serving_processor_error_text(error), words));
	serving_processor_error_free(error);
}

static void a_signature_that_cannot_be_served_says_why(void **state)
{
	/* x of the request above: the field of inputs, with its value at the end. */
	static const char message[] = "\x12\x12\x0a\x01x\x12\x0d\x08\x01\x12\x03\x0a\x01\x01"
				      "\x1a\x04\0\0\x80\x40";
	serving_processor_error *error = NULL;
	void *model, *answer = NULL;
	float y = 0;
	int size;

	(void)state;
	write_model("meta_graphs { meta_info_def { tags: 'serve' } graph_def { " FEED
		    "node { name: 'y' op: 'Sqrt' input: 'x' " FLOAT " }"
		    "node { name: 'z' op: 'NoSuchOperator' input: 'x' } }" SIGNATURE(
			    "serving_default", "y:0") SIGNATURE("other", "z:0") " }");
	model = open_model("", NULL);
	assert_non_null(model);
	assert_int_equal(ask(model, NULL, &y, NULL), SERVING_PROCESSOR_OK);
	assert_true(y == 2.0f);

	assert_int_equal(ask(model, "other", &y, &error), SERVING_PROCESSOR_UNSUPPORTED);
	assert_non_null(strstr(serving_processor_error_text(error),
			       "signature 'other' cannot be served: "));
	assert_non_null(strstr(serving_processor_error_text(error), "NoSuchOperator"));
	serving_processor_error_free(error);

	assert_int_equal(serving_processor_process(model, "other", message, sizeof(message) - 1,
						   &answer, &size),
			 500);
	assert_non_null(strstr(answer, "NoSuchOperator"));
	serving_processor_free(answer);
	assert_int_equal(serving_processor_process(model, NULL, message, sizeof(message) - 1,
						   &answer, &size),
			 200);
	serving_processor_free(answer);
	serving_processor_destroy(model);
}

static void a_metagraph_is_chosen_by_its_tags(void **state)
{
	(void)state;
	write_model(GRAPH("tags: 'train'", "Neg") GRAPH("tags: 'serve' tags: 'gpu'", "Square")
			    GRAPH("tags: 'serve'", "Sqrt") GRAPH("", "Exp"));
	opens_and_answers("", 2);
	opens_and_answers(", \"saved_model_tags\": \"serve\"", 2);
	opens_and_answers(", \"saved_model_tags\": \"serve,gpu\"", 16);
	opens_and_answers(", \"saved_model_tags\": \"gpu,serve\"", 16);
	opens_and_answers(", \"saved_model_tags\": \"train\"", -4);
	is_refused(", \"saved_model_tags\": \"serve,tpu\"",
		   "none of 4 metagraphs has exactly the tags \"serve,tpu\", they have \"train\", "
		   "\"serve,gpu\", \"serve\", \"\"");
	is_refused(", \"saved_model_tags\": \"gpu\"", "exactly the tags \"gpu\"");
	is_refused(", \"saved_model_tags\": \"serve,\"", "exactly the tags \"serve,\"");
}

static void the_only_metagraph_must_have_tags_that_are_asked_for(void **state)
{
	(void)state;
	write_model(GRAPH("tags: 'serve' tags: 'gpu'", "Square"));
	opens_and_answers("", 16);
	opens_and_answers(", \"saved_model_tags\": \"serve,gpu\"", 16);
	is_refused(", \"saved_model_tags\": \"serve\"", "they have \"serve,gpu\"");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_signature_that_cannot_be_served_says_why),
		CASE(a_metagraph_is_chosen_by_its_tags),
		CASE(the_only_metagraph_must_have_tags_that_are_asked_for),
	};

	return cmocka_run_group_tests_name("text_model", tests, NULL, NULL);
}
