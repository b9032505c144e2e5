#ifndef SP_ENGINE_OPS_TABLE_KEYS_H
#define SP_ENGINE_OPS_TABLE_KEYS_H

#include "engine/graph/op.h"
#include "engine/tensor/resource.h"

/*
 * The keys of a lookup table in the form that the table stores.
 *
 * A MutableDenseHashTable may have vectors as keys (resource->key_width elements each, along the
 * last dimension).  The table stores such a key as one string: the bytes of its numbers, or for
 * each string its size in eight bytes and then its bytes.
 */

/* The table's key type: SP_STRING for vectors. */
sp_dtype sp_table_keys_dtype(const sp_resource *resource);

/*
 * Converts `keys`, which have the table's element type, to the stored form: *out is `keys` itself,
 * or a vector of strings in the request's memory.  SP_INVALID when the last dimension is not that
 * of a key.
 */
SP_MUST_CHECK sp_status sp_table_keys_pack(const sp_call *call, const sp_resource *resource,
					   const sp_tensor *keys, sp_tensor *out);

/* Converts stored strings back to vector keys; `to` has `width` elements for each. */
void sp_table_keys_unpack(const sp_tensor *held, size_t width, sp_tensor *to);

/* Copies one key in the stored form to `arena`, for the empty and the deleted key. */
SP_MUST_CHECK sp_status sp_table_keys_copy(const sp_tensor *key, sp_arena *arena,
					   const sp_tensor **out, sp_error *err);

/* Whether element i of `a` equals element k of `b`; both are in the stored form. */
bool sp_table_keys_equal(const sp_tensor *a, size_t i, const sp_tensor *b, size_t k);

/* Whether key i is the empty or the deleted key of a dense table. */
bool sp_table_keys_is_reserved(const sp_resource *resource, const sp_tensor *held, size_t i);

#endif
