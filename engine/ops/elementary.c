#include <tgmath.h>

#include "engine/ops.h"
#include "engine/ops/unary.h"

/*
 * The elementary functions.  What they give outside their domain (NaN,
 * infinities) is what the C library gives, and so does TensorFlow.
 */
SP_UNARY_FLOATING(Sqrt, sqrt(x));
SP_UNARY_FLOATING(Rsqrt, 1 / sqrt(x));
SP_UNARY_FLOATING(Reciprocal, 1 / x);
SP_UNARY_FLOATING(Inv, 1 / x);

SP_UNARY_FLOATING(Exp, exp(x));
SP_UNARY_FLOATING(Expm1, expm1(x));
SP_UNARY_FLOATING(Log, log(x));
SP_UNARY_FLOATING(Log1p, log1p(x));

SP_UNARY_FLOATING(Sin, sin(x));
SP_UNARY_FLOATING(Cos, cos(x));
SP_UNARY_FLOATING(Tan, tan(x));
SP_UNARY_FLOATING(Asin, asin(x));
SP_UNARY_FLOATING(Acos, acos(x));
SP_UNARY_FLOATING(Atan, atan(x));

SP_UNARY_FLOATING(Sinh, sinh(x));
SP_UNARY_FLOATING(Cosh, cosh(x));
SP_UNARY_FLOATING(Tanh, tanh(x));
SP_UNARY_FLOATING(Asinh, asinh(x));
SP_UNARY_FLOATING(Acosh, acosh(x));
SP_UNARY_FLOATING(Atanh, atanh(x));

SP_UNARY_FLOATING(Erf, erf(x));
SP_UNARY_FLOATING(Erfc, erfc(x));

SP_UNARY_FLOATING(Floor, floor(x));
SP_UNARY_FLOATING(Ceil, ceil(x));
SP_UNARY_FLOATING(Rint, rint(x));

/* Halves go to the even neighbour (the default rounding mode); integers are round already. */
SP_FOR_FLOATING(SP_UNARY_VALUE, Round, rint(x))
SP_FOR_INTEGER(SP_UNARY_VALUE, Round, x)
SP_UNARY_OP(Round, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Round));
