#ifndef SP_ENGINE_KERNELS_FOURIER_INTERNAL_H
#define SP_ENGINE_KERNELS_FOURIER_INTERNAL_H

#include "engine/kernels/fourier_transform.h"

/* What the files of fourier_transform.h share. */
enum {
	SP_FOURIER_FACTORS = 64,        /* no size_t has more */
	SP_FOURIER_SQUARE = 10000,      /* no transform in passes is longer */
	SP_FOURIER_COMPLEX_PRIME = 110, /* from here on a convolution */
	SP_FOURIER_REAL_PRIME = 135,
};

/* How a transform, or a factor of one, is computed. */
typedef enum sp_fourier_kind {
	SP_FOURIER_NONE,     /* of one number */
	SP_FOURIER_PASS,     /* the sums of a small factor */
	SP_FOURIER_SEQUENCE, /* parts one after the other */
	SP_FOURIER_PART,     /* lines of a SEQUENCE */
	SP_FOURIER_CHIRP,    /* a convolution */
	SP_FOURIER_FOUR,     /* four transforms, side by side */
	SP_FOURIER_HALVED,   /* real: as complex ones of half the length */
} sp_fourier_kind;

/* One type of numbers: fourier_transform.inc. */
typedef struct sp_fourier_runs {
	sp_status (*complex_lines)(sp_workspace *workspace, const sp_fourier_lines *lines);
	sp_status (*lines_of_real)(sp_workspace *workspace, const sp_fourier_lines *lines);
	sp_status (*lines_to_real)(sp_workspace *workspace, const sp_fourier_lines *lines);
} sp_fourier_runs;

extern const sp_fourier_runs sp_fourier__float;
extern const sp_fourier_runs sp_fourier__double;

/* Factors of n in the order of passes, with 8 for complex numbers; how many. */
size_t sp_fourier__factors(size_t n, bool eights, size_t factors[SP_FOURIER_FACTORS]);

/* Two factors of n of about the same size. */
void sp_fourier__square(size_t n, size_t factors[2]);

/* The least product of 2, 3, 5, 7 and 11 from n on. */
size_t sp_fourier__padded(size_t n);

#endif
