#ifndef SP_ENGINE_KERNELS_FOURIER_TRANSFORM_H
#define SP_ENGINE_KERNELS_FOURIER_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/workspace.h"

/*
 * Fourier transforms of float or double along one dimension of a tensor, in the order of sums and
 * products that TensorFlow 2.15 takes on one thread (of the library ducc): the answers are its
 * bits.
 *
 * - Complex numbers: the length's factors 8, then 4, a 2 before them, then odd ones in rising
 *   order, are a pass each, primes from 110 on a convolution of at least twice the length
 *   (Bluestein); more than 10000 numbers are a square, whose columns and then rows are transformed.
 *   Lengths above 300 that are multiples of 4 are four transforms of a fourth in a tensor of one
 *   dimension, and in the last lines of others: those left over of eight floats or four doubles,
 *   or all where these would need more than half a MiB.
 * - Real numbers: half of their results, with factors 4, a 2 and odd ones, primes from 135 on
 *   by complex ones; above 1000 an even length with a factor above 5, and any above 10000, is a
 *   complex transform of half the length.
 *
 * Roots of unity are computed in double and rounded (roots_of_unity.h), as are cosines of the small
 * factors.  Nothing is fused, so a sum's size times some log2(n) * 2^-23 bounds an element's
 * error (2^-52 for double).  The workspace has all that a transform takes back after it.
 *
 * Time: of order n log n for any n.
 * Threads: pure.
 */
enum { SP_FOURIER_DIMS = 4 };

/*
 * Lines along dimension `axis`; the others count them, the last fastest.  Steps are numbers, of
 * the complex ones pairs.  An element of the result is multiplied by `scale`.
 */
typedef struct sp_fourier_lines {
	size_t n; /* >= 1: how long the transforms are */
	int axis;
	size_t counts[SP_FOURIER_DIMS]; /* that of `axis` does not matter */
	size_t from_steps[SP_FOURIER_DIMS], to_steps[SP_FOURIER_DIMS];
	const void *from;
	void *to;     /* sp_fourier_complex(): may be `from`, with its steps */
	bool wide;    /* double */
	bool forward; /* with exp(-...) */
	bool alone;   /* a tensor of one dimension */
	double scale;
} sp_fourier_lines;

/* SP_NO_MEMORY past the workspace's limit, without words. */
SP_MUST_CHECK sp_status sp_fourier_complex(sp_workspace *workspace, const sp_fourier_lines *lines);

/* n real numbers, and the first n / 2 + 1 complex ones of their transform; forward. */
SP_MUST_CHECK sp_status sp_fourier_of_real(sp_workspace *workspace, const sp_fourier_lines *lines);

/* Back, with exp(+...). */
SP_MUST_CHECK sp_status sp_fourier_to_real(sp_workspace *workspace, const sp_fourier_lines *lines);

#endif
