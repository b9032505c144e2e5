#include "engine/tensor/hash_table.h"

#include "engine/ops/state/resource_handle.h"
#include "engine/ops/state/table_keys.h"
#include "engine/tensor/resource.h"

/*
 * Handles of lookup tables, and the operators that read tables.  A handle is a constant of the
 * graph; the table belongs to the model version.
 *
 * An anonymous table is identified by its node.  TensorFlow creates a table each time the node
 * runs, and its loader of objects runs it once; here there is always one.
 */

typedef struct table_kind {
	bool is_mutable;
	bool has_shape; /* the attribute value_shape */
	bool is_anonymous;
	bool is_dense; /* inputs: keys that stand for no key and for a deleted one */
} table_kind;

static sp_status value_shape(const sp_prepare *prepare, sp_partial_shape *out, sp_error *err)
{
	const sp_attr *attr = sp_node_attr(prepare->node, "value_shape");

	*out = (sp_partial_shape){.rank = 0};
	if (attr == NULL)
		return SP_OK;
	if (attr->kind != SP_ATTR_SHAPE)
		return sp_error_set(err, SP_INVALID, "attribute 'value_shape' is not a shape");
	if (attr->shape->rank < 0)
		return sp_error_set(err, SP_INVALID, "the shape of the values is not known");
	for (int i = 0; i < attr->shape->rank; i++)
		if (attr->shape->dims[i] < 0)
			return sp_error_set(err, SP_INVALID,
					    "the shape of the values is not known");
	*out = *attr->shape;
	return SP_OK;
}

static sp_status declare(sp_prepare *prepare, table_kind kind, uint64_t *index, sp_error *err)
{
	sp_dtype key_dtype, value_dtype;
	sp_partial_shape shape = {.rank = 0};
	sp_bytes container;
	const char *name;

	SP_TRY(sp_node_attr_type(prepare->node, "key_dtype", SP_INVALID_DTYPE, &key_dtype, err));
	SP_TRY(sp_node_attr_type(prepare->node, "value_dtype", SP_INVALID_DTYPE, &value_dtype,
				 err));
	if (kind.is_anonymous) {
		container = sp_bytes_of("(anonymous)");
		name = prepare->node->name;
	} else {
		SP_TRY(sp_resource_handle__name(prepare, &container, &name, err));
	}
	if (key_dtype != SP_INT32 && key_dtype != SP_INT64 && key_dtype != SP_STRING)
		return sp_prepare_unsupported(prepare, key_dtype, err);
	if (value_dtype == SP_RESOURCE || sp_dtype_size(value_dtype) == 0)
		return sp_prepare_unsupported(prepare, value_dtype, err);
	if (kind.has_shape)
		SP_TRY(value_shape(prepare, &shape, err));
	SP_TRY(sp_resources_declare(prepare->resources, SP_RESOURCE_HASH_TABLE, container, name,
				    value_dtype, key_dtype, &shape, index, err));
	prepare->resources->items[*index].is_mutable = kind.is_mutable;
	return SP_OK;
}

/* Copies constant input `i` into the arena of the declarations. */
static sp_status reserved_key(const sp_prepare *prepare, size_t i, const sp_tensor **out,
			      sp_error *err)
{
	const sp_tensor *key = prepare->in_values[i];

	if (key == NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "input %zu of %s is not a constant", i,
				    prepare->node->op_name);
	if (key->shape.rank > 1 || key->count == 0)
		return sp_error_set(err, SP_INVALID,
				    "input %zu of %s is neither a scalar nor a vector", i,
				    prepare->node->op_name);
	if (*out != NULL)
		return SP_OK;
	return sp_table_keys_copy(key, prepare->resources->arena, out, err);
}

static sp_status read_reserved_keys(sp_prepare *prepare, sp_resource *resource, sp_error *err)
{
	for (size_t i = 0; i < 2; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, resource->key_dtype, err));
	SP_TRY(reserved_key(prepare, 0, &resource->empty_key, err));
	SP_TRY(reserved_key(prepare, 1, &resource->deleted_key, err));
	if (!sp_shape_equal(&prepare->in_values[0]->shape, &prepare->in_values[1]->shape))
		return sp_error_set(err, SP_INVALID,
				    "the empty and the deleted key are of different shapes");
	resource->key_width = prepare->in_values[0]->shape.rank == 0 ? 0
								     : prepare->in_values[0]->count;
	if (sp_table_keys_equal(resource->empty_key, 0, resource->deleted_key, 0))
		return sp_error_set(err, SP_INVALID, "the empty and the deleted key are equal");
	return SP_OK;
}

static sp_status prepare_handle(sp_prepare *prepare, table_kind kind, sp_error *err)
{
	uint64_t *index = sp_prepare_state(prepare, sizeof(*index));

	SP_NEED_MEMORY(index, err, "a handle");
	SP_TRY(sp_prepare_types(prepare, kind.is_dense ? "any any -> resource" : "-> resource",
				err));
	SP_TRY(declare(prepare, kind, index, err));
	if (!kind.is_dense)
		return SP_OK;
	return read_reserved_keys(prepare, &prepare->resources->items[*index], err);
}

static sp_status find_table(const sp_call *call, sp_resource **out)
{
	SP_TRY(sp_resources_get(call->resources, call->in[0], SP_RESOURCE_HASH_TABLE, out,
				call->err));
	if ((*out)->hash_table == NULL)
		return sp_call_invalid(call, "table '%s' is not initialized", (*out)->name);
	return SP_OK;
}

/* Checks what is known when the graph is prepared: the declared key and value types. */
static sp_status check_declaration(const sp_prepare *prepare, sp_dtype keys, sp_dtype values,
				   sp_error *err)
{
	sp_resource *resource;

	if (prepare->in_values[0] == NULL)
		return SP_OK;
	SP_TRY(sp_resources_get(prepare->resources, prepare->in_values[0], SP_RESOURCE_HASH_TABLE,
				&resource, err));
	if (keys == resource->key_dtype && values == resource->dtype)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "table '%s' is from %s to %s, not from %s to %s",
			    resource->name, sp_dtype_name(resource->key_dtype),
			    sp_dtype_name(resource->dtype), sp_dtype_name(keys),
			    sp_dtype_name(values));
}

/* The same for the table that a handle leads to. */
static sp_status check_table(const sp_call *call, const sp_resource *resource, sp_dtype keys,
			     sp_dtype values)
{
	if (keys == resource->key_dtype && values == resource->dtype)
		return SP_OK;
	return sp_call_invalid(call, "table '%s' is from %s to %s, not from %s to %s",
			       resource->name, sp_dtype_name(resource->key_dtype),
			       sp_dtype_name(resource->dtype), sp_dtype_name(keys),
			       sp_dtype_name(values));
}

static sp_status prepare_find(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "resource T U -> U", err));
	return check_declaration(prepare, prepare->in_dtypes[1], prepare->in_dtypes[2], err);
}

/* *shape: that of the keys, then that of a value.  The default has that shape or the value's. */
static sp_status find_shape(const sp_call *call, const sp_resource *resource, sp_shape *shape)
{
	const sp_shape *value = &sp_hash_table_options_of(resource->hash_table)->value_shape;
	char text[SP_SHAPE_TEXT_SIZE];

	*shape = call->in[1]->shape;
	if (resource->key_width != 0)
		shape->rank--;
	if (shape->rank + value->rank > SP_MAX_RANK)
		return sp_call_invalid(call, "the result would have %d dimensions",
				       shape->rank + value->rank);
	for (int i = 0; i < value->rank; i++)
		shape->dims[shape->rank++] = value->dims[i];
	if (!sp_shape_equal(&call->in[2]->shape, value) &&
	    !sp_shape_equal(&call->in[2]->shape, shape))
		return sp_call_invalid(call, "a default of %s fits neither a value nor the result",
				       sp_shape_text(&call->in[2]->shape, text));
	return SP_OK;
}

static sp_status refuse_reserved(const sp_call *call, const sp_resource *resource,
				 const sp_tensor *keys)
{
	for (size_t i = 0; resource->empty_key != NULL && i < keys->count; i++)
		if (sp_table_keys_is_reserved(resource, keys, i))
			return sp_call_invalid(
				call, "key %zu is the empty or the deleted key of table '%s'", i,
				resource->name);
	return SP_OK;
}

static sp_status run_find(const sp_call *call)
{
	sp_tensor fallback = *call->in[2], keys;
	sp_resource *resource;
	sp_shape shape;
	size_t width;

	SP_TRY(find_table(call, &resource));
	SP_TRY(check_table(call, resource, call->in[1]->dtype, fallback.dtype));
	SP_TRY(sp_table_keys_pack(call, resource, call->in[1], &keys));
	SP_TRY(find_shape(call, resource, &shape));
	SP_TRY(refuse_reserved(call, resource, &keys));
	SP_TRY(sp_call_output(call, 0, resource->dtype, &shape));
	/* As in TensorFlow, immutable and dense tables use the first default only. */
	if ((!resource->is_mutable || resource->empty_key != NULL) && call->out[0]->count > 0 &&
	    sp_shape_count(&sp_hash_table_options_of(resource->hash_table)->value_shape, &width))
		fallback.count = width;
	sp_hash_table_find(resource->hash_table, &keys, &fallback, call->out[0]);
	return SP_OK;
}

static sp_status run_size(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_table(call, &resource));
	SP_TRY(sp_call_output_scalar(call, 0, SP_INT64));
	sp_tensor_i64(call->out[0])[0] = (int64_t)sp_hash_table_size(resource->hash_table);
	return SP_OK;
}

/*
 * All keys and values in insertion order; TensorFlow's order depends on its hashing and is
 * unspecified. Keys and values of a dense table are matrices; its free buckets, which TensorFlow
 * exports too, are left out.
 */
typedef struct export_state {
	sp_dtype keys, values;
} export_state;

static sp_status prepare_export(sp_prepare *prepare, sp_error *err)
{
	export_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "a table");
	SP_TRY(sp_prepare_types(prepare, "resource", err));
	SP_TRY(sp_node_attr_type(prepare->node, "Tkeys", SP_INVALID_DTYPE, &state->keys, err));
	SP_TRY(sp_node_attr_type(prepare->node, "Tvalues", SP_INVALID_DTYPE, &state->values, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, state->keys, err));
	prepare->out_dtypes[1] = state->values;
	return check_declaration(prepare, state->keys, state->values, err);
}

static sp_status make_exported(const sp_call *call, const sp_resource *resource)
{
	const sp_shape *value = &sp_hash_table_options_of(resource->hash_table)->value_shape;
	sp_shape keys = sp_shape_vector((int64_t)sp_hash_table_size(resource->hash_table));
	sp_shape values = keys;
	bool is_dense = resource->empty_key != NULL;

	if (value->rank == SP_MAX_RANK)
		return sp_call_invalid(call, "the values would have %d dimensions",
				       SP_MAX_RANK + 1);
	if (is_dense)
		keys.dims[keys.rank++] = resource->key_width != 0 ? (int64_t)resource->key_width
								  : 1;
	for (int i = 0; i < value->rank; i++)
		values.dims[values.rank++] = value->dims[i];
	if (is_dense && value->rank == 0)
		values.dims[values.rank++] = 1;
	SP_TRY(sp_call_output(call, 0, resource->key_dtype, &keys));
	return sp_call_output(call, 1, resource->dtype, &values);
}

static sp_status run_export(const sp_call *call)
{
	const export_state *state = call->state;
	sp_resource *resource;
	sp_tensor held;

	SP_TRY(find_table(call, &resource));
	SP_TRY(check_table(call, resource, state->keys, state->values));
	SP_TRY(make_exported(call, resource));
	if (resource->key_width == 0) {
		sp_hash_table_export(resource->hash_table, call->out[0], call->out[1]);
		return SP_OK;
	}
	held = (sp_tensor){.dtype = SP_STRING, .count = sp_hash_table_size(resource->hash_table)};
	SP_CALL_BYTES(held.data, call, held.count, sizeof(sp_bytes));
	sp_hash_table_export(resource->hash_table, &held, call->out[1]);
	sp_table_keys_unpack(&held, resource->key_width, call->out[0]);
	return SP_OK;
}

#define HANDLE_OP(op, ...)                                                      \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err)       \
	{                                                                       \
		return prepare_handle(prepare, (table_kind){__VA_ARGS__}, err); \
	}                                                                       \
	SP_DEFINE_OP(op, "table_handle", 0, prepare_##op, sp_resource_handle__run)
#define OF_TENSORS .is_mutable = true, .has_shape = true

HANDLE_OP(AnonymousHashTable, .is_anonymous = true);
HANDLE_OP(AnonymousMutableDenseHashTable, OF_TENSORS, .is_dense = true, .is_anonymous = true);
HANDLE_OP(AnonymousMutableHashTable, .is_mutable = true, .is_anonymous = true);
HANDLE_OP(AnonymousMutableHashTableOfTensors, OF_TENSORS, .is_anonymous = true);
HANDLE_OP(HashTable, .is_mutable = false);
HANDLE_OP(HashTableV2, .is_mutable = false);
HANDLE_OP(MutableHashTable, .is_mutable = true);
HANDLE_OP(MutableHashTableV2, .is_mutable = true);
HANDLE_OP(MutableHashTableOfTensors, OF_TENSORS);
HANDLE_OP(MutableHashTableOfTensorsV2, OF_TENSORS);
HANDLE_OP(MutableDenseHashTable, OF_TENSORS, .is_dense = true);
HANDLE_OP(MutableDenseHashTableV2, OF_TENSORS, .is_dense = true);

SP_DEFINE_OP(LookupTableFind, "values", SP_OP_READS_VARIABLE, prepare_find, run_find);
SP_DEFINE_OP(LookupTableFindV2, "values", SP_OP_READS_VARIABLE, prepare_find, run_find);
SP_DEFINE_TYPED_OP(LookupTableSize, "size", SP_OP_READS_VARIABLE, "resource -> int64", run_size);
SP_DEFINE_TYPED_OP(LookupTableSizeV2, "size", SP_OP_READS_VARIABLE, "resource -> int64", run_size);
SP_DEFINE_OP(LookupTableExport, "keys values", SP_OP_READS_VARIABLE, prepare_export, run_export);
SP_DEFINE_OP(LookupTableExportV2, "keys values", SP_OP_READS_VARIABLE, prepare_export, run_export);
