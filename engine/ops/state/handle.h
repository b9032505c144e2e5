#ifndef SP_ENGINE_OPS_HANDLE_H
#define SP_ENGINE_OPS_HANDLE_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"

/*
 * Operators that are handles of resources without element types: one output, no inputs, known
 * by `shared_name`, or the node's name where that is empty, in `container`.
 */
SP_MUST_CHECK sp_status sp_handle__prepare(sp_prepare *prepare, sp_resource_kind kind,
					   sp_error *err);
sp_status sp_handle__run(const sp_call *call);

/* An operator that says whether what a handle leads to has a value. */
SP_MUST_CHECK sp_status sp_handle__prepare_is_initialized(sp_prepare *prepare, sp_error *err);

#endif
