#include "engine/ops/state/resource_handle.h"

sp_status sp_resource_handle__name(const sp_prepare *prepare, sp_bytes *container,
				   const char **name, sp_error *err)
{
	sp_bytes shared_name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "container", "", container, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "shared_name", "", &shared_name, err));
	*name = prepare->node->name;
	if (shared_name.size != 0)
		*name = sp_arena_text(prepare->arena, shared_name);
	return *name != NULL ? SP_OK : sp_error_set(err, SP_NO_MEMORY, "no memory for a handle");
}

sp_status sp_resource_handle__prepare(sp_prepare *prepare, sp_resource_kind kind, sp_dtype dtype,
				      sp_dtype key_dtype, const sp_partial_shape *shape,
				      sp_error *err)
{
	uint64_t *index = sp_prepare_state(prepare, sizeof(*index));
	sp_bytes container;
	const char *name;

	SP_NEED_MEMORY(index, err, "a handle");
	SP_TRY(sp_prepare_types(prepare, "-> resource", err));
	SP_TRY(sp_resource_handle__name(prepare, &container, &name, err));
	return sp_resources_declare(prepare->resources, kind, container, name, dtype, key_dtype,
				    shape, index, err);
}

sp_status sp_resource_handle__run(const sp_call *call)
{
	*call->out[0] = (sp_tensor){.dtype = SP_RESOURCE, .count = 1, .data = (void *)call->state};
	return SP_OK;
}

sp_status sp_resource_handle__answer(const sp_call *call, bool is_initialized)
{
	SP_TRY(sp_call_output_scalar(call, 0, SP_BOOL));
	*sp_tensor_bool(call->out[0]) = is_initialized;
	return SP_OK;
}
