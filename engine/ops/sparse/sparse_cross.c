#include "engine/graph/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"

/*
 * SparseCross, SparseCrossV2, SparseCrossHashed: for each row of a batch, all combinations of one
 * feature per column, the last column fastest, as a sparse tensor of joined strings or of hashes.
 *
 * A column's features are converted to strings or fingerprints once.  As in TensorFlow,
 * SparseCrossHashed hashes only the low four bytes of integers in sparse columns.
 */
typedef enum cross_kind {
	CROSS_TEXT,
	CROSS_HASH,    /* SparseCross: begins with the attribute's key */
	CROSS_HASH_V2, /* SparseCrossHashed: begins with the first column */
} cross_kind;

typedef struct cross_state {
	cross_kind kind;
	size_t sparse;        /* columns */
	size_t dense;         /* columns */
	size_t more;          /* inputs after the columns */
	int64_t buckets;      /* of SparseCross */
	uint64_t key;         /* of SparseCross */
	bool separator_given; /* SparseCrossV2: as an input */
} cross_state;

typedef struct column {
	const sp_tensor *values; /* strings or int64 */
	const int64_t *starts;   /* [batch + 1]; NULL: the column is dense */
	size_t width;            /* features per row of a dense column */
	const uint64_t *fingerprints;
	const sp_bytes *texts;
} column;

typedef struct cross {
	cross_kind kind;
	column *columns; /* [count] */
	size_t count;
	int64_t batch;
	sp_bytes separator;
	uint64_t key;
	bool strong; /* strings are hashed with the salt */
	uint64_t salt[2];
	int64_t buckets; /* the modulus; <= 0: none, but results are nonnegative */
	size_t *digits;  /* [count] the current combination */
} cross;

/* ---------------------------------------------------------------- reading */

static sp_status check_column(const sp_call *call, size_t i)
{
	const cross_state *state = call->state;
	const sp_tensor *indices = call->in[i], *values = call->in[state->sparse + i];
	const sp_tensor *shape = call->in[2 * state->sparse + i];

	if (indices->shape.rank != 2 || indices->shape.dims[1] != 2)
		return sp_call_invalid(call, "the indices at %zu are not of two columns", i);
	if (values->shape.rank != 1 || values->shape.dims[0] != indices->shape.dims[0])
		return sp_call_invalid(call, "expected a vector of %lld values at position %zu",
				       (long long)indices->shape.dims[0], i);
	if (shape->shape.rank != 1 || shape->count != 2)
		return sp_call_invalid(call, "a shape must be a vector of 2 at position %zu", i);
	return SP_OK;
}

/* The batch size, which is the same for all columns. */
static sp_status read_batch(const sp_call *call, cross *x)
{
	const cross_state *state = call->state;

	x->batch = 0;
	for (size_t i = 0; i < x->count; i++) {
		const sp_tensor *in = call->in[2 * state->sparse + i];
		int64_t batch;

		if (i < state->sparse) {
			SP_TRY(check_column(call, i));
			batch = sp_tensor_i64(in)[0];
		} else {
			if (in->shape.rank != 2)
				return sp_call_invalid(
					call, "dense input %zu is of rank %d, not a matrix",
					i - state->sparse, in->shape.rank);
			batch = in->shape.dims[0];
		}
		if (batch < 0 || batch == INT64_MAX)
			return sp_call_invalid(call, "a batch of %lld rows", (long long)batch);
		if (i > 0 && batch != x->batch)
			return sp_call_invalid(call, "the batch is %lld, but %lld at column %zu",
					       (long long)x->batch, (long long)batch, i);
		x->batch = batch;
	}
	return SP_OK;
}

/* Finds where each row's features begin; features out of row order are ignored. */
static sp_status find_rows(const sp_call *call, const sp_tensor *indices, int64_t batch,
			   const int64_t **out)
{
	int64_t *starts;
	int64_t at = 0, count = indices->shape.dims[0];

	SP_CALL_ARRAY(starts, call, (size_t)batch + 1);
	for (int64_t row = 0; row < batch; row++) {
		starts[row] = at;
		while (at < count && sp_tensor_i64(indices)[2 * at] == row)
			at++;
	}
	starts[batch] = at;
	*out = starts;
	return SP_OK;
}

static sp_status read_columns(const sp_call *call, cross *x)
{
	const cross_state *state = call->state;

	SP_CALL_ARRAY(x->columns, call, x->count);
	SP_CALL_ARRAY(x->digits, call, x->count);
	memset(x->digits, 0, x->count * sizeof(*x->digits));
	for (size_t i = 0; i < x->count; i++) {
		column *c = &x->columns[i];

		*c = (column){.values = call->in[state->sparse + i]};
		if (i < state->sparse) {
			SP_TRY(find_rows(call, call->in[i], x->batch, &c->starts));
		} else {
			c->values = call->in[2 * state->sparse + i];
			c->width = (size_t)c->values->shape.dims[1];
		}
	}
	return SP_OK;
}

/* Reads the inputs after the columns: a separator, or buckets, strong_hash and salt. */
static sp_status read_options(const sp_call *call, cross *x)
{
	const cross_state *state = call->state;
	const sp_tensor *const *in = call->in + call->in_count - state->more;

	x->separator = sp_bytes_of("_X_");
	x->buckets = state->buckets;
	if (state->separator_given) {
		if (!sp_tensor_is_scalar(in[0]))
			return sp_call_invalid(call, "the separator should be a scalar");
		x->separator = *sp_tensor_strings(in[0]);
	}
	if (state->kind != CROSS_HASH_V2)
		return SP_OK;
	if (!sp_tensor_is_scalar(in[0]) || !sp_tensor_is_scalar(in[1]))
		return sp_call_invalid(call, "num_buckets and strong_hash should be scalars");
	if (in[2]->count != 2)
		return sp_call_invalid(call, "salt must have length 2 but has length %zu",
				       in[2]->count);
	x->buckets = *sp_tensor_i64(in[0]);
	x->strong = *sp_tensor_bool(in[1]);
	memcpy(x->salt, in[2]->data, sizeof(x->salt));
	return SP_OK;
}

/* ------------------------------------------------------------ combinations */

static size_t feature_count(const column *c, int64_t row)
{
	return c->starts != NULL ? (size_t)(c->starts[row + 1] - c->starts[row]) : c->width;
}

static size_t first_feature(const column *c, int64_t row)
{
	return c->starts != NULL ? (size_t)c->starts[row] : (size_t)row * c->width;
}

static uint64_t hash_bytes(const cross *x, const void *data, size_t size)
{
	return x->strong ? sp_siphash24(x->salt, data, size) : sp_fingerprint64(data, size);
}

static uint64_t fingerprint(const cross *x, const column *c, size_t i)
{
	int64_t number;

	if (c->values->dtype == SP_STRING)
		return hash_bytes(x, sp_tensor_strings(c->values)[i].data,
				  sp_tensor_strings(c->values)[i].size);
	number = sp_tensor_i64(c->values)[i];
	return x->kind == CROSS_HASH_V2 && c->starts != NULL ? hash_bytes(x, &number, 4)
							     : (uint64_t)number;
}

static sp_status make_fingerprints(const sp_call *call, const cross *x, column *c)
{
	uint64_t *out;

	SP_CALL_ARRAY(out, call, c->values->count);
	for (size_t i = 0; i < c->values->count; i++)
		out[i] = fingerprint(x, c, i);
	c->fingerprints = out;
	return SP_OK;
}

static sp_status make_texts(const sp_call *call, column *c)
{
	enum { DIGITS = 24 };
	sp_bytes *out;
	char *digits;

	if (c->values->dtype == SP_STRING) {
		c->texts = sp_tensor_strings(c->values);
		return SP_OK;
	}
	SP_CALL_ARRAY(out, call, c->values->count);
	SP_CALL_BYTES(digits, call, c->values->count, DIGITS);
	for (size_t i = 0; i < c->values->count; i++, digits += DIGITS)
		out[i] = (sp_bytes){digits, (size_t)snprintf(digits, DIGITS, "%" PRId64,
							     sp_tensor_i64(c->values)[i])};
	c->texts = out;
	return SP_OK;
}

static sp_status convert_features(const sp_call *call, cross *x)
{
	for (size_t i = 0; i < x->count; i++) {
		column *c = &x->columns[i];

		if (x->strong && c->values->dtype != SP_STRING)
			return sp_error_set(call->err, SP_UNSUPPORTED,
					    "a strong hash of integers is not supported");
		if (x->kind == CROSS_TEXT)
			SP_TRY(make_texts(call, c));
		else
			SP_TRY(make_fingerprints(call, x, c));
	}
	return SP_OK;
}

/* The number of combinations of a row. */
static sp_status count_combinations(const sp_call *call, const cross *x, int64_t row, size_t *out)
{
	size_t n = 1;

	for (size_t i = 0; i < x->count; i++)
		if (feature_count(&x->columns[i], row) == 0)
			n = 0;
	for (size_t i = 0; n != 0 && i < x->count; i++)
		if (!sp_size_mul(&n, n, feature_count(&x->columns[i], row)) || n > INT64_MAX)
			return sp_call_invalid(call, "row %lld has too many combinations",
					       (long long)row);
	*out = n;
	return SP_OK;
}

static size_t chosen(const cross *x, size_t i, int64_t row)
{
	return first_feature(&x->columns[i], row) + x->digits[i];
}

static int64_t hash_combination(const cross *x, int64_t row)
{
	uint64_t h = x->kind == CROSS_HASH ? x->key : x->columns[0].fingerprints[chosen(x, 0, row)];

	for (size_t i = x->kind == CROSS_HASH ? 0 : 1; i < x->count; i++)
		h = sp_fingerprint64_join(h, x->columns[i].fingerprints[chosen(x, i, row)]);
	return (int64_t)(h % (uint64_t)(x->buckets > 0 ? x->buckets : INT64_MAX));
}

static sp_status join_combination(const sp_call *call, const cross *x, int64_t row, sp_bytes *out)
{
	size_t size = 0;
	char *text, *at;

	for (size_t i = 0; i < x->count; i++)
		if (!sp_size_add(&size, size, x->columns[i].texts[chosen(x, i, row)].size) ||
		    !sp_size_add(&size, size, i > 0 ? x->separator.size : 0))
			return sp_call_no_memory(call);
	text = at = sp_call_bytes(call, size, 1);
	if (text == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < x->count; i++) {
		sp_bytes part = x->columns[i].texts[chosen(x, i, row)];

		if (i > 0 && x->separator.size != 0)
			at = (char *)memcpy(at, x->separator.data, x->separator.size) +
			     x->separator.size;
		if (part.size != 0)
			at = (char *)memcpy(at, part.data, part.size) + part.size;
	}
	*out = (sp_bytes){text, size};
	return SP_OK;
}

/* Moves to the next combination; the last column varies fastest. */
static void advance(const cross *x, int64_t row)
{
	for (size_t i = x->count; i-- > 0;) {
		if (++x->digits[i] < feature_count(&x->columns[i], row))
			return;
		x->digits[i] = 0;
	}
}

/* Writes the `n` combinations of a row at values[first] ...: sp_bytes or int64. */
static sp_status write_combinations(const sp_call *call, const cross *x, int64_t row, size_t n,
				    void *values, size_t first)
{
	for (size_t k = first; k < first + n; k++) {
		if (x->kind == CROSS_TEXT)
			SP_TRY(join_combination(call, x, row, (sp_bytes *)values + k));
		else
			((int64_t *)values)[k] = hash_combination(x, row);
		advance(x, row);
	}
	return SP_OK;
}

static sp_status make_outputs(const sp_call *call, cross *x)
{
	size_t total = 0, widest = 0, n;

	for (int64_t row = 0; row < x->batch; row++) {
		SP_TRY(count_combinations(call, x, row, &n));
		if (!sp_size_add(&total, total, n) || total > INT64_MAX)
			return sp_call_invalid(call, "there are too many combinations");
		widest = n > widest ? n : widest;
	}
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, (int64_t)total, 2));
	SP_TRY(sp_call_output_vector(call, 1, x->kind == CROSS_TEXT ? SP_STRING : SP_INT64,
				     (int64_t)total));
	SP_TRY(sp_call_output_vector(call, 2, SP_INT64, 2));
	sp_tensor_i64(call->out[2])[0] = x->batch;
	sp_tensor_i64(call->out[2])[1] = (int64_t)widest;
	return SP_OK;
}

static sp_status run_cross(const sp_call *call)
{
	const cross_state *state = call->state;
	cross x = {.kind = state->kind, .key = state->key, .count = state->sparse + state->dense};
	size_t first = 0, n;

	SP_TRY(read_batch(call, &x));
	SP_TRY(read_options(call, &x));
	SP_TRY(read_columns(call, &x));
	SP_TRY(convert_features(call, &x));
	SP_TRY(make_outputs(call, &x));
	for (int64_t row = 0; row < x.batch; row++, first += n) {
		SP_TRY(count_combinations(call, &x, row, &n));
		SP_TRY(write_combinations(call, &x, row, n, call->out[1]->data, first));
		for (size_t k = 0; k < n; k++) {
			sp_tensor_i64(call->out[0])[2 * (first + k)] = row;
			sp_tensor_i64(call->out[0])[2 * (first + k) + 1] = (int64_t)k;
		}
	}
	return SP_OK;
}

/* --------------------------------------------------------------- preparing */

/* `texts_only`: refuses integer features. */
static sp_status check_dtypes(const sp_prepare *prepare, const cross_state *state, bool texts_only,
			      sp_error *err)
{
	for (size_t i = 0; i < prepare->in_count - state->more; i++) {
		bool feature = (i >= state->sparse && i < 2 * state->sparse) ||
			       i >= 3 * state->sparse;

		if (!feature || (!texts_only && prepare->in_dtypes[i] != SP_STRING))
			SP_TRY(sp_prepare_input_dtype(prepare, i, SP_INT64, err));
		else
			SP_TRY(sp_prepare_input_dtype(prepare, i, SP_STRING, err));
	}
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, cross_kind kind, size_t more, bool texts_only,
			     cross_state **out, sp_error *err)
{
	cross_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t n;

	SP_NEED_MEMORY(state, err, "%s", prepare->node->op_name);
	SP_TRY(sp_node_attr_int(prepare->node, "N", -1, &n, err));
	if (n < 0 || (uint64_t)n > prepare->in_count || prepare->in_count < 3 * (size_t)n + more)
		return sp_error_set(err, SP_INVALID, "%s of %lld sparse columns has %zu inputs",
				    prepare->node->op_name, (long long)n, prepare->in_count);
	*state = (cross_state){.kind = kind,
			       .sparse = (size_t)n,
			       .dense = prepare->in_count - 3 * (size_t)n - more,
			       .more = more};
	SP_TRY(check_dtypes(prepare, state, texts_only, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	if (kind == CROSS_TEXT)
		prepare->out_dtypes[1] = SP_STRING;
	*out = state;
	return SP_OK;
}

static sp_status prepare_cross(sp_prepare *prepare, sp_error *err)
{
	sp_dtype out_type, internal_type;
	cross_state *state;
	int64_t key;

	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INVALID_DTYPE, &out_type, err));
	SP_TRY(sp_node_attr_type(prepare->node, "internal_type", SP_INVALID_DTYPE, &internal_type,
				 err));
	if (out_type != SP_INT64 && out_type != SP_STRING)
		return sp_prepare_unsupported(prepare, out_type, err);
	if (internal_type != SP_INT64 && internal_type != SP_STRING)
		return sp_prepare_unsupported(prepare, internal_type, err);
	SP_TRY(prepare_any(prepare, out_type == SP_STRING ? CROSS_TEXT : CROSS_HASH, 0,
			   internal_type == SP_STRING, &state, err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_buckets", 0, &state->buckets, err));
	SP_TRY(sp_node_attr_int(prepare->node, "hash_key", 0, &key, err));
	state->key = (uint64_t)key;
	return SP_OK;
}

static sp_status prepare_cross_v2(sp_prepare *prepare, sp_error *err)
{
	cross_state *state;

	SP_TRY(prepare_any(prepare, CROSS_TEXT, 1, false, &state, err));
	state->separator_given = true;
	return sp_prepare_input_dtype(prepare, prepare->in_count - 1, SP_STRING, err);
}

static sp_status prepare_cross_hashed(sp_prepare *prepare, sp_error *err)
{
	cross_state *state;

	SP_TRY(prepare_any(prepare, CROSS_HASH_V2, 3, false, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, prepare->in_count - 3, SP_INT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, prepare->in_count - 2, SP_BOOL, err));
	return sp_prepare_input_dtype(prepare, prepare->in_count - 1, SP_INT64, err);
}

SP_DEFINE_OP(SparseCross, "output_indices output_values output_shape", 0, prepare_cross, run_cross);
SP_DEFINE_OP(SparseCrossV2, "output_indices output_values output_shape", 0, prepare_cross_v2,
	     run_cross);
SP_DEFINE_OP(SparseCrossHashed, "output_indices output_values output_shape", 0,
	     prepare_cross_hashed, run_cross);
