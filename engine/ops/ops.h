#ifndef SP_ENGINE_OPS_H
#define SP_ENGINE_OPS_H

#include "engine/graph/op.h"

/* Every operator of ops.inc, by name. */
#define SP_OP(name) extern const sp_op sp_op_##name;
#include "engine/ops/ops.inc"
#undef SP_OP

#endif
