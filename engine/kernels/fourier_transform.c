#include "engine/kernels/fourier_internal.h"

/* Odd prime factors of n in rising order. */
static size_t odd_factors(size_t n, size_t *factors)
{
	size_t count = 0;

	for (size_t divisor = 3; divisor * divisor <= n; divisor += 2)
		for (; n % divisor == 0; n /= divisor)
			factors[count++] = divisor;
	if (n > 1)
		factors[count++] = n;
	return count;
}

size_t sp_fourier__factors(size_t n, bool eights, size_t factors[SP_FOURIER_FACTORS])
{
	size_t count = 0;

	for (; eights && n % 8 == 0; n /= 8)
		factors[count++] = 8;
	for (; n % 4 == 0; n /= 4)
		factors[count++] = 4;
	if (n % 2 == 0) {
		factors[count] = 2;
		if (count > 0) {
			factors[count] = factors[0];
			factors[0] = 2;
		}
		count++;
		n /= 2;
	}
	return count + odd_factors(n, factors + count);
}

void sp_fourier__square(size_t n, size_t parts[2])
{
	size_t factors[SP_FOURIER_FACTORS], count, twos = 0;

	for (; n % 2 == 0; n /= 2)
		twos++;
	count = odd_factors(n, factors);
	parts[0] = parts[1] = 1;
	/* From the largest on, each to the smaller part. */
	for (size_t i = count + twos; i-- > 0;)
		parts[parts[0] > parts[1]] *= i < twos ? 2 : factors[i - twos];
}

/* The least multiple of `product` by these primes, the last of which is 2, from n on; or `best`. */
static size_t padded_from(size_t n, size_t product, const size_t *primes, size_t best)
{
	size_t x = product;

	if (*primes == 2) {
		while (x < n)
			x *= 2;
		return x < best ? x : best;
	}
	for (; product < best; product *= *primes)
		best = padded_from(n, product, primes + 1, best);
	return best;
}

size_t sp_fourier__padded(size_t n)
{
	static const size_t primes[] = {11, 7, 5, 3, 2};

	return padded_from(n, 1, primes, 2 * n);
}

typedef sp_status lines_fn(sp_workspace *workspace, const sp_fourier_lines *lines);

/* Plans and scratch go back. */
static sp_status transform(sp_workspace *workspace, const sp_fourier_lines *lines, lines_fn *run)
{
	sp_workspace_mark mark = sp_workspace_here(workspace);
	sp_status status = run(workspace, lines);

	sp_workspace_rewind(workspace, &mark);
	return status;
}

static const sp_fourier_runs *runs_of(const sp_fourier_lines *lines)
{
	return lines->wide ? &sp_fourier__double : &sp_fourier__float;
}

sp_status sp_fourier_complex(sp_workspace *workspace, const sp_fourier_lines *lines)
{
	return transform(workspace, lines, runs_of(lines)->complex_lines);
}

sp_status sp_fourier_of_real(sp_workspace *workspace, const sp_fourier_lines *lines)
{
	return transform(workspace, lines, runs_of(lines)->lines_of_real);
}

sp_status sp_fourier_to_real(sp_workspace *workspace, const sp_fourier_lines *lines)
{
	return transform(workspace, lines, runs_of(lines)->lines_to_real);
}
