#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/string/number.h"
#include "engine/ops/string/text.h"

/*
 * DecodeCSV: records of RFC 4180 to one tensor per column.
 *
 * An empty field, or one that equals na_value, gets the column's default; a column whose default is
 * an empty vector is required.  A quoted field ends with a quote before a delimiter or the end; two
 * quotes in it stand for one.  Line ends before a field are skipped; in an unquoted field they are
 * an error.
 *
 * A record is walked once, and each field is written directly to its column.
 */
typedef struct csv_state {
	char delimiter;
	bool use_quotes;
	sp_bytes na_value;
	const sp_attr *selected; /* columns, in ascending order; empty: all */
} csv_state;

static sp_status check_selected(const sp_attr *selected, size_t columns, sp_error *err)
{
	if (selected->count != 0 && selected->count != columns)
		return sp_error_set(err, SP_INVALID, "select_cols has %zu columns for %zu defaults",
				    selected->count, columns);
	for (size_t i = 0; i < selected->count; i++)
		if (selected->i_list[i] < 0 ||
		    (i > 0 && selected->i_list[i] <= selected->i_list[i - 1]))
			return sp_error_set(err, SP_INVALID,
					    "select_cols must be ascending, from 0 on");
	return SP_OK;
}

static sp_status prepare_csv(sp_prepare *prepare, sp_error *err)
{
	csv_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;
	sp_bytes delimiter;

	SP_NEED_MEMORY(state, err, "an operator");
	if (prepare->in_count < 2)
		return sp_error_set(err, SP_INVALID, "DecodeCSV has no columns");
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_STRING, err));
	SP_TRY(sp_node_attr_bytes(node, "field_delim", ",", &delimiter, err));
	SP_TRY(sp_node_attr_bool(node, "use_quote_delim", true, &state->use_quotes, err));
	SP_TRY(sp_node_attr_bytes(node, "na_value", "", &state->na_value, err));
	SP_TRY(sp_node_attr_list(node, "select_cols", SP_ATTR_INT, &state->selected, err));
	SP_TRY(check_selected(state->selected, prepare->in_count - 1, err));
	if (delimiter.size != 1)
		return sp_error_set(err, SP_INVALID, "field_delim should be only 1 char");
	state->delimiter = delimiter.data[0];
	SP_TRY(sp_prepare_outputs(prepare, prepare->in_count - 1, SP_STRING, err));
	for (size_t i = 1; i < prepare->in_count; i++) {
		sp_dtype dtype = prepare->in_dtypes[i];

		if (dtype != SP_FLOAT && dtype != SP_DOUBLE && dtype != SP_INT32 &&
		    dtype != SP_INT64 && dtype != SP_STRING)
			return sp_prepare_unsupported(prepare, dtype, err);
		prepare->out_dtypes[i - 1] = dtype;
	}
	return SP_OK;
}

/* -------------------------------------------------------------------- fields */

typedef struct record {
	const sp_call *call;
	sp_text_pool *pool;
	sp_bytes text;
	size_t at;
	size_t index; /* of the record */
} record;

static sp_status read_plain(record *r, sp_bytes *field)
{
	const csv_state *state = r->call->state;
	size_t start = r->at;

	for (; r->at < r->text.size && r->text.data[r->at] != state->delimiter; r->at++) {
		char c = r->text.data[r->at];

		if ((state->use_quotes && c == '"') || c == '\n' || c == '\r')
			return sp_call_invalid(r->call,
					       "record %zu: quote or line end in an unquoted field",
					       r->index);
	}
	*field = (sp_bytes){r->text.data + start, r->at - start};
	r->at++;
	return SP_OK;
}

/* Whether the quote at `at` is the last of a field. */
static bool ends_field(const record *r, size_t at)
{
	const csv_state *state = r->call->state;

	return r->text.data[at] == '"' &&
	       (at + 1 == r->text.size || r->text.data[at + 1] == state->delimiter);
}

/* Reads a quoted field after its opening quote. */
static sp_status read_quoted(record *r, sp_bytes *field)
{
	size_t start = r->at, pairs = 0;
	char *to;

	while (r->at < r->text.size && !ends_field(r, r->at)) {
		if (r->text.data[r->at] == '"') {
			if (r->text.data[r->at + 1] != '"')
				return sp_call_invalid(
					r->call, "record %zu: a quote in a field is not doubled",
					r->index);
			pairs++;
			r->at++;
		}
		r->at++;
	}
	if (r->at >= r->text.size)
		return sp_call_invalid(r->call, "a quoted field does not end: record %zu",
				       r->index);
	*field = (sp_bytes){r->text.data + start, r->at - start};
	r->at += 2;
	if (pairs == 0)
		return SP_OK;
	to = sp_text_pool_take(r->pool, field->size);
	if (to == NULL)
		return sp_call_no_memory(r->call);
	start = 0;
	for (size_t i = 0; i < field->size; i++) {
		to[start++] = field->data[i];
		i += field->data[i] == '"';
	}
	*field = (sp_bytes){to, start};
	return SP_OK;
}

/* ------------------------------------------------------------------- columns */

static sp_status bad_field(const record *r, size_t column, sp_bytes field)
{
	return sp_call_invalid(r->call, "field %zu in record %zu is not a valid %s: %.*s", column,
			       r->index, sp_dtype_name(r->call->out[column]->dtype),
			       (int)(field.size < 64 ? field.size : 64), field.data);
}

static sp_status put_default(const record *r, size_t column)
{
	const sp_tensor *fallback = r->call->in[column + 1];
	size_t size = sp_dtype_size(fallback->dtype);

	if (fallback->count == 0)
		return sp_call_invalid(r->call, "field %zu is required but missing in record %zu",
				       column, r->index);
	memcpy((char *)r->call->out[column]->data + r->index * size, fallback->data, size);
	return SP_OK;
}

static sp_status put_field(const record *r, size_t column, sp_bytes field)
{
	const csv_state *state = r->call->state;
	const sp_tensor *out = r->call->out[column];
	bool good = true;

	if (field.size == 0 || sp_bytes_equal(field, state->na_value))
		return put_default(r, column);
	switch (out->dtype) {
	case SP_FLOAT:
		good = sp_number_read_f32(field, sp_tensor_f32(out) + r->index);
		break;
	case SP_DOUBLE:
		good = sp_number_read_f64(field, sp_tensor_f64(out) + r->index);
		break;
	case SP_INT32:
		good = sp_number_read_i32(field, sp_tensor_i32(out) + r->index);
		break;
	case SP_INT64:
		good = sp_number_read_i64(field, sp_tensor_i64(out) + r->index);
		break;
	default:
		sp_tensor_strings(out)[r->index] = field;
	}
	return good ? SP_OK : bad_field(r, column, field);
}

/* Whether field `number` is the next selected column. */
static bool is_wanted(const csv_state *state, size_t number, size_t column)
{
	return state->selected->count == 0 || (column < state->selected->count &&
					       state->selected->i_list[column] == (int64_t)number);
}

static sp_status take_field(const record *r, size_t number, size_t *column, sp_bytes field)
{
	if (!is_wanted(r->call->state, number, *column))
		return SP_OK;
	if (*column == r->call->out_count)
		return sp_call_invalid(r->call, "expect %zu fields but have more in record %zu",
				       r->call->out_count, r->index);
	return put_field(r, (*column)++, field);
}

static sp_status read_record(record *r)
{
	const csv_state *state = r->call->state;
	size_t number = 0, column = 0, columns = r->call->out_count;
	sp_bytes field;

	while (r->at < r->text.size) {
		if (r->text.data[r->at] == '\n' || r->text.data[r->at] == '\r') {
			r->at++;
			continue;
		}
		if (state->use_quotes && r->text.data[r->at] == '"') {
			r->at++;
			SP_TRY(read_quoted(r, &field));
		} else {
			SP_TRY(read_plain(r, &field));
		}
		SP_TRY(take_field(r, number++, &column, field));
		if (state->selected->count != 0 && column == columns)
			return SP_OK;
	}
	/* A trailing delimiter is followed by an empty field. */
	if (r->text.size != 0 && r->text.data[r->text.size - 1] == state->delimiter)
		SP_TRY(take_field(r, number, &column, (sp_bytes){"", 0}));
	if (column != columns)
		return sp_call_invalid(r->call, "expect %zu fields but have %zu in record %zu",
				       columns, column, r->index);
	return SP_OK;
}

static sp_status check_defaults(const sp_call *call)
{
	for (size_t i = 1; i < call->in_count; i++)
		if (call->in[i]->shape.rank > 1 || call->in[i]->count > 1)
			return sp_call_invalid(
				call, "the default of column %zu is not one value or none", i - 1);
	return SP_OK;
}

static sp_status run_csv(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_text_pool pool = {.call = call};

	SP_TRY(check_defaults(call));
	for (size_t i = 0; i < call->out_count; i++)
		SP_TRY(sp_call_output(call, i, call->in[i + 1]->dtype, &in->shape));
	for (size_t i = 0; i < in->count; i++) {
		record r = {
			.call = call, .pool = &pool, .text = sp_tensor_strings(in)[i], .index = i};

		SP_TRY(read_record(&r));
	}
	return SP_OK;
}

SP_DEFINE_OP(DecodeCSV, "output:OUT_TYPE", 0, prepare_csv, run_csv);
