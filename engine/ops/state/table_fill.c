#include "engine/ops/state/table_fill.h"

#include "base/size.h"
#include "engine/ops/state/table_keys.h"

/* Operators that fill tables from tensors: initializers and checkpoint contents. */

sp_status sp_table_fill_begin(const sp_call *call, const sp_resource *resource, sp_hash_table **out)
{
	sp_hash_table_options options = {.key_dtype = sp_table_keys_dtype(resource),
					 .value_dtype = resource->dtype};

	options.value_shape.rank = resource->shape.rank;
	for (int i = 0; i < resource->shape.rank; i++)
		options.value_shape.dims[i] = resource->shape.dims[i];
	return sp_hash_table_create(out, call->resources->arena, &options, call->err);
}

sp_status sp_table_fill_end(const sp_call *call, sp_resource *resource, sp_hash_table *table)
{
	if (resource->hash_table == NULL)
		resource->hash_table = table;
	else if (sp_hash_table_size(resource->hash_table) != sp_hash_table_size(table))
		return sp_call_invalid(call,
				       "table '%s' is initialized a second time: %zu keys, not %zu",
				       resource->name, sp_hash_table_size(table),
				       sp_hash_table_size(resource->hash_table));
	return SP_OK;
}

static sp_status check_vectors(const sp_call *call)
{
	const sp_tensor *keys = call->in[1], *values = call->in[2];

	if (keys->shape.rank != 1 || values->shape.rank != 1)
		return sp_call_invalid(call,
				       "keys and values must be vectors, not of rank %d and %d",
				       keys->shape.rank, values->shape.rank);
	if (keys->count != values->count)
		return sp_call_invalid(call, "%zu keys and %zu values", keys->count, values->count);
	if (keys->count == 0)
		return sp_call_invalid(call, "keys and values are empty");
	return SP_OK;
}

static sp_status initialize(const sp_call *call, sp_resource *resource)
{
	sp_hash_table *table;

	SP_TRY(check_vectors(call));
	SP_TRY(sp_table_fill_begin(call, resource, &table));
	SP_TRY(sp_hash_table_reserve(table, call->in[1]->count, call->err));
	SP_TRY(sp_hash_table_insert(table, call->in[1], call->in[2], 0, call->err));
	return sp_table_fill_end(call, resource, table);
}

/*
 * Inserts keys one by one, skipping reserved ones: a checkpoint holds all buckets of a dense table,
 * and free buckets have the empty or the deleted key.
 */
static sp_status insert_unreserved(const sp_call *call, const sp_resource *resource,
				   const sp_tensor *keys, sp_hash_table *table)
{
	const sp_hash_table_options *options = sp_hash_table_options_of(table);
	sp_tensor key = {.dtype = keys->dtype, .count = 1};
	sp_tensor value = {.dtype = call->in[2]->dtype};
	size_t key_size = sp_dtype_size(key.dtype), value_size, width, wanted;

	if (!sp_shape_count(&options->value_shape, &width) ||
	    !sp_size_mul(&wanted, keys->count, width) || wanted != call->in[2]->count)
		return sp_call_invalid(call, "%zu keys do not match %zu elements of values",
				       keys->count, call->in[2]->count);
	value.count = width;
	value_size = width * sp_dtype_size(value.dtype);
	for (size_t i = 0; i < keys->count; i++) {
		key.data = (char *)keys->data + i * key_size;
		value.data = (char *)call->in[2]->data + i * value_size;
		if (!sp_table_keys_is_reserved(resource, &key, 0))
			SP_TRY(sp_hash_table_insert(table, &key, &value, SP_HASH_TABLE_REPLACE,
						    call->err));
	}
	return SP_OK;
}

/* Fills a new table (a checkpoint replaces all keys) or the existing one. */
static sp_status fill_mutable(const sp_call *call, sp_resource *resource, bool anew)
{
	sp_hash_table *table = resource->hash_table;
	sp_tensor keys;
	size_t count;

	if (call->in[1]->dtype != resource->key_dtype || call->in[2]->dtype != resource->dtype)
		return sp_call_invalid(
			call, "table '%s' is from %s to %s, not from %s to %s", resource->name,
			sp_dtype_name(resource->key_dtype), sp_dtype_name(resource->dtype),
			sp_dtype_name(call->in[1]->dtype), sp_dtype_name(call->in[2]->dtype));
	SP_TRY(sp_table_keys_pack(call, resource, call->in[1], &keys));
	if (anew || table == NULL)
		SP_TRY(sp_table_fill_begin(call, resource, &table));
	if (__builtin_add_overflow(sp_hash_table_size(table), keys.count, &count))
		return sp_call_no_memory(call);
	SP_TRY(sp_hash_table_reserve(table, count, call->err));
	if (resource->empty_key != NULL)
		SP_TRY(insert_unreserved(call, resource, &keys, table));
	else
		SP_TRY(sp_hash_table_insert(table, call->in[1], call->in[2], SP_HASH_TABLE_REPLACE,
					    call->err));
	resource->hash_table = table;
	return SP_OK;
}

static sp_status find_resource(const sp_call *call, sp_resource **out)
{
	return sp_resources_get(call->resources, call->in[0], SP_RESOURCE_HASH_TABLE, out,
				call->err);
}

static sp_status run_initialize(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_resource(call, &resource));
	if (resource->is_mutable)
		return sp_call_invalid(call, "table '%s' is not initializable", resource->name);
	return initialize(call, resource);
}

static sp_status run_import(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_resource(call, &resource));
	if (!resource->is_mutable)
		return initialize(call, resource);
	return fill_mutable(call, resource, true);
}

static sp_status run_insert(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_resource(call, &resource));
	if (!resource->is_mutable)
		return sp_call_invalid(call, "table '%s' cannot be inserted into", resource->name);
	return fill_mutable(call, resource, false);
}

#define FILL_OP(op, run_fn) \
	SP_DEFINE_TYPED_OP(op, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY, "resource any any ->", run_fn)

FILL_OP(InitializeTable, run_initialize);
FILL_OP(InitializeTableV2, run_initialize);
FILL_OP(LookupTableImport, run_import);
FILL_OP(LookupTableImportV2, run_import);
FILL_OP(LookupTableInsert, run_insert);
FILL_OP(LookupTableInsertV2, run_insert);
