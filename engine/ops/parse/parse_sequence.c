#include <stddef.h>
#include <string.h>

#include "base/size.h"
#include "engine/kernels/example_reader.h"
#include "engine/ops/array/array.h"
#include "engine/ops/parse/parse_example_internal.h"
#include "engine/ops/ragged/ragged.h"

/*
 * ParseSequenceExample and V2: a batch of serialized tf.SequenceExample, or a single one, into
 * tensors.  The context is parsed like a tf.Example (parse_example.c); a feature list has a Feature
 * per step:
 *
 *   dense    [batch, steps, shape...], shorter ones zero-padded, and the number of
 *            steps of each; every step has as many values as the shape requires
 *   sparse   indices [n, 3] (example, step, place), values, [batch, steps, longest]
 *   ragged   values, the splits of examples into steps and of steps into values
 *
 * For a single example (a scalar) there is no batch dimension.  A missing dense list is an error
 * unless it may be missing; then it has no steps.
 */
typedef struct sequence_state {
	sp_example_columns context; /* first: sp_example_batch_parse() reads it */
	sp_example_columns lists;   /* the shape of a dense one is that of a step */
	bool *may_be_missing;       /* [lists.dense_count]; NULL: V2, input FLAGS says it */
	size_t first_output;        /* of the lists */
} sequence_state;

/* Inputs of V2; those of the first version end before CONTEXT_KEYS. */
enum { CONTEXT_KEYS = 2, LIST_KEYS = 5, FLAGS = 8, DEFAULTS = 9 };

/* ------------------------------------------------------------------- prepare */

static sp_status state_outputs(sp_prepare *prepare, sequence_state *s, sp_error *err)
{
	const sp_example_columns *c = &s->context, *l = &s->lists;
	const sp_example_column *column = l->columns;
	sp_dtype *to;

	s->first_output = 3 * c->sparse_count + c->dense_count + 2 * c->ragged_count;
	SP_TRY(sp_prepare_outputs(prepare,
				  s->first_output + 3 * l->sparse_count + 2 * l->dense_count +
					  3 * l->ragged_count,
				  SP_INT64, err));
	to = sp_example_columns__outputs(c, prepare->out_dtypes) + l->sparse_count;
	for (size_t i = 0; i < l->sparse_count; i++)
		*to++ = column++->dtype;
	to += l->sparse_count;
	for (size_t i = 0; i < l->dense_count; i++)
		*to++ = column++->dtype;
	to += l->dense_count;
	for (size_t i = 0; i < l->ragged_count; i++) {
		to[i] = column[i].dtype;
		to[l->ragged_count + i] = column[i].split_dtype;
		to[2 * l->ragged_count + i] = column[i].split_dtype;
	}
	return SP_OK;
}

static sp_status new_state(sp_prepare *prepare, sequence_state **out, sp_error *err)
{
	sequence_state *s = *out = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "a parser");
	s->context.first_key = CONTEXT_KEYS;
	s->lists.first_key = LIST_KEYS;
	SP_TRY(sp_example_columns__count(prepare, "Ncontext_sparse", &s->context.sparse_count,
					 err));
	SP_TRY(sp_example_columns__list_length(prepare, "Tcontext_dense", &s->context.dense_count,
					       err));
	SP_TRY(sp_example_columns__count(prepare, "Nfeature_list_sparse", &s->lists.sparse_count,
					 err));
	return sp_example_columns__count(prepare, "Nfeature_list_dense", &s->lists.dense_count,
					 err);
}

/* `inputs` come before the defaults. */
static sp_status finish(sp_prepare *prepare, sequence_state *s, size_t inputs, sp_error *err)
{
	static const sp_example_attrs of_context = {
		"context_sparse_types", "Tcontext_dense", "context_dense_shapes",
		"context_ragged_value_types", "context_ragged_split_types"};
	static const sp_example_attrs of_lists = {
		"feature_list_sparse_types", "feature_list_dense_types",
		"feature_list_dense_shapes", "feature_list_ragged_value_types",
		"feature_list_ragged_split_types"};

	SP_TRY(sp_prepare_inputs(prepare, inputs + s->context.dense_count, err));
	for (size_t i = 0; i < inputs; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, i == FLAGS ? SP_BOOL : SP_STRING, err));
	SP_TRY(sp_example_columns__take(prepare, &s->context, &of_context, err));
	SP_TRY(sp_example_columns__take_defaults(prepare, &s->context, err));
	SP_TRY(sp_example_columns__take(prepare, &s->lists, &of_lists, err));
	for (size_t i = 0; i < s->context.column_count; i++)
		if (s->context.columns[i].is_variable)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "a dense context feature of variable shape");
	for (size_t i = 0; i < s->lists.column_count; i++) {
		const sp_example_column *c = &s->lists.columns[i];

		if (c->is_variable || c->shape.rank + 2 > SP_MAX_RANK)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "a step of variable shape, or of rank %d",
					    c->shape.rank);
	}
	return state_outputs(prepare, s, err);
}

static sp_status prepare_v1(sp_prepare *prepare, sp_error *err)
{
	sequence_state *s;
	const sp_attr *missing;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_example_columns__take_keys(prepare, &s->context, "context_sparse_keys",
					     "context_dense_keys", err));
	SP_TRY(sp_example_columns__take_keys(prepare, &s->lists, "feature_list_sparse_keys",
					     "feature_list_dense_keys", err));
	SP_TRY(sp_node_attr_list(prepare->node, "feature_list_dense_missing_assumed_empty",
				 SP_ATTR_BYTES, &missing, err));
	s->may_be_missing = sp_arena_zeros(prepare->arena, s->lists.dense_count + 1,
					   sizeof(*s->may_be_missing));
	SP_NEED_MEMORY(s->may_be_missing, err, "a parser");
	for (size_t i = 0; i < s->lists.dense_count; i++)
		for (size_t k = 0; k < missing->count; k++)
			s->may_be_missing[i] |= sp_bytes_equal(s->lists.dense_keys->bytes_list[i],
							       missing->bytes_list[k]);
	return finish(prepare, s, CONTEXT_KEYS, err);
}

static sp_status prepare_v2(sp_prepare *prepare, sp_error *err)
{
	sequence_state *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_example_columns__list_length(prepare, "context_ragged_value_types",
					       &s->context.ragged_count, err));
	SP_TRY(sp_example_columns__list_length(prepare, "feature_list_ragged_value_types",
					       &s->lists.ragged_count, err));
	return finish(prepare, s, DEFAULTS, err);
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
	const sp_example_columns *lists; /* of the state */
	bool is_single;
	size_t size;
	sp_example_keys keys;
	list_cell *cells; /* [column_count, size] */
} sequences;

static sp_status refuse(const sequences *q, size_t example, size_t column, const char *what)
{
	sp_bytes key = q->keys.keys[column];

	return sp_call_invalid(q->call, "example %zu: feature list '%.*s' %s", example,
			       (int)(key.size > 100 ? 100 : key.size), key.data, what);
}

/* Reads the list of the next step and its length; *more is false at the end. */
static sp_status next_step(const sequences *q, size_t example, size_t column, sp_bytes *rest,
			   bool *more, sp_bytes *list, size_t *count)
{
	sp_dtype wanted = q->lists->columns[column].dtype, dtype;
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
	const sp_example_column *c = &q->lists->columns[column];
	sp_bytes rest = cell->list, list;
	size_t count;
	bool more;

	for (;;) {
		SP_TRY(next_step(q, example, column, &rest, &more, &list, &count));
		if (!more)
			return SP_OK;
		if (c->kind == SP_EXAMPLE_DENSE && count != c->count)
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

	while ((result = sp_example_next(&reader, &name, &list)) == SP_EXAMPLE_ENTRY) {
		uint32_t slot = *sp_example_keys__find(&q->keys, name);
		list_cell *cell;

		if (slot == 0)
			continue;
		cell = &q->cells[(slot - 1) * q->size + example];
		if (cell->is_found)
			return refuse(q, example, slot - 1, "is there twice");
		*cell = (list_cell){.list = list, .is_found = true};
		SP_TRY(measure(q, example, slot - 1, cell));
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
	sp_dtype dtype = q->lists->columns[column].dtype;
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
	char *to;

	for (size_t e = 0; e < q->size; e++)
		total += q->cells[column * q->size + e].values;
	SP_TRY(sp_call_output_vector(q->call, output, q->lists->columns[column].dtype,
				     (int64_t)total));
	to = q->call->out[output]->data;
	for (size_t e = 0; e < q->size; e++)
		SP_TRY(read_values(q, e, column, &to));
	return SP_OK;
}

static sp_status write_indices(const sequences *q, size_t column, size_t output, size_t values)
{
	int64_t columns = q->is_single ? 2 : 3, *at;
	sp_bytes rest, list;
	size_t count;
	bool more;

	SP_TRY(sp_call_output_matrix(q->call, output, SP_INT64,
				     (int64_t)q->call->out[values]->count, columns));
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
	size_t n = q->lists->sparse_count, first = q->state->first_output;
	int64_t *at;

	SP_TRY(write_values(q, i, first + n + i));
	SP_TRY(write_indices(q, i, first + i, first + n + i));
	SP_TRY(sp_call_output_vector(q->call, first + 2 * n + i, SP_INT64, q->is_single ? 2 : 3));
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
	const bool *flags = q->state->may_be_missing;

	return flags != NULL ? flags[i] : sp_tensor_bool(q->call->in[FLAGS])[i];
}

static sp_status write_dense(const sequences *q, size_t i)
{
	const sp_example_columns *l = q->lists;
	size_t column = l->sparse_count + i;
	size_t output = q->state->first_output + 3 * l->sparse_count + i;
	const sp_example_column *c = &l->columns[column];
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
	return write_lengths(q, column, output + l->dense_count);
}

/*
 * The splits of examples into steps, of which there are *steps.  For a single example the output is
 * a scalar, which TensorFlow leaves unspecified.
 */
static sp_status write_outer(const sequences *q, size_t column, size_t output, size_t *steps)
{
	const list_cell *cells = &q->cells[column * q->size];
	sp_dtype dtype = q->lists->columns[column].split_dtype;

	*steps = 0;
	for (size_t e = 0; e < q->size; e++)
		*steps += cells[e].steps;
	if (q->is_single) {
		SP_TRY(sp_call_output_scalar(q->call, output, dtype));
		sp_array__put_index(q->call->out[output], 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_splits__create(q->call, output, dtype, q->size));
	for (size_t e = 0; e < q->size; e++)
		SP_TRY(sp_splits__append(q->call, output, e, (int64_t)cells[e].steps));
	return SP_OK;
}

static sp_status write_ragged(const sequences *q, size_t i)
{
	const sp_example_columns *l = q->lists;
	size_t column = l->sparse_count + l->dense_count + i, steps, at = 0, count;
	size_t output = q->state->first_output + 3 * l->sparse_count + 2 * l->dense_count + i;
	size_t inner = output + 2 * l->ragged_count;
	sp_bytes rest, list;
	bool more;

	SP_TRY(write_values(q, column, output));
	SP_TRY(write_outer(q, column, output + l->ragged_count, &steps));
	SP_TRY(sp_splits__create(q->call, inner, l->columns[column].split_dtype, steps));
	for (size_t e = 0; e < q->size; e++) {
		rest = q->cells[column * q->size + e].list;
		for (;;) {
			SP_TRY(next_step(q, e, column, &rest, &more, &list, &count));
			if (!more)
				break;
			SP_TRY(sp_splits__append(q->call, inner, at++, (int64_t)count));
		}
	}
	return SP_OK;
}

static sp_status write_lists(const sequences *q)
{
	for (size_t i = 0; i < q->lists->sparse_count; i++)
		SP_TRY(write_sparse(q, i));
	for (size_t i = 0; i < q->lists->dense_count; i++)
		SP_TRY(write_dense(q, i));
	for (size_t i = 0; i < q->lists->ragged_count; i++)
		SP_TRY(write_ragged(q, i));
	return SP_OK;
}

static sp_status run_sequence(const sp_call *call)
{
	const sequence_state *s = call->state;
	sequences q = {.call = call,
		       .state = s,
		       .lists = &s->lists,
		       .is_single = sp_tensor_is_scalar(call->in[0]),
		       .size = call->in[0]->count};
	size_t count;

	SP_TRY(sp_example_batch_parse(call, call->in[1]));
	if (s->may_be_missing == NULL && call->in[FLAGS]->count != s->lists.dense_count)
		return sp_call_invalid(call, "input %d has %zu flags for %zu features", FLAGS,
				       call->in[FLAGS]->count, s->lists.dense_count);
	if (!sp_size_mul(&count, s->lists.column_count, q.size))
		return sp_call_no_memory(call);
	SP_CALL_ARRAY(q.cells, call, count);
	if (count != 0)
		memset(q.cells, 0, count * sizeof(*q.cells));
	SP_TRY(sp_example_keys__read(call, q.lists, &q.keys));
	for (size_t e = 0; e < q.size; e++)
		SP_TRY(find_lists(&q, e));
	return write_lists(&q);
}

#define CONTEXT                                                                              \
	"context_sparse_indices:Ncontext_sparse context_sparse_values:context_sparse_types " \
	"context_sparse_shapes:Ncontext_sparse context_dense_values:Tcontext_dense "
#define LISTS                                                   \
	"feature_list_sparse_indices:Nfeature_list_sparse "     \
	"feature_list_sparse_values:feature_list_sparse_types " \
	"feature_list_sparse_shapes:Nfeature_list_sparse "      \
	"feature_list_dense_values:feature_list_dense_types "   \
	"feature_list_dense_lengths:Nfeature_list_dense"

SP_DEFINE_OP(ParseSequenceExample, CONTEXT LISTS, 0, prepare_v1, run_sequence);
SP_DEFINE_OP(ParseSequenceExampleV2,
	     CONTEXT "context_ragged_values:context_ragged_value_types "
		     "context_ragged_row_splits:context_ragged_split_types " LISTS
		     " feature_list_ragged_values:feature_list_ragged_value_types "
		     "feature_list_ragged_outer_splits:feature_list_ragged_split_types "
		     "feature_list_ragged_inner_splits:feature_list_ragged_split_types",
	     0, prepare_v2, run_sequence);
