#include <math.h>

#include "engine/kernels/float_special.h"

/* Functions are taken in strips, which begin with packets. */
enum { STRIP = 8 * SP_FLOAT_PACKET };

#define IN_STRIPS(name, strip)                                                      \
	void name(const float *x, float *y, size_t count)                           \
	{                                                                           \
		for (size_t i = 0; i < count; i += STRIP)                           \
			strip(x + i, y + i, count - i < STRIP ? count - i : STRIP); \
	}

/* Chebyshev's series, from the last term on. */
static float chebyshev(float x, const float *c, size_t n)
{
	float b0 = c[0], b1 = 0, b2 = 0;

	for (size_t i = 1; i < n; i++) {
		b2 = b1;
		b1 = b0;
		b0 = x * b1 + c[i] - b2;
	}
	return 0.5F * (b0 - b2);
}

#define CHEBYSHEV(x, c) chebyshev(x, c, sizeof(c) / sizeof((c)[0]))

/* --------------------------------------------------------------- I and K */

static const float i0_near[] = {
	-1.30002500998624804212E-8F, 6.04699502254191894932E-8F,  -2.67079385394061173391E-7F,
	1.11738753912010371815E-6F,  -4.41673835845875056359E-6F, 1.64484480707288970893E-5F,
	-5.75419501008210370398E-5F, 1.88502885095841655729E-4F,  -5.76375574538582365885E-4F,
	1.63947561694133579842E-3F,  -4.32430999505057594430E-3F, 1.05464603945949983183E-2F,
	-2.37374148058994688156E-2F, 4.93052842396707084878E-2F,  -9.49010970480476444210E-2F,
	1.71620901522208775349E-1F,  -3.04682672343198398683E-1F, 6.76795274409476084995E-1F};
static const float i0_far[] = {3.39623202570838634515E-9F, 2.26666899049817806459E-8F,
			       2.04891858946906374183E-7F, 2.89137052083475648297E-6F,
			       6.88975834691682398426E-5F, 3.36911647825569408990E-3F,
			       8.04490411014108831608E-1F};
static const float i1_near[] = {
	9.38153738649577178388E-9F,  -4.44505912879632808065E-8F, 2.00329475355213526229E-7F,
	-8.56872026469545474066E-7F, 3.47025130813767847674E-6F,  -1.32731636560394358279E-5F,
	4.78156510755005422638E-5F,  -1.61760815825896745588E-4F, 5.12285956168575772895E-4F,
	-1.51357245063125314899E-3F, 4.15642294431288815669E-3F,  -1.05640848946261981558E-2F,
	2.47264490306265168283E-2F,  -5.29459812080949914269E-2F, 1.02643658689847095384E-1F,
	-1.76416518357834055153E-1F, 2.52587186443633654823E-1F};
static const float i1_far[] = {-3.83538038596423702205E-9F, -2.63146884688951950684E-8F,
			       -2.51223623787020892529E-7F, -3.88256480887769039346E-6F,
			       -1.10588938762623716291E-4F, -9.76109749136146840777E-3F,
			       7.78576235018280120474E-1F};
static const float k0_near[] = {1.90451637722020886025E-9F, 2.53479107902614945675E-7F,
				2.28621210311945178607E-5F, 1.26461541144692592338E-3F,
				3.59799365153615016266E-2F, 3.44289899924628486886E-1F,
				-5.35327393233902768720E-1F};
static const float k0_far[] = {-1.69753450938905987466E-9F, 8.57403401741422608519E-9F,
			       -4.66048989768794782956E-8F, 2.76681363944501510342E-7F,
			       -1.83175552271911948767E-6F, 1.39498137188764993662E-5F,
			       -1.28495495816278026384E-4F, 1.56988388573005337491E-3F,
			       -3.14481013119645005427E-2F, 2.44030308206595545468F};
static const float k1_near[] = {-2.21338763073472585583E-8F, -2.43340614156596823496E-6F,
				-1.73028895751305206302E-4F, -6.97572385963986435018E-3F,
				-1.22611180822657148235E-1F, -3.53155960776544875667E-1F,
				1.52530022733894777053F};
static const float k1_far[] = {2.01504975519703286596E-9F, -1.03457624656780970260E-8F,
			       5.74108412545004946722E-8F, -3.50196060308781257119E-7F,
			       2.40648494783721712015E-6F, -1.93619797416608296024E-5F,
			       1.95215518471351631108E-4F, -2.85781685962277938680E-3F,
			       1.03923736576817238437E-1F, 2.72062619048444266945F};

static void i0e_strip(const float *x, float *y, size_t n)
{
	float sizes[STRIP], roots[STRIP];

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabsf(x[i]);
	sp_float_rsqrt(sizes, roots, n);
	for (size_t i = 0; i < n; i++) {
		float size = sizes[i];

		y[i] = size <= 8 ? CHEBYSHEV(0.5F * size + -2, i0_near)
				 : CHEBYSHEV(32 / size - 2, i0_far) * roots[i];
	}
}

static void i1e_strip(const float *x, float *y, size_t n)
{
	float sizes[STRIP], roots[STRIP];

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabsf(x[i]);
	sp_float_rsqrt(sizes, roots, n);
	for (size_t i = 0; i < n; i++) {
		float size = sizes[i];
		float value = size <= 8 ? size * CHEBYSHEV(0.5F * size + -2, i1_near)
					: CHEBYSHEV(32 / size - 2, i1_far) * roots[i];

		y[i] = x[i] < 0 ? -value : value;
	}
}

/* y *= exp(|x|) */
static void grow(const float *x, float *y, size_t n)
{
	float powers[STRIP];

	for (size_t i = 0; i < n; i++)
		powers[i] = fabsf(x[i]);
	sp_float_exp(powers, powers, n);
	for (size_t i = 0; i < n; i++)
		y[i] = powers[i] * y[i];
}

static void i0_strip(const float *x, float *y, size_t n)
{
	float scaled[STRIP];

	i0e_strip(x, scaled, n);
	grow(x, scaled, n);
	for (size_t i = 0; i < n; i++)
		y[i] = scaled[i];
}

static void i1_strip(const float *x, float *y, size_t n)
{
	float scaled[STRIP];

	i1e_strip(x, scaled, n);
	grow(x, scaled, n);
	for (size_t i = 0; i < n; i++)
		y[i] = scaled[i];
}

/* What the K of a strip are made of: I, the logarithm of x / 2, and for those with e e^x. */
typedef struct k_parts {
	float i[STRIP], logs[STRIP], roots[STRIP], powers[STRIP];
} k_parts;

static void take_parts(k_parts *parts, const float *x, float sign, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		parts->logs[i] = 0.5F * x[i];
		parts->powers[i] = sign * x[i];
	}
	sp_float_log(parts->logs, parts->logs, n);
	sp_float_exp(parts->powers, parts->powers, n);
	sp_float_rsqrt(x, parts->roots, n);
}

static float k0_below(const k_parts *p, size_t i, float x)
{
	return p->i[i] * -p->logs[i] + CHEBYSHEV(x * x + -2, k0_near);
}

static float k1_below(const k_parts *p, size_t i, float x)
{
	return p->i[i] * p->logs[i] + CHEBYSHEV(x * x + -2, k1_near) / x;
}

static void k0_strip(const float *x, float *y, size_t n)
{
	k_parts p;

	i0_strip(x, p.i, n);
	take_parts(&p, x, -1, n);
	for (size_t i = 0; i < n; i++)
		if (x[i] <= 0)
			y[i] = INFINITY;
		else if (x[i] <= 2)
			y[i] = k0_below(&p, i, x[i]);
		else
			y[i] = p.powers[i] * CHEBYSHEV(8 / x[i] - 2, k0_far) * p.roots[i];
}

static void k0e_strip(const float *x, float *y, size_t n)
{
	k_parts p;

	i0_strip(x, p.i, n);
	take_parts(&p, x, 1, n);
	for (size_t i = 0; i < n; i++)
		if (x[i] <= 0)
			y[i] = INFINITY;
		else if (x[i] <= 2)
			y[i] = p.powers[i] * k0_below(&p, i, x[i]);
		else
			y[i] = CHEBYSHEV(8 / x[i] - 2, k0_far) * p.roots[i];
}

static void k1_strip(const float *x, float *y, size_t n)
{
	k_parts p;

	i1_strip(x, p.i, n);
	take_parts(&p, x, -1, n);
	for (size_t i = 0; i < n; i++)
		if (x[i] <= 0)
			y[i] = INFINITY;
		else if (x[i] <= 2)
			y[i] = k1_below(&p, i, x[i]);
		else
			y[i] = p.powers[i] * (CHEBYSHEV(8 / x[i] - 2, k1_far) * p.roots[i]);
}

static void k1e_strip(const float *x, float *y, size_t n)
{
	k_parts p;

	i1_strip(x, p.i, n);
	take_parts(&p, x, 1, n);
	for (size_t i = 0; i < n; i++)
		if (x[i] <= 0)
			y[i] = INFINITY;
		else if (x[i] <= 2)
			y[i] = k1_below(&p, i, x[i]) * p.powers[i];
		else
			y[i] = CHEBYSHEV(8 / x[i] - 2, k1_far) * p.roots[i];
}

IN_STRIPS(sp_float_i0, i0_strip)
IN_STRIPS(sp_float_i0e, i0e_strip)
IN_STRIPS(sp_float_i1, i1_strip)
IN_STRIPS(sp_float_i1e, i1e_strip)
IN_STRIPS(sp_float_k0, k0_strip)
IN_STRIPS(sp_float_k0e, k0e_strip)
IN_STRIPS(sp_float_k1, k1_strip)
IN_STRIPS(sp_float_k1e, k1e_strip)

/* --------------------------------------------------------------- J and Y */

/* Beyond 2, modulus and phase; below, a polynomial around the first root. */
static const float j0_near[] = {-6.068350350393235E-8F, 6.388945720783375E-6F,
				-3.969646342510940E-4F, 1.332913422519003E-2F,
				-1.729150680240724E-1F};
static const float y0_near[] = {9.454583683980369E-8F, -9.413212653797057E-6F,
				5.344486707214273E-4F, -1.584289289821316E-2F,
				1.707584643733568E-1F};
static const float modulus0[] = {-6.838999669318810E-2F, 1.864949361379502E-1F,
				 -2.145007480346739E-1F, 1.197549369473540E-1F,
				 -3.560281861530129E-3F, -4.969382655296620E-2F,
				 -3.355424622293709E-6F, 7.978845717621440E-1F};
static const float phase0[] = {3.242077816988247E1F,  -3.630592630518434E1F, 1.756221482109099E1F,
			       -4.974978466280903F,   1.001973420681837F,    -1.939906941791308E-1F,
			       6.490598792654666E-2F, -1.249992184872738E-1F};
static const float j1_near[] = {-4.878788132172128E-9F, 6.009061827883699E-7F,
				-4.541343896997497E-5F, 1.937383947804541E-3F,
				-3.405537384615824E-2F};
static const float y1_near[] = {8.061978323326852E-9F, -9.496460629917016E-7F,
				6.719543806674249E-5F, -2.641785726447862E-3F,
				4.202369946500099E-2F};
static const float modulus1[] = {6.913942741265801E-2F, -2.284801500053359E-1F,
				 3.138238455499697E-1F, -2.102302420403875E-1F,
				 5.435364690523026E-3F, 1.493389585089498E-1F,
				 4.976029650847191E-6F, 7.978845453073848E-1F};
static const float phase1[] = {-4.497014141919556E1F,  5.073465654089319E1F, -2.485774108720340E1F,
			       7.222973196770240F,     -1.544842782180211F,  3.503787691653334E-1F,
			       -1.637986776941202E-1F, 3.749989509080821E-1F};

static const float TWO_OVER_PI = 0.636619772367581343075535F;

/* The modulus at x, and the angle of the wave. */
static float wave0(float inverse, float root, float x, float *angle)
{
	*angle = inverse * SP_FLOAT_POLYNOMIAL(inverse * inverse, phase0) +
		 -0.7853981633974483096F + x;
	return root * SP_FLOAT_POLYNOMIAL(inverse, modulus0);
}

static float wave1(float inverse, float root, float x, float *angle)
{
	*angle = inverse * SP_FLOAT_POLYNOMIAL(inverse * inverse, phase1) +
		 -2.35619449019234492885F + x;
	return root * SP_FLOAT_POLYNOMIAL(inverse, modulus1);
}

typedef float wave_fn(float inverse, float root, float x, float *angle);

/* waves = modulus times cosine, or sine, of the angle; for Y of x, for J of its size. */
static void take_waves(const float *x, float *waves, size_t n, wave_fn *wave, sp_float_fn *turn)
{
	float moduli[STRIP];

	sp_float_rsqrt(x, moduli, n);
	for (size_t i = 0; i < n; i++)
		moduli[i] = wave(1 / x[i], moduli[i], x[i], &waves[i]);
	turn(waves, waves, n);
	for (size_t i = 0; i < n; i++)
		waves[i] = moduli[i] * waves[i];
}

static float j0_below(float size)
{
	float square = size * size;

	if (size < 1e-3F)
		return square * -0.25F + 1;
	return (square - 5.78318596294678452118F) * SP_FLOAT_POLYNOMIAL(square, j0_near);
}

static float j1_below(float x)
{
	float square = x * x;

	return (square - 1.46819706421238932572E1F) * (x * SP_FLOAT_POLYNOMIAL(square, j1_near));
}

static void j0_strip(const float *x, float *y, size_t n)
{
	float sizes[STRIP], waves[STRIP];

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabsf(x[i]);
	take_waves(sizes, waves, n, wave0, sp_float_cos);
	for (size_t i = 0; i < n; i++)
		y[i] = sizes[i] <= 2 ? j0_below(sizes[i]) : waves[i];
}

static void j1_strip(const float *x, float *y, size_t n)
{
	float sizes[STRIP], waves[STRIP];

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabsf(x[i]);
	take_waves(sizes, waves, n, wave1, sp_float_cos);
	for (size_t i = 0; i < n; i++)
		if (sizes[i] <= 2)
			y[i] = j1_below(x[i]);
		else
			y[i] = x[i] < 0 ? -waves[i] : waves[i];
}

static void y0_strip(const float *x, float *y, size_t n)
{
	float first[STRIP], logs[STRIP], waves[STRIP];

	j0_strip(x, first, n);
	sp_float_log(x, logs, n);
	take_waves(x, waves, n, wave0, sp_float_sin);
	for (size_t i = 0; i < n; i++) {
		float square = x[i] * x[i];

		if (x[i] <= 0)
			y[i] = -INFINITY;
		else if (x[i] <= 2)
			y[i] = (square - 0.43221455686510834878F) *
				       SP_FLOAT_POLYNOMIAL(square, y0_near) +
			       TWO_OVER_PI * (logs[i] * first[i]);
		else
			y[i] = waves[i];
	}
}

static void y1_strip(const float *x, float *y, size_t n)
{
	float first[STRIP], logs[STRIP], waves[STRIP];

	j1_strip(x, first, n);
	sp_float_log(x, logs, n);
	take_waves(x, waves, n, wave1, sp_float_sin);
	for (size_t i = 0; i < n; i++) {
		float square = x[i] * x[i];

		if (x[i] < 0)
			y[i] = -INFINITY;
		else if (x[i] <= 2)
			y[i] = (square - 4.66539330185668857532F) *
				       SP_FLOAT_POLYNOMIAL(square, y1_near) * x[i] +
			       TWO_OVER_PI * (first[i] * logs[i] + -1 / x[i]);
		else
			y[i] = waves[i];
	}
}

IN_STRIPS(sp_float_j0, j0_strip)
IN_STRIPS(sp_float_j1, j1_strip)
IN_STRIPS(sp_float_y0, y0_strip)
IN_STRIPS(sp_float_y1, y1_strip)
