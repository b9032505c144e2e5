#include "engine/ops/math/binary.h"

#include <string.h>

sp_status sp_binary__prepare_state(sp_prepare *prepare, const sp_binary *binary,
				   sp_binary_state *state, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "T T", err));
	dtype = prepare->in_dtypes[0];
	state->binary = binary;
	state->kernel = binary->kernels[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	state->result = binary->result != SP_INVALID_DTYPE ? binary->result : dtype;
	return sp_prepare_outputs(prepare, 1, state->result, err);
}

sp_status sp_binary__prepare(sp_prepare *prepare, const sp_binary *binary, sp_error *err)
{
	sp_binary_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	return sp_binary__prepare_state(prepare, binary, state, err);
}

/* Each block is read before its result is written, so the result may be in place. */
void sp_binary__by_float(const sp_binary_run *run, sp_binary_fn *floats, sp_widen_fn *widen,
			 sp_narrow_fn *narrow)
{
	enum { BLOCK = 512 };
	const uint16_t *x = run->left, *y = run->right;
	float left[BLOCK], right[BLOCK];
	sp_binary_run part = {left, right, left, 0, run->left_step, run->right_step};

	if (run->count != 0 && run->right_step == 0)
		widen(y, right, 1);
	for (size_t i = 0; i < run->count; i += part.count) {
		part.count = run->count - i < BLOCK ? run->count - i : BLOCK;
		widen(x + i * run->left_step, left, run->left_step == 0 ? 1 : part.count);
		if (run->right_step != 0)
			widen(y + i, right, part.count);
		floats(&part);
		narrow(left, (uint16_t *)run->out + i, part.count);
	}
}

/* ------------------------------------------------- costly kernels, short runs */

enum { PIECE = 512 };

/* A position in a broadcast that may lie within a run. */
typedef struct walk {
	sp_broadcast *b;
	size_t used; /* elements of the current run */
} walk;

static void spread(float *to, const float *from, size_t step, size_t count)
{
	if (step != 0)
		memcpy(to, from, count * sizeof(*to));
	else
		for (size_t i = 0; i < count; i++)
			to[i] = *from;
}

/* Copies the next `count` elements of both operands, broadcast, to x and y. */
static void gather(walk *w, const float *left, const float *right, float *x, float *y, size_t count)
{
	sp_broadcast *b = w->b;

	for (size_t i = 0, n; i < count; i += n) {
		n = b->run - w->used < count - i ? b->run - w->used : count - i;
		spread(x + i, left + b->at[0] + w->used * b->step[0], b->step[0], n);
		spread(y + i, right + b->at[1] + w->used * b->step[1], b->step[1], n);
		w->used += n;
		if (w->used == b->run) {
			w->used = 0;
			sp_broadcast__next(b);
		}
	}
}

/* Each piece is read before its results are written, so the result may be in place. */
static void run_pieces(const sp_call *call, sp_broadcast *b, const sp_binary_state *state)
{
	const float *left = call->in[0]->data, *right = call->in[1]->data;
	float *out = call->out[0]->data, x[PIECE], y[PIECE];
	size_t count = call->out[0]->count;
	walk w = {.b = b};

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < PIECE ? count - i : PIECE;
		gather(&w, left, right, x, y, n);
		state->kernel(&(sp_binary_run){x, y, out + i, n, 1, 1});
	}
}

/* ------------------------------------------------------------------- run */

sp_status sp_binary__run(const sp_call *call)
{
	const sp_binary_state *state = call->state;
	const char *left = call->in[0]->data, *right = call->in[1]->data;
	size_t in_size = sp_dtype_size(call->in[0]->dtype), out_size = sp_dtype_size(state->result);
	const char *complaint = NULL;
	sp_broadcast b;

	SP_TRY(sp_broadcast__init(&b, call, 2));
	SP_TRY(sp_broadcast__output(&b, call, state->result));
	if (state->binary->complaint != NULL && call->out[0]->count > 0)
		complaint = state->binary->complaint(call->in[1]);
	if (complaint != NULL)
		return sp_call_invalid(call, "%s", complaint);
	sp_broadcast__start(&b);
	if (b.more && b.rank > 0 && state->binary->is_costly && call->in[0]->dtype == SP_FLOAT) {
		run_pieces(call, &b, state);
		return SP_OK;
	}
	for (; b.more; sp_broadcast__next(&b)) {
		sp_binary_run run = {.left = left + b.at[0] * in_size,
				     .right = right + b.at[1] * in_size,
				     .out = (char *)call->out[0]->data + b.out * out_size,
				     .count = b.run,
				     .left_step = b.step[0],
				     .right_step = b.step[1]};

		state->kernel(&run);
	}
	return SP_OK;
}
