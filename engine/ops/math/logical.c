#include "engine/ops/math/binary.h"

SP_BINARY_BOOL(b8, LogicalAnd, (a) && (b))
SP_BINARY_OP(LogicalAnd, SP_BOOL, NULL, [SP_BOOL] = LogicalAnd_b8);

SP_BINARY_BOOL(b8, LogicalOr, a || b)
SP_BINARY_OP(LogicalOr, SP_BOOL, NULL, [SP_BOOL] = LogicalOr_b8);
