#include "engine/kernels/ordered_matrix.h"

#include <math.h>

/* The first-level cache that says where long sums are cut, in bytes. */
#define CACHE 49152

#define real    float
#define PACKET  8
#define SQRT    sqrtf
#define NAME(x) x##_f32
#include "engine/kernels/ordered_product.inc"
#include "engine/kernels/ordered_matrix.inc"
#undef real
#undef PACKET
#undef SQRT
#undef NAME

#define real    double
#define PACKET  4
#define SQRT    sqrt
#define NAME(x) x##_f64
#include "engine/kernels/ordered_product.inc"
#include "engine/kernels/ordered_matrix.inc"
