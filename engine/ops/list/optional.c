#include "engine/ops/list/list.h"

/*
 * OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue: one value that holds a tuple
 * of tensors, or nothing.
 */
static const sp_list nothing = {
	.dtype = SP_VARIANT, .shape = {.rank = -1}, .max_count = -1, .kind = SP_LIST_OPTIONAL};

static sp_status run_from(const sp_call *call)
{
	SP_TRY(sp_list_new(call, call->out[0], &nothing, call->in_count, call->in_count));
	for (size_t i = 0; i < call->in_count; i++) {
		SP_TRY(sp_list_check_depth(call, call->in[i]));
		sp_list_set(call, sp_tensor_list(call->out[0]), i, call->in[i]);
	}
	return SP_OK;
}

static sp_status run_none(const sp_call *call)
{
	return sp_list_new(call, call->out[0], &nothing, 0, 0);
}

static sp_status input(const sp_call *call, const sp_list **out)
{
	*out = call->in[0]->shape.rank == 0 ? sp_tensor_list(call->in[0]) : NULL;
	if (*out != NULL && (*out)->kind == SP_LIST_OPTIONAL)
		return SP_OK;
	return sp_call_invalid(call, "the input is not an optional");
}

static sp_status run_has(const sp_call *call)
{
	const sp_list *list;

	SP_TRY(input(call, &list));
	SP_TRY(sp_call_output_scalar(call, 0, SP_BOOL));
	*sp_tensor_bool(call->out[0]) = list->count != 0;
	return SP_OK;
}

typedef struct get_state {
	const sp_attr *types, *shapes;
} get_state;

static sp_status prepare_get(sp_prepare *prepare, sp_error *err)
{
	get_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "variant", err));
	SP_TRY(sp_node_attr_list(prepare->node, "output_types", SP_ATTR_TYPE, &state->types, err));
	SP_TRY(sp_node_attr_list(prepare->node, "output_shapes", SP_ATTR_SHAPE, &state->shapes,
				 err));
	if (state->types->count == 0 || state->types->count != state->shapes->count)
		return sp_error_set(err, SP_INVALID, "%zu output_types for %zu output_shapes",
				    state->types->count, state->shapes->count);
	SP_TRY(sp_prepare_outputs(prepare, state->types->count, SP_VARIANT, err));
	for (size_t i = 0; i < state->types->count; i++)
		prepare->out_dtypes[i] = state->types->type_list[i];
	return SP_OK;
}

static sp_status run_get(const sp_call *call)
{
	const get_state *state = call->state;
	char text[SP_SHAPE_TEXT_SIZE];
	const sp_list *list;

	SP_TRY(input(call, &list));
	if (list->count == 0)
		return sp_call_invalid(call, "The given optional does not have a value.");
	if (list->count != call->out_count)
		return sp_call_invalid(call, "The given optional has %zu components, expected %zu.",
				       list->count, call->out_count);
	for (size_t i = 0; i < list->count; i++) {
		const sp_tensor *item = &list->items[i];

		if (item->dtype != state->types->type_list[i] ||
		    !sp_partial_shape_matches(&state->shapes->shape_list[i], &item->shape))
			return sp_call_invalid(call, "component %zu of the optional is %s %s", i,
					       sp_dtype_name(item->dtype),
					       sp_shape_text(&item->shape, text));
		sp_list__give(call, i, item);
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(OptionalFromValue, "optional", SP_OP_PER_REQUEST, "any+ -> variant", run_from);
SP_DEFINE_TYPED_OP(OptionalNone, "optional", SP_OP_PER_REQUEST, "-> variant", run_none);
SP_DEFINE_TYPED_OP(OptionalHasValue, "has_value", SP_OP_PER_REQUEST, "variant -> bool", run_has);
SP_DEFINE_OP(OptionalGetValue, "components:output_types", SP_OP_PER_REQUEST, prepare_get, run_get);
