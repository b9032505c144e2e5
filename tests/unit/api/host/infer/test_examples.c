#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/infer/examples.h"
#include "base/clock.h"
#include "tests/support/fake_run.h"

/* The texts are those of TensorFlow Serving. */

static const int64_t any[] = {-1};
static const serving_processor_tensor_info infos[] = {
	{"inputs", "t:0", SERVING_PROCESSOR_STRING, 1, any},
	{"classes", "c:0", SERVING_PROCESSOR_STRING, 2, any},
	{"scores", "s:0", SERVING_PROCESSOR_FLOAT, 2, any},
	{"outputs", "o:0", SERVING_PROCESSOR_FLOAT, 2, any},
};
static const serving_processor_tensor_info *const input[] = {&infos[0]};
static const serving_processor_tensor_info *const classified[] = {&infos[1], &infos[2]};
static const serving_processor_tensor_info *const regressed[] = {&infos[3]};
static const serving_processor_signature classify = {
	"c", "tensorflow/serving/classify", input, 1, classified, 2};
static const serving_processor_signature regress = {
	"r", "tensorflow/serving/regress", input, 1, regressed, 1};

static const sp_bytes examples[] = {{"one", 3}, {"two", 3}};
static const int64_t column[] = {2, 1}, matrix[] = {2, 3}, row[] = {2};
static const serving_processor_bytes names[] = {{"a", 1}, {"b", 1}, {"c", 1},
						{"d", 1}, {"e", 1}, {"f", 1}};
static const float numbers[] = {1, 2, 3, 4, 5, 6};

static sp_model model;
static sp_served_model served;
static sp_servable servable = {.model = &model, .served = &served};
static const sp_infer_limits no_limits;

static void look(const serving_processor_tensor *inputs, size_t count)
{
	assert_int_equal(count, 1);
	assert_string_equal(inputs[0].name, "inputs");
	assert_int_equal(inputs[0].dtype, SERVING_PROCESSOR_STRING);
	assert_int_equal(inputs[0].rank, 1);
	assert_int_equal(inputs[0].count, 2);
	assert_ptr_equal(inputs[0].data, examples);
}

static sp_status run(sp_examples_result *result, const serving_processor_signature *signature,
		     sp_examples_method method, const serving_processor_tensor *outputs,
		     size_t count, sp_error *err)
{
	sp_fake_on_run = look;
	sp_fake_result = (struct serving_processor_result){outputs, count};
	return sp_examples_run(result, &servable, signature, method, examples, 2, &no_limits, err);
}

static void examples_are_classified(void **state)
{
	const serving_processor_tensor outputs[] = {
		{"classes", SERVING_PROCESSOR_STRING, 2, matrix, 6, names},
		{"scores", SERVING_PROCESSOR_FLOAT, 2, matrix, 6, numbers},
	};
	sp_examples_result result;
	sp_error err;

	(void)state;
	assert_ok(run(&result, &classify, SP_EXAMPLES_CLASSIFY, outputs, 2, &err), &err);
	assert_int_equal(result.example_count, 2);
	assert_int_equal(result.class_count, 3);
	assert_ptr_equal(result.classes, names);
	assert_ptr_equal(result.scores, numbers);
	sp_examples_result_fini(&result);
	assert_ok(run(&result, &classify, SP_EXAMPLES_CLASSIFY, outputs + 1, 1, &err), &err);
	assert_null(result.classes);
	assert_int_equal(result.class_count, 3);
	sp_examples_result_fini(&result);
	assert_int_equal(sp_fake_open, 0);
}

static void examples_are_regressed(void **state)
{
	serving_processor_tensor output = {"outputs", SERVING_PROCESSOR_FLOAT, 2, column, 2,
					   numbers};
	sp_examples_result result;
	sp_error err;

	(void)state;
	for (int rank = 1; rank <= 2; rank++) {
		output.rank = rank;
		output.dims = rank == 1 ? row : column;
		assert_ok(run(&result, &regress, SP_EXAMPLES_REGRESS, &output, 1, &err), &err);
		assert_int_equal(result.example_count, 2);
		assert_ptr_equal(result.scores, numbers);
		sp_examples_result_fini(&result);
	}
}

static void expect_checked(serving_processor_signature signature, sp_examples_method method,
			   sp_status status, const char *text)
{
	sp_error err;

	assert_int_equal(sp_examples_check(&signature, method, &err), status);
	assert_string_equal(err.text, text);
}

static void signatures_of_another_form_are_refused(void **state)
{
	serving_processor_signature changed = classify;

	(void)state;
	expect_checked(regress, SP_EXAMPLES_CLASSIFY, SP_INVALID,
		       "Expected classification signature method_name to be "
		       "tensorflow/serving/classify. Was: tensorflow/serving/regress");
	expect_checked(
		classify, SP_EXAMPLES_REGRESS, SP_INVALID,
		"Expected regression signature method_name to be tensorflow/serving/regress. "
		"Was: tensorflow/serving/classify");
	changed.output_count = 0;
	expect_checked(changed, SP_EXAMPLES_CLASSIFY, SP_INVALID,
		       "Expected one or two output Tensors, found 0");
	changed = classify;
	changed.input_count = 0;
	expect_checked(changed, SP_EXAMPLES_CLASSIFY, SP_INVALID, "Expected one input Tensor.");
	changed = classify;
	changed.inputs = regressed;
	expect_checked(changed, SP_EXAMPLES_CLASSIFY, SP_NOT_FOUND,
		       "No classification inputs found in SignatureDef: c");
	changed = classify;
	changed.outputs = regressed;
	changed.output_count = 1;
	expect_checked(changed, SP_EXAMPLES_CLASSIFY, SP_NOT_FOUND,
		       "Expected classification signature outputs to contain at least one of "
		       "\"classes\" or \"scores\". Signature was: c");
	changed = regress;
	changed.output_count = 2;
	expect_checked(changed, SP_EXAMPLES_REGRESS, SP_INVALID, "Expected one output Tensor.");
	changed = regress;
	changed.outputs = classified;
	expect_checked(changed, SP_EXAMPLES_REGRESS, SP_NOT_FOUND,
		       "No regression outputs found in SignatureDef: r");
	changed = regress;
	changed.inputs = classified;
	expect_checked(changed, SP_EXAMPLES_REGRESS, SP_NOT_FOUND,
		       "No regression inputs found in SignatureDef: r");
}

static void expect_output(const serving_processor_signature *signature, sp_examples_method method,
			  serving_processor_tensor tensor, const char *text)
{
	sp_examples_result result;
	sp_error err;

	assert_int_equal(run(&result, signature, method, &tensor, 1, &err), SP_INVALID);
	assert_string_equal(err.text, text);
	assert_int_equal(sp_fake_open, 0);
}

static void outputs_of_another_form_are_refused(void **state)
{
	static const int64_t three[] = {3, 2};
	serving_processor_tensor t = {"scores", SERVING_PROCESSOR_FLOAT, 1, row, 2, numbers};

	(void)state;
	expect_output(&classify, SP_EXAMPLES_CLASSIFY, t,
		      "Expected Tensor shape: [batch_size num_classes] but got [2]");
	t.rank = 2;
	t.dims = three;
	expect_output(&classify, SP_EXAMPLES_CLASSIFY, t,
		      "Expected scores output batch size of 2. Got: 3");
	t.dtype = SERVING_PROCESSOR_INT64;
	expect_output(&classify, SP_EXAMPLES_CLASSIFY, t,
		      "Expected scores Tensor of DT_FLOAT. Got: DT_INT64");
	t.name = "outputs";
	expect_output(&regress, SP_EXAMPLES_REGRESS, t,
		      "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] "
		      "but got [3,2]");
	t.rank = 1;
	expect_output(&regress, SP_EXAMPLES_REGRESS, t,
		      "Input batch size did not match output batch size: 2 vs. 3");
	t.dims = row;
	expect_output(&regress, SP_EXAMPLES_REGRESS, t,
		      "Expected output Tensor of DT_FLOAT.  Got: DT_INT64");
	t.name = "other";
	expect_output(&regress, SP_EXAMPLES_REGRESS, t, "Could not find output tensor 'outputs'");
}

static void classes_and_scores_must_match(void **state)
{
	const serving_processor_tensor outputs[] = {
		{"classes", SERVING_PROCESSOR_STRING, 2, column, 2, names},
		{"scores", SERVING_PROCESSOR_FLOAT, 2, matrix, 6, numbers},
	};
	sp_examples_result result;
	sp_error err;

	(void)state;
	assert_int_equal(run(&result, &classify, SP_EXAMPLES_CLASSIFY, outputs, 2, &err),
			 SP_INVALID);
	assert_string_equal(err.text, "Tensors class and score should match in dim_size(1). Got "
				      "1 vs. 3");
}

static void a_run_needs_examples_and_time(void **state)
{
	const sp_infer_limits late = {.deadline_ns = sp_clock_now_ns() - 1};
	const atomic_bool cancelled = true;
	const sp_infer_limits gone = {.cancelled = &cancelled};
	sp_examples_result result;
	sp_error err;

	(void)state;
	assert_int_equal(sp_examples_run(&result, &servable, &regress, SP_EXAMPLES_REGRESS,
					 examples, 0, &no_limits, &err),
			 SP_INVALID);
	assert_string_equal(err.text, "Input is empty.");
	assert_int_equal(sp_examples_run(&result, &servable, &regress, SP_EXAMPLES_REGRESS,
					 examples, 2, &late, &err),
			 SP_DEADLINE);
	assert_int_equal(sp_examples_run(&result, &servable, &regress, SP_EXAMPLES_REGRESS,
					 examples, 2, &gone, &err),
			 SP_CANCELLED);
	sp_fake_code = SERVING_PROCESSOR_BUSY;
	assert_int_equal(sp_examples_run(&result, &servable, &regress, SP_EXAMPLES_REGRESS,
					 examples, 2, &no_limits, &err),
			 SP_BUSY);
	sp_fake_code = SERVING_PROCESSOR_OK;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_are_classified),
		cmocka_unit_test(examples_are_regressed),
		cmocka_unit_test(signatures_of_another_form_are_refused),
		cmocka_unit_test(outputs_of_another_form_are_refused),
		cmocka_unit_test(classes_and_scores_must_match),
		cmocka_unit_test(a_run_needs_examples_and_time),
	};

	return cmocka_run_group_tests_name("examples", tests, NULL, NULL);
}
