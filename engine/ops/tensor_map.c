#include <string.h>

#include "engine/ops/list.h"

/*
 * EmptyTensorMap, TensorMapInsert, -Lookup, -Erase, -HasKey, -Size, -StackKeys: maps from
 * tensors to tensors.  Keys are equal when type, shape and bytes are.
 *
 * A map is searched from front to back: these maps are small.  StackKeys gives the keys in
 * the order in which they came first; TensorFlow's order is that of its hashing.
 */
static const sp_list empty = {
	.dtype = SP_VARIANT, .shape = {.rank = -1}, .max_count = -1, .kind = SP_LIST_MAP};

static sp_status prepare_empty(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 0, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_empty(const sp_call *call)
{
	return sp_list_create(call, 0, &empty, 0, 8);
}

static sp_status input(const sp_call *call, const sp_list **out)
{
	*out = call->in[0]->shape.rank == 0 ? sp_tensor_list(call->in[0]) : NULL;
	if (*out != NULL && (*out)->kind == SP_LIST_MAP)
		return SP_OK;
	return sp_call_invalid(call, "Input handle is not a map.");
}

static bool same_key(const sp_tensor *a, const sp_tensor *b)
{
	if (a->dtype != b->dtype || !sp_shape_equal(&a->shape, &b->shape))
		return false;
	if (a->dtype != SP_STRING)
		return a->count == 0 ||
		       memcmp(a->data, b->data, a->count * sp_dtype_size(a->dtype)) == 0;
	for (size_t i = 0; i < a->count; i++)
		if (!sp_bytes_equal(sp_tensor_strings(a)[i], sp_tensor_strings(b)[i]))
			return false;
	return true;
}

/* Where the key stands, its value behind it; the map's end when it is not there. */
static size_t find(const sp_list *map, const sp_tensor *key)
{
	size_t i = 0;

	while (i < map->count && !same_key(&map->items[i], key))
		i += 2;
	return i;
}

/* Inputs: the map, a key, and further `inputs`. */
static sp_status prepare_with_key(sp_prepare *prepare, size_t inputs, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2 + inputs, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	if (prepare->in_dtypes[1] == SP_RESOURCE || sp_dtype_size(prepare->in_dtypes[1]) == 0)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status prepare_insert(sp_prepare *prepare, sp_error *err)
{
	return prepare_with_key(prepare, 1, err);
}

static sp_status run_insert(const sp_call *call)
{
	const sp_list *map;
	sp_list *to;
	size_t at, count;

	SP_TRY(input(call, &map));
	SP_TRY(sp_list_check_depth(call, call->in[2]));
	at = find(map, call->in[1]);
	count = at == map->count ? at + 2 : map->count;
	SP_TRY(sp_list_modify(call, 0, 0, count <= map->capacity ? map->capacity : 2 * count, &to));
	while (to->count < count)
		to->items[to->count++] = (sp_tensor){0};
	if (!sp_tensor_is_set(&to->items[at]))
		sp_list_set(call, to, at, call->in[1]);
	sp_list_set(call, to, at + 1, call->in[2]);
	return SP_OK;
}

static sp_status prepare_lookup(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *dtype = sp_prepare_state(prepare, sizeof(*dtype));

	if (dtype == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(prepare_with_key(prepare, 0, err));
	SP_TRY(sp_node_attr_type(prepare->node, "value_dtype", SP_INVALID_DTYPE, dtype, err));
	prepare->out_dtypes[0] = *dtype;
	return SP_OK;
}

/* An operator's outputs are of the types that it was prepared with. */
static sp_status check_dtype(const sp_call *call, const sp_tensor *value)
{
	const sp_dtype *dtype = call->state;

	if (value->dtype == *dtype)
		return SP_OK;
	return sp_call_invalid(call, "the map holds %s, not %s", sp_dtype_name(value->dtype),
			       sp_dtype_name(*dtype));
}

static sp_status run_lookup(const sp_call *call)
{
	const sp_list *map;
	size_t at;

	SP_TRY(input(call, &map));
	at = find(map, call->in[1]);
	if (at == map->count)
		return sp_call_invalid(call, "Trying to lookup non-existent key.");
	SP_TRY(check_dtype(call, &map->items[at + 1]));
	sp_list__give(call, 0, &map->items[at + 1]);
	return SP_OK;
}

static sp_status prepare_erase(sp_prepare *prepare, sp_error *err)
{
	return prepare_with_key(prepare, 0, err);
}

static sp_status run_erase(const sp_call *call)
{
	const sp_list *map;
	sp_list *to;
	size_t at;

	SP_TRY(input(call, &map));
	at = find(map, call->in[1]);
	if (at == map->count)
		return sp_call_invalid(call, "Trying to erase non-existent item.");
	SP_TRY(sp_list_modify(call, 0, 0, map->capacity, &to));
	sp_list_set(call, to, at, NULL);
	sp_list_set(call, to, at + 1, NULL);
	memmove(to->items + at, to->items + at + 2, (to->count - at - 2) * sizeof(to->items[0]));
	to->count -= 2;
	return SP_OK;
}

static sp_status prepare_has(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_with_key(prepare, 0, err));
	prepare->out_dtypes[0] = SP_BOOL;
	return SP_OK;
}

static sp_status run_has(const sp_call *call)
{
	sp_shape scalar = sp_shape_scalar();
	const sp_list *map;

	SP_TRY(input(call, &map));
	SP_TRY(sp_call_output(call, 0, SP_BOOL, &scalar));
	*sp_tensor_bool(call->out[0]) = find(map, call->in[1]) != map->count;
	return SP_OK;
}

static sp_status prepare_size(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status run_size(const sp_call *call)
{
	sp_shape scalar = sp_shape_scalar();
	const sp_list *map;

	SP_TRY(input(call, &map));
	SP_TRY(sp_call_output(call, 0, SP_INT32, &scalar));
	*sp_tensor_i32(call->out[0]) = (int32_t)(map->count / 2);
	return SP_OK;
}

static sp_status prepare_keys(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *dtype = sp_prepare_state(prepare, sizeof(*dtype));

	if (dtype == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	SP_TRY(sp_node_attr_type(prepare->node, "key_dtype", SP_INVALID_DTYPE, dtype, err));
	return sp_prepare_outputs(prepare, 1, *dtype, err);
}

static sp_status run_keys(const sp_call *call)
{
	const sp_list *map;
	sp_shape shape;
	size_t bytes;

	SP_TRY(input(call, &map));
	if (map->count == 0)
		return sp_call_invalid(call, "TensorMapStackKeys cannot be called on empty map.");
	shape = map->items[0].shape;
	if (shape.rank == SP_MAX_RANK)
		return sp_call_invalid(call, "the keys would have %d dimensions", SP_MAX_RANK + 1);
	for (size_t i = 0; i < map->count; i += 2) {
		SP_TRY(check_dtype(call, &map->items[i]));
		if (!sp_shape_equal(&map->items[i].shape, &map->items[0].shape))
			return sp_call_invalid(call, "Key does not match requested shape");
	}
	memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof(shape.dims[0]));
	shape.dims[0] = (int64_t)(map->count / 2);
	shape.rank++;
	SP_TRY(sp_call_output(call, 0, map->items[0].dtype, &shape));
	bytes = map->items[0].count * sp_dtype_size(map->items[0].dtype);
	for (size_t i = 0; bytes != 0 && i < map->count; i += 2)
		memcpy((char *)call->out[0]->data + i / 2 * bytes, map->items[i].data, bytes);
	return SP_OK;
}

#define MAP(op, names, prepare_op, run_op)                    \
	const sp_op sp_op_##op = {.name = #op,                \
				  .outputs = names,           \
				  .flags = SP_OP_PER_REQUEST, \
				  .prepare = prepare_op,      \
				  .run = run_op}

MAP(EmptyTensorMap, "handle", prepare_empty, run_empty);
MAP(TensorMapErase, "output_handle", prepare_erase, run_erase);
MAP(TensorMapHasKey, "has_key", prepare_has, run_has);
MAP(TensorMapInsert, "output_handle", prepare_insert, run_insert);
MAP(TensorMapLookup, "value", prepare_lookup, run_lookup);
MAP(TensorMapSize, "size", prepare_size, run_size);
MAP(TensorMapStackKeys, "keys", prepare_keys, run_keys);
