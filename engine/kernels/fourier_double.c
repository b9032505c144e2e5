/* The transforms of fourier_transform.h, of double. */
typedef double real;

#define LANES       2 /* lines that are transformed side by side */
#define GROUP_LINES 4 /* TensorFlow's */
#define runs        sp_fourier__double

#include "engine/kernels/fourier_transform.inc"
