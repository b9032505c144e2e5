#include <math.h>

#include "engine/ops/array/array.h"
#include "engine/ops/reduce/element_types.h"
#include "engine/ops/random/random_stream.h"

/*
 * Multinomial and StatelessMultinomial: for each row of logits [batch, classes],
 * num_samples classes drawn with the probabilities softmax(row).  Classes whose logits are not
 * finite are never drawn; a row without finite logits gives the number of classes.
 *
 * Equal seeds give the classes that TensorFlow draws with one thread.  (It splits large batches
 * among threads, each with its own stream.)
 */
typedef double load_fn(const void *row, size_t i);

#define LOAD(type, name)                                                    \
	static double name##_##type(const void *row, size_t i)              \
	{                                                                   \
		return SP_LOAD_##type(((const sp_element_##type *)row)[i]); \
	}

SP_FOR_FLOATING(LOAD, load)

static load_fn *const loads[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(load)};

typedef struct multinomial_state {
	load_fn *load;
	sp_dtype index;
	sp_random_node node; /* only Multinomial */
	bool seeded;         /* the seed is input 2 */
} multinomial_state;

static sp_status prepare_any(sp_prepare *prepare, bool seeded, sp_error *err)
{
	multinomial_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->seeded = seeded;
	SP_TRY(sp_prepare_inputs(prepare, seeded ? 3 : 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	if (seeded)
		SP_TRY(sp_prepare_input_index(prepare, 2, err));
	else
		SP_TRY(sp_random__stream_of_node(prepare, &state->node, err));
	SP_TRY(sp_array__index_type(prepare, "output_dtype", SP_INT64, &state->index, err));
	state->load = loads[prepare->in_dtypes[0]];
	if (state->load == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, state->index, err);
}

static sp_status prepare_stateful(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_seeded(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

/* sums[i] becomes the cumulative weight of classes 0 ... i; returns the total. */
static double add_up(const multinomial_state *state, const void *row, size_t classes, double *sums)
{
	double most = -INFINITY, total = 0;

	for (size_t i = 0; i < classes; i++) {
		double x = state->load(row, i);

		if (isfinite(x) && x > most)
			most = x;
	}
	for (size_t i = 0; i < classes; i++) {
		double x = state->load(row, i);

		if (isfinite(x))
			total += exp(x - most);
		sums[i] = total;
	}
	return total;
}

/* The first class whose cumulative weight is above `target`. */
static size_t find_class(const double *sums, size_t classes, double target)
{
	size_t low = 0, high = classes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sums[middle] > target)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A uniform number in [0, 1), a multiple of 2^-52. */
static double draw(sp_random_words *words)
{
	uint64_t high = sp_random__word(words) & 0xfffff;

	return (double)(high << 32 | sp_random__word(words)) * 0x1p-52;
}

static sp_status check_inputs(const sp_call *call, sp_shape *shape)
{
	const sp_shape *logits = &call->in[0]->shape;
	int64_t samples;

	SP_TRY(sp_array__need_rank(call, 0, 2));
	if (!sp_tensor_is_scalar(call->in[1]))
		return sp_call_invalid(call, "num_samples must be a scalar");
	samples = sp_tensor_index(call->in[1], 0);
	if (samples < 0)
		return sp_call_invalid(call, "num_samples must not be negative, but is %lld",
				       (long long)samples);
	if (logits->dims[1] < 1 || logits->dims[1] > INT32_MAX)
		return sp_call_invalid(call, "there must be classes, not %lld",
				       (long long)logits->dims[1]);
	*shape = sp_shape_matrix(logits->dims[0], samples);
	return SP_OK;
}

static sp_status run_multinomial(const sp_call *call)
{
	const multinomial_state *state = call->state;
	const sp_tensor *logits = call->in[0];
	sp_random_words words;
	sp_philox stream;
	sp_shape shape;
	size_t classes, samples;
	double *sums;

	SP_TRY(check_inputs(call, &shape));
	if (state->seeded)
		SP_TRY(sp_random__stream_of_seed(call, call->in[2], &stream));
	SP_TRY(sp_call_output(call, 0, state->index, &shape));
	classes = (size_t)logits->shape.dims[1];
	samples = (size_t)shape.dims[1];
	sums = sp_call_bytes(call, classes, sizeof(*sums));
	if (sums == NULL)
		return sp_call_no_memory(call);
	if (!state->seeded)
		stream = sp_random__advance(call, &state->node,
					    SP_RANDOM_STEPS * (uint64_t)shape.dims[0] *
						    ((samples + 3) / 4 * 4 * 2));
	sp_random__words_init(&words, stream);
	for (size_t b = 0; samples > 0 && b < (size_t)shape.dims[0]; b++) {
		const char *row = (const char *)logits->data +
				  b * classes * sp_dtype_size(logits->dtype);
		double total = add_up(state, row, classes, sums);

		for (size_t i = 0; i < samples; i++)
			sp_array__put_index(
				call->out[0], b * samples + i,
				(int64_t)find_class(sums, classes, draw(&words) * total));
	}
	return SP_OK;
}

const sp_op sp_op_Multinomial = {.name = "Multinomial",
				 .flags = SP_OP_STATEFUL,
				 .prepare = prepare_stateful,
				 .run = run_multinomial};
const sp_op sp_op_StatelessMultinomial = {
	.name = "StatelessMultinomial", .prepare = prepare_seeded, .run = run_multinomial};
