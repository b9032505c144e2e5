/*
 * Glimpses that are all noise, in the requests after the first (whose numbers are among the
 * operator cases): of the distribution, and others each time.
 */
#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "tests/support/graph.h"

enum { SIDE = 120, PLACES = SIDE * SIDE, PIXELS = 64, BINS = 16, RUNS = 4 };

typedef struct world {
	sp_small_graph g;
	float pixels[2 * PIXELS]; /* two images of 8 * 8 */
	float seen[RUNS][2 * PLACES];
} world;

/* The second image is twice the first one, and 1 more. */
static int set_up(void **state)
{
	static world w;

	sp_small_graph_init(&w.g);
	for (size_t i = 0; i < PIXELS; i++) {
		w.pixels[i] = i == 0 ? -40.0f : i == 1 ? 40.0f : i % 2 != 0 ? 1.0f : -1.0f;
		w.pixels[PIXELS + i] = 2 * w.pixels[i] + 1;
	}
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	sp_small_graph_fini(&((world *)*state)->g);
	return 0;
}

static void run_all(world *w, const char *noise)
{
	int32_t side[] = {SIDE, SIDE};
	float far_off[] = {500, 500, 500, 500};
	const sp_tensor size = {SP_INT32, {1, {2}}, 2, side, NULL};
	const sp_tensor offsets = {SP_FLOAT, {2, {2, 2}}, 4, far_off, NULL};
	const sp_tensor images = {SP_FLOAT, {4, {2, 8, 8, 1}}, 2 * PIXELS, w->pixels, NULL};
	const sp_node_def nodes[] = {
		{NODE("images", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("size", "Const"), ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &size))},
		{NODE("at", "Const"), ATTRS(TYPE("dtype", SP_FLOAT), TENSOR("value", &offsets))},
		{NODE("y", "ExtractGlimpse"), INPUTS("images", "size", "at"),
		 ATTRS({.name = "uniform_noise", .kind = SP_ATTR_BOOL, .b = false},
		       {.name = "noise", .kind = SP_ATTR_BYTES, .bytes = sp_bytes_of(noise)})},
	};
	const sp_ends ends = {.feeds = {"images"}, .fetches = {"y"}};
	const sp_tensor *fetches[1];

	assert_ok(sp_small_graph_compile(&w->g, nodes, COUNT(nodes), &ends), &w->g.err);
	for (size_t i = 0; i < RUNS; i++) {
		assert_ok(sp_small_graph_run(&w->g, &images, NULL, fetches), &w->g.err);
		assert_int_equal(fetches[0]->count, 2 * PLACES);
		memcpy(w->seen[i], sp_tensor_f32(fetches[0]), sizeof(w->seen[i]));
	}
}

/*
 * As many in each of BINS equally likely ranges: the sum of squares is that of 15 degrees of
 * freedom, which is above 60 once in 4 million times.
 */
static void expect_even(const float *x, double cumulative(double))
{
	double counts[BINS] = {0}, sum = 0;

	for (size_t i = 0; i < PLACES; i++) {
		double part = cumulative((double)x[i]);

		assert_true(part >= 0 && part <= 1);
		counts[part == 1 ? BINS - 1 : (size_t)(part * BINS)]++;
	}
	for (size_t i = 0; i < BINS; i++) {
		double off = counts[i] - (double)PLACES / BINS;

		sum += off * off / ((double)PLACES / BINS);
	}
	assert_true(sum < 60);
}

/* What two runs, or a run and itself a step later, have in common. */
static double correlation(const float *a, const float *b, size_t count)
{
	double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < count; i++) {
		mean_a += (double)a[i] / (double)count;
		mean_b += (double)b[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		ab += ((double)a[i] - mean_a) * ((double)b[i] - mean_b);
		aa += ((double)a[i] - mean_a) * ((double)a[i] - mean_a);
		bb += ((double)b[i] - mean_b) * ((double)b[i] - mean_b);
	}
	return ab / sqrt(aa * bb);
}

static void expect_noise(world *w, double cumulative(double))
{
	const double five_sigma = 5 / sqrt(PLACES);

	for (size_t i = 0; i < RUNS; i++) {
		expect_even(w->seen[i], cumulative);
		assert_true(fabs(correlation(w->seen[i], w->seen[i] + 1, PLACES - 1)) < five_sigma);
		for (size_t j = 0; j < i; j++)
			assert_true(fabs(correlation(w->seen[i], w->seen[j], PLACES)) < five_sigma);
		/* Every image begins at the seed again. */
		for (size_t j = 0; j < PLACES; j++)
			assert_true(fabsf(2 * w->seen[i][j] + 1 - w->seen[i][PLACES + j]) < 1e-4f);
	}
}

static double uniform(double x)
{
	return (x + 40) / 80;
}

/* Of mean 0; what lies past 40, five deviations, once in a million times, is moved there. */
static double normal(double x)
{
	double deviation = sqrt((2 * 40.0 * 40.0 + PIXELS - 2) / PIXELS);

	return erfc(-x / deviation / sqrt(2)) / 2;
}

static void uniform_noise_lies_between_the_least_and_the_largest_pixel(void **state)
{
	run_all(*state, "uniform");
	expect_noise(*state, uniform);
}

static void normal_noise_has_mean_and_deviation_of_the_image(void **state)
{
	run_all(*state, "gaussian");
	expect_noise(*state, normal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uniform_noise_lies_between_the_least_and_the_largest_pixel),
		cmocka_unit_test(normal_noise_has_mean_and_deviation_of_the_image),
	};

	return cmocka_run_group_tests_name("glimpse noise", tests, set_up, tear_down);
}
