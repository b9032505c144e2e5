#include "engine/ops/embedding/embedding.h"

#include <string.h>

#include "base/clock.h"
#include "engine/ops/ops.h"
#include "engine/ops/state/resource_handle.h"
#include "storage/table/table.h"

/*
 * EmbeddingVariables of DeepRec in a serving graph: handles, and gathers by key from the table
 * behind one.  The table decides what an absent key yields (storage/table/table.h); frequencies are
 * not counted.
 */

static sp_status check_dtypes(const sp_prepare *prepare, sp_dtype dtype, sp_dtype key_dtype,
			      sp_error *err)
{
	if (dtype != SP_FLOAT)
		return sp_prepare_unsupported(prepare, dtype, err);
	if (key_dtype != SP_INT32 && key_dtype != SP_INT64)
		return sp_prepare_unsupported(prepare, key_dtype, err);
	return SP_OK;
}

/*
 * A model's restore operation names all EmbeddingVariables of its trainer, including slots of
 * optimizers, so while loading any type is accepted.
 */
static sp_status check_kind(const sp_prepare *prepare, sp_dtype dtype, sp_dtype key_dtype,
			    const sp_partial_shape *shape, sp_error *err)
{
	if (prepare->loading)
		return SP_OK;
	SP_TRY(check_dtypes(prepare, dtype, key_dtype, err));
	if (shape == NULL || shape->rank != 1 || shape->dims[0] < 1)
		return sp_error_set(err, SP_INVALID, "attribute 'shape' is not the width of a row");
	return SP_OK;
}

static sp_status prepare_handle(sp_prepare *prepare, sp_error *err)
{
	const sp_node *node = prepare->node;
	const sp_attr *attr = sp_node_attr(node, "shape");
	const sp_partial_shape *shape = NULL;
	sp_dtype dtype, key_dtype;

	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, err));
	SP_TRY(sp_node_attr_type(node, "Tkeys", SP_INVALID_DTYPE, &key_dtype, err));
	if (attr != NULL && attr->kind == SP_ATTR_SHAPE)
		shape = attr->shape;
	SP_TRY(check_kind(prepare, dtype, key_dtype, shape, err));
	return sp_resource_handle__prepare(prepare, SP_RESOURCE_EMBEDDING, dtype, key_dtype, shape,
					   err);
}

static sp_status find_embedding(const sp_call *call, size_t input, sp_resource **out)
{
	return sp_resources_get(call->resources, call->in[input], SP_RESOURCE_EMBEDDING, out,
				call->err);
}

sp_status sp_embedding__declared(const sp_prepare *prepare, size_t input, const sp_resource **out,
				 sp_error *err)
{
	const sp_tensor *handle = prepare->in_values[input];
	sp_resource *resource = NULL;

	if (handle != NULL)
		SP_TRY(sp_resources_get(prepare->resources, handle, SP_RESOURCE_EMBEDDING,
					&resource, err));
	*out = resource;
	return SP_OK;
}

sp_status sp_embedding__check_keys(const sp_resource *resource, sp_dtype dtype, sp_error *err)
{
	if (dtype == resource->key_dtype)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "embedding '%s' has keys of %s, not %s",
			    resource->name, sp_dtype_name(resource->key_dtype),
			    sp_dtype_name(dtype));
}

/* For an operator on a handle and keys; *out as in sp_embedding__declared(). */
static sp_status check_declared(const sp_prepare *prepare, const sp_resource **out, sp_error *err)
{
	SP_TRY(sp_embedding__declared(prepare, 0, out, err));
	return *out != NULL ? sp_embedding__check_keys(*out, prepare->in_dtypes[1], err) : SP_OK;
}

sp_status sp_embedding__find(const sp_call *call, size_t input, sp_resource **out)
{
	SP_TRY(find_embedding(call, input, out));
	if ((*out)->table == NULL)
		return sp_call_invalid(call, "embedding '%s' has no rows loaded", (*out)->name);
	return SP_OK;
}

static sp_status run_is_initialized(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_embedding(call, 0, &resource));
	return sp_resource_handle__answer(call, resource->table != NULL);
}

static sp_status prepare_shape(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "resource", err));
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INT32, &dtype, err));
	if (dtype != SP_INT32 && dtype != SP_INT64)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, 1, dtype, err));
	/* run() needs the type and nothing else, and out_dtypes lives as long as the state. */
	prepare->state = prepare->out_dtypes;
	return SP_OK;
}

static sp_status put_dimension(const sp_call *call, size_t i, size_t value)
{
	if (call->out[0]->dtype == SP_INT64)
		sp_tensor_i64(call->out[0])[i] = (int64_t)value;
	else if (value <= INT32_MAX)
		sp_tensor_i32(call->out[0])[i] = (int32_t)value;
	else
		return sp_call_invalid(call, "dimension %zu is %zu and does not fit into int32", i,
				       value);
	return SP_OK;
}

/* Outputs [keys, dim].  A table that several partitions share cannot count the keys of one. */
static sp_status run_shape(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(sp_embedding__find(call, 0, &resource));
	if (strcmp(sp_table_name(resource->table), resource->name) != 0)
		return sp_error_set(call->err, SP_UNSUPPORTED,
				    "the keys of '%s', in rows of '%s', are not counted",
				    resource->name, sp_table_name(resource->table));
	SP_TRY(sp_call_output_vector(call, 0, *(const sp_dtype *)call->state, 2));
	SP_TRY(put_dimension(call, 0, sp_table_row_count(resource->table)));
	return put_dimension(call, 1, sp_table_dim(resource->table));
}

sp_status sp_embedding__keys(const sp_call *call, size_t input, const sp_resource *resource,
			     const int64_t **out)
{
	const sp_tensor *keys = call->in[input];
	int64_t *wide;

	SP_TRY(sp_embedding__check_keys(resource, keys->dtype, call->err));
	*out = keys->data;
	if (keys->dtype == SP_INT64)
		return SP_OK;
	SP_CALL_ARRAY(wide, call, keys->count);
	for (size_t i = 0; i < keys->count; i++)
		wide[i] = sp_tensor_i32(keys)[i];
	*out = wide;
	return SP_OK;
}

typedef struct gather_state {
	bool has_fallback; /* input 2 has the row of every key that is absent */
} gather_state;

sp_status sp_embedding__check_defaults(const sp_prepare *prepare, size_t input, size_t dim,
				       sp_error *err)
{
	const sp_tensor *rows = prepare->in_values[input];
	char text[SP_SHAPE_TEXT_SIZE];

	if (rows == NULL || dim == 0 || rows->count % dim == 0)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "default values of shape %s are not rows of %zu",
			    sp_shape_text(&rows->shape, text), dim);
}

static sp_status prepare_gather_of(sp_prepare *prepare, size_t inputs, sp_error *err)
{
	gather_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_resource *resource;
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_RESOURCE, err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", SP_INVALID_DTYPE, &dtype, err));
	SP_TRY(check_dtypes(prepare, dtype, prepare->in_dtypes[1], err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, dtype, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "is_use_default_value_tensor", false,
				 &state->has_fallback, err));
	SP_TRY(check_declared(prepare, &resource, err));
	if (resource != NULL && state->has_fallback)
		SP_TRY(sp_embedding__check_defaults(prepare, 2, sp_resource_row_width(resource),
						    err));
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	return prepare_gather_of(prepare, 3, err);
}

/* Input 3, the count of each key, matters to training only and is ignored. */
static sp_status prepare_gather_v1(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_gather_of(prepare, 4, err));
	return sp_prepare_input_index(prepare, 3, err);
}

static sp_status check_fallback(const sp_call *call, size_t dim)
{
	const sp_tensor *keys = call->in[1], *rows = call->in[2];
	char have[SP_SHAPE_TEXT_SIZE], want[SP_SHAPE_TEXT_SIZE];

	if (rows->count % dim == 0 && rows->count / dim == keys->count)
		return SP_OK;
	return sp_call_invalid(call, "default values of shape %s have no row of %zu for each of %s",
			       sp_shape_text(&rows->shape, have), dim,
			       sp_shape_text(&keys->shape, want));
}

/* While a snapshot is built (engine/tensor/object.h) there is no deadline. */
static int64_t deadline_of(const sp_call *call)
{
	if (call->deadline_ns != 0 || call->objects == NULL)
		return call->deadline_ns;
	return sp_clock_now_ns() + SP_TABLE_PATIENCE_NS;
}

sp_status sp_embedding__look_up(const sp_call *call, sp_lookup *lookups, size_t count)
{
	void *scratch = NULL;
	size_t size;

	for (size_t i = 0; i < count; i++)
		lookups[i].fresh = call->fresh;
	size = sp_lookup_scratch(lookups, count);
	if (size != 0 && (scratch = sp_call_bytes(call, 1, size)) == NULL)
		return sp_call_no_memory(call);
	return sp_lookup_run(lookups, count, scratch, deadline_of(call), call->err);
}

static sp_status run_gather(const sp_call *call)
{
	const gather_state *state = call->state;
	const sp_tensor *indices = call->in[1];
	sp_shape shape = indices->shape;
	const float *fallback = NULL;
	const int64_t *keys;
	sp_resource *resource;
	size_t dim;

	SP_TRY(sp_embedding__find(call, 0, &resource));
	SP_TRY(sp_embedding__keys(call, 1, resource, &keys));
	dim = sp_table_dim(resource->table);
	if (shape.rank == SP_MAX_RANK)
		return sp_call_invalid(call, "indices of rank %d are too deep", shape.rank);
	shape.dims[shape.rank++] = (int64_t)dim;
	if (state->has_fallback) {
		SP_TRY(check_fallback(call, dim));
		fallback = call->in[2]->data;
	}
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	return sp_embedding__look_up(call,
				     &(sp_lookup){.table = resource->table,
						  .keys = keys,
						  .count = indices->count,
						  .fallback = fallback,
						  .rows = call->out[0]->data,
						  .stride = dim},
				     1);
}

static sp_status prepare_lookup_tier(sp_prepare *prepare, sp_error *err)
{
	const sp_resource *resource;

	SP_TRY(sp_prepare_types(prepare, "resource index -> int32", err));
	return check_declared(prepare, &resource, err);
}

/* Per key: 0 if the first tier (memory) has it, 1 if only a slower tier does, else -1. */
static sp_status run_lookup_tier(const sp_call *call)
{
	const sp_tensor *ids = call->in[1];
	const int64_t *keys;
	sp_resource *resource;
	void *scratch = NULL;
	size_t size;

	SP_TRY(sp_embedding__find(call, 0, &resource));
	SP_TRY(sp_embedding__keys(call, 1, resource, &keys));
	SP_TRY(sp_call_output(call, 0, SP_INT32, &ids->shape));
	size = sp_table_locate_scratch(resource->table, ids->count);
	if (size != 0 && (scratch = sp_call_bytes(call, 1, size)) == NULL)
		return sp_call_no_memory(call);
	SP_TRY(sp_table_locate(resource->table, keys, ids->count, sp_tensor_i32(call->out[0]),
			       scratch, deadline_of(call), call->err));
	sp_table_locate_fresh(resource->table, call->fresh, keys, ids->count,
			      sp_tensor_i32(call->out[0]));
	return SP_OK;
}

/* ------------------------------------------------------- other columns */

typedef struct column_state {
	sp_table_column column;
	const char *name; /* in error messages */
} column_state;

static const column_state frequencies = {SP_TABLE_FREQUENCIES, "frequencies"};
static const column_state versions = {SP_TABLE_VERSIONS, "versions"};

/* Requires that every version of the model loads this column of the table. */
static sp_status prepare_column(sp_prepare *prepare, sp_error *err)
{
	const column_state *state = prepare->node->op == &sp_op_EVGetFrequency ? &frequencies
									       : &versions;
	const sp_resource *resource;
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "resource T -> int64", err));
	SP_TRY(sp_node_attr_type(prepare->node, "Tvalues", SP_FLOAT, &dtype, err));
	SP_TRY(check_dtypes(prepare, dtype, prepare->in_dtypes[1], err));
	SP_TRY(check_declared(prepare, &resource, err));
	SP_TRY(sp_resources_ask_column(prepare->resources, prepare->in_values[0], state->column,
				       err));
	prepare->state = (void *)state;
	return SP_OK;
}

/* The output is a vector, whatever the shape of the keys. */
static sp_status run_column(const sp_call *call)
{
	const column_state *state = call->state;
	size_t count = call->in[1]->count;
	const int64_t *keys;
	sp_resource *resource;

	SP_TRY(sp_embedding__find(call, 0, &resource));
	SP_TRY(sp_embedding__keys(call, 1, resource, &keys));
	if (!sp_table_has_column(resource->table, state->column))
		return sp_error_set(call->err, SP_UNSUPPORTED, "embedding '%s' has no %s",
				    resource->name, state->name);
	SP_TRY(sp_call_output_vector(call, 0, SP_INT64, (int64_t)count));
	sp_table_read_column(resource->table, state->column, keys, count,
			     sp_tensor_i64(call->out[0]));
	return SP_OK;
}

SP_DEFINE_OP(KvVarHandleOp, NULL, 0, prepare_handle, sp_resource_handle__run);
SP_DEFINE_TYPED_OP(KvVarIsInitializedOp, NULL, SP_OP_READS_VARIABLE, "resource -> bool",
		   run_is_initialized);
SP_DEFINE_OP(KvVariableShape, NULL, SP_OP_READS_VARIABLE, prepare_shape, run_shape);
SP_DEFINE_OP(KvResourceGather, NULL, SP_OP_READS_VARIABLE, prepare_gather, run_gather);
SP_DEFINE_OP(KvResourceGatherV1, NULL, SP_OP_READS_VARIABLE, prepare_gather_v1, run_gather);
SP_DEFINE_OP(KvResourceLookupTier, NULL, SP_OP_READS_VARIABLE, prepare_lookup_tier,
	     run_lookup_tier);
SP_DEFINE_OP(EVGetFrequency, NULL, SP_OP_READS_VARIABLE, prepare_column, run_column);
SP_DEFINE_OP(EVGetVersion, NULL, SP_OP_READS_VARIABLE, prepare_column, run_column);
