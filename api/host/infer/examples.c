#include "api/host/infer/examples.h"

#include <string.h>

#include "api/host/infer/tensors.h"

#define INPUT   "inputs"
#define CLASSES "classes"
#define SCORES  "scores"
#define OUTPUT  "outputs"

_Static_assert(sizeof(sp_bytes) == sizeof(serving_processor_bytes),
	       "examples are passed as they are");

const char *sp_examples_method_name(sp_examples_method method)
{
	return method == SP_EXAMPLES_CLASSIFY ? "tensorflow/serving/classify"
					      : "tensorflow/serving/regress";
}

/* ---------------------------------------------------------------- signature */

static bool has(const serving_processor_tensor_info *const *infos, size_t count, const char *alias)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(infos[i]->alias, alias) == 0)
			return true;
	return false;
}

static bool has_output(const serving_processor_signature *signature, const char *alias)
{
	return has(signature->outputs, signature->output_count, alias);
}

static sp_status check_classify(const serving_processor_signature *signature, sp_error *err)
{
	if (signature->output_count != 1 && signature->output_count != 2)
		return sp_error_set(err, SP_INVALID,
				    "Expected one or two output Tensors, found %zu",
				    signature->output_count);
	if (!has(signature->inputs, signature->input_count, INPUT))
		return sp_error_set(err, SP_NOT_FOUND,
				    "No classification inputs found in SignatureDef: %s",
				    signature->name);
	if (!has_output(signature, CLASSES) && !has_output(signature, SCORES))
		return sp_error_set(err, SP_NOT_FOUND,
				    "Expected classification signature outputs to contain at least "
				    "one of \"classes\" or \"scores\". Signature was: %s",
				    signature->name);
	return SP_OK;
}

static sp_status check_regress(const serving_processor_signature *signature, sp_error *err)
{
	if (signature->output_count != 1)
		return sp_error_set(err, SP_INVALID, "Expected one output Tensor.");
	if (!has(signature->inputs, signature->input_count, INPUT))
		return sp_error_set(err, SP_NOT_FOUND,
				    "No regression inputs found in SignatureDef: %s",
				    signature->name);
	if (!has_output(signature, OUTPUT))
		return sp_error_set(err, SP_NOT_FOUND,
				    "No regression outputs found in SignatureDef: %s",
				    signature->name);
	return SP_OK;
}

sp_status sp_examples_check(const serving_processor_signature *signature, sp_examples_method method,
			    sp_error *err)
{
	const char *name = sp_examples_method_name(method);
	bool classify = method == SP_EXAMPLES_CLASSIFY;

	if (strcmp(signature->method, name) != 0)
		return sp_error_set(
			err, SP_INVALID, "Expected %s signature method_name to be %s. Was: %s",
			classify ? "classification" : "regression", name, signature->method);
	if (signature->input_count != 1)
		return sp_error_set(err, SP_INVALID, "Expected one input Tensor.");
	return classify ? check_classify(signature, err) : check_regress(signature, err);
}

/* ------------------------------------------------------------------ outputs */

static const serving_processor_tensor *find_tensor(const sp_infer_result *result, const char *alias)
{
	for (size_t i = 0; i < result->count; i++)
		if (strcmp(result->tensors[i].name, alias) == 0)
			return &result->tensors[i];
	return NULL;
}

static sp_status check_matrix(const serving_processor_tensor *tensor, int dtype, size_t examples,
			      sp_error *err)
{
	char text[SP_DIMS_TEXT];

	if (tensor->rank != 2)
		return sp_error_set(err, SP_INVALID,
				    "Expected Tensor shape: [batch_size num_classes] but got %s",
				    sp_dims_print(text, tensor->dims, tensor->rank));
	if (tensor->dtype != dtype)
		return sp_error_set(err, SP_INVALID, "Expected %s Tensor of %s. Got: %s",
				    tensor->name, serving_processor_dtype_name(dtype),
				    serving_processor_dtype_name(tensor->dtype));
	if (tensor->dims[0] != (int64_t)examples)
		return sp_error_set(err, SP_INVALID,
				    "Expected %s output batch size of %zu. Got: %lld", tensor->name,
				    examples, (long long)tensor->dims[0]);
	return SP_OK;
}

static sp_status take_classes(sp_examples_result *out, sp_error *err)
{
	const serving_processor_tensor *classes = find_tensor(&out->owner, CLASSES);
	const serving_processor_tensor *scores = find_tensor(&out->owner, SCORES);

	if (classes != NULL) {
		SP_TRY(check_matrix(classes, SERVING_PROCESSOR_STRING, out->example_count, err));
		out->classes = classes->data;
		out->class_count = (size_t)classes->dims[1];
	}
	if (scores != NULL) {
		SP_TRY(check_matrix(scores, SERVING_PROCESSOR_FLOAT, out->example_count, err));
		out->scores = scores->data;
		out->class_count = (size_t)scores->dims[1];
	}
	if (classes != NULL && scores != NULL && classes->dims[1] != scores->dims[1])
		return sp_error_set(err, SP_INVALID,
				    "Tensors class and score should match in dim_size(1). Got "
				    "%lld vs. %lld",
				    (long long)classes->dims[1], (long long)scores->dims[1]);
	return SP_OK;
}

static sp_status take_values(sp_examples_result *out, sp_error *err)
{
	const serving_processor_tensor *values = find_tensor(&out->owner, OUTPUT);
	char text[SP_DIMS_TEXT];

	if (values == NULL)
		return sp_error_set(err, SP_INVALID, "Could not find output tensor '%s'", OUTPUT);
	if (values->rank != 1 && !(values->rank == 2 && values->dims[1] == 1))
		return sp_error_set(err, SP_INVALID,
				    "Expected output Tensor shape to be either [batch_size] or "
				    "[batch_size, 1] but got %s",
				    sp_dims_print(text, values->dims, values->rank));
	if (values->dims[0] != (int64_t)out->example_count)
		return sp_error_set(err, SP_INVALID,
				    "Input batch size did not match output batch size: %zu vs. "
				    "%lld",
				    out->example_count, (long long)values->dims[0]);
	if (values->dtype != SERVING_PROCESSOR_FLOAT)
		return sp_error_set(err, SP_INVALID, "Expected output Tensor of DT_FLOAT.  Got: %s",
				    serving_processor_dtype_name(values->dtype));
	out->scores = values->data;
	return SP_OK;
}

/* --------------------------------------------------------------------- run */

sp_status sp_examples_run(sp_examples_result *out, const sp_servable *servable,
			  const serving_processor_signature *signature, sp_examples_method method,
			  const sp_bytes *examples, size_t count, const sp_infer_limits *limits,
			  sp_error *err)
{
	const int64_t dims[] = {(int64_t)count};
	serving_processor_tensor input = {.name = INPUT,
					  .dtype = SERVING_PROCESSOR_STRING,
					  .rank = 1,
					  .dims = dims,
					  .count = count,
					  .data = examples};
	sp_servable unsampled = *servable; /* the examples are logged, not the tensors */
	sp_infer_request request = {.signature = signature, .inputs = &input, .input_count = 1};
	sp_status status;

	memset(out, 0, sizeof(*out));
	out->method = method;
	out->example_count = count;
	SP_TRY(sp_examples_check(signature, method, err));
	if (count == 0)
		return sp_error_set(err, SP_INVALID, "Input is empty.");
	unsampled.sampling = NULL;
	SP_TRY(sp_infer_run(&unsampled, &request, limits, &out->owner, err));
	status = method == SP_EXAMPLES_CLASSIFY ? take_classes(out, err) : take_values(out, err);
	if (status != SP_OK)
		sp_examples_result_fini(out);
	else if (servable->sampling != NULL)
		servable->samples->offer(servable->samples->context, servable, &request,
					 &out->owner, out);
	return status;
}

void sp_examples_result_fini(sp_examples_result *result)
{
	sp_infer_result_fini(&result->owner);
	memset(result, 0, sizeof(*result));
}
