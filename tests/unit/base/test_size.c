#include "tests/support/cmocka.h"

#include "base/size.h"

/* What fits is decided in 128 bits. */
static const size_t edges[] = {0,
			       1,
			       2,
			       3,
			       UINT32_MAX,
			       (size_t)UINT32_MAX + 1,
			       SIZE_MAX / 3,
			       SIZE_MAX / 2,
			       SIZE_MAX / 2 + 1,
			       SIZE_MAX - 1,
			       SIZE_MAX};
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

static void sizes_fit_or_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < EDGES; i++)
		for (int j = 0; j < EDGES; j++) {
			unsigned __int128 sum = (unsigned __int128)edges[i] + edges[j];
			unsigned __int128 product = (unsigned __int128)edges[i] * edges[j];
			size_t out;

			assert_int_equal(sp_size_add(&out, edges[i], edges[j]), sum <= SIZE_MAX);
			if (sum <= SIZE_MAX)
				assert_int_equal(out, (size_t)sum);
			assert_int_equal(sp_size_mul(&out, edges[i], edges[j]),
					 product <= SIZE_MAX);
			if (product <= SIZE_MAX)
				assert_int_equal(out, (size_t)product);
		}
}

static void signed_numbers_fit_or_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < EDGES; i++)
		for (int j = 0; j < EDGES; j++) {
			int64_t a = (int64_t)edges[i], b = (int64_t)edges[j], out;
			__int128 sum = (__int128)a + b, product = (__int128)a * b;
			bool sum_fits = sum >= INT64_MIN && sum <= INT64_MAX;
			bool product_fits = product >= INT64_MIN && product <= INT64_MAX;

			assert_int_equal(sp_i64_add(&out, a, b), sum_fits);
			if (sum_fits)
				assert_int_equal(out, (int64_t)sum);
			assert_int_equal(sp_i64_mul(&out, a, b), product_fits);
			if (product_fits)
				assert_int_equal(out, (int64_t)product);
		}
}

static void rounding_up_fits_or_is_refused(void **state)
{
	size_t out;

	(void)state;
	for (size_t size = 0; size < 300; size++)
		for (size_t unit = 1; unit <= 128; unit *= 2) {
			assert_true(sp_size_round_up(&out, size, unit));
			assert_int_equal(out, (size + unit - 1) / unit * unit);
		}
	assert_true(sp_size_round_up(&out, SIZE_MAX - 63, 64));
	assert_int_equal(out, SIZE_MAX - 63);
	assert_false(sp_size_round_up(&out, SIZE_MAX - 62, 64));
	assert_false(sp_size_round_up(&out, SIZE_MAX, 2));
	assert_true(sp_size_round_up(&out, SIZE_MAX, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_fit_or_are_refused),
		cmocka_unit_test(signed_numbers_fit_or_are_refused),
		cmocka_unit_test(rounding_up_fits_or_is_refused),
	};

	return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
