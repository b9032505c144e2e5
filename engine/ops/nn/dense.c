/*
 * The fused dense layer (engine/passes/fuse_dense.h).
 *
 * DenseLayer(w[, b])  once per model version: packs the weights; the layer is an object of the
 *                     version (engine/tensor/object.h)
 * Dense(x, layer)     x [m, k] float32 -> [m, n]
 */
#include "engine/kernels/dense_layer.h"
#include "engine/ops/ops.h"
#include "engine/tensor/object.h"

static sp_status prepare_layer(sp_prepare *prepare, sp_error *err)
{
	for (size_t i = 0; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	prepare->state = (void *)&prepare->node->dense; /* the graph outlives the program */
	return sp_prepare_outputs(prepare, 1, SP_OBJECT, err);
}

static void destroy_layer(void *layer)
{
	sp_dense_layer_destroy(layer);
}

static const sp_object_type layer_type = {"a dense layer", destroy_layer};

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
				.weights = sp_tensor_f32(w),
				.transposed = state->transposed,
				.activation = state->relu ? SP_ACTIVATION_RELU
							  : SP_ACTIVATION_NONE};
	if (b == NULL)
		return SP_OK;
	if (b->shape.rank != 1 || b->count != spec->n)
		return sp_call_invalid(call, "a bias of shape %s does not fit %zu outputs",
				       sp_shape_text(&b->shape, text), spec->n);
	spec->bias = sp_tensor_f32(b);
	return SP_OK;
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
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_OBJECT, err));
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status run_dense(const sp_call *call)
{
	const sp_tensor *x = call->in[0];
	const sp_dense_layer *layer = sp_tensor_object(call->in[1], &layer_type);
	char text[SP_SHAPE_TEXT_SIZE];
	sp_shape shape;
	size_t k, n;

	if (layer == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "input 1 is no dense layer");
	k = sp_dense_layer_inputs(layer);
	n = sp_dense_layer_outputs(layer);
	if (x->shape.rank != 2 || x->shape.dims[1] != (int64_t)k)
		return sp_call_invalid(call, "a product of shape %s with weights of [%zu,%zu]",
				       sp_shape_text(&x->shape, text), k, n);
	shape = sp_shape_matrix(x->shape.dims[0], (int64_t)n);
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	return sp_dense_layer_run(layer, sp_tensor_f32(x), (size_t)x->shape.dims[0],
				  sp_tensor_f32(call->out[0]), call->workspace, call->err);
}

const sp_op sp_op_DenseLayer = {
	.name = "DenseLayer",
	.flags = SP_OP_READS_VARIABLE,
	.prepare = prepare_layer,
	.run = run_layer,
};

const sp_op sp_op_Dense = {
	.name = "Dense",
	.prepare = prepare_dense,
	.run = run_dense,
};
