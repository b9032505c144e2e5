#include <float.h>
#include <math.h>

#include "engine/kernels/ordered_matrix.h"

#define real        float
#define PACKET      8
#define SQRT(x)     sqrtf(x)
#define ABSOLUTE(x) fabsf(x)
#define SMALLEST    FLT_MIN
#define EPSILON     FLT_EPSILON
#define KIND(x)     x##_f32

#include "engine/kernels/ordered_product.inc"

#include "engine/kernels/ordered_matrix.inc"

#include "engine/kernels/ordered_reflection.inc"

#include "engine/kernels/ordered_qr.inc"

#include "engine/kernels/ordered_least_squares.inc"

#include "engine/kernels/ordered_eigen.inc"

#include "engine/kernels/ordered_svd.inc"
