#ifndef SP_ENGINE_OPS_H
#define SP_ENGINE_OPS_H

#include "engine/graph/op.h"

/* Declarations of all operators. */
#define SP_OP(name)          extern const sp_op sp_op_##name;
#define SP_OP_INTERNAL(name) extern const sp_op sp_op_##name;
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_INTERNAL

#endif
