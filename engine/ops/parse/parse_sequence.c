#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "engine/kernels/example_reader.h"
#include "engine/ops/array/array.h"
#include "engine/ops/parse/parse_example_internal.h"

/*
 * ParseSequenceExample and V2: a batch of serialized tf.SequenceExample, or a single one, into
 * tensors. ParseSingleSequenceExample: a single one; every key is an input of its own.  The context
 * is parsed like a tf.Example (parse_example.c); a feature list has a Feature per step:
 *
 *   dense    [batch, steps, shape...], shorter ones zero-padded, and the number of
 *            steps of each; every step has as many values as the shape requires
 *   sparse   indices [n, 3] (example, step, place), values, [batch, steps, longest]
 *   ragged   values, the splits of examples into steps and of steps into values
 *
 * For a single example (a scalar) there is no batch dimension.  A missing dense list is an error
 * unless it may be missing; then it has no steps.
 */
typedef struct list_column {
	sp_dtype dtype, split_dtype;
	sp_shape shape; /* of a step, for a dense column */
	size_t count;   /* elements of `shape` */
	bool may_be_missing;
} list_column;

typedef enum sequence_kind { SEQUENCE_V1, SEQUENCE_V2, SEQUENCE_SINGLE } sequence_kind;

typedef struct sequence_state {
	sp_example_columns context; /* first: sp_example_batch_parse() reads it */
	sequence_kind kind;
	size_t sparse_count, dense_count, ragged_count, column_count;
	list_column *columns;                    /* sparse, dense, then ragged ones */
	const sp_attr *sparse_keys, *dense_keys; /* of the first version */
	size_t first_output;
} sequence_state;

/* ------------------------------------------------------------------- prepare */

static sp_status take_types(const sp_prepare *prepare, const char *name, list_column *columns,
			    size_t count, sp_error *err)
{
	const sp_attr *types;

	SP_TRY(sp_node_attr_list(prepare->node, name, SP_ATTR_TYPE, &types, err));
	if (types->count != count)
		return sp_error_set(err, SP_INVALID, "%s has %zu types for %zu features", name,
				    types->count, count);
	for (size_t i = 0; i < count; i++) {
		columns[i].dtype = types->type_list[i];
		if (columns[i].dtype != SP_FLOAT && columns[i].dtype != SP_INT64 &&
		    columns[i].dtype != SP_STRING)
			return sp_prepare_unsupported(prepare, columns[i].dtype, err);
	}
	return SP_OK;
}

static sp_status take_shapes(const sp_prepare *prepare, list_column *dense, size_t count,
			     sp_error *err)
{
	const sp_attr *shapes;

	SP_TRY(sp_node_attr_list(prepare->node, "feature_list_dense_shapes", SP_ATTR_SHAPE, &shapes,
				 err));
	if (shapes->count != count)
		return sp_error_set(err, SP_INVALID, "%zu dense shapes for %zu features",
				    shapes->count, count);
	for (size_t i = 0; i < count; i++) {
		const sp_partial_shape *shape = &shapes->shape_list[i];

		if (shape->rank < 0 || shape->rank + 2 > SP_MAX_RANK)
			return sp_error_set(err, SP_UNSUPPORTED, "a step of rank %d", shape->rank);
		dense[i].shape.rank = shape->rank;
		dense[i].count = 1;
		for (int d = 0; d < shape->rank; d++) {
			dense[i].shape.dims[d] = shape->dims[d];
			if (shape->dims[d] < 0 ||
			    !sp_size_mul(&dense[i].count, dense[i].count, (size_t)shape->dims[d]))
				return sp_error_set(err, SP_INVALID,
						    "dimension %d of a step is %lld", d,
						    (long long)shape->dims[d]);
		}
	}
	return SP_OK;
}

static sp_status take_splits(const sp_prepare *prepare, list_column *ragged, size_t count,
			     sp_error *err)
{
	const sp_attr *splits;

	if (count == 0)
		return SP_OK;
	SP_TRY(sp_node_attr_list(prepare->node, "feature_list_ragged_split_types", SP_ATTR_TYPE,
				 &splits, err));
	if (splits->count != count)
		return sp_error_set(err, SP_INVALID, "%zu types of splits for %zu features",
				    splits->count, count);
	for (size_t i = 0; i < count; i++) {
		ragged[i].split_dtype = splits->type_list[i];
		if (splits->type_list[i] != SP_INT32 && splits->type_list[i] != SP_INT64)
			return sp_prepare_unsupported(prepare, splits->type_list[i], err);
	}
	return SP_OK;
}

static sp_status take_lists(sp_prepare *prepare, sequence_state *s, sp_error *err)
{
	list_column *dense, *ragged;

	s->column_count = s->sparse_count + s->dense_count + s->ragged_count;
	s->columns = sp_arena_zeros(prepare->arena, s->column_count + 1, sizeof(*s->columns));
	if (s->columns == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu features",
				    s->column_count);
	dense = s->columns + s->sparse_count;
	ragged = dense + s->dense_count;
	SP_TRY(take_types(prepare, "feature_list_sparse_types", s->columns, s->sparse_count, err));
	SP_TRY(take_types(prepare, "feature_list_dense_types", dense, s->dense_count, err));
	SP_TRY(take_shapes(prepare, dense, s->dense_count, err));
	if (s->ragged_count > 0)
		SP_TRY(take_types(prepare, "feature_list_ragged_value_types", ragged,
				  s->ragged_count, err));
	return take_splits(prepare, ragged, s->ragged_count, err);
}

static sp_status state_outputs(sp_prepare *prepare, sequence_state *s, sp_error *err)
{
	const sp_example_columns *c = &s->context;
	const list_column *column = s->columns;
	size_t of_dense = s->kind == SEQUENCE_SINGLE ? 1 : 2;
	sp_dtype *to;

	s->first_output = 3 * c->sparse_count + c->dense_count + 2 * c->ragged_count;
	SP_TRY(sp_prepare_outputs(prepare,
				  s->first_output + 3 * s->sparse_count +
					  of_dense * s->dense_count + 3 * s->ragged_count,
				  SP_INT64, err));
	to = sp_example_columns__outputs(c, prepare->out_dtypes) + s->sparse_count;
	for (size_t i = 0; i < s->sparse_count; i++)
		*to++ = column++->dtype;
	to += s->sparse_count;
	for (size_t i = 0; i < s->dense_count; i++)
		*to++ = column++->dtype;
	to += (of_dense - 1) * s->dense_count;
	for (size_t i = 0; i < s->ragged_count; i++) {
		to[i] = column[i].dtype;
		to[s->ragged_count + i] = column[i].split_dtype;
		to[2 * s->ragged_count + i] = column[i].split_dtype;
	}
	return SP_OK;
}

static sp_status new_state(sp_prepare *prepare, sequence_kind kind, sequence_state **out,
			   sp_error *err)
{
	sequence_state *s = *out = sp_prepare_state(prepare, sizeof(*s));

	if (s == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a parser");
	s->kind = kind;
	SP_TRY(sp_example_columns__count(prepare, "Ncontext_sparse", &s->context.sparse_count,
					 err));
	SP_TRY(sp_example_columns__list_length(prepare, "Tcontext_dense", &s->context.dense_count,
					       err));
	SP_TRY(sp_example_columns__count(prepare, "Nfeature_list_sparse", &s->sparse_count, err));
	SP_TRY(sp_example_columns__count(prepare, "Nfeature_list_dense", &s->dense_count, err));
	if (kind != SEQUENCE_V2)
		return SP_OK;
	SP_TRY(sp_example_columns__list_length(prepare, "context_ragged_value_types",
					       &s->context.ragged_count, err));
	return sp_example_columns__list_length(prepare, "feature_list_ragged_value_types",
					       &s->ragged_count, err);
}

static sp_status finish(sp_prepare *prepare, sequence_state *s, size_t inputs, sp_error *err)
{
	static const sp_example_attrs attrs = {"context_sparse_types", "Tcontext_dense",
					       "context_dense_shapes", "context_ragged_value_types",
					       "context_ragged_split_types"};

	SP_TRY(sp_prepare_inputs(
		prepare, inputs + s->context.dense_count + s->context.trailing_inputs, err));
	for (size_t i = 0; i < inputs; i++)
		SP_TRY(sp_prepare_input_dtype(
			prepare, i, s->kind == SEQUENCE_V2 && i == 8 ? SP_BOOL : SP_STRING, err));
	SP_TRY(sp_example_columns__take(prepare, &s->context, &attrs, err));
	for (size_t i = 0; i < s->context.column_count; i++)
		if (s->context.columns[i].is_variable)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "a dense context feature of variable shape");
	SP_TRY(take_lists(prepare, s, err));
	return state_outputs(prepare, s, err);
}

/* Reads a list of `count` keys from an attribute. */
static sp_status read_keys(const sp_prepare *prepare, const char *name, size_t count,
			   const sp_attr **out, sp_error *err)
{
	SP_TRY(sp_node_attr_list(prepare->node, name, SP_ATTR_BYTES, out, err));
	if ((*out)->count == count)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "%s has %zu keys for %zu features", name,
			    (*out)->count, count);
}

static void allow_missing(sequence_state *s, const sp_attr *names)
{
	for (size_t i = 0; i < s->dense_count; i++)
		for (size_t k = 0; k < names->count; k++)
			s->columns[s->sparse_count + i].may_be_missing |= sp_bytes_equal(
				s->dense_keys->bytes_list[i], names->bytes_list[k]);
}

static sp_status prepare_v1(sp_prepare *prepare, sp_error *err)
{
	sequence_state *s;
	const sp_attr *missing;

	SP_TRY(new_state(prepare, SEQUENCE_V1, &s, err));
	SP_TRY(read_keys(prepare, "context_sparse_keys", s->context.sparse_count,
			 &s->context.sparse_keys, err));
	SP_TRY(read_keys(prepare, "context_dense_keys", s->context.dense_count,
			 &s->context.dense_keys, err));
	SP_TRY(read_keys(prepare, "feature_list_sparse_keys", s->sparse_count, &s->sparse_keys,
			 err));
	SP_TRY(read_keys(prepare, "feature_list_dense_keys", s->dense_count, &s->dense_keys, err));
	SP_TRY(finish(prepare, s, 2, err));
	SP_TRY(sp_node_attr_list(prepare->node, "feature_list_dense_missing_assumed_empty",
				 SP_ATTR_BYTES, &missing, err));
	allow_missing(s, missing);
	return SP_OK;
}

static sp_status prepare_v2(sp_prepare *prepare, sp_error *err)
{
	sequence_state *s;

	SP_TRY(new_state(prepare, SEQUENCE_V2, &s, err));
	return finish(prepare, s, 9, err);
}

static sp_status prepare_single(sp_prepare *prepare, sp_error *err)
{
	sequence_state *s;

	SP_TRY(new_state(prepare, SEQUENCE_SINGLE, &s, err));
	s->context.one_name_each = true;
	s->context.trailing_inputs = 1;
	SP_TRY(finish(prepare, s,
		      2 + s->context.sparse_count + s->context.dense_count + s->sparse_count +
			      s->dense_count,
		      err));
	return sp_prepare_input_dtype(prepare, prepare->in_count - 1, SP_STRING, err);
}

/* ----------------------------------------------------------------- the lists */

/* The FeatureList of a column in one example. */
typedef struct list_cell {
	sp_bytes list;
	size_t steps, values; /* of the whole list */
	size_t longest;       /* the most values in a step */
	bool is_found;
} list_cell;

typedef struct sequences {
	const sp_call *call;
	const sequence_state *state;
	bool is_single;
	size_t size;
	sp_bytes *keys;   /* [column_count] */
	list_cell *cells; /* [column_count, size] */
} sequences;

static sp_status refuse(const sequences *q, size_t example, size_t column, const char *what)
{
	sp_bytes key = q->keys[column];

	return sp_call_invalid(q->call, "example %zu: feature list '%.*s' %s", example,
			       (int)(key.size > 100 ? 100 : key.size), key.data, what);
}

static sp_status keys_from_input(const sp_call *call, size_t input, size_t count, sp_bytes *to)
{
	SP_TRY(sp_array__need_rank(call, input, 1));
	if (call->in[input]->count != count)
		return sp_call_invalid(call, "input %zu has %zu keys for %zu features", input,
				       call->in[input]->count, count);
	if (count != 0)
		memcpy(to, call->in[input]->data, count * sizeof(*to));
	return SP_OK;
}

static sp_status keys_from_scalars(const sp_call *call, size_t first, size_t count, sp_bytes *to)
{
	for (size_t i = 0; i < count; i++) {
		if (!sp_tensor_is_scalar(call->in[first + i]))
			return sp_call_invalid(call, "input %zu must be one key", first + i);
		to[i] = *sp_tensor_strings(call->in[first + i]);
	}
	return SP_OK;
}

static sp_status collect_keys(const sequences *q)
{
	const sequence_state *s = q->state;
	sp_bytes *dense = q->keys + s->sparse_count;

	if (s->kind == SEQUENCE_SINGLE) {
		SP_TRY(keys_from_scalars(q->call, 2 + s->context.column_count, s->column_count,
					 q->keys));
	} else if (s->kind == SEQUENCE_V2) {
		SP_TRY(keys_from_input(q->call, 5, s->sparse_count, q->keys));
		SP_TRY(keys_from_input(q->call, 6, s->dense_count, dense));
		SP_TRY(keys_from_input(q->call, 7, s->ragged_count, dense + s->dense_count));
	} else {
		for (size_t i = 0; i < s->sparse_count; i++)
			q->keys[i] = s->sparse_keys->bytes_list[i];
		for (size_t i = 0; i < s->dense_count; i++)
			dense[i] = s->dense_keys->bytes_list[i];
	}
	for (size_t i = 0; i < s->column_count; i++)
		for (size_t k = 0; k < i; k++)
			if (sp_bytes_equal(q->keys[i], q->keys[k]))
				return sp_call_invalid(q->call,
						       "feature list '%.*s' is asked for twice",
						       (int)q->keys[i].size, q->keys[i].data);
	return SP_OK;
}

/* Reads the list of the next step and its length; *more is false at the end. */
static sp_status next_step(const sequences *q, size_t example, size_t column, sp_bytes *rest,
			   bool *more, sp_bytes *list, size_t *count)
{
	sp_dtype wanted = q->state->columns[column].dtype, dtype;
	sp_example_result result;
	sp_bytes feature;

	result = sp_feature_list_next(rest, &feature);
	*more = result == SP_EXAMPLE_ENTRY;
	*count = 0;
	*list = (sp_bytes){"", 0};
	if (result == SP_EXAMPLE_MALFORMED)
		return refuse(q, example, column, "is malformed");
	if (!*more || feature.size == 0)
		return SP_OK;
	if (!sp_example_feature(feature, &dtype, list))
		return refuse(q, example, column, "has a step that is not a list");
	if (dtype != wanted)
		return refuse(q, example, column, "is of another type");
	if (!sp_example_list_count(*list, wanted, count))
		return refuse(q, example, column, "has a malformed step");
	return SP_OK;
}

static sp_status measure(const sequences *q, size_t example, size_t column, list_cell *cell)
{
	const sequence_state *s = q->state;
	bool is_dense = column >= s->sparse_count && column < s->sparse_count + s->dense_count;
	sp_bytes rest = cell->list, list;
	size_t count;
	bool more;

	for (;;) {
		SP_TRY(next_step(q, example, column, &rest, &more, &list, &count));
		if (!more)
			return SP_OK;
		if (is_dense && count != s->columns[column].count)
			return refuse(q, example, column, "has a step of another size");
		cell->steps++;
		cell->values += count;
		cell->longest = count > cell->longest ? count : cell->longest;
	}
}

static sp_status find_lists(const sequences *q, size_t example)
{
	sp_example_reader reader = sp_sequence_open(sp_tensor_strings(q->call->in[0])[example]);
	sp_example_result result;
	sp_bytes name, list;

	while ((result = sp_example_next(&reader, &name, &list)) == SP_EXAMPLE_ENTRY)
		for (size_t c = 0; c < q->state->column_count; c++) {
			list_cell *cell = &q->cells[c * q->size + example];

			if (!sp_bytes_equal(q->keys[c], name))
				continue;
			if (cell->is_found)
				return refuse(q, example, c, "is there twice");
			*cell = (list_cell){.list = list, .is_found = true};
			SP_TRY(measure(q, example, c, cell));
		}
	if (result == SP_EXAMPLE_MALFORMED)
		return sp_call_invalid(q->call, "example %zu is not a serialized SequenceExample",
				       example);
	return SP_OK;
}

/* ------------------------------------------------------------------ the outputs */

static size_t longest_of(const sequences *q, size_t column, size_t offset)
{
	size_t longest = 0;

	for (size_t e = 0; e < q->size; e++) {
		size_t n = *(const size_t *)((const char *)&q->cells[column * q->size + e] +
					     offset);

		longest = n > longest ? n : longest;
	}
	return longest;
}

/* Writes the values of all steps of an example to *to, and advances it. */
static sp_status read_values(const sequences *q, size_t example, size_t column, char **to)
{
	sp_dtype dtype = q->state->columns[column].dtype;
	sp_bytes rest = q->cells[column * q->size + example].list, list;
	size_t count;
	bool more;

	for (;;) {
		SP_TRY(next_step(q, example, column, &rest, &more, &list, &count));
		if (!more)
			return SP_OK;
		sp_example_list_read(list, dtype, *to);
		*to += count * sp_dtype_size(dtype);
	}
}

static sp_status write_values(const sequences *q, size_t column, size_t output)
{
	size_t total = 0;
	sp_shape shape;
	char *to;

	for (size_t e = 0; e < q->size; e++)
		total += q->cells[column * q->size + e].values;
	shape = sp_shape_vector((int64_t)total);
	SP_TRY(sp_call_output(q->call, output, q->state->columns[column].dtype, &shape));
	to = q->call->out[output]->data;
	for (size_t e = 0; e < q->size; e++)
		SP_TRY(read_values(q, e, column, &to));
	return SP_OK;
}

static sp_status write_indices(const sequences *q, size_t column, size_t output, size_t values)
{
	int64_t columns = q->is_single ? 2 : 3, *at;
	sp_shape shape = sp_shape_matrix((int64_t)q->call->out[values]->count, columns);
	sp_bytes rest, list;
	size_t count;
	bool more;

	SP_TRY(sp_call_output(q->call, output, SP_INT64, &shape));
	at = q->call->out[output]->data;
	for (size_t e = 0; e < q->size; e++) {
		rest = q->cells[column * q->size + e].list;
		for (int64_t step = 0;; step++) {
			SP_TRY(next_step(q, e, column, &rest, &more, &list, &count));
			if (!more)
				break;
			for (size_t k = 0; k < count; k++) {
				if (!q->is_single)
					*at++ = (int64_t)e;
				*at++ = step;
				*at++ = (int64_t)k;
			}
		}
	}
	return SP_OK;
}

static sp_status write_sparse(const sequences *q, size_t i)
{
	size_t n = q->state->sparse_count, first = q->state->first_output;
	sp_shape shape = sp_shape_vector(q->is_single ? 2 : 3);
	int64_t *at;

	SP_TRY(write_values(q, i, first + n + i));
	SP_TRY(write_indices(q, i, first + i, first + n + i));
	SP_TRY(sp_call_output(q->call, first + 2 * n + i, SP_INT64, &shape));
	at = q->call->out[first + 2 * n + i]->data;
	if (!q->is_single)
		*at++ = (int64_t)q->size;
	at[0] = (int64_t)longest_of(q, i, offsetof(list_cell, steps));
	at[1] = (int64_t)longest_of(q, i, offsetof(list_cell, longest));
	return SP_OK;
}

static sp_status write_lengths(const sequences *q, size_t column, size_t output)
{
	sp_shape shape = q->is_single ? sp_shape_scalar() : sp_shape_vector((int64_t)q->size);

	SP_TRY(sp_call_output(q->call, output, SP_INT64, &shape));
	for (size_t e = 0; e < q->size; e++)
		sp_tensor_i64(
			q->call->out[output])[e] = (int64_t)q->cells[column * q->size + e].steps;
	return SP_OK;
}

static bool may_be_missing(const sequences *q, size_t i)
{
	const sequence_state *s = q->state;
	const sp_tensor *names = q->call->in[1];

	if (s->kind == SEQUENCE_V2)
		return sp_tensor_bool(q->call->in[8])[i];
	if (s->kind == SEQUENCE_V1)
		return s->columns[s->sparse_count + i].may_be_missing;
	for (size_t k = 0; k < names->count; k++)
		if (sp_bytes_equal(sp_tensor_strings(names)[k], q->keys[s->sparse_count + i]))
			return true;
	return false;
}

static sp_status write_dense(const sequences *q, size_t i)
{
	const sequence_state *s = q->state;
	size_t column = s->sparse_count + i, output = s->first_output + 3 * s->sparse_count + i;
	const list_column *c = &s->columns[column];
	size_t longest = longest_of(q, column, offsetof(list_cell, steps)), size;
	sp_shape shape = {.rank = 0};
	char *line, *to;

	for (size_t e = 0; e < q->size; e++)
		if (!q->cells[column * q->size + e].is_found && !may_be_missing(q, i))
			return refuse(q, e, column, "is required but not there");
	if (!q->is_single)
		shape.dims[shape.rank++] = (int64_t)q->size;
	shape.dims[shape.rank++] = (int64_t)longest;
	for (int d = 0; d < c->shape.rank; d++)
		shape.dims[shape.rank++] = c->shape.dims[d];
	SP_TRY(sp_call_output(q->call, output, c->dtype, &shape));
	size = longest * c->count * sp_dtype_size(c->dtype);
	line = q->call->out[output]->data;
	if (q->call->out[output]->count != 0)
		memset(line, 0, q->size * size);
	for (size_t e = 0; e < q->size; e++, line += size) {
		to = line;
		SP_TRY(read_values(q, e, column, &to));
	}
	return s->kind == SEQUENCE_SINGLE ? SP_OK
					  : write_lengths(q, column, output + s->dense_count);
}

static sp_status put_split(const sequences *q, size_t output, size_t i, size_t value)
{
	if (q->call->out[output]->dtype == SP_INT32 && value > INT32_MAX)
		return sp_call_invalid(q->call, "%zu values do not fit int32 splits", value);
	sp_array__put_index(q->call->out[output], i, (int64_t)value);
	return SP_OK;
}

/* For a single example the output is a scalar, which TensorFlow leaves unspecified. */
static sp_status write_outer(const sequences *q, size_t column, size_t output, size_t *steps)
{
	sp_shape shape = q->is_single ? sp_shape_scalar() : sp_shape_vector((int64_t)q->size + 1);

	SP_TRY(sp_call_output(q->call, output, q->state->columns[column].split_dtype, &shape));
	SP_TRY(put_split(q, output, 0, 0));
	*steps = 0;
	for (size_t e = 0; e < q->size; e++) {
		*steps += q->cells[column * q->size + e].steps;
		if (!q->is_single)
			SP_TRY(put_split(q, output, e + 1, *steps));
	}
	return SP_OK;
}

static sp_status write_ragged(const sequences *q, size_t i)
{
	const sequence_state *s = q->state;
	size_t column = s->sparse_count + s->dense_count + i, steps, at = 0, sum = 0, count;
	size_t output = s->first_output + 3 * s->sparse_count + 2 * s->dense_count + i;
	size_t inner = output + 2 * s->ragged_count;
	sp_bytes rest, list;
	sp_shape shape;
	bool more;

	SP_TRY(write_values(q, column, output));
	SP_TRY(write_outer(q, column, output + s->ragged_count, &steps));
	shape = sp_shape_vector((int64_t)steps + 1);
	SP_TRY(sp_call_output(q->call, inner, s->columns[column].split_dtype, &shape));
	SP_TRY(put_split(q, inner, at++, 0));
	for (size_t e = 0; e < q->size; e++) {
		rest = q->cells[column * q->size + e].list;
		for (;;) {
			SP_TRY(next_step(q, e, column, &rest, &more, &list, &count));
			if (!more)
				break;
			sum += count;
			SP_TRY(put_split(q, inner, at++, sum));
		}
	}
	return SP_OK;
}

static sp_status write_lists(const sequences *q)
{
	for (size_t i = 0; i < q->state->sparse_count; i++)
		SP_TRY(write_sparse(q, i));
	for (size_t i = 0; i < q->state->dense_count; i++)
		SP_TRY(write_dense(q, i));
	for (size_t i = 0; i < q->state->ragged_count; i++)
		SP_TRY(write_ragged(q, i));
	return SP_OK;
}

static sp_status run_lists(const sp_call *call, bool is_single)
{
	sequences q = {.call = call,
		       .state = call->state,
		       .is_single = is_single,
		       .size = call->in[0]->count};
	size_t count;

	if (q.state->kind == SEQUENCE_V2 && call->in[8]->count != q.state->dense_count)
		return sp_call_invalid(call, "input 8 has %zu flags for %zu features",
				       call->in[8]->count, q.state->dense_count);
	if (!sp_size_mul(&count, q.state->column_count, q.size))
		return sp_call_no_memory(call);
	q.keys = sp_call_bytes(call, q.state->column_count, sizeof(*q.keys));
	q.cells = sp_call_bytes(call, count, sizeof(*q.cells));
	if (q.keys == NULL || q.cells == NULL)
		return sp_call_no_memory(call);
	if (count != 0)
		memset(q.cells, 0, count * sizeof(*q.cells));
	SP_TRY(collect_keys(&q));
	for (size_t e = 0; e < q.size; e++)
		SP_TRY(find_lists(&q, e));
	return write_lists(&q);
}

static sp_status run_sequence(const sp_call *call)
{
	sp_example_batch b = {.call = call, .serialized = call->in[0], .names = call->in[1]};

	b.is_single = sp_tensor_is_scalar(b.serialized);
	if (!b.is_single && b.serialized->shape.rank != 1)
		return sp_call_invalid(call, "the examples must be a vector, not of rank %d",
				       b.serialized->shape.rank);
	if (b.names->count > 0 && !sp_shape_equal(&b.names->shape, &b.serialized->shape))
		return sp_call_invalid(call, "%zu names for %zu examples", b.names->count,
				       b.serialized->count);
	SP_TRY(sp_example_batch_parse(&b));
	return run_lists(call, b.is_single);
}

static sp_status run_single(const sp_call *call)
{
	sp_example_batch b = {.call = call,
			      .serialized = call->in[0],
			      .names = call->in[call->in_count - 1],
			      .is_single = true};

	if (!sp_tensor_is_scalar(b.serialized) ||
	    (b.names->count > 0 && !sp_tensor_is_scalar(b.names)))
		return sp_call_invalid(call,
				       "the example and its name must be scalars, not of rank %d "
				       "and %d",
				       b.serialized->shape.rank, b.names->shape.rank);
	SP_TRY(sp_array__need_rank(call, 1, 1));
	SP_TRY(sp_example_batch_parse(&b));
	return run_lists(call, true);
}

#define CONTEXT                                                                              \
	"context_sparse_indices:Ncontext_sparse context_sparse_values:context_sparse_types " \
	"context_sparse_shapes:Ncontext_sparse context_dense_values:Tcontext_dense "
#define LISTS                                                   \
	"feature_list_sparse_indices:Nfeature_list_sparse "     \
	"feature_list_sparse_values:feature_list_sparse_types " \
	"feature_list_sparse_shapes:Nfeature_list_sparse "      \
	"feature_list_dense_values:feature_list_dense_types"
#define LENGTHS " feature_list_dense_lengths:Nfeature_list_dense"

SP_DEFINE_OP(ParseSequenceExample, CONTEXT LISTS LENGTHS, 0, prepare_v1, run_sequence);
SP_DEFINE_OP(ParseSequenceExampleV2,
	     CONTEXT "context_ragged_values:context_ragged_value_types "
		     "context_ragged_row_splits:context_ragged_split_types " LISTS LENGTHS
		     " feature_list_ragged_values:feature_list_ragged_value_types "
		     "feature_list_ragged_outer_splits:feature_list_ragged_split_types "
		     "feature_list_ragged_inner_splits:feature_list_ragged_split_types",
	     0, prepare_v2, run_sequence);
SP_DEFINE_OP(ParseSingleSequenceExample, CONTEXT LISTS, 0, prepare_single, run_single);
