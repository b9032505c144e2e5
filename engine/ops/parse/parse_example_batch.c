#include "engine/ops/parse/parse_example_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "engine/kernels/example_reader.h"

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

/* --------------------------------------------------------------- the names */

/* A hash table from names to columns: open addressing, at least half of the slots are free. */
typedef struct names {
	const sp_bytes *names; /* [column_count] */
	uint32_t *slots;       /* column + 1; 0 is free */
	size_t mask;
	const uint64_t *key;
} names;

static uint32_t *find_slot(const names *n, sp_bytes name)
{
	size_t i = sp_siphash13(n->key, name.data, name.size) & n->mask;

	while (n->slots[i] != 0 && !sp_bytes_equal(n->names[n->slots[i] - 1], name))
		i = (i + 1) & n->mask;
	return &n->slots[i];
}

static sp_status index_names(const sp_call *call, const sp_bytes *all, names *out)
{
	const sp_example_columns *s = call->state;
	size_t slot_count = 2;

	while (slot_count < 2 * s->column_count)
		slot_count *= 2;
	*out = (names){.names = all, .mask = slot_count - 1, .key = sp_hash_process_key()};
	out->slots = sp_call_bytes(call, slot_count, sizeof(*out->slots));
	if (out->slots == NULL)
		return sp_call_no_memory(call);
	memset(out->slots, 0, slot_count * sizeof(*out->slots));
	for (size_t i = 0; i < s->column_count; i++) {
		uint32_t *slot = find_slot(out, all[i]);

		if (*slot != 0)
			return sp_call_invalid(call, "feature '%.*s' is asked for twice",
					       (int)all[i].size, all[i].data);
		*slot = (uint32_t)i + 1;
	}
	return SP_OK;
}

static sp_status names_from_vector(const sp_call *call, size_t input, size_t count, sp_bytes **to)
{
	const sp_tensor *in = call->in[input];

	if (in->shape.rank != 1 || in->count != count)
		return sp_call_invalid(call, "input %zu must be a vector of %zu keys", input,
				       count);
	if (count > 0)
		memcpy(*to, in->data, count * sizeof(**to));
	*to += count;
	return SP_OK;
}

static sp_status collect_names(const sp_call *call, sp_bytes *to)
{
	const sp_example_columns *s = call->state;

	if (s->sparse_keys != NULL) {
		for (size_t i = 0; i < s->sparse_count; i++)
			*to++ = s->sparse_keys->bytes_list[i];
		for (size_t i = 0; i < s->dense_count; i++)
			*to++ = s->dense_keys->bytes_list[i];
		return SP_OK;
	}
	if (!s->one_name_each) {
		SP_TRY(names_from_vector(call, 2, s->sparse_count, &to));
		SP_TRY(names_from_vector(call, 3, s->dense_count, &to));
		return names_from_vector(call, 4, s->ragged_count, &to);
	}
	for (size_t i = 2; i < 2 + s->column_count; i++) {
		if (!sp_tensor_is_scalar(call->in[i]))
			return sp_call_invalid(call, "input %zu must be one key", i);
		*to++ = sp_tensor_strings(call->in[i])[0];
	}
	return SP_OK;
}

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
	names names;
	cell *cells; /* [column_count, size] */
} batch;

/* Prefixes an error with "example 3 ('its name'): ". */
static sp_status refuse(const batch *b, size_t example, const char *what, size_t index)
{
	sp_bytes name = b->names.names[index], of = {"", 0};

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
		uint32_t slot = *find_slot(&b->names, name);

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
	b->cells = sp_call_bytes(b->call, count, sizeof(*b->cells));
	if (b->cells == NULL)
		return sp_call_no_memory(b->call);
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

static void fill(char *to, const sp_tensor *value, size_t count)
{
	size_t size = sp_dtype_size(value->dtype);

	for (size_t i = 0; i < count; i++)
		memcpy(to + i * size, value->data, size);
}

/* Every example has as many values as the shape requires, or gets the default. */
static sp_status write_fixed(const batch *b, size_t index, size_t output)
{
	const sp_example_column *c = &b->state->columns[index];
	const sp_tensor *fallback = b->call->in[c->default_input];
	const cell *cells = &b->cells[index * b->size];
	sp_shape shape = c->shape;
	char words[96], *to;

	if (!b->is_single) {
		memmove(shape.dims + 1, shape.dims, sizeof(shape.dims) - sizeof(shape.dims[0]));
		shape.dims[0] = (int64_t)b->size;
		shape.rank++;
	}
	SP_TRY(sp_call_output(b->call, output, c->dtype, &shape));
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
	size_t longest = 0;
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
	if (!b->is_single) {
		memmove(shape.dims + 1, shape.dims, sizeof(shape.dims) - sizeof(shape.dims[0]));
		shape.dims[0] = (int64_t)b->size;
		shape.rank++;
	}
	SP_TRY(sp_call_output(b->call, output, c->dtype, &shape));
	to = b->call->out[output]->data;
	for (size_t e = 0; e < b->size; e++) {
		read_cell(&cells[e], c->dtype, to);
		fill(to + cells[e].count * sp_dtype_size(c->dtype), padding,
		     longest - cells[e].count);
		to += longest * sp_dtype_size(c->dtype);
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
	sp_shape shape;
	char *to;

	for (size_t e = 0; e < b->size; e++)
		total += (int64_t)cells[e].count; /* no overflow: each takes memory */
	shape = sp_shape_vector(total);
	SP_TRY(sp_call_output(b->call, output, c->dtype, &shape));
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
	sp_shape shape;

	SP_TRY(write_values(b, i, sparse + i));
	shape = sp_shape_matrix((int64_t)b->call->out[sparse + i]->count, columns);
	SP_TRY(sp_call_output(b->call, i, SP_INT64, &shape));
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
	shape = sp_shape_vector(columns);
	SP_TRY(sp_call_output(b->call, 2 * sparse + i, SP_INT64, &shape));
	at = sp_tensor_i64(b->call->out[2 * sparse + i]);
	at[0] = (int64_t)b->size;
	at[columns - 1] = longest;
	return SP_OK;
}

/* For a single example the splits are empty: all values belong to it. */
static sp_status write_splits(const batch *b, size_t index, size_t output)
{
	const sp_example_column *c = &b->state->columns[index];
	const cell *cells = &b->cells[index * b->size];
	sp_shape shape = sp_shape_vector(b->is_single ? 0 : (int64_t)b->size + 1);
	int64_t sum = 0;

	SP_TRY(sp_call_output(b->call, output, c->split_dtype, &shape));
	for (size_t e = 0; e < b->call->out[output]->count; e++) {
		if (c->split_dtype == SP_INT64)
			sp_tensor_i64(b->call->out[output])[e] = sum;
		else if (sum <= INT32_MAX)
			sp_tensor_i32(b->call->out[output])[e] = (int32_t)sum;
		else
			return refuse(b, e, "has too many values for int32 splits", index);
		if (e < b->size)
			sum += (int64_t)cells[e].count;
	}
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

static sp_status parse(batch *b)
{
	const sp_example_columns *s = b->state;
	sp_bytes *all = sp_call_bytes(b->call, s->column_count, sizeof(*all));

	if (all == NULL)
		return sp_call_no_memory(b->call);
	for (size_t i = 0; i < s->column_count; i++)
		if (s->columns[i].kind == SP_EXAMPLE_DENSE)
			SP_TRY(check_default(b->call, &s->columns[i]));
	SP_TRY(collect_names(b->call, all));
	SP_TRY(index_names(b->call, all, &b->names));
	SP_TRY(fill_grid(b));
	for (size_t i = 0; i < s->sparse_count; i++)
		SP_TRY(write_sparse_one(b, i));
	SP_TRY(write_dense(b));
	return write_ragged(b);
}

sp_status sp_example_batch_parse(const sp_example_batch *batch_of)
{
	batch b = {.call = batch_of->call,
		   .state = batch_of->call->state,
		   .serialized = batch_of->serialized,
		   .example_names = batch_of->names,
		   .is_single = batch_of->is_single,
		   .size = batch_of->serialized->count};

	return parse(&b);
}
