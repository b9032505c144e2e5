#include "engine/ops/linear_solve.h"

typedef double number;

#define CONJUGATE(x) (x)
#define REAL(x)      (x)
#define MAGNITUDE(x) fabs(x)
#define runs         sp_solve__real

static number get(const sp_tensor *t, size_t i)
{
	if (t->dtype == SP_HALF)
		return (double)sp_half_to_float(((const uint16_t *)t->data)[i]);
	return t->dtype == SP_FLOAT ? (double)sp_tensor_f32(t)[i] : sp_tensor_f64(t)[i];
}

static void put(const sp_tensor *t, size_t i, number value)
{
	if (t->dtype == SP_FLOAT)
		sp_tensor_f32(t)[i] = (float)value;
	else if (t->dtype == SP_HALF)
		((uint16_t *)t->data)[i] = sp_half_from_float((float)value);
	else
		sp_tensor_f64(t)[i] = value;
}

#include "engine/ops/linear_solve.inc"
