#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Pack: N tensors of one shape become one, with a new dimension of N at `axis`.
 * Unpack: the reverse.
 */

typedef struct pack_state {
	int64_t axis;
} pack_state;

static sp_status read_axis(sp_prepare *prepare, sp_error *err)
{
	pack_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	return sp_node_attr_int(prepare->node, "axis", 0, &state->axis, err);
}

/* ------------------------------------------------------------------- Pack */

static sp_status prepare_pack(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(read_axis(prepare, err));
	return sp_prepare_types(prepare, "E+ -> E", err);
}

static sp_status check_same_shapes(const sp_call *call)
{
	char text[SP_SHAPE_TEXT_SIZE], other_text[SP_SHAPE_TEXT_SIZE];
	const sp_shape *first = &call->in[0]->shape;

	for (size_t i = 1; i < call->in_count; i++)
		if (!sp_shape_equal(&call->in[i]->shape, first))
			return sp_call_invalid(call, "value 0 has shape %s, value %zu has %s",
					       sp_shape_text(first, text), i,
					       sp_shape_text(&call->in[i]->shape, other_text));
	return SP_OK;
}

static sp_status run_pack(const sp_call *call)
{
	const pack_state *state = call->state;
	const sp_tensor *in = call->in[0], *out = call->out[0];
	size_t size = sp_dtype_size(in->dtype);
	sp_shape shape = {.rank = in->shape.rank + 1};
	int64_t outer, part, n = (int64_t)call->in_count;
	int axis;

	SP_TRY(check_same_shapes(call));
	SP_TRY(sp_call_axis(call, state->axis, shape.rank, &axis));
	SP_TRY(sp_array__rank(call, shape.rank));
	for (int d = 0; d < shape.rank; d++)
		shape.dims[d] = d == axis ? n : in->shape.dims[d < axis ? d : d - 1];
	if (n == 1) {
		sp_call_forward(call, 0, 0, &shape);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (out->count == 0)
		return SP_OK;
	outer = sp_shape_product(&shape, 0, axis);
	part = sp_shape_product(&shape, axis + 1, shape.rank) * (int64_t)size;
	for (int64_t i = 0; i < n; i++) {
		sp_strided_copy plan = {
			.rank = 1, .dims = {outer}, .to = {n * part}, .from = {part}};

		sp_strided_copy__run(&plan, (char *)out->data + i * part, call->in[i]->data,
				     (size_t)part);
	}
	return SP_OK;
}

/* ----------------------------------------------------------------- Unpack */

static sp_status prepare_unpack(sp_prepare *prepare, sp_error *err)
{
	size_t num;

	SP_TRY(read_axis(prepare, err));
	SP_TRY(sp_prepare_types(prepare, "E", err));
	SP_TRY(sp_array__output_count(prepare, "num", &num, err));
	return sp_prepare_outputs(prepare, num, prepare->in_dtypes[0], err);
}

static sp_status run_unpack(const sp_call *call)
{
	const pack_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	sp_shape shape = {.rank = in->shape.rank - 1};
	int64_t outer, part, n = (int64_t)call->out_count;
	int axis;

	SP_TRY(sp_call_axis(call, state->axis, in->shape.rank, &axis));
	if (in->shape.dims[axis] != n)
		return sp_call_invalid(call, "dimension %d is %lld: it cannot become %lld outputs",
				       axis, (long long)in->shape.dims[axis], (long long)n);
	for (int d = 0; d < shape.rank; d++)
		shape.dims[d] = in->shape.dims[d < axis ? d : d + 1];
	if (n == 1) {
		sp_call_forward(call, 0, 0, &shape);
		return SP_OK;
	}
	for (int64_t i = 0; i < n; i++)
		SP_TRY(sp_call_output(call, (size_t)i, in->dtype, &shape));
	if (in->count == 0)
		return SP_OK;
	outer = sp_shape_product(&shape, 0, axis);
	part = sp_shape_product(&shape, axis, shape.rank) * (int64_t)size;
	for (int64_t i = 0; i < n; i++) {
		sp_strided_copy plan = {
			.rank = 1, .dims = {outer}, .to = {part}, .from = {n * part}};

		sp_strided_copy__run(&plan, call->out[i]->data, (const char *)in->data + i * part,
				     (size_t)part);
	}
	return SP_OK;
}

SP_DEFINE_OP(Pack, NULL, SP_OP_MOVES, prepare_pack, run_pack);
SP_DEFINE_OP(Unpack, "output:num", SP_OP_MOVES, prepare_unpack, run_unpack);
