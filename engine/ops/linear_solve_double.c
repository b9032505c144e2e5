#include <math.h>

#include "engine/ops/linear_solve.h"

typedef double number;

#define KIND(x) x##_f64
#define EXP(x)  exp(x)
#define runs    sp_solve__double

static number get(const sp_tensor *t, size_t i)
{
	return t->dtype == SP_HALF ? (double)sp_half_to_float(((const uint16_t *)t->data)[i])
				   : sp_tensor_f64(t)[i];
}

static void put(const sp_tensor *t, size_t i, number value)
{
	if (t->dtype == SP_HALF)
		((uint16_t *)t->data)[i] = sp_half_from_float((float)value);
	else
		sp_tensor_f64(t)[i] = value;
}

static void find_logarithms(const number *x, number *y, size_t count)
{
	for (size_t i = 0; i < count; i++)
		y[i] = log(x[i]);
}

#include "engine/ops/linear_solve_numbers.inc"

#include "engine/ops/linear_solve.inc"
