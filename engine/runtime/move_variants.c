#include "engine/runtime/move_variants.h"

#include <string.h>

#include "engine/ops/list/list.h"

/* The type that stands for VARIANT while the operator runs. */
static const sp_dtype NUMBER = SP_UINT64;

typedef struct move_state {
	const sp_op *op;
	const void *state; /* the operator's own */
	const sp_dtype *out_dtypes;
} move_state;

sp_status sp_move_variants__prepare(sp_prepare *prepare, const sp_op *op, sp_error *err)
{
	move_state *state = sp_arena_zeros(prepare->arena, 1, sizeof(*state));
	sp_dtype *in_dtypes = sp_arena_array(prepare->arena, prepare->in_count, sizeof(*in_dtypes));
	sp_prepare inner = *prepare;

	SP_NEED_MEMORY(state != NULL && in_dtypes != NULL, err, "an operator");
	for (size_t i = 0; i < prepare->in_count; i++) {
		in_dtypes[i] = prepare->in_dtypes[i];
		if (in_dtypes[i] == SP_VARIANT)
			in_dtypes[i] = NUMBER;
	}
	inner.in_dtypes = in_dtypes;
	SP_TRY(op->prepare(&inner, err));
	SP_TRY(sp_prepare_outputs(prepare, inner.out_count, SP_VARIANT, err));
	for (size_t i = 0; i < inner.out_count; i++)
		if (inner.out_dtypes[i] != NUMBER)
			prepare->out_dtypes[i] = inner.out_dtypes[i];
	*state = (move_state){op, inner.state, inner.out_dtypes};
	prepare->state = state;
	return SP_OK;
}

/* The inputs with numbers in place of variants; number n stands for elements[n - 1]. */
typedef struct numbered {
	sp_tensor *tensors;
	const sp_tensor **in;
	const sp_tensor **elements;
	size_t count;
} numbered;

static sp_status number_input(const sp_call *call, size_t i, numbered *n)
{
	const sp_tensor *from = call->in[i];
	sp_tensor *to = &n->tensors[i];
	uint64_t *numbers;

	n->in[i] = from;
	if (from->dtype != SP_VARIANT)
		return SP_OK;
	SP_TRY(sp_workspace_tensor(call->workspace, to, NUMBER, &from->shape, call->err));
	numbers = to->data;
	for (size_t k = 0; k < from->count; k++) {
		n->elements[n->count++] = sp_variant_at(from, k);
		numbers[k] = n->count;
	}
	n->in[i] = to;
	return SP_OK;
}

static sp_status number_inputs(const sp_call *call, numbered *n)
{
	size_t all = 0;

	for (size_t i = 0; i < call->in_count; i++)
		if (call->in[i]->dtype == SP_VARIANT)
			all += call->in[i]->count;
	SP_CALL_ARRAY(n->tensors, call, call->in_count);
	SP_CALL_ARRAY(n->in, call, call->in_count);
	SP_CALL_ARRAY(n->elements, call, all);
	memset(n->tensors, 0, call->in_count * sizeof(*n->tensors));
	for (size_t i = 0; i < call->in_count; i++)
		SP_TRY(number_input(call, i, n));
	return SP_OK;
}

/* A number that is out of range is an unset element: the operator did not write it. */
static const sp_tensor *element(const numbered *n, uint64_t number)
{
	static const sp_tensor unset = {.dtype = SP_INVALID_DTYPE};

	return number - 1 < n->count ? n->elements[number - 1] : &unset;
}

/* Output i becomes the elements with the numbers that the operator wrote. */
static sp_status find_elements(const sp_call *call, size_t i, const numbered *n,
			       const sp_tensor *made)
{
	const uint64_t *numbers = made->data;

	if (made->shape.rank == 0) {
		if (!sp_tensor_is_set(element(n, numbers[0])))
			return sp_call_invalid(call, "a variant that was never set");
		*call->out[i] = *element(n, numbers[0]);
		sp_tensor_retain(call->out[i]);
		return SP_OK;
	}
	SP_TRY(sp_variants_create(call, i, &made->shape));
	for (size_t k = 0; k < made->count; k++)
		sp_variants_set(call->out[i], k, element(n, numbers[k]));
	return SP_OK;
}

/* Outputs of numbers are tensors of our own; a failed request releases them with its workspace. */
static sp_status run_inner(const sp_call *call, const numbered *n, sp_tensor *made)
{
	const move_state *state = call->state;
	sp_tensor **out;
	sp_call inner = *call;

	SP_CALL_ARRAY(out, call, call->out_count);
	for (size_t i = 0; i < call->out_count; i++) {
		made[i] = (sp_tensor){.dtype = SP_INVALID_DTYPE};
		out[i] = state->out_dtypes[i] == NUMBER ? &made[i] : call->out[i];
	}
	inner.state = state->state;
	inner.in = n->in;
	inner.in_dies = 0;
	inner.out = out;
	return state->op->run(&inner);
}

sp_status sp_move_variants__run(const sp_call *call)
{
	const move_state *state = call->state;
	sp_tensor *made;
	numbered n = {.count = 0};

	SP_CALL_ARRAY(made, call, call->out_count);
	SP_TRY(number_inputs(call, &n));
	SP_TRY(run_inner(call, &n, made));
	for (size_t i = 0; i < call->out_count; i++) {
		if (state->out_dtypes[i] != NUMBER)
			continue;
		SP_TRY(find_elements(call, i, &n, &made[i]));
		sp_workspace_release(call->workspace, &made[i]);
	}
	for (size_t i = 0; i < call->in_count; i++)
		if (sp_tensor_is_set(&n.tensors[i]))
			sp_workspace_release(call->workspace, &n.tensors[i]);
	return SP_OK;
}
