#include "engine/ops/math/broadcast.h"
#include "engine/ops/math/cast.h"
#include "engine/ops/math/complex.h"
#include "engine/ops/nn/gemm.h"

/*
 * MatMul and BatchMatMul, V2, V3: matrix products over the last two dimensions.
 *
 * MatMul takes two matrices, BatchMatMul tensors with equal batch dimensions; V2 and V3 broadcast
 * the batch dimensions.  V3 also multiplies int8 and uint8 with int32 results, and int8 or uint8
 * with bfloat16 with bfloat16 results.  adj_x and adj_y of the batch operators conjugate complex
 * numbers, transpose_a and transpose_b of MatMul do not.
 *
 * Numerics: engine/ops/nn/gemm.h.
 */
typedef enum batch_rule { BATCH_NONE, BATCH_EQUAL, BATCH_BROADCAST } batch_rule;

typedef struct matmul_state {
	sp_gemm_fn *kernel;
	sp_cast_fn *cast[2]; /* for an input of another type than the result, else NULL */
	sp_dtype result;
	bool transpose[2];
	bool conjugate[2];
	batch_rule rule;
} matmul_state;

static sp_status prepare_any(sp_prepare *prepare, const char *const flags[2], batch_rule rule,
			     matmul_state **out, sp_error *err)
{
	matmul_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	for (size_t i = 0; i < 2; i++)
		SP_TRY(sp_node_attr_bool(prepare->node, flags[i], false, &state->transpose[i],
					 err));
	state->rule = rule;
	state->result = prepare->in_dtypes[0];
	return SP_OK;
}

static sp_status finish(sp_prepare *prepare, matmul_state *state, sp_error *err)
{
	const sp_dtype *in = prepare->in_dtypes;

	for (size_t i = 0; i < 2; i++) {
		if (in[i] != state->result)
			state->cast[i] = sp_cast__find(in[i], state->result);
		state->conjugate[i] = state->rule != BATCH_NONE && state->transpose[i] &&
				      sp_dtype_is_complex(state->result);
	}
	state->kernel = sp_gemm__find(state->result);
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, state->result, err);
	return sp_prepare_outputs(prepare, 1, state->result, err);
}

static const char *const matmul_flags[] = {"transpose_a", "transpose_b"};
static const char *const batch_flags[] = {"adj_x", "adj_y"};

static sp_status prepare_matmul(sp_prepare *prepare, sp_error *err)
{
	matmul_state *state;

	SP_TRY(prepare_any(prepare, matmul_flags, BATCH_NONE, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->result, err));
	return finish(prepare, state, err);
}

static sp_status prepare_batch(sp_prepare *prepare, sp_error *err)
{
	matmul_state *state;

	SP_TRY(prepare_any(prepare, batch_flags, BATCH_EQUAL, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->result, err));
	return finish(prepare, state, err);
}

static sp_status prepare_batch_v2(sp_prepare *prepare, sp_error *err)
{
	matmul_state *state;

	SP_TRY(prepare_any(prepare, batch_flags, BATCH_BROADCAST, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->result, err));
	return finish(prepare, state, err);
}

static bool is_byte(sp_dtype dtype)
{
	return dtype == SP_INT8 || dtype == SP_UINT8;
}

static sp_status prepare_batch_v3(sp_prepare *prepare, sp_error *err)
{
	const sp_dtype *in = prepare->in_dtypes;
	matmul_state *state;
	bool bytes, mixed;

	SP_TRY(prepare_any(prepare, batch_flags, BATCH_BROADCAST, &state, err));
	SP_TRY(sp_node_attr_type(prepare->node, "Tout", in[0], &state->result, err));
	bytes = is_byte(in[0]) && is_byte(in[1]) && state->result == SP_INT32;
	mixed = (is_byte(in[0]) || is_byte(in[1])) && state->result == SP_BFLOAT16 &&
		(in[0] == SP_BFLOAT16 || in[1] == SP_BFLOAT16);
	if (!bytes && !mixed && (in[0] != state->result || in[1] != state->result))
		return sp_error_set(err, SP_UNSUPPORTED, "%s of %s and %s to %s is not supported",
				    prepare->node->op_name, sp_dtype_name(in[0]),
				    sp_dtype_name(in[1]), sp_dtype_name(state->result));
	return finish(prepare, state, err);
}

/* The dimensions of `shape` before the last two. */
static sp_shape batch_of(const sp_shape *shape)
{
	sp_shape batch = *shape;

	batch.rank -= 2;
	return batch;
}

static sp_status check_ranks(const sp_call *call, batch_rule rule)
{
	const sp_shape *a = &call->in[0]->shape, *b = &call->in[1]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];

	if (a->rank >= 2 && b->rank >= 2 && (rule != BATCH_NONE || (a->rank == 2 && b->rank == 2)))
		return SP_OK;
	return sp_call_invalid(call, "shapes %s and %s are not matrices", sp_shape_text(a, a_text),
			       sp_shape_text(b, b_text));
}

/* Fills the sizes and strides of one product and the broadcast of the batches. */
static sp_status plan(const sp_call *call, sp_gemm *g, sp_broadcast *batches)
{
	const matmul_state *state = call->state;
	const sp_shape *a = &call->in[0]->shape, *b = &call->in[1]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];
	sp_shape a_batch, b_batch;
	size_t a_rows, a_columns, b_rows, b_columns;

	SP_TRY(check_ranks(call, state->rule));
	a_batch = batch_of(a);
	b_batch = batch_of(b);
	if ((state->rule == BATCH_EQUAL && !sp_shape_equal(&a_batch, &b_batch)) ||
	    !sp_broadcast__plan(batches, (const sp_shape *[]){&a_batch, &b_batch}, 2))
		return sp_call_invalid(call, "incompatible batch dimensions: %s and %s",
				       sp_shape_text(a, a_text), sp_shape_text(b, b_text));
	a_rows = (size_t)a->dims[a->rank - 2];
	a_columns = (size_t)a->dims[a->rank - 1];
	b_rows = (size_t)b->dims[b->rank - 2];
	b_columns = (size_t)b->dims[b->rank - 1];
	*g = (sp_gemm){.m = state->transpose[0] ? a_columns : a_rows,
		       .k = state->transpose[0] ? a_rows : a_columns,
		       .n = state->transpose[1] ? b_rows : b_columns,
		       .a_row = state->transpose[0] ? 1 : a_columns,
		       .a_column = state->transpose[0] ? a_columns : 1,
		       .b_row = state->transpose[1] ? 1 : b_columns,
		       .b_column = state->transpose[1] ? b_columns : 1};
	if (g->k != (state->transpose[1] ? b_columns : b_rows))
		return sp_call_invalid(
			call, "matrices do not fit: %s%s and %s%s", sp_shape_text(a, a_text),
			state->transpose[0] ? " transposed" : "", sp_shape_text(b, b_text),
			state->transpose[1] ? " transposed" : "");
	return SP_OK;
}

/* The elements of input i in the type of the result, conjugated if adj_x or adj_y says so. */
static sp_status operand(const sp_call *call, size_t i, const char **out)
{
	const matmul_state *state = call->state;
	const sp_tensor *in = call->in[i];
	void *copy;

	*out = in->data;
	if (state->cast[i] == NULL && !state->conjugate[i])
		return SP_OK;
	SP_CALL_BYTES(copy, call, in->count, sp_dtype_size(state->result));
	if (state->conjugate[i])
		sp_complex__conjugate(copy, in->data, in->count, in->dtype);
	else
		state->cast[i](in->data, copy, in->count);
	*out = copy;
	return SP_OK;
}

static sp_status run_matmul(const sp_call *call)
{
	const matmul_state *state = call->state;
	const char *a, *b;
	sp_broadcast batches;
	sp_shape shape;
	sp_gemm g;

	SP_TRY(plan(call, &g, &batches));
	shape = batches.shape;
	shape.dims[shape.rank++] = (int64_t)g.m;
	shape.dims[shape.rank++] = (int64_t)g.n;
	SP_TRY(sp_call_output(call, 0, state->result, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	SP_TRY(operand(call, 0, &a));
	SP_TRY(operand(call, 1, &b));
	g.a = a;
	g.b = b;
	g.c = call->out[0]->data;
	sp_gemm__batch(state->kernel, &g, &batches, sp_dtype_size(state->result));
	return SP_OK;
}

const sp_op sp_op_MatMul = {.name = "MatMul", .prepare = prepare_matmul, .run = run_matmul};
const sp_op sp_op_BatchMatMul = {
	.name = "BatchMatMul", .prepare = prepare_batch, .run = run_matmul};
const sp_op sp_op_BatchMatMulV2 = {
	.name = "BatchMatMulV2", .prepare = prepare_batch_v2, .run = run_matmul};
const sp_op sp_op_BatchMatMulV3 = {
	.name = "BatchMatMulV3", .prepare = prepare_batch_v3, .run = run_matmul};
