#include <math.h>
#include <stdbool.h>

#include "engine/kernels/float_special.h"

/* A multiple of the packet, so that packets are the same for any division into strips. */
enum { STRIP = 8 * SP_FLOAT_PACKET };

/*
 * Numerators and denominators of Cephes' ndtri(): the middle in (p - 1/2)^2; the tails in 1 / r
 * with r = sqrt(-2 log p), for r < 8 (tail) and r >= 8 (end).
 */
static const float middle_top[] = {-5.99633501014107895267E1F, 9.80010754185999661536E1F,
				   -5.66762857469070293439E1F, 1.39312609387279679503E1F,
				   -1.23916583867381258016F};
static const float middle_bottom[] = {1.0F,
				      1.95448858338141759834F,
				      4.67627912898881538453F,
				      8.63602421390890590575E1F,
				      -2.25462687854119370527E2F,
				      2.00260212380060660359E2F,
				      -8.20372256168333339912E1F,
				      1.59056225126211695515E1F,
				      -1.18331621121330003142F};
static const float tail_top[] = {
	4.05544892305962419923F,     3.15251094599893866154E1F,   5.71628192246421288162E1F,
	4.40805073893200834700E1F,   1.46849561928858024014E1F,   2.18663306850790267539F,
	-1.40256079171354495875E-1F, -3.50424626827848203418E-2F, -8.57456785154685413611E-4F};
static const float tail_bottom[] = {1.0F,
				    1.57799883256466749731E1F,
				    4.53907635128879210584E1F,
				    4.13172038254672030440E1F,
				    1.50425385692907503408E1F,
				    2.50464946208309415979F,
				    -1.42182922854787788574E-1F,
				    -3.80806407691578277194E-2F,
				    -9.33259480895457427372E-4F};
static const float end_top[] = {
	3.23774891776946035970F,    6.91522889068984211695F,    3.93881025292474443415F,
	1.33303460815807542389F,    2.01485389549179081538E-1F, 1.23716634817820021358E-2F,
	3.01581553508235416007E-4F, 2.65806974686737550832E-6F, 6.23974539184983293730E-9F};
static const float end_bottom[] = {1.0F,
				   6.02427039364742014255F,
				   3.67983563856160859403F,
				   1.37702099489081330271F,
				   2.16236993594496635890E-1F,
				   1.34204006088543189037E-2F,
				   3.28014464682127739104E-4F,
				   2.89247864745380683936E-6F,
				   6.79019408009981274425E-9F};

static const float SQUARE_OF_E = 0.13533528323661269189F; /* e^-2 */

static float middle_quantile(float p)
{
	float c = p - 0.5F, square = c * c;
	float ratio = SP_FLOAT_POLYNOMIAL(square, middle_top) /
		      SP_FLOAT_POLYNOMIAL(square, middle_bottom);

	return (c * (square * ratio) + c) * 2.50662827463100050242F;
}

/* root = sqrt(-2 log p), logarithm = log(root), inverse = 1 / root. */
static float tail_quantile(float root, float logarithm, float inverse)
{
	float ratio;

	if (root < 8)
		ratio = SP_FLOAT_POLYNOMIAL(inverse, tail_top) /
			SP_FLOAT_POLYNOMIAL(inverse, tail_bottom);
	else
		ratio = SP_FLOAT_POLYNOMIAL(inverse, end_top) /
			SP_FLOAT_POLYNOMIAL(inverse, end_bottom);
	return root - logarithm / root - inverse * ratio;
}

/* Uses p for x <= 1 - e^-2, else the upper tail 1 - x. */
static void ndtri_strip(const float *x, float *y, size_t n)
{
	float p[STRIP], roots[STRIP], logs[STRIP], inverses[STRIP];
	bool low[STRIP];

	for (size_t i = 0; i < n; i++) {
		low[i] = x[i] <= 1 - SQUARE_OF_E;
		p[i] = low[i] ? x[i] : 1 - x[i];
	}
	sp_float_log(p, roots, n);
	for (size_t i = 0; i < n; i++)
		roots[i] = sqrtf(-2 * roots[i]);
	sp_float_log(roots, logs, n);
	sp_float_reciprocal(roots, inverses, n);
	for (size_t i = 0; i < n; i++) {
		float tail = tail_quantile(roots[i], logs[i], inverses[i]);

		if (x[i] == 0)
			y[i] = -INFINITY;
		else if (x[i] == 1)
			y[i] = INFINITY;
		else if (SQUARE_OF_E < p[i])
			y[i] = middle_quantile(p[i]);
		else
			y[i] = low[i] ? -tail : tail;
	}
}

static void erfinv_strip(const float *x, float *y, size_t n)
{
	float p[STRIP];

	for (size_t i = 0; i < n; i++)
		p[i] = 0.5F * x[i] + 0.5F;
	ndtri_strip(p, p, n);
	for (size_t i = 0; i < n; i++)
		y[i] = p[i] * 0.707106781186547524401F;
}

void sp_float_ndtri(const float *x, float *y, size_t count)
{
	for (size_t i = 0; i < count; i += STRIP)
		ndtri_strip(x + i, y + i, count - i < STRIP ? count - i : STRIP);
}

void sp_float_erfinv(const float *x, float *y, size_t count)
{
	for (size_t i = 0; i < count; i += STRIP)
		erfinv_strip(x + i, y + i, count - i < STRIP ? count - i : STRIP);
}
