#include <string.h>

#include "engine/ops/ctc.h"

/*
 * CTCGreedyDecoder: of each of the sequences in logits [time, batch, classes] the class
 * that is largest at each time, without the blank and, with `merge_repeated`, without
 * those that equal the one before; a sparse tensor [batch, longest], and the sum of the
 * largest logits with its sign turned, [batch, 1].
 *
 * Numerics: the sum is in the element type, in the order of time.
 */
typedef struct ctc_state {
	bool merges;
	int64_t blank; /* negative: counted from the end */
} ctc_state;

typedef struct sequences {
	const sp_tensor *logits;
	size_t batch, classes;
	size_t blank;
	bool merges;
} sequences;

static bool is_larger(const sp_tensor *t, size_t i, size_t j)
{
	if (t->dtype == SP_FLOAT)
		return sp_tensor_f32(t)[i] > sp_tensor_f32(t)[j];
	return sp_tensor_f64(t)[i] > sp_tensor_f64(t)[j];
}

/* Where the largest logit of sequence b at time t is; the first of equal ones. */
static size_t best_at(const sequences *s, size_t b, size_t t)
{
	size_t first = (t * s->batch + b) * s->classes, best = first;

	for (size_t c = 1; c < s->classes; c++)
		if (is_larger(s->logits, first + c, best))
			best = first + c;
	return best;
}

/*
 * The classes of sequence b to `values` with their places to `indices`; NULL: only
 * counted.  Adds up the logits in *loss.
 */
static size_t decode(const sequences *s, size_t b, int32_t length, int64_t *values,
		     int64_t *indices, const sp_tensor *loss)
{
	size_t count = 0, last = SIZE_MAX;

	for (size_t t = 0; t < (size_t)(length > 0 ? length : 0); t++) {
		size_t best = best_at(s, b, t), c = best % s->classes;

		if (loss != NULL && loss->dtype == SP_FLOAT)
			sp_tensor_f32(loss)[b] -= sp_tensor_f32(s->logits)[best];
		else if (loss != NULL)
			sp_tensor_f64(loss)[b] -= sp_tensor_f64(s->logits)[best];
		if (c != s->blank && !(s->merges && c == last)) {
			if (values != NULL) {
				values[count] = (int64_t)c;
				indices[2 * count] = (int64_t)b;
				indices[2 * count + 1] = (int64_t)count;
			}
			count++;
		}
		last = c;
	}
	return count;
}

static sp_status read_input(const sp_call *call, sequences *s)
{
	const ctc_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;
	int64_t blank;

	SP_TRY(sp_ctc__check_logits(call));
	blank = state->blank < 0 ? state->blank + shape->dims[2] : state->blank;
	if (blank < 0 || blank >= shape->dims[2])
		return sp_call_invalid(call, "blank_index %lld is not one of %lld classes",
				       (long long)state->blank, (long long)shape->dims[2]);
	*s = (sequences){.logits = call->in[0],
			 .batch = (size_t)shape->dims[1],
			 .classes = (size_t)shape->dims[2],
			 .blank = (size_t)blank,
			 .merges = state->merges};
	return SP_OK;
}

static sp_status make_outputs(const sp_call *call, const sequences *s)
{
	sp_shape shape = sp_shape_matrix((int64_t)s->batch, 1);
	size_t total = 0, longest = 0;

	SP_TRY(sp_call_output(call, 3, s->logits->dtype, &shape));
	memset(call->out[3]->data, 0, s->batch * sp_dtype_size(s->logits->dtype));
	for (size_t b = 0; b < s->batch; b++) {
		size_t n = decode(s, b, sp_tensor_i32(call->in[1])[b], NULL, NULL, call->out[3]);

		total += n;
		longest = n > longest ? n : longest;
	}
	shape = sp_shape_matrix((int64_t)total, 2);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	shape = sp_shape_vector((int64_t)total);
	SP_TRY(sp_call_output(call, 1, SP_INT64, &shape));
	shape = sp_shape_vector(2);
	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	sp_tensor_i64(call->out[2])[0] = (int64_t)s->batch;
	sp_tensor_i64(call->out[2])[1] = (int64_t)longest;
	return SP_OK;
}

static sp_status run_greedy(const sp_call *call)
{
	int64_t *indices, *values;
	sequences s = {.batch = 0};

	SP_TRY(read_input(call, &s));
	SP_TRY(make_outputs(call, &s));
	indices = sp_tensor_i64(call->out[0]);
	values = sp_tensor_i64(call->out[1]);
	for (size_t b = 0; b < s.batch; b++) {
		size_t n = decode(&s, b, sp_tensor_i32(call->in[1])[b], values, indices, NULL);

		values += n;
		indices += 2 * n;
	}
	return SP_OK;
}

static sp_status prepare_greedy(sp_prepare *prepare, sp_error *err)
{
	ctc_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for CTCGreedyDecoder");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "merge_repeated", false, &state->merges, err));
	SP_TRY(sp_node_attr_int(prepare->node, "blank_index", -1, &state->blank, err));
	SP_TRY(sp_prepare_outputs(prepare, 4, SP_INT64, err));
	prepare->out_dtypes[3] = dtype;
	return SP_OK;
}

const sp_op sp_op_CTCGreedyDecoder = {
	.name = "CTCGreedyDecoder",
	.outputs = "decoded_indices decoded_values decoded_shape log_probability",
	.prepare = prepare_greedy,
	.run = run_greedy,
};
