#include <math.h>

#include "engine/ops.h"
#include "engine/ops/cells.h"

/*
 * FusedBatchNorm, V2 and V3, as they are used for inference:
 *
 *     y = (x - mean) * scale / sqrt(variance + epsilon) + offset
 *
 * x is float, half or bfloat16, with channels in the last dimension or the
 * second; the four vectors have one float per channel.  The other outputs are
 * the mean and the variance again, twice, and in V3 something empty.
 *
 * Numerics: float; half and bfloat16 round once.
 */
typedef struct norm_run {
	const void *x;
	void *y;
	size_t count, channels, inner; /* inner: elements of a channel side by side */
	const float *scale, *offset, *mean, *variance;
	float epsilon;
} norm_run;

typedef void norm_fn(const norm_run *run);

/* One channel: every `channels * inner` elements, `inner` of them. */
#define NORMALIZE(type)                                                                           \
	static void normalize_##type(const norm_run *run)                                         \
	{                                                                                         \
		const sp_cell_##type *x = run->x;                                                 \
		sp_cell_##type *y = run->y;                                                       \
		size_t inner = run->inner;                                                        \
                                                                                                  \
		for (size_t c = 0; c < run->channels; c++) {                                      \
			float factor = run->scale[c] / sqrtf(run->variance[c] + run->epsilon);    \
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

static norm_fn *const kernels[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = normalize_f32, [SP_HALF] = normalize_f16, [SP_BFLOAT16] = normalize_bf16};

typedef struct norm_state {
	norm_fn *kernel;
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

static sp_status prepare_norm(sp_prepare *prepare, size_t outputs, sp_error *err)
{
	norm_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;
	bool training;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 5, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "is_training", true, &training, err));
	if (training)
		return sp_error_set(err, SP_UNSUPPORTED, "%s with is_training is not supported",
				    prepare->node->op_name);
	SP_TRY(sp_node_attr_float(prepare->node, "epsilon", 1e-4f, &state->epsilon, err));
	SP_TRY(read_format(state, prepare->node, err));
	for (size_t i = 1; i < 5; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = kernels[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, outputs, SP_FLOAT, err));
	prepare->out_dtypes[0] = dtype;
	return SP_OK;
}

static sp_status prepare_five(sp_prepare *prepare, sp_error *err)
{
	return prepare_norm(prepare, 5, err);
}

static sp_status prepare_six(sp_prepare *prepare, sp_error *err)
{
	return prepare_norm(prepare, 6, err);
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

		if (vector->rank != 1 || vector->dims[0] != x->dims[*axis])
			return sp_call_invalid(call, "%s of shape %s does not fit x of shape %s",
					       names[i], sp_shape_text(vector, text),
					       sp_shape_text(x, x_text));
	}
	return SP_OK;
}

static sp_status run_norm(const sp_call *call)
{
	const norm_state *state = call->state;
	const sp_tensor *x = call->in[0];
	sp_shape empty = sp_shape_vector(0);
	norm_run run = {.scale = call->in[1]->data,
			.offset = call->in[2]->data,
			.mean = call->in[3]->data,
			.variance = call->in[4]->data,
			.epsilon = state->epsilon};
	int axis = 0;

	SP_TRY(check_shapes(call, &axis));
	SP_TRY(sp_call_output_over(call, 0, 0, x->dtype));
	for (size_t i = 1; i < 5; i++)
		sp_call_forward(call, i, i % 2 == 1 ? 3 : 4, &call->in[3]->shape);
	if (call->out_count == 6)
		SP_TRY(sp_call_output(call, 5, SP_FLOAT, &empty));
	if (x->count == 0)
		return SP_OK;
	run.x = x->data;
	run.y = call->out[0]->data;
	run.count = x->count;
	run.channels = (size_t)x->shape.dims[axis];
	run.inner = (size_t)sp_shape_product(&x->shape, axis + 1, x->shape.rank);
	state->kernel(&run);
	return SP_OK;
}

#define OUTPUTS "y batch_mean batch_variance reserve_space_1 reserve_space_2"

const sp_op sp_op_FusedBatchNorm = {
	.name = "FusedBatchNorm", .outputs = OUTPUTS, .prepare = prepare_five, .run = run_norm};
const sp_op sp_op_FusedBatchNormV2 = {
	.name = "FusedBatchNormV2", .outputs = OUTPUTS, .prepare = prepare_five, .run = run_norm};
const sp_op sp_op_FusedBatchNormV3 = {.name = "FusedBatchNormV3",
				      .outputs = OUTPUTS " reserve_space_3",
				      .prepare = prepare_six,
				      .run = run_norm};
