#include "engine/ops/array/array.h"

/*
 * Bucketize: for each number the count of boundaries (a sorted attribute) that are less than or
 * equal to it.  NaN gets the count of all boundaries.  (BoostedTreesBucketize in quantile_streams.c
 * counts the boundaries below the number.)
 *
 * Numerics: boundaries are float32; double is compared in double, other types in float32.
 */

typedef struct bucketize_state {
	const float *boundaries;
	size_t count;
} bucketize_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	bucketize_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_attr *boundaries;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "N -> int32", err));
	SP_TRY(sp_node_attr_list(prepare->node, "boundaries", SP_ATTR_FLOAT, &boundaries, err));
	state->boundaries = boundaries->f_list;
	state->count = boundaries->count;
	for (size_t i = 1; i < state->count; i++)
		if (state->boundaries[i] < state->boundaries[i - 1])
			return sp_error_set(
				err, SP_INVALID, "boundaries are not sorted: %g before %g",
				(double)state->boundaries[i - 1], (double)state->boundaries[i]);
	return SP_OK;
}

/* The first boundary above x; a comparison with NaN is false, so it finds none. */
#define BUCKET(T, wide)                                             \
	for (size_t i = 0; i < in->count; i++) {                    \
		wide x = (wide)((const T *)in->data)[i];            \
		size_t first = 0, last = state->count;              \
                                                                    \
		while (first < last) {                              \
			size_t middle = first + (last - first) / 2; \
                                                                    \
			if (x < (wide)state->boundaries[middle])    \
				last = middle;                      \
			else                                        \
				first = middle + 1;                 \
		}                                                   \
		out[i] = (int32_t)first;                            \
	}

static sp_status run(const sp_call *call)
{
	const bucketize_state *state = call->state;
	const sp_tensor *in = call->in[0];
	int32_t *out;

	SP_TRY(sp_call_output(call, 0, SP_INT32, &in->shape));
	out = sp_tensor_i32(call->out[0]);
	switch (in->dtype) {
	case SP_INT32:
		BUCKET(int32_t, float);
		break;
	case SP_INT64:
		BUCKET(int64_t, float);
		break;
	case SP_FLOAT:
		BUCKET(float, float);
		break;
	default:
		BUCKET(double, double);
		break;
	}
	return SP_OK;
}

SP_DEFINE_OP(Bucketize, NULL, 0, prepare, run);
