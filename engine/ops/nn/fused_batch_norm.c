#include <math.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/*
 * FusedBatchNorm, V2 and V3:
 *
 *     y = (x - mean) * scale / sqrt(variance + epsilon) + offset
 *
 * x is float, half or bfloat16, with channels in the last dimension or the
 * second; the four vectors have one float per channel.  Outputs 1 to 4 are the mean
 * and the variance, twice; V3 has another, empty output.
 *
 * With is_training the mean and variance of x are used (Keras 2 exports layer normalisation like
 * this).  Then outputs 1 and 2 are the running mean and variance, 3 and 4 those of x.
 *
 * Numerics: float; half and bfloat16 round once.  Means and variances are summed in double.
 */
typedef struct norm_run {
	const void *x;
	void *y;
	size_t count, channels, inner; /* inner: elements of a channel side by side */
	const float *scale, *offset, *mean, *variance;
	float epsilon;
} norm_run;

typedef void norm_fn(const norm_run *run);
typedef void moments_fn(const norm_run *run, float *mean, float *variance);

static float factor_of(const norm_run *run, size_t c)
{
	return run->scale[c] / sqrtf(run->variance[c] + run->epsilon);
}

/* A channel has `inner` elements in every `channels * inner` of x. */
#define NORMALIZE(type)                                                                           \
	static void normalize_##type(const norm_run *run)                                         \
	{                                                                                         \
		const sp_element_##type *x = run->x;                                              \
		sp_element_##type *y = run->y;                                                    \
		size_t inner = run->inner;                                                        \
                                                                                                  \
		for (size_t c = 0; c < run->channels; c++) {                                      \
			float factor = factor_of(run, c);                                         \
			float mean = run->mean[c], offset = run->offset[c];                       \
                                                                                                  \
			for (size_t i = c * inner; i < run->count; i += run->channels * inner)    \
				for (size_t j = i; j < i + inner; j++)                            \
					y[j] = SP_STORE_##type(                                   \
						(SP_LOAD_##type(x[j]) - mean) * factor + offset); \
		}                                                                                 \
	}

NORMALIZE(f32)
NORMALIZE(f16)
NORMALIZE(bf16)

/* The mean and the (biased) variance of each channel of x, which is not empty. */
#define MOMENTS(type)                                                                       \
	static void moments_##type(const norm_run *run, float *mean, float *variance)       \
	{                                                                                   \
		const sp_element_##type *x = run->x;                                        \
		size_t inner = run->inner, stride = run->channels * inner;                  \
		double count = (double)(run->count / run->channels);                        \
                                                                                            \
		for (size_t c = 0; c < run->channels; c++) {                                \
			double sum = 0, squares = 0, center;                                \
                                                                                            \
			for (size_t i = c * inner; i < run->count; i += stride)             \
				for (size_t j = i; j < i + inner; j++)                      \
					sum += (double)SP_LOAD_##type(x[j]);                \
			center = sum / count;                                               \
			for (size_t i = c * inner; i < run->count; i += stride)             \
				for (size_t j = i; j < i + inner; j++) {                    \
					double far = (double)SP_LOAD_##type(x[j]) - center; \
                                                                                            \
					squares += far * far;                               \
				}                                                           \
			mean[c] = (float)center;                                            \
			variance[c] = (float)(squares / count);                             \
		}                                                                           \
	}

MOMENTS(f32)
MOMENTS(f16)
MOMENTS(bf16)

static norm_fn *const kernels[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = normalize_f32, [SP_HALF] = normalize_f16, [SP_BFLOAT16] = normalize_bf16};
static moments_fn *const moments[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = moments_f32, [SP_HALF] = moments_f16, [SP_BFLOAT16] = moments_bf16};

typedef struct norm_state {
	norm_fn *kernel;
	moments_fn *moments;
	bool training;
	float keep; /* training: the weight of the given mean and variance in outputs 1 and 2 */
	int rank;
	bool channels_second;
	float epsilon;
} norm_state;

static sp_status read_format(norm_state *state, const sp_node *node, sp_error *err)
{
	sp_bytes format;

	SP_TRY(sp_node_attr_bytes(node, "data_format", "NHWC", &format, err));
	state->channels_second = format.size > 1 && format.data[1] == 'C';
	if (sp_bytes_equal_text(format, "NHWC") || sp_bytes_equal_text(format, "NCHW"))
		state->rank = 4;
	else if (sp_bytes_equal_text(format, "NDHWC") || sp_bytes_equal_text(format, "NCDHW"))
		state->rank = 5;
	else
		return sp_error_set(err, SP_INVALID, "data_format '%.*s' is unknown",
				    (int)format.size, format.data);
	return SP_OK;
}

static sp_status prepare_norm(sp_prepare *prepare, sp_error *err)
{
	norm_state *state = sp_prepare_state(prepare, sizeof(*state));
	size_t outputs = prepare->node->op == &sp_op_FusedBatchNormV3 ? 6 : 5;
	sp_dtype dtype;
	float factor;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T float float float float", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "is_training", true, &state->training, err));
	SP_TRY(sp_node_attr_float(prepare->node, "exponential_avg_factor", 1.0f, &factor, err));
	state->keep = 1.0f - factor;
	SP_TRY(sp_node_attr_float(prepare->node, "epsilon", 1e-4f, &state->epsilon, err));
	SP_TRY(read_format(state, prepare->node, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = kernels[dtype];
	state->moments = moments[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, outputs, SP_FLOAT, err));
	prepare->out_dtypes[0] = dtype;
	return SP_OK;
}

static sp_status check_shapes(const sp_call *call, int *axis)
{
	static const char *const names[] = {"x", "scale", "offset", "mean", "variance"};
	const norm_state *state = call->state;
	const sp_shape *x = &call->in[0]->shape;
	char text[SP_SHAPE_TEXT_SIZE], x_text[SP_SHAPE_TEXT_SIZE];

	if (x->rank != state->rank)
		return sp_call_invalid(call, "x must have %d dimensions, not %s", state->rank,
				       sp_shape_text(x, text));
	*axis = state->channels_second ? 1 : x->rank - 1;
	for (size_t i = 1; i < 5; i++) {
		const sp_shape *vector = &call->in[i]->shape;

		if (i >= 3 && state->training && state->keep == 0)
			break; /* mean and variance are not used */
		if (vector->rank != 1 || vector->dims[0] != x->dims[*axis])
			return sp_call_invalid(call, "%s of shape %s does not fit x of shape %s",
					       names[i], sp_shape_text(vector, text),
					       sp_shape_text(x, x_text));
	}
	return SP_OK;
}

/* Computes outputs 1 to 4 with is_training; `run` gets the moments of x, outputs 3 and 4. */
static sp_status compute_moments(const sp_call *call, norm_run *run)
{
	const norm_state *state = call->state;
	sp_shape channels = sp_shape_vector((int64_t)run->channels);
	double count = run->channels != 0 ? (double)(run->count / run->channels) : 0;
	float unbias = (float)(count / (count > 1 ? count - 1 : 1));
	float *out[5];

	for (size_t i = 1; i < 5; i++) {
		SP_TRY(sp_call_output(call, i, SP_FLOAT, &channels));
		out[i] = call->out[i]->data;
	}
	if (run->count != 0)
		state->moments(run, out[3], out[4]);
	for (size_t c = 0; c < run->channels; c++) {
		if (run->count == 0)
			out[3][c] = out[4][c] = NAN;
		out[1][c] = out[3][c];
		out[2][c] = out[4][c] * unbias;
		if (state->keep == 0)
			continue;
		out[1][c] = (1 - state->keep) * out[1][c] + state->keep * run->mean[c];
		out[2][c] = (1 - state->keep) * out[2][c] + state->keep * run->variance[c];
	}
	run->mean = out[3];
	run->variance = out[4];
	return SP_OK;
}

static sp_status run_norm(const sp_call *call)
{
	const norm_state *state = call->state;
	const sp_tensor *x = call->in[0];
	norm_run run = {.x = x->data,
			.count = x->count,
			.scale = call->in[1]->data,
			.offset = call->in[2]->data,
			.mean = call->in[3]->data,
			.variance = call->in[4]->data,
			.epsilon = state->epsilon};
	int axis = 0;

	SP_TRY(check_shapes(call, &axis));
	run.channels = (size_t)x->shape.dims[axis];
	run.inner = (size_t)sp_shape_product(&x->shape, axis + 1, x->shape.rank);
	if (state->training)
		SP_TRY(compute_moments(call, &run));
	SP_TRY(sp_call_output_over(call, 0, 0, x->dtype));
	for (size_t i = 1; i < 5 && !state->training; i++)
		sp_call_forward(call, i, i % 2 == 1 ? 3 : 4, &call->in[3]->shape);
	if (call->out_count == 6)
		SP_TRY(sp_call_output_vector(call, 5, SP_FLOAT, 0));
	if (x->count == 0)
		return SP_OK;
	run.y = call->out[0]->data;
	state->kernel(&run);
	return SP_OK;
}

#define OUTPUTS "y batch_mean batch_variance reserve_space_1 reserve_space_2"

SP_DEFINE_OP(FusedBatchNorm, OUTPUTS, 0, prepare_norm, run_norm);
SP_DEFINE_OP(FusedBatchNormV2, OUTPUTS, 0, prepare_norm, run_norm);
SP_DEFINE_OP(FusedBatchNormV3, OUTPUTS " reserve_space_3", 0, prepare_norm, run_norm);
