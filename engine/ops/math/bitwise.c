#include "engine/ops/math/binary.h"

SP_FOR_INTEGER(SP_BINARY_VALUE, BitwiseAnd, (a) & (b))
SP_BINARY_OP(BitwiseAnd, SP_INVALID_DTYPE, NULL, SP_TABLE_INTEGER(BitwiseAnd));

SP_FOR_INTEGER(SP_BINARY_VALUE, BitwiseOr, a | b)
SP_BINARY_OP(BitwiseOr, SP_INVALID_DTYPE, NULL, SP_TABLE_INTEGER(BitwiseOr));

SP_FOR_INTEGER(SP_BINARY_VALUE, BitwiseXor, a ^ b)
SP_BINARY_OP(BitwiseXor, SP_INVALID_DTYPE, NULL, SP_TABLE_INTEGER(BitwiseXor));

/*
 * Shifts.  The distance is clamped to [0, bits - 1].  Signed right shifts are arithmetic.
 */
#define LAST_BIT(type) ((int)(8 * sizeof(sp_element_##type)) - 1)

#define DISTANCE_S(type, b) (b < 0 ? 0 : b > LAST_BIT(type) ? LAST_BIT(type) : (int)b)
#define DISTANCE_U(type, b) (b > (sp_element_##type)LAST_BIT(type) ? LAST_BIT(type) : (int)b)

#define LEFT_S(type, name)  SP_BINARY_VALUE(type, name, (sp_wrap_##type)a << DISTANCE_S(type, b))
#define LEFT_U(type, name)  SP_BINARY_VALUE(type, name, (sp_wrap_##type)a << DISTANCE_U(type, b))
#define RIGHT_S(type, name) SP_BINARY_VALUE(type, name, a >> DISTANCE_S(type, b))
#define RIGHT_U(type, name) SP_BINARY_VALUE(type, name, a >> DISTANCE_U(type, b))

SP_FOR_SIGNED(LEFT_S, LeftShift)
SP_FOR_UNSIGNED(LEFT_U, LeftShift)
SP_BINARY_OP(LeftShift, SP_INVALID_DTYPE, NULL, SP_TABLE_INTEGER(LeftShift));

SP_FOR_SIGNED(RIGHT_S, RightShift)
SP_FOR_UNSIGNED(RIGHT_U, RightShift)
SP_BINARY_OP(RightShift, SP_INVALID_DTYPE, NULL, SP_TABLE_INTEGER(RightShift));
