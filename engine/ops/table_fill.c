#include "engine/ops/table_fill.h"

#include "engine/ops.h"

/* Tables that are filled from tensors: initializers and what a checkpoint holds. */

sp_status sp_table_fill_begin(const sp_call *call, const sp_resource *resource, sp_hash_table **out)
{
	sp_hash_table_options options = {.key_dtype = resource->key_dtype,
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
				       "table '%s' is initialized a second time, with %zu keys "
				       "instead of %zu",
				       resource->name, sp_hash_table_size(table),
				       sp_hash_table_size(resource->hash_table));
	return SP_OK;
}

static sp_status prepare_fill(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_RESOURCE, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
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

static bool is_reserved(const sp_resource *resource, const sp_tensor *key)
{
	if (resource->empty_key == NULL)
		return false;
	if (key->dtype == SP_STRING) {
		sp_bytes text = sp_tensor_strings(key)[0];

		return sp_bytes_equal(text, sp_tensor_strings(resource->empty_key)[0]) ||
		       sp_bytes_equal(text, sp_tensor_strings(resource->deleted_key)[0]);
	}
	return sp_tensor_index(key, 0) == sp_tensor_index(resource->empty_key, 0) ||
	       sp_tensor_index(key, 0) == sp_tensor_index(resource->deleted_key, 0);
}

/*
 * One key at a time, leaving out reserved ones: a checkpoint holds a dense
 * table as its buckets, and those that are free bear the empty or the deleted key.
 */
static sp_status insert_unreserved(const sp_call *call, const sp_resource *resource,
				   sp_hash_table *table)
{
	const sp_hash_table_options *options = sp_hash_table_options_of(table);
	sp_tensor key = {.dtype = call->in[1]->dtype, .count = 1};
	sp_tensor value = {.dtype = call->in[2]->dtype};
	size_t key_size = sp_dtype_size(key.dtype), value_size, width;

	if (!sp_shape_count(&options->value_shape, &width) ||
	    call->in[1]->count * width != call->in[2]->count)
		return sp_call_invalid(call, "%zu keys do not go with %zu elements of values",
				       call->in[1]->count, call->in[2]->count);
	value.count = width;
	value_size = width * sp_dtype_size(value.dtype);
	for (size_t i = 0; i < call->in[1]->count; i++) {
		key.data = (char *)call->in[1]->data + i * key_size;
		value.data = (char *)call->in[2]->data + i * value_size;
		if (!is_reserved(resource, &key))
			SP_TRY(sp_hash_table_insert(table, &key, &value, SP_HASH_TABLE_REPLACE,
						    call->err));
	}
	return SP_OK;
}

/* Into a fresh table (a checkpoint's content replaces all) or the one that is there. */
static sp_status fill_mutable(const sp_call *call, sp_resource *resource, bool anew)
{
	sp_hash_table *table = resource->hash_table;
	size_t count;

	if (call->in[1]->dtype != resource->key_dtype || call->in[2]->dtype != resource->dtype)
		return sp_call_invalid(
			call, "table '%s' is from %s to %s, not from %s to %s", resource->name,
			sp_dtype_name(resource->key_dtype), sp_dtype_name(resource->dtype),
			sp_dtype_name(call->in[1]->dtype), sp_dtype_name(call->in[2]->dtype));
	if (anew || table == NULL)
		SP_TRY(sp_table_fill_begin(call, resource, &table));
	if (__builtin_add_overflow(sp_hash_table_size(table), call->in[1]->count, &count))
		return sp_call_no_memory(call);
	SP_TRY(sp_hash_table_reserve(table, count, call->err));
	if (resource->empty_key != NULL)
		SP_TRY(insert_unreserved(call, resource, table));
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

#define FILL_OP(op, run_fn)                                \
	const sp_op sp_op_##op = {                         \
		.name = #op,                               \
		.outputs = "",                             \
		.flags = SP_OP_STATEFUL | SP_OP_LOAD_ONLY, \
		.prepare = prepare_fill,                   \
		.run = run_fn,                             \
	}

FILL_OP(InitializeTable, run_initialize);
FILL_OP(InitializeTableV2, run_initialize);
FILL_OP(LookupTableImport, run_import);
FILL_OP(LookupTableImportV2, run_import);
FILL_OP(LookupTableInsert, run_insert);
FILL_OP(LookupTableInsertV2, run_insert);
