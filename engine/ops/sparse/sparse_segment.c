#include "engine/ops/sparse/sparse_segment.h"

#include <math.h>

#include "engine/ops/array/elements.h"

/*
 * SparseSegmentSum, Mean and SqrtN: pooled embeddings.  Row s of the output is the sum of
 * data[indices[k]] over all k with segment_ids[k] == s, divided by their number or its square root.
 *
 * Numerics: rows are added in their order; half and bfloat16 in float, rounded once.
 */

static double divisor(const sp_sparse_rows *rows)
{
	switch (rows->combiner) {
	case SP_COMBINE_SUM:
		return 1;
	case SP_COMBINE_MEAN:
		return (double)rows->count;
	case SP_COMBINE_SQRTN:
		return sqrt((double)rows->count);
	}
	return 1;
}

static const void *row_at(const sp_sparse_rows *rows, size_t i, size_t size)
{
	return (const char *)rows->data + (size_t)rows->indices[i] * rows->width * size;
}

/* Writes the sum of the rows, in the type of the sums. */
typedef void add_rows(void *sum, const sp_sparse_rows *rows);

#define ADD_ROWS(name, type, wide, LOAD)                                   \
	static void name(void *sum, const sp_sparse_rows *rows)            \
	{                                                                  \
		wide *to = sum;                                            \
                                                                           \
		for (size_t i = 0; i < rows->count; i++) {                 \
			const type *row = row_at(rows, i, sizeof(type));   \
                                                                           \
			for (size_t j = 0; j < rows->width && i == 0; j++) \
				to[j] = LOAD(row[j]);                      \
			for (size_t j = 0; j < rows->width && i > 0; j++)  \
				to[j] = (wide)(to[j] + LOAD(row[j]));      \
		}                                                          \
	}

ADD_ROWS(add_u8, uint8_t, uint8_t, )
ADD_ROWS(add_u16, uint16_t, uint16_t, )
ADD_ROWS(add_u32, uint32_t, uint32_t, )
ADD_ROWS(add_u64, uint64_t, uint64_t, )
ADD_ROWS(add_f32, float, float, )
ADD_ROWS(add_f64, double, double, )
ADD_ROWS(add_f16, uint16_t, float, sp_half_to_float)
ADD_ROWS(add_bf16, uint16_t, float, sp_bfloat16_to_float)

#define SCALE(name, type)                                       \
	static void name(type *sum, const sp_sparse_rows *rows) \
	{                                                       \
		type factor = (type)(1 / divisor(rows));        \
                                                                \
		if (factor == 1)                                \
			return;                                 \
		for (size_t j = 0; j < rows->width; j++)        \
			sum[j] *= factor;                       \
	}

SCALE(scale_f32, float)
SCALE(scale_f64, double)

/*
 * Pools one segment into its row of the output; `scratch` is a row of floats for the 16-bit types.
 */
typedef void pool_rows(void *out, const sp_sparse_rows *rows, float *scratch);

static void pool_f32(void *out, const sp_sparse_rows *rows, float *scratch)
{
	(void)scratch;
	add_f32(out, rows);
	scale_f32(out, rows);
}

void sp_sparse_rows_pool(float *out, const sp_sparse_rows *rows)
{
	pool_f32(out, rows, NULL);
}

static void pool_f64(void *out, const sp_sparse_rows *rows, float *scratch)
{
	(void)scratch;
	add_f64(out, rows);
	scale_f64(out, rows);
}

static void pool_f16(void *out, const sp_sparse_rows *rows, float *scratch)
{
	add_f16(scratch, rows);
	scale_f32(scratch, rows);
	for (size_t j = 0; j < rows->width; j++)
		((uint16_t *)out)[j] = sp_half_from_float(scratch[j]);
}

static void pool_bf16(void *out, const sp_sparse_rows *rows, float *scratch)
{
	add_bf16(scratch, rows);
	scale_f32(scratch, rows);
	for (size_t j = 0; j < rows->width; j++)
		((uint16_t *)out)[j] = sp_bfloat16_from_float(scratch[j]);
}

#define POOL_INTEGER(suffix)                                                             \
	static void pool_##suffix(void *out, const sp_sparse_rows *rows, float *scratch) \
	{                                                                                \
		(void)scratch;                                                           \
		add_##suffix(out, rows);                                                 \
	}

POOL_INTEGER(u8)
POOL_INTEGER(u16)
POOL_INTEGER(u32)
POOL_INTEGER(u64)

static pool_rows *const kernels_of[SP_DTYPE_COUNT] = {
	[SP_INT8] = pool_u8,    [SP_UINT8] = pool_u8,   [SP_INT16] = pool_u16,
	[SP_UINT16] = pool_u16, [SP_INT32] = pool_u32,  [SP_UINT32] = pool_u32,
	[SP_INT64] = pool_u64,  [SP_UINT64] = pool_u64, [SP_FLOAT] = pool_f32,
	[SP_DOUBLE] = pool_f64, [SP_HALF] = pool_f16,   [SP_BFLOAT16] = pool_bf16,
};

typedef struct sparse_segment_state {
	pool_rows *pool;
	sp_combiner combiner;
} sparse_segment_state;

static sp_status prepare_any(sp_prepare *prepare, sp_combiner combiner, const char *types,
			     sp_error *err)
{
	sparse_segment_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "%s", prepare->node->op_name);
	SP_TRY(sp_prepare_types(prepare, types, err));
	dtype = prepare->in_dtypes[0];
	state->pool = dtype < SP_DTYPE_COUNT ? kernels_of[dtype] : NULL;
	state->combiner = combiner;
	if (state->pool == NULL || (combiner != SP_COMBINE_SUM && !sp_dtype_is_floating(dtype)))
		return sp_prepare_unsupported(prepare, dtype, err);
	return SP_OK;
}

static sp_status check_shapes(const sp_call *call)
{
	char text[SP_SHAPE_TEXT_SIZE];

	if (call->in[0]->shape.rank == 0)
		return sp_call_invalid(call, "data must be at least rank 1");
	SP_TRY(sp_call_need_rank(call, 1, 1));
	SP_TRY(sp_call_need_rank(call, 2, 1));
	if (call->in[1]->count != call->in[2]->count)
		return sp_call_invalid(call,
				       "%zu indices and %zu segment_ids should have the same size",
				       call->in[1]->count, call->in[2]->count);
	if (call->in_count > 3 && !sp_tensor_is_scalar(call->in[3]))
		return sp_call_invalid(call, "num_segments should be a scalar, not shape %s",
				       sp_shape_text(&call->in[3]->shape, text));
	return SP_OK;
}

/* Checks all ids and indices, and finds the number of output rows. */
static sp_status check_values(const sp_call *call, const int64_t *indices, const int64_t *ids,
			      int64_t *segments)
{
	int64_t rows = call->in[0]->shape.dims[0];
	size_t count = call->in[1]->count;

	for (size_t i = 0; i < count; i++) {
		if (ids[i] < 0)
			return sp_call_invalid(call, "segment ids must be >= 0, not %lld",
					       (long long)ids[i]);
		if (i > 0 && ids[i] < ids[i - 1])
			return sp_call_invalid(call,
					       "segment ids are not increasing: %lld after %lld",
					       (long long)ids[i], (long long)ids[i - 1]);
		if (indices[i] < 0 || indices[i] >= rows)
			return sp_call_invalid(call, "indices[%zu] == %lld out of range [0, %lld)",
					       i, (long long)indices[i], (long long)rows);
	}
	*segments = 0;
	if (count != 0 &&
	    ids[count - 1] >= (call->in[1]->dtype == SP_INT32 ? INT32_MAX : INT64_MAX))
		return sp_call_invalid(call, "last segment id %lld is too large",
				       (long long)ids[count - 1]);
	if (count != 0)
		*segments = ids[count - 1] + 1;
	if (call->in_count > 3) {
		int64_t wanted = sp_tensor_index(call->in[3], 0);

		if (wanted < *segments)
			return sp_call_invalid(
				call, "segment ids must be < num_segments (%lld), not %lld",
				(long long)wanted, (long long)(*segments - 1));
		*segments = wanted;
	}
	return SP_OK;
}

/* Pools the segments in order; rows between them are zero. */
static void pool_segments(const sp_call *call, sp_sparse_rows *rows, const int64_t *ids,
			  float *scratch)
{
	const sparse_segment_state *state = call->state;
	const int64_t *indices = rows->indices;
	size_t count = call->in[1]->count, end;
	size_t stride = rows->width * sp_dtype_size(call->out[0]->dtype);
	char *out = call->out[0]->data;
	size_t written = 0; /* rows written so far */

	for (size_t start = 0; start < count; start = end) {
		size_t id = (size_t)ids[start];

		end = start + 1;
		while (end < count && ids[end] == ids[start])
			end++;
		rows->indices = indices + start;
		rows->count = end - start;
		memset(out + written * stride, 0, (id - written) * stride);
		state->pool(out + id * stride, rows, scratch);
		written = id + 1;
	}
	memset(out + written * stride, 0, ((size_t)call->out[0]->shape.dims[0] - written) * stride);
}

static sp_status run_any(const sp_call *call)
{
	const sparse_segment_state *state = call->state;
	const sp_tensor *data = call->in[0];
	sp_sparse_rows rows = {.data = data->data, .combiner = state->combiner};
	sp_shape shape = data->shape;
	float *scratch = NULL;
	const int64_t *ids;

	SP_TRY(check_shapes(call));
	SP_TRY(sp_elements__widen(call, call->in[1], &rows.indices));
	SP_TRY(sp_elements__widen(call, call->in[2], &ids));
	SP_TRY(check_values(call, rows.indices, ids, &shape.dims[0]));
	SP_TRY(sp_call_output(call, 0, data->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	rows.width = (size_t)sp_shape_product(&shape, 1, shape.rank);
	if (data->dtype == SP_HALF || data->dtype == SP_BFLOAT16)
		SP_CALL_ARRAY(scratch, call, rows.width);
	pool_segments(call, &rows, ids, scratch);
	return SP_OK;
}

#define SPARSE_SEGMENT(Name, kind, types)                                   \
	static sp_status prepare_##Name(sp_prepare *prepare, sp_error *err) \
	{                                                                   \
		return prepare_any(prepare, kind, types, err);              \
	}                                                                   \
	const sp_op sp_op_##Name = {.name = #Name, .prepare = prepare_##Name, .run = run_any};

SPARSE_SEGMENT(SparseSegmentSum, SP_COMBINE_SUM, "T index index -> T")
SPARSE_SEGMENT(SparseSegmentMean, SP_COMBINE_MEAN, "T index index -> T")
SPARSE_SEGMENT(SparseSegmentSqrtN, SP_COMBINE_SQRTN, "T index index -> T")
SPARSE_SEGMENT(SparseSegmentSumWithNumSegments, SP_COMBINE_SUM, "T index index index -> T")
SPARSE_SEGMENT(SparseSegmentMeanWithNumSegments, SP_COMBINE_MEAN, "T index index index -> T")
SPARSE_SEGMENT(SparseSegmentSqrtNWithNumSegments, SP_COMBINE_SQRTN, "T index index index -> T")
