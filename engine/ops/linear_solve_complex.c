#include <complex.h>

#include "engine/ops/linear_solve.h"

typedef double complex number;

#define CONJUGATE(x) conj(x)
#define REAL(x)      creal(x)
#define MAGNITUDE(x) cabs(x)
#define runs         sp_solve__complex

static number get(const sp_tensor *t, size_t i)
{
	return t->dtype == SP_COMPLEX64 ? ((const float complex *)t->data)[i]
					: ((const double complex *)t->data)[i];
}

static void put(const sp_tensor *t, size_t i, number value)
{
	if (t->dtype == SP_COMPLEX64)
		((float complex *)t->data)[i] = (float complex)value;
	else
		((double complex *)t->data)[i] = value;
}

#include "engine/ops/linear_solve.inc"
