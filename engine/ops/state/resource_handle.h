#ifndef SP_ENGINE_OPS_RESOURCE_HANDLE_H
#define SP_ENGINE_OPS_RESOURCE_HANDLE_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"

/*
 * Handles of resources without element types: one output, no inputs, identified by `container` and
 * `shared_name` or, if that is empty, the node's name.
 */
SP_MUST_CHECK sp_status sp_resource_handle__prepare(sp_prepare *prepare, sp_resource_kind kind,
						    sp_error *err);
sp_status sp_resource_handle__run(const sp_call *call);

/* An operator that tells whether the resource of a handle has a value. */
SP_MUST_CHECK sp_status sp_resource_handle__prepare_is_initialized(sp_prepare *prepare,
								   sp_error *err);

#endif
