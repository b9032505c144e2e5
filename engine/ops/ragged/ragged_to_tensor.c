#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/array/elements.h"

/*
 * RaggedTensorToTensor: truncates or pads rows of different lengths to one length.
 *
 * A value row is a row of `values`.  Level by level, every item of a partition gets the value row
 * of the output where it begins, or -1 if it lies outside of the output's shape; the items of the
 * last level are the value rows themselves.
 *
 * Row ids must be sorted; TensorFlow mixes up unsorted rows.
 */
typedef enum partition_kind { FIRST_DIM_SIZE, VALUE_ROWIDS, ROW_SPLITS } partition_kind;

typedef struct to_tensor_state {
	partition_kind *kinds; /* [depth] of the partitions other than the number of rows */
	size_t depth;          /* the ragged rank, >= 1 */
	bool sized;            /* the first partition input is the number of rows */
} to_tensor_state;

enum { SHAPE, VALUES, DEFAULT, PARTITIONS };

typedef struct places {
	int64_t *at; /* [count] value row of the output, or -1 */
	size_t count;
} places;

typedef struct plan {
	const to_tensor_state *state;
	int64_t rows; /* of the outermost level */
	const int64_t *partitions[SP_MAX_RANK];
	size_t lengths[SP_MAX_RANK];    /* of the partitions */
	int64_t steps[SP_MAX_RANK + 1]; /* value rows per item of a level */
	sp_shape shape;                 /* of the output */
} plan;

/* ---------------------------------------------------------------- reading */

static sp_status read_partitions(const sp_call *call, plan *p)
{
	const to_tensor_state *state = p->state;
	const sp_tensor *first = call->in[PARTITIONS];

	if (first->count == 0)
		return sp_call_invalid(call, "the first partition requires at least one element");
	p->rows = state->sized ? sp_tensor_index(first, 0) : (int64_t)first->count - 1;
	if (p->rows < 0)
		return sp_call_invalid(call, "a ragged tensor of %lld rows", (long long)p->rows);
	for (size_t k = 0; k < state->depth; k++) {
		const sp_tensor *in = call->in[PARTITIONS + k + (state->sized ? 1 : 0)];

		if (in->shape.rank != 1)
			return sp_call_invalid(call, "a row partition of rank %d is no vector",
					       in->shape.rank);
		p->lengths[k] = in->count;
		SP_TRY(sp_elements__widen(call, in, &p->partitions[k]));
	}
	return SP_OK;
}

static int64_t longest_row(const plan *p, size_t k)
{
	const int64_t *at = p->partitions[k];
	size_t length = p->lengths[k];
	int64_t longest = 0, run = 0;

	for (size_t i = 0; i < length; i++) {
		if (p->state->kinds[k] == VALUE_ROWIDS)
			run = i > 0 && at[i] == at[i - 1] ? run + 1 : 1;
		else
			run = i > 0 ? (int64_t)((uint64_t)at[i] - (uint64_t)at[i - 1]) : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* dims[0 ... rank): the dimensions in the shape input; -1 if it does not state them. */
static sp_status read_wanted(const sp_call *call, int rank, int64_t *dims)
{
	const sp_tensor *wanted = call->in[SHAPE];

	for (int d = 0; d < rank; d++)
		dims[d] = -1;
	if (sp_tensor_is_scalar(wanted)) {
		if (sp_tensor_index(wanted, 0) == -1)
			return SP_OK;
		return sp_call_invalid(call, "the only scalar shape is -1, not %lld",
				       (long long)sp_tensor_index(wanted, 0));
	}
	if (wanted->shape.rank != 1 || wanted->count != (size_t)rank)
		return sp_call_invalid(call, "the shape is not a vector of %d: rank %d with %zu",
				       rank, wanted->shape.rank, wanted->count);
	for (int d = 0; d < rank; d++) {
		dims[d] = sp_tensor_index(wanted, (size_t)d);
		if (dims[d] < -1)
			return sp_call_invalid(call, "dimension %lld must be >= -1",
					       (long long)dims[d]);
	}
	return SP_OK;
}

static sp_status find_shape(const sp_call *call, plan *p)
{
	const sp_shape *values = &call->in[VALUES]->shape;
	int depth = (int)p->state->depth, rank = depth + values->rank;
	int64_t *dims = p->shape.dims;
	int64_t step = 1;

	if (values->rank == 0 || rank > SP_MAX_RANK)
		return sp_call_invalid(call,
				       "values of rank %d give no tensor of up to %d dimensions",
				       values->rank, SP_MAX_RANK);
	p->shape.rank = rank;
	SP_TRY(read_wanted(call, rank, dims));
	dims[0] = dims[0] < 0 ? p->rows : dims[0];
	for (int d = 1; d <= depth; d++)
		dims[d] = dims[d] < 0 ? longest_row(p, (size_t)d - 1) : dims[d];
	for (int d = depth + 1; d < rank; d++) {
		int64_t inner = values->dims[d - depth];

		if (dims[d] >= 0 && dims[d] != inner)
			return sp_call_invalid(call, "dimension %d is wanted as %lld but is %lld",
					       d, (long long)dims[d], (long long)inner);
		dims[d] = inner;
	}
	for (int d = depth; d >= 0; d--) {
		p->steps[d] = step;
		if (!sp_i64_mul(&step, step, dims[d]))
			return sp_call_invalid(call, "the tensor is too large");
	}
	return SP_OK;
}

/* ------------------------------------------------------------- default value */

/*
 * The default is broadcast to a value row, and must also match it aligned at the first dimension.
 */
static sp_status check_default(const sp_call *call)
{
	const sp_shape *value = &call->in[DEFAULT]->shape, *values = &call->in[VALUES]->shape;
	int ahead = values->rank - value->rank;
	bool fits = value->rank < values->rank;

	for (int d = 0; fits && d < value->rank; d++)
		fits = value->dims[d] == 1 || (value->dims[d] == values->dims[d + 1] &&
					       value->dims[d] == values->dims[ahead + d]);
	if (!fits) {
		char have[SP_SHAPE_TEXT_SIZE], want[SP_SHAPE_TEXT_SIZE];

		return sp_call_invalid(call, "default_value of %s does not fit values of %s",
				       sp_shape_text(value, have), sp_shape_text(values, want));
	}
	return SP_OK;
}

/* Fills one value row with the default, counting through its elements. */
static void write_default_row(char *row, const sp_tensor *value, const sp_shape *values,
			      size_t width, size_t size)
{
	int ahead = values->rank - value->shape.rank;

	for (size_t cell = 0; cell < width; cell++) {
		size_t rest = cell, from = 0, step = 1;

		for (int d = values->rank - 1; d > 0; d--) {
			size_t i = rest % (size_t)values->dims[d];

			rest /= (size_t)values->dims[d];
			if (d < ahead)
				continue;
			from += value->shape.dims[d - ahead] == 1 ? 0 : i * step;
			step *= (size_t)value->shape.dims[d - ahead];
		}
		sp_element__copy(row, cell, value->data, from, size);
	}
}

/* ------------------------------------------------------------------ placing */

static sp_status make_places(const sp_call *call, size_t count, places *out)
{
	out->count = 0;
	out->at = sp_call_bytes(call, count, sizeof(*out->at));
	return out->at != NULL ? SP_OK : sp_call_no_memory(call);
}

static sp_status place_rows(const sp_call *call, const plan *p, places *out)
{
	SP_TRY(make_places(call, (size_t)p->rows, out));
	for (int64_t row = 0; row < p->rows; row++)
		out->at[out->count++] = row < p->shape.dims[0] ? row * p->steps[0] : -1;
	return SP_OK;
}

/* Places item `column` of the row that begins at `row`. */
static int64_t place_item(const plan *p, size_t k, int64_t row, int64_t column)
{
	return row < 0 || column >= p->shape.dims[k + 1] ? -1 : row + column * p->steps[k + 1];
}

static sp_status place_splits(const sp_call *call, const plan *p, size_t k, const places *rows,
			      places *out)
{
	const int64_t *at = p->partitions[k];
	size_t length = p->lengths[k];

	if (length == 0 || length - 1 > rows->count)
		return sp_call_invalid(call, "row splits of %zu rows do not fit %zu rows",
				       length == 0 ? 0 : length - 1, rows->count);
	if (at[0] != 0)
		return sp_call_invalid(call, "row splits begin with %lld, not with 0",
				       (long long)at[0]);
	for (size_t i = 1; i < length; i++)
		if (at[i] < at[i - 1])
			return sp_call_invalid(call, "row splits: %lld comes after %lld",
					       (long long)at[i], (long long)at[i - 1]);
	SP_TRY(make_places(call, (size_t)at[length - 1], out));
	for (size_t i = 0; i + 1 < length; i++)
		for (int64_t column = 0; column < at[i + 1] - at[i]; column++)
			out->at[out->count++] = place_item(p, k, rows->at[i], column);
	return SP_OK;
}

static sp_status place_row_ids(const sp_call *call, const plan *p, size_t k, const places *rows,
			       places *out)
{
	const int64_t *ids = p->partitions[k];
	int64_t column = 0;

	SP_TRY(make_places(call, p->lengths[k], out));
	for (size_t i = 0; i < p->lengths[k]; i++) {
		if (ids[i] < 0 || (uint64_t)ids[i] >= rows->count)
			return sp_call_invalid(call, "row id %lld is not less than %zu",
					       (long long)ids[i], rows->count);
		if (i > 0 && ids[i] < ids[i - 1])
			return sp_call_invalid(call,
					       "row ids must be sorted: %lld comes after %lld",
					       (long long)ids[i], (long long)ids[i - 1]);
		column = i > 0 && ids[i] == ids[i - 1] ? column + 1 : 0;
		out->at[out->count++] = place_item(p, k, rows->at[ids[i]], column);
	}
	return SP_OK;
}

/* A partition may refer to items after the last value if all of them lie outside of the shape. */
static sp_status check_values(const sp_call *call, const places *items)
{
	size_t count = (size_t)call->in[VALUES]->shape.dims[0];

	for (size_t i = count; i < items->count; i++)
		if (items->at[i] >= 0)
			return sp_call_invalid(call, "the row partitions hold %zu values of %zu",
					       items->count, count);
	return SP_OK;
}

static sp_status place_values(const sp_call *call, const plan *p, places *out)
{
	places rows;

	SP_TRY(place_rows(call, p, &rows));
	for (size_t k = 0; k < p->state->depth; k++) {
		if (p->state->kinds[k] == ROW_SPLITS)
			SP_TRY(place_splits(call, p, k, &rows, out));
		else
			SP_TRY(place_row_ids(call, p, k, &rows, out));
		rows = *out;
	}
	return check_values(call, out);
}

static sp_status run_to_tensor(const sp_call *call)
{
	const sp_tensor *values = call->in[VALUES];
	plan p = {.state = call->state};
	places to = {.count = 0};
	size_t size = sp_dtype_size(values->dtype), width;
	char *row, *out;

	SP_TRY(read_partitions(call, &p));
	SP_TRY(find_shape(call, &p));
	SP_TRY(check_default(call));
	SP_TRY(sp_call_output(call, 0, values->dtype, &p.shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	width = (size_t)sp_shape_product(&values->shape, 1, values->shape.rank);
	SP_CALL_BYTES(row, call, width, size);
	out = call->out[0]->data;
	write_default_row(row, call->in[DEFAULT], &values->shape, width, size);
	sp_elements__fill(out, call->out[0]->count / width, row, width * size);
	SP_TRY(place_values(call, &p, &to));
	for (size_t i = 0; i < to.count; i++)
		if (to.at[i] >= 0)
			memcpy(out + (size_t)to.at[i] * width * size,
			       (const char *)values->data + i * width * size, width * size);
	return SP_OK;
}

/* --------------------------------------------------------------- preparing */

static sp_status read_kind(sp_bytes text, partition_kind *out, sp_error *err)
{
	if (sp_bytes_equal_text(text, "FIRST_DIM_SIZE"))
		*out = FIRST_DIM_SIZE;
	else if (sp_bytes_equal_text(text, "VALUE_ROWIDS"))
		*out = VALUE_ROWIDS;
	else if (sp_bytes_equal_text(text, "ROW_SPLITS"))
		*out = ROW_SPLITS;
	else
		return sp_error_set(err, SP_INVALID, "'%.*s' is not a type of row partition",
				    (int)(text.size < 64 ? text.size : 64), text.data);
	return SP_OK;
}

static sp_status read_kinds(sp_prepare *prepare, to_tensor_state *state, sp_error *err)
{
	const sp_attr *types;
	partition_kind kind = ROW_SPLITS;

	SP_TRY(sp_node_attr_list(prepare->node, "row_partition_types", SP_ATTR_BYTES, &types, err));
	if (types->count == 0 || types->count > SP_MAX_RANK ||
	    prepare->in_count != PARTITIONS + types->count)
		return sp_error_set(err, SP_INVALID, "%zu row partition types for %zu inputs",
				    types->count, prepare->in_count);
	state->kinds = sp_arena_array(prepare->arena, types->count, sizeof(*state->kinds));
	SP_NEED_MEMORY(state->kinds, err, "row partitions");
	for (size_t i = 0; i < types->count; i++) {
		SP_TRY(read_kind(types->bytes_list[i], &kind, err));
		if (i == 0 && kind == FIRST_DIM_SIZE) {
			state->sized = true;
			continue;
		}
		if (kind == FIRST_DIM_SIZE || (i == 0 && kind == VALUE_ROWIDS))
			return sp_error_set(err, SP_INVALID,
					    "row partition %zu may not be of that type", i);
		state->kinds[state->depth++] = kind;
	}
	if (state->depth == 0)
		return sp_error_set(err, SP_INVALID, "a ragged tensor needs a row partition");
	return SP_OK;
}

static sp_status prepare_to_tensor(sp_prepare *prepare, sp_error *err)
{
	to_tensor_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "RaggedTensorToTensor");
	SP_TRY(read_kinds(prepare, state, err));
	SP_TRY(sp_prepare_input_index(prepare, SHAPE, err));
	SP_TRY(sp_prepare_input_dtype(prepare, DEFAULT, prepare->in_dtypes[VALUES], err));
	for (size_t i = PARTITIONS; i < prepare->in_count; i++)
		SP_TRY(sp_prepare_input_index(prepare, i, err));
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[VALUES], err);
}

SP_DEFINE_OP(RaggedTensorToTensor, NULL, 0, prepare_to_tensor, run_to_tensor);
