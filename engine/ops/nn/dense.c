/*
 * The fused dense layer (engine/passes/fuse_dense.h).
 *
 * _DenseLayer(w[, b])  once per model version: packs the weights and hands the
 *                      layer on as a pointer in a UINT64 scalar
 * _Dense(x, layer)     x [m, k] float32 -> [m, n]
 */
#include "engine/kernels/dense_layer.h"
#include "engine/runtime/keeper.h"
#include "engine/ops/ops.h"

typedef struct dense_state {
	bool transposed;
	bool relu;
} dense_state;

static sp_status prepare_layer(sp_prepare *prepare, sp_error *err)
{
	dense_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a layer");
	for (size_t i = 0; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "transpose_b", false, &state->transposed, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "relu", false, &state->relu, err));
	return sp_prepare_outputs(prepare, 1, SP_UINT64, err);
}

static void destroy_layer(void *layer)
{
	sp_dense_layer_destroy(layer);
}

static sp_status make_spec(const sp_call *call, sp_dense_spec *spec)
{
	const dense_state *state = call->state;
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
	sp_shape scalar = sp_shape_scalar();
	sp_dense_spec spec;
	sp_dense_layer *layer;

	if (call->keeper == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "weights can be packed at load only");
	SP_TRY(make_spec(call, &spec));
	SP_TRY(sp_dense_layer_create(&layer, &spec, call->err));
	SP_TRY(sp_keeper_add(call->keeper, layer, destroy_layer, call->err));
	SP_TRY(sp_call_output(call, 0, SP_UINT64, &scalar));
	*(uint64_t *)call->out[0]->data = (uint64_t)(uintptr_t)layer;
	return SP_OK;
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_UINT64, err));
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status run_dense(const sp_call *call)
{
	const sp_tensor *x = call->in[0];
	const sp_dense_layer *layer = (const sp_dense_layer *)(uintptr_t) *
				      (const uint64_t *)call->in[1]->data;
	size_t k = sp_dense_layer_inputs(layer), n = sp_dense_layer_outputs(layer);
	sp_shape shape = sp_shape_matrix(x->shape.dims[0], (int64_t)n);
	char text[SP_SHAPE_TEXT_SIZE];

	if (x->shape.rank != 2 || x->shape.dims[1] != (int64_t)k)
		return sp_call_invalid(call, "a product of shape %s with weights of [%zu,%zu]",
				       sp_shape_text(&x->shape, text), k, n);
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	return sp_dense_layer_run(layer, sp_tensor_f32(x), (size_t)x->shape.dims[0],
				  sp_tensor_f32(call->out[0]), call->workspace, call->err);
}

const sp_op sp_op__DenseLayer = {
	.name = "_DenseLayer",
	.flags = SP_OP_READS_VARIABLE,
	.prepare = prepare_layer,
	.run = run_layer,
};

const sp_op sp_op__Dense = {
	.name = "_Dense",
	.prepare = prepare_dense,
	.run = run_dense,
};
