#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "engine/ops/array.h"

/*
 * CTCLoss: how unlikely the labels of each of the sequences in logits [time, batch, classes] are,
 * -log(p), and the gradient of that by the logits.  Labels are a sparse tensor [batch, longest];
 * the last class is the blank, and labels from there on end a sequence.
 *
 *   preprocess_collapse_repeated       of equal labels in a row the first counts
 *   ctc_merge_repeated                 equal classes in a row stand for one label
 *   ignore_longer_outputs_than_inputs  a sequence shorter than its labels has loss 0; else it is
 *                                      refused
 *
 * float and double.
 *
 * Numerics: in double, in logarithms, of probabilities in the element type; rounded once.
 * Source: A. Graves, "Supervised Sequence Labelling with Recurrent Neural Networks", 2012, 7.3.
 */
typedef struct ctc_state {
	bool collapses, merges, ignores_longer;
} ctc_state;

/* One sequence. */
typedef struct sequence {
	size_t time, classes, count; /* of labels with blanks around them: an odd number */
	bool merges;
	const int32_t *labels; /* [count] */
	double *logs;          /* [time, classes] log of the probabilities */
	double *before;        /* [time, count] log of the probability of what is up to here */
	double *after;         /* [time, count] of what follows */
	double *sums;          /* [classes] */
} sequence;

/* ------------------------------------------------------------------- one of them */

/* log(exp(a) + exp(b)) */
static double add(double a, double b)
{
	double most = a > b ? a : b;

	return most == -INFINITY ? most : most + log1p(exp((a > b ? b : a) - most));
}

/* As TensorFlow has it: in the element type, in which what is very unlikely is 0. */
static double round_to(sp_dtype dtype, double x)
{
	if (dtype == SP_DOUBLE)
		return x;
	return x < (double)FLT_MIN ? 0 : (double)(float)x;
}

static void find_logs(const sp_tensor *logits, size_t batch, size_t b, const sequence *s)
{
	for (size_t t = 0; t < s->time; t++) {
		size_t from = (t * batch + b) * s->classes;
		double *to = s->logs + t * s->classes, most = -INFINITY, sum = 0;

		for (size_t c = 0; c < s->classes; c++) {
			to[c] = logits->dtype == SP_FLOAT ? (double)sp_tensor_f32(logits)[from + c]
							  : sp_tensor_f64(logits)[from + c];
			most = fmax(most, to[c]);
		}
		for (size_t c = 0; c < s->classes; c++)
			sum += exp(to[c] - most);
		for (size_t c = 0; c < s->classes; c++)
			to[c] = log(round_to(logits->dtype, exp(to[c] - most) / sum));
	}
}

/* Whether label `to` may follow `from`, which stands up to two places before it. */
static bool may_follow(const sequence *s, size_t from, size_t to)
{
	int32_t blank = (int32_t)s->classes - 1;

	if (to == from)
		return s->merges || s->labels[to] == blank;
	if (to == from + 1)
		return true;
	return s->labels[to] != blank && !(s->merges && s->labels[to] == s->labels[from]);
}

static void go_forward(const sequence *s)
{
	for (size_t t = 0; t < s->time; t++)
		for (size_t u = 0; u < s->count; u++) {
			double sum = t == 0 && u < 2 ? 0 : -INFINITY;

			for (size_t d = 0; t > 0 && d < 3 && d <= u; d++)
				if (may_follow(s, u - d, u))
					sum = add(sum, s->before[(t - 1) * s->count + u - d]);
			s->before[t * s->count + u] =
				sum + s->logs[t * s->classes + (size_t)s->labels[u]];
		}
}

static void go_back(const sequence *s)
{
	for (size_t t = s->time; t-- > 0;)
		for (size_t u = 0; u < s->count; u++) {
			bool is_end = t + 1 == s->time && u + 2 >= s->count;
			double sum = is_end ? 0 : -INFINITY;

			for (size_t d = 0; t + 1 < s->time && d < 3 && u + d < s->count; d++) {
				size_t label = (size_t)s->labels[u + d];

				if (may_follow(s, u, u + d))
					sum = add(sum,
						  s->after[(t + 1) * s->count + u + d] +
							  s->logs[(t + 1) * s->classes + label]);
			}
			s->after[t * s->count + u] = sum;
		}
}

static double find_likelihood(const sequence *s)
{
	double sum = -INFINITY;

	for (size_t u = 0; u < s->count; u++)
		sum = add(sum, s->before[u] + s->after[u]);
	return sum;
}

static void put(const sp_tensor *t, size_t i, double value)
{
	if (t->dtype == SP_FLOAT)
		sp_tensor_f32(t)[i] = (float)value;
	else
		sp_tensor_f64(t)[i] = value;
}

/* What is impossible anyway pulls nowhere. */
static void put_gradient(const sp_tensor *gradient, size_t batch, size_t b, const sequence *s,
			 double likelihood)
{
	for (size_t t = 0; t < s->time; t++) {
		for (size_t c = 0; c < s->classes; c++)
			s->sums[c] = -INFINITY;
		for (size_t u = 0; u < s->count; u++)
			s->sums[s->labels[u]] = add(s->sums[s->labels[u]],
						    s->before[t * s->count + u] +
							    s->after[t * s->count + u]);
		for (size_t c = 0; c < s->classes; c++) {
			double share = likelihood == -INFINITY ? 0 : exp(s->sums[c] - likelihood);

			put(gradient, (t * batch + b) * s->classes + c,
			    exp(s->logs[t * s->classes + c]) - share);
		}
	}
}

/* ------------------------------------------------------------------------ input */

static sp_status check_shapes(const sp_call *call)
{
	const sp_shape *shape = &call->in[0]->shape;

	SP_TRY(sp_array__need_rank(call, 0, 3));
	SP_TRY(sp_array__need_rank(call, 1, 2));
	SP_TRY(sp_array__need_rank(call, 2, 1));
	SP_TRY(sp_array__need_rank(call, 3, 1));
	if (call->in[0]->count == 0 || shape->dims[2] > INT32_MAX)
		return sp_call_invalid(call, "inputs must have elements, and fewer classes");
	if (call->in[3]->shape.dims[0] != shape->dims[1])
		return sp_call_invalid(call, "%zu lengths for %lld sequences", call->in[3]->count,
				       (long long)shape->dims[1]);
	if (call->in[1]->shape.dims[0] != call->in[2]->shape.dims[0] ||
	    call->in[1]->shape.dims[1] != 2)
		return sp_call_invalid(call, "%lld indices of %lld numbers for %zu labels",
				       (long long)call->in[1]->shape.dims[0],
				       (long long)call->in[1]->shape.dims[1], call->in[2]->count);
	for (size_t b = 0; b < call->in[3]->count; b++) {
		int32_t length = sp_tensor_i32(call->in[3])[b];

		if (length < 0 || length > shape->dims[0])
			return sp_call_invalid(call, "sequence_length(%zu) is %d, not 0 ... %lld",
					       b, length, (long long)shape->dims[0]);
	}
	return SP_OK;
}

/* Indices ascend and lie within the batch. */
static sp_status check_indices(const sp_call *call)
{
	const int64_t *at = sp_tensor_i64(call->in[1]);

	for (size_t i = 0; i < call->in[2]->count; i++, at += 2) {
		bool follows = i == 0 || at[0] > at[-2] || (at[0] == at[-2] && at[1] > at[-1]);

		if (!follows || at[0] < 0 || at[0] >= call->in[0]->shape.dims[1] || at[1] < 0)
			return sp_call_invalid(call, "label %zu at [%lld,%lld] is out of place", i,
					       (long long)at[0], (long long)at[1]);
	}
	return SP_OK;
}

/* What ends a sequence is left out, blanks come between; how many labels there are then. */
static sp_status put_labels(const sp_call *call, const int32_t *labels, size_t count, size_t b,
			    int32_t *out, size_t *made)
{
	const ctc_state *state = call->state;
	int32_t blank = (int32_t)call->in[0]->shape.dims[2] - 1;
	bool ended = false;
	size_t n = 0;

	out[n++] = blank;
	for (size_t i = 0; i < count; i++) {
		if (state->collapses && i > 0 && labels[i] == labels[i - 1])
			continue;
		if (labels[i] < 0 || (ended && labels[i] < blank))
			return sp_call_invalid(call, "label %d of sequence %zu %s", labels[i], b,
					       ended ? "follows a null label" : "is negative");
		ended = labels[i] >= blank;
		if (ended)
			continue;
		out[n++] = labels[i];
		out[n++] = blank;
	}
	*made = n;
	return SP_OK;
}

/* The labels of sequence b, of which the first is `first` of all. */
static sp_status read_labels(const sp_call *call, size_t b, size_t first, size_t *count,
			     sequence *s, int32_t *room)
{
	const ctc_state *state = call->state;
	size_t end = first;

	while (end < call->in[2]->count && sp_tensor_i64(call->in[1])[2 * end] == (int64_t)b)
		end++;
	*count = end - first;
	s->time = (size_t)sp_tensor_i32(call->in[3])[b];
	if (*count == 0)
		return sp_call_invalid(call, "sequence %zu has no labels", b);
	if (*count > s->time && !state->ignores_longer)
		return sp_call_invalid(call, "%zu labels for a sequence of length %zu", *count,
				       s->time);
	s->labels = room;
	return put_labels(call, sp_tensor_i32(call->in[2]) + first, *count, b, room, &s->count);
}

/* For the longest sequence there may be. */
static sp_status make_room(const sp_call *call, sequence *s, int32_t **labels)
{
	const ctc_state *state = call->state;
	size_t time = (size_t)call->in[0]->shape.dims[0], most, size;

	s->classes = (size_t)call->in[0]->shape.dims[2];
	s->merges = state->merges;
	if (!sp_size_mul(&most, call->in[2]->count, 2) || !sp_size_add(&most, most, 1) ||
	    !sp_size_mul(&size, most, sizeof(double)))
		return sp_call_no_memory(call);
	*labels = sp_call_bytes(call, most, sizeof(**labels));
	if (most > 2 * time + 1)
		size = (2 * time + 1) * sizeof(double); /* longer ones are not looked at */
	s->logs = sp_call_bytes(call, time, s->classes * sizeof(double));
	s->before = sp_call_bytes(call, time, size);
	s->after = sp_call_bytes(call, time, size);
	s->sums = sp_call_bytes(call, s->classes, sizeof(double));
	if (*labels == NULL || s->logs == NULL || s->before == NULL || s->after == NULL ||
	    s->sums == NULL)
		return sp_call_no_memory(call);
	return SP_OK;
}

static sp_status run_loss(const sp_call *call)
{
	size_t batch, first = 0, count = 0;
	int32_t *labels = NULL;
	sequence s = {0};

	SP_TRY(check_shapes(call));
	SP_TRY(check_indices(call));
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &call->in[3]->shape));
	SP_TRY(sp_call_output(call, 1, call->in[0]->dtype, &call->in[0]->shape));
	memset(call->out[1]->data, 0, call->in[0]->count * sp_dtype_size(call->in[0]->dtype));
	SP_TRY(make_room(call, &s, &labels));
	batch = (size_t)call->in[0]->shape.dims[1];
	for (size_t b = 0; b < batch; b++, first += count) {
		double likelihood;

		SP_TRY(read_labels(call, b, first, &count, &s, labels));
		put(call->out[0], b, 0);
		if (s.time == 0 || count > s.time)
			continue;
		find_logs(call->in[0], batch, b, &s);
		go_forward(&s);
		go_back(&s);
		likelihood = find_likelihood(&s);
		put(call->out[0], b, -likelihood);
		put_gradient(call->out[1], batch, b, &s, likelihood);
	}
	return SP_OK;
}

static sp_status prepare_loss(sp_prepare *prepare, sp_error *err)
{
	ctc_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 3, SP_INT32, err));
	SP_TRY(sp_node_attr_bool(node, "preprocess_collapse_repeated", false, &state->collapses,
				 err));
	SP_TRY(sp_node_attr_bool(node, "ctc_merge_repeated", true, &state->merges, err));
	SP_TRY(sp_node_attr_bool(node, "ignore_longer_outputs_than_inputs", false,
				 &state->ignores_longer, err));
	return sp_prepare_outputs(prepare, 2, dtype, err);
}

const sp_op sp_op_CTCLoss = {
	.name = "CTCLoss", .outputs = "loss gradient", .prepare = prepare_loss, .run = run_loss};
