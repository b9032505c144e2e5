#include <string.h>

#include "engine/ops/math/broadcast.h"
#include "engine/ops/math/select.h"

/*
 * Select and SelectV2: from `then` where the condition holds, else from `else`.
 *
 * SelectV2 broadcasts all three.  In Select, `then` and `else` have one shape;
 * the condition has it too, or is a scalar, or a vector that decides row by row.
 */
typedef struct select_state {
	sp_select_fn *kernel;
	size_t size; /* of an element */
} select_state;

#define SELECT(name, type)                                                   \
	static void name(const sp_select_run *run)                           \
	{                                                                    \
		const bool *condition = run->condition;                      \
		const type *yes = run->yes, *no = run->no;                   \
		size_t c = run->step[0], y = run->step[1], n = run->step[2]; \
		size_t count = run->count;                                   \
		type *out = run->out;                                        \
                                                                             \
		for (size_t i = 0; i < count; i++)                           \
			out[i] = condition[i * c] ? yes[i * y] : no[i * n];  \
	}

/* An element of 16 bytes: kernels depend on the element size only. */
typedef struct wide {
	uint64_t halves[2];
} wide;

SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)
SELECT(select_16, wide)

sp_select_fn *sp_select__find(size_t size)
{
	switch (size) {
	case 1:
		return select_1;
	case 2:
		return select_2;
	case 4:
		return select_4;
	case 8:
		return select_8;
	case 16:
		return select_16;
	default:
		return NULL;
	}
}

static sp_status prepare_select(sp_prepare *prepare, sp_error *err)
{
	select_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "bool T T -> T", err));
	dtype = prepare->in_dtypes[1];
	state->size = sp_dtype_size(dtype);
	state->kernel = sp_select__find(state->size);
	return state->kernel != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status run_select_v2(const sp_call *call)
{
	const select_state *state = call->state;
	const bool *condition = sp_tensor_bool(call->in[0]);
	const char *yes = call->in[1]->data, *no = call->in[2]->data;
	size_t size = state->size;
	sp_broadcast b;

	SP_TRY(sp_broadcast__init(&b, call, 3));
	SP_TRY(sp_broadcast__output(&b, call, call->in[1]->dtype));
	for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b)) {
		sp_select_run run = {.condition = condition + b.at[0],
				     .yes = yes + b.at[1] * size,
				     .no = no + b.at[2] * size,
				     .out = (char *)call->out[0]->data + b.out * size,
				     .count = b.run,
				     .step = b.step};

		state->kernel(&run);
	}
	return SP_OK;
}

static sp_status select_rows(const sp_call *call)
{
	const select_state *state = call->state;
	const sp_tensor *condition = call->in[0];
	sp_tensor *out = call->out[0];
	size_t row;

	SP_TRY(sp_call_output(call, 0, call->in[1]->dtype, &call->in[1]->shape));
	if (out->count == 0)
		return SP_OK;
	row = out->count / condition->count * state->size;
	for (size_t i = 0; i < condition->count; i++) {
		const sp_tensor *from = call->in[sp_tensor_bool(condition)[i] ? 1 : 2];

		memcpy((char *)out->data + i * row, (const char *)from->data + i * row, row);
	}
	return SP_OK;
}

static sp_status run_select(const sp_call *call)
{
	const sp_shape *condition = &call->in[0]->shape, *yes = &call->in[1]->shape;
	const sp_shape *no = &call->in[2]->shape;
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	if (!sp_shape_equal(yes, no))
		return sp_call_invalid(call, "'then' of shape %s and 'else' of %s differ",
				       sp_shape_text(yes, a), sp_shape_text(no, b));
	if (condition->rank == 0) {
		sp_call_forward(call, 0, *sp_tensor_bool(call->in[0]) ? 1 : 2, yes);
		return SP_OK;
	}
	if (sp_shape_equal(condition, yes))
		return run_select_v2(call);
	if (condition->rank == 1 && yes->rank > 1 && condition->dims[0] == yes->dims[0])
		return select_rows(call);
	return sp_call_invalid(call, "a condition of shape %s does not fit shape %s",
			       sp_shape_text(condition, a), sp_shape_text(yes, b));
}

SP_DEFINE_OP(Select, NULL, SP_OP_MOVES, prepare_select, run_select);
SP_DEFINE_OP(SelectV2, NULL, SP_OP_MOVES, prepare_select, run_select_v2);
