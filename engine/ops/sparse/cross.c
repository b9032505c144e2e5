#include "engine/ops/sparse/cross.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"

static size_t feature_count(const sp_cross_column *c, int64_t row)
{
	return c->starts != NULL ? (size_t)(c->starts[row + 1] - c->starts[row]) : c->width;
}

static size_t first_feature(const sp_cross_column *c, int64_t row)
{
	return c->starts != NULL ? (size_t)c->starts[row] : (size_t)row * c->width;
}

sp_status sp_cross__columns(const sp_call *call, sp_cross *x, size_t count)
{
	x->count = count;
	x->columns = sp_call_bytes(call, count, sizeof(*x->columns));
	x->digits = sp_call_bytes(call, count, sizeof(*x->digits));
	if (x->columns == NULL || x->digits == NULL)
		return sp_call_no_memory(call);
	memset(x->digits, 0, count * sizeof(*x->digits));
	return SP_OK;
}

static uint64_t hash_bytes(const sp_cross *x, const void *data, size_t size)
{
	return x->strong ? sp_siphash24(x->salt, data, size) : sp_fingerprint64(data, size);
}

static uint64_t fingerprint(const sp_cross *x, const sp_cross_column *c, size_t i)
{
	int64_t number;

	if (c->values->dtype == SP_STRING)
		return hash_bytes(x, sp_tensor_strings(c->values)[i].data,
				  sp_tensor_strings(c->values)[i].size);
	number = sp_tensor_i64(c->values)[i];
	return x->short_numbers && c->starts != NULL ? hash_bytes(x, &number, 4) : (uint64_t)number;
}

static sp_status make_fingerprints(const sp_call *call, const sp_cross *x, sp_cross_column *c)
{
	uint64_t *out = sp_call_bytes(call, c->values->count, sizeof(*out));

	if (out == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < c->values->count; i++)
		out[i] = fingerprint(x, c, i);
	c->fingerprints = out;
	return SP_OK;
}

static sp_status make_texts(const sp_call *call, sp_cross_column *c)
{
	enum { DIGITS = 24 };
	sp_bytes *out;
	char *digits;

	if (c->values->dtype == SP_STRING) {
		c->texts = sp_tensor_strings(c->values);
		return SP_OK;
	}
	out = sp_call_bytes(call, c->values->count, sizeof(*out));
	digits = sp_call_bytes(call, c->values->count, DIGITS);
	if (out == NULL || digits == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < c->values->count; i++, digits += DIGITS)
		out[i] = (sp_bytes){digits, (size_t)snprintf(digits, DIGITS, "%" PRId64,
							     sp_tensor_i64(c->values)[i])};
	c->texts = out;
	return SP_OK;
}

sp_status sp_cross__begin(const sp_call *call, sp_cross *x)
{
	for (size_t i = 0; i < x->count; i++) {
		sp_cross_column *c = &x->columns[i];

		if (x->strong && c->values->dtype != SP_STRING)
			return sp_error_set(call->err, SP_UNSUPPORTED,
					    "a strong hash of integers is not supported");
		if (x->joined)
			SP_TRY(make_texts(call, c));
		else
			SP_TRY(make_fingerprints(call, x, c));
	}
	return SP_OK;
}

sp_status sp_cross__count(const sp_call *call, const sp_cross *x, int64_t row, size_t *out)
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

static size_t chosen(const sp_cross *x, size_t i, int64_t row)
{
	return first_feature(&x->columns[i], row) + x->digits[i];
}

static uint64_t combine(uint64_t h, uint64_t fingerprint)
{
	return h ^ (fingerprint + 0x9e3779b97f4a7800u + (h << 10) + (uint64_t)((int64_t)h >> 4));
}

static int64_t hash_combination(const sp_cross *x, int64_t row)
{
	uint64_t h = x->keyed ? x->key : x->columns[0].fingerprints[chosen(x, 0, row)];

	for (size_t i = x->keyed ? 0 : 1; i < x->count; i++) {
		uint64_t next = x->columns[i].fingerprints[chosen(x, i, row)];

		h = x->combined ? combine(h, next) : sp_fingerprint64_join(h, next);
	}
	return (int64_t)(h % (uint64_t)(x->buckets > 0 ? x->buckets : INT64_MAX));
}

static sp_status join_combination(const sp_call *call, const sp_cross *x, int64_t row,
				  sp_bytes *out)
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
static void advance(const sp_cross *x, int64_t row)
{
	for (size_t i = x->count; i-- > 0;) {
		if (++x->digits[i] < feature_count(&x->columns[i], row))
			return;
		x->digits[i] = 0;
	}
}

sp_status sp_cross__write(const sp_call *call, const sp_cross *x, int64_t row, size_t n,
			  void *values, size_t first)
{
	for (size_t k = first; k < first + n; k++) {
		if (x->joined)
			SP_TRY(join_combination(call, x, row, (sp_bytes *)values + k));
		else
			((int64_t *)values)[k] = hash_combination(x, row);
		advance(x, row);
	}
	return SP_OK;
}
