#include <string.h>

#include "engine/ops/array/elements.h"
#include "engine/ops/math/list_sum.h"

/*
 * ZerosLike and OnesLike: a tensor of the input's shape and type, filled with 0 or 1.  The zero of
 * strings is the empty string; OnesLike takes no strings.  The zero of a list is a list of zeros
 * (engine/ops/math/list_sum.h).
 */
typedef struct like_state {
	size_t size; /* of an element */
	char one[16];
} like_state;

static sp_status prepare_like(sp_prepare *prepare, like_state **state, sp_error *err)
{
	sp_dtype dtype;

	*state = sp_prepare_state(prepare, sizeof(**state));
	SP_NEED_MEMORY(*state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	dtype = prepare->in_dtypes[0];
	(*state)->size = sp_dtype_size(dtype);
	if ((*state)->size == 0 || dtype == SP_RESOURCE)
		return sp_prepare_unsupported(prepare, dtype, err);
	return SP_OK;
}

static sp_status prepare_zeros(sp_prepare *prepare, sp_error *err)
{
	like_state *state;

	if (prepare->in_count == 1 && prepare->in_dtypes[0] == SP_VARIANT)
		return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
	return prepare_like(prepare, &state, err);
}

/* The bytes of the number 1, little-endian; false for a type that has no 1. */
static bool one_of(sp_dtype dtype, char *bytes)
{
	uint64_t integer = 1;

	switch (dtype) {
	case SP_FLOAT:
	case SP_COMPLEX64:
		memcpy(bytes, &(float){1}, sizeof(float));
		return true;
	case SP_DOUBLE:
	case SP_COMPLEX128:
		memcpy(bytes, &(double){1}, sizeof(double));
		return true;
	case SP_HALF:
		memcpy(bytes, &(uint16_t){sp_half_from_float(1)}, sizeof(uint16_t));
		return true;
	case SP_BFLOAT16:
		memcpy(bytes, &(uint16_t){sp_bfloat16_from_float(1)}, sizeof(uint16_t));
		return true;
	default:
		memcpy(bytes, &integer, sizeof(integer));
		return sp_dtype_is_integer(dtype) || dtype == SP_BOOL;
	}
}

static sp_status prepare_ones(sp_prepare *prepare, sp_error *err)
{
	like_state *state;

	SP_TRY(prepare_like(prepare, &state, err));
	if (!one_of(prepare->in_dtypes[0], state->one))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return SP_OK;
}

static sp_status run_like(const sp_call *call)
{
	const like_state *state = call->state;

	SP_TRY(sp_call_output_over(call, 0, 0, call->in[0]->dtype));
	sp_elements__fill(call->out[0]->data, call->out[0]->count, state->one, state->size);
	return SP_OK;
}

static sp_status run_zeros(const sp_call *call)
{
	return call->in[0]->dtype == SP_VARIANT ? sp_list__zeros_like(call) : run_like(call);
}

SP_DEFINE_OP(ZerosLike, NULL, 0, prepare_zeros, run_zeros);
SP_DEFINE_OP(OnesLike, NULL, 0, prepare_ones, run_like);
