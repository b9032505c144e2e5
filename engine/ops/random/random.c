#include "engine/ops/array/array.h"
#include "engine/ops/random/random_fill.h"
#include "engine/ops/random/random_stream.h"

/*
 * Random numbers; equal seeds give TensorFlow's numbers.
 *
 * Stateful operators continue their stream with each run (engine/ops/random/random_stream.h).  If
 * both seeds are 0, TensorFlow picks a random seed; here the seed is derived from the node's name.
 */
typedef struct random_state {
	sp_random_recipe recipe;
	sp_random_node node; /* only stateful operators */
	size_t bounds;       /* the input with the lower bound; the upper one is the next input */
} random_state;

static sp_status prepare_any(sp_prepare *prepare, sp_random_kind kind, size_t inputs,
			     random_state **out, sp_error *err)
{
	random_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype, fallback = kind == SP_RANDOM_BITS ? SP_UINT64 : SP_FLOAT;

	SP_NEED_MEMORY(state, err, "%s", prepare->node->op_name);
	SP_TRY(sp_prepare_inputs(prepare, inputs + (kind == SP_RANDOM_INTEGER ? 2 : 0), err));
	SP_TRY(sp_prepare_input_index(prepare, 0, err));
	if (kind == SP_RANDOM_INTEGER) {
		dtype = prepare->in_dtypes[inputs];
		SP_TRY(sp_prepare_input_dtype(prepare, inputs + 1, dtype, err));
	} else {
		SP_TRY(sp_node_attr_type(prepare->node, "dtype", fallback, &dtype, err));
	}
	if (!sp_random__supports(kind, dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	state->recipe = (sp_random_recipe){.kind = kind, .dtype = dtype};
	state->bounds = inputs;
	*out = state;
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

/* Reads [low, high) of an integer distribution. */
static sp_status read_bounds(const sp_call *call, sp_random_recipe *recipe)
{
	const random_state *state = call->state;

	for (size_t i = state->bounds; i < state->bounds + 2; i++)
		SP_TRY(sp_call_need_rank(call, i, 0));
	recipe->low = sp_tensor_index(call->in[state->bounds], 0);
	recipe->high = sp_tensor_index(call->in[state->bounds + 1], 0);
	if (call->out[0]->count != 0 && recipe->low >= recipe->high)
		return sp_call_invalid(call, "need minval < maxval, got %lld >= %lld",
				       (long long)recipe->low, (long long)recipe->high);
	return SP_OK;
}

/* `generator` NULL: continues the stream of the node. */
static sp_status run_any(const sp_call *call, const sp_philox *generator)
{
	const random_state *state = call->state;
	sp_random_recipe recipe = state->recipe;
	sp_philox own;
	sp_shape shape;

	SP_TRY(sp_array__shape(call, 0, false, &shape));
	SP_TRY(sp_call_output(call, 0, recipe.dtype, &shape));
	if (recipe.kind == SP_RANDOM_INTEGER)
		SP_TRY(read_bounds(call, &recipe));
	if (generator == NULL) {
		own = sp_random__advance(call, &state->node, SP_RANDOM_STEPS * call->out[0]->count);
		generator = &own;
	}
	sp_random__fill(&recipe, *generator, call->out[0]->data, call->out[0]->count);
	return SP_OK;
}

/* --------------------------------------------------------------- stateful */

static sp_status prepare_stateful(sp_prepare *prepare, sp_random_kind kind, sp_error *err)
{
	random_state *state;

	SP_TRY(prepare_any(prepare, kind, 1, &state, err));
	return sp_random__stream_of_node(prepare, &state->node, err);
}

static sp_status run_stateful(const sp_call *call)
{
	return run_any(call, NULL);
}

/* -------------------------------------------------- stateless, from a seed */

static sp_status prepare_seeded(sp_prepare *prepare, sp_random_kind kind, sp_error *err)
{
	random_state *state;

	SP_TRY(prepare_any(prepare, kind, 2, &state, err));
	return sp_prepare_input_index(prepare, 1, err);
}

static sp_status run_seeded(const sp_call *call)
{
	sp_philox generator;

	SP_TRY(sp_random__stream_of_seed(call, call->in[1], &generator));
	return run_any(call, &generator);
}

/* -------------------------------------- stateless, from a key and a counter */

static sp_status prepare_keyed(sp_prepare *prepare, sp_random_kind kind, sp_error *err)
{
	random_state *state;

	SP_TRY(prepare_any(prepare, kind, 4, &state, err));
	return sp_random__prepare_key(prepare, 1, err);
}

static sp_status run_keyed(const sp_call *call)
{
	sp_philox generator;

	SP_TRY(sp_random__stream_of_key(call, 1, &generator));
	return run_any(call, &generator);
}

/* ------------------------------------------------------- keys and counters */

static sp_status write_algorithm(const sp_call *call, size_t i)
{
	SP_TRY(sp_call_output_scalar(call, i, SP_INT32));
	*sp_tensor_i32(call->out[i]) = 1; /* Philox */
	return SP_OK;
}

static sp_status run_get_key(const sp_call *call)
{
	uint64_t *key, *counter;
	sp_philox stream;

	SP_TRY(sp_random__stream_of_seed(call, call->in[0], &stream));
	SP_TRY(sp_call_output_vector(call, 0, SP_UINT64, 1));
	SP_TRY(sp_call_output_vector(call, 1, SP_UINT64, 2));
	key = call->out[0]->data;
	counter = call->out[1]->data;
	*key = (uint64_t)stream.key[1] << 32 | stream.key[0];
	counter[0] = (uint64_t)stream.counter[1] << 32 | stream.counter[0];
	counter[1] = (uint64_t)stream.counter[3] << 32 | stream.counter[2];
	return call->out_count == 3 ? write_algorithm(call, 2) : SP_OK;
}

static sp_status run_alg(const sp_call *call)
{
	return write_algorithm(call, 0);
}

SP_DEFINE_TYPED_OP(StatelessRandomGetKeyCounter, "key counter", 0, "index -> uint64 uint64",
		   run_get_key);
SP_DEFINE_TYPED_OP(StatelessRandomGetKeyCounterAlg, "key counter alg", 0,
		   "index -> uint64 uint64 int32", run_get_key);
SP_DEFINE_TYPED_OP(StatelessRandomGetAlg, NULL, 0, "-> int32", run_alg);

#define RANDOM(Name, manner, kind, op_flags)                                \
	static sp_status prepare_##Name(sp_prepare *prepare, sp_error *err) \
	{                                                                   \
		return prepare_##manner(prepare, kind, err);                \
	}                                                                   \
	const sp_op sp_op_##Name = {.name = #Name,                          \
				    .flags = (op_flags),                    \
				    .prepare = prepare_##Name,              \
				    .run = run_##manner};

RANDOM(RandomUniform, stateful, SP_RANDOM_UNIFORM, SP_OP_STATEFUL)
RANDOM(RandomStandardNormal, stateful, SP_RANDOM_NORMAL, SP_OP_STATEFUL)
RANDOM(TruncatedNormal, stateful, SP_RANDOM_TRUNCATED, SP_OP_STATEFUL)
RANDOM(RandomUniformInt, stateful, SP_RANDOM_INTEGER, SP_OP_STATEFUL)
RANDOM(StatelessRandomUniform, seeded, SP_RANDOM_UNIFORM, 0)
RANDOM(StatelessRandomNormal, seeded, SP_RANDOM_NORMAL, 0)
RANDOM(StatelessTruncatedNormal, seeded, SP_RANDOM_TRUNCATED, 0)
RANDOM(StatelessRandomUniformInt, seeded, SP_RANDOM_INTEGER, 0)
RANDOM(StatelessRandomUniformFullInt, seeded, SP_RANDOM_BITS, 0)
RANDOM(StatelessRandomUniformV2, keyed, SP_RANDOM_UNIFORM, 0)
RANDOM(StatelessRandomNormalV2, keyed, SP_RANDOM_NORMAL, 0)
RANDOM(StatelessTruncatedNormalV2, keyed, SP_RANDOM_TRUNCATED, 0)
RANDOM(StatelessRandomUniformIntV2, keyed, SP_RANDOM_INTEGER, 0)
RANDOM(StatelessRandomUniformFullIntV2, keyed, SP_RANDOM_BITS, 0)
