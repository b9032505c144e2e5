#include "engine/kernels/float_functions.h"
#include "engine/ops/linear_solve.h"

typedef float number;

#define KIND(x)         x##_f32
#define EXP(x)          expf(x)
#define find_logarithms sp_float_log
#define runs            sp_solve__float

static number get(const sp_tensor *t, size_t i)
{
	return sp_tensor_f32(t)[i];
}

static void put(const sp_tensor *t, size_t i, number value)
{
	sp_tensor_f32(t)[i] = value;
}

#include "engine/ops/linear_solve_numbers.inc"

#include "engine/ops/linear_solve.inc"
