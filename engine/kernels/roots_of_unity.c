#include "engine/kernels/roots_of_unity.h"

#include <math.h>

/* An angle of eighths / n eighths of a turn, below half of one; `eighth` is the n-th part of such.
 */
static sp_root first_half(size_t eighths, size_t n, double eighth)
{
	bool second = eighths >= 2 * n;
	size_t x = second ? eighths - 2 * n : eighths;
	double near = (double)(x < n ? x : 2 * n - x) * eighth;
	double along = x < n ? cos(near) : sin(near), across = x < n ? sin(near) : cos(near);

	return second ? (sp_root){-across, along} : (sp_root){along, across};
}

static sp_root root_of(size_t k, size_t n, double eighth)
{
	sp_root root;

	if (8 * k < 4 * n)
		return first_half(8 * k, n, eighth);
	root = first_half(8 * (n - k), n, eighth);
	return (sp_root){root.re, -root.im};
}

static sp_root *root_table(sp_workspace *workspace, size_t count, size_t step, size_t n)
{
	sp_root *table = sp_workspace_bytes(workspace, count, sizeof(*table));
	double eighth = (double)(0.25L * 3.141592653589793238462643383279502884L / (long double)n);

	if (table == NULL)
		return NULL;
	table[0] = (sp_root){1, 0};
	for (size_t i = 1; i < count; i++)
		table[i] = root_of(i * step, n, eighth);
	return table;
}

const sp_roots *sp_roots_make(sp_workspace *workspace, size_t n)
{
	sp_roots *roots = sp_workspace_bytes(workspace, 1, sizeof(*roots));
	size_t half = (n + 2) / 2, shift = 1;

	if (roots == NULL)
		return NULL;
	while (((size_t)1 << shift) << shift < half)
		shift++;
	*roots = (sp_roots){.n = n, .shift = shift};
	roots->fine = root_table(workspace, (size_t)1 << shift, 1, n);
	roots->coarse = root_table(workspace, ((half - 1) >> shift) + 1, (size_t)1 << shift, n);
	return roots->fine == NULL || roots->coarse == NULL ? NULL : roots;
}

sp_root sp_roots_at(const sp_roots *roots, size_t k)
{
	bool first = 2 * k <= roots->n;
	size_t near = first ? k : roots->n - k;
	sp_root a = roots->fine[near & (((size_t)1 << roots->shift) - 1)];
	sp_root b = roots->coarse[near >> roots->shift];
	double im = a.re * b.im + a.im * b.re;

	return (sp_root){a.re * b.re - a.im * b.im, first ? im : -im};
}
