#include "engine/ops/array/array.h"
#include "engine/ops/random/random_fill.h"
#include "engine/ops/random/random_stream.h"

/*
 * Random numbers of generators whose state is a variable (tf.random.Generator, as in layers that
 * sample).  A stream starts at the value of the variable in the model version and continues from
 * request to request in a session (engine/ops/random/random_stream.h).  The first results of a
 * session are those of TensorFlow after loading the model; all sessions draw the same numbers.
 *
 *   StatefulUniform, StatefulStandardNormalV2, StatefulTruncatedNormal
 *                       resource, algorithm (int64), shape; half, bfloat16, float, double
 *   StatefulUniformInt  the same inputs, minval, maxval; int32, int64
 *   StatefulUniformFullInt   int32, int64, uint32, uint64
 *   RngReadAndSkip      resource, alg (int32), delta (uint64): returns the state [3] and advances
 *                       it by `delta` numbers
 *   RngSkip             the same, with int64 algorithm and delta, and no output
 *
 * The algorithm is Philox: TensorFlow has no other on a CPU.
 */
typedef struct generator_state {
	sp_random_recipe recipe;
} generator_state;

static sp_status prepare_fill(sp_prepare *prepare, sp_random_kind kind, sp_error *err)
{
	generator_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", prepare->node->op_name);
	SP_TRY(sp_prepare_inputs(prepare, kind == SP_RANDOM_INTEGER ? 5 : 3, err));
	SP_TRY(sp_random__prepare_variable(prepare, 0, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT64, err));
	SP_TRY(sp_prepare_input_index(prepare, 2, err));
	if (kind == SP_RANDOM_INTEGER) {
		dtype = prepare->in_dtypes[3];
		SP_TRY(sp_prepare_input_dtype(prepare, 4, dtype, err));
	} else {
		SP_TRY(sp_node_attr_type(prepare->node, "dtype",
					 kind == SP_RANDOM_BITS ? SP_UINT64 : SP_FLOAT, &dtype,
					 err));
	}
	if (!sp_random__supports(kind, dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	state->recipe = (sp_random_recipe){.kind = kind, .dtype = dtype};
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status prepare_uniform(sp_prepare *prepare, sp_error *err)
{
	return prepare_fill(prepare, SP_RANDOM_UNIFORM, err);
}

static sp_status prepare_normal(sp_prepare *prepare, sp_error *err)
{
	return prepare_fill(prepare, SP_RANDOM_NORMAL, err);
}

static sp_status prepare_truncated(sp_prepare *prepare, sp_error *err)
{
	return prepare_fill(prepare, SP_RANDOM_TRUNCATED, err);
}

static sp_status prepare_integer(sp_prepare *prepare, sp_error *err)
{
	return prepare_fill(prepare, SP_RANDOM_INTEGER, err);
}

static sp_status prepare_bits(sp_prepare *prepare, sp_error *err)
{
	return prepare_fill(prepare, SP_RANDOM_BITS, err);
}

/* TensorFlow checks the bounds even if no number is drawn. */
static sp_status read_bounds(const sp_call *call, sp_random_recipe *recipe)
{
	SP_TRY(sp_array__need_rank(call, 3, 0));
	SP_TRY(sp_array__need_rank(call, 4, 0));
	recipe->low = sp_tensor_index(call->in[3], 0);
	recipe->high = sp_tensor_index(call->in[4], 0);
	if (recipe->low >= recipe->high)
		return sp_call_invalid(call, "Need minval < maxval, got %lld >= %lld",
				       (long long)recipe->low, (long long)recipe->high);
	return SP_OK;
}

static sp_status run_fill(const sp_call *call)
{
	const generator_state *state = call->state;
	sp_random_recipe recipe = state->recipe;
	sp_philox stream;
	sp_shape shape;

	SP_TRY(sp_array__need_rank(call, 1, 0));
	if (recipe.kind == SP_RANDOM_INTEGER)
		SP_TRY(read_bounds(call, &recipe));
	SP_TRY(sp_shape_from_tensor(&shape, call->in[2], call->err));
	SP_TRY(sp_call_output(call, 0, recipe.dtype, &shape));
	SP_TRY(sp_random__stream_of_variable(call, 0, *sp_tensor_i64(call->in[1]),
					     SP_RANDOM_STEPS * call->out[0]->count, &stream));
	sp_random__fill(&recipe, stream, call->out[0]->data, call->out[0]->count);
	return SP_OK;
}

/* ---------------------------------------------------------------- skipping */

static sp_status prepare_skip(sp_prepare *prepare, sp_dtype algorithm, sp_dtype delta,
			      sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_random__prepare_variable(prepare, 0, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, algorithm, err));
	return sp_prepare_input_dtype(prepare, 2, delta, err);
}

static sp_status prepare_rng_skip(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_skip(prepare, SP_INT64, SP_INT64, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
}

static sp_status prepare_read_and_skip(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_skip(prepare, SP_INT32, SP_UINT64, err));
	return sp_prepare_outputs(prepare, 1, SP_INT64, err);
}

static sp_status need_scalars(const sp_call *call)
{
	SP_TRY(sp_array__need_rank(call, 1, 0));
	return sp_array__need_rank(call, 2, 0);
}

static sp_status run_rng_skip(const sp_call *call)
{
	sp_philox stream;

	SP_TRY(need_scalars(call));
	return sp_random__stream_of_variable(
		call, 0, *sp_tensor_i64(call->in[1]),
		SP_RANDOM_STEPS * (uint64_t)*sp_tensor_i64(call->in[2]), &stream);
}

static sp_status run_read_and_skip(const sp_call *call)
{
	sp_shape shape = sp_shape_vector(3);
	sp_philox stream;
	int64_t *out;

	SP_TRY(need_scalars(call));
	SP_TRY(sp_random__stream_of_variable(call, 0, *sp_tensor_i32(call->in[1]),
					     SP_RANDOM_STEPS * *(const uint64_t *)call->in[2]->data,
					     &stream));
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	out = sp_tensor_i64(call->out[0]);
	out[0] = (int64_t)((uint64_t)stream.counter[1] << 32 | stream.counter[0]);
	out[1] = (int64_t)((uint64_t)stream.counter[3] << 32 | stream.counter[2]);
	out[2] = (int64_t)((uint64_t)stream.key[1] << 32 | stream.key[0]);
	return SP_OK;
}

#define FILL_OP(op, prepare_fn)          \
	const sp_op sp_op_##op = {       \
		.name = #op,             \
		.flags = SP_OP_STATEFUL, \
		.prepare = prepare_fn,   \
		.run = run_fill,         \
	}

FILL_OP(StatefulUniform, prepare_uniform);
FILL_OP(StatefulStandardNormalV2, prepare_normal);
FILL_OP(StatefulTruncatedNormal, prepare_truncated);
FILL_OP(StatefulUniformInt, prepare_integer);
FILL_OP(StatefulUniformFullInt, prepare_bits);

const sp_op sp_op_RngSkip = {
	.name = "RngSkip",
	.outputs = "",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_rng_skip,
	.run = run_rng_skip,
};

const sp_op sp_op_RngReadAndSkip = {
	.name = "RngReadAndSkip",
	.outputs = "value",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_read_and_skip,
	.run = run_read_and_skip,
};
