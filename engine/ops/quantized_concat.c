#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "engine/ops/array.h"
#include "engine/ops/quantized.h"

/*
 * QuantizedConcat: codes of quint8 or qint32, one behind the other along a dimension (the first
 * input), with a range for each.  The answer's is that from the lowest to the highest number, of
 * qint32 as far below 0 as above.
 *
 * Numerics: the codes are TensorFlow's; those of a range that is the answer's stay what they are.
 * Behind a value without elements TensorFlow takes every range for the next value's; here it is
 * the value's own.
 */
static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	size_t count = prepare->in_count == 0 ? 0 : (prepare->in_count - 1) / 3;
	sp_dtype dtype;

	if (count == 0 || prepare->in_count != 3 * count + 1)
		return sp_error_set(err, SP_INVALID, "QuantizedConcat of %zu inputs",
				    prepare->in_count);
	dtype = prepare->in_dtypes[1];
	if (dtype != SP_QUINT8 && dtype != SP_QINT32)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_array__same_dtype(prepare, 1, count + 1, err));
	SP_TRY(sp_quantized__prepare(prepare, prepare->in_count, count + 1, dtype, err));
	return sp_prepare_input_dtype(prepare, 0, SP_INT32, err);
}

static size_t count_values(const sp_call *call)
{
	return (call->in_count - 1) / 3;
}

static sp_status read_range(const sp_call *call, size_t i, sp_quantized_range *out)
{
	const sp_tensor *min = call->in[1 + count_values(call) + i];
	const sp_tensor *max = call->in[1 + 2 * count_values(call) + i];

	if (min->count != 1 || max->count != 1)
		return sp_call_invalid(call, "range %zu is of %zu and %zu numbers", i, min->count,
				       max->count);
	*out = (sp_quantized_range){*sp_tensor_f32(min), *sp_tensor_f32(max)};
	return SP_OK;
}

static sp_status join_ranges(const sp_call *call, sp_quantized_range *out)
{
	*out = (sp_quantized_range){FLT_MAX, -FLT_MAX};
	for (size_t i = 0; i < count_values(call); i++) {
		sp_quantized_range range;

		SP_TRY(read_range(call, i, &range));
		out->min = range.min < out->min ? range.min : out->min;
		out->max = range.max > out->max ? range.max : out->max;
	}
	if (call->in[1]->dtype == SP_QINT32) {
		out->max = fmaxf(fabsf(out->min), fabsf(out->max));
		out->min = -out->max;
	}
	return SP_OK;
}

static sp_status join_shapes(const sp_call *call, sp_shape *out, int *axis)
{
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_array__need_rank(call, 0, 0));
	*out = call->in[1]->shape;
	*axis = *sp_tensor_i32(call->in[0]);
	if (*axis < 0 || *axis >= out->rank)
		return sp_call_invalid(call, "dimension %d of %d", *axis, out->rank);
	for (size_t i = 2; i <= count_values(call); i++) {
		sp_shape shape = call->in[i]->shape;
		int64_t size = shape.dims[*axis];
		bool fits = shape.rank == out->rank;

		shape.dims[*axis] = out->dims[*axis];
		if (!fits || !sp_shape_equal(&shape, out))
			return sp_call_invalid(call, "shape %s does not go with %s",
					       sp_shape_text(&call->in[i]->shape, a),
					       sp_shape_text(&call->in[1]->shape, b));
		if (!sp_i64_add(&out->dims[*axis], out->dims[*axis], size))
			return sp_call_invalid(call, "the joined dimension is too large");
	}
	return SP_OK;
}

/* `count` codes from element `at` of either tensor on. */
static void copy(const sp_tensor *from, size_t at, sp_quantized_range range, const sp_tensor *to,
		 size_t at_to, sp_quantized_range to_range, size_t count)
{
	size_t size = sp_dtype_size(from->dtype);
	sp_tensor part = {.dtype = from->dtype, .count = count}, made = part;

	part.data = (char *)from->data + at * size;
	made.data = (char *)to->data + at_to * size;
	if (range.min == to_range.min && range.max == to_range.max)
		memcpy(made.data, part.data, count * size);
	else
		sp_quantized__convert(&part, range, &made, to_range);
}

static sp_status run_concat(const sp_call *call)
{
	sp_quantized_range range, whole;
	size_t outer, row, at = 0;
	sp_shape shape;
	int axis = 0;

	SP_TRY(join_ranges(call, &whole));
	SP_TRY(join_shapes(call, &shape, &axis));
	SP_TRY(sp_call_output(call, 0, call->in[1]->dtype, &shape));
	outer = call->out[0]->count == 0 ? 0 : (size_t)sp_shape_product(&shape, 0, axis);
	row = outer == 0 ? 0 : call->out[0]->count / outer;
	for (size_t i = 0; i < count_values(call); i++) {
		const sp_tensor *in = call->in[1 + i];
		size_t part = outer == 0 ? 0 : in->count / outer;

		SP_TRY(read_range(call, i, &range));
		for (size_t k = 0; part != 0 && k < outer; k++)
			copy(in, k * part, range, call->out[0], k * row + at, whole, part);
		at += part;
	}
	return sp_quantized__put_range(call, 1, whole);
}

const sp_op sp_op_QuantizedConcat = {
	.name = "QuantizedConcat",
	.outputs = "output output_min output_max",
	.prepare = prepare_concat,
	.run = run_concat,
};
