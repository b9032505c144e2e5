#include "engine/ops/string/text.h"

#include "base/size.h"

#include <string.h>

/*
 * Joins the n-grams of each row of a ragged batch.  Each end of a row may be padded by `pad_width`
 * pads, but never by so many that an n-gram would consist of pads only.
 */

enum { MAX_WIDTH = 4096 };

typedef struct state {
	sp_bytes separator, left_pad, right_pad;
	int64_t pad_width; /* -1: one less than the width */
	const int64_t *widths;
	size_t width_count;
	bool keep_short; /* a row that is too short for any n-gram becomes one n-gram */
} state;

static sp_status prepare_ngrams(sp_prepare *prepare, sp_error *err)
{
	const sp_node *node = prepare->node;
	state *s = sp_prepare_state(prepare, sizeof(*s));
	const sp_attr *widths;

	SP_NEED_MEMORY(s, err, "StringNGrams");
	SP_TRY(sp_text_attr(prepare, "separator", &s->separator, err));
	SP_TRY(sp_text_attr(prepare, "left_pad", &s->left_pad, err));
	SP_TRY(sp_text_attr(prepare, "right_pad", &s->right_pad, err));
	SP_TRY(sp_node_attr_int(node, "pad_width", 0, &s->pad_width, err));
	SP_TRY(sp_node_attr_bool(node, "preserve_short_sequences", false, &s->keep_short, err));
	SP_TRY(sp_node_attr_list(node, "ngram_widths", SP_ATTR_INT, &widths, err));
	s->widths = widths->i_list;
	s->width_count = widths->count;
	for (size_t i = 0; i < s->width_count; i++) {
		if (s->widths[i] <= 0)
			return sp_error_set(err, SP_INVALID, "a width of n-grams is %lld",
					    (long long)s->widths[i]);
		if (s->widths[i] > MAX_WIDTH)
			return sp_error_set(err, SP_UNSUPPORTED, "n-grams of width %lld",
					    (long long)s->widths[i]);
	}
	if (s->pad_width > MAX_WIDTH)
		return sp_error_set(err, SP_UNSUPPORTED, "%lld pads", (long long)s->pad_width);
	if (s->keep_short && s->pad_width < 0 && s->width_count == 0)
		return sp_error_set(err, SP_INVALID,
				    "the width of a padded short row is not known");
	return sp_prepare_types(prepare, "string I -> string I", err);
}

/*
 * The n-grams of one width in one row: `count` of `width` strings each, after adding `pads` pads at
 * either end of the row.
 */
typedef struct runs {
	int64_t width, pads, count;
} runs;

static runs runs_of(const state *s, int64_t length, int64_t width)
{
	runs r = {.width = width, .pads = width - 1};

	if (s->pad_width >= 0 && s->pad_width < r.pads)
		r.pads = s->pad_width;
	r.count = length + 2 * r.pads - width + 1;
	if (r.count < 0)
		r.count = 0;
	return r;
}

/* The single n-gram of a row that is too short for the width. */
static runs short_run(const state *s, int64_t length)
{
	int64_t pads = s->pad_width > 0 ? s->pad_width : 0;

	return (runs){.width = length + 2 * pads, .pads = pads, .count = 1};
}

static int64_t count_runs(const state *s, int64_t length)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->width_count; i++)
		count += runs_of(s, length, s->widths[i]).count;
	return count == 0 && s->keep_short && length > 0 ? 1 : count;
}

static sp_status check_splits(const sp_call *call)
{
	const sp_tensor *data = call->in[0], *splits = call->in[1];
	int64_t last = 0;

	if (data->shape.rank != 1 || splits->shape.rank != 1)
		return sp_call_invalid(call,
				       "data and splits must be vectors, not of rank %d and %d",
				       data->shape.rank, splits->shape.rank);
	for (size_t i = 0; i < splits->count; i++) {
		int64_t split = sp_tensor_index(splits, i);

		if ((i == 0 && split != 0) || split < last || split > (int64_t)data->count)
			return sp_call_invalid(call, "split %zu is %lld, not in [%lld, %zu]", i,
					       (long long)split, (long long)last,
					       i == 0 ? 0 : data->count);
		last = split;
	}
	if (splits->count > 0 && last != (int64_t)data->count)
		return sp_call_invalid(call, "the last split is %lld, not %zu", (long long)last,
				       data->count);
	return SP_OK;
}

/* Part `i` of n-gram `number`: a pad or a string of the row. */
static sp_bytes part(const state *s, const sp_bytes *row, int64_t length, const runs *r,
		     int64_t number, int64_t i)
{
	int64_t at = number + i - r->pads;

	return at < 0 ? s->left_pad : at >= length ? s->right_pad : row[at];
}

static sp_status write_run(sp_text_pool *pool, const sp_bytes *row, int64_t length, const runs *r,
			   int64_t number, sp_bytes *out)
{
	const state *s = pool->call->state;
	size_t size = 0;
	char *to;

	for (int64_t i = 0; i < r->width; i++)
		if (!sp_size_add(&size, size, part(s, row, length, r, number, i).size) ||
		    !sp_size_add(&size, size, i > 0 ? s->separator.size : 0))
			return sp_call_no_memory(pool->call);
	to = sp_text_pool_take(pool, size);
	if (to == NULL)
		return sp_call_no_memory(pool->call);
	*out = (sp_bytes){to, size};
	for (int64_t i = 0; i < r->width; i++) {
		sp_bytes text = part(s, row, length, r, number, i);

		if (i > 0 && s->separator.size > 0)
			to = mempcpy(to, s->separator.data, s->separator.size);
		if (text.size > 0)
			to = mempcpy(to, text.data, text.size);
	}
	return SP_OK;
}

static sp_status write_row(sp_text_pool *pool, const sp_bytes *row, int64_t length, sp_bytes **out)
{
	const state *s = pool->call->state;
	sp_bytes *begin = *out;

	for (size_t w = 0; w < s->width_count; w++) {
		runs r = runs_of(s, length, s->widths[w]);

		for (int64_t i = 0; i < r.count; i++)
			SP_TRY(write_run(pool, row, length, &r, i, (*out)++));
	}
	if (*out == begin && s->keep_short && length > 0) {
		runs r = short_run(s, length);

		SP_TRY(write_run(pool, row, length, &r, 0, (*out)++));
	}
	return SP_OK;
}

/* The output's splits; *total is the last of them. */
static sp_status write_splits(const sp_call *call, int64_t *total)
{
	const sp_tensor *splits = call->in[1];
	sp_tensor *out = call->out[1];

	*total = 0;
	SP_TRY(sp_call_output(call, 1, splits->dtype, &splits->shape));
	for (size_t i = 0; i < splits->count; i++) {
		/* An input without strings has no n-grams, not even of pads. */
		if (i > 0 && call->in[0]->count > 0 &&
		    !sp_i64_add(total, *total,
				count_runs(call->state, sp_tensor_index(splits, i) -
								sp_tensor_index(splits, i - 1))))
			return sp_call_no_memory(call);
		if (splits->dtype == SP_INT64)
			sp_tensor_i64(out)[i] = *total;
		else if (*total <= INT32_MAX)
			sp_tensor_i32(out)[i] = (int32_t)*total;
		else
			return sp_call_invalid(call, "%lld n-grams are too many for int32 splits",
					       (long long)*total);
	}
	return SP_OK;
}

static sp_status run_ngrams(const sp_call *call)
{
	const sp_bytes *data = sp_tensor_strings(call->in[0]);
	const sp_tensor *splits = call->in[1];
	sp_text_pool pool = {.call = call};
	int64_t total;
	sp_bytes *to;

	SP_TRY(check_splits(call));
	SP_TRY(write_splits(call, &total));
	SP_TRY(sp_call_output_vector(call, 0, SP_STRING, total));
	to = sp_tensor_strings(call->out[0]);
	for (size_t i = 1; total > 0 && i < splits->count; i++) {
		int64_t begin = sp_tensor_index(splits, i - 1);

		SP_TRY(write_row(&pool, data + begin, sp_tensor_index(splits, i) - begin, &to));
	}
	return SP_OK;
}

SP_DEFINE_OP(StringNGrams, "ngrams ngrams_splits", 0, prepare_ngrams, run_ngrams);
