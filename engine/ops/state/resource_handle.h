#ifndef SP_ENGINE_OPS_HANDLE_H
#define SP_ENGINE_OPS_HANDLE_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"

/* The container and the name of a resource: `shared_name` or, if that is empty, the node's name. */
SP_MUST_CHECK sp_status sp_resource_handle__name(const sp_prepare *prepare, sp_bytes *container,
						 const char **name, sp_error *err);

/* A handle: one output, no inputs.  `dtype`, `key_dtype` and `shape` as sp_resources_declare(). */
SP_MUST_CHECK sp_status sp_resource_handle__prepare(sp_prepare *prepare, sp_resource_kind kind,
						    sp_dtype dtype, sp_dtype key_dtype,
						    const sp_partial_shape *shape, sp_error *err);

/* Runs any handle whose state begins with the index of its declaration. */
sp_status sp_resource_handle__run(const sp_call *call);

/* The output of an operator that tells whether the resource of a handle has a value. */
SP_MUST_CHECK sp_status sp_resource_handle__answer(const sp_call *call, bool is_initialized);

#endif
