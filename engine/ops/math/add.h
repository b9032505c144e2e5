#ifndef SP_ENGINE_OPS_ADD_H
#define SP_ENGINE_OPS_ADD_H

#include "engine/ops/math/binary.h"

/* Sums of all numbers, for other operators that add. */
extern const sp_binary sp_add__binary;

#endif
