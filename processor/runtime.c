#include "processor/runtime.h"

#include <string.h>

#include "base/alloc.h"

/* It outlives the model. */
static sp_status copy_refusal(sp_runtime *runtime, size_t i, const sp_error *why, sp_error *err)
{
	sp_error *copy;

	if (why == NULL)
		return SP_OK;
	copy = sp_arena_alloc(runtime->arena, sizeof(*copy));
	if (copy == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a signature");
	*copy = *why;
	runtime->endpoints[i].refused = copy;
	return SP_OK;
}

static sp_status make_endpoints(sp_runtime *runtime, const sp_model *model, int64_t timeout_ms,
				sp_error *err)
{
	size_t count = sp_model_signature_count(model);

	runtime->arena = sp_arena_create(16 << 10);
	if (runtime->arena != NULL)
		runtime->endpoints = sp_arena_array(runtime->arena, count,
						    sizeof(*runtime->endpoints));
	if (runtime->endpoints == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu signatures", count);
	for (size_t i = 0; i < count; i++) {
		SP_TRY(sp_endpoint_init(&runtime->endpoints[i], sp_model_signature(model, i), i,
					runtime->arena, err));
		runtime->endpoints[i].timeout_ms = timeout_ms;
		SP_TRY(copy_refusal(runtime, i, sp_model_signature_error(model, i), err));
	}
	runtime->endpoint_count = count;
	runtime->configured = &runtime->endpoints[sp_model_default_signature(model)];
	return SP_OK;
}

sp_status sp_runtime_open(sp_runtime **out, const sp_config *config, sp_model *model, sp_error *err)
{
	sp_runtime *runtime = sp_alloc_zero(1, sizeof(*runtime));
	sp_status status;

	if (runtime == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a model");
	status = make_endpoints(runtime, model, config->request_timeout_ms, err);
	if (status == SP_OK)
		status = sp_session_set_create(&runtime->sessions, sp_model_program(model),
					       (size_t)config->session_num + 1,
					       (size_t)config->session_workspace_bytes, err);
	if (status != SP_OK) {
		sp_runtime_close(runtime);
		return status;
	}
	runtime->model = model;
	*out = runtime;
	return SP_OK;
}

void sp_runtime_strip(sp_runtime *runtime)
{
	sp_session_set_destroy(runtime->sessions);
	sp_model_destroy(runtime->model);
	runtime->sessions = NULL;
	runtime->model = NULL;
}

void sp_runtime_close(sp_runtime *runtime)
{
	if (runtime == NULL)
		return;
	sp_runtime_strip(runtime);
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

/* What a client sees: names and types.  Shapes may differ where one knows more of them. */
static bool same_infos(const sp_tensor_info *a, size_t a_count, const sp_tensor_info *b,
		       size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (strcmp(a[i].alias, b[i].alias) != 0 || a[i].dtype != b[i].dtype)
			return false;
	return true;
}

static bool same_signature(const sp_signature *a, const sp_signature *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->method, b->method) == 0 &&
	       same_infos(a->inputs, a->input_count, b->inputs, b->input_count) &&
	       same_infos(a->outputs, a->output_count, b->outputs, b->output_count);
}

sp_status sp_runtime_compare(const sp_runtime *a, const sp_runtime *b, sp_error *err)
{
	if (a->endpoint_count != b->endpoint_count)
		return sp_error_set(err, SP_INVALID, "it has %zu signatures, not %zu as before",
				    b->endpoint_count, a->endpoint_count);
	for (size_t i = 0; i < a->endpoint_count; i++)
		if (!same_signature(&a->endpoints[i].signature, &b->endpoints[i].signature))
			return sp_error_set(err, SP_INVALID,
					    "its signature '%s' has other inputs or outputs than "
					    "before",
					    b->endpoints[i].signature.name);
	return SP_OK;
}
