#include <float.h>
#include <math.h>

#include "engine/ops/ops.h"
#include "engine/ops/reduce/element_types.h"

/*
 * QuantizeAndDequantizeV2, V3 (num_bits is an input) and V4: numbers quantized to codes of num_bits
 * bits, signed or unsigned, and dequantized again; 0 stays 0.  The range is given by input_min and
 * input_max, or is that of the input; with `axis` every slice along it has its own range.  Numbers
 * outside a given range are clamped.
 *
 * Numerics: in the element type, float or double, in TensorFlow's order of operations; ties go to
 * the even code, or up with round_mode HALF_UP.
 *
 * Source: QuantizeAndDequantizeV2 of TensorFlow 2.15 on CPU, from its results.
 */

/* One slice: `outer` runs of `inner` elements, `stride` apart. */
typedef struct slice {
	const void *in;
	void *out;
	size_t outer, inner, stride;
	const void *min, *max;  /* one element each; NULL: the range of `in` */
	double lowest, highest; /* codes */
	bool half_up;
} slice;

typedef void slice_fn(const slice *s);

#define FOR_EACH(s, i)                                \
	for (size_t row = 0; row < (s)->outer; row++) \
		for (size_t i = row * (s)->stride, end = i + (s)->inner; i < end; i++)

#define SLICE(type, T, LARGEST, FLOOR, RINT)                                           \
	static void range_##type(const slice *s, T *min, T *max)                       \
	{                                                                              \
		const T *in = s->in;                                                   \
                                                                                       \
		*min = s->min != NULL ? *(const T *)s->min : LARGEST;                  \
		*max = s->max != NULL ? *(const T *)s->max : -LARGEST;                 \
		if (s->min != NULL)                                                    \
			return;                                                        \
		FOR_EACH(s, i)                                                         \
		{                                                                      \
			*min = in[i] < *min ? in[i] : *min;                            \
			*max = in[i] > *max ? in[i] : *max;                            \
		}                                                                      \
	}                                                                              \
	static void slice_##type(const slice *s)                                       \
	{                                                                              \
		const T *in = s->in;                                                   \
		T *out = s->out, min, max, scale, below, above, inverse;               \
		T lowest = (T)s->lowest, highest = (T)s->highest;                      \
                                                                                       \
		range_##type(s, &min, &max);                                           \
		below = lowest * min > 0 ? lowest / min : LARGEST;                     \
		above = highest * max > 0 ? highest / max : LARGEST;                   \
		scale = below < above ? below : above;                                 \
		inverse = below < above ? min / lowest : max / highest;                \
		if (below < above)                                                     \
			max = highest * inverse;                                       \
		else                                                                   \
			min = lowest * inverse;                                        \
		FOR_EACH(s, i)                                                         \
		{                                                                      \
			T x = in[i];                                                   \
                                                                                       \
			if (s->min != NULL) {                                          \
				x = x > max ? max : x;                                 \
				x = x < min ? min : x;                                 \
			}                                                              \
			x *= scale;                                                    \
			out[i] = (s->half_up ? FLOOR(x + (T)0.5) : RINT(x)) * inverse; \
		}                                                                      \
	}

SLICE(f32, float, FLT_MAX, floorf, rintf)
SLICE(f64, double, DBL_MAX, floor, rint)

typedef struct quantize_state {
	slice_fn *run;
	bool is_signed, range_given, narrow, half_up;
	bool bits_are_input;
	int64_t bits, axis;
} quantize_state;

static bool bits_fit(const quantize_state *state, int64_t bits)
{
	return bits > 0 && bits < (state->is_signed ? 62 : 63);
}

static sp_status set_codes(const sp_call *call, slice *s)
{
	const quantize_state *state = call->state;
	int64_t bits = state->bits;

	if (state->bits_are_input) {
		SP_TRY(sp_call_scalar(call, 3, &bits));
		if (!bits_fit(state, bits))
			return sp_call_invalid(call, "num_bits is out of range: %lld",
					       (long long)bits);
	}
	s->lowest = 0;
	s->highest = (double)((INT64_C(1) << (bits - (state->is_signed ? 1 : 0))) - 1);
	if (state->is_signed)
		s->lowest = -(double)((INT64_C(1) << (bits - 1)) - (state->narrow ? 1 : 0));
	return SP_OK;
}

/* Whether max < min or one of them is NaN; both are scalars. */
static bool is_empty(const sp_tensor *min, const sp_tensor *max)
{
	if (min->dtype == SP_FLOAT)
		return !(*sp_tensor_f32(min) <= *sp_tensor_f32(max));
	return !(*sp_tensor_f64(min) <= *sp_tensor_f64(max));
}

static sp_status check_range(const sp_call *call, size_t slices)
{
	const quantize_state *state = call->state;

	for (size_t i = 1; i < 3; i++) {
		const sp_shape *shape = &call->in[i]->shape;

		if (state->axis < 0 ? shape->rank == 0
				    : shape->rank == 1 && call->in[i]->count == slices)
			continue;
		return sp_call_invalid(call,
				       "%s of rank %d and %zu elements does not fit axis %lld",
				       i == 1 ? "input_min" : "input_max", shape->rank,
				       call->in[i]->count, (long long)state->axis);
	}
	if (state->axis < 0 && is_empty(call->in[1], call->in[2]))
		return sp_call_invalid(call, "invalid range: input_min > input_max");
	return SP_OK;
}

static sp_status run_quantize(const sp_call *call)
{
	const quantize_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), slices = 1;
	slice s = {.outer = 1, .inner = in->count, .half_up = state->half_up};

	if (state->axis >= in->shape.rank)
		return sp_call_invalid(call, "axis %lld is not below the rank %d",
				       (long long)state->axis, in->shape.rank);
	if (state->axis >= 0)
		slices = (size_t)in->shape.dims[state->axis];
	SP_TRY(set_codes(call, &s));
	if (state->range_given)
		SP_TRY(check_range(call, slices));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	if (state->axis >= 0) {
		s.outer = (size_t)sp_shape_product(&in->shape, 0, (int)state->axis);
		s.inner = in->count / s.outer / slices;
		s.stride = s.inner * slices;
	}
	for (size_t i = 0; i < slices; i++) {
		s.in = (const char *)in->data + i * s.inner * size;
		s.out = (char *)call->out[0]->data + i * s.inner * size;
		s.min = state->range_given ? (const char *)call->in[1]->data + i * size : NULL;
		s.max = state->range_given ? (const char *)call->in[2]->data + i * size : NULL;
		state->run(&s);
	}
	return SP_OK;
}

static sp_status read_attributes(const sp_prepare *prepare, quantize_state *state, sp_error *err)
{
	const sp_node *node = prepare->node;
	sp_bytes mode;

	SP_TRY(sp_node_attr_bool(node, "signed_input", true, &state->is_signed, err));
	SP_TRY(sp_node_attr_bool(node, "range_given", state->bits_are_input, &state->range_given,
				 err));
	SP_TRY(sp_node_attr_bool(node, "narrow_range", false, &state->narrow, err));
	SP_TRY(sp_node_attr_int(node, "axis", -1, &state->axis, err));
	SP_TRY(sp_node_attr_int(node, "num_bits", 8, &state->bits, err));
	SP_TRY(sp_node_attr_bytes(node, "round_mode", "HALF_TO_EVEN", &mode, err));
	state->half_up = sp_bytes_equal_text(mode, "HALF_UP");
	if (!state->half_up && !sp_bytes_equal_text(mode, "HALF_TO_EVEN"))
		return sp_error_set(err, SP_INVALID, "round_mode %.*s is not known", (int)mode.size,
				    mode.data);
	if (state->axis < -1)
		return sp_error_set(err, SP_INVALID, "axis must be at least -1, not %lld",
				    (long long)state->axis);
	if (!state->bits_are_input && !bits_fit(state, state->bits))
		return sp_error_set(err, SP_INVALID, "num_bits is out of range: %lld",
				    (long long)state->bits);
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, bool bits_are_input, sp_error *err)
{
	quantize_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", prepare->node->op_name);
	state->bits_are_input = bits_are_input;
	SP_TRY(sp_prepare_inputs(prepare, bits_are_input ? 4 : 3, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	state->run = dtype == SP_FLOAT ? slice_f32 : slice_f64;
	SP_TRY(sp_prepare_input_dtype(prepare, 1, dtype, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, dtype, err));
	if (bits_are_input)
		SP_TRY(sp_prepare_input_dtype(prepare, 3, SP_INT32, err));
	SP_TRY(read_attributes(prepare, state, err));
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status prepare_attribute(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_input(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

#define QUANTIZE_OP(op, prepare_fn) \
	const sp_op sp_op_##op = {.name = #op, .prepare = prepare_fn, .run = run_quantize}

QUANTIZE_OP(QuantizeAndDequantizeV2, prepare_attribute);
QUANTIZE_OP(QuantizeAndDequantizeV3, prepare_input);
QUANTIZE_OP(QuantizeAndDequantizeV4, prepare_attribute);
