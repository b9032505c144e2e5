#include <string.h>

#include "engine/ops/ragged/ragged.h"
#include "engine/ops/sparse/sparse.h"

/*
 * For each row: the number of occurrences of each value, or the sum of their weights, or 1 with
 * binary_output.  A row is a matrix row, the first index of a sparse tensor, or a ragged row; a
 * vector is one row, and its result has one dimension.
 *
 * SparseBincount, RaggedBincount: [rows, size]; larger values are dropped.
 *
 * DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput: a sparse tensor in
 * row-major order, of 1 to INT32_MAX rows.  If maxlength is positive, values from maxlength on are
 * dropped and it is the width of the result; else the width is the largest value plus one, and at
 * least minlength and 1.
 *
 * Numerics: weights are summed in the order of the input.
 */
typedef enum count_source { FROM_DENSE, FROM_SPARSE, FROM_RAGGED } count_source;

typedef struct count_state {
	count_source source;
	bool to_bins; /* the result is dense */
	int64_t min, max;
	bool binary;
} count_state;

typedef struct counting {
	const sp_call *call;
	const count_state *state;
	const sp_tensor *values, *weights; /* weights are empty: none */
	sp_sparse sparse;
	sp_splits splits;
	int64_t rows, width;
	bool is_vector;

	/* Of a sparse result: what is to be counted. */
	int64_t *entries; /* [count, 2]: row and value */
	size_t *places;   /* [count] in the input */
	size_t count;
} counting;

/* ----------------------------------------------------------------------- input */

static sp_status read_rows(counting *c)
{
	const sp_call *call = c->call;
	const sp_shape *shape = &c->values->shape;
	size_t rank = 2;

	switch (c->state->source) {
	case FROM_DENSE:
		rank = (size_t)shape->rank;
		if (rank != 0)
			c->rows = shape->dims[0];
		break;
	case FROM_SPARSE:
		SP_TRY(sp_sparse__read(call, 0, 1, 2, &c->sparse));
		rank = c->sparse.rank;
		if (rank != 0)
			c->rows = c->sparse.dims[0];
		break;
	case FROM_RAGGED:
		SP_TRY(sp_splits__read(call, 0, (int64_t)c->values->count, true, &c->splits));
		c->rows = (int64_t)c->splits.rows;
		break;
	}
	c->is_vector = rank == 1;
	if (c->is_vector)
		c->rows = 1;
	if (rank == 0 || (rank > 2 && (c->state->to_bins || c->state->source == FROM_DENSE)))
		return sp_call_invalid(call, "cannot count in a tensor of rank %zu", rank);
	return SP_OK;
}

/* Element `at` counts value `i` of the input once more; integers wrap around. */
#define ADD(type, wide)                                                                         \
	do {                                                                                    \
		const sp_tensor *weights = c->weights;                                          \
		type *to = (type *)out->data + at;                                              \
		type weight = weights->count != 0 ? ((const type *)weights->data)[i] : (type)1; \
                                                                                                \
		*to = c->state->binary ? (type)1 : (type)((wide)*to + (wide)weight);            \
	} while (0)

static void add(const counting *c, const sp_tensor *out, size_t at, size_t i)
{
	switch (out->dtype) {
	case SP_INT32:
		ADD(int32_t, uint32_t);
		break;
	case SP_INT64:
		ADD(int64_t, uint64_t);
		break;
	case SP_FLOAT:
		ADD(float, float);
		break;
	default:
		ADD(double, double);
	}
}

/* Counts value `i`, or notes it for a sparse result, unless it is dropped. */
static sp_status take(counting *c, int64_t row, size_t i)
{
	const count_state *state = c->state;
	int64_t value = sp_tensor_index(c->values, i);

	if (value < 0)
		return sp_call_invalid(c->call, "value %zu is %lld, below 0", i, (long long)value);
	if (state->to_bins) {
		if (value < c->width)
			add(c, c->call->out[0], (size_t)(row * c->width + value), i);
		return SP_OK;
	}
	if (value == INT64_MAX)
		return sp_call_invalid(c->call, "value %zu is too large", i);
	if (state->max > 0 && value >= state->max)
		return SP_OK;
	if (state->max <= 0 && value >= c->width)
		c->width = value + 1;
	c->entries[2 * c->count] = row;
	c->entries[2 * c->count + 1] = value;
	c->places[c->count++] = i;
	return SP_OK;
}

static sp_status take_sparse(counting *c)
{
	const sp_sparse *in = &c->sparse;

	for (size_t i = 0; i < in->count; i++) {
		const int64_t *index = in->indices + i * in->rank;

		for (size_t d = 0; d < in->rank; d++)
			if (index[d] < 0 || index[d] >= in->dims[d])
				return sp_call_invalid(c->call, "index %zu is outside the shape",
						       i);
		SP_TRY(take(c, c->is_vector ? 0 : index[0], i));
	}
	return SP_OK;
}

static sp_status take_all(counting *c)
{
	const sp_shape *shape = &c->values->shape;

	if (c->state->source == FROM_SPARSE)
		return take_sparse(c);
	if (c->state->source == FROM_DENSE) {
		for (size_t i = 0; i < c->values->count; i++)
			SP_TRY(take(c, (int64_t)i / shape->dims[shape->rank - 1], i));
		return SP_OK;
	}
	for (size_t row = 0; row < c->splits.rows; row++)
		for (int64_t i = c->splits.at[row]; i < c->splits.at[row + 1]; i++)
			SP_TRY(take(c, (int64_t)row, (size_t)i));
	return SP_OK;
}

/* Output i becomes zeros, of the type of the weights. */
static sp_status make_zeros(const counting *c, size_t i, const sp_shape *shape)
{
	sp_dtype dtype = c->weights->dtype;

	SP_TRY(sp_call_output(c->call, i, dtype, shape));
	if (c->call->out[i]->count != 0)
		memset(c->call->out[i]->data, 0, c->call->out[i]->count * sp_dtype_size(dtype));
	return SP_OK;
}

/* -------------------------------------------------------------- a dense result */

static sp_status run_bincount(const sp_call *call)
{
	size_t size = call->in_count - 2;
	counting c = {.call = call,
		      .state = call->state,
		      .values = call->in[1],
		      .weights = call->in[call->in_count - 1]};
	sp_shape shape;

	SP_TRY(sp_call_need_rank(call, size, 0));
	c.width = sp_tensor_index(call->in[size], 0);
	if (c.width < 0)
		return sp_call_invalid(call, "size (%lld) must be non-negative",
				       (long long)c.width);
	if (c.weights->count != 0 && c.weights->count != c.values->count)
		return sp_call_invalid(call, "%zu weights for %zu values", c.weights->count,
				       c.values->count);
	SP_TRY(read_rows(&c));
	shape = c.is_vector ? sp_shape_vector(c.width) : sp_shape_matrix(c.rows, c.width);
	SP_TRY(make_zeros(&c, 0, &shape));
	return take_all(&c);
}

/* ------------------------------------------------------------- a sparse result */

/* Whether entry `i` in the order is the first of its row and value. */
static bool starts(const counting *c, const size_t *order, size_t i)
{
	size_t a = order != NULL && i > 0 ? order[i - 1] : i - 1, b = order != NULL ? order[i] : i;

	return i == 0 || sp_sparse__compare(&c->entries[2 * a], &c->entries[2 * b], 2) != 0;
}

static sp_status write_counted(const counting *c)
{
	const sp_call *call = c->call;
	size_t rank = c->is_vector ? 1 : 2, total = 0, at = 0;
	sp_shape indices, values, shape = sp_shape_vector((int64_t)rank);
	const size_t *order;
	int64_t *index;

	SP_TRY(sp_sparse__order(call, c->entries, c->count, 2, &order));
	for (size_t i = 0; i < c->count; i++)
		total += starts(c, order, i);
	indices = sp_shape_matrix((int64_t)total, (int64_t)rank);
	values = sp_shape_vector((int64_t)total);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &indices));
	SP_TRY(make_zeros(c, 1, &values));
	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	index = call->out[0]->data;
	for (size_t i = 0; i < c->count; i++) {
		size_t entry = order != NULL ? order[i] : i;

		if (starts(c, order, i)) {
			if (!c->is_vector)
				*index++ = c->entries[2 * entry];
			*index++ = c->entries[2 * entry + 1];
			at += i > 0;
		}
		add(c, call->out[1], at, c->places[entry]);
	}
	index = call->out[2]->data;
	if (!c->is_vector)
		*index++ = c->rows;
	*index = c->width;
	return SP_OK;
}

static sp_status run_count(const sp_call *call)
{
	const count_state *state = call->state;
	counting c = {.call = call,
		      .state = state,
		      .values = call->in[state->source == FROM_DENSE ? 0 : 1],
		      .weights = call->in[call->in_count - 1]};

	if (c.weights->count != 0 && !sp_shape_equal(&c.weights->shape, &c.values->shape))
		return sp_call_invalid(call, "the weights are not of the shape of the values");
	SP_CALL_BYTES(c.entries, call, c.values->count, 2 * sizeof(*c.entries));
	SP_CALL_ARRAY(c.places, call, c.values->count);
	c.width = state->max > 0 ? state->max : state->min > 1 ? state->min : 1;
	SP_TRY(read_rows(&c));
	SP_TRY(take_all(&c));
	if (c.rows < 1 || c.rows > INT32_MAX)
		return sp_call_invalid(call, "cannot count into %lld rows", (long long)c.rows);
	return write_counted(&c);
}

/* --------------------------------------------------------------------- prepare */

static sp_status prepare_any(sp_prepare *prepare, count_source source, bool to_bins,
			     const char *types, sp_error *err)
{
	count_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;

	SP_NEED_MEMORY(state, err, "an operator");
	state->source = source;
	state->to_bins = to_bins;
	SP_TRY(sp_prepare_types(prepare, types, err));
	SP_TRY(sp_node_attr_int(node, "minlength", -1, &state->min, err));
	SP_TRY(sp_node_attr_int(node, "maxlength", -1, &state->max, err));
	return sp_node_attr_bool(node, "binary_output", false, &state->binary, err);
}

#define COUNT(op, outputs, source, to_bins, types, run)                   \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		return prepare_any(prepare, source, to_bins, types, err); \
	}                                                                 \
	SP_DEFINE_OP(op, outputs, 0, prepare_##op, run);

#define SPARSE "output_indices output_values output_dense_shape"

COUNT(SparseBincount, NULL, FROM_SPARSE, true, "int64 I int64 I N -> N", run_bincount)
COUNT(RaggedBincount, NULL, FROM_RAGGED, true, "int64 I I N -> N", run_bincount)
COUNT(DenseCountSparseOutput, SPARSE, FROM_DENSE, false, "index N -> int64 N int64", run_count)
COUNT(SparseCountSparseOutput, SPARSE, FROM_SPARSE, false, "int64 index int64 N -> int64 N int64",
      run_count)
COUNT(RaggedCountSparseOutput, SPARSE, FROM_RAGGED, false, "int64 index N -> int64 N int64",
      run_count)
