#include <math.h>
#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/nn/gemm.h"

/*
 * GRUBlockCell: one step of a GRU.
 *
 *     x [batch, inputs], h_prev [batch, cells]
 *     w_ru [inputs + cells, 2 * cells], w_c [inputs + cells, cells]
 *     b_ru [2 * cells], b_c [cells]
 *
 *     [r, u] = sigmoid([x, h_prev] w_ru + b_ru)
 *     c = tanh([x, r h_prev] w_c + b_c)
 *     h = u h_prev + (1 - u) c
 *
 * Outputs: r, u, c, h.  float32.
 */
static sp_status prepare_gru(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 6, err));
	for (size_t i = 0; i < 6; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	return sp_prepare_outputs(prepare, 4, SP_FLOAT, err);
}

typedef struct gru_sizes {
	size_t batch, inputs, cells;
} gru_sizes;

static sp_status read_sizes(const sp_call *call, gru_sizes *s)
{
	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 2));
	*s = (gru_sizes){.batch = (size_t)call->in[0]->shape.dims[0],
			 .inputs = (size_t)call->in[0]->shape.dims[1],
			 .cells = (size_t)call->in[1]->shape.dims[1]};
	if (s->cells == 0 || s->cells > INT32_MAX || s->inputs > INT32_MAX ||
	    call->in[1]->shape.dims[0] != (int64_t)s->batch)
		return sp_call_invalid(call, "a GRU of %zu inputs and %zu cells for a batch of %zu",
				       s->inputs, s->cells, s->batch);
	return SP_OK;
}

static sp_status check_weights(const sp_call *call, const gru_sizes *s)
{
	const sp_shape want[] = {
		sp_shape_matrix((int64_t)(s->inputs + s->cells), (int64_t)(2 * s->cells)),
		sp_shape_matrix((int64_t)(s->inputs + s->cells), (int64_t)s->cells),
		sp_shape_vector((int64_t)(2 * s->cells)),
		sp_shape_vector((int64_t)s->cells),
	};
	char text[SP_SHAPE_TEXT_SIZE], want_text[SP_SHAPE_TEXT_SIZE];

	for (size_t i = 0; i < 4; i++)
		if (!sp_shape_equal(&call->in[2 + i]->shape, &want[i]))
			return sp_call_invalid(call, "input %zu is of shape %s, not %s", 2 + i,
					       sp_shape_text(&call->in[2 + i]->shape, text),
					       sp_shape_text(&want[i], want_text));
	return SP_OK;
}

/* out [batch, columns] = [x, r h] w, or [x, h] w if r is NULL; xh is scratch memory. */
static void multiply(const sp_call *call, const gru_sizes *s, const float *r, const sp_tensor *w,
		     float *xh, float *out)
{
	const float *x = call->in[0]->data, *h = call->in[1]->data;
	size_t width = s->inputs + s->cells, columns = (size_t)w->shape.dims[1];

	for (size_t i = 0; i < s->batch; i++) {
		float *to = xh + i * width;

		memcpy(to, x + i * s->inputs, s->inputs * sizeof(*to));
		for (size_t j = 0; j < s->cells; j++)
			to[s->inputs + j] = h[i * s->cells + j] *
					    (r != NULL ? r[i * s->cells + j] : 1);
	}
	sp_gemm__find(SP_FLOAT)(&(sp_gemm){.m = s->batch,
					   .n = columns,
					   .k = width,
					   .a = xh,
					   .a_row = width,
					   .a_column = 1,
					   .b = w->data,
					   .b_row = columns,
					   .b_column = 1,
					   .c = out});
}

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

static void make_gates(const gru_sizes *s, const float *gates, const float *bias, float *r,
		       float *u)
{
	for (size_t i = 0; i < s->batch; i++)
		for (size_t j = 0; j < s->cells; j++) {
			const float *row = gates + i * 2 * s->cells;

			r[i * s->cells + j] = sigmoid(row[j] + bias[j]);
			u[i * s->cells + j] = sigmoid(row[s->cells + j] + bias[s->cells + j]);
		}
}

static sp_status run_gru(const sp_call *call)
{
	float *xh, *gates, *r, *u, *c, *h;
	const float *before = call->in[1]->data, *bias;
	gru_sizes s;

	SP_TRY(read_sizes(call, &s));
	SP_TRY(check_weights(call, &s));
	for (size_t i = 0; i < 4; i++)
		SP_TRY(sp_call_output(call, i, SP_FLOAT, &call->in[1]->shape));
	xh = sp_call_bytes(call, s.batch, (s.inputs + s.cells) * sizeof(*xh));
	gates = sp_call_bytes(call, s.batch, 2 * s.cells * sizeof(*gates));
	if (xh == NULL || gates == NULL)
		return sp_call_no_memory(call);
	if (s.batch == 0)
		return SP_OK;
	r = call->out[0]->data;
	u = call->out[1]->data;
	c = call->out[2]->data;
	h = call->out[3]->data;
	multiply(call, &s, NULL, call->in[2], xh, gates);
	make_gates(&s, gates, call->in[4]->data, r, u);
	multiply(call, &s, r, call->in[3], xh, c);
	bias = call->in[5]->data;
	for (size_t i = 0; i < s.batch * s.cells; i++) {
		c[i] = tanhf(c[i] + bias[i % s.cells]);
		h[i] = u[i] * before[i] + (1 - u[i]) * c[i];
	}
	return SP_OK;
}

const sp_op sp_op_GRUBlockCell = {
	.name = "GRUBlockCell", .outputs = "r u c h", .prepare = prepare_gru, .run = run_gru};
