#include <complex.h>
#include <math.h>

#include "engine/kernels/matrix_factor.h"
#include "engine/ops/linear_solve.h"

typedef double complex number;
typedef double magnitude;

#define CONJUGATE(x) conj(x)
#define MAGNITUDE(x) cabs(x)
#define EXP(x)       exp(x)
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

static void swap_rows(number *a, size_t columns, size_t i, size_t j)
{
	for (size_t k = 0; k < columns; k++) {
		number other = a[i * columns + k];

		a[i * columns + k] = a[j * columns + k];
		a[j * columns + k] = other;
	}
}

static size_t find_pivot(const number *a, size_t n, size_t c)
{
	size_t pivot = c;

	for (size_t i = c + 1; i < n; i++)
		if (MAGNITUDE(a[i * n + c]) > MAGNITUDE(a[pivot * n + c]))
			pivot = i;
	return pivot;
}

static int factor(number *a, size_t n, bool by_rows, int64_t *order)
{
	int sign = 1;

	(void)by_rows;
	for (size_t i = 0; i < n; i++)
		order[i] = (int64_t)i;
	for (size_t c = 0; c < n; c++) {
		size_t pivot = find_pivot(a, n, c);
		int64_t other = order[c];

		if (a[pivot * n + c] == 0)
			continue;
		swap_rows(a, n, c, pivot);
		order[c] = order[pivot];
		order[pivot] = other;
		sign = pivot == c ? sign : -sign;
		for (size_t i = c + 1; i < n; i++) {
			a[i * n + c] /= a[c * n + c];
			for (size_t j = c + 1; j < n; j++)
				a[i * n + j] -= a[i * n + c] * a[c * n + j];
		}
	}
	return sign;
}

static magnitude logarithm(const number *a, size_t n, number *sign, magnitude *room)
{
	magnitude sum = 0;

	(void)room;
	for (size_t i = 0; i < n; i++) {
		magnitude size = MAGNITUDE(a[i * (n + 1)]);

		*sign *= a[i * (n + 1)] / size;
		sum += log(size);
	}
	return sum;
}

static void substitute(const number *a, size_t n, bool lower, bool unit, number *b, size_t k)
{
	for (size_t step = 0; step < n; step++) {
		size_t i = lower ? step : n - 1 - step;

		for (size_t j = 0; j < k; j++) {
			number sum = b[i * k + j];

			for (size_t c = lower ? 0 : i + 1; c < (lower ? i : n); c++)
				sum -= a[i * n + c] * b[c * k + j];
			b[i * k + j] = unit ? sum : sum / a[i * n + i];
		}
	}
}

static bool factor_lower(number *a, size_t n)
{
	return sp_matrix_factor_positive(a, n);
}

#include "engine/ops/linear_solve.inc"
