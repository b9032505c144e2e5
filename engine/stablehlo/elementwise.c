#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/*
 * Elementwise operations.  TensorFlow's operators broadcast their inputs: a broadcast operand is
 * replaced by its source if another input has the full shape, and if all operands are broadcast,
 * the result is computed from the sources and becomes a broadcast itself.
 */

/* The operands as inputs of an operator that broadcasts them. */
typedef struct inputs {
	const char *refs[3];
	sp_dtype dtype;    /* of the first operand */
	bool is_broadcast; /* the result is a broadcast; then: */
	sp_vhlo_type type; /* what the operator makes */
	sp_hlo_value like; /* the value whose shape it is broadcast to */
} inputs;

/* TensorFlow's operators treat these types differently. */
static bool is_float(sp_dtype dtype)
{
	return sp_dtype_is_floating(dtype);
}

static bool is_complex(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128;
}

static bool is_unsigned(sp_dtype dtype)
{
	return dtype == SP_UINT8 || dtype == SP_UINT16 || dtype == SP_UINT32 || dtype == SP_UINT64;
}

/* Broadcasts the dimensions of `into` and `other` with each other, into `into`. */
static void merge_dims(sp_vhlo_type *into, const sp_vhlo_type *other)
{
	int32_t rank = into->rank > other->rank ? into->rank : other->rank;
	sp_vhlo_type merged = *into;

	merged.rank = rank;
	for (int32_t i = 1; i <= rank; i++) {
		int64_t a = i <= into->rank ? into->dims[into->rank - i] : 1;
		int64_t b = i <= other->rank ? other->dims[other->rank - i] : 1;

		merged.dims[rank - i] = a == 1 ? b : b == 1 || b < 0 ? a : b;
	}
	*into = merged;
}

/* A scalar operand of select and clamp applies to all elements. */
static bool is_scalar(sp_hlo *hlo, uint32_t value)
{
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);

	return type->rank == 0;
}

static inputs take_inputs(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	inputs in = {.dtype = sp_hlo__dtype(hlo, op->operands[0]),
		     .is_broadcast = sp_hlo__value_type(hlo, op->first_result)->rank != 0};
	for (size_t i = 0; i < op->operand_count; i++)
		in.is_broadcast &= sp_hlo__is_broadcast(hlo, op->operands[i]) ||
				   is_scalar(hlo, op->operands[i]);
	for (size_t i = 0; i < op->operand_count; i++) {
		uint32_t operand = op->operands[i];
		const sp_vhlo_type *type = sp_hlo__source_type(hlo, operand);

		in.refs[i] = sp_hlo__source(body, operand);
		if (i == 0)
			in.type = *type;
		else
			merge_dims(&in.type, type);
		if (sp_hlo__is_broadcast(hlo, operand))
			in.like = hlo->values[operand];
	}
	/* With scalar operands only, the result is a scalar, not a broadcast. */
	in.is_broadcast &= in.like.is_broadcast;
	return in;
}

/* Stores the result of an operator on `in`. */
static sp_status give(sp_hlo_body *body, const sp_mlir_op *op, inputs *in, const char *ref)
{
	if (!in->is_broadcast)
		return sp_hlo__give(body, op, 0, ref);
	in->type.dtype = sp_hlo__dtype(body->hlo, op->first_result);
	return sp_hlo__give_broadcast(body, op, ref, &in->type, &in->like);
}

static sp_dtype with_sign(sp_dtype dtype, bool is_signed)
{
	static const sp_dtype pairs[][2] = {{SP_UINT8, SP_INT8},
					    {SP_UINT16, SP_INT16},
					    {SP_UINT32, SP_INT32},
					    {SP_UINT64, SP_INT64}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (dtype == pairs[i][0] || dtype == pairs[i][1])
			return pairs[i][is_signed];
	return dtype;
}

static const char *bitcast(sp_hlo_body *body, const char *x, sp_dtype from, sp_dtype to)
{
	sp_hlo_node node;

	if (from == to)
		return x;
	SP_HLO_BEGIN(body, &node, "Bitcast", from, x);
	sp_hlo__type(&node, "type", to);
	return sp_hlo__write(body, &node);
}

/* ------------------------------------------------------------- one operand */

sp_status sp_hlo__apply(sp_hlo_body *body, const sp_mlir_op *op, const char *function)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = in.dtype;
	sp_hlo_node node;

	if (strcmp(function, "Abs") == 0 && is_complex(dtype)) {
		sp_hlo__begin(body, &node, "ComplexAbs", 1);
		sp_hlo__input(&node, in.refs[0]);
		sp_hlo__type(&node, "T", dtype);
		sp_hlo__type(&node, "Tout", dtype == SP_COMPLEX64 ? SP_FLOAT : SP_DOUBLE);
		return give(body, op, &in, sp_hlo__write(body, &node));
	}
	return give(body, op, &in, sp_hlo__unary(body, function, in.refs[0], dtype));
}

sp_status sp_hlo__do_unary(sp_hlo_body *body, const sp_mlir_op *op)
{
	return sp_hlo__apply(body, op, body->rule->op);
}

sp_status sp_hlo__do_negate(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;

	if (!is_unsigned(dtype))
		return sp_hlo__do_unary(body, op);
	in = take_inputs(body, op);
	return give(body, op, &in,
		    sp_hlo__binary(body, "Sub", sp_hlo__number(body, 0, dtype), in.refs[0], dtype));
}

sp_status sp_hlo__do_not(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = in.dtype;
	sp_hlo_node node;

	if (dtype != SP_BOOL)
		return give(body, op, &in, sp_hlo__unary(body, "Invert", in.refs[0], dtype));
	sp_hlo__begin(body, &node, "LogicalNot", 1);
	sp_hlo__input(&node, in.refs[0]);
	return give(body, op, &in, sp_hlo__write(body, &node));
}

/* The cube root of |x|, with the sign of x. */
sp_status sp_hlo__do_cbrt(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;
	const char *size;

	if (!is_float(dtype))
		return sp_hlo__refuse(body->hlo, op, "it is translated for real numbers only");
	in = take_inputs(body, op);
	size = sp_hlo__binary(body, "Pow", sp_hlo__unary(body, "Abs", in.refs[0], dtype),
			      sp_hlo__number(body, 1.0 / 3, dtype), dtype);
	return give(body, op, &in,
		    sp_hlo__binary(body, "Mul", sp_hlo__unary(body, "Sign", in.refs[0], dtype),
				   size, dtype));
}

/* To the nearest integer, halves away from zero; the fraction of |x| is exact. */
sp_status sp_hlo__do_round(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = in.dtype;
	const char *size, *whole, *more;

	size = sp_hlo__unary(body, "Abs", in.refs[0], dtype);
	whole = sp_hlo__unary(body, "Floor", size, dtype);
	more = sp_hlo__binary(body, "GreaterEqual", sp_hlo__binary(body, "Sub", size, whole, dtype),
			      sp_hlo__number(body, 0.5, dtype), dtype);
	whole = sp_hlo__select(
		body, more,
		sp_hlo__binary(body, "AddV2", whole, sp_hlo__number(body, 1, dtype), dtype), whole,
		dtype);
	return give(body, op, &in,
		    sp_hlo__binary(body, "Mul", sp_hlo__unary(body, "Sign", in.refs[0], dtype),
				   whole, dtype));
}

sp_status sp_hlo__do_popcnt(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = in.dtype;

	return give(body, op, &in,
		    sp_hlo__cast(body, sp_hlo__unary(body, "PopulationCount", in.refs[0], dtype),
				 SP_UINT8, dtype));
}

/* Sets all bits below the highest set bit, then counts the clear bits. */
sp_status sp_hlo__do_leading_zeros(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]), plain = with_sign(dtype, false);
	int bits = 8 * (int)sp_dtype_size(dtype);
	const char *x;
	inputs in;

	if (!sp_dtype_is_integer(dtype))
		return sp_hlo__refuse(body->hlo, op, "it is translated for integers only");
	in = take_inputs(body, op);
	x = bitcast(body, in.refs[0], dtype, plain);
	for (int by = 1; by < bits; by *= 2)
		x = sp_hlo__binary(body, "BitwiseOr", x,
				   sp_hlo__binary(body, "RightShift", x,
						  sp_hlo__number(body, by, plain), plain),
				   plain);
	x = sp_hlo__unary(body, "PopulationCount", sp_hlo__unary(body, "Invert", x, plain), plain);
	return give(body, op, &in, sp_hlo__cast(body, x, SP_UINT8, dtype));
}

sp_status sp_hlo__do_reduce_precision(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	int64_t exponent, mantissa;
	sp_hlo_node node;
	inputs in;

	SP_TRY(sp_vhlo_int(&hlo->module, op, "exponent_bits", &exponent, hlo->err));
	SP_TRY(sp_vhlo_int(&hlo->module, op, "mantissa_bits", &mantissa, hlo->err));
	in = take_inputs(body, op);
	SP_HLO_BEGIN(body, &node, "XlaReducePrecision", sp_hlo__dtype(hlo, op->operands[0]),
		     in.refs[0]);
	sp_hlo__int(&node, "exponent_bits", exponent);
	sp_hlo__int(&node, "mantissa_bits", mantissa);
	return give(body, op, &in, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_part(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	sp_hlo_node node;
	inputs in;

	if (!is_complex(dtype))
		return sp_hlo__refuse(body->hlo, op, "it is translated for complex numbers only");
	in = take_inputs(body, op);
	SP_HLO_BEGIN(body, &node, body->rule->op, dtype, in.refs[0]);
	sp_hlo__type(&node, "Tout", sp_hlo__dtype(body->hlo, op->first_result));
	return give(body, op, &in, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_bitcast(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype from = sp_hlo__dtype(body->hlo, op->operands[0]);
	sp_dtype to = sp_hlo__dtype(body->hlo, op->first_result);
	sp_hlo_node node;

	if (sp_dtype_size(from) != sp_dtype_size(to) || from == SP_BOOL || to == SP_BOOL)
		return sp_hlo__refuse(body->hlo, op, "between types of different sizes");
	SP_HLO_BEGIN(body, &node, "Bitcast", from, in.refs[0]);
	sp_hlo__type(&node, "type", to);
	return give(body, op, &in, sp_hlo__write(body, &node));
}

/* ------------------------------------------------------------ two operands */

/* Operators on booleans and bits have no type attribute. */
static const char *binary(sp_hlo_body *body, const inputs *in, sp_dtype dtype)
{
	sp_hlo_node node;

	if (dtype != SP_BOOL)
		return sp_hlo__binary(body, body->rule->op, in->refs[0], in->refs[1], dtype);
	sp_hlo__begin(body, &node, body->rule->bool_op, 2);
	sp_hlo__input(&node, in->refs[0]);
	sp_hlo__input(&node, in->refs[1]);
	if (strcmp(body->rule->bool_op, "NotEqual") == 0)
		sp_hlo__type(&node, "T", SP_BOOL);
	return sp_hlo__write(body, &node);
}

sp_status sp_hlo__do_binary(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;

	if (dtype == SP_BOOL && body->rule->bool_op == NULL)
		return sp_hlo__refuse(body->hlo, op, "it is not translated for booleans");
	if (dtype != SP_BOOL && body->rule->op == NULL)
		return sp_hlo__refuse(body->hlo, op, "it is translated for booleans only");
	in = take_inputs(body, op);
	return give(body, op, &in, binary(body, &in, dtype));
}

/* The operand that is a vector along the last dimension of the other, full one; else -1. */
static int find_bias(sp_hlo *hlo, const sp_mlir_op *op)
{
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);

	if (type->rank < 2 || type->rank > 5 || !is_float(type->dtype))
		return -1;
	for (int i = 0; i < 2; i++) {
		const sp_vhlo_type *source = sp_hlo__source_type(hlo, op->operands[i]);

		if (source->rank == 1 && source->dims[0] > 0 &&
		    source->dims[0] == type->dims[type->rank - 1] &&
		    sp_hlo__is_broadcast(hlo, op->operands[i]) &&
		    !sp_hlo__is_broadcast(hlo, op->operands[1 - i]))
			return i;
	}
	return -1;
}

/* Adding a vector becomes BiasAdd, which is fused with a preceding product. */
sp_status sp_hlo__do_add(sp_hlo_body *body, const sp_mlir_op *op)
{
	int bias = find_bias(body->hlo, op);
	inputs in;

	if (bias < 0)
		return sp_hlo__do_binary(body, op);
	in = take_inputs(body, op);
	return give(
		body, op, &in,
		sp_hlo__binary(body, "BiasAdd", in.refs[1 - bias], in.refs[bias], in.type.dtype));
}

/* max(x, 0) */
sp_status sp_hlo__do_maximum(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;

	if (!is_float(dtype))
		return sp_hlo__do_binary(body, op);
	in = take_inputs(body, op);
	for (int i = 0; i < 2; i++) {
		double value;

		if (!in.is_broadcast && sp_hlo__is_broadcast(body->hlo, op->operands[i]) &&
		    !sp_hlo__is_broadcast(body->hlo, op->operands[1 - i]) &&
		    sp_hlo__known_number(body->hlo, op->operands[i], &value) && value == 0)
			return give(body, op, &in,
				    sp_hlo__unary(body, "Relu", in.refs[1 - i], dtype));
	}
	return give(body, op, &in, binary(body, &in, dtype));
}

/* A constant small enough to examine element by element; NULL for others. */
static const sp_tensor *small_constant(const sp_hlo *hlo, uint32_t number)
{
	enum { MOST = 4096 };
	const sp_tensor *known = sp_hlo__known(hlo, number);

	return known != NULL && known->count <= MOST ? known : NULL;
}

/* Whether no element of a constant equals `value`. */
static bool excludes(const sp_hlo *hlo, uint32_t number, double value)
{
	const sp_tensor *known = small_constant(hlo, number);
	double element;

	for (size_t i = 0; known != NULL && i < known->count; i++)
		if (!sp_hlo__tensor_number(known, i, &element) || element == value)
			return false;
	return known != NULL;
}

/* Integer division by 0 yields -1 and the remainder is the dividend; TensorFlow refuses both. */
static const char *divide_integers(sp_hlo_body *body, const sp_mlir_op *op, const char *name,
				   const inputs *in, sp_dtype dtype, bool is_remainder)
{
	const char *zero, *one, *is_zero, *result;

	if (excludes(body->hlo, op->operands[1], 0))
		return sp_hlo__binary(body, name, in->refs[0], in->refs[1], dtype);
	zero = sp_hlo__number(body, 0, dtype);
	one = sp_hlo__number(body, 1, dtype);
	is_zero = sp_hlo__binary(body, "Equal", in->refs[1], zero, dtype);
	result = sp_hlo__binary(body, name, in->refs[0],
				sp_hlo__select(body, is_zero, one, in->refs[1], dtype), dtype);
	return sp_hlo__select(body, is_zero,
			      is_remainder ? in->refs[0] : sp_hlo__number(body, -1, dtype), result,
			      dtype);
}

sp_status sp_hlo__do_divide(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;

	if (!sp_dtype_is_integer(dtype))
		return sp_hlo__do_binary(body, op);
	in = take_inputs(body, op);
	return give(body, op, &in, divide_integers(body, op, "TruncateDiv", &in, dtype, false));
}

sp_status sp_hlo__do_remainder(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]);
	inputs in;

	if (!sp_dtype_is_integer(dtype))
		return sp_hlo__do_binary(body, op);
	in = take_inputs(body, op);
	return give(body, op, &in, divide_integers(body, op, "TruncateMod", &in, dtype, true));
}

/* ------------------------------------------------------------------ shifts */

static bool stays_below(const sp_hlo *hlo, uint32_t number, double limit)
{
	const sp_tensor *known = small_constant(hlo, number);
	double element;

	for (size_t i = 0; known != NULL && i < known->count; i++)
		if (!sp_hlo__tensor_number(known, i, &element) || element < 0 || element >= limit)
			return false;
	return known != NULL;
}

/* A shift by the bit width or more yields 0 or the sign; TensorFlow clamps the amount. */
sp_status sp_hlo__do_shift(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[0]), as;
	bool is_arithmetic = strcmp(body->rule->name, "shift_right_arithmetic") == 0;
	bool is_left = strcmp(body->rule->name, "shift_left") == 0;
	double bits = 8 * (double)sp_dtype_size(dtype);
	const char *x, *by, *result;
	inputs in;

	if (!sp_dtype_is_integer(dtype))
		return sp_hlo__refuse(body->hlo, op, "it is translated for integers only");
	as = is_left ? dtype : with_sign(dtype, is_arithmetic);
	in = take_inputs(body, op);
	x = bitcast(body, in.refs[0], dtype, as);
	by = bitcast(body, in.refs[1], dtype, as);
	result = sp_hlo__binary(body, body->rule->op, x, by, as);
	if (!stays_below(body->hlo, op->operands[1], bits)) {
		sp_dtype plain = with_sign(dtype, false);
		const char *fits = sp_hlo__binary(body, "Less",
						  bitcast(body, in.refs[1], dtype, plain),
						  sp_hlo__number(body, bits, plain), plain);
		const char *other = is_arithmetic
					    ? sp_hlo__binary(body, body->rule->op, x,
							     sp_hlo__number(body, bits - 1, as), as)
					    : sp_hlo__number(body, 0, as);

		result = sp_hlo__select(body, fits, result, other, as);
	}
	return give(body, op, &in, bitcast(body, result, as, dtype));
}

/* ---------------------------------------------------- comparing and selecting */

/* Maps floats to integers in total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN. */
static const char *ordered(sp_hlo_body *body, const char *x, sp_dtype from, sp_dtype to)
{
	double bits = 8 * (double)sp_dtype_size(to);
	const char *integer = bitcast(body, x, from, to), *sign, *all;

	sign = sp_hlo__binary(body, "RightShift", integer, sp_hlo__number(body, bits - 1, to), to);
	/* For negative numbers, all bits but the sign. */
	all = bitcast(
		body,
		sp_hlo__binary(body, "RightShift", bitcast(body, sign, to, with_sign(to, false)),
			       sp_hlo__number(body, 1, with_sign(to, false)), with_sign(to, false)),
		with_sign(to, false), to);
	return sp_hlo__binary(body, "BitwiseXor", integer, all, to);
}

sp_status sp_hlo__do_compare(sp_hlo_body *body, const sp_mlir_op *op)
{
	static const char *const ops[] = {"Equal",   "NotEqual",  "GreaterEqual",
					  "Greater", "LessEqual", "Less"};
	enum { EQUAL = 0, NOT_EQUAL = 1, TOTAL_ORDER = 2 };
	sp_hlo *hlo = body->hlo;
	sp_dtype dtype = sp_hlo__dtype(hlo, op->operands[0]);
	uint64_t direction, kind;
	inputs in;

	SP_TRY(sp_vhlo_enum(&hlo->module, op, "comparison_direction", &direction, hlo->err));
	SP_TRY(sp_vhlo_enum(&hlo->module, op, "compare_type", &kind, hlo->err));
	if (direction >= sizeof(ops) / sizeof(ops[0]))
		return sp_hlo__refuse(hlo, op, "an unknown direction");
	in = take_inputs(body, op);
	if (kind == TOTAL_ORDER && is_float(dtype)) {
		sp_dtype to = dtype == SP_DOUBLE  ? SP_INT64
			      : dtype == SP_FLOAT ? SP_INT32
						  : SP_INT16;

		in.refs[0] = ordered(body, in.refs[0], dtype, to);
		in.refs[1] = ordered(body, in.refs[1], dtype, to);
		dtype = to;
	}
	if (dtype == SP_BOOL && direction > NOT_EQUAL) {
		in.refs[0] = sp_hlo__cast(body, in.refs[0], SP_BOOL, SP_UINT8);
		in.refs[1] = sp_hlo__cast(body, in.refs[1], SP_BOOL, SP_UINT8);
		dtype = SP_UINT8;
	}
	return give(body, op, &in,
		    sp_hlo__binary(body, ops[direction], in.refs[0], in.refs[1], dtype));
}

sp_status sp_hlo__do_select(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);

	return give(body, op, &in,
		    sp_hlo__select(body, in.refs[0], in.refs[1], in.refs[2],
				   sp_hlo__dtype(body->hlo, op->first_result)));
}

sp_status sp_hlo__do_clamp(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = sp_hlo__dtype(body->hlo, op->operands[1]);

	return give(body, op, &in,
		    sp_hlo__binary(body, "Minimum",
				   sp_hlo__binary(body, "Maximum", in.refs[1], in.refs[0], dtype),
				   in.refs[2], dtype));
}

/* ------------------------------------------------------------- conversions */

/* The powers of two that bound an integer type. */
static void integer_range(sp_dtype dtype, double *low, double *high)
{
	double bits = 8 * (double)sp_dtype_size(dtype);
	double size = 1;

	for (double i = is_unsigned(dtype) ? 0 : 1; i < bits; i++)
		size *= 2;
	*high = size;
	*low = is_unsigned(dtype) ? 0 : -size;
}

/* Saturates: numbers out of range become the nearest integer, NaN becomes 0. */
static const char *to_integer(sp_hlo_body *body, const char *x, sp_dtype from, sp_dtype to)
{
	double low, high;
	const char *wide, *least, *most, *result;
	sp_dtype mid = from == SP_DOUBLE ? SP_DOUBLE : SP_FLOAT;

	integer_range(to, &low, &high);
	wide = sp_hlo__cast(body, x, from, mid);
	result = sp_hlo__cast(body, wide, mid, to);
	/* The smallest and the largest number of the type. */
	least = low == 0 ? sp_hlo__number(body, 0, to)
			 : sp_hlo__cast(body, sp_hlo__number(body, low, SP_DOUBLE), SP_DOUBLE, to);
	most = sp_hlo__unary(body, "Invert", least, to);
	result = sp_hlo__select(
		body,
		sp_hlo__binary(body, "GreaterEqual", wide, sp_hlo__number(body, high, mid), mid),
		most, result, to);
	result = sp_hlo__select(
		body, sp_hlo__binary(body, "LessEqual", wide, sp_hlo__number(body, low, mid), mid),
		least, result, to);
	return sp_hlo__select(body, sp_hlo__binary(body, "NotEqual", wide, wide, mid),
			      sp_hlo__number(body, 0, to), result, to);
}

sp_status sp_hlo__do_convert(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype from = sp_hlo__dtype(body->hlo, op->operands[0]);
	sp_dtype to = sp_hlo__dtype(body->hlo, op->first_result);

	if (is_float(from) && sp_dtype_is_integer(to))
		return give(body, op, &in, to_integer(body, in.refs[0], from, to));
	return give(body, op, &in, sp_hlo__cast(body, in.refs[0], from, to));
}

sp_status sp_hlo__do_complex(sp_hlo_body *body, const sp_mlir_op *op)
{
	inputs in = take_inputs(body, op);
	sp_dtype dtype = in.dtype;
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, body->rule->op, dtype, in.refs[0], in.refs[1]);
	sp_hlo__type(&node, "Tout", sp_hlo__dtype(body->hlo, op->first_result));
	return give(body, op, &in, sp_hlo__write(body, &node));
}

/* Every result is the operand with its number. */
sp_status sp_hlo__do_identity(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;

	if (op->operand_count != op->result_count)
		return sp_hlo__refuse(hlo, op, "it has another number of results than operands");
	for (uint32_t i = 0; i < op->result_count; i++)
		hlo->values[op->first_result + i] = hlo->values[op->operands[i]];
	return hlo->status;
}
