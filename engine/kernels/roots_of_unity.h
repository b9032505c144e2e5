#ifndef SP_ENGINE_KERNELS_ROOTS_OF_UNITY_H
#define SP_ENGINE_KERNELS_ROOTS_OF_UNITY_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/workspace.h"

/*
 * exp(2 pi i k / n) for all k < n, each the product of two of some 2 sqrt(n / 2) roots.
 *
 * Numerics: double, of the C library's sine and cosine of an angle of at most an eighth of a turn.
 * The products are those of ducc, TensorFlow's library for Fourier transforms, to the bit.
 * Threads: pure.
 */
typedef struct sp_root {
	double re, im;
} sp_root;

typedef struct sp_roots {
	size_t n;
	size_t shift; /* of k to find the coarse root; the rest finds the fine one */
	sp_root *fine, *coarse;
} sp_roots;

/* For n >= 1; NULL past the workspace's limit. */
const sp_roots *sp_roots_make(sp_workspace *workspace, size_t n);

/* k < n. */
sp_root sp_roots_at(const sp_roots *roots, size_t k);

#endif
