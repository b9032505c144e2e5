#include "engine/kernels/float_rows.h"

#include <math.h>

enum { LANES = 4, CHAINS = 8, STEP = LANES * CHAINS, BLOCK = 4096 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));
typedef int bits __attribute__((vector_size(LANES * sizeof(int))));

#define AT(x)     (*(const lanes *)(x))
#define ITSELF(x) (x)
#define SQUARE(x) ((x) * (x))

/* The sum of at most BLOCK terms. */
#define BLOCK_SUM(name, TERM)                                                          \
	static float name(const float *x, size_t n)                                    \
	{                                                                              \
		lanes sums[CHAINS] = {{0}};                                            \
		float rest = 0;                                                        \
		size_t i = 0;                                                          \
                                                                                       \
		for (; i + STEP <= n; i += STEP)                                       \
			_Pragma("GCC unroll 8") for (size_t c = 0; c < CHAINS; c++)    \
				sums[c] += TERM(AT(x + i + c * LANES));                \
		for (; i + LANES <= n; i += LANES)                                     \
			sums[0] += TERM(AT(x + i));                                    \
		for (; i < n; i++)                                                     \
			rest += TERM(x[i]);                                            \
		sums[0] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +                \
			  ((sums[4] + sums[5]) + (sums[6] + sums[7]));                 \
		return ((sums[0][0] + sums[0][1]) + (sums[0][2] + sums[0][3])) + rest; \
	}

BLOCK_SUM(sum_block, ITSELF)
BLOCK_SUM(square_block, SQUARE)

#define SUM(name, block)                                                      \
	float name(const float *x, size_t n)                                  \
	{                                                                     \
		float total = 0;                                              \
                                                                              \
		for (size_t i = 0; i < n; i += BLOCK)                         \
			total += block(x + i, n - i < BLOCK ? n - i : BLOCK); \
		return total;                                                 \
	}

SUM(sp_float_sum, sum_block)
SUM(sp_float_square_sum, square_block)

static lanes larger(lanes a, lanes b)
{
	bits is_larger = (bits)(a > b);

	return (lanes)(((bits)a & is_larger) | ((bits)b & ~is_larger));
}

float sp_float_max(const float *x, size_t n)
{
	lanes most[2] = {(lanes){0} - INFINITY, (lanes){0} - INFINITY};
	float result = -INFINITY;
	size_t i = 0;

	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		most[0] = larger(AT(x + i), most[0]);
		most[1] = larger(AT(x + i + LANES), most[1]);
	}
	most[0] = larger(most[0], most[1]);
	for (size_t l = 0; l < LANES; l++)
		result = most[0][l] > result ? most[0][l] : result;
	for (; i < n; i++)
		result = x[i] > result ? x[i] : result;
	return result;
}

void sp_float_shift(const float *x, float *y, size_t n)
{
	float most = sp_float_max(x, n);

	for (size_t i = 0; i < n; i++)
		y[i] = x[i] - most;
}
