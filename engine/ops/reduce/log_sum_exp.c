#include <math.h>

#include "engine/ops/array/array.h"
#include "engine/ops/reduce/element_types.h"

/*
 * CumulativeLogsumexp along an axis: log(sum(exp(x))) of all elements up to an element, or before
 * it (exclusive; -infinity if there are none), from the start or from the end (reverse).
 *
 * Numerics: in order, in double; each result is rounded once.
 */
typedef struct scan_state {
	bool exclusive, reverse;
} scan_state;

static sp_status prepare_scan(sp_prepare *prepare, sp_error *err)
{
	scan_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "exclusive", false, &state->exclusive, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "reverse", false, &state->reverse, err));
	if (!sp_dtype_is_floating(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[0], err);
}

/* log(exp(a) + exp(b)) */
static double add_logs(double a, double b)
{
	double larger = a > b ? a : b, smaller = a > b ? b : a;

	if (larger == -INFINITY || larger == INFINITY)
		return isnan(a) || isnan(b) ? NAN : larger;
	return larger + log1p(exp(smaller - larger));
}

typedef void line_fn(const scan_state *state, const void *in, void *out, size_t count,
		     ptrdiff_t stride);

#define LINE(type, name)                                                               \
	static void name##_##type(const scan_state *state, const void *in, void *out,  \
				  size_t count, ptrdiff_t stride)                      \
	{                                                                              \
		const sp_element_##type *from = in;                                    \
		sp_element_##type *to = out;                                           \
		double sum = -INFINITY;                                                \
                                                                                       \
		for (size_t i = 0; i < count; i++) {                                   \
			ptrdiff_t at = (ptrdiff_t)i * stride;                          \
			double next = add_logs(sum, (double)SP_LOAD_##type(from[at])); \
			double value = state->exclusive ? sum : next;                  \
                                                                                       \
			to[at] = SP_STORE_##type((sp_value_##type)value);              \
			sum = next;                                                    \
		}                                                                      \
	}

SP_FOR_FLOATING(LINE, line)

static line_fn *const lines[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(line)};

static sp_status run_scan(const sp_call *call)
{
	const scan_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), inner, count;
	int axis = 0;

	SP_TRY(sp_array__need_rank(call, 1, 0));
	SP_TRY(sp_call_axis(call, sp_tensor_index(call->in[1], 0), in->shape.rank, &axis));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	count = (size_t)in->shape.dims[axis];
	inner = (size_t)sp_shape_product(&in->shape, axis + 1, in->shape.rank);
	for (size_t i = 0; i < in->count / count; i++) {
		size_t first = i / inner * count * inner + i % inner;

		if (state->reverse)
			first += (count - 1) * inner;
		lines[in->dtype](state, (const char *)in->data + first * size,
				 (char *)call->out[0]->data + first * size, count,
				 state->reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner);
	}
	return SP_OK;
}

const sp_op sp_op_CumulativeLogsumexp = {
	.name = "CumulativeLogsumexp", .prepare = prepare_scan, .run = run_scan};
