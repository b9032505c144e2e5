#include "engine/kernels/matrix_schur.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sweeps per eigenvalue; three are common. */
#define MAX_SWEEPS 60

/* Square roots on the way to 1; numbers as far from it as double has need about 11. */
#define MAX_ROOTS 40

/* ------------------------------------------------------------------ rotations */

/* What makes (f, g) to (r, 0): r = c f + s g, 0 = c g - conj(s) f. */
typedef struct rotation {
	double c;
	sp_complex s;
} rotation;

static rotation make_rotation(sp_complex f, sp_complex g)
{
	double size = hypot(cabs(f), cabs(g));

	if (cabs(f) == 0)
		return (rotation){.c = 0, .s = 1};
	return (rotation){.c = cabs(f) / size, .s = f / cabs(f) * conj(g) / size};
}

static void rotate_columns(const rotation *r, sp_complex *a, size_t n, size_t p)
{
	for (size_t i = 0; i < n; i++) {
		sp_complex x = a[i * n + p], y = a[i * n + p + 1];

		a[i * n + p] = r->c * x + conj(r->s) * y;
		a[i * n + p + 1] = r->c * y - r->s * x;
	}
}

/* Rotates rows and columns p and p + 1 of a, and keeps u a u^* what it is. */
static void rotate(const rotation *r, sp_complex *a, sp_complex *u, size_t n, size_t p)
{
	sp_complex *above = a + p * n, *below = above + n;

	for (size_t j = 0; j < n; j++) {
		sp_complex x = above[j], y = below[j];

		above[j] = r->c * x + r->s * y;
		below[j] = r->c * y - conj(r->s) * x;
	}
	rotate_columns(r, a, n, p);
	rotate_columns(r, u, n, p);
}

/* -------------------------------------------------------------------- schur */

/* Zeros below the first subdiagonal. */
static void make_hessenberg(sp_complex *a, size_t n, sp_complex *u)
{
	for (size_t k = 0; k + 2 < n; k++)
		for (size_t i = n - 1; i > k + 1; i--) {
			rotation r;

			if (a[i * n + k] == 0)
				continue;
			r = make_rotation(a[(i - 1) * n + k], a[i * n + k]);
			rotate(&r, a, u, n, i - 1);
			a[i * n + k] = 0;
		}
}

static bool is_negligible(const sp_complex *a, size_t n, size_t k, double size)
{
	double around = cabs(a[(k - 1) * n + k - 1]) + cabs(a[k * n + k]);

	return cabs(a[k * n + k - 1]) <= DBL_EPSILON * (around != 0 ? around : size);
}

/* The eigenvalue of the last 2 x 2 that is nearer to its last element. */
static sp_complex find_shift(const sp_complex *a, size_t n, size_t high, int sweep)
{
	sp_complex p = a[(high - 1) * n + high - 1], q = a[(high - 1) * n + high];
	sp_complex r = a[high * n + high - 1], s = a[high * n + high];
	sp_complex half = (p - s) / 2, root = csqrt(half * half + q * r), more;

	if (sweep % 10 == 9) /* what goes round in a circle needs a push */
		return s + cabs(r);
	more = creal(conj(half) * root) >= 0 ? half + root : half - root;
	return more != 0 ? s - q * r / more : s;
}

/* One sweep over rows low ... high. */
static void sweep(sp_complex *a, size_t n, sp_complex *u, size_t low, size_t high, sp_complex shift)
{
	sp_complex f = a[low * n + low] - shift, g = a[(low + 1) * n + low];

	for (size_t k = low; k < high; k++) {
		rotation r;

		if (k > low) {
			f = a[k * n + k - 1];
			g = a[(k + 1) * n + k - 1];
		}
		if (g == 0)
			continue;
		r = make_rotation(f, g);
		rotate(&r, a, u, n, k);
		if (k > low)
			a[(k + 1) * n + k - 1] = 0;
	}
}

/* The largest number; not finite when one of them is not. */
static double find_size(const sp_complex *a, size_t count)
{
	double size = 0;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(creal(a[i])) || !isfinite(cimag(a[i])))
			return NAN;
		size = fmax(size, cabs(a[i]));
	}
	return size;
}

bool sp_matrix_schur(sp_complex *a, size_t n, sp_complex *u)
{
	double size = find_size(a, n * n);
	size_t high = n;
	int sweeps = 0;

	for (size_t i = 0; i < n * n; i++)
		u[i] = i % (n + 1) == 0;
	if (!isfinite(size))
		return false;
	make_hessenberg(a, n, u);
	while (high > 1) {
		size_t low = high - 1;

		while (low > 0 && !is_negligible(a, n, low, size))
			low--;
		if (low > 0)
			a[low * n + low - 1] = 0;
		if (low == high - 1) {
			high--;
			sweeps = 0;
			continue;
		}
		if (++sweeps == MAX_SWEEPS)
			return false;
		sweep(a, n, u, low, high - 1, find_shift(a, n, high - 1, sweeps));
	}
	return true;
}

void sp_triangle_vector(const sp_complex *t, size_t n, size_t k, sp_complex *v)
{
	double size = find_size(t, n * n), length = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = i == k;
	for (size_t i = k; i-- > 0;) {
		sp_complex sum = 0, apart = t[i * n + i] - t[k * n + k];

		for (size_t j = i + 1; j <= k; j++)
			sum += t[i * n + j] * v[j];
		/* Equal eigenvalues: what is nearly a vector of its own. */
		v[i] = sum == 0 ? 0 : -sum / (apart != 0 ? apart : DBL_EPSILON * size);
	}
	for (size_t i = 0; i <= k; i++)
		length = hypot(length, cabs(v[i]));
	for (size_t i = 0; i <= k; i++)
		v[i] /= length;
}

void sp_matrix_unschur(const sp_complex *u, const sp_complex *t, size_t n, sp_complex *scratch,
		       sp_complex *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			scratch[i * n + j] = 0;
			for (size_t k = 0; k <= j; k++)
				scratch[i * n + j] += u[i * n + k] * t[k * n + j];
		}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			sp_complex sum = 0;

			for (size_t k = 0; k < n; k++)
				sum += scratch[i * n + k] * conj(u[j * n + k]);
			out[i * n + j] = sum;
		}
}

/* ---------------------------------------------------------------- functions */

void sp_triangle_sqrt(sp_complex *t, size_t n)
{
	for (size_t j = 0; j < n; j++)
		for (size_t i = j + 1; i-- > 0;) {
			sp_complex sum = t[i * n + j];

			if (i == j) {
				t[i * n + j] = csqrt(sum);
				continue;
			}
			for (size_t k = i + 1; k < j; k++)
				sum -= t[i * n + k] * t[k * n + j];
			t[i * n + j] = sum / (t[i * n + i] + t[j * n + j]);
		}
}

/* How far t is from 1: the largest sum of a column. */
static double distance(const sp_complex *t, size_t n)
{
	double most = 0;

	for (size_t j = 0; j < n; j++) {
		double sum = 0;

		for (size_t i = 0; i <= j; i++)
			sum += cabs(t[i * n + j] - (i == j));
		most = isnan(sum) ? sum : fmax(most, sum);
	}
	return most;
}

/* sum += weight x (1 + place x)^-1, of triangles; solved is scratch. */
static void add_fraction(const sp_complex *x, size_t n, double weight, double place,
			 sp_complex *solved, sp_complex *sum)
{
	for (size_t j = 0; j < n; j++)
		for (size_t i = j + 1; i-- > 0;) {
			sp_complex value = x[i * n + j];

			for (size_t k = i + 1; k <= j; k++)
				value -= place * x[i * n + k] * solved[k * n + j];
			solved[i * n + j] = value / (1 + place * x[i * n + i]);
			sum[i * n + j] += weight * solved[i * n + j];
		}
}

bool sp_triangle_log(sp_complex *t, size_t n, sp_complex *scratch)
{
	/* Gauss' and Legendre's eight places on [-1, 1], and their weights, on either side. */
	static const double places[] = {0.18343464249564980494, 0.52553240991632898582,
					0.79666647741362673959, 0.96028985649753623168};
	static const double weights[] = {0.36268378337836198297, 0.31370664587788728734,
					 0.22238103445337447054, 0.10122853629037625915};
	sp_complex *x = scratch, *solved = scratch + n * n, *sum = solved + n * n;
	double left;
	int roots = 0;

	memcpy(x, t, n * n * sizeof(*x));
	for (left = distance(x, n); left > 0.25 && roots < MAX_ROOTS; left = distance(x, n)) {
		sp_triangle_sqrt(x, n);
		roots++;
	}
	if (!(left <= 0.25))
		return false;
	memset(sum, 0, n * n * sizeof(*sum));
	for (size_t i = 0; i < n; i++)
		x[i * n + i] -= 1;
	for (size_t i = 0; i < 4; i++) {
		add_fraction(x, n, weights[i] / 2, (1 + places[i]) / 2, solved, sum);
		add_fraction(x, n, weights[i] / 2, (1 - places[i]) / 2, solved, sum);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			t[i * n + j] = i == j ? clog(t[i * n + i])
					      : ldexp(1, roots) * sum[i * n + j];
	return true;
}
