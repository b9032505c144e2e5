#ifndef SP_ENGINE_OPS_EMBEDDING_H
#define SP_ENGINE_OPS_EMBEDDING_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"
#include "storage/table/table.h"

/* Helpers of the operators on EmbeddingVariables. */

/*
 * While a graph is prepared: the embedding of handle `input`, or NULL if it is known only per
 * request (through a Switch).  SP_INVALID when the handle is of another kind.
 */
SP_MUST_CHECK sp_status sp_embedding__declared(const sp_prepare *prepare, size_t input,
					       const sp_resource **out, sp_error *err);

/* SP_INVALID unless keys of that embedding are of `dtype`. */
SP_MUST_CHECK sp_status sp_embedding__check_keys(const sp_resource *resource, sp_dtype dtype,
						 sp_error *err);

/*
 * SP_INVALID when `input`, the default values, is a constant whose rows do not have `dim` elements
 * (0: the width is not known).  Their number is checked per request.
 */
SP_MUST_CHECK sp_status sp_embedding__check_defaults(const sp_prepare *prepare, size_t input,
						     size_t dim, sp_error *err);

/* The embedding of handle `input`, with its table set; SP_INVALID otherwise. */
SP_MUST_CHECK sp_status sp_embedding__find(const sp_call *call, size_t input, sp_resource **out);

/*
 * The keys in `input` as int64: its own bytes, or a widened copy in the request's memory.
 * SP_INVALID when they are not of the embedding's key type.
 */
SP_MUST_CHECK sp_status sp_embedding__keys(const sp_call *call, size_t input,
					   const sp_resource *resource, const int64_t **out);

/* sp_lookup_run() with scratch in the request's memory, for what the request may see. */
SP_MUST_CHECK sp_status sp_embedding__look_up(const sp_call *call, sp_lookup *lookups,
					      size_t count);

#endif
