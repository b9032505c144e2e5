#include "engine/ops/glimpse_noise.h"

#include <math.h>

#define MULTIPLIER 6364136223846793005u

/* Where the stream of a seed begins. */
static uint64_t begin(uint64_t seed)
{
	return seed * MULTIPLIER + 0xda3e39cb94b95bdbu;
}

/* The increment of number `i` of `count`: whole blocks of eight have one. */
static uint64_t increment_of(size_t i, size_t count)
{
	size_t block = i / 8 * 8;

	return (uint64_t)(block + 8 <= count ? block : i) << 1 | 1;
}

/* In [0, 1), of 23 bits. */
static float draw_uniform(uint64_t *state, uint64_t increment)
{
	uint64_t now = *state;
	uint32_t bits = (uint32_t)((now ^ now >> 22) >> (22 + (now >> 61)));

	*state = now * MULTIPLIER + increment;
	return (float)(bits & 0x7fffff) * 0x1p-23f;
}

/* Of mean 0 and deviation 1. */
static float draw_normal(uint64_t *state, uint64_t increment)
{
	for (;;) {
		float u = draw_uniform(state, increment);
		float v = 1.7156f * (draw_uniform(state, increment) - 0.5f);
		float x = u - 0.449871f, y = fabsf(v) + 0.386595f;
		float q = x * x + y * (0.196f * y - 0.25472f * x);

		if (q <= 0.27597f || (q <= 0.27846f && v * v <= -4 * logf(u) * u * u))
			return v / u;
	}
}

/* The least and the largest of every step-th number. */
static void find_range(const float *x, size_t count, size_t step, float *least, float *largest)
{
	*least = INFINITY;
	*largest = -INFINITY;
	for (size_t i = 0; i < count; i++) {
		*least = fminf(*least, x[i * step]);
		*largest = fmaxf(*largest, x[i * step]);
	}
}

void sp_glimpse_noise__uniform(const sp_glimpse_picture *p, uint64_t seed)
{
	const size_t count = p->places * p->channels;
	uint64_t state = begin(seed);
	float least, largest, range;

	find_range(p->image, p->pixels * p->channels, 1, &least, &largest);
	range = largest - least;
	for (size_t i = 0; i < count; i++)
		p->out[i] = least + draw_uniform(&state, increment_of(i, count)) * range;
}

static void find_moments(const float *x, size_t count, size_t step, float *mean, float *deviation)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)x[i * step];
	*mean = (float)(sum / (double)count);
	for (size_t i = 0; i < count; i++) {
		double off = (double)x[i * step] - (double)*mean;

		squares += off * off;
	}
	*deviation = (float)sqrt(squares / (double)count);
}

void sp_glimpse_noise__normal(const sp_glimpse_picture *p, uint64_t seed)
{
	for (size_t c = 0; c < p->channels; c++) {
		float mean, deviation, least, largest;
		uint64_t state = begin(seed);

		find_moments(p->image + c, p->pixels, p->channels, &mean, &deviation);
		find_range(p->image + c, p->pixels, p->channels, &least, &largest);
		for (size_t i = 0; i < p->places; i++) {
			float x = draw_normal(&state, increment_of(i, p->places)) * deviation;

			x += mean;
			if (largest < x)
				x = largest;
			if (x < least)
				x = least;
			p->out[i * p->channels + c] = x;
		}
	}
}
