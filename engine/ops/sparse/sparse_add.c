#include <complex.h>
#include <math.h>
#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/array/element_types.h"
#include "engine/ops/sparse/sparse.h"

/*
 * Merges two sparse tensors of one shape, whose indices must be sorted:
 *
 *   SparseAdd             sums; sums of two values are dropped if their absolute
 *                         value is below `thresh`
 *   SparseSparseMaximum   the larger value; a missing value counts as 0
 *   SparseSparseMinimum   the smaller value; likewise
 *
 * Numerics: integers wrap around; half and bfloat16 are computed in float.
 */
typedef enum merging { SUM, MAXIMUM, MINIMUM } merging;

/* Combines a[i] and b[j] into out[at], with NULL for 0; returns whether the result is kept. */
typedef bool combine_fn(merging kind, const void *a, const void *b, void *out, double thresh);

#define COMBINE(type, magnitude)                                                                   \
	static bool combine_##type(merging kind, const void *a, const void *b, void *out,          \
				   double thresh)                                                  \
	{                                                                                          \
		sp_value_##type x = a == NULL ? 0 : SP_LOAD_##type(*(const sp_element_##type *)a); \
		sp_value_##type y = b == NULL ? 0 : SP_LOAD_##type(*(const sp_element_##type *)b); \
		sp_value_##type z;                                                                 \
                                                                                                   \
		if (kind == SUM)                                                                   \
			z = (sp_value_##type)((sp_wrap_##type)x + (sp_wrap_##type)y);              \
		else if (kind == MAXIMUM)                                                          \
			z = x > y ? x : y;                                                         \
		else                                                                               \
			z = x < y ? x : y;                                                         \
		*(sp_element_##type *)out = SP_STORE_##type(z);                                    \
		return kind != SUM || a == NULL || b == NULL || thresh <= magnitude;               \
	}

SP_FOR_NUMBER(COMBINE, fabs((double)z))

/* Complex numbers can only be added. */
#define COMPLEX(type, ...)                                                                \
	static bool combine_##type(merging kind, const void *a, const void *b, void *out, \
				   double thresh)                                         \
	{                                                                                 \
		sp_element_##type z = (a == NULL ? 0 : *(const sp_element_##type *)a) +   \
				      (b == NULL ? 0 : *(const sp_element_##type *)b);    \
                                                                                          \
		(void)kind;                                                               \
		*(sp_element_##type *)out = z;                                            \
		return a == NULL || b == NULL || thresh <= cabs(z);                       \
	}

SP_FOR_COMPLEX(COMPLEX, )

static combine_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_ARITHMETIC(combine)};

typedef struct merge_state {
	merging kind;
	combine_fn *combine;
} merge_state;

static sp_status prepare_any(sp_prepare *prepare, merging kind, sp_error *err)
{
	merge_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, kind == SUM ? 7 : 6, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	SP_TRY(sp_sparse__prepare(prepare, 3, 5, err));
	dtype = prepare->in_dtypes[1];
	SP_TRY(sp_prepare_input_dtype(prepare, 4, dtype, err));
	state->kind = kind;
	state->combine = kernels[dtype];
	if (state->combine == NULL ||
	    (kind != SUM && (dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128)))
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, kind == SUM ? 3 : 2, SP_INT64, err));
	prepare->out_dtypes[1] = dtype;
	return SP_OK;
}

static sp_status prepare_add(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, SUM, err);
}

static sp_status prepare_maximum(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, MAXIMUM, err);
}

static sp_status prepare_minimum(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, MINIMUM, err);
}

static sp_status read_threshold(const sp_call *call, double *out)
{
	const sp_tensor *t = call->in[6];

	SP_TRY(sp_array__need_rank(call, 6, 0));
	switch (t->dtype) {
	case SP_FLOAT:
		*out = *sp_tensor_f32(t);
		return SP_OK;
	case SP_DOUBLE:
		*out = *sp_tensor_f64(t);
		return SP_OK;
	case SP_HALF:
		*out = sp_half_to_float(*(const uint16_t *)t->data);
		return SP_OK;
	case SP_BFLOAT16:
		*out = sp_bfloat16_to_float(*(const uint16_t *)t->data);
		return SP_OK;
	default:
		*out = (double)sp_element__integer(t, 0);
		return SP_OK;
	}
}

static sp_status check_alike(const sp_call *call, const sp_sparse *a, const sp_sparse *b)
{
	if (a->rank != b->rank)
		return sp_call_invalid(call, "operands of rank %zu and %zu", a->rank, b->rank);
	for (size_t d = 0; d < a->rank; d++)
		if (a->dims[d] != b->dims[d])
			return sp_call_invalid(call, "dimension %zu is %lld and %lld", d,
					       (long long)a->dims[d], (long long)b->dims[d]);
	return SP_OK;
}

/* The merged tensor, with capacity for all values of both. */
typedef struct merged {
	int64_t *indices;
	char *values;
	size_t count;
} merged;

static void merge(const merge_state *state, const sp_sparse *a, const sp_sparse *b, double thresh,
		  merged *m)
{
	size_t i = 0, j = 0, rank = a->rank, size = sp_dtype_size(a->values->dtype);
	const char *x = a->values->data, *y = b->values->data;

	while (i < a->count || j < b->count) {
		int order = i == a->count   ? 1
			    : j == b->count ? -1
					    : sp_sparse__compare(a->indices + i * rank,
								 b->indices + j * rank, rank);

		memcpy(m->indices + m->count * rank,
		       order <= 0 ? a->indices + i * rank : b->indices + j * rank,
		       rank * sizeof(*m->indices));
		m->count += state->combine(state->kind, order <= 0 ? x + i * size : NULL,
					   order >= 0 ? y + j * size : NULL,
					   m->values + m->count * size, thresh);
		i += order <= 0;
		j += order >= 0;
	}
}

static sp_status write_merged(const sp_call *call, const sp_sparse *a, const merged *m)
{
	sp_shape indices = sp_shape_matrix((int64_t)m->count, (int64_t)a->rank);
	sp_shape values = sp_shape_vector((int64_t)m->count);

	SP_TRY(sp_call_output(call, 0, SP_INT64, &indices));
	SP_TRY(sp_call_output(call, 1, a->values->dtype, &values));
	if (m->count == 0)
		return SP_OK;
	memcpy(call->out[0]->data, m->indices, m->count * a->rank * sizeof(*m->indices));
	memcpy(call->out[1]->data, m->values, m->count * sp_dtype_size(a->values->dtype));
	return SP_OK;
}

static sp_status run_merge(const sp_call *call)
{
	const merge_state *state = call->state;
	double thresh = 0;
	sp_sparse a, b;
	merged m = {.count = 0};
	size_t most;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &a));
	SP_TRY(sp_sparse__read(call, 3, 4, 5, &b));
	SP_TRY(check_alike(call, &a, &b));
	if (state->kind == SUM)
		SP_TRY(read_threshold(call, &thresh));
	most = a.count + b.count; /* cannot overflow: both tensors are in memory */
	m.indices = sp_call_bytes(call, most, (a.rank + 1) * sizeof(*m.indices));
	m.values = sp_call_bytes(call, most + 1, sp_dtype_size(a.values->dtype));
	if (m.indices == NULL || m.values == NULL)
		return sp_call_no_memory(call);
	merge(state, &a, &b, thresh, &m);
	SP_TRY(write_merged(call, &a, &m));
	if (state->kind == SUM)
		sp_call_forward(call, 2, 2, &call->in[2]->shape);
	return SP_OK;
}

#define SUM_OUTPUTS "sum_indices sum_values sum_shape"

SP_DEFINE_OP(SparseAdd, SUM_OUTPUTS, 0, prepare_add, run_merge);
SP_DEFINE_OP(SparseSparseMaximum, "output_indices output_values", 0, prepare_maximum, run_merge);
SP_DEFINE_OP(SparseSparseMinimum, "output_indices output_values", 0, prepare_minimum, run_merge);
