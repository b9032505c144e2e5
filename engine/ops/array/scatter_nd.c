#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/nd_index.h"
#include "engine/ops/array/element_types.h"

/*
 * ScatterNd: zeros of a shape, with updates added at the indices.  TensorScatter*: a given tensor
 * instead of zeros, and other operations than addition.
 *
 *     indices [n..., k]
 *     updates [n..., sk, sk+1, ...]
 *     output  [s0, s1, ...]
 *
 * Updates of one element are applied in order.  As in TensorFlow, the sum of strings is their
 * concatenation and that of bools is "or".
 *
 * Numerics: half and bfloat16 are rounded after every update.
 */

typedef enum scatter_mode {
	SCATTER_ADD,
	SCATTER_SUB,
	SCATTER_MAX,
	SCATTER_MIN,
	SCATTER_UPDATE,
} scatter_mode;

typedef void combine_fn(scatter_mode mode, void *to, const void *from, size_t n);

typedef struct scatter_state {
	combine_fn *combine; /* NULL: elements are overwritten */
	size_t parts;        /* numbers in an element: 2 if it is complex */
} scatter_state;

/* Integers wrap around. */
#define COMBINE(type, name)                                                                    \
	static void name##_##type(scatter_mode mode, void *to, const void *from, size_t n)     \
	{                                                                                      \
		sp_element_##type *a = to;                                                     \
		const sp_element_##type *b = from;                                             \
                                                                                               \
		for (size_t i = 0; i < n; i++) {                                               \
			sp_value_##type x = SP_LOAD_##type(a[i]), y = SP_LOAD_##type(b[i]);    \
                                                                                               \
			switch (mode) {                                                        \
			case SCATTER_ADD:                                                      \
				a[i] = SP_STORE_##type((sp_wrap_##type)x + (sp_wrap_##type)y); \
				break;                                                         \
			case SCATTER_SUB:                                                      \
				a[i] = SP_STORE_##type((sp_wrap_##type)x - (sp_wrap_##type)y); \
				break;                                                         \
			case SCATTER_MAX:                                                      \
				a[i] = x < y ? b[i] : a[i];                                    \
				break;                                                         \
			case SCATTER_MIN:                                                      \
				a[i] = y < x ? b[i] : a[i];                                    \
				break;                                                         \
			case SCATTER_UPDATE:                                                   \
				a[i] = b[i];                                                   \
				break;                                                         \
			}                                                                      \
		}                                                                              \
	}

SP_FOR_NUMBER(COMBINE, combine)

static void either(scatter_mode mode, void *to, const void *from, size_t n)
{
	uint8_t *a = to;
	const uint8_t *b = from;

	(void)mode;
	for (size_t i = 0; i < n; i++)
		a[i] |= b[i];
}

static combine_fn *const combines[SP_DTYPE_COUNT] = {
	SP_TABLE_NUMBER(combine), [SP_COMPLEX64] = combine_f32, [SP_COMPLEX128] = combine_f64};

static bool is_complex(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128;
}

/* Picks the typed function for a mode other than overwriting. */
static sp_status choose(sp_prepare *prepare, scatter_mode mode, sp_dtype dtype, sp_error *err)
{
	scatter_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->parts = is_complex(dtype) ? 2 : 1;
	if (mode == SCATTER_UPDATE)
		return SP_OK;
	state->combine = combines[dtype];
	if (state->combine == NULL || (is_complex(dtype) && mode > SCATTER_SUB))
		return sp_prepare_unsupported(prepare, dtype, err);
	return SP_OK;
}

static sp_status prepare_tensor(sp_prepare *prepare, scatter_mode mode, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "E index E -> E", err));
	return choose(prepare, mode, prepare->in_dtypes[0], err);
}

/* Accepts bools as well; their sum is "or". */
static sp_status prepare_non_aliasing(sp_prepare *prepare, sp_error *err)
{
	bool sums = prepare->in_count != 0 && prepare->in_dtypes[0] == SP_BOOL;

	SP_TRY(prepare_tensor(prepare, sums ? SCATTER_UPDATE : SCATTER_ADD, err));
	if (sums)
		((scatter_state *)prepare->state)->combine = either;
	return SP_OK;
}

/* ScatterNd: indices, updates, shape. */
static sp_status prepare_scatter_nd(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "I T I -> T", err));
	dtype = prepare->in_dtypes[1];
	SP_TRY(choose(prepare,
		      dtype == SP_STRING || dtype == SP_BOOL ? SCATTER_UPDATE : SCATTER_ADD, dtype,
		      err));
	if (dtype == SP_BOOL)
		((scatter_state *)prepare->state)->combine = either;
	return SP_OK;
}

/* Makes the index into `shape` and checks that there is a row of updates for each. */
static sp_status check(const sp_call *call, size_t indices_input, size_t updates_input,
		       const sp_shape *shape, size_t places, sp_nd_index *index)
{
	const sp_tensor *indices = call->in[indices_input], *updates = call->in[updates_input];
	char text[SP_SHAPE_TEXT_SIZE], other_text[SP_SHAPE_TEXT_SIZE];
	int outer = indices->shape.rank - 1;
	bool fits;

	SP_TRY(sp_nd_index__make(index, call, indices_input, shape));
	fits = updates->shape.rank >= 1 &&
	       updates->shape.rank - outer == shape->rank - index->depth;
	for (int d = 0; fits && d < updates->shape.rank; d++)
		fits = updates->shape.dims[d] ==
		       (d < outer ? indices->shape.dims[d] : shape->dims[d - outer + index->depth]);
	if (!fits)
		return sp_call_invalid(call, "updates of shape %s do not fit indices of shape %s",
				       sp_shape_text(&updates->shape, text),
				       sp_shape_text(&indices->shape, other_text));
	if (indices->count == 0 && updates->count == 0)
		return SP_OK;
	if (indices->count == 0 || updates->count == 0 || places == 0)
		return sp_call_invalid(call, "updates of shape %s for an output of shape %s",
				       sp_shape_text(&updates->shape, text),
				       sp_shape_text(shape, other_text));
	return SP_OK;
}

static sp_status scatter(const sp_call *call, const sp_nd_index *index, scatter_mode mode,
			 const sp_tensor *updates)
{
	const scatter_state *state = call->state;
	size_t row = index->row_count * sp_dtype_size(updates->dtype);
	char *out = call->out[0]->data;
	const char *from = updates->data;

	if (updates->count == 0)
		return SP_OK;
	for (size_t i = 0; i < index->count; i++) {
		size_t at;

		SP_TRY(sp_nd_index__at(index, call, i, &at));
		if (state->combine == NULL)
			memcpy(out + at * row, from + i * row, row);
		else
			state->combine(mode, out + at * row, from + i * row,
				       index->row_count * state->parts);
	}
	return SP_OK;
}

/*
 * Joins the strings of each element.  Sizes are summed first and each element's bytes are allocated
 * once, so that many updates of one element take linear time.
 */
static sp_status join_strings(const sp_call *call, const sp_nd_index *index,
			      const sp_tensor *updates)
{
	const sp_bytes *from = sp_tensor_strings(updates);
	sp_bytes *out = sp_tensor_strings(call->out[0]);

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; updates->count != 0 && i < index->count; i++) {
			size_t at;

			SP_TRY(sp_nd_index__at(index, call, i, &at));
			for (size_t k = 0; k < index->row_count; k++) {
				sp_bytes *to = &out[at * index->row_count + k];
				sp_bytes text = from[i * index->row_count + k];

				if (round == 1 && text.size != 0)
					memcpy((char *)to->data + to->size, text.data, text.size);
				to->size += text.size;
			}
		}
		for (size_t i = 0; round == 0 && i < call->out[0]->count; i++) {
			if (out[i].size == 0)
				continue;
			SP_CALL_BYTES(out[i].data, call, out[i].size, 1);
			out[i].size = 0;
		}
	}
	return SP_OK;
}

static sp_status run_scatter_nd(const sp_call *call)
{
	const sp_tensor *updates = call->in[1], *out = call->out[0];
	sp_nd_index index;
	sp_shape shape;
	size_t count;

	SP_TRY(sp_array__shape(call, 2, false, &shape));
	if (!sp_shape_count(&shape, &count))
		return sp_call_invalid(call, "the wanted shape is too large");
	SP_TRY(check(call, 0, 1, &shape, count, &index));
	SP_TRY(sp_call_output(call, 0, updates->dtype, &shape));
	memset(out->data, 0, out->count * sp_dtype_size(out->dtype));
	if (updates->dtype == SP_STRING)
		return join_strings(call, &index, updates);
	return scatter(call, &index, SCATTER_ADD, updates);
}

static sp_status run_tensor(const sp_call *call, scatter_mode mode)
{
	const sp_tensor *in = call->in[0], *updates = call->in[2];
	sp_nd_index index;

	SP_TRY(check(call, 1, 2, &in->shape, in->count, &index));
	SP_TRY(sp_array__take_over(call,
				   in->data == updates->data || in->data == call->in[1]->data));
	return scatter(call, &index, mode, updates);
}

#define TENSOR_SCATTER(op, mode)                                          \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		return prepare_tensor(prepare, mode, err);                \
	}                                                                 \
	static sp_status run_##op(const sp_call *call)                    \
	{                                                                 \
		return run_tensor(call, mode);                            \
	}                                                                 \
	const sp_op sp_op_##op = {.name = #op, .prepare = prepare_##op, .run = run_##op}

TENSOR_SCATTER(TensorScatterAdd, SCATTER_ADD);
TENSOR_SCATTER(TensorScatterMax, SCATTER_MAX);
TENSOR_SCATTER(TensorScatterMin, SCATTER_MIN);
TENSOR_SCATTER(TensorScatterSub, SCATTER_SUB);
TENSOR_SCATTER(TensorScatterUpdate, SCATTER_UPDATE);

SP_DEFINE_OP(ScatterNdNonAliasingAdd, NULL, 0, prepare_non_aliasing, run_TensorScatterAdd);
SP_DEFINE_OP(ScatterNd, NULL, 0, prepare_scatter_nd, run_scatter_nd);
