#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "engine/ops.h"
#include "engine/ops/array.h"
#include "engine/ops/random_stream.h"
#include "engine/ops/unigrams.h"

/*
 * UniformCandidateSampler, LogUniformCandidateSampler, FixedUnigramCandidateSampler (classes with
 * weights, engine/ops/unigrams.h) and AllCandidateSampler: num_sampled classes
 * of [0, range_max) as int64 (of the last one all from 0 on, num_sampled of them), and how often
 * each true class (a matrix of num_true columns) and each sampled one is to be expected among
 * them, as float.  `unique`: no class is sampled twice.  They live on in graphs with a branch for
 * training (tf.nn.sampled_softmax_loss).
 *
 * With the same seeds come TensorFlow's classes, request after request (random_stream.h).  The
 * expected counts are computed in its types by the C library.
 *
 * ComputeAccidentalHits: where a true class was sampled: row of the true class, place among the
 * sampled ones (the last of several), and the lowest float as weight.
 */
typedef enum sampler_kind { UNIFORM, LOG_UNIFORM, FIXED, ALL } sampler_kind;

typedef struct sampler_state {
	sampler_kind kind;
	int64_t num_true, num_sampled, range;
	bool unique;
	sp_random_node node;
	sp_unigrams unigrams; /* of FIXED */
} sampler_state;

/* So many classes are drawn at most to find unique ones; TensorFlow goes on for ever. */
enum { MOST_TRIES = 1 << 24 };

/* Places of int64 elements by their value, the last of equal ones; the hash is keyed. */
typedef struct places {
	const int64_t *values;
	uint32_t *slots; /* place + 1; 0: free */
	size_t mask;
} places;

static sp_status make_places(const sp_call *call, const int64_t *values, size_t most, places *out)
{
	size_t size = 8;

	if (most > INT32_MAX / 2)
		return sp_call_invalid(call, "%zu candidates are too many", most);
	while (size < 2 * most)
		size *= 2;
	*out = (places){values, sp_call_bytes(call, size, sizeof(*out->slots)), size - 1};
	if (out->slots == NULL)
		return sp_call_no_memory(call);
	memset(out->slots, 0, size * sizeof(*out->slots));
	return SP_OK;
}

/* The slot that has the value, or the free one where it belongs. */
static uint32_t *slot_of(const places *p, int64_t value)
{
	size_t i = (size_t)sp_siphash13(sp_hash_process_key(), &value, sizeof(value)) & p->mask;

	while (p->slots[i] != 0 && p->values[p->slots[i] - 1] != value)
		i = (i + 1) & p->mask;
	return &p->slots[i];
}

/* ---------------------------------------------------------------- samplers */

static sp_status prepare_sampler(sp_prepare *prepare, sampler_kind kind, sp_error *err)
{
	sampler_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->kind = kind;
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT64, err));
	SP_TRY(sp_node_attr_int(node, "num_true", 0, &state->num_true, err));
	SP_TRY(sp_node_attr_int(node, "num_sampled", 0, &state->num_sampled, err));
	SP_TRY(sp_node_attr_bool(node, "unique", false, &state->unique, err));
	state->range = state->num_sampled;
	if (kind != ALL)
		SP_TRY(sp_node_attr_int(node, "range_max", 0, &state->range, err));
	if (state->num_true < 1 || state->num_sampled < 1 || state->num_sampled > INT32_MAX / 2 ||
	    state->range < 1 || (state->unique && state->num_sampled > state->range))
		return sp_error_set(err, SP_INVALID,
				    "%lld samples of %lld classes with %lld true ones",
				    (long long)state->num_sampled, (long long)state->range,
				    (long long)state->num_true);
	if (kind == FIXED)
		SP_TRY(sp_unigrams__prepare(prepare, state->range, &state->unigrams, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_FLOAT, err));
	prepare->out_dtypes[0] = SP_INT64;
	return kind == ALL ? SP_OK : sp_random__stream_of_node(prepare, &state->node, err);
}

static sp_status prepare_uniform(sp_prepare *prepare, sp_error *err)
{
	return prepare_sampler(prepare, UNIFORM, err);
}

static sp_status prepare_log_uniform(sp_prepare *prepare, sp_error *err)
{
	return prepare_sampler(prepare, LOG_UNIFORM, err);
}

static sp_status prepare_fixed(sp_prepare *prepare, sp_error *err)
{
	return prepare_sampler(prepare, FIXED, err);
}

static sp_status prepare_all(sp_prepare *prepare, sp_error *err)
{
	return prepare_sampler(prepare, ALL, err);
}

static uint64_t draw_bits(sp_random_words *words)
{
	uint64_t low = sp_random__word(words);

	return (uint64_t)sp_random__word(words) << 32 | low;
}

/* Below n, each as likely: numbers of the part of the range that n does not divide are drawn anew.
 */
static int64_t draw_below(sp_random_words *words, uint64_t n)
{
	uint64_t rest = UINT64_MAX % n + 1, bits;

	if ((n & (n - 1)) == 0)
		return (int64_t)(draw_bits(words) & (n - 1));
	do
		bits = draw_bits(words);
	while (bits < rest);
	return (int64_t)(bits % n);
}

static int64_t draw_class(const sampler_state *state, sp_random_words *words)
{
	uint64_t high, low;
	double unit;

	if (state->kind == UNIFORM)
		return draw_below(words, (uint64_t)state->range);
	if (state->kind == FIXED)
		return sp_unigrams__draw(&state->unigrams, words);
	high = sp_random__word(words) & 0xfffff;
	low = sp_random__word(words);
	unit = (double)(high << 32 | low) * 0x1p-52;
	return ((int64_t)exp(unit * log1p((double)state->range)) - 1) % state->range;
}

/* Fills the candidates; *tries is how many were drawn for them. */
static sp_status draw_candidates(const sp_call *call, int64_t *out, size_t *tries)
{
	const sampler_state *state = call->state;
	size_t count = (size_t)state->num_sampled, picked = 0;
	sp_random_words words;
	places seen = {0};

	/* As far as TensorFlow moves the stream on. */
	sp_random__words_init(&words, sp_random__go_on(call, &state->node, 512 * (uint64_t)count));
	if (state->unique)
		SP_TRY(make_places(call, out, count, &seen));
	for (*tries = 0; picked < count; ++*tries) {
		uint32_t *slot;

		if (*tries > count && *tries > MOST_TRIES)
			return sp_call_invalid(call, "unique candidates are too rare");
		out[picked] = draw_class(state, &words);
		if (!state->unique) {
			picked++;
			continue;
		}
		slot = slot_of(&seen, out[picked]);
		if (*slot == 0)
			*slot = (uint32_t)++picked;
	}
	return SP_OK;
}

static float expected(const sampler_state *state, int64_t value, size_t tries)
{
	float p = 1.0f / (float)state->range;

	if (state->kind == ALL)
		return 1;
	if (state->kind == LOG_UNIFORM)
		p = (float)(log(((double)value + 2.0) / ((double)value + 1.0)) /
			    log1p((double)state->range));
	if (state->kind == FIXED)
		p = sp_unigrams__probability(&state->unigrams, value);
	if (tries == (size_t)state->num_sampled)
		return p * (float)state->num_sampled;
	return -expm1f((float)tries * log1pf(-p));
}

static sp_status run_sampler(const sp_call *call)
{
	const sampler_state *state = call->state;
	const sp_tensor *classes = call->in[0];
	sp_shape shape = sp_shape_vector(state->num_sampled);
	size_t tries = 0, count = (size_t)state->num_sampled;

	if (classes->shape.rank != 2 || classes->shape.dims[1] != state->num_true)
		return sp_call_invalid(call, "true_classes must be a matrix of %lld columns",
				       (long long)state->num_true);
	for (size_t i = 0; i < classes->count; i++)
		if (sp_tensor_i64(classes)[i] < 0 || sp_tensor_i64(classes)[i] >= state->range)
			return sp_call_invalid(call, "true class %lld is not one of %lld",
					       (long long)sp_tensor_i64(classes)[i],
					       (long long)state->range);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	SP_TRY(sp_call_output(call, 1, SP_FLOAT, &classes->shape));
	SP_TRY(sp_call_output(call, 2, SP_FLOAT, &shape));
	for (size_t i = 0; state->kind == ALL && i < count; i++)
		sp_tensor_i64(call->out[0])[i] = (int64_t)i;
	if (state->kind != ALL)
		SP_TRY(draw_candidates(call, sp_tensor_i64(call->out[0]), &tries));
	for (size_t i = 0; i < classes->count; i++)
		sp_tensor_f32(call->out[1])[i] = expected(state, sp_tensor_i64(classes)[i], tries);
	for (size_t i = 0; i < count; i++)
		sp_tensor_f32(call->out[2])[i] = expected(state, sp_tensor_i64(call->out[0])[i],
							  tries);
	return SP_OK;
}

/* ---------------------------------------------------------- accidental hits */

static sp_status prepare_hits(sp_prepare *prepare, sp_error *err)
{
	int64_t *num_true = sp_prepare_state(prepare, sizeof(*num_true));

	if (num_true == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT64, err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_true", 0, num_true, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT32, err));
	prepare->out_dtypes[1] = SP_INT64;
	prepare->out_dtypes[2] = SP_FLOAT;
	return SP_OK;
}

/* Counts the hits, and writes them where the outputs are not NULL. */
static size_t find_hits(const sp_tensor *classes, const places *sampled, int32_t *rows, int64_t *at)
{
	size_t columns = (size_t)classes->shape.dims[1], hits = 0;

	for (size_t i = 0; i < classes->count; i++) {
		uint32_t slot = *slot_of(sampled, sp_tensor_i64(classes)[i]);

		if (slot == 0)
			continue;
		if (rows != NULL) {
			rows[hits] = (int32_t)(i / columns);
			at[hits] = (int64_t)slot - 1;
		}
		hits++;
	}
	return hits;
}

static sp_status run_hits(const sp_call *call)
{
	const int64_t num_true = *(const int64_t *)call->state;
	const sp_tensor *classes = call->in[0], *candidates = call->in[1];
	places sampled;
	sp_shape shape;

	if (classes->shape.rank != 2 || classes->shape.dims[1] != num_true)
		return sp_call_invalid(call, "true_candidates must be a batch_size * num_true "
					     "matrix");
	if (candidates->shape.rank != 1)
		return sp_call_invalid(call, "sampled_candidates must be a vector");
	SP_TRY(make_places(call, sp_tensor_i64(candidates), candidates->count, &sampled));
	for (size_t i = 0; i < candidates->count; i++)
		*slot_of(&sampled, sp_tensor_i64(candidates)[i]) = (uint32_t)i + 1;
	shape = sp_shape_vector((int64_t)find_hits(classes, &sampled, NULL, NULL));
	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	SP_TRY(sp_call_output(call, 1, SP_INT64, &shape));
	SP_TRY(sp_call_output(call, 2, SP_FLOAT, &shape));
	if (shape.dims[0] == 0)
		return SP_OK;
	find_hits(classes, &sampled, sp_tensor_i32(call->out[0]), sp_tensor_i64(call->out[1]));
	for (size_t i = 0; i < call->out[2]->count; i++)
		sp_tensor_f32(call->out[2])[i] = -FLT_MAX;
	return SP_OK;
}

#define SAMPLER(op, flag, prepare_op)                                                       \
	const sp_op sp_op_##op = {                                                          \
		.name = #op,                                                                \
		.outputs = "sampled_candidates true_expected_count sampled_expected_count", \
		.flags = flag,                                                              \
		.prepare = prepare_op,                                                      \
		.run = run_sampler}

SAMPLER(UniformCandidateSampler, SP_OP_STATEFUL, prepare_uniform);
SAMPLER(LogUniformCandidateSampler, SP_OP_STATEFUL, prepare_log_uniform);
SAMPLER(FixedUnigramCandidateSampler, SP_OP_STATEFUL, prepare_fixed);
SAMPLER(AllCandidateSampler, 0, prepare_all);
const sp_op sp_op_ComputeAccidentalHits = {.name = "ComputeAccidentalHits",
					   .outputs = "indices ids weights",
					   .prepare = prepare_hits,
					   .run = run_hits};
