#ifndef SP_ENGINE_OPS_EMBEDDING_H
#define SP_ENGINE_OPS_EMBEDDING_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"
#include "storage/table/table.h"

/* What the operators on EmbeddingVariables have in common. */

/*
 * While a graph is prepared: the embedding that handle `input` leads to; NULL where only a
 * request can tell, as through a Switch.  SP_INVALID when it leads to something else.
 */
SP_MUST_CHECK sp_status sp_embedding__declared(const sp_prepare *prepare, size_t input,
					       const sp_resource **out, sp_error *err);

/* SP_INVALID unless keys of that embedding are of `dtype`. */
SP_MUST_CHECK sp_status sp_embedding__check_keys(const sp_resource *resource, sp_dtype dtype,
						 sp_error *err);

/*
 * SP_INVALID when `input` is a constant that is no rows of `dim` elements, as default values must
 * be; whether they are as many as keys, only a request can tell.  0: the width is not known.
 */
SP_MUST_CHECK sp_status sp_embedding__check_defaults(const sp_prepare *prepare, size_t input,
						     size_t dim, sp_error *err);

/* The embedding that handle `input` leads to; its table is set.  SP_INVALID else. */
SP_MUST_CHECK sp_status sp_embedding__find(const sp_call *call, size_t input, sp_resource **out);

/*
 * The keys in `input` as int64: its own bytes, or a widened copy among the
 * request's bytes.  SP_INVALID when they are not of the embedding's type.
 */
SP_MUST_CHECK sp_status sp_embedding__keys(const sp_call *call, size_t input,
					   const sp_resource *resource, const int64_t **out);

/* sp_lookup_run() with its scratch among the request's bytes. */
SP_MUST_CHECK sp_status sp_embedding__look_up(const sp_call *call, const sp_lookup *lookups,
					      size_t count);

#endif
