#include "processor/request/request.h"

#include <string.h>

#include "base/clock.h"

static sp_status out_of_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY,
			    "the request needs more memory than session_workspace_bytes allows");
}

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
		      .rehearsal = target->rehearsal};

	if (endpoint->refused != NULL)
		return sp_error_set(err, endpoint->refused->status,
				    "signature '%s' cannot be served: %s", endpoint->signature.name,
				    endpoint->refused->text);
	if (wanted == NULL || fetches == NULL)
		return out_of_memory(err);
	run.deadline_ns = target->deadline_ns;
	if (run.deadline_ns == 0 && endpoint->timeout_ms != 0)
		run.deadline_ns = sp_clock_now_ns() + endpoint->timeout_ms * 1000000;
	memset(wanted, 0, count * sizeof(*wanted));
	for (size_t i = 0; i < request->output_count; i++)
		wanted[request->outputs[i].index] = true;
	complete(endpoint, request->inputs);
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
