#include <tgmath.h>

#include "engine/ops/math/unary.h"

/*
 * Abs, Neg, Sign, Square and Invert.  Integers wrap around: the absolute value of
 * the most negative number is itself.
 */
SP_FOR_FLOATING(SP_UNARY_VALUE, Abs, fabs(x))
#define ABSOLUTE(type, name) SP_UNARY_WRAP(type, name, (sp_element_##type)x < 0 ? 0 - x : x)
SP_FOR_SIGNED(ABSOLUTE, Abs)
SP_UNARY_OP(Abs, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Abs), SP_TABLE_SIGNED(Abs));

SP_FOR_FIELD(SP_UNARY_VALUE, Neg, -x)
SP_FOR_INTEGER(SP_UNARY_WRAP, Neg, 0 - x)
SP_UNARY_OP(Neg, SP_INVALID_DTYPE, SP_TABLE_ARITHMETIC(Neg));

/* NaN stays NaN; for a complex number x / |x|. */
SP_FOR_FLOATING(SP_UNARY_VALUE, Sign, x != x ? x : (x > 0) - (x < 0))
SP_FOR_SIGNED(SP_UNARY_VALUE, Sign, (x > 0) - (x < 0))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Sign, x == 0 ? 0 : x / fabs(x))
SP_UNARY_OP(Sign, SP_INVALID_DTYPE, SP_TABLE_FIELD(Sign), SP_TABLE_SIGNED(Sign));

SP_FOR_ARITHMETIC(SP_UNARY_WRAP, Square, (x) * (x))
SP_UNARY_OP(Square, SP_INVALID_DTYPE, SP_TABLE_ARITHMETIC(Square));

SP_FOR_INTEGER(SP_UNARY_WRAP, Invert, ~x)
SP_UNARY_OP(Invert, SP_INVALID_DTYPE, SP_TABLE_INTEGER(Invert));
