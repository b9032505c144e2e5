#include <tgmath.h>

#include "engine/ops/math/complex.h"
#include "engine/ops/math/unary.h"

/*
 * The elementary functions.  Outside their domain they return what the C library returns (NaN,
 * infinities), as TensorFlow does.
 */
#define NARROW_LOOPS(name, expression)        \
	SP_UNARY_VALUE(f16, name, expression) \
	SP_UNARY_VALUE(bf16, name, expression)

/* As SP_UNARY_ELEMENTARY, but half and bfloat16 use the scalar function, as in TensorFlow. */
#define SINGLY(name, function, expression)               \
	SP_UNARY_FLOAT(name, function)                   \
	NARROW_LOOPS(name, expression)                   \
	SP_UNARY_VALUE(f64, name, expression)            \
	SP_FOR_COMPLEX(SP_UNARY_VALUE, name, expression) \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FIELD(name))

SP_UNARY_FIELD(Sqrt, sqrt(x));

SP_UNARY_FLOAT(Rsqrt, sp_float_rsqrt)
SP_UNARY_NARROW(Rsqrt, sp_float_rsqrt)
SP_UNARY_VALUE(f64, Rsqrt, 1 / sqrt(x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Rsqrt, 1 / sqrt(x))
SP_UNARY_OP(Rsqrt, SP_INVALID_DTYPE, SP_TABLE_FIELD(Rsqrt));
SINGLY(Reciprocal, sp_float_reciprocal, 1 / x);
SINGLY(Inv, sp_float_reciprocal, 1 / x);

SP_UNARY_ELEMENTARY(Exp, sp_float_exp, exp(x));
SP_UNARY_FLOAT(Expm1, sp_float_expm1)
SP_UNARY_NARROW(Expm1, sp_float_expm1)
SP_UNARY_VALUE(f64, Expm1, expm1(x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Expm1, sp_complex__expm1(x))
SP_UNARY_OP(Expm1, SP_INVALID_DTYPE, SP_TABLE_FIELD(Expm1));

SP_UNARY_FLOAT(Log, sp_float_log)
SP_UNARY_NARROW(Log, sp_float_log)
/*
 * Where subnormals are treated as zero (base/float_mode.h), they compare equal to 0, which the C
 * library does not expect: they are replaced by a true 0.
 */
SP_UNARY_VALUE(f64, Log, log(x == 0 ? 0 : x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Log, log(x))
SP_UNARY_OP(Log, SP_INVALID_DTYPE, SP_TABLE_FIELD(Log));
SP_UNARY_FLOAT(Log1p, sp_float_log1p)
SP_UNARY_NARROW(Log1p, sp_float_log1p)
SP_UNARY_VALUE(f64, Log1p, log1p(x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Log1p, sp_complex__log1p(x))
SP_UNARY_OP(Log1p, SP_INVALID_DTYPE, SP_TABLE_FIELD(Log1p));

SP_UNARY_ELEMENTARY(Sin, sp_float_sin, sin(x));
SP_UNARY_ELEMENTARY(Cos, sp_float_cos, cos(x));
SP_UNARY_FIELD(Tan, tan(x));
SINGLY(Asin, sp_float_asin, asin(x));
SINGLY(Acos, sp_float_acos, acos(x));
SINGLY(Atan, sp_float_atan, atan(x));

SP_UNARY_FIELD(Sinh, sinh(x));
SP_UNARY_FIELD(Cosh, cosh(x));
SP_UNARY_ELEMENTARY(Tanh, sp_float_tanh, tanh(x));
SP_UNARY_FIELD(Asinh, asinh(x));
SP_UNARY_FIELD(Acosh, acosh(x));
SINGLY(Atanh, sp_float_atanh, atanh(x));

SP_UNARY_FLOAT(Erf, sp_float_erf)
SP_UNARY_NARROW(Erf, sp_float_erf)
SP_UNARY_VALUE(f64, Erf, erf(x))
SP_UNARY_OP(Erf, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Erf));
SP_UNARY_FLOATING(Erfc, erfc(x));

SP_UNARY_FLOATING(Floor, floor(x));
SP_UNARY_FLOATING(Ceil, ceil(x));
SP_UNARY_FLOATING(Rint, rint(x));

/* Ties to even, the default rounding mode. */
SP_FOR_FLOATING(SP_UNARY_VALUE, Round, rint(x))
SP_FOR_INTEGER(SP_UNARY_VALUE, Round, x)
SP_UNARY_OP(Round, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Round));

/* Cube replaces Pow(x, 3): engine/passes/reduce_strength.h. */
SP_UNARY_VALUE(f32, Cube, (x) * (x) * (x))
SP_UNARY_VALUE(f16, Cube, (x) * (x) * (x))
SP_UNARY_VALUE(bf16, Cube, (x) * (x) * (x))
SP_UNARY_OP(
	Cube,
	SP_INVALID_DTYPE, [SP_FLOAT] = Cube_f32, [SP_HALF] = Cube_f16, [SP_BFLOAT16] = Cube_bf16);
