#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "engine/ops/embedding/embedding_columns.h"

/* Collects keys; has room for every element of the input. */
typedef struct collector {
	const sp_call *call;
	const sp_column_spec *spec;
	int64_t *keys;
	int64_t *segments;
	float *weights;
	size_t count;
	bool in_step; /* key i is of row i, for all keys so far */
	sp_shape lead;
	size_t row_count;
} collector;

static bool reserve(collector *co, size_t most)
{
	co->keys = sp_call_bytes(co->call, most, sizeof(*co->keys));
	co->segments = sp_call_bytes(co->call, most, sizeof(*co->segments));
	if (co->spec->weighted)
		co->weights = sp_call_bytes(co->call, most, sizeof(*co->weights));
	return co->keys != NULL && co->segments != NULL &&
	       (!co->spec->weighted || co->weights != NULL);
}

static void add(collector *co, int64_t key, int64_t segment)
{
	if (co->spec->drops_ids && key < 0)
		return;
	co->in_step = co->in_step && segment == (int64_t)co->count;
	co->keys[co->count] = key;
	co->segments[co->count++] = segment;
}

/* ------------------------------------------------------------ dense sources */

static void add_texts(collector *co, const sp_bytes *texts, size_t width)
{
	sp_bytes ignored = co->spec->ignored_text;

	for (size_t row = 0; row < co->row_count; row++)
		for (size_t i = 0; i < width; i++, texts++) {
			if (texts->size == ignored.size &&
			    (ignored.size == 0 ||
			     memcmp(texts->data, ignored.data, ignored.size) == 0))
				continue;
			add(co,
			    (int64_t)(sp_fingerprint64(texts->data, texts->size) %
				      co->spec->hash_buckets),
			    (int64_t)row);
		}
}

static void add_cells(collector *co, const sp_tensor *cells, size_t width)
{
	for (size_t row = 0, i = 0; row < co->row_count; row++)
		for (size_t end = i + width; i < end; i++) {
			int64_t key = sp_tensor_index(cells, i);

			if (key != co->spec->ignored_key)
				add(co, key, (int64_t)row);
		}
}

/* Reads the row dimensions; *width becomes the product of the dimensions after them. */
static sp_status take_lead(collector *co, const int64_t *dims, size_t rank, int64_t *width)
{
	const sp_column_spec *spec = co->spec;
	size_t row_dims = spec->row_dims != 0 ? spec->row_dims : 1;

	if (rank == 0 || (spec->row_dims != 0 && !spec->flattens && rank != row_dims + 1))
		return sp_call_invalid(co->call, "'%s' must have %zu dimensions, not %zu",
				       spec->name, row_dims + 1, rank);
	co->lead = (sp_shape){.rank = (int32_t)row_dims};
	memcpy(co->lead.dims, dims, row_dims * sizeof(*dims));
	if (!sp_shape_count(&co->lead, &co->row_count))
		return sp_call_invalid(co->call, "'%s' has too many rows", spec->name);
	if (spec->flattens && co->row_count == 0)
		return sp_call_invalid(co->call, "'%s': cannot infer the missing size from zeros",
				       spec->name);
	*width = 1;
	for (size_t d = row_dims; d < rank; d++)
		if (!sp_i64_mul(width, *width, dims[d]))
			return sp_call_invalid(co->call, "'%s' has too many cells", spec->name);
	return SP_OK;
}

static sp_status read_dense(collector *co, const sp_tensor *cells)
{
	sp_shape shape = cells->shape;
	int64_t width;

	if (co->spec->widen && shape.rank == SP_MAX_RANK)
		return sp_call_invalid(co->call, "'%s' has too many dimensions", co->spec->name);
	if (co->spec->widen)
		shape.dims[shape.rank++] = 1;
	SP_TRY(take_lead(co, shape.dims, (size_t)shape.rank, &width));
	if (!reserve(co, cells->count))
		return sp_call_no_memory(co->call);
	if (co->spec->source == SP_COLUMN_TEXTS)
		add_texts(co, sp_tensor_strings(cells), (size_t)width);
	else
		add_cells(co, cells, (size_t)width);
	return SP_OK;
}

/* Sums wrap around in int32, as in the original graph. */
static sp_status read_buckets(collector *co, const sp_tensor *buckets)
{
	const sp_column_spec *spec = co->spec;
	int64_t dims[2] = {buckets->shape.rank != 0 ? buckets->shape.dims[0] : 0,
			   spec->number_count};
	int64_t width;
	char text[SP_SHAPE_TEXT_SIZE];

	if (buckets->shape.rank == 0 ||
	    (uint64_t)buckets->count != (uint64_t)dims[0] * (uint64_t)dims[1])
		return sp_call_invalid(co->call, "'%s': numbers of shape %s are not [rows, %lld]",
				       spec->name, sp_shape_text(&buckets->shape, text),
				       (long long)spec->number_count);
	SP_TRY(take_lead(co, dims, 2, &width));
	if (!reserve(co, buckets->count))
		return sp_call_no_memory(co->call);
	for (size_t i = 0; i < buckets->count; i++) {
		uint32_t column = (uint32_t)(i % (size_t)width);

		add(co,
		    (int32_t)((uint32_t)sp_tensor_i32(buckets)[i] +
			      column * (uint32_t)spec->bucket_count),
		    (int64_t)(i / (size_t)width));
	}
	return SP_OK;
}

/* ----------------------------------------------------------- sparse sources */

typedef struct sparse {
	const sp_tensor *indices, *keys, *shape, *weights;
	size_t count, rank;
	int64_t width; /* the product of the dimensions after the rows */
} sparse;

static sp_status check_sparse(const collector *co, const sparse *in)
{
	const sp_shape *indices = &in->indices->shape, *keys = &in->keys->shape;
	char text[2][SP_SHAPE_TEXT_SIZE];

	if (indices->rank != 2 || keys->rank != 1 || in->shape->shape.rank != 1 ||
	    indices->dims[0] != keys->dims[0] || indices->dims[1] != in->shape->shape.dims[0])
		return sp_call_invalid(co->call, "'%s': indices of %s for %s values in rank %zu",
				       co->spec->name, sp_shape_text(indices, text[0]),
				       sp_shape_text(keys, text[1]), in->shape->count);
	if (in->weights != NULL && !sp_shape_equal(&in->weights->shape, keys))
		return sp_call_invalid(co->call, "'%s': weights of shape %s for %s values",
				       co->spec->name, sp_shape_text(&in->weights->shape, text[0]),
				       sp_shape_text(keys, text[1]));
	return SP_OK;
}

static sp_status read_shape(collector *co, sparse *in)
{
	const int64_t *dims = sp_tensor_i64(in->shape);
	int64_t cells = 1;

	for (size_t d = 0; d < in->rank; d++) {
		if (dims[d] < 0)
			return sp_call_invalid(co->call, "'%s': dimension %zu is %lld",
					       co->spec->name, d, (long long)dims[d]);
		if (!sp_i64_mul(&cells, cells, dims[d]))
			return sp_call_invalid(co->call, "'%s' has too many cells", co->spec->name);
	}
	return take_lead(co, dims, in->rank, &in->width);
}

/*
 * The row of a value. Where the graph flattens the index, the row is computed in the same wrapping
 * arithmetic, because the index is not checked.
 */
static int64_t row_of(const collector *co, const sparse *in, size_t i)
{
	const int64_t *index = sp_tensor_i64(in->indices) + i * in->rank;
	const int64_t *dims = sp_tensor_i64(in->shape);
	uint64_t cell = 0;

	if (in->rank == 2 || (co->spec->row_dims == 0 && !co->spec->flattens))
		return index[0];
	for (size_t d = 0; d < in->rank; d++)
		cell = cell * (uint64_t)dims[d] + (uint64_t)index[d];
	return in->width != 0 ? (int64_t)cell / in->width : -1;
}

/* Collects values; *ordered says whether their rows ascend. */
static sp_status add_values(collector *co, const sparse *in, bool *ordered)
{
	*ordered = true;
	for (size_t i = 0; i < in->count; i++) {
		float weight = in->weights != NULL ? sp_tensor_f32(in->weights)[i] : 1;
		int64_t row = row_of(co, in, i);
		size_t before = co->count;

		if (co->spec->drops_weights && !(weight > 0))
			continue;
		add(co, sp_tensor_index(in->keys, i), row);
		if (co->count == before)
			continue;
		if (row < 0 || (uint64_t)row >= co->row_count)
			return sp_call_invalid(co->call,
					       "'%s': indices(%zu, 0): %lld is not in [0, %zu)",
					       co->spec->name, i, (long long)row, co->row_count);
		if (co->weights != NULL)
			co->weights[before] = weight;
		*ordered = *ordered && (before == 0 || co->segments[before - 1] <= row);
	}
	return SP_OK;
}

static sp_status read_sparse(collector *co, const sp_tensor *const *in, bool *ordered)
{
	sparse source = {.indices = in[1],
			 .keys = in[2],
			 .shape = in[3],
			 .weights = co->spec->weighted ? in[4] : NULL,
			 .count = in[2]->count,
			 .rank = in[3]->count};

	SP_TRY(check_sparse(co, &source));
	SP_TRY(read_shape(co, &source));
	if (!reserve(co, source.count))
		return sp_call_no_memory(co->call);
	return add_values(co, &source, ordered);
}

/* ------------------------------------------------------------ order and fill */

/* Groups keys by rows, stably; a row without keys gets the default if requested. */
static sp_status arrange(collector *co)
{
	collector to = *co;
	size_t *next = sp_call_bytes(co->call, co->row_count, sizeof(*next));
	size_t total = 0;

	if (next == NULL || !reserve(&to, co->count + (co->spec->fills ? co->row_count : 0)))
		return sp_call_no_memory(co->call);
	memset(next, 0, co->row_count * sizeof(*next));
	for (size_t i = 0; i < co->count; i++)
		next[co->segments[i]]++;
	for (size_t row = 0; row < co->row_count; row++) {
		size_t keys = next[row];

		next[row] = total;
		total += keys;
		if (keys != 0 || !co->spec->fills)
			continue;
		to.keys[total] = co->spec->default_key;
		if (to.weights != NULL)
			to.weights[total] = co->spec->default_weight;
		to.segments[total++] = (int64_t)row;
	}
	for (size_t i = 0; i < co->count; i++) {
		size_t place = next[co->segments[i]]++;

		to.keys[place] = co->keys[i];
		to.segments[place] = co->segments[i];
		if (to.weights != NULL)
			to.weights[place] = co->weights[i];
	}
	to.count = total;
	*co = to;
	return SP_OK;
}

sp_status sp_column_read_keys(const sp_call *call, const sp_column_spec *spec,
			      const sp_tensor *const *in, sp_column_keys *out)
{
	collector co = {.call = call, .spec = spec, .in_step = true};
	bool ordered = true;

	if (spec->source == SP_COLUMN_SPARSE)
		SP_TRY(read_sparse(&co, in, &ordered));
	else if (spec->source == SP_COLUMN_BUCKETS)
		SP_TRY(read_buckets(&co, in[1]));
	else
		SP_TRY(read_dense(&co, in[1]));
	if (!ordered || (spec->fills && !(co.in_step && co.count == co.row_count)))
		SP_TRY(arrange(&co));
	*out = (sp_column_keys){.dtype = spec->source == SP_COLUMN_SPARSE  ? in[2]->dtype
					 : spec->source == SP_COLUMN_TEXTS ? SP_INT64
									   : in[1]->dtype,
				.keys = co.keys,
				.segments = co.segments,
				.weights = co.weights,
				.count = co.count,
				.one_each = co.in_step && co.count == co.row_count &&
					    co.weights == NULL,
				.lead = co.lead,
				.row_count = co.row_count};
	return SP_OK;
}
