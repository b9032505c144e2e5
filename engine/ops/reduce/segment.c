#include "engine/graph/op.h"

#include <complex.h>
#include <float.h>

#include "engine/ops/array/elements.h"

/*
 * Segment reductions: rows of `data` with the same id are combined into one row.
 *
 * Two families share the kernels.  With sorted ids the first row of a segment
 * is copied and the others are combined with it; with unsorted ids every row
 * is combined with an initial value, and rows with negative ids are dropped.
 *
 * Numerics: rows are combined in order, in the element type; half and bfloat16 round after every
 * step, as in TensorFlow.  In a maximum or minimum the next row replaces a NaN accumulated so far.
 */
typedef struct segment_rows {
	const int64_t *ids; /* [count] */
	size_t count;
	size_t width; /* elements of a row */
	bool sorted;
} segment_rows;

typedef void combine_rows(void *out, const void *data, const segment_rows *rows);

#define COMBINE(name, type, wide, LOAD, STORE, expression)                        \
	static void name(void *out, const void *data, const segment_rows *rows)   \
	{                                                                         \
		size_t width = rows->width;                                       \
                                                                                  \
		for (size_t i = 0; i < rows->count; i++) {                        \
			const type *from = (const type *)data + i * width;        \
			int64_t id = rows->ids[i];                                \
			type *to;                                                 \
                                                                                  \
			if (id < 0)                                               \
				continue;                                         \
			to = (type *)out + (size_t)id * width;                    \
			if (rows->sorted && (i == 0 || id != rows->ids[i - 1])) { \
				memcpy(to, from, width * sizeof(type));           \
				continue;                                         \
			}                                                         \
			for (size_t j = 0; j < width; j++) {                      \
				wide a = LOAD(to[j]), b = LOAD(from[j]);          \
                                                                                  \
				to[j] = STORE(expression);                        \
			}                                                         \
		}                                                                 \
	}

#define SUM_AND_PRODUCT(suffix, type, wide, LOAD, STORE)      \
	COMBINE(sum_##suffix, type, wide, LOAD, STORE, a + b) \
	COMBINE(product_##suffix, type, wide, LOAD, STORE, (a) * (b))

#define MAX_AND_MIN(suffix, type, wide, LOAD, STORE)                  \
	COMBINE(max_##suffix, type, wide, LOAD, STORE, a > b ? a : b) \
	COMBINE(min_##suffix, type, wide, LOAD, STORE, a < b ? a : b)

/* Integers wrap around, so they are computed in the unsigned type. */
SUM_AND_PRODUCT(u8, uint8_t, uint64_t, , (uint8_t))
SUM_AND_PRODUCT(u16, uint16_t, uint64_t, , (uint16_t))
SUM_AND_PRODUCT(u32, uint32_t, uint64_t, , (uint32_t))
SUM_AND_PRODUCT(u64, uint64_t, uint64_t, , )
SUM_AND_PRODUCT(f32, float, float, , )
SUM_AND_PRODUCT(f64, double, double, , )
SUM_AND_PRODUCT(c64, float complex, float complex, , )
SUM_AND_PRODUCT(c128, double complex, double complex, , )
SUM_AND_PRODUCT(f16, uint16_t, float, sp_half_to_float, sp_half_from_float)
SUM_AND_PRODUCT(bf16, uint16_t, float, sp_bfloat16_to_float, sp_bfloat16_from_float)

MAX_AND_MIN(i8, int8_t, int8_t, , )
MAX_AND_MIN(i16, int16_t, int16_t, , )
MAX_AND_MIN(i32, int32_t, int32_t, , )
MAX_AND_MIN(i64, int64_t, int64_t, , )
MAX_AND_MIN(u8, uint8_t, uint8_t, , )
MAX_AND_MIN(u16, uint16_t, uint16_t, , )
MAX_AND_MIN(u32, uint32_t, uint32_t, , )
MAX_AND_MIN(u64, uint64_t, uint64_t, , )
MAX_AND_MIN(f32, float, float, , )
MAX_AND_MIN(f64, double, double, , )
MAX_AND_MIN(f16, uint16_t, float, sp_half_to_float, sp_half_from_float)
MAX_AND_MIN(bf16, uint16_t, float, sp_bfloat16_to_float, sp_bfloat16_from_float)

/* Divides a row, the sum of `count` rows, by `count`. */
typedef void divide_row(void *row, size_t width, size_t count);

#define DIVIDE(suffix, type, wide, LOAD, STORE)                            \
	static void divide_##suffix(void *row, size_t width, size_t count) \
	{                                                                  \
		type *to = row;                                            \
                                                                           \
		for (size_t j = 0; j < width; j++)                         \
			to[j] = STORE(LOAD(to[j]) / (wide)count);          \
	}

DIVIDE(i8, int8_t, int64_t, , (int8_t))
DIVIDE(i16, int16_t, int64_t, , (int16_t))
DIVIDE(i32, int32_t, int64_t, , (int32_t))
DIVIDE(i64, int64_t, int64_t, , )
DIVIDE(u8, uint8_t, uint64_t, , (uint8_t))
DIVIDE(u16, uint16_t, uint64_t, , (uint16_t))
DIVIDE(u32, uint32_t, uint64_t, , (uint32_t))
DIVIDE(u64, uint64_t, uint64_t, , )
DIVIDE(f32, float, float, , )
DIVIDE(f64, double, double, , )
DIVIDE(c64, float complex, float, , )
DIVIDE(c128, double complex, double, , )

/* The count is rounded to the element type too, as TensorFlow does. */
#define DIVIDE_SHORT(suffix, LOAD, STORE)                                  \
	static void divide_##suffix(void *row, size_t width, size_t count) \
	{                                                                  \
		uint16_t *to = row;                                        \
		float by = LOAD(STORE((float)count));                      \
                                                                           \
		for (size_t j = 0; j < width; j++)                         \
			to[j] = STORE(LOAD(to[j]) / by);                   \
	}

DIVIDE_SHORT(f16, sp_half_to_float, sp_half_from_float)
DIVIDE_SHORT(bf16, sp_bfloat16_to_float, sp_bfloat16_from_float)

typedef enum reduction { SUM, MEAN, PRODUCT, MAX, MIN } reduction;

/* The kernels of one element type. */
typedef struct element_kernels {
	combine_rows *sum, *product, *max, *min;
	divide_row *divide;
	size_t largest_count; /* the largest divisor of a mean; 0: any */
	const void *one, *lowest, *highest;
} element_kernels;

#define INTEGER(suffix, as_unsigned, type, low, high)                                            \
	&(const element_kernels)                                                                 \
	{                                                                                        \
		.sum = sum_##as_unsigned, .product = product_##as_unsigned, .max = max_##suffix, \
		.min = min_##suffix, .divide = divide_##suffix, .largest_count = (size_t)(high), \
		.one = &(const type){1}, .lowest = &(const type){low},                           \
		.highest = &(const type){high},                                                  \
	}

#define FLOATING(suffix, type, unit, low, high)                                             \
	&(const element_kernels)                                                            \
	{                                                                                   \
		.sum = sum_##suffix, .product = product_##suffix, .max = max_##suffix,      \
		.min = min_##suffix, .divide = divide_##suffix, .one = &(const type){unit}, \
		.lowest = &(const type){low}, .highest = &(const type){high},               \
	}

#define COMPLEX(suffix, type)                                                                \
	&(const element_kernels)                                                             \
	{                                                                                    \
		.sum = sum_##suffix, .product = product_##suffix, .divide = divide_##suffix, \
		.one = &(const type){1},                                                     \
	}

static const element_kernels *const kernels_of[SP_DTYPE_COUNT] = {
	[SP_INT8] = INTEGER(i8, u8, int8_t, INT8_MIN, INT8_MAX),
	[SP_INT16] = INTEGER(i16, u16, int16_t, INT16_MIN, INT16_MAX),
	[SP_INT32] = INTEGER(i32, u32, int32_t, INT32_MIN, INT32_MAX),
	[SP_INT64] = INTEGER(i64, u64, int64_t, INT64_MIN, INT64_MAX),
	[SP_UINT8] = INTEGER(u8, u8, uint8_t, 0, UINT8_MAX),
	[SP_UINT16] = INTEGER(u16, u16, uint16_t, 0, UINT16_MAX),
	[SP_UINT32] = INTEGER(u32, u32, uint32_t, 0, UINT32_MAX),
	[SP_UINT64] = INTEGER(u64, u64, uint64_t, 0, UINT64_MAX),
	[SP_FLOAT] = FLOATING(f32, float, 1, -FLT_MAX, FLT_MAX),
	[SP_DOUBLE] = FLOATING(f64, double, 1, -DBL_MAX, DBL_MAX),
	[SP_HALF] = FLOATING(f16, uint16_t, 0x3c00, 0xfbff, 0x7bff),
	[SP_BFLOAT16] = FLOATING(bf16, uint16_t, 0x3f80, 0xff7f, 0x7f7f),
	[SP_COMPLEX64] = COMPLEX(c64, float complex),
	[SP_COMPLEX128] = COMPLEX(c128, double complex),
};

typedef struct segment_state {
	combine_rows *combine;
	divide_row *divide; /* for a mean, else NULL */
	size_t largest_count;
	const void *initial; /* the value of a segment without rows */
} segment_state;

static const unsigned char zeros[16];

static void pick(segment_state *state, const element_kernels *kernels, reduction kind, bool sorted)
{
	state->initial = zeros;
	switch (kind) {
	case MEAN:
		state->divide = kernels->divide;
		state->largest_count = kernels->largest_count;
		state->combine = kernels->sum;
		return;
	case SUM:
		state->combine = kernels->sum;
		return;
	case PRODUCT:
		state->combine = kernels->product;
		state->initial = kernels->one;
		return;
	case MAX:
		state->combine = kernels->max;
		state->initial = sorted ? zeros : kernels->lowest;
		return;
	case MIN:
		state->combine = kernels->min;
		state->initial = sorted ? zeros : kernels->highest;
		return;
	}
}

static sp_status prepare_any(sp_prepare *prepare, reduction kind, bool sorted, sp_error *err)
{
	segment_state *state = sp_prepare_state(prepare, sizeof(*state));
	const element_kernels *kernels;
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "%s", prepare->node->op_name);
	SP_TRY(sp_prepare_inputs(prepare, sorted ? 2 : 3, err));
	if (sorted || prepare->in_dtypes[1] != SP_INT16)
		SP_TRY(sp_prepare_input_index(prepare, 1, err));
	if (!sorted)
		SP_TRY(sp_prepare_input_index(prepare, 2, err));
	dtype = prepare->in_dtypes[0];
	kernels = dtype < SP_DTYPE_COUNT ? kernels_of[dtype] : NULL;
	if (kernels != NULL)
		pick(state, kernels, kind, sorted);
	if (state->combine == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

/* Makes output 0, [segments] + dims of `data` from `first` on, filled with the initial value. */
static sp_status make_output(const sp_call *call, int64_t segments, int first, size_t *width)
{
	const segment_state *state = call->state;
	const sp_tensor *data = call->in[0];
	sp_shape shape = {.rank = 1, .dims = {segments}};

	if (data->shape.rank - first >= SP_MAX_RANK)
		return sp_call_invalid(call, "the output would be of rank %d",
				       data->shape.rank - first + 1);
	for (int i = first; i < data->shape.rank; i++)
		shape.dims[shape.rank++] = data->shape.dims[i];
	SP_TRY(sp_call_output(call, 0, data->dtype, &shape));
	*width = (size_t)sp_shape_product(&shape, 1, shape.rank);
	sp_elements__fill(call->out[0]->data, call->out[0]->count, state->initial,
			  sp_dtype_size(data->dtype));
	return SP_OK;
}

/* ----------------------------------------------------------------- sorted */

static sp_status check_sorted(const sp_call *call, const int64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ids[i] < 0)
			return sp_call_invalid(call, "segment ids must be >= 0, not %lld",
					       (long long)ids[i]);
		if (i > 0 && ids[i] < ids[i - 1])
			return sp_call_invalid(call, "segment ids are not sorted: %lld after %lld",
					       (long long)ids[i], (long long)ids[i - 1]);
	}
	if (count != 0 && ids[count - 1] == INT64_MAX)
		return sp_call_invalid(call, "segment id %lld is too large",
				       (long long)ids[count - 1]);
	return SP_OK;
}

static sp_status divide_by_counts(const sp_call *call, const segment_rows *rows)
{
	const segment_state *state = call->state;
	size_t stride = rows->width * sp_dtype_size(call->out[0]->dtype), end;

	for (size_t start = 0; start < rows->count; start = end) {
		end = start + 1;
		while (end < rows->count && rows->ids[end] == rows->ids[start])
			end++;
		if (state->largest_count != 0 && end - start > state->largest_count)
			return sp_call_invalid(call, "%s cannot count the %zu rows of segment %lld",
					       sp_dtype_name(call->out[0]->dtype), end - start,
					       (long long)rows->ids[start]);
		if (end - start > 1)
			state->divide((char *)call->out[0]->data +
					      (size_t)rows->ids[start] * stride,
				      rows->width, end - start);
	}
	return SP_OK;
}

static sp_status run_sorted(const sp_call *call)
{
	const segment_state *state = call->state;
	const sp_tensor *data = call->in[0], *ids = call->in[1];
	segment_rows rows = {.count = ids->count, .sorted = true};

	if (data->shape.rank == 0)
		return sp_call_invalid(call, "input must be at least rank 1");
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (ids->shape.dims[0] != data->shape.dims[0])
		return sp_call_invalid(call, "%zu segment ids for %lld rows", ids->count,
				       (long long)data->shape.dims[0]);
	SP_TRY(sp_elements__widen(call, ids, &rows.ids));
	SP_TRY(check_sorted(call, rows.ids, rows.count));
	SP_TRY(make_output(call, rows.count != 0 ? rows.ids[rows.count - 1] + 1 : 0, 1,
			   &rows.width));
	if (call->out[0]->count == 0)
		return SP_OK;
	state->combine(call->out[0]->data, data->data, &rows);
	return state->divide != NULL ? divide_by_counts(call, &rows) : SP_OK;
}

/* --------------------------------------------------------------- unsorted */

static sp_status check_unsorted(const sp_call *call, int64_t *segments)
{
	const sp_tensor *data = call->in[0], *ids = call->in[1];
	char want[SP_SHAPE_TEXT_SIZE], have[SP_SHAPE_TEXT_SIZE];
	bool starts = ids->shape.rank <= data->shape.rank;

	SP_TRY(sp_call_need_rank(call, 2, 0));
	for (int i = 0; starts && i < ids->shape.rank; i++)
		starts = ids->shape.dims[i] == data->shape.dims[i];
	if (!starts)
		return sp_call_invalid(
			call, "data.shape = %s does not start with segment_ids.shape = %s",
			sp_shape_text(&data->shape, have), sp_shape_text(&ids->shape, want));
	*segments = sp_tensor_index(call->in[2], 0);
	if (*segments < 0)
		return sp_call_invalid(call, "num_segments == %lld must not be negative",
				       (long long)*segments);
	return SP_OK;
}

static sp_status run_unsorted(const sp_call *call)
{
	const segment_state *state = call->state;
	const sp_tensor *data = call->in[0], *ids = call->in[1];
	segment_rows rows = {.count = ids->count};
	int64_t segments = 0;

	SP_TRY(check_unsorted(call, &segments));
	SP_TRY(sp_elements__widen(call, ids, &rows.ids));
	SP_TRY(make_output(call, segments, ids->shape.rank, &rows.width));
	if (data->count == 0)
		return SP_OK;
	for (size_t i = 0; i < rows.count; i++)
		if (rows.ids[i] >= segments)
			return sp_call_invalid(call, "segment_ids[%zu] is %lld, not in [0, %lld)",
					       i, (long long)rows.ids[i], (long long)segments);
	state->combine(call->out[0]->data, data->data, &rows);
	return SP_OK;
}

#define SEGMENT(Name, kind, is_sorted, run_any)                             \
	static sp_status prepare_##Name(sp_prepare *prepare, sp_error *err) \
	{                                                                   \
		return prepare_any(prepare, kind, is_sorted, err);          \
	}                                                                   \
	const sp_op sp_op_##Name = {.name = #Name, .prepare = prepare_##Name, .run = run_any};

SEGMENT(SegmentSum, SUM, true, run_sorted)
SEGMENT(SegmentMean, MEAN, true, run_sorted)
SEGMENT(SegmentProd, PRODUCT, true, run_sorted)
SEGMENT(SegmentMax, MAX, true, run_sorted)
SEGMENT(SegmentMin, MIN, true, run_sorted)
SEGMENT(UnsortedSegmentSum, SUM, false, run_unsorted)
SEGMENT(UnsortedSegmentProd, PRODUCT, false, run_unsorted)
SEGMENT(UnsortedSegmentMax, MAX, false, run_unsorted)
SEGMENT(UnsortedSegmentMin, MIN, false, run_unsorted)
