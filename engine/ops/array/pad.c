#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Pad, PadV2: surrounds the input with a constant (zero, or the third input); paddings[d] =
 * {before, after}. MirrorPad: reflects the input at its edge; the edge element is repeated
 * (SYMMETRIC) or not (REFLECT).
 */

typedef struct mirror_state {
	int64_t edge; /* 1: the edge element is not repeated (REFLECT) */
} mirror_state;

typedef struct pad_plan {
	sp_shape shape;
	int64_t before[SP_MAX_RANK];
	int64_t after[SP_MAX_RANK];
	int64_t strides[SP_MAX_RANK]; /* of the output */
	char *inner;                  /* the element of the output where the input begins */
} pad_plan;

static sp_status prepare_pad(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 2, err));
	return sp_prepare_input_index(prepare, 1, err);
}

static sp_status prepare_pad_v2(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 3, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	return sp_prepare_input_dtype(prepare, 2, prepare->in_dtypes[0], err);
}

static sp_status prepare_mirror(sp_prepare *prepare, sp_error *err)
{
	mirror_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes mode;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_node_attr_bytes(prepare->node, "mode", "", &mode, err));
	state->edge = sp_bytes_equal_text(mode, "REFLECT");
	if (state->edge == 0 && !sp_bytes_equal_text(mode, "SYMMETRIC"))
		return sp_error_set(err, SP_INVALID, "mode is neither REFLECT nor SYMMETRIC");
	return prepare_pad(prepare, err);
}

static sp_status read_paddings(const sp_call *call, pad_plan *plan)
{
	const sp_tensor *in = call->in[0], *paddings = call->in[1];
	char text[SP_SHAPE_TEXT_SIZE];
	int rank = in->shape.rank;

	if (paddings->shape.rank != 2 || paddings->shape.dims[0] != rank ||
	    paddings->shape.dims[1] != 2)
		return sp_call_invalid(call, "paddings must have the shape [%d,2], not %s", rank,
				       sp_shape_text(&paddings->shape, text));
	plan->shape.rank = rank;
	for (int d = 0; d < rank; d++) {
		int64_t before = sp_tensor_index(paddings, 2 * (size_t)d);
		int64_t after = sp_tensor_index(paddings, 2 * (size_t)d + 1);

		if (before < 0 || after < 0)
			return sp_call_invalid(call, "paddings[%d] is {%lld, %lld}", d,
					       (long long)before, (long long)after);
		plan->before[d] = before;
		plan->after[d] = after;
		if (!sp_i64_add(&before, before, after) ||
		    !sp_i64_add(&plan->shape.dims[d], in->shape.dims[d], before))
			return sp_call_invalid(call, "paddings[%d] is too large", d);
	}
	return SP_OK;
}

/* Creates the output and computes where the input begins in it. */
static sp_status make_output(const sp_call *call, pad_plan *plan)
{
	const sp_tensor *in = call->in[0];

	SP_TRY(sp_call_output(call, 0, in->dtype, &plan->shape));
	sp_strided_copy__strides(&plan->shape, sp_dtype_size(in->dtype), plan->strides);
	plan->inner = call->out[0]->data;
	for (int d = 0; d < plan->shape.rank; d++)
		plan->inner += plan->before[d] * plan->strides[d];
	return SP_OK;
}

static void copy_inner(const sp_call *call, const pad_plan *plan)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	sp_strided_copy copy = {.rank = in->shape.rank};

	memcpy(copy.dims, in->shape.dims, sizeof(in->shape.dims));
	memcpy(copy.to, plan->strides, sizeof(plan->strides));
	sp_strided_copy__strides(&in->shape, size, copy.from);
	sp_strided_copy__run(&copy, plan->inner, in->data, size);
}

/* Pads with `value`; NULL: zeros. */
static sp_status run(const sp_call *call, const void *value)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	pad_plan plan;

	SP_TRY(read_paddings(call, &plan));
	if (sp_shape_equal(&plan.shape, &in->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(make_output(call, &plan));
	if (value == NULL)
		memset(call->out[0]->data, 0, call->out[0]->count * size);
	else
		sp_elements__fill(call->out[0]->data, call->out[0]->count, value, size);
	if (in->count != 0)
		copy_inner(call, &plan);
	return SP_OK;
}

static sp_status run_pad(const sp_call *call)
{
	return run(call, NULL);
}

static sp_status run_pad_v2(const sp_call *call)
{
	SP_TRY(sp_array__need_rank(call, 2, 0));
	return run(call, call->in[2]->data);
}

/* --------------------------------------------------------------- MirrorPad */

static sp_status check_mirror(const sp_call *call, const pad_plan *plan)
{
	const mirror_state *state = call->state;

	for (int d = 0; d < plan->shape.rank; d++) {
		int64_t most = call->in[0]->shape.dims[d] - state->edge;

		if (plan->before[d] > most || plan->after[d] > most)
			return sp_call_invalid(call,
					       "paddings[%d] is {%lld, %lld} for a dimension "
					       "of %lld",
					       d, (long long)plan->before[d],
					       (long long)plan->after[d],
					       (long long)call->in[0]->shape.dims[d]);
	}
	return SP_OK;
}

/*
 * Mirrors both ends of dimension d.  Earlier dimensions are complete; later ones still have the
 * size of the input.
 */
static void mirror(const sp_call *call, const pad_plan *plan, int d)
{
	const mirror_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape;
	size_t size = sp_dtype_size(call->in[0]->dtype);
	int64_t step = plan->strides[d];
	sp_strided_copy copy = {.rank = plan->shape.rank};
	char *first = plan->inner, *last;

	for (int e = 0; e < copy.rank; e++) {
		copy.dims[e] = e < d ? plan->shape.dims[e] : in->dims[e];
		copy.to[e] = copy.from[e] = plan->strides[e];
		if (e < d)
			first -= plan->before[e] * plan->strides[e];
	}
	last = first + (in->dims[d] - 1) * step;
	copy.to[d] = -step;
	copy.dims[d] = plan->before[d];
	if (plan->before[d] != 0)
		sp_strided_copy__run(&copy, first - step, first + state->edge * step, size);
	copy.to[d] = step;
	copy.from[d] = -step;
	copy.dims[d] = plan->after[d];
	if (plan->after[d] != 0)
		sp_strided_copy__run(&copy, last + step, last - state->edge * step, size);
}

static sp_status run_mirror(const sp_call *call)
{
	pad_plan plan;

	SP_TRY(read_paddings(call, &plan));
	SP_TRY(check_mirror(call, &plan));
	if (sp_shape_equal(&plan.shape, &call->in[0]->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(make_output(call, &plan));
	if (call->in[0]->count == 0)
		return SP_OK;
	copy_inner(call, &plan);
	for (int d = 0; d < plan.shape.rank; d++)
		mirror(call, &plan, d);
	return SP_OK;
}

SP_DEFINE_OP(MirrorPad, NULL, 0, prepare_mirror, run_mirror);
SP_DEFINE_OP(Pad, NULL, 0, prepare_pad, run_pad);
SP_DEFINE_OP(PadV2, NULL, 0, prepare_pad_v2, run_pad_v2);
