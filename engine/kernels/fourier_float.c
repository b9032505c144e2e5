/* The transforms of fourier_transform.h, of float. */
typedef float real;

#define LANES       4 /* lines that are transformed side by side */
#define GROUP_LINES 8 /* TensorFlow's */
#define runs        sp_fourier__float

#include "engine/kernels/fourier_transform.inc"
