#ifndef SP_ENGINE_OPS_QUANTIZED_H
#define SP_ENGINE_OPS_QUANTIZED_H

#include "engine/op.h"

/*
 * Codes of quint8, qint8 and qint32 that stand for numbers of a range, which goes with them as
 * two more tensors: the lowest code is about `min`, the highest `max`.
 *
 * Numerics: in float and double where TensorFlow's kernels are.
 */
typedef struct sp_quantized_range {
	float min, max;
} sp_quantized_range;

/* Input i and the one after it, of one element each. */
SP_MUST_CHECK sp_status sp_quantized__range(const sp_call *call, size_t i, sp_quantized_range *out);

/* Output i and the one after it become scalars. */
SP_MUST_CHECK sp_status sp_quantized__put_range(const sp_call *call, size_t i,
						sp_quantized_range range);

/*
 * `inputs` inputs, of which those from `first` on are float; outputs are codes of `dtype` and
 * their range.
 */
SP_MUST_CHECK sp_status sp_quantized__prepare(sp_prepare *prepare, size_t inputs, size_t first,
					      sp_dtype dtype, sp_error *err);

/* Of the codes of a type. */
int32_t sp_quantized__lowest(sp_dtype dtype);
int32_t sp_quantized__highest(sp_dtype dtype);

/* Element i of a tensor of codes. */
int32_t sp_quantized__get(const sp_tensor *codes, size_t i);
void sp_quantized__put(const sp_tensor *codes, size_t i, int32_t code);

/* The number that a code stands for. */
float sp_quantized__number(sp_dtype dtype, int32_t code, sp_quantized_range range);

/* The code of a number, which may be out of what the type has. */
int64_t sp_quantized__code(sp_dtype dtype, float number, sp_quantized_range range);

/* The nearest one that it has. */
int32_t sp_quantized__nearest(sp_dtype dtype, float number, sp_quantized_range range);

/* That of qint32 for products of two codes of quint8. */
sp_quantized_range sp_quantized__product(sp_quantized_range a, sp_quantized_range b);

/* SP_INVALID unless it goes up. */
SP_MUST_CHECK sp_status sp_quantized__check_range(const sp_call *call, sp_quantized_range range);

/* x as int64; what is too large, or no number, is the lowest there is. */
int64_t sp_quantized__integer(double x);

/* Codes of `in` in range `from` as codes of `out` in range `to`: by way of float. */
void sp_quantized__convert(const sp_tensor *in, sp_quantized_range from, const sp_tensor *out,
			   sp_quantized_range to);

#endif
