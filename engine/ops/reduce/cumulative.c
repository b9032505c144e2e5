#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/*
 * Cumsum and Cumprod along an axis: the sum or product of all elements up to an element, or before
 * it (exclusive), from the start or from the end (reverse).
 *
 * Numerics: in the element type, in order; half and bfloat16 round every step; integers wrap.
 */
typedef struct scan {
	const void *in;
	void *out; /* may be `in` */
	size_t count;
	ptrdiff_t stride; /* negative with reverse */
	bool exclusive;
} scan;

typedef void scan_fn(const scan *scan);

#define SCAN(type, name, start, expression)                                        \
	static void name##_##type(const scan *s)                                   \
	{                                                                          \
		const sp_element_##type *in = s->in;                               \
		sp_element_##type *out = s->out, element = SP_STORE_##type(start); \
                                                                                   \
		for (size_t i = 0; i < s->count; i++) {                            \
			ptrdiff_t at = (ptrdiff_t)i * s->stride;                   \
			sp_wrap_##type a = SP_LOAD_##type(element);                \
			sp_wrap_##type b = SP_LOAD_##type(in[at]);                 \
			sp_element_##type next = SP_STORE_##type(expression);      \
                                                                                   \
			out[at] = s->exclusive ? element : next;                   \
			element = next;                                            \
		}                                                                  \
	}

SP_FOR_ARITHMETIC(SCAN, sum, 0, a + b)
SP_FOR_ARITHMETIC(SCAN, product, 1, (a) * (b))

static scan_fn *const sums[SP_DTYPE_COUNT] = {SP_TABLE_ARITHMETIC(sum)};
static scan_fn *const products[SP_DTYPE_COUNT] = {SP_TABLE_ARITHMETIC(product)};

typedef struct scan_state {
	scan_fn *kernel;
	bool exclusive, reverse;
} scan_state;

static sp_status prepare_scan(sp_prepare *prepare, sp_error *err)
{
	scan_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T index -> T", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "exclusive", false, &state->exclusive, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "reverse", false, &state->reverse, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = (prepare->node->op == &sp_op_Cumsum ? sums : products)[dtype];
	return state->kernel != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status run_scan(const sp_call *call)
{
	const scan_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), inner, count;
	int axis = 0;

	SP_TRY(sp_call_need_rank(call, 1, 0));
	SP_TRY(sp_call_axis(call, sp_tensor_index(call->in[1], 0), in->shape.rank, &axis));
	SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	if (in->count == 0)
		return SP_OK;
	count = (size_t)in->shape.dims[axis];
	inner = (size_t)sp_shape_product(&in->shape, axis + 1, in->shape.rank);
	for (size_t i = 0; i < in->count / count; i++) {
		size_t first = i / inner * count * inner + i % inner;
		scan s = {.count = count,
			  .stride = state->reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner,
			  .exclusive = state->exclusive};

		if (state->reverse)
			first += (count - 1) * inner;
		s.in = (const char *)in->data + first * size;
		s.out = (char *)call->out[0]->data + first * size;
		state->kernel(&s);
	}
	return SP_OK;
}

SP_DEFINE_OP(Cumsum, NULL, 0, prepare_scan, run_scan);
SP_DEFINE_OP(Cumprod, NULL, 0, prepare_scan, run_scan);
