#include "engine/ops/math/add.h"
#include "engine/ops/math/list_sum.h"

/*
 * AddN and AccumulateNV2: the sum of N tensors of one shape, or of N lists
 * (engine/ops/math/list_sum.h).
 *
 * Numerics: from left to right in the element type, half and bfloat16 being rounded after every
 * addition.  The sum is accumulated in the buffer of the first input that may be overwritten; this
 * input and input 0 are then exchanged in the order of addition.  For n float terms the error is at
 * most n * 2^-24 times the sum of their absolute values.
 */
static sp_status prepare_add_n(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "T+ -> T", err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_VARIANT && sp_add__binary.kernels[dtype] == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return SP_OK;
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

/*
 * Whether overwriting input i leaves all later terms intact: no other input shares its buffer.
 * Two inputs may share one, because both are read before the sum is written.
 */
static bool has_own_buffer(const sp_call *call, size_t i)
{
	for (size_t k = 0; k < call->in_count && call->in_count > 2; k++)
		if (k != i && call->in[k]->data == call->in[i]->data)
			return false;
	return true;
}

/* Takes the buffer of the first input that may be overwritten; without one *first becomes 0. */
static sp_status make_output(const sp_call *call, size_t *first)
{
	sp_dtype dtype = call->in[0]->dtype;

	for (size_t i = 0; i < call->in_count; i++)
		if (sp_call_may_overwrite(call, i) && has_own_buffer(call, i)) {
			*first = i;
			return sp_call_output_over(call, 0, i, dtype);
		}
	*first = 0;
	return sp_call_output(call, 0, dtype, &call->in[0]->shape);
}

/* Term i of the sum, with inputs 0 and `first` exchanged. */
static const void *term(const sp_call *call, size_t i, size_t first)
{
	return call->in[i == 0 ? first : i == first ? 0 : i]->data;
}

static sp_status run_add_n(const sp_call *call)
{
	sp_binary_fn *add = sp_add__binary.kernels[call->in[0]->dtype];
	size_t first;

	if (call->in[0]->dtype == SP_VARIANT && call->in_count > 1)
		return sp_list__sum(call);
	SP_TRY(check_shapes(call));
	if (call->in_count == 1) {
		sp_call_forward(call, 0, 0, &call->in[0]->shape);
		return SP_OK;
	}
	SP_TRY(make_output(call, &first));
	for (size_t i = 1; i < call->in_count; i++)
		add(&(sp_binary_run){.left = i == 1 ? term(call, 0, first) : call->out[0]->data,
				     .right = term(call, i, first),
				     .out = call->out[0]->data,
				     .count = call->out[0]->count,
				     .left_step = 1,
				     .right_step = 1});
	return SP_OK;
}

SP_DEFINE_OP(AddN, NULL, 0, prepare_add_n, run_add_n);
SP_DEFINE_OP(AccumulateNV2, NULL, 0, prepare_add_n, run_add_n);
