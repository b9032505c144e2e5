#ifndef SP_ENGINE_OPS_ADD_H
#define SP_ENGINE_OPS_ADD_H

#include "engine/ops/math/binary.h"

/* Addition of every numeric type, complex ones too; strings are not included. */
extern const sp_binary sp_add__binary;

#endif
