#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/ragged/ragged.h"
#include "engine/ops/sparse/sparse.h"

/*
 * DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput: the number of
 * occurrences of each value in each row, or the sum of their weights, or 1 with binary_output, as a
 * sparse tensor in row-major order.
 *
 * A row is a matrix row, the first index of a sparse tensor, or a ragged row; there are 1 to
 * INT32_MAX rows.  A vector is one row, and its result has one dimension.  If maxlength is
 * positive, values from maxlength on are dropped and it is the width of the result; else the width
 * is the largest value plus one, and at least minlength and 1.
 *
 * Numerics: weights are summed in the order of the input.
 */
typedef enum count_source { FROM_DENSE, FROM_SPARSE, FROM_RAGGED } count_source;

typedef struct count_state {
	count_source source;
	int64_t min, max;
	bool binary;
} count_state;

static sp_status prepare_any(sp_prepare *prepare, count_source source, sp_error *err)
{
	static const size_t inputs[] = {2, 4, 3}, values[] = {0, 1, 1};
	count_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;
	sp_dtype weights;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->source = source;
	SP_TRY(sp_prepare_inputs(prepare, inputs[source], err));
	SP_TRY(sp_prepare_input_index(prepare, values[source], err));
	if (source == FROM_SPARSE)
		SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	if (source == FROM_RAGGED)
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT64, err));
	SP_TRY(sp_node_attr_int(node, "minlength", -1, &state->min, err));
	SP_TRY(sp_node_attr_int(node, "maxlength", -1, &state->max, err));
	SP_TRY(sp_node_attr_bool(node, "binary_output", false, &state->binary, err));
	weights = prepare->in_dtypes[prepare->in_count - 1];
	if (weights != SP_INT32 && weights != SP_INT64 && weights != SP_FLOAT &&
	    weights != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, weights, err);
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	prepare->out_dtypes[1] = weights;
	return SP_OK;
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, FROM_DENSE, err);
}

static sp_status prepare_sparse(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, FROM_SPARSE, err);
}

static sp_status prepare_ragged(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, FROM_RAGGED, err);
}

typedef struct entry {
	int64_t row, value;
	size_t place; /* in the input */
} entry;

typedef struct counted {
	const sp_tensor *values, *weights; /* empty: no weights */
	entry *entries;
	size_t count;
	int64_t rows, width;
	bool is_vector;
} counted;

/* ---------------------------------------------------------------- the entries */

/* Adds a value unless it is dropped. */
static sp_status add(const sp_call *call, counted *c, int64_t row, size_t place)
{
	const count_state *state = call->state;
	int64_t value = sp_tensor_index(c->values, place);

	if (value < 0)
		return sp_call_invalid(call, "value %zu is %lld, below 0", place, (long long)value);
	if (value == INT64_MAX)
		return sp_call_invalid(call, "value %zu is too large", place);
	if (state->max > 0 && value >= state->max)
		return SP_OK;
	c->entries[c->count++] = (entry){row, value, place};
	if (state->max <= 0 && value >= c->width)
		c->width = value + 1;
	return SP_OK;
}

static sp_status collect_dense(const sp_call *call, counted *c)
{
	const sp_shape *shape = &c->values->shape;
	size_t columns;

	if (shape->rank != 1 && shape->rank != 2)
		return sp_call_invalid(call, "values must be a vector or a matrix, not of rank %d",
				       shape->rank);
	c->is_vector = shape->rank == 1;
	c->rows = c->is_vector ? 1 : shape->dims[0];
	columns = (size_t)shape->dims[shape->rank - 1];
	for (size_t i = 0; i < c->values->count; i++)
		SP_TRY(add(call, c, (int64_t)(i / columns), i));
	return SP_OK;
}

static sp_status collect_sparse(const sp_call *call, counted *c)
{
	sp_sparse in;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	if (in.rank == 0)
		return sp_call_invalid(call, "a sparse tensor without dimensions");
	c->is_vector = in.rank == 1;
	c->rows = c->is_vector ? 1 : in.dims[0];
	for (size_t i = 0; i < in.count; i++) {
		const int64_t *index = in.indices + i * in.rank;

		for (size_t d = 0; d < in.rank; d++)
			if (index[d] < 0 || index[d] >= in.dims[d])
				return sp_call_invalid(call, "index %zu is outside the shape", i);
		SP_TRY(add(call, c, c->is_vector ? 0 : index[0], i));
	}
	return SP_OK;
}

static sp_status collect_ragged(const sp_call *call, counted *c)
{
	sp_splits splits;

	SP_TRY(sp_splits__read(call, 0, (int64_t)c->values->count, true, &splits));
	c->rows = (int64_t)splits.rows;
	for (size_t row = 0; row < splits.rows; row++)
		for (int64_t i = splits.at[row]; i < splits.at[row + 1]; i++)
			SP_TRY(add(call, c, (int64_t)row, (size_t)i));
	return SP_OK;
}

static bool comes_first(const entry *a, const entry *b)
{
	return a->row != b->row ? a->row < b->row : a->value <= b->value;
}

static void merge(const entry *from, size_t start, size_t middle, size_t end, entry *to)
{
	size_t a = start, b = middle;

	for (size_t i = start; i < end; i++)
		to[i] = b == end || (a < middle && comes_first(&from[a], &from[b])) ? from[a++]
										    : from[b++];
}

/* Sorts by row and value; equal entries keep the order of the input. */
static sp_status sort(const sp_call *call, counted *c)
{
	entry *from = c->entries, *to = sp_call_bytes(call, c->count, sizeof(*to)), *other;

	if (to == NULL)
		return sp_call_no_memory(call);
	for (size_t run = 1; run < c->count; run *= 2) {
		for (size_t start = 0; start < c->count; start += 2 * run) {
			size_t middle = start + run < c->count ? start + run : c->count;
			size_t end = middle + run < c->count ? middle + run : c->count;

			merge(from, start, middle, end, to);
		}
		other = from;
		from = to;
		to = other;
	}
	c->entries = from;
	return SP_OK;
}

/* ------------------------------------------------------------------ the result */

static bool starts(const counted *c, size_t i)
{
	return i == 0 || c->entries[i].row != c->entries[i - 1].row ||
	       c->entries[i].value != c->entries[i - 1].value;
}

/* Adds one more entry to element `at`; integers wrap around. */
#define ADD(type, wide)                                                                       \
	do {                                                                                  \
		type *to = (type *)out->data + at;                                            \
		type weight = c->weights->count != 0                                          \
				      ? ((const type *)c->weights->data)[c->entries[i].place] \
				      : (type)1;                                              \
                                                                                              \
		*to = binary ? (type)1 : first ? weight : (type)((wide)*to + (wide)weight);   \
	} while (0)

static void add_entry(const counted *c, const sp_tensor *out, size_t at, size_t i, bool first,
		      bool binary)
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

static sp_status write_counted(const sp_call *call, const counted *c)
{
	const count_state *state = call->state;
	size_t rank = c->is_vector ? 1 : 2, total = 0, at = 0;
	sp_shape indices, values, shape = sp_shape_vector((int64_t)rank);
	int64_t *index;

	for (size_t i = 0; i < c->count; i++)
		total += starts(c, i);
	indices = sp_shape_matrix((int64_t)total, (int64_t)rank);
	values = sp_shape_vector((int64_t)total);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &indices));
	SP_TRY(sp_call_output(call, 1, c->weights->dtype, &values));
	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	index = call->out[0]->data;
	for (size_t i = 0; i < c->count; i++) {
		bool first = starts(c, i);

		if (first) {
			if (!c->is_vector)
				*index++ = c->entries[i].row;
			*index++ = c->entries[i].value;
			at += i > 0;
		}
		add_entry(c, call->out[1], at, i, first, state->binary);
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
	counted c = {.values = call->in[state->source == FROM_DENSE ? 0 : 1],
		     .weights = call->in[call->in_count - 1]};

	if (c.weights->count != 0 && !sp_shape_equal(&c.weights->shape, &c.values->shape))
		return sp_call_invalid(call, "the weights are not of the shape of the values");
	c.entries = sp_call_bytes(call, c.values->count, sizeof(*c.entries));
	if (c.entries == NULL)
		return sp_call_no_memory(call);
	c.width = state->max > 0 ? state->max : state->min > 1 ? state->min : 1;
	switch (state->source) {
	case FROM_DENSE:
		SP_TRY(collect_dense(call, &c));
		break;
	case FROM_SPARSE:
		SP_TRY(collect_sparse(call, &c));
		break;
	case FROM_RAGGED:
		SP_TRY(collect_ragged(call, &c));
		break;
	}
	if (c.rows < 1 || c.rows > INT32_MAX)
		return sp_call_invalid(call, "cannot count into %lld rows", (long long)c.rows);
	SP_TRY(sort(call, &c));
	return write_counted(call, &c);
}

#define OUTPUTS "output_indices output_values output_dense_shape"

SP_DEFINE_OP(DenseCountSparseOutput, OUTPUTS, 0, prepare_dense, run_count);
SP_DEFINE_OP(SparseCountSparseOutput, OUTPUTS, 0, prepare_sparse, run_count);
SP_DEFINE_OP(RaggedCountSparseOutput, OUTPUTS, 0, prepare_ragged, run_count);
