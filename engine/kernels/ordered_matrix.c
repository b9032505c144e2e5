#include "engine/kernels/ordered_matrix.h"

#include <float.h>
#include <math.h>

/* The first-level cache that says where long sums are cut, in bytes. */
#define CACHE 49152

#define real        float
#define PACKET      8
#define SQRT(x)     sqrtf(x)
#define ABSOLUTE(x) fabsf(x)
#define SMALLEST    FLT_MIN
#define EPSILON     FLT_EPSILON
#define NAME(x)     x##_f32
#include "engine/kernels/ordered_product.inc"
#include "engine/kernels/ordered_matrix.inc"
#include "engine/kernels/ordered_reflection.inc"
#include "engine/kernels/ordered_undefine.inc"

#define real        double
#define PACKET      4
#define SQRT(x)     sqrt(x)
#define ABSOLUTE(x) fabs(x)
#define SMALLEST    DBL_MIN
#define EPSILON     DBL_EPSILON
#define NAME(x)     x##_f64
#include "engine/kernels/ordered_product.inc"
#include "engine/kernels/ordered_matrix.inc"
#include "engine/kernels/ordered_reflection.inc"
