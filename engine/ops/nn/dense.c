/*
 * The fused dense layer (engine/passes/fuse_dense.h) for float, half and bfloat16.
 *
 * DenseLayer(w[, b])  packs the weights as floats, once per model version, which owns the layer as
 *                     an object (engine/tensor/object.h)
 * Dense(x, layer)     x [m, k] -> [m, n]
 *
 * Numerics: engine/kernels/dense_layer.h.  Half and bfloat16 are computed in float, with the bias
 * and Relu, and rounded once.
 */
#include "engine/kernels/dense_layer.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/nn/dense.h"
#include "engine/ops/ops.h"
#include "engine/tensor/object.h"

static bool is_supported(sp_dtype dtype)
{
	return dtype == SP_FLOAT || dtype == SP_HALF || dtype == SP_BFLOAT16;
}

static sp_status prepare_layer(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype = prepare->in_count > 0 ? prepare->in_dtypes[0] : SP_INVALID_DTYPE;

	if (!is_supported(dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	for (size_t i = 0; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, dtype, err));
	prepare->state = (void *)&prepare->node->dense; /* the graph outlives the program */
	return sp_prepare_outputs(prepare, 1, SP_OBJECT, err);
}

static void destroy_layer(void *layer)
{
	sp_dense_layer_destroy(layer);
}

static const sp_object_type layer_type = {"a dense layer", destroy_layer};

int64_t sp_dense_width(const sp_tensor *layer)
{
	return (int64_t)sp_dense_layer_outputs(sp_tensor_object(layer, &layer_type));
}

/* The elements as floats: those of the tensor, or a converted copy in scratch memory. */
static sp_status as_floats(const sp_call *call, const sp_tensor *tensor, const float **out)
{
	float *copy;

	*out = tensor->data;
	if (tensor->dtype == SP_FLOAT)
		return SP_OK;
	SP_CALL_ARRAY(copy, call, tensor->count);
	sp_widen_find(tensor->dtype)(tensor->data, copy, tensor->count);
	*out = copy;
	return SP_OK;
}

static sp_status make_spec(const sp_call *call, sp_dense_spec *spec)
{
	const sp_dense_options *state = call->state;
	const sp_tensor *w = call->in[0];
	const sp_tensor *b = call->in_count > 1 ? call->in[1] : NULL;
	char text[SP_SHAPE_TEXT_SIZE];

	if (w->shape.rank != 2)
		return sp_error_set(call->err, SP_INVALID, "weights of shape %s are not a matrix",
				    sp_shape_text(&w->shape, text));
	*spec = (sp_dense_spec){.k = (size_t)w->shape.dims[state->transposed ? 1 : 0],
				.n = (size_t)w->shape.dims[state->transposed ? 0 : 1],
				.transposed = state->transposed,
				.activation = state->relu ? SP_ACTIVATION_RELU
							  : SP_ACTIVATION_NONE};
	SP_TRY(as_floats(call, w, &spec->weights));
	if (b == NULL)
		return SP_OK;
	if (b->shape.rank != 1 || b->count != spec->n)
		return sp_call_invalid(call, "a bias of shape %s does not fit %zu outputs",
				       sp_shape_text(&b->shape, text), spec->n);
	return as_floats(call, b, &spec->bias);
}

static sp_status run_layer(const sp_call *call)
{
	sp_dense_spec spec;
	sp_dense_layer *layer;

	if (call->objects == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "weights can be packed at load only");
	SP_TRY(make_spec(call, &spec));
	SP_TRY(sp_dense_layer_create(&layer, &spec, call->err));
	return sp_objects_add(call->objects, &layer_type, layer, call->out[0], call->err);
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "T U -> T", err));
	if (!is_supported(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_input_dtype(prepare, 1, SP_OBJECT, err);
}

static sp_status run_dense(const sp_call *call)
{
	const sp_tensor *x = call->in[0];
	const sp_dense_layer *layer = sp_tensor_object(call->in[1], &layer_type);
	char text[SP_SHAPE_TEXT_SIZE];
	sp_tensor *y, scratch;
	float *wide_x, *wide_y;
	sp_shape shape;
	size_t k, n, m;

	if (layer == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "input 1 is not a dense layer");
	k = sp_dense_layer_inputs(layer);
	n = sp_dense_layer_outputs(layer);
	if (x->shape.rank != 2 || x->shape.dims[1] != (int64_t)k)
		return sp_call_invalid(call, "a product of shape %s with weights of [%zu,%zu]",
				       sp_shape_text(&x->shape, text), k, n);
	SP_TRY(sp_call_output_matrix(call, 0, x->dtype, x->shape.dims[0], (int64_t)n));
	m = (size_t)x->shape.dims[0];
	y = call->out[0];
	if (y->count == 0)
		return SP_OK;
	if (x->dtype == SP_FLOAT) {
		sp_dense_layer_run(layer, x->data, m, y->data);
		return SP_OK;
	}
	shape = sp_shape_vector((int64_t)(x->count + y->count));
	SP_TRY(sp_workspace_tensor(call->workspace, &scratch, SP_FLOAT, &shape, call->err));
	wide_x = sp_tensor_f32(&scratch);
	wide_y = wide_x + x->count;
	sp_widen_find(x->dtype)(x->data, wide_x, x->count);
	sp_dense_layer_run(layer, wide_x, m, wide_y);
	sp_narrow_find(x->dtype)(wide_y, y->data, y->count);
	sp_workspace_release(call->workspace, &scratch);
	return SP_OK;
}

SP_DEFINE_OP(DenseLayer, NULL, SP_OP_READS_VARIABLE, prepare_layer, run_layer);

SP_DEFINE_OP(Dense, NULL, 0, prepare_dense, run_dense);
