/*
 * The fused dense layer of half and bfloat16 (engine/passes/fuse_dense.h).
 *
 * NarrowLayer(w[, b])    once per model version: makes the weights float, packs those of bfloat16;
 *                        the layer is an object of the version (engine/tensor/object.h)
 * NarrowDense(x, layer)  x [m, k] -> [m, n]
 *
 * Numerics: the product is MatMul's, to the bit (engine/ops/nn/matmul.c); the bias is added to it
 *           as the type holds it, and the sum is rounded.  NaN stays NaN.
 * Memory:   a layer takes twice the bytes of its weights, which are not kept.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "engine/kernels/dense_layer.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/nn/gemm.h"
#include "engine/ops/ops.h"
#include "engine/tensor/object.h"

typedef struct narrow_state {
	sp_dtype dtype;
	sp_dense_options dense;
} narrow_state;

typedef struct narrow_layer {
	sp_dtype dtype;
	size_t k, n;
	bool transposed;
	bool relu;
	sp_dense_layer *packed; /* of bfloat16; NULL where it is summed in another order */
	float *weights;         /* if not packed: [k, n], or [n, k] when transposed */
	float *bias;            /* [n] or NULL */
} narrow_layer;

static sp_status prepare_layer(sp_prepare *prepare, sp_error *err)
{
	narrow_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a layer");
	state->dtype = prepare->in_count > 0 ? prepare->in_dtypes[0] : SP_INVALID_DTYPE;
	if (state->dtype != SP_HALF && state->dtype != SP_BFLOAT16)
		return sp_prepare_unsupported(prepare, state->dtype, err);
	for (size_t i = 0; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, state->dtype, err));
	state->dense = prepare->node->dense;
	return sp_prepare_outputs(prepare, 1, SP_OBJECT, err);
}

static void destroy_layer(void *object)
{
	narrow_layer *layer = object;

	sp_dense_layer_destroy(layer->packed);
	sp_free(layer->weights);
	sp_free(layer->bias);
	sp_free(layer);
}

static const sp_object_type layer_type = {"a dense layer of half or bfloat16", destroy_layer};

/* As floats, with what the product may read behind them. */
static sp_status widen(float **out, const sp_tensor *from, sp_error *err)
{
	size_t count, size;

	*out = NULL;
	if (sp_size_add(&count, from->count, SP_GEMM_WIDE_TAIL) &&
	    sp_size_mul(&size, count, sizeof(float)))
		*out = sp_alloc_aligned(64, size);
	if (*out == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu weights", from->count);
	sp_widen_find(from->dtype)(from->data, *out, from->count);
	memset(*out + from->count, 0, SP_GEMM_WIDE_TAIL * sizeof(float));
	return SP_OK;
}

static sp_status pack(narrow_layer *layer, sp_error *err)
{
	sp_dense_spec spec = {.k = layer->k, .n = layer->n, .weights = layer->weights};

	SP_TRY(sp_dense_layer_create(&layer->packed, &spec, err));
	sp_free(layer->weights);
	layer->weights = NULL;
	return SP_OK;
}

static sp_status fill_layer(const sp_call *call, narrow_layer *layer)
{
	const sp_tensor *w = call->in[0];
	const sp_tensor *b = call->in_count > 1 ? call->in[1] : NULL;
	char text[SP_SHAPE_TEXT_SIZE];

	if (w->shape.rank != 2)
		return sp_error_set(call->err, SP_INVALID, "weights of shape %s are not a matrix",
				    sp_shape_text(&w->shape, text));
	layer->k = (size_t)w->shape.dims[layer->transposed ? 1 : 0];
	layer->n = (size_t)w->shape.dims[layer->transposed ? 0 : 1];
	if (b != NULL && (b->shape.rank != 1 || b->count != layer->n))
		return sp_call_invalid(call, "a bias of shape %s does not fit %zu outputs",
				       sp_shape_text(&b->shape, text), layer->n);
	if (b != NULL)
		SP_TRY(widen(&layer->bias, b, call->err));
	SP_TRY(widen(&layer->weights, w, call->err));
	/* The float layer sums transposed weights as others; MatMul does not. */
	if (layer->dtype == SP_BFLOAT16 && !layer->transposed)
		return pack(layer, call->err);
	return SP_OK;
}

static sp_status run_layer(const sp_call *call)
{
	const narrow_state *state = call->state;
	narrow_layer *layer;
	sp_status status;

	if (call->objects == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "weights can be packed at load only");
	layer = sp_alloc_zero(1, sizeof(*layer));
	if (layer == NULL)
		return sp_error_set(call->err, SP_NO_MEMORY, "no memory for a layer");
	layer->dtype = state->dtype;
	layer->transposed = state->dense.transposed;
	layer->relu = state->dense.relu;
	status = fill_layer(call, layer);
	if (status != SP_OK) {
		destroy_layer(layer);
		return status;
	}
	return sp_objects_add(call->objects, &layer_type, layer, call->out[0], call->err);
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_HALF && dtype != SP_BFLOAT16)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_OBJECT, err));
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

/* ----------------------------------------------------------------- the product */

static sp_gemm product_of(const narrow_layer *layer, const void *x, size_t m, void *y)
{
	return (sp_gemm){.m = m,
			 .k = layer->k,
			 .n = layer->n,
			 .a = x,
			 .a_row = layer->k,
			 .a_column = 1,
			 .b = layer->weights,
			 .b_row = layer->transposed ? 1 : layer->n,
			 .b_column = layer->transposed ? layer->k : 1,
			 .b_wide = true,
			 .c = y};
}

static sp_status multiply_floats(const sp_call *call, const narrow_layer *layer, const float *x,
				 size_t m, float *y)
{
	sp_gemm g = product_of(layer, x, m, y);

	if (layer->packed != NULL)
		return sp_dense_layer_run(layer->packed, x, m, y, call->workspace, call->err);
	sp_gemm__float(&g);
	return SP_OK;
}

static sp_status multiply_bfloat16(const sp_call *call, const narrow_layer *layer, size_t m)
{
	const sp_tensor *x = call->in[0], *y = call->out[0];
	sp_shape shape = sp_shape_vector((int64_t)(x->count + y->count));
	float *wide_x, *wide_y;
	sp_tensor scratch;
	sp_status status;

	SP_TRY(sp_workspace_tensor(call->workspace, &scratch, SP_FLOAT, &shape, call->err));
	wide_x = sp_tensor_f32(&scratch);
	wide_y = wide_x + x->count;
	sp_widen_bfloat16(x->data, wide_x, x->count);
	status = multiply_floats(call, layer, wide_x, m, wide_y);
	if (status == SP_OK)
		sp_cut_bfloat16(wide_y, y->data, y->count);
	sp_workspace_release(call->workspace, &scratch);
	return status;
}

/* -------------------------------------------------------- what comes behind it */

static void add_bias(const narrow_layer *layer, uint16_t *y, size_t rows)
{
	enum { BLOCK = 512 };
	sp_widen_fn *widen_part = sp_widen_find(layer->dtype);
	sp_narrow_fn *narrow_part = sp_narrow_find(layer->dtype);
	float block[BLOCK];

	for (size_t i = 0; i < rows; i++, y += layer->n)
		for (size_t j = 0, count; j < layer->n; j += count) {
			count = layer->n - j < BLOCK ? layer->n - j : BLOCK;
			widen_part(y + j, block, count);
			for (size_t l = 0; l < count; l++)
				block[l] += layer->bias[j + l];
			narrow_part(block, y + j, count);
		}
}

/* What is less than zero and a number: of both types the bits between those of -0 and of NaN. */
static void rectify(uint16_t *y, size_t count, uint16_t infinity)
{
	for (size_t i = 0; i < count; i++)
		y[i] = y[i] > 0x8000 && y[i] <= infinity ? 0 : y[i];
}

static void finish(const narrow_layer *layer, sp_tensor *y, size_t rows)
{
	if (layer->bias != NULL)
		add_bias(layer, y->data, rows);
	if (layer->relu)
		rectify(y->data, y->count, layer->dtype == SP_HALF ? 0xfc00 : 0xff80);
}

static sp_status run_dense(const sp_call *call)
{
	const sp_tensor *x = call->in[0];
	const narrow_layer *layer = sp_tensor_object(call->in[1], &layer_type);
	sp_shape shape;
	sp_gemm g;
	char text[SP_SHAPE_TEXT_SIZE];

	if (layer == NULL)
		return sp_error_set(call->err, SP_INTERNAL, "input 1 is no dense layer");
	if (x->shape.rank != 2 || x->shape.dims[1] != (int64_t)layer->k)
		return sp_call_invalid(call, "a product of shape %s with weights of [%zu,%zu]",
				       sp_shape_text(&x->shape, text), layer->k, layer->n);
	shape = sp_shape_matrix(x->shape.dims[0], (int64_t)layer->n);
	SP_TRY(sp_call_output(call, 0, layer->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	g = product_of(layer, x->data, (size_t)shape.dims[0], call->out[0]->data);
	if (layer->dtype == SP_HALF)
		sp_gemm__half(&g);
	else
		SP_TRY(multiply_bfloat16(call, layer, g.m));
	finish(layer, call->out[0], g.m);
	return SP_OK;
}

const sp_op sp_op_NarrowLayer = {
	.name = "NarrowLayer",
	.flags = SP_OP_READS_VARIABLE,
	.prepare = prepare_layer,
	.run = run_layer,
};

const sp_op sp_op_NarrowDense = {
	.name = "NarrowDense",
	.prepare = prepare_dense,
	.run = run_dense,
};
