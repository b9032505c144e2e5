#include <math.h>

#include "engine/ops/math/unary.h"

/* Predicates of one element. */
SP_FOR_FLOATING(SP_UNARY_BOOL, IsNan, isnan(x))
SP_UNARY_OP(IsNan, SP_BOOL, SP_TABLE_FLOATING(IsNan));

SP_FOR_FLOATING(SP_UNARY_BOOL, IsInf, isinf(x))
SP_UNARY_OP(IsInf, SP_BOOL, SP_TABLE_FLOATING(IsInf));

SP_FOR_FLOATING(SP_UNARY_BOOL, IsFinite, isfinite(x))
SP_UNARY_OP(IsFinite, SP_BOOL, SP_TABLE_FLOATING(IsFinite));

SP_UNARY_BOOL(b8, LogicalNot, !x)
SP_UNARY_OP(LogicalNot, SP_BOOL, [SP_BOOL] = LogicalNot_b8);
