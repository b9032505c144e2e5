#include "engine/ops/math/add.h"
#include "engine/ops/math/list_sum.h"
#include "engine/ops/ops.h"

/*
 * AddN and AccumulateNV2: the sum of N tensors of one shape, or of N lists
 * (engine/ops/math/list_sum.h).
 *
 * Numerics: up to nine from left to right in the element type; of more as many so that eight at a
 * time are left, each of these summed by itself and then added.  Half and bfloat16 round after
 * every sum.  The sum grows in the bytes of the first input that nobody else needs any more; it and
 * input 0 change places.  TensorFlow does the same, but who still needs an input hangs on the order
 * in which it runs what does not wait for each other; floats are within n * 2^-24 * s of the exact
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

/* Whether no term is lost when the sum begins in the bytes of input i; both of two may be one. */
static bool is_shown_once(const sp_call *call, size_t i)
{
	for (size_t k = 0; k < call->in_count && call->in_count > 2; k++)
		if (k != i && call->in[k]->data == call->in[i]->data)
			return false;
	return true;
}

/* In the bytes of the first input that may be overwritten; *first becomes 0 when there is none. */
static sp_status make_output(const sp_call *call, size_t *first)
{
	sp_dtype dtype = call->in[0]->dtype;

	for (size_t i = 0; i < call->in_count; i++)
		if (sp_call_may_overwrite(call, i) && is_shown_once(call, i)) {
			*first = i;
			return sp_call_output_over(call, 0, i, dtype);
		}
	*first = 0;
	return sp_call_output(call, 0, dtype, &call->in[0]->shape);
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

/* Term i of the sum where inputs 0 and `first` change places. */
static const void *term(const sp_call *call, size_t i, size_t first)
{
	return call->in[i == 0 ? first : i == first ? 0 : i]->data;
}

/* Terms `from` ... `to` - 1, at least two. */
static void add_terms(const sp_call *call, size_t from, size_t to, size_t first, void *out)
{
	add(call, term(call, from, first), term(call, from + 1, first), out);
	for (size_t i = from + 2; i < to; i++)
		add(call, out, term(call, i, first), out);
}

/* The terms from `from` on, whose number is a multiple of TOGETHER, to what the output has. */
static sp_status add_groups(const sp_call *call, size_t from, size_t first)
{
	const sp_tensor *out = call->out[0];
	sp_tensor group;

	SP_TRY(sp_workspace_tensor(call->workspace, &group, out->dtype, &out->shape, call->err));
	for (size_t i = from; i < call->in_count; i += TOGETHER) {
		add_terms(call, i, i + TOGETHER, first, group.data);
		add(call, out->data, group.data, out->data);
	}
	sp_workspace_release(call->workspace, &group);
	return SP_OK;
}

static sp_status run_add_n(const sp_call *call)
{
	size_t before, first;

	if (call->in[0]->dtype == SP_VARIANT && call->in_count > 1)
		return sp_list__sum(call);
	SP_TRY(check_shapes(call));
	if (call->in_count == 1) {
		sp_call_forward(call, 0, 0, &call->in[0]->shape);
		return SP_OK;
	}
	SP_TRY(make_output(call, &first));
	before = call->in_count % TOGETHER;
	before = before < 2 ? before + TOGETHER : before;
	add_terms(call, 0, before, first, call->out[0]->data);
	return before < call->in_count ? add_groups(call, before, first) : SP_OK;
}

const sp_op sp_op_AddN = {.name = "AddN", .prepare = prepare_add_n, .run = run_add_n};
const sp_op sp_op_AccumulateNV2 = {
	.name = "AccumulateNV2", .prepare = prepare_add_n, .run = run_add_n};
