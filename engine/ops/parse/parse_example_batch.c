#include "engine/ops/parse/parse_example_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "engine/kernels/example_reader.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/ragged/ragged.h"

/*
 * Batches of serialized tf.Example into tensors.
 *
 * One walk over the examples finds the list of each requested feature in every example: a grid of
 * views.  A second walk goes feature by feature over the grid and writes the outputs at their final
 * size.
 *
 * If an example has a feature twice, the last one counts.  An empty Feature counts as missing,
 * except for sparse and ragged features of a batch, where it is an empty list.
 */

/* ---------------------------------------------------------------- the grid */

/* The list of one column in one example. */
typedef struct cell {
	sp_bytes list;
	size_t count;
	sp_dtype dtype; /* SP_INVALID_DTYPE for an empty Feature */
	bool is_found;
} cell;

typedef struct batch {
	const sp_call *call;
	const sp_example_columns *state;
	const sp_tensor *serialized;
	const sp_tensor *example_names; /* for errors; NULL or empty: none */
	bool is_single;                 /* outputs have no batch dimension */
	size_t size;
	sp_example_keys keys;
	cell *cells; /* [column_count, size] */
} batch;

/* Prefixes an error with "example 3 ('its name'): ". */
static sp_status refuse(const batch *b, size_t example, const char *what, size_t index)
{
	sp_bytes name = b->keys.keys[index], of = {"", 0};

	if (b->example_names != NULL && b->example_names->count > example)
		of = sp_tensor_strings(b->example_names)[example];
	return sp_call_invalid(b->call, "example %zu%s%.*s%s: feature '%.*s' %s", example,
			       of.size > 0 ? " '" : "", (int)(of.size > 100 ? 100 : of.size),
			       of.data, of.size > 0 ? "'" : "",
			       (int)(name.size > 100 ? 100 : name.size), name.data, what);
}

/* Stores the Feature; it replaces an earlier one with that name. */
static sp_status put_feature(const batch *b, size_t example, size_t index, sp_bytes feature)
{
	cell c = {.is_found = true};

	if (feature.size == 0 &&
	    (b->is_single || b->state->columns[index].kind == SP_EXAMPLE_DENSE))
		return SP_OK;
	if (feature.size > 0 && !sp_example_feature(feature, &c.dtype, &c.list))
		return refuse(b, example, "is not a list of bytes, floats or integers", index);
	b->cells[index * b->size + example] = c;
	return SP_OK;
}

static sp_status find_features(const batch *b, size_t example)
{
	sp_example_reader reader = sp_example_open(sp_tensor_strings(b->serialized)[example]);
	sp_bytes name, feature;
	sp_example_result result;

	while ((result = sp_example_next(&reader, &name, &feature)) == SP_EXAMPLE_ENTRY) {
		uint32_t slot = *sp_example_keys__find(&b->keys, name);

		if (slot != 0)
			SP_TRY(put_feature(b, example, slot - 1, feature));
	}
	if (result == SP_EXAMPLE_MALFORMED)
		return sp_call_invalid(b->call, "example %zu is not a serialized tf.Example",
				       example);
	return SP_OK;
}

/* Checks that the list is of the column's type. */
static sp_status check_list(const batch *b, size_t example, size_t index, cell *c)
{
	sp_dtype wanted = b->state->columns[index].dtype;
	char words[96];

	if (c->dtype == SP_INVALID_DTYPE)
		return SP_OK;
	if (c->dtype != wanted) {
		snprintf(words, sizeof(words), "is of type %s, not %s", sp_dtype_name(c->dtype),
			 sp_dtype_name(wanted));
		return refuse(b, example, words, index);
	}
	if (!sp_example_list_count(c->list, wanted, &c->count))
		return refuse(b, example, "is malformed", index);
	return SP_OK;
}

static sp_status fill_grid(batch *b)
{
	size_t count;

	if (!sp_size_mul(&count, b->state->column_count, b->size))
		return sp_call_no_memory(b->call);
	SP_CALL_ARRAY(b->cells, b->call, count);
	memset(b->cells, 0, count * sizeof(*b->cells));
	for (size_t e = 0; e < b->size; e++) {
		SP_TRY(find_features(b, e));
		for (size_t i = 0; i < b->state->column_count; i++)
			SP_TRY(check_list(b, e, i, &b->cells[i * b->size + e]));
	}
	return SP_OK;
}

/* ------------------------------------------------------------ the outputs */

static char *read_cell(const cell *c, sp_dtype dtype, char *to)
{
	sp_example_list_read(c->list, dtype, to);
	return to + c->count * sp_dtype_size(dtype);
}

/* Output `output` becomes the values of a dense column, of `shape` in each example. */
static sp_status make_dense(const batch *b, size_t output, sp_dtype dtype, sp_shape shape)
{
	if (!b->is_single) {
		memmove(shape.dims + 1, shape.dims, sizeof(shape.dims) - sizeof(shape.dims[0]));
		shape.dims[0] = (int64_t)b->size;
		shape.rank++;
	}
	return sp_call_output(b->call, output, dtype, &shape);
}

/* Every example has as many values as the shape requires, or gets the default. */
static sp_status write_fixed(const batch *b, size_t index, size_t output)
{
	const sp_example_column *c = &b->state->columns[index];
	const sp_tensor *fallback = b->call->in[c->default_input];
	const cell *cells = &b->cells[index * b->size];
	char words[96], *to;

	SP_TRY(make_dense(b, output, c->dtype, c->shape));
	to = b->call->out[output]->data;
	for (size_t e = 0; e < b->size; e++) {
		if (!cells[e].is_found && fallback->count == 0)
			return refuse(b, e, "is required but not there", index);
		if (cells[e].is_found && cells[e].count != c->count) {
			snprintf(words, sizeof(words), "has %zu values, not %zu", cells[e].count,
				 c->count);
			return refuse(b, e, words, index);
		}
		if (cells[e].is_found)
			read_cell(&cells[e], c->dtype, to);
		else
			memcpy(to, fallback->data, c->count * sp_dtype_size(c->dtype));
		to += c->count * sp_dtype_size(c->dtype);
	}
	return SP_OK;
}

/* The longest example sets the length; shorter ones are padded with the default. */
static sp_status write_variable(const batch *b, size_t index, size_t output)
{
	const sp_example_column *c = &b->state->columns[index];
	const sp_tensor *padding = b->call->in[c->default_input];
	const cell *cells = &b->cells[index * b->size];
	size_t longest = 0, size = sp_dtype_size(c->dtype);
	sp_shape shape = c->shape;
	char *to;

	for (size_t e = 0; e < b->size; e++) {
		if (cells[e].count % c->count != 0)
			return refuse(b, e, "has a number of values that is no multiple of a step",
				      index);
		if (cells[e].count > longest)
			longest = cells[e].count;
	}
	shape.dims[0] = (int64_t)(longest / c->count);
	SP_TRY(make_dense(b, output, c->dtype, shape));
	to = b->call->out[output]->data;
	for (size_t e = 0; e < b->size; e++) {
		read_cell(&cells[e], c->dtype, to);
		sp_elements__fill(to + cells[e].count * size, longest - cells[e].count,
				  padding->data, size);
		to += longest * size;
	}
	return SP_OK;
}

static sp_status check_default(const sp_call *call, const sp_example_column *c)
{
	const sp_tensor *value = call->in[c->default_input];
	char have[SP_SHAPE_TEXT_SIZE], want[SP_SHAPE_TEXT_SIZE];

	if (c->is_variable && value->count != 1)
		return sp_call_invalid(call, "input %zu must be one element to pad with, not %zu",
				       c->default_input, value->count);
	if (!c->is_variable && value->count > 0 && !sp_shape_equal(&value->shape, &c->shape))
		return sp_call_invalid(call, "input %zu is a default of shape %s, not %s",
				       c->default_input, sp_shape_text(&value->shape, have),
				       sp_shape_text(&c->shape, want));
	return SP_OK;
}

static sp_status write_dense(const batch *b)
{
	size_t output = 3 * b->state->sparse_count;

	for (size_t i = 0; i < b->state->dense_count; i++) {
		size_t index = b->state->sparse_count + i;

		if (b->state->columns[index].is_variable)
			SP_TRY(write_variable(b, index, output + i));
		else
			SP_TRY(write_fixed(b, index, output + i));
	}
	return SP_OK;
}

/* Concatenates the values of all examples. */
static sp_status write_values(const batch *b, size_t index, size_t output)
{
	const sp_example_column *c = &b->state->columns[index];
	const cell *cells = &b->cells[index * b->size];
	int64_t total = 0;
	char *to;

	for (size_t e = 0; e < b->size; e++)
		total += (int64_t)cells[e].count; /* no overflow: each takes memory */
	SP_TRY(sp_call_output_vector(b->call, output, c->dtype, total));
	to = b->call->out[output]->data;
	for (size_t e = 0; e < b->size; e++)
		to = read_cell(&cells[e], c->dtype, to);
	return SP_OK;
}

static sp_status write_sparse_one(const batch *b, size_t i)
{
	const cell *cells = &b->cells[i * b->size];
	size_t sparse = b->state->sparse_count;
	int columns = b->is_single ? 1 : 2;
	int64_t longest = 0, *at;

	SP_TRY(write_values(b, i, sparse + i));
	SP_TRY(sp_call_output_matrix(b->call, i, SP_INT64, (int64_t)b->call->out[sparse + i]->count,
				     columns));
	at = sp_tensor_i64(b->call->out[i]);
	for (size_t e = 0; e < b->size; e++) {
		for (size_t k = 0; k < cells[e].count; k++) {
			if (!b->is_single)
				*at++ = (int64_t)e;
			*at++ = (int64_t)k;
		}
		if ((int64_t)cells[e].count > longest)
			longest = (int64_t)cells[e].count;
	}
	SP_TRY(sp_call_output_vector(b->call, 2 * sparse + i, SP_INT64, columns));
	at = sp_tensor_i64(b->call->out[2 * sparse + i]);
	at[0] = (int64_t)b->size;
	at[columns - 1] = longest;
	return SP_OK;
}

/* For a single example the splits are empty: all values belong to it. */
static sp_status write_splits(const batch *b, size_t index, size_t output)
{
	sp_dtype dtype = b->state->columns[index].split_dtype;
	const cell *cells = &b->cells[index * b->size];
	sp_shape none = sp_shape_vector(0);

	if (b->is_single)
		return sp_call_output(b->call, output, dtype, &none);
	SP_TRY(sp_splits__create(b->call, output, dtype, b->size));
	for (size_t e = 0; e < b->size; e++)
		SP_TRY(sp_splits__append(b->call, output, e, (int64_t)cells[e].count));
	return SP_OK;
}

static sp_status write_ragged(const batch *b)
{
	const sp_example_columns *s = b->state;
	size_t first = s->column_count - s->ragged_count;
	size_t output = 3 * s->sparse_count + s->dense_count;

	for (size_t i = 0; i < s->ragged_count; i++) {
		SP_TRY(write_values(b, first + i, output + i));
		SP_TRY(write_splits(b, first + i, output + s->ragged_count + i));
	}
	return SP_OK;
}

sp_status sp_example_batch_parse(const sp_call *call, const sp_tensor *names)
{
	const sp_example_columns *s = call->state;
	const sp_tensor *in = call->in[0];
	batch b = {.call = call,
		   .state = s,
		   .serialized = in,
		   .example_names = names,
		   .is_single = sp_tensor_is_scalar(in),
		   .size = in->count};

	if (in->shape.rank > 1)
		return sp_call_invalid(call, "the examples must be a vector, not of rank %d",
				       in->shape.rank);
	if (names != NULL && names->count > 0 && !sp_shape_equal(&names->shape, &in->shape))
		return sp_call_invalid(call, "%zu names for %zu examples", names->count, in->count);
	for (size_t i = 0; i < s->column_count; i++)
		if (s->columns[i].kind == SP_EXAMPLE_DENSE)
			SP_TRY(check_default(call, &s->columns[i]));
	SP_TRY(sp_example_keys__read(call, s, &b.keys));
	SP_TRY(fill_grid(&b));
	for (size_t i = 0; i < s->sparse_count; i++)
		SP_TRY(write_sparse_one(&b, i));
	SP_TRY(write_dense(&b));
	return write_ragged(&b);
}
