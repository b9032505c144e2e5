#include <math.h>

#include "engine/ops/broadcast.h"
#include "engine/ops/random_samples.h"
#include "engine/ops/random_stream.h"

/*
 * StatelessParameterizedTruncatedNormal and ParameterizedTruncatedNormal: samples of normal
 * distributions of given means and deviations, of half, float or double, between bounds of which
 * one may be infinite.  Of the first the parameters broadcast, and the shape, that of all samples,
 * ends with theirs; of the second they are scalars or have one element for each index of the
 * shape's first dimension.  A deviation that is not above 0 or an empty range is refused.
 *
 * With the same seeds come TensorFlow's numbers as it gives them on one thread (the stream begins
 * anew with each of its threads): all samples are drawn from one stream, and the operations are
 * rounded to the element type.
 *
 * Source: C. P. Robert, "Simulation of truncated normal variables", 1995.
 */
/* Of a node with the same parameters everywhere so many samples are drawn together. */
enum { SAMPLES_TOGETHER = 100 };

typedef struct truncated_state {
	sp_dtype dtype;
	size_t first;        /* the input with the means; deviations and bounds follow */
	sp_random_node node; /* of a stateful operator */
} truncated_state;

/* A distribution of mean 0 and deviation 1, and what makes it the one that is asked for. */
typedef struct truncated {
	sp_dtype dtype;
	double mean, deviation; /* the deviation is negative where the bounds were turned round */
	double low, high;
} truncated;

/* Where samples go: `count` of them from out[at] on, each `step` further. */
typedef struct place {
	sp_tensor *out;
	size_t at, step, count;
} place;

/* Results of every operation are those of the element type. */
#define R(value) sp_samples__round(t->dtype, value)

static double exponential(const truncated *t, double x)
{
	return t->dtype == SP_DOUBLE ? exp(x) : R((double)expf((float)x));
}

static double logarithm(const truncated *t, double x)
{
	return t->dtype == SP_DOUBLE ? log(x) : R((double)logf((float)x));
}

/* The next group of the stream: two doubles, or four numbers of another type. */
static size_t draw_group(sp_random_kind kind, sp_dtype dtype, sp_philox *stream, double out[4])
{
	const sp_random_recipe recipe = {.kind = kind, .dtype = dtype};
	const size_t n = dtype == SP_DOUBLE ? 2 : 4;
	double drawn[2];
	sp_tensor group = {.dtype = dtype, .count = n, .data = drawn};

	sp_random__fill(&recipe, *stream, drawn, n);
	sp_philox__skip(stream, 1);
	for (size_t i = 0; i < n; i++)
		out[i] = sp_samples__get(&group, i);
	return n;
}

static void put(const truncated *t, place *to, double sample)
{
	const sp_samples one = {.parameters = 1};

	sp_samples__put(&one, to->out, 0, to->at, R(R(sample * t->deviation) + t->mean));
	to->at += to->step;
	to->count--;
}

/* Much of the normal distribution lies in the range: what does not is thrown away. */
static bool draw_by_normal(const truncated *t, sp_philox *stream, place *to)
{
	int tries = 0;

	while (to->count != 0) {
		double z[4];
		size_t n = draw_group(SP_RANDOM_NORMAL, t->dtype, stream, z);

		for (size_t i = 0; i < n && to->count != 0; i++) {
			if (z[i] >= t->low && z[i] <= t->high) {
				put(t, to, z[i]);
				tries = 0;
			} else if (++tries > SP_SAMPLES_TRIES) {
				return false;
			}
		}
	}
	return true;
}

/* The range is narrow. */
static bool draw_by_uniform(const truncated *t, sp_philox *stream, place *to)
{
	const double range = R(t->high - t->low), highest = t->low < 0 ? 0 : R(t->low * t->low);
	int tries = 0;

	while (to->count != 0) {
		double z[4], u[4];
		size_t n = draw_group(SP_RANDOM_UNIFORM, t->dtype, stream, z);

		draw_group(SP_RANDOM_UNIFORM, t->dtype, stream, u);
		for (size_t i = 0; i < n && to->count != 0; i++) {
			double sample = R(R(z[i] * range) + t->low);
			double height = R(R(highest - R(sample * sample)) / 2);

			if (u[i] <= exponential(t, height)) {
				put(t, to, sample);
				tries = 0;
			} else if (++tries >= SP_SAMPLES_TRIES) {
				return false;
			}
		}
	}
	return true;
}

/* The range is the distribution's tail, or a part of it. */
static bool draw_by_exponential(const truncated *t, sp_philox *stream, place *to)
{
	const double alpha = R(R(t->low + R(sqrt(R(R(t->low * t->low) + 4)))) / 2);
	int tries = 0;

	while (to->count != 0) {
		double u[4];
		size_t n = draw_group(SP_RANDOM_UNIFORM, t->dtype, stream, u);

		for (size_t i = 0; i < n && to->count != 0; i += 2) {
			double sample = R(R(-logarithm(t, u[i]) / alpha) + t->low);
			double x = t->low < alpha ? R(alpha - sample) : R(t->low - alpha);

			if (u[i + 1] <= exponential(t, R(R(-x * x) / 2)) && sample < t->high) {
				put(t, to, sample);
				tries = 0;
			} else if (++tries >= SP_SAMPLES_TRIES) {
				return false;
			}
		}
	}
	return true;
}

/* p: mean, deviation, lowest, highest.  False when that is no distribution. */
static bool describe(sp_dtype dtype, const double p[4], truncated *t)
{
	double low = p[2], high = p[3], deviation = p[1];

	if (!(deviation > 0 && low < high && (isfinite(low) || isfinite(high))))
		return false;
	if (low == -INFINITY || high < p[0]) {
		double swapped = low;

		low = high;
		high = swapped;
		deviation = -deviation;
	}
	*t = (truncated){.dtype = dtype, .mean = p[0], .deviation = deviation};
	t->low = R(R(low - p[0]) / deviation);
	t->high = R(R(high - p[0]) / deviation);
	return true;
}

static sp_status draw(const sp_call *call, const double p[4], sp_philox *stream, place *to)
{
	const truncated_state *state = call->state;
	truncated of, *t = &of;
	double near, root, cutoff;
	bool drawn;

	if (!describe(state->dtype, p, t))
		return sp_call_invalid(call, "Invalid parameters: %g, %g, %g, %g", p[0], p[1], p[2],
				       p[3]);
	near = R(1.3);
	root = R(sqrt(R(R(t->low * t->low) + 4)));
	cutoff = exponential(t, R(0.5 + R(R(t->low * R(t->low - root)) / 4)));
	cutoff = R(R(2 * cutoff) / R(t->low + root));
	if ((t->low < -near && t->high >= 0) || (t->high > near && t->low <= 0))
		drawn = draw_by_normal(t, stream, to);
	else if (R(t->high - t->low) < cutoff)
		drawn = draw_by_uniform(t, stream, to);
	else
		drawn = draw_by_exponential(t, stream, to);
	if (!drawn)
		return sp_call_invalid(call,
				       "no samples between %g and %g of mean %g and "
				       "deviation %g",
				       p[2], p[3], p[0], p[1]);
	return SP_OK;
}

/* -------------------------------------------------------------- the operators */

static sp_status prepare_any(sp_prepare *prepare, size_t first, truncated_state **out,
			     sp_error *err)
{
	truncated_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, first + 4, err));
	for (size_t i = 0; i < first; i++)
		SP_TRY(sp_prepare_input_index(prepare, i, err));
	state->first = first;
	state->dtype = prepare->in_dtypes[first];
	if (!sp_samples__real(state->dtype))
		return sp_prepare_unsupported(prepare, state->dtype, err);
	for (size_t i = first + 1; i < first + 4; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, state->dtype, err));
	*out = state;
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status prepare_of_seed(sp_prepare *prepare, sp_error *err)
{
	truncated_state *state;

	return prepare_any(prepare, 2, &state, err);
}

static sp_status prepare_of_node(sp_prepare *prepare, sp_error *err)
{
	truncated_state *state;

	SP_TRY(prepare_any(prepare, 1, &state, err));
	return sp_random__stream_of_node(prepare, &state->node, err);
}

static sp_status run_of_seed(const sp_call *call)
{
	const sp_tensor *const *in = call->in + 2;
	const sp_shape *shapes[4] = {&in[0]->shape, &in[1]->shape, &in[2]->shape, &in[3]->shape};
	sp_samples samples = {0};
	sp_broadcast b;

	if (!sp_broadcast__plan(&b, shapes, 4))
		return sp_call_invalid(call, "means, stddevs, minvals, maxvals must have "
					     "compatible batch dimensions");
	SP_TRY(sp_samples__of_all(call, 0, &b.shape, in[0]->dtype, &samples));
	SP_TRY(sp_random__stream_of_seed(call, call->in[1], &samples.stream));
	if (call->out[0]->count == 0)
		return SP_OK;
	for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b))
		for (size_t i = 0; i < b.run; i++) {
			place to = {call->out[0], b.out + i, samples.parameters, samples.each};
			double p[4];

			for (size_t k = 0; k < 4; k++)
				p[k] = sp_samples__get(in[k], b.at[k] + i * b.step[k]);
			SP_TRY(draw(call, p, &samples.stream, &to));
		}
	return SP_OK;
}

/* How many distributions there are, and how many samples of each; the last may have fewer. */
static sp_status count_of_node(const sp_call *call, const sp_shape *shape, size_t *batches,
			       size_t *each)
{
	const sp_tensor *const *in = call->in + 1;
	bool same = true;

	for (int k = 0; k < 4; k++) {
		if (in[k]->shape.rank > 1)
			return sp_call_invalid(call, "parameters must be scalars or vectors");
		same = same && in[k]->count == 1 && (k < 2 || in[k]->shape.rank == 0);
	}
	*each = SAMPLES_TOGETHER;
	*batches = (call->out[0]->count + *each - 1) / *each;
	if (same)
		return SP_OK;
	*batches = (size_t)shape->dims[0];
	*each = (size_t)sp_shape_product(shape, 1, shape->rank);
	for (int k = 0; k < 4; k++)
		if (in[k]->count != 1 && in[k]->count != *batches)
			return sp_call_invalid(call, "%zu parameters for %zu batches", in[k]->count,
					       *batches);
	return SP_OK;
}

static sp_status run_of_node(const sp_call *call)
{
	const truncated_state *state = call->state;
	size_t batches = 0, each = 0, left;
	sp_philox stream;
	sp_shape shape;

	SP_TRY(sp_shape_from_tensor(&shape, call->in[0], call->err));
	if (shape.rank == 0)
		return sp_call_invalid(call, "Shape tensor must not be empty");
	SP_TRY(sp_call_output(call, 0, state->dtype, &shape));
	SP_TRY(count_of_node(call, &shape, &batches, &each));
	/* As far as TensorFlow moves it on. */
	stream = sp_random__go_on(call, &state->node,
				  (uint64_t)batches * 2 * SP_SAMPLES_TRIES * (each + 3) / 4);
	left = call->out[0]->count;
	for (size_t b = 0; b < batches; b++) {
		place to = {call->out[0], b * each, 1, each < left ? each : left};
		double p[4];

		for (size_t k = 0; k < 4; k++)
			p[k] = sp_samples__get(call->in[k + 1],
					       call->in[k + 1]->count == 1 ? 0 : b);
		left -= to.count;
		SP_TRY(draw(call, p, &stream, &to));
	}
	return SP_OK;
}

const sp_op sp_op_StatelessParameterizedTruncatedNormal = {
	.name = "StatelessParameterizedTruncatedNormal",
	.prepare = prepare_of_seed,
	.run = run_of_seed};
const sp_op sp_op_ParameterizedTruncatedNormal = {.name = "ParameterizedTruncatedNormal",
						  .flags = SP_OP_STATEFUL,
						  .prepare = prepare_of_node,
						  .run = run_of_node};
