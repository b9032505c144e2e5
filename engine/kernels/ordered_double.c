#include <float.h>
#include <math.h>

#include "engine/kernels/ordered_matrix.h"

#define real        double
#define PACKET      4
#define SQRT(x)     sqrt(x)
#define ABSOLUTE(x) fabs(x)
#define SMALLEST    DBL_MIN
#define EPSILON     DBL_EPSILON
#define KIND(x)     x##_f64

#include "engine/kernels/ordered_product.inc"

#include "engine/kernels/ordered_matrix.inc"

#include "engine/kernels/ordered_reflection.inc"

#include "engine/kernels/ordered_qr.inc"

#include "engine/kernels/ordered_least_squares.inc"

#include "engine/kernels/ordered_eigen.inc"

#include "engine/kernels/ordered_svd.inc"
