#include "engine/kernels/matrix_factor.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sweeps of Jacobi's method; ten are many. */
#define MAX_SWEEPS 60

static double square(sp_complex x)
{
	return creal(x) * creal(x) + cimag(x) * cimag(x);
}

/* --------------------------------------------------------------- reflections */

/* Makes I - tau v v^* from column k of a, v being 1 above the rest of the column. */
static sp_complex make_reflection(sp_complex *a, size_t m, size_t n, size_t k)
{
	sp_complex first = a[k * n + k], tau;
	double tail = 0, beta;

	for (size_t i = k + 1; i < m; i++)
		tail += square(a[i * n + k]);
	if (tail <= DBL_MIN && cimag(first) * cimag(first) <= DBL_MIN) {
		for (size_t i = k + 1; i < m; i++)
			a[i * n + k] = 0;
		return 0;
	}
	beta = sqrt(square(first) + tail);
	if (creal(first) >= 0)
		beta = -beta;
	tau = conj((beta - first) / beta);
	for (size_t i = k + 1; i < m; i++)
		a[i * n + k] /= first - beta;
	a[k * n + k] = beta;
	return tau;
}

/* Applies it, made of column k of a [m, n], to column j of b [m, columns]. */
static void reflect(const sp_complex *a, size_t m, size_t n, size_t k, sp_complex tau,
		    sp_complex *b, size_t columns, size_t j)
{
	sp_complex sum = b[k * columns + j];

	for (size_t i = k + 1; i < m; i++)
		sum += conj(a[i * n + k]) * b[i * columns + j];
	sum *= tau;
	b[k * columns + j] -= sum;
	for (size_t i = k + 1; i < m; i++)
		b[i * columns + j] -= a[i * n + k] * sum;
}

void sp_matrix_qr(sp_complex *a, size_t m, size_t n, sp_complex *tau)
{
	for (size_t k = 0; k < m && k < n; k++) {
		tau[k] = make_reflection(a, m, n, k);
		for (size_t j = k + 1; j < n; j++)
			reflect(a, m, n, k, tau[k], a, n, j);
	}
}

void sp_matrix_q(const sp_complex *a, size_t m, size_t n, const sp_complex *tau, sp_complex *q,
		 size_t columns)
{
	for (size_t i = 0; i < m * columns; i++)
		q[i] = i / columns == i % columns;
	for (size_t k = m < n ? m : n; k-- > 0;)
		for (size_t j = 0; j < columns; j++)
			reflect(a, m, n, k, conj(tau[k]), q, columns, j);
}

/* ----------------------------------------------------------------- rotations */

/*
 * What makes columns p and q orthogonal, of which inner products are known: p becomes
 * c p - s turn q, and q becomes s p + c turn q.
 */
typedef struct rotation {
	double c, s;
	sp_complex turn;
} rotation;

static rotation make_rotation(double pp, double qq, sp_complex pq)
{
	double size = cabs(pq), zeta = (qq - pp) / (2 * size);
	double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(1, zeta));
	double c = 1 / sqrt(1 + t * t);

	return (rotation){.c = c, .s = c * t, .turn = conj(pq) / size};
}

static void rotate_columns(const rotation *r, sp_complex *a, size_t rows, size_t n, size_t p,
			   size_t q)
{
	for (size_t i = 0; i < rows; i++) {
		sp_complex x = a[i * n + p], y = r->turn * a[i * n + q];

		a[i * n + p] = r->c * x - r->s * y;
		a[i * n + q] = r->s * x + r->c * y;
	}
}

static void rotate_rows(const rotation *r, sp_complex *a, size_t n, size_t p, size_t q)
{
	for (size_t j = 0; j < n; j++) {
		sp_complex x = a[p * n + j], y = conj(r->turn) * a[q * n + j];

		a[p * n + j] = r->c * x - r->s * y;
		a[q * n + j] = r->s * x + r->c * y;
	}
}

static void set_identity(sp_complex *v, size_t n)
{
	for (size_t i = 0; i < n * n; i++)
		v[i] = i % (n + 1) == 0;
}

static void swap_columns(sp_complex *a, size_t rows, size_t n, size_t p, size_t q)
{
	for (size_t i = 0; i < rows; i++) {
		sp_complex x = a[i * n + p];

		a[i * n + p] = a[i * n + q];
		a[i * n + q] = x;
	}
}

static bool all_finite(const sp_complex *a, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(creal(a[i])) || !isfinite(cimag(a[i])))
			return false;
	return true;
}

/* Both triangles, from the lower one. */
static void make_hermitian(sp_complex *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		a[i * n + i] = creal(a[i * n + i]);
		for (size_t j = i + 1; j < n; j++)
			a[i * n + j] = conj(a[j * n + i]);
	}
}

/* One sweep over what is off the diagonal; whether there was anything left to do. */
static bool sweep_eigen(sp_complex *a, size_t n, sp_complex *v, double least)
{
	bool busy = false;

	for (size_t p = 0; p < n; p++)
		for (size_t q = p + 1; q < n; q++) {
			sp_complex pq = a[p * n + q];
			rotation r;

			if (cabs(pq) <= least)
				continue;
			busy = true;
			r = make_rotation(creal(a[p * n + p]), creal(a[q * n + q]), pq);
			rotate_columns(&r, a, n, n, p, q);
			rotate_rows(&r, a, n, p, q);
			rotate_columns(&r, v, n, n, p, q);
		}
	return busy;
}

bool sp_matrix_eigen(sp_complex *a, size_t n, double *values, sp_complex *v)
{
	double most = 0;
	int sweeps = 0;

	make_hermitian(a, n);
	if (!all_finite(a, n * n))
		return false;
	set_identity(v, n);
	for (size_t i = 0; i < n * n; i++)
		most = fmax(most, cabs(a[i]));
	while (sweep_eigen(a, n, v, most * 0x1p-54))
		if (++sweeps == MAX_SWEEPS)
			return false;
	for (size_t i = 0; i < n; i++)
		values[i] = creal(a[i * n + i]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (values[j] < values[i]) {
				double x = values[i];

				values[i] = values[j];
				values[j] = x;
				swap_columns(v, n, n, i, j);
			}
	return true;
}

/* ----------------------------------------------------------- singular values */

static double column_square(const sp_complex *a, size_t m, size_t n, size_t j)
{
	double sum = 0;

	for (size_t i = 0; i < m; i++)
		sum += square(a[i * n + j]);
	return sum;
}

static sp_complex inner(const sp_complex *a, size_t m, size_t n, size_t p, size_t q)
{
	sp_complex sum = 0;

	for (size_t i = 0; i < m; i++)
		sum += conj(a[i * n + p]) * a[i * n + q];
	return sum;
}

static bool sweep_svd(sp_complex *a, size_t m, size_t n, sp_complex *v)
{
	bool busy = false;

	for (size_t p = 0; p < n; p++)
		for (size_t q = p + 1; q < n; q++) {
			double pp = column_square(a, m, n, p), qq = column_square(a, m, n, q);
			sp_complex pq = inner(a, m, n, p, q);
			rotation r;

			if (cabs(pq) <= 0x1p-50 * sqrt(pp) * sqrt(qq) || cabs(pq) < DBL_MIN)
				continue;
			busy = true;
			r = make_rotation(pp, qq, pq);
			rotate_columns(&r, a, m, n, p, q);
			rotate_columns(&r, v, n, n, p, q);
		}
	return busy;
}

/* Divides by the largest number, so that squares stay in range; returns it. */
static double scale_down(sp_complex *a, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, cabs(a[i]));
	for (size_t i = 0; most != 0 && i < count; i++)
		a[i] /= most;
	return most;
}

bool sp_matrix_svd(sp_complex *a, size_t m, size_t n, double *s, sp_complex *v)
{
	double scale;
	int sweeps = 0;

	if (!all_finite(a, m * n))
		return false;
	scale = scale_down(a, m * n);
	set_identity(v, n);
	while (sweep_svd(a, m, n, v))
		if (++sweeps == MAX_SWEEPS)
			return false;
	for (size_t j = 0; j < n; j++)
		s[j] = sqrt(column_square(a, m, n, j));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (s[j] > s[i]) {
				double x = s[i];

				s[i] = s[j];
				s[j] = x;
				swap_columns(a, m, n, i, j);
				swap_columns(v, n, n, i, j);
			}
	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i < m; i++)
			a[i * n + j] = s[j] == 0 ? 0 : a[i * n + j] / s[j];
		s[j] *= scale;
	}
	return true;
}

/* Takes from column j what it has of those before. */
static void make_orthogonal(sp_complex *u, size_t m, size_t columns, size_t j)
{
	for (size_t k = 0; k < j; k++) {
		sp_complex share = inner(u, m, columns, k, j);

		for (size_t i = 0; i < m; i++)
			u[i * columns + j] -= share * u[i * columns + k];
	}
}

void sp_matrix_complete(sp_complex *u, size_t m, size_t columns, size_t known, double *residual)
{
	for (size_t j = known; j < columns; j++) {
		size_t best = 0;
		double length;

		/* The unit vector of which most is missing yet. */
		for (size_t i = 0; i < m; i++) {
			residual[i] = 1;
			for (size_t k = 0; k < j; k++)
				residual[i] -= square(u[i * columns + k]);
			best = residual[i] > residual[best] ? i : best;
		}
		for (size_t i = 0; i < m; i++)
			u[i * columns + j] = i == best;
		make_orthogonal(u, m, columns, j);
		make_orthogonal(u, m, columns, j);
		length = sqrt(column_square(u, m, columns, j));
		for (size_t i = 0; i < m; i++)
			u[i * columns + j] /= length;
	}
}

/* ------------------------------------------------------------------ solving */

bool sp_matrix_factor_positive(sp_complex *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++) {
			sp_complex sum = a[i * n + j];

			for (size_t c = 0; c < j; c++)
				sum -= a[i * n + c] * conj(a[j * n + c]);
			if (i == j && !(creal(sum) > 0))
				return false;
			a[i * n + j] = i == j ? sqrt(creal(sum)) : sum / a[j * n + j];
		}
	return true;
}

bool sp_matrix_solve_positive(sp_complex *a, size_t n, sp_complex *b, size_t k)
{
	if (!sp_matrix_factor_positive(a, n))
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < k; j++) {
			for (size_t c = 0; c < i; c++)
				b[i * k + j] -= a[i * n + c] * b[c * k + j];
			b[i * k + j] /= a[i * n + i];
		}
	for (size_t i = n; i-- > 0;)
		for (size_t j = 0; j < k; j++) {
			for (size_t c = i + 1; c < n; c++)
				b[i * k + j] -= conj(a[c * n + i]) * b[c * k + j];
			b[i * k + j] /= a[i * n + i];
		}
	return true;
}
