#include <complex.h>

#include "engine/ops/array/array.h"
#include "engine/ops/state/resource_handle.h"

/*
 * Variables. A handle is a constant of the graph; the variable it refers to belongs to the model
 * version. Reading returns the variable's own bytes, so an assignment always allocates new ones.
 */
static sp_status prepare_handle(sp_prepare *prepare, sp_error *err)
{
	const sp_node *node = prepare->node;
	const sp_attr *shape = sp_node_attr(node, "shape");
	sp_dtype dtype;

	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, err));
	if (shape != NULL && shape->kind != SP_ATTR_SHAPE)
		return sp_error_set(err, SP_INVALID, "attribute 'shape' is not a shape");
	return sp_resource_handle__prepare(prepare, SP_RESOURCE_VARIABLE, dtype, SP_INVALID_DTYPE,
					   shape != NULL ? shape->shape : NULL, err);
}

/* The variable behind input 0. */
static sp_status find_variable(const sp_call *call, sp_resource **out)
{
	return sp_resources_get(call->resources, call->in[0], SP_RESOURCE_VARIABLE, out, call->err);
}

/* The same, and it must have a value of `dtype`. */
static sp_status find_value(const sp_call *call, sp_dtype dtype, sp_resource **out)
{
	SP_TRY(find_variable(call, out));
	if (!sp_tensor_is_set(&(*out)->variable))
		return sp_call_invalid(call, "variable '%s' has no value", (*out)->name);
	if (dtype != SP_INVALID_DTYPE && (*out)->variable.dtype != dtype)
		return sp_call_invalid(call, "variable '%s' is of %s, not %s", (*out)->name,
				       sp_dtype_name((*out)->variable.dtype), sp_dtype_name(dtype));
	return SP_OK;
}

typedef struct variable_state {
	sp_dtype dtype; /* of the value; of VariableShape's output */
} variable_state;

static sp_status prepare_on_variable(sp_prepare *prepare, const char *types, variable_state **state,
				     sp_error *err)
{
	*state = sp_prepare_state(prepare, sizeof(**state));
	SP_NEED_MEMORY(*state, err, "an operator");
	return sp_prepare_types(prepare, types, err);
}

static sp_status prepare_read(sp_prepare *prepare, sp_error *err)
{
	variable_state *state;

	SP_TRY(prepare_on_variable(prepare, "resource -> @dtype", &state, err));
	state->dtype = prepare->out_dtypes[0];
	return SP_OK;
}

static sp_status run_read(const sp_call *call)
{
	const variable_state *state = call->state;
	sp_resource *resource;

	SP_TRY(find_value(call, state->dtype, &resource));
	*call->out[0] = resource->variable;
	call->out[0]->block = NULL;
	return SP_OK;
}

static sp_status prepare_assign(sp_prepare *prepare, sp_error *err)
{
	variable_state *state;

	SP_TRY(prepare_on_variable(prepare, "resource any ->", &state, err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", prepare->in_dtypes[1], &state->dtype,
				 err));
	return sp_prepare_input_dtype(prepare, 1, state->dtype, err);
}

static sp_status run_assign(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_variable(call, &resource));
	return sp_resource_assign(call->resources, resource, call->in[1], call->err);
}

#define COMBINE(type, wide)                                                  \
	do {                                                                 \
		const type *a = old->data, *b = change->data;                \
		type *c = out->data;                                         \
                                                                             \
		for (size_t i = 0; i < out->count; i++)                      \
			c[i] = (type)((wide)a[i] + (wide)b[i] * (wide)sign); \
	} while (0)

#define COMBINE_SHORT(to_float, from_float)                                               \
	do {                                                                              \
		const uint16_t *a = old->data, *b = change->data;                         \
		uint16_t *c = out->data;                                                  \
                                                                                          \
		for (size_t i = 0; i < out->count; i++)                                   \
			c[i] = from_float(to_float(a[i]) + to_float(b[i]) * (float)sign); \
	} while (0)

/* out = old + sign * change; integers wrap around. */
static sp_status combine(const sp_call *call, const sp_tensor *old, const sp_tensor *change,
			 int sign, sp_tensor *out)
{
	switch (old->dtype) {
	case SP_FLOAT:
		COMBINE(float, float);
		return SP_OK;
	case SP_DOUBLE:
		COMBINE(double, double);
		return SP_OK;
	case SP_COMPLEX64:
		COMBINE(float complex, float complex);
		return SP_OK;
	case SP_COMPLEX128:
		COMBINE(double complex, double complex);
		return SP_OK;
	case SP_HALF:
		COMBINE_SHORT(sp_half_to_float, sp_half_from_float);
		return SP_OK;
	case SP_BFLOAT16:
		COMBINE_SHORT(sp_bfloat16_to_float, sp_bfloat16_from_float);
		return SP_OK;
	case SP_INT8:
	case SP_UINT8:
		COMBINE(uint8_t, uint64_t);
		return SP_OK;
	case SP_INT16:
	case SP_UINT16:
		COMBINE(uint16_t, uint64_t);
		return SP_OK;
	case SP_INT32:
	case SP_UINT32:
		COMBINE(uint32_t, uint64_t);
		return SP_OK;
	case SP_INT64:
	case SP_UINT64:
		COMBINE(uint64_t, uint64_t);
		return SP_OK;
	default:
		return sp_error_set(call->err, SP_UNSUPPORTED, "adding %s is not supported",
				    sp_dtype_name(old->dtype));
	}
}

static sp_status assign_changed(const sp_call *call, int sign)
{
	const sp_tensor *change = call->in[1];
	sp_tensor sum;
	sp_resource *resource;

	SP_TRY(find_value(call, change->dtype, &resource));
	if (!sp_shape_equal(&resource->variable.shape, &change->shape)) {
		char have[SP_SHAPE_TEXT_SIZE], want[SP_SHAPE_TEXT_SIZE];

		return sp_call_invalid(call, "variable '%s' of shape %s cannot be changed by %s",
				       resource->name,
				       sp_shape_text(&resource->variable.shape, want),
				       sp_shape_text(&change->shape, have));
	}
	SP_TRY(sp_tensor_create(&sum, call->resources->arena, change->dtype, &change->shape,
				call->err));
	SP_TRY(combine(call, &resource->variable, change, sign, &sum));
	resource->variable = sum;
	return SP_OK;
}

static sp_status run_assign_add(const sp_call *call)
{
	return assign_changed(call, 1);
}

static sp_status run_assign_sub(const sp_call *call)
{
	return assign_changed(call, -1);
}

static sp_status run_is_initialized(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_variable(call, &resource));
	return sp_resource_handle__answer(call, sp_tensor_is_set(&resource->variable));
}

static sp_status prepare_shape(sp_prepare *prepare, sp_error *err)
{
	variable_state *state;

	SP_TRY(prepare_on_variable(prepare, "resource", &state, err));
	SP_TRY(sp_array__index_type(prepare, "out_type", SP_INT32, &state->dtype, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status run_shape(const sp_call *call)
{
	const variable_state *state = call->state;
	const sp_shape *shape;
	sp_resource *resource;

	SP_TRY(find_value(call, SP_INVALID_DTYPE, &resource));
	shape = &resource->variable.shape;
	SP_TRY(sp_call_output_vector(call, 0, state->dtype, shape->rank));
	for (int i = 0; i < shape->rank; i++) {
		if (state->dtype == SP_INT32 && shape->dims[i] > INT32_MAX)
			return sp_call_invalid(
				call, "dimension %d of '%s', %lld, does not fit into int32", i,
				resource->name, (long long)shape->dims[i]);
		sp_array__put_index(call->out[0], (size_t)i, shape->dims[i]);
	}
	return SP_OK;
}

SP_DEFINE_OP(VarHandleOp, NULL, 0, prepare_handle, sp_resource_handle__run);
SP_DEFINE_OP(ReadVariableOp, NULL, SP_OP_READS_VARIABLE, prepare_read, run_read);
SP_DEFINE_OP(AssignVariableOp, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_assign, run_assign);
SP_DEFINE_OP(AssignAddVariableOp, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_assign,
	     run_assign_add);
SP_DEFINE_OP(AssignSubVariableOp, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_assign,
	     run_assign_sub);
SP_DEFINE_TYPED_OP(VarIsInitializedOp, NULL, SP_OP_READS_VARIABLE, "resource -> bool",
		   run_is_initialized);
SP_DEFINE_TYPED_OP(IsVariableInitialized, NULL, SP_OP_READS_VARIABLE, "resource -> bool",
		   run_is_initialized);
SP_DEFINE_OP(VariableShape, NULL, SP_OP_READS_VARIABLE, prepare_shape, run_shape);
