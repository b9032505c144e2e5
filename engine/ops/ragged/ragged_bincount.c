#include "engine/graph/op.h"

#include <string.h>

#include "engine/ops/array/elements.h"
#include "engine/ops/ragged/ragged.h"

/*
 * RaggedBincount: for each row, the number of occurrences of each value below `size`, or the sum of
 * their weights, or whether there is one.  Larger values are dropped.
 */
typedef struct bincount_state {
	bool binary;
} bincount_state;

typedef struct counted {
	sp_splits splits;
	const int64_t *values;
	int64_t size;
	const sp_tensor *weights; /* empty when all weights are 1 */
	bool binary;
} counted;

#define COUNT(name, type, wide)                                                                 \
	static void name(void *out, const counted *c)                                           \
	{                                                                                       \
		const type *weights = c->weights->count != 0 ? c->weights->data : NULL;         \
                                                                                                \
		for (size_t row = 0; row < c->splits.rows; row++) {                             \
			type *bins = (type *)out + row * (size_t)c->size;                       \
                                                                                                \
			for (int64_t i = c->splits.at[row]; i < c->splits.at[row + 1]; i++) {   \
				int64_t bin = c->values[i];                                     \
				type weight = weights != NULL ? weights[i] : 1;                 \
                                                                                                \
				if (bin >= c->size)                                             \
					continue;                                               \
				bins[bin] = c->binary ? 1                                       \
						      : (type)((wide)bins[bin] + (wide)weight); \
			}                                                                       \
		}                                                                               \
	}

COUNT(count_f32, float, float)
COUNT(count_f64, double, double)
COUNT(count_i32, int32_t, uint32_t)
COUNT(count_i64, int64_t, uint64_t)

static sp_status read_inputs(const sp_call *call, counted *c)
{
	const bincount_state *state = call->state;
	const sp_tensor *values = call->in[1];

	if (!sp_tensor_is_scalar(call->in[2]))
		return sp_call_invalid(call, "size must be a scalar, not of rank %d",
				       call->in[2]->shape.rank);
	c->size = sp_tensor_index(call->in[2], 0);
	if (c->size < 0)
		return sp_call_invalid(call, "size (%lld) must be non-negative",
				       (long long)c->size);
	SP_TRY(sp_splits__read(call, 0, (int64_t)values->count, true, &c->splits));
	SP_TRY(sp_elements__widen(call, values, &c->values));
	for (size_t i = 0; i < values->count; i++)
		if (c->values[i] < 0)
			return sp_call_invalid(call, "values must be non-negative, not %lld",
					       (long long)c->values[i]);
	c->weights = call->in[3];
	if (c->weights->count != 0 && c->weights->count != values->count)
		return sp_call_invalid(call, "%zu weights for %zu values", c->weights->count,
				       values->count);
	c->binary = state->binary;
	return SP_OK;
}

static sp_status run_bincount(const sp_call *call)
{
	sp_dtype dtype = call->in[3]->dtype;
	sp_shape shape;
	counted c;

	SP_TRY(read_inputs(call, &c));
	shape = sp_shape_matrix((int64_t)c.splits.rows, c.size);
	SP_TRY(sp_call_output(call, 0, dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(dtype));
	if (dtype == SP_FLOAT)
		count_f32(call->out[0]->data, &c);
	else if (dtype == SP_DOUBLE)
		count_f64(call->out[0]->data, &c);
	else if (dtype == SP_INT32)
		count_i32(call->out[0]->data, &c);
	else
		count_i64(call->out[0]->data, &c);
	return SP_OK;
}

static sp_status prepare_bincount(sp_prepare *prepare, sp_error *err)
{
	bincount_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for RaggedBincount");
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT64, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, prepare->in_dtypes[1], err));
	SP_TRY(sp_node_attr_bool(prepare->node, "binary_output", false, &state->binary, err));
	dtype = prepare->in_dtypes[3];
	if (dtype != SP_INT32 && dtype != SP_INT64 && dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

SP_DEFINE_OP(RaggedBincount, NULL, 0, prepare_bincount, run_bincount);
