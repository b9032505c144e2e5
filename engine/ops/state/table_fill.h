#ifndef SP_ENGINE_OPS_TABLE_FILL_H
#define SP_ENGINE_OPS_TABLE_FILL_H

#include "engine/tensor/hash_table.h"
#include "engine/graph/op.h"
#include "engine/tensor/resource.h"

/* A new, empty table as `resource` declares it, in the version's arena; not yet the resource's. */
SP_MUST_CHECK sp_status sp_table_fill_begin(const sp_call *call, const sp_resource *resource,
					    sp_hash_table **out);

/*
 * Makes `table` the value of an immutable table's resource.  If it has a value already, that one
 * stays: a table of the same size is taken to be equal, as in TensorFlow; SP_INVALID when the size
 * differs.
 */
SP_MUST_CHECK sp_status sp_table_fill_end(const sp_call *call, sp_resource *resource,
					  sp_hash_table *table);

#endif
