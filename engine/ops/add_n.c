#include "engine/ops.h"
#include "engine/ops/add.h"
#include "engine/ops/list_sum.h"

/*
 * AddN and AccumulateNV2: the sum of N tensors of one shape, or of N lists (engine/ops/list_sum.h).
 *
 * Numerics: up to nine from left to right in the element type; of more as many so that eight at a
 * time are left, each of these summed by itself and then added.  Half and bfloat16 round after
 * every sum.  TensorFlow starts with another input than the first where it sums in that one's
 * bytes, which depends on who else still reads them; floats are within n * 2^-24 * s of the exact
 * sum, s being the sum of the n terms' sizes.
 */
enum { TOGETHER = 8 };

typedef struct add_n_state {
	sp_binary_fn *add;
} add_n_state;

static sp_status prepare_add_n(sp_prepare *prepare, sp_error *err)
{
	add_n_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	if (prepare->in_count == 0)
		return sp_error_set(err, SP_INVALID, "%s takes at least one input",
				    prepare->node->op_name);
	dtype = prepare->in_dtypes[0];
	for (size_t i = 1; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, dtype, err));
	if (dtype == SP_VARIANT)
		return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
	state->add = sp_add__binary.kernels[dtype];
	if (state->add == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status check_shapes(const sp_call *call)
{
	const sp_shape *first = &call->in[0]->shape;
	char first_text[SP_SHAPE_TEXT_SIZE], text[SP_SHAPE_TEXT_SIZE];

	for (size_t i = 1; i < call->in_count; i++)
		if (!sp_shape_equal(first, &call->in[i]->shape))
			return sp_call_invalid(
				call,
				"inputs must have the same shape: input 0 is %s, input %zu is %s",
				sp_shape_text(first, first_text), i,
				sp_shape_text(&call->in[i]->shape, text));
	return SP_OK;
}

/* The sum grows in the bytes of input 0, unless a later input shows the same bytes. */
static sp_status make_output(const sp_call *call)
{
	const sp_tensor *first = call->in[0];

	for (size_t i = 2; i < call->in_count; i++)
		if (call->in[i]->data == first->data)
			return sp_call_output(call, 0, first->dtype, &first->shape);
	return sp_call_output_over(call, 0, 0, first->dtype);
}

static void add(const sp_call *call, const void *left, const void *right, void *out)
{
	const add_n_state *state = call->state;

	state->add(&(sp_binary_run){.left = left,
				    .right = right,
				    .out = out,
				    .count = call->out[0]->count,
				    .left_step = 1,
				    .right_step = 1});
}

/* Inputs `from` ... `to` - 1, at least two. */
static void add_inputs(const sp_call *call, size_t from, size_t to, void *out)
{
	add(call, call->in[from]->data, call->in[from + 1]->data, out);
	for (size_t i = from + 2; i < to; i++)
		add(call, out, call->in[i]->data, out);
}

/* The inputs from `first` on, whose number is a multiple of TOGETHER, to what the output has. */
static sp_status add_groups(const sp_call *call, size_t first)
{
	const sp_tensor *out = call->out[0];
	sp_tensor group;

	SP_TRY(sp_workspace_tensor(call->workspace, &group, out->dtype, &out->shape, call->err));
	for (size_t i = first; i < call->in_count; i += TOGETHER) {
		add_inputs(call, i, i + TOGETHER, group.data);
		add(call, out->data, group.data, out->data);
	}
	sp_workspace_release(call->workspace, &group);
	return SP_OK;
}

static sp_status run_add_n(const sp_call *call)
{
	size_t first;

	if (call->in[0]->dtype == SP_VARIANT && call->in_count > 1)
		return sp_list__sum(call);
	SP_TRY(check_shapes(call));
	if (call->in_count == 1) {
		sp_call_forward(call, 0, 0, &call->in[0]->shape);
		return SP_OK;
	}
	SP_TRY(make_output(call));
	first = call->in_count % TOGETHER;
	first = first < 2 ? first + TOGETHER : first;
	add_inputs(call, 0, first, call->out[0]->data);
	return first < call->in_count ? add_groups(call, first) : SP_OK;
}

const sp_op sp_op_AddN = {.name = "AddN", .prepare = prepare_add_n, .run = run_add_n};
const sp_op sp_op_AccumulateNV2 = {
	.name = "AccumulateNV2", .prepare = prepare_add_n, .run = run_add_n};
