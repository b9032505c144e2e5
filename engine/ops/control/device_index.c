#include "engine/graph/op.h"

/*
 * DeviceIndex: the index of the CPU in a list of devices, or the length of the list when it is
 * missing. A Case that depends on it is resolved at import (engine/import/import_calls.c).
 */
static sp_status prepare_index(sp_prepare *prepare, sp_error *err)
{
	int32_t *index = sp_prepare_state(prepare, sizeof(*index));
	const sp_attr *names;

	SP_NEED_MEMORY(index, err, "DeviceIndex");
	SP_TRY(sp_prepare_types(prepare, "-> int32", err));
	SP_TRY(sp_node_attr_list(prepare->node, "device_names", SP_ATTR_BYTES, &names, err));
	if (names->count > INT32_MAX)
		return sp_error_set(err, SP_INVALID, "%zu devices", names->count);
	while ((size_t)*index < names->count &&
	       !sp_bytes_equal_text(names->bytes_list[*index], "CPU"))
		++*index;
	return SP_OK;
}

static sp_status run_index(const sp_call *call)
{
	*call->out[0] = (sp_tensor){.dtype = SP_INT32, .count = 1, .data = (void *)call->state};
	return SP_OK;
}

SP_DEFINE_OP(DeviceIndex, NULL, 0, prepare_index, run_index);
