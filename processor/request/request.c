#include "processor/request/request.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "processor/request/predict_fields.h"

/* Copies an input to its other aliases, and fills in the signature's defaults. */
static void complete(const sp_endpoint *endpoint, sp_tensor *inputs)
{
	const sp_tensor_info *infos = endpoint->signature.inputs;

	for (size_t i = 0; i < endpoint->signature.input_count; i++) {
		if (endpoint->canonical_inputs[i] != i)
			inputs[i] = inputs[endpoint->canonical_inputs[i]];
		if (!sp_tensor_is_set(&inputs[i]) && infos[i].default_value != NULL)
			inputs[i] = *infos[i].default_value;
	}
}

sp_status sp_request_run(const sp_request_target *target, sp_predict_request *request,
			 sp_error *err)
{
	const sp_endpoint *endpoint = target->endpoint;
	size_t count = endpoint->signature.output_count;
	sp_workspace *workspace = sp_session_workspace(target->session);
	bool *wanted = sp_workspace_bytes(workspace, count, sizeof(*wanted));
	const sp_tensor **fetches = sp_workspace_bytes(workspace, count, sizeof(*fetches));
	sp_run run = {.snapshot = target->snapshot,
		      .entry = endpoint->entry,
		      .feeds = request->inputs,
		      .wanted = wanted,
		      .deadline_ns = target->limits.deadline_ns,
		      .fresh = target->fresh,
		      .stop = target->limits.cancelled,
		      .trace = target->trace,
		      .rehearsal = target->rehearsal};

	if (endpoint->refused != NULL)
		return sp_error_set(err, endpoint->refused->status,
				    "signature '%s' cannot be served: %s", endpoint->signature.name,
				    endpoint->refused->text);
	if (wanted == NULL || fetches == NULL)
		return sp_predict__no_memory(err);
	if (run.deadline_ns == 0 && endpoint->timeout_ms != 0)
		run.deadline_ns = sp_clock_now_ns() + endpoint->timeout_ms * 1000000;
	memset(wanted, 0, count * sizeof(*wanted));
	for (size_t i = 0; i < request->output_count; i++)
		wanted[request->outputs[i].index] = true;
	complete(endpoint, request->inputs);
	if (target->split.splitter != NULL && endpoint->splits)
		SP_TRY(sp_split_run(&target->split, target->session, endpoint, &run, fetches, err));
	else
		SP_TRY(sp_session_run(target->session, &run, fetches, err));
	for (size_t i = 0; i < request->output_count; i++)
		request->outputs[i].tensor = fetches[request->outputs[i].index];
	return SP_OK;
}

sp_status sp_request_answer(const sp_request_target *target, sp_bytes message, void **out,
			    size_t *out_size, sp_error *err)
{
	sp_predict_request request;

	SP_TRY(sp_predict_request_decode(&request, target->endpoint, message,
					 sp_session_workspace(target->session), err));
	SP_TRY(sp_request_run(target, &request, err));
	return sp_predict_response_encode(out, out_size, request.outputs, request.output_count,
					  err);
}

/* --------------------------------------------------------------- typed inputs */

static sp_status check_view(const sp_named_tensor *input, sp_error *err)
{
	const sp_tensor *tensor = &input->tensor;
	char text[SP_SHAPE_TEXT_SIZE];
	size_t count;

	if (sp_dtype_size(tensor->dtype) == 0 || tensor->dtype == SP_RESOURCE)
		return sp_error_set(err, SP_UNSUPPORTED, "input '%s' has dtype %d (%s)",
				    input->name, (int)tensor->dtype, sp_dtype_name(tensor->dtype));
	if (tensor->shape.rank < 0 || tensor->shape.rank > SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED, "input '%s' has rank %d, not 0 to %d",
				    input->name, (int)tensor->shape.rank, SP_MAX_RANK);
	for (int d = 0; d < tensor->shape.rank; d++)
		if (tensor->shape.dims[d] < 0)
			return sp_error_set(err, SP_INVALID,
					    "input '%s' has a dimension of %" PRId64, input->name,
					    tensor->shape.dims[d]);
	if (!sp_shape_count(&tensor->shape, &count))
		return sp_error_set(err, SP_INVALID, "input '%s' has a shape too large: %s",
				    input->name, sp_shape_text(&tensor->shape, text));
	if (count != tensor->count)
		return sp_error_set(
			err, SP_INVALID, "input '%s' has %zu elements, but shape %s needs %zu",
			input->name, tensor->count, sp_shape_text(&tensor->shape, text), count);
	if (count != 0 && tensor->data == NULL)
		return sp_error_set(err, SP_INVALID, "input '%s' has no data", input->name);
	return SP_OK;
}

static sp_status check_texts(const char *name, const sp_tensor *tensor, sp_error *err)
{
	const sp_bytes *texts = sp_tensor_strings(tensor);

	for (size_t i = 0; i < tensor->count; i++)
		if (texts[i].data == NULL && texts[i].size != 0)
			return sp_error_set(err, SP_INVALID, "input '%s': string %zu has no data",
					    name, i);
	return SP_OK;
}

/*
 * Copies to the workspace, which is aligned and has a tail.  Of strings only the views are copied.
 */
static sp_status copy_view(sp_tensor *out, const sp_named_tensor *input, sp_workspace *workspace,
			   sp_error *err)
{
	const sp_tensor *view = &input->tensor;
	unsigned char *flags;

	SP_TRY(check_view(input, err));
	SP_TRY(sp_workspace_tensor(workspace, out, view->dtype, &view->shape, err));
	if (view->count != 0)
		memcpy(out->data, view->data, view->count * sp_dtype_size(view->dtype));
	if (view->dtype == SP_STRING)
		return check_texts(input->name, out, err);
	if (view->dtype == SP_BOOL) {
		flags = out->data;
		for (size_t i = 0; i < out->count; i++)
			flags[i] = flags[i] != 0;
	}
	return SP_OK;
}

static sp_status take_inputs(sp_predict_request *request, const sp_request_target *target,
			     const sp_typed_request *typed, sp_error *err)
{
	sp_workspace *workspace = sp_session_workspace(target->session);
	size_t index;

	for (size_t i = 0; i < typed->input_count; i++) {
		const sp_named_tensor *input = &typed->inputs[i];

		if (input->name == NULL)
			return sp_error_set(err, SP_INVALID, "input %zu has no name", i);
		SP_TRY(sp_endpoint_find_input(target->endpoint, sp_bytes_of(input->name), &index,
					      err));
		if (sp_tensor_is_set(&request->inputs[index]))
			return sp_error_set(err, SP_INVALID, "input '%s' is given twice",
					    input->name);
		SP_TRY(copy_view(&request->inputs[index], input, workspace, err));
	}
	return SP_OK;
}

/* -------------------------------------------------------------- typed outputs */

static sp_status take_outputs(sp_predict_request *request, const sp_request_target *target,
			      const sp_typed_request *typed, sp_error *err)
{
	sp_spelling spelling;

	if (typed->output_count == 0) /* all outputs: the decoder's default */
		return SP_OK;
	request->outputs = sp_workspace_bytes(sp_session_workspace(target->session),
					      typed->output_count, sizeof(*request->outputs));
	SP_NEED_MEMORY(request->outputs, err, "%zu outputs", typed->output_count);
	request->output_count = typed->output_count;
	for (size_t i = 0; i < typed->output_count; i++) {
		if (typed->outputs[i] == NULL)
			return sp_error_set(err, SP_INVALID, "output %zu has no name", i);
		request->outputs[i] = (sp_predict_output){.name = sp_bytes_of(typed->outputs[i])};
		SP_TRY(sp_endpoint_find_output(target->endpoint, request->outputs[i].name,
					       &request->outputs[i].index, &spelling, err));
	}
	return SP_OK;
}

static sp_status copy_answer(sp_typed_answer *out, const sp_predict_request *request,
			     sp_arena *arena, sp_error *err)
{
	out->count = request->output_count;
	out->outputs = sp_arena_array(arena, out->count, sizeof(*out->outputs));
	SP_NEED_MEMORY(out->outputs, err, "%zu outputs", out->count);
	for (size_t i = 0; i < out->count; i++) {
		out->outputs[i].name = sp_arena_text(arena, request->outputs[i].name);
		SP_NEED_MEMORY(out->outputs[i].name, err, "a name");
		if (sp_dtype_size(request->outputs[i].tensor->dtype) == 0)
			return sp_error_set(err, SP_INVALID,
					    "output '%s' is %s, which an answer cannot carry",
					    out->outputs[i].name,
					    sp_dtype_name(request->outputs[i].tensor->dtype));
		SP_TRY(sp_tensor_copy(&out->outputs[i].tensor, arena, request->outputs[i].tensor,
				      err));
	}
	return SP_OK;
}

sp_status sp_request_run_typed(const sp_request_target *target, const sp_typed_request *typed,
			       sp_arena *arena, sp_typed_answer *out, sp_error *err)
{
	sp_predict_request request;

	/* An empty message requests all outputs and gives no inputs. */
	SP_TRY(sp_predict_request_decode(&request, target->endpoint, (sp_bytes){NULL, 0},
					 sp_session_workspace(target->session), err));
	SP_TRY(take_inputs(&request, target, typed, err));
	SP_TRY(take_outputs(&request, target, typed, err));
	SP_TRY(sp_request_run(target, &request, err));
	return copy_answer(out, &request, arena, err);
}
