#include "engine/ops/list/list.h"

/*
 * Stacks of tensors, which gradients of loops from before functions are made of: the loop pushes
 * what the loop of its gradient will need, and that one pops it.
 *
 * Unlike other lists a stack is an object that changes: all copies of its handle lead to the same
 * one.  The handle is a list of one element, the list of what was pushed, which is unset once the
 * stack is closed.  Pushing and popping are done in the order of the graph, as its control edges
 * say it.  Elements are tensors, not lists, so that no stack can come into itself.
 *
 * With a largest size (none where it is negative) more than that is refused; so is popping from an
 * empty stack, using a closed one, and elements of another type than the stack's.  The operators
 * without a number at the end have a reference to a text as handle, which is the same here.
 */
static sp_status prepare_element(const sp_prepare *prepare, const char *name, sp_dtype *out,
				 sp_error *err)
{
	SP_TRY(sp_node_attr_type(prepare->node, name, SP_INVALID_DTYPE, out, err));
	if (*out == SP_VARIANT || sp_dtype_size(*out) == 0)
		return sp_prepare_unsupported(prepare, *out, err);
	return SP_OK;
}

static sp_status prepare_new(sp_prepare *prepare, size_t inputs, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare_new(prepare, inputs, NULL, &state, err));
	SP_TRY(prepare_element(prepare, "elem_type", &state->dtype, err));
	if (inputs != 0)
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status prepare_stack(sp_prepare *prepare, sp_error *err)
{
	return prepare_new(prepare, 1, err);
}

static sp_status prepare_old_stack(sp_prepare *prepare, sp_error *err)
{
	return prepare_new(prepare, 0, err);
}

static sp_list like_stack(const sp_call *call)
{
	const sp_list_state *state = call->state;

	return (sp_list){.dtype = state->dtype, .shape = {.rank = -1}, .max_count = -1};
}

static sp_status run_stack(const sp_call *call)
{
	enum { AT_FIRST = 8 };
	sp_list like = like_stack(call);
	sp_tensor elements;
	sp_status status;

	if (call->in_count != 0) {
		if (!sp_tensor_is_scalar(call->in[0]))
			return sp_call_invalid(call, "Stack size must be a scalar");
		like.max_count = *sp_tensor_i32(call->in[0]);
	}
	SP_TRY(sp_list_new(call, &elements, &like, 0, AT_FIRST));
	like.kind = SP_LIST_STACK;
	status = sp_list_create(call, 0, &like, 1, 1);
	if (status == SP_OK)
		sp_list_set(call, sp_tensor_list(call->out[0]), 0, &elements);
	sp_workspace_release(call->workspace, &elements);
	return status;
}

/* The stack of input 0 and its elements. */
static sp_status find_stack(const sp_call *call, sp_list **stack, sp_list **elements)
{
	const sp_list_state *state = call->state;
	const sp_tensor *handle = call->in[0];

	if (handle->shape.rank != 0 || sp_tensor_list(handle)->kind != SP_LIST_STACK)
		return sp_call_invalid(call, "input 0 is not a stack");
	*stack = sp_tensor_list(handle);
	if (!sp_tensor_is_set(&(*stack)->items[0]))
		return sp_call_invalid(call, "the stack has already been closed");
	if (state != NULL && state->dtype != (*stack)->dtype)
		return sp_call_invalid(call, "elements of %s for a stack of %s",
				       sp_dtype_name(state->dtype), sp_dtype_name((*stack)->dtype));
	*elements = sp_tensor_list(&(*stack)->items[0]);
	return SP_OK;
}

/* ------------------------------------------------------------ one element */

static sp_status prepare_push(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, 2, 0, NULL, &state, err));
	SP_TRY(prepare_element(prepare, "T", &state->dtype, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->dtype, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

/* The elements in a list of twice the size, which takes the place of theirs. */
static sp_status grow(const sp_call *call, sp_list *stack, sp_list **elements)
{
	const sp_list *old = *elements;
	sp_tensor grown;
	sp_list *to;

	SP_TRY(sp_list_new(call, &grown, old, 0, 2 * old->capacity));
	to = sp_tensor_list(&grown);
	for (; to->count < old->count; to->count++) {
		to->items[to->count] = old->items[to->count];
		sp_tensor_retain(&to->items[to->count]);
	}
	sp_list_set(call, stack, 0, &grown);
	sp_workspace_release(call->workspace, &grown);
	*elements = to;
	return SP_OK;
}

static sp_status run_push(const sp_call *call)
{
	sp_list *stack, *elements;

	SP_TRY(find_stack(call, &stack, &elements));
	if (elements->max_count >= 0 && elements->count >= (uint64_t)elements->max_count)
		return sp_call_invalid(call, "the stack overflowed its max_size (%lld)",
				       (long long)elements->max_count);
	if (elements->count == elements->capacity)
		SP_TRY(grow(call, stack, &elements));
	elements->items[elements->count] = (sp_tensor){0};
	sp_list_set(call, elements, elements->count++, call->in[1]);
	sp_list__give(call, 0, call->in[1]);
	return SP_OK;
}

static sp_status prepare_pop(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, 1, 0, NULL, &state, err));
	SP_TRY(prepare_element(prepare, "elem_type", &state->dtype, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status run_pop(const sp_call *call)
{
	sp_list *stack, *elements;

	SP_TRY(find_stack(call, &stack, &elements));
	if (elements->count == 0)
		return sp_call_invalid(call, "the stack is empty when calling Pop()");
	sp_list__give(call, 0, &elements->items[--elements->count]);
	sp_list_set(call, elements, elements->count, NULL);
	return SP_OK;
}

static sp_status prepare_close(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
}

static sp_status run_close(const sp_call *call)
{
	sp_list *stack, *elements;

	SP_TRY(find_stack(call, &stack, &elements));
	sp_list_set(call, stack, 0, NULL);
	return SP_OK;
}

#define STACK(op, prepare_op, run_op) \
	const sp_op sp_op_##op = {    \
		.name = #op, .flags = SP_OP_STATEFUL, .prepare = prepare_op, .run = run_op}

STACK(Stack, prepare_old_stack, run_stack);
STACK(StackClose, prepare_close, run_close);
STACK(StackCloseV2, prepare_close, run_close);
STACK(StackPop, prepare_pop, run_pop);
STACK(StackPopV2, prepare_pop, run_pop);
STACK(StackPush, prepare_push, run_push);
STACK(StackPushV2, prepare_push, run_push);
STACK(StackV2, prepare_stack, run_stack);
