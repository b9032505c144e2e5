#include <math.h>
#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/reduce/element_types.h"
#include "engine/ops/nn/gemm.h"

/*
 * LSTMBlockCell: one step of an LSTM.  BlockLSTM, BlockLSTMV2: all steps; only the first
 * seq_len_max are computed, the outputs of the others are zeros.
 *
 *     x  [batch, inputs], for BlockLSTM* [steps, batch, inputs]
 *     cs_prev, h_prev  [batch, cells]
 *     w  [inputs + cells, 4 * cells]
 *     wci, wcf, wco  [cells]
 *     b  [4 * cells]
 *
 *     gates = [x, h_prev] w + b
 *     i = sigmoid(gates_i + wci cs_prev)      ci = tanh(gates_ci)
 *     f = sigmoid(gates_f + forget_bias + wcf cs_prev)
 *     cs = ci i + cs_prev f, clipped to +-cell_clip if that is positive
 *     o = sigmoid(gates_o + wco cs)           co = tanh(cs)
 *     h = o co
 *
 * wci, wcf and wco are used with use_peephole only.  The gates are in the order i, ci, f, o; in
 * BlockLSTMV2, which has no forget_bias, i, f, ci, o.
 *
 * Outputs: i, cs, f, o, ci, co, h.
 *
 * Numerics: half is computed in float; outputs and the state for the next step round once.
 */
enum { OUT_I, OUT_CS, OUT_F, OUT_O, OUT_CI, OUT_CO, OUT_H, OUTPUTS };

typedef struct lstm_step {
	size_t batch, inputs, cells;
	const void *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;
	void *out[OUTPUTS];
	void *xh;    /* [batch, inputs + cells] */
	void *gates; /* [batch, 4 * cells] */
} lstm_step;

typedef struct lstm_state lstm_state;

typedef void step_fn(const lstm_state *state, const lstm_step *s);

struct lstm_state {
	step_fn *step;
	sp_gemm_fn *multiply;
	float forget_bias, cell_clip; /* cell_clip <= 0: none */
	bool has_peephole;
	bool is_block; /* BlockLSTM*: many steps */
	size_t f_gate, ci_gate;
};

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

static void multiply(const lstm_state *state, const lstm_step *s, size_t size)
{
	size_t width = s->inputs + s->cells;

	for (size_t i = 0; i < s->batch; i++) {
		char *to = (char *)s->xh + i * width * size;

		memcpy(to, (const char *)s->x + i * s->inputs * size, s->inputs * size);
		memcpy(to + s->inputs * size, (const char *)s->h_prev + i * s->cells * size,
		       s->cells * size);
	}
	state->multiply(&(sp_gemm){.m = s->batch,
				   .n = 4 * s->cells,
				   .k = width,
				   .a = s->xh,
				   .a_row = width,
				   .a_column = 1,
				   .b = s->w,
				   .b_row = 4 * s->cells,
				   .b_column = 1,
				   .c = s->gates});
}

#define AT(type, data, i) SP_LOAD_##type(((const sp_element_##type *)(data))[i])
#define GATE(type, g)                                                             \
	(AT(type, s->gates, row * 4 * s->cells + (size_t)(g)*s->cells + column) + \
	 AT(type, s->b, (size_t)(g)*s->cells + column))
#define PUT(type, output, value) \
	(((sp_element_##type *)s->out[output])[at] = SP_STORE_##type(value))

#define STEP(type, name)                                                                     \
	static void name##_##type(const lstm_state *state, const lstm_step *s)               \
	{                                                                                    \
		multiply(state, s, sizeof(sp_element_##type));                               \
		for (size_t at = 0; at < s->batch * s->cells; at++) {                        \
			size_t row = at / s->cells, column = at % s->cells;                  \
			float before = AT(type, s->cs_prev, at);                             \
			float i = GATE(type, 0), f = GATE(type, state->f_gate);              \
			float o = GATE(type, 3), ci = tanhf(GATE(type, state->ci_gate)), cs; \
                                                                                             \
			if (state->has_peephole) {                                           \
				i += before * AT(type, s->wci, column);                      \
				f += before * AT(type, s->wcf, column);                      \
			}                                                                    \
			i = sigmoid(i);                                                      \
			f = sigmoid(f + state->forget_bias);                                 \
			cs = ci * i + before * f;                                            \
			if (state->cell_clip > 0)                                            \
				cs = fminf(fmaxf(cs, -state->cell_clip), state->cell_clip);  \
			if (state->has_peephole)                                             \
				o += cs * AT(type, s->wco, column);                          \
			o = sigmoid(o);                                                      \
			PUT(type, OUT_I, i);                                                 \
			PUT(type, OUT_CS, cs);                                               \
			PUT(type, OUT_F, f);                                                 \
			PUT(type, OUT_O, o);                                                 \
			PUT(type, OUT_CI, ci);                                               \
			PUT(type, OUT_CO, tanhf(cs));                                        \
			PUT(type, OUT_H, o *tanhf(cs));                                      \
		}                                                                            \
	}

STEP(f32, step)
STEP(f16, step)
STEP(bf16, step)

static sp_status prepare_any(sp_prepare *prepare, bool is_block, float forget_bias, float cell_clip,
			     lstm_state **out, sp_error *err)
{
	static step_fn *const steps[SP_DTYPE_COUNT] = {
		[SP_FLOAT] = step_f32, [SP_HALF] = step_f16, [SP_BFLOAT16] = step_bf16};
	lstm_state *state = sp_prepare_state(prepare, sizeof(*state));
	size_t first = is_block ? 1 : 0;
	sp_dtype dtype;

	*out = state;
	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, first + 8, err));
	if (is_block)
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT64, err));
	dtype = prepare->in_dtypes[first];
	SP_TRY(sp_array__same_dtype(prepare, first, first + 8, err));
	SP_TRY(sp_node_attr_float(prepare->node, "forget_bias", forget_bias, &state->forget_bias,
				  err));
	SP_TRY(sp_node_attr_float(prepare->node, "cell_clip", cell_clip, &state->cell_clip, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "use_peephole", false, &state->has_peephole, err));
	state->is_block = is_block;
	state->ci_gate = 1;
	state->f_gate = 2;
	state->step = steps[dtype];
	state->multiply = sp_gemm__find(dtype);
	if (state->step == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, OUTPUTS, dtype, err);
}

static sp_status prepare_cell(sp_prepare *prepare, sp_error *err)
{
	lstm_state *state;

	return prepare_any(prepare, false, 1, 3, &state, err);
}

static sp_status prepare_block(sp_prepare *prepare, sp_error *err)
{
	lstm_state *state;

	return prepare_any(prepare, true, 1, 3, &state, err);
}

static sp_status prepare_block_v2(sp_prepare *prepare, sp_error *err)
{
	lstm_state *state;

	SP_TRY(prepare_any(prepare, true, 0, 0, &state, err));
	state->forget_bias = 0;
	state->f_gate = 1;
	state->ci_gate = 2;
	return SP_OK;
}

/* SP_INVALID unless input i is [rows, columns], or [rows] if columns is 0. */
static sp_status check_size(const sp_call *call, size_t i, const char *name, size_t rows,
			    size_t columns)
{
	const sp_shape *shape = &call->in[i]->shape;
	char text[SP_SHAPE_TEXT_SIZE];
	int rank = columns == 0 ? 1 : 2;

	if (shape->rank == rank && shape->dims[0] == (int64_t)rows &&
	    (rank == 1 || shape->dims[1] == (int64_t)columns))
		return SP_OK;
	return sp_call_invalid(call, "%s of shape %s is not of %zu by %zu", name,
			       sp_shape_text(shape, text), rows, columns);
}

/* Fills *s except for x: sizes, inputs, scratch memory. */
static sp_status read_weights(const sp_call *call, size_t first, lstm_step *s)
{
	size_t size = sp_dtype_size(call->in[first]->dtype);
	static const char *const names[] = {"x",   "cs_prev", "h_prev", "w",
					    "wci", "wcf",     "wco",    "b"};

	SP_TRY(sp_array__need_rank(call, first + 1, 2));
	s->cells = (size_t)call->in[first + 1]->shape.dims[1];
	if (s->cells == 0 || s->cells > INT32_MAX || s->inputs > INT32_MAX)
		return sp_call_invalid(call, "an LSTM of %zu inputs and %zu cells", s->inputs,
				       s->cells);
	SP_TRY(check_size(call, first + 1, names[1], s->batch, s->cells));
	SP_TRY(check_size(call, first + 2, names[2], s->batch, s->cells));
	SP_TRY(check_size(call, first + 3, names[3], s->inputs + s->cells, 4 * s->cells));
	for (size_t i = 4; i < 7; i++)
		SP_TRY(check_size(call, first + i, names[i], s->cells, 0));
	SP_TRY(check_size(call, first + 7, names[7], 4 * s->cells, 0));
	s->cs_prev = call->in[first + 1]->data;
	s->h_prev = call->in[first + 2]->data;
	s->w = call->in[first + 3]->data;
	s->wci = call->in[first + 4]->data;
	s->wcf = call->in[first + 5]->data;
	s->wco = call->in[first + 6]->data;
	s->b = call->in[first + 7]->data;
	s->xh = sp_call_bytes(call, s->batch, (s->inputs + s->cells) * size);
	s->gates = sp_call_bytes(call, s->batch, 4 * s->cells * size);
	return s->xh == NULL || s->gates == NULL ? sp_call_no_memory(call) : SP_OK;
}

static sp_status make_outputs(const sp_call *call, const sp_shape *shape, sp_dtype dtype)
{
	for (size_t i = 0; i < OUTPUTS; i++)
		SP_TRY(sp_call_output(call, i, dtype, shape));
	return SP_OK;
}

static sp_status run_cell(const sp_call *call)
{
	const lstm_state *state = call->state;
	lstm_step s = {0};

	SP_TRY(sp_array__need_rank(call, 0, 2));
	s.batch = (size_t)call->in[0]->shape.dims[0];
	s.inputs = (size_t)call->in[0]->shape.dims[1];
	s.x = call->in[0]->data;
	SP_TRY(read_weights(call, 0, &s));
	SP_TRY(make_outputs(call, &call->in[1]->shape, call->in[0]->dtype));
	for (size_t i = 0; i < OUTPUTS; i++)
		s.out[i] = call->out[i]->data;
	if (s.batch != 0)
		state->step(state, &s);
	return SP_OK;
}

static sp_status run_block(const sp_call *call)
{
	const lstm_state *state = call->state;
	const sp_tensor *x = call->in[1];
	size_t size = sp_dtype_size(x->dtype), in_step, out_step;
	sp_shape shape = x->shape;
	int64_t steps;
	lstm_step s = {0};

	SP_TRY(sp_array__need_rank(call, 0, 0));
	SP_TRY(sp_array__need_rank(call, 1, 3));
	steps = *sp_tensor_i64(call->in[0]);
	if (steps < 0 || steps > shape.dims[0])
		return sp_call_invalid(call, "seq_len_max is %lld of %lld steps", (long long)steps,
				       (long long)shape.dims[0]);
	s.batch = (size_t)shape.dims[1];
	s.inputs = (size_t)shape.dims[2];
	SP_TRY(read_weights(call, 1, &s));
	shape.dims[2] = (int64_t)s.cells;
	SP_TRY(make_outputs(call, &shape, x->dtype));
	in_step = s.batch * s.inputs * size;
	out_step = s.batch * s.cells * size;
	for (size_t i = 0; call->out[0]->count != 0 && i < OUTPUTS; i++)
		memset((char *)call->out[i]->data + (size_t)steps * out_step, 0,
		       (size_t)(shape.dims[0] - steps) * out_step);
	for (int64_t t = 0; s.batch != 0 && t < steps; t++) {
		s.x = (const char *)x->data + (size_t)t * in_step;
		for (size_t i = 0; i < OUTPUTS; i++)
			s.out[i] = (char *)call->out[i]->data + (size_t)t * out_step;
		state->step(state, &s);
		s.cs_prev = s.out[OUT_CS];
		s.h_prev = s.out[OUT_H];
	}
	return SP_OK;
}

const sp_op sp_op_LSTMBlockCell = {.name = "LSTMBlockCell",
				   .outputs = "i cs f o ci co h",
				   .prepare = prepare_cell,
				   .run = run_cell};
const sp_op sp_op_BlockLSTM = {.name = "BlockLSTM",
			       .outputs = "i cs f o ci co h",
			       .prepare = prepare_block,
			       .run = run_block};
const sp_op sp_op_BlockLSTMV2 = {.name = "BlockLSTMV2",
				 .outputs = "i cs f o ci co h",
				 .prepare = prepare_block_v2,
				 .run = run_block};
