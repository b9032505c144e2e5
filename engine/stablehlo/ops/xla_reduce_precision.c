#include <string.h>

#include "engine/graph/op.h"

/*
 * XlaReducePrecision: rounds each element to nearest even, as if it had `exponent_bits` bits of
 * exponent and `mantissa_bits` of fraction.  Overflow gives infinity, subnormal results become 0,
 * NaN stays NaN.
 *
 * Source: reduce_precision of the StableHLO specification.
 */
typedef struct precision_state {
	int exponent, mantissa;         /* of the element type */
	int new_exponent, new_mantissa; /* at most those */
} precision_state;

static sp_status prepare_precision(sp_prepare *prepare, sp_error *err)
{
	static const int bits[SP_DTYPE_COUNT][2] = {[SP_FLOAT] = {8, 23},
						    [SP_DOUBLE] = {11, 52},
						    [SP_HALF] = {5, 10},
						    [SP_BFLOAT16] = {8, 7}};
	precision_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t exponent, mantissa;
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	dtype = prepare->in_dtypes[0];
	state->exponent = bits[dtype][0];
	state->mantissa = bits[dtype][1];
	if (state->exponent == 0)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_node_attr_int(prepare->node, "exponent_bits", 0, &exponent, err));
	SP_TRY(sp_node_attr_int(prepare->node, "mantissa_bits", 0, &mantissa, err));
	if (exponent < 1 || mantissa < 0)
		return sp_error_set(err, SP_INVALID, "%lld bits of exponent and %lld of mantissa",
				    (long long)exponent, (long long)mantissa);
	state->new_exponent = exponent < state->exponent ? (int)exponent : state->exponent;
	state->new_mantissa = mantissa < state->mantissa ? (int)mantissa : state->mantissa;
	return SP_OK;
}

/* `bits` of an element, without the sign bit. */
static uint64_t reduce(const precision_state *s, uint64_t bits)
{
	uint64_t infinity = (((uint64_t)1 << s->exponent) - 1) << s->mantissa;
	int cut = s->mantissa - s->new_mantissa;
	int64_t bias = ((int64_t)1 << (s->exponent - 1)) - 1;
	int64_t new_bias = ((int64_t)1 << (s->new_exponent - 1)) - 1, exponent;

	if (bits > infinity)
		return s->new_mantissa != 0 ? bits : infinity;
	if (cut > 0) {
		bits += (((uint64_t)1 << (cut - 1)) - 1) + (bits >> cut & 1);
		bits &= ~(((uint64_t)1 << cut) - 1);
	}
	exponent = (int64_t)(bits >> s->mantissa);
	if (s->new_exponent == s->exponent)
		return bits;
	if (exponent > bias + new_bias)
		return infinity;
	return exponent <= bias - new_bias ? 0 : bits;
}

static sp_status run_precision(const sp_call *call)
{
	const precision_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	uint64_t sign = (uint64_t)1 << (8 * size - 1);

	SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	for (size_t i = 0; i < in->count; i++) {
		uint64_t bits = 0;

		memcpy(&bits, (const char *)in->data + i * size, size);
		bits = reduce(state, bits & (sign - 1)) | (bits & sign);
		memcpy((char *)call->out[0]->data + i * size, &bits, size);
	}
	return SP_OK;
}

SP_DEFINE_OP(XlaReducePrecision, NULL, 0, prepare_precision, run_precision);
