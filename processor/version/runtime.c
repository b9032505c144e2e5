#include "processor/version/runtime.h"

#include <string.h>

#include "base/alloc.h"

static const sp_public_tensor *const *list_tensors(const sp_tensor_info *infos, size_t count,
						   sp_arena *arena)
{
	const sp_public_tensor **list = sp_arena_array(arena, count, sizeof(*list));
	sp_public_tensor *items = sp_arena_array(arena, count, sizeof(*items));

	if (list == NULL || items == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		items[i] = (sp_public_tensor){.alias = infos[i].alias,
					      .tensor_name = infos[i].tensor_name,
					      .dtype = (int)infos[i].dtype,
					      .rank = infos[i].shape.rank,
					      .dims = infos[i].shape.dims};
		list[i] = &items[i];
	}
	return list;
}

static const sp_public_signature *list_signatures(const sp_endpoint *endpoints, size_t count,
						  sp_arena *arena)
{
	sp_public_signature *out = sp_arena_array(arena, count, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		const sp_signature *from = &endpoints[i].signature;

		out[i] = (sp_public_signature){
			.name = from->name,
			.method = from->method,
			.inputs = list_tensors(from->inputs, from->input_count, arena),
			.input_count = from->input_count,
			.outputs = list_tensors(from->outputs, from->output_count, arena),
			.output_count = from->output_count};
		if (out[i].inputs == NULL || out[i].outputs == NULL)
			return NULL;
	}
	return out;
}

static sp_status make_endpoints(sp_runtime *runtime, const sp_model *model, int64_t timeout_ms,
				sp_error *err)
{
	size_t count = sp_model_signature_count(model);

	runtime->arena = sp_arena_create(16 << 10);
	if (runtime->arena != NULL)
		runtime->endpoints = sp_arena_array(runtime->arena, count,
						    sizeof(*runtime->endpoints));
	SP_NEED_MEMORY(runtime->endpoints, err, "%zu signatures", count);
	for (size_t i = 0; i < count; i++) {
		SP_TRY(sp_endpoint_init(&runtime->endpoints[i], sp_model_signature(model, i), i,
					runtime->arena, err));
		runtime->endpoints[i].timeout_ms = timeout_ms;
		runtime->endpoints[i].refused = sp_model_signature_error(model, i);
	}
	runtime->endpoint_count = count;
	runtime->configured = &runtime->endpoints[sp_model_default_signature(model)];
	runtime->public_signatures = list_signatures(runtime->endpoints, count, runtime->arena);
	return runtime->public_signatures != NULL
		       ? SP_OK
		       : sp_error_set(err, SP_NO_MEMORY, "no memory for %zu signatures", count);
}

sp_status sp_runtime_open(sp_runtime **out, const sp_config *config, sp_model *model, sp_error *err)
{
	sp_runtime *runtime = sp_alloc_zero(1, sizeof(*runtime));
	sp_status status;

	SP_NEED_MEMORY(runtime, err, "a model");
	status = make_endpoints(runtime, model, config->request_timeout_ms, err);
	if (status == SP_OK)
		status = sp_session_set_create(&runtime->sessions, sp_model_program(model),
					       (size_t)config->session_num + 1,
					       (size_t)config->session_workspace_bytes,
					       config->homes, err);
	if (status != SP_OK) {
		sp_runtime_close(runtime);
		return status;
	}
	runtime->model = model;
	*out = runtime;
	return SP_OK;
}

void sp_runtime_close(sp_runtime *runtime)
{
	if (runtime == NULL)
		return;
	sp_session_set_destroy(runtime->sessions);
	sp_model_destroy(runtime->model);
	sp_arena_destroy(runtime->arena);
	sp_free(runtime);
}

const sp_endpoint *sp_runtime_endpoint(const sp_runtime *runtime, const char *signature)
{
	if (signature == NULL)
		return runtime->configured;
	for (size_t i = 0; i < runtime->endpoint_count; i++)
		if (strcmp(runtime->endpoints[i].signature.name, signature) == 0)
			return &runtime->endpoints[i];
	return NULL;
}
