#ifndef SP_ENGINE_OPS_DENSE_H
#define SP_ENGINE_OPS_DENSE_H

#include "engine/tensor/tensor.h"

/* The columns of the result of a dense layer, input 1 of Dense. */
int64_t sp_dense_width(const sp_tensor *layer);

#endif
