#include <inttypes.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/handle.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/thread_pool.h"

struct serving_processor_result {
	sp_arena *arena; /* holds everything, this struct too */
	size_t count;
	serving_processor_tensor *tensors;
};

static sp_status take_input(sp_named_tensor *out, const serving_processor_tensor *input,
			    sp_error *err)
{
	const char *name = input->name != NULL ? input->name : "(no name)";

	if (input->rank < 0 || input->rank > SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED, "input '%s' has rank %d, not 0 to %d",
				    name, input->rank, SP_MAX_RANK);
	if (input->rank > 0 && input->dims == NULL)
		return sp_error_set(err, SP_INVALID, "input '%s' has no dims", name);
	*out = (sp_named_tensor){.name = input->name,
				 .tensor = {.dtype = (sp_dtype)input->dtype,
					    .shape.rank = input->rank,
					    .count = input->count,
					    .data = (void *)(uintptr_t)input->data}};
	for (int d = 0; d < input->rank; d++)
		out->tensor.shape.dims[d] = input->dims[d];
	return SP_OK;
}

static void give_tensor(serving_processor_tensor *out, const sp_named_tensor *output)
{
	*out = (serving_processor_tensor){.name = output->name,
					  .dtype = (int)output->tensor.dtype,
					  .rank = output->tensor.shape.rank,
					  .dims = output->tensor.shape.dims,
					  .count = output->tensor.count,
					  .data = output->tensor.data};
}

/* What a caller asks for. */
typedef struct call {
	sp_processor *processor; /* NULL: none was given */
	const sp_version *held;  /* NULL: the live version answers */
	const char *signature;
	const serving_processor_tensor *inputs;
	sp_typed_request request; /* without its inputs */
	sp_request_limits limits;
} call;

static sp_status run(const call *c, serving_processor_result *result, sp_error *err)
{
	sp_arena *arena = result->arena;
	sp_typed_request typed = c->request;
	sp_named_tensor *views = sp_arena_array(arena, typed.input_count, sizeof(*views));
	sp_typed_answer answer;

	SP_NEED_MEMORY(views, err, "%zu inputs", typed.input_count);
	for (size_t i = 0; i < typed.input_count; i++)
		SP_TRY(take_input(&views[i], &c->inputs[i], err));
	typed.inputs = views;
	SP_TRY(sp_processor_run(c->processor, c->held, c->signature, &typed, &c->limits, arena,
				&answer, err));
	result->tensors = sp_arena_array(arena, answer.count, sizeof(*result->tensors));
	SP_NEED_MEMORY(result->tensors, err, "%zu outputs", answer.count);
	for (size_t i = 0; i < answer.count; i++)
		give_tensor(&result->tensors[i], &answer.outputs[i]);
	result->count = answer.count;
	return SP_OK;
}

/* Enough for a small answer; malloc() keeps a block of up to 1,032 bytes for the next one. */
enum { RESULT_BYTES = 896 };

static sp_status make_result(serving_processor_result **out, sp_error *err)
{
	sp_arena *arena = sp_arena_create(RESULT_BYTES);
	serving_processor_result *result = arena != NULL ? sp_arena_zeros(arena, 1, sizeof(*result))
							 : NULL;

	if (result == NULL) {
		sp_arena_destroy(arena);
		return sp_no_memory(err, "a result");
	}
	result->arena = arena;
	*out = result;
	return SP_OK;
}

/* The engine fills in the caller's list, which has the form of its own. */
#define SAME_PLACE(type, field, own_type, own_field) \
	_Static_assert(offsetof(type, field) == offsetof(own_type, own_field), "the same form")
SAME_PLACE(serving_processor_step, node, sp_step_time, node);
SAME_PLACE(serving_processor_step, op, sp_step_time, op);
SAME_PLACE(serving_processor_step, start_ns, sp_step_time, start_ns);
SAME_PLACE(serving_processor_step, end_ns, sp_step_time, end_ns);
SAME_PLACE(serving_processor_steps, items, sp_run_trace, steps);
SAME_PLACE(serving_processor_steps, capacity, sp_run_trace, capacity);
SAME_PLACE(serving_processor_steps, count, sp_run_trace, count);
SAME_PLACE(serving_processor_steps, left_out, sp_run_trace, left_out);
_Static_assert(sizeof(serving_processor_step) == sizeof(sp_step_time), "the same form");

static sp_status take_steps(sp_request_limits *out, serving_processor_steps *steps, sp_error *err)
{
	if (steps == NULL)
		return SP_OK;
	if (steps->items == NULL && steps->capacity != 0)
		return sp_error_set(err, SP_INVALID, "there is no room for %zu steps",
				    steps->capacity);
	steps->count = steps->left_out = 0;
	out->trace = (sp_run_trace *)(void *)steps;
	return SP_OK;
}

/* Members that the caller's struct does not have are zero. */
static sp_status take_options(sp_request_limits *out, const serving_processor_run_options *options,
			      sp_error *err)
{
	serving_processor_run_options known = {0};

	*out = (sp_request_limits){0};
	if (options == NULL)
		return SP_OK;
	if (options->size < sizeof(options->size))
		return sp_error_set(err, SP_INVALID, "the options of the run have the size %zu",
				    options->size);
	if (options->size > sizeof(known))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the options of the run have %zu bytes; this library knows %zu",
				    options->size, sizeof(known));
	memcpy(&known, options, options->size);
	if (known.deadline_ns < 0)
		return sp_error_set(err, SP_INVALID, "the deadline %" PRId64 " is negative",
				    known.deadline_ns);
	out->deadline_ns = known.deadline_ns;
	out->cancelled = known.cancelled;
	return take_steps(out, known.steps, err);
}

/* Checks what is given, and makes the result that the answer will be in. */
static sp_status begin(call *c, const serving_processor_run_options *options,
		       serving_processor_result **made, sp_error *err)
{
	if (c->processor == NULL || (c->inputs == NULL && c->request.input_count != 0) ||
	    (c->request.outputs == NULL && c->request.output_count != 0))
		return sp_error_set(err, SP_INVALID, "model, inputs, outputs or result is NULL");
	SP_TRY(take_options(&c->limits, options, err));
	return make_result(made, err);
}

static const char *set_subject(const sp_processor *processor)
{
	return sp_log_set_subject(processor != NULL ? sp_processor_config(processor)->model_name
						    : NULL);
}

static serving_processor_code run_now(call *c, const serving_processor_run_options *options,
				      serving_processor_result **result,
				      serving_processor_error **error)
{
	const char *outer = set_subject(c->processor);
	serving_processor_result *made = NULL;
	sp_status status;
	sp_error reason;

	if (result == NULL)
		c->processor = NULL;
	status = begin(c, options, &made, &reason);
	if (status == SP_OK)
		status = run(c, made, &reason);
	sp_log_set_subject(outer);
	if (status != SP_OK) {
		serving_processor_result_free(made);
		return sp_api__return_error(&reason, error);
	}
	*result = made;
	return SERVING_PROCESSOR_OK;
}

static sp_processor *processor_of(void *model)
{
	return model != NULL ? ((const sp_handle *)model)->processor : NULL;
}

serving_processor_code serving_processor_run(void *model, const char *signature,
					     const serving_processor_tensor *inputs,
					     size_t input_count, const char *const *outputs,
					     size_t output_count, serving_processor_result **result,
					     serving_processor_error **error)
{
	call c = {.processor = processor_of(model),
		  .signature = signature,
		  .inputs = inputs,
		  .request = {.input_count = input_count,
			      .outputs = outputs,
			      .output_count = output_count}};

	return run_now(&c, NULL, result, error);
}

serving_processor_code serving_processor_handle_run(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, serving_processor_result **result, serving_processor_error **error)
{
	return serving_processor_handle_run_with(handle, signature, inputs, input_count, outputs,
						 output_count, NULL, result, error);
}

serving_processor_code serving_processor_handle_run_with(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_result **result, serving_processor_error **error)
{
	const sp_version *version = sp_api__version_of(handle);
	call c = {.processor = version != NULL ? sp_processor_of(version) : NULL,
		  .held = version,
		  .signature = signature,
		  .inputs = inputs,
		  .request = {.input_count = input_count,
			      .outputs = outputs,
			      .output_count = output_count}};

	return run_now(&c, options, result, error);
}

/* ------------------------------------------------------------------ messages */

/* The signature as JSON, a terminated block. */
static sp_status describe(void **out, size_t *size, const sp_version *version,
			  const char *signature, sp_error *err)
{
	const sp_endpoint *endpoint = sp_runtime_endpoint(version->runtime, signature);

	if (endpoint == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no signature '%s'",
				    signature);
	*out = sp_alloc_text(endpoint->json);
	*size = strlen(endpoint->json);
	return *out != NULL ? SP_OK : sp_no_memory(err, "the signature's description");
}

static sp_status answer_message(void **out, size_t *size, const sp_version *version,
				const char *signature, sp_bytes request,
				const serving_processor_run_options *options, sp_error *err)
{
	sp_request_limits limits;

	SP_TRY(take_options(&limits, options, err));
	return sp_processor_predict(sp_processor_of(version), version, signature, request, &limits,
				    out, size, err);
}

serving_processor_code serving_processor_handle_process(
	const serving_processor_handle *handle, const char *signature, const void *input_data,
	size_t input_size, const serving_processor_run_options *options, void **output_data,
	size_t *output_size, serving_processor_error **error)
{
	const sp_version *version = sp_api__version_of(handle);
	const char *outer = set_subject(version != NULL ? sp_processor_of(version) : NULL);
	sp_bytes request = {input_data, input_size};
	sp_status status;
	sp_error reason;

	if (version == NULL || output_data == NULL || output_size == NULL ||
	    (input_data == NULL && input_size != 0))
		status = sp_error_set(&reason, SP_INVALID, "handle, input or output is NULL");
	else if (input_size == 0)
		status = describe(output_data, output_size, version, signature, &reason);
	else
		status = answer_message(output_data, output_size, version, signature, request,
					options, &reason);
	sp_log_set_subject(outer);
	return status == SP_OK ? SERVING_PROCESSOR_OK : sp_api__return_error(&reason, error);
}

/* --------------------------------------------------------------------- later */

/* In the arena of its result. */
typedef struct submission {
	sp_thread_pool_job job;
	call call;
	serving_processor_result *result;
	serving_processor_done *done;
	void *context;
} submission;

static void finish(sp_thread_pool_job *job, bool cancelled)
{
	submission s = *(submission *)job;
	const char *outer = set_subject(s.call.processor);
	serving_processor_error *error = NULL;
	sp_status status;
	sp_error reason;

	if (cancelled)
		status = sp_error_set(&reason, SP_CANCELLED, "the model is being closed");
	else
		status = run(&s.call, s.result, &reason);
	sp_processor_release((sp_version *)s.call.held);
	if (status != SP_OK) {
		serving_processor_result_free(s.result);
		s.result = NULL;
		sp_api__return_error(&reason, &error);
	}
	sp_log_set_subject(outer);
	s.done(s.context, (serving_processor_code)status, s.result, error);
}

static sp_status submit(submission *s, const serving_processor_run_options *options, sp_error *err)
{
	submission *kept;
	sp_status status;

	if (s->done == NULL)
		return sp_error_set(err, SP_INVALID,
				    "there is no function to call when it is done");
	if (s->call.held != NULL && sp_processor_of(s->call.held) != s->call.processor)
		return sp_error_set(err, SP_INVALID, "the handle is on another model");
	SP_TRY(begin(&s->call, options, &s->result, err));
	status = sp_processor_limit(s->call.processor, &s->call.limits, err);
	kept = sp_arena_alloc(s->result->arena, sizeof(*kept));
	if (status == SP_OK && kept == NULL)
		status = sp_no_memory(err, "a request");
	if (status == SP_OK) {
		*kept = *s;
		if (s->call.held != NULL)
			sp_processor_hold((sp_version *)s->call.held);
		status = sp_processor_submit(s->call.processor, &kept->job, err);
		if (status != SP_OK)
			sp_processor_release((sp_version *)s->call.held);
	}
	if (status != SP_OK)
		serving_processor_result_free(s->result);
	return status;
}

serving_processor_code serving_processor_submit(
	void *model, const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_done *done, void *context, serving_processor_error **error)
{
	submission s = {.job = {finish},
			.call = {.processor = processor_of(model),
				 .held = sp_api__version_of(handle),
				 .signature = signature,
				 .inputs = inputs,
				 .request = {.input_count = input_count,
					     .outputs = outputs,
					     .output_count = output_count}},
			.done = done,
			.context = context};
	const char *outer = set_subject(s.call.processor);
	sp_error reason;
	sp_status status = submit(&s, options, &reason);

	sp_log_set_subject(outer);
	return status == SP_OK ? SERVING_PROCESSOR_OK : sp_api__return_error(&reason, error);
}

/* -------------------------------------------------------------------- results */

size_t serving_processor_result_count(const serving_processor_result *result)
{
	return result != NULL ? result->count : 0;
}

const serving_processor_tensor *serving_processor_result_tensor(
	const serving_processor_result *result, size_t i)
{
	return result != NULL && i < result->count ? &result->tensors[i] : NULL;
}

void serving_processor_result_free(serving_processor_result *result)
{
	if (result != NULL)
		sp_arena_destroy(result->arena);
}
