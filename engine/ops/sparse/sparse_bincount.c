#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseBincount: DenseBincount (bincount.c) of a sparse vector, or of each row of
 * a sparse matrix.
 */
typedef struct bincount_state {
	bool binary;
} bincount_state;

static sp_status prepare_bincount(sp_prepare *prepare, sp_error *err)
{
	bincount_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 5, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 3, prepare->in_dtypes[1], err));
	SP_TRY(sp_node_attr_bool(prepare->node, "binary_output", false, &state->binary, err));
	dtype = prepare->in_dtypes[4];
	if (dtype != SP_INT32 && dtype != SP_INT64 && dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

/* Adds to bin `at`; integers wrap around. */
#define ADD(type, wide)                                                                   \
	do {                                                                              \
		type *to = (type *)out->data + at;                                        \
		type weight = weights->count != 0 ? ((const type *)weights->data)[i] : 1; \
                                                                                          \
		*to = binary ? (type)1 : (type)((wide)*to + (wide)weight);                \
	} while (0)

static void add(const sp_tensor *out, size_t at, const sp_tensor *weights, size_t i, bool binary)
{
	switch (out->dtype) {
	case SP_INT32:
		ADD(int32_t, uint32_t);
		break;
	case SP_INT64:
		ADD(int64_t, uint64_t);
		break;
	case SP_FLOAT:
		ADD(float, float);
		break;
	default:
		ADD(double, double);
	}
}

static sp_status make_output(const sp_call *call, const sp_sparse *in, int64_t size)
{
	sp_shape shape = in->rank == 1 ? sp_shape_vector(size) : sp_shape_matrix(in->dims[0], size);
	sp_dtype dtype = call->in[4]->dtype;

	SP_TRY(sp_call_output(call, 0, dtype, &shape));
	if (call->out[0]->count != 0)
		memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(dtype));
	return SP_OK;
}

static sp_status run_bincount(const sp_call *call)
{
	const bincount_state *state = call->state;
	const sp_tensor *weights = call->in[4];
	sp_sparse in;
	int64_t size;

	SP_TRY(sp_array__need_rank(call, 3, 0));
	size = sp_tensor_index(call->in[3], 0);
	if (size < 0)
		return sp_call_invalid(call, "size is %lld", (long long)size);
	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	if (in.rank != 1 && in.rank != 2)
		return sp_call_invalid(call, "a sparse tensor of rank %zu", in.rank);
	if (weights->count != 0 && weights->count != in.count)
		return sp_call_invalid(call, "%zu weights for %zu values", weights->count,
				       in.count);
	SP_TRY(make_output(call, &in, size));
	for (size_t i = 0; i < in.count; i++) {
		int64_t bin = sp_tensor_index(in.values, i), row = 0;

		if (in.rank == 2)
			row = in.indices[2 * i];
		if (bin < 0 || row < 0 || (in.rank == 2 && row >= in.dims[0]))
			return sp_call_invalid(call, "value %zu is %lld in row %lld", i,
					       (long long)bin, (long long)row);
		if (bin < size)
			add(call->out[0], (size_t)(row * size + bin), weights, i, state->binary);
	}
	return SP_OK;
}

SP_DEFINE_OP(SparseBincount, NULL, 0, prepare_bincount, run_bincount);
