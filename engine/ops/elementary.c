#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops.h"
#include "engine/ops/complex.h"
#include "engine/ops/unary.h"

/*
 * The elementary functions.  What they give outside their domain (NaN,
 * infinities) is what the C library gives, and so does TensorFlow.
 */
#define FOR_OTHERS(KERNEL, ...)  \
	KERNEL(f64, __VA_ARGS__) \
	KERNEL(f16, __VA_ARGS__) \
	KERNEL(bf16, __VA_ARGS__)

SP_UNARY_FIELD(Sqrt, sqrt(x));
SP_UNARY_ELEMENTARY(Rsqrt, sp_float_rsqrt, 1 / sqrt(x));
SP_UNARY_ELEMENTARY(Reciprocal, sp_float_reciprocal, 1 / x);
SP_UNARY_ELEMENTARY(Inv, sp_float_reciprocal, 1 / x);

SP_UNARY_ELEMENTARY(Exp, sp_float_exp, exp(x));
SP_UNARY_FLOAT(Expm1, sp_float_expm1)
FOR_OTHERS(SP_UNARY_VALUE, Expm1, expm1(x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Expm1, sp_complex__expm1(x))
SP_UNARY_OP(Expm1, SP_INVALID_DTYPE, SP_TABLE_FIELD(Expm1));

SP_UNARY_ELEMENTARY(Log, sp_float_log, log(x));
SP_UNARY_FLOAT(Log1p, sp_float_log1p)
FOR_OTHERS(SP_UNARY_VALUE, Log1p, log1p(x))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Log1p, sp_complex__log1p(x))
SP_UNARY_OP(Log1p, SP_INVALID_DTYPE, SP_TABLE_FIELD(Log1p));

SP_UNARY_ELEMENTARY(Sin, sp_float_sin, sin(x));
SP_UNARY_ELEMENTARY(Cos, sp_float_cos, cos(x));
SP_UNARY_FIELD(Tan, tan(x));
SP_UNARY_ELEMENTARY(Asin, sp_float_asin, asin(x));
SP_UNARY_ELEMENTARY(Acos, sp_float_acos, acos(x));
SP_UNARY_ELEMENTARY(Atan, sp_float_atan, atan(x));

SP_UNARY_FIELD(Sinh, sinh(x));
SP_UNARY_FIELD(Cosh, cosh(x));
SP_UNARY_ELEMENTARY(Tanh, sp_float_tanh, tanh(x));
SP_UNARY_FIELD(Asinh, asinh(x));
SP_UNARY_FIELD(Acosh, acosh(x));
SP_UNARY_ELEMENTARY(Atanh, sp_float_atanh, atanh(x));

SP_UNARY_FLOAT(Erf, sp_float_erf)
FOR_OTHERS(SP_UNARY_VALUE, Erf, erf(x))
SP_UNARY_OP(Erf, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Erf));
SP_UNARY_FLOATING(Erfc, erfc(x));

SP_UNARY_FLOATING(Floor, floor(x));
SP_UNARY_FLOATING(Ceil, ceil(x));
SP_UNARY_FLOATING(Rint, rint(x));

/* Halves go to the even neighbour (the default rounding mode); integers are round already. */
SP_FOR_FLOATING(SP_UNARY_VALUE, Round, rint(x))
SP_FOR_INTEGER(SP_UNARY_VALUE, Round, x)
SP_UNARY_OP(Round, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Round));

/* Pow(x, 3), once engine/reduce_strength.h has seen to it. */
SP_UNARY_VALUE(f32, _Cube, (x) * (x) * (x))
SP_UNARY_OP(_Cube, SP_INVALID_DTYPE, [SP_FLOAT] = _Cube_f32);
