#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "storage/format/packed_row_internal.h"

/* On every instruction set that this processor has; the first is the definition. */
static const struct {
	sp_isa isa;
	const sp_packed_codec *codec;
} variants[] = {
	{SP_ISA_SCALAR, &sp_packed__codec_scalar},
#if defined(__x86_64__)
	{SP_ISA_AVX2, &sp_packed__codec_avx2},
	{SP_ISA_AVX512, &sp_packed__codec_avx512},
#endif
};

enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), MAX_DIM = 67 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static float from_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Any float between 2^-47 and 2^17, of either sign, and zeros. */
static float random_element(void)
{
	uint64_t r = next_random();
	float x = ldexpf(1.0f + (float)(r & 0x7fffff) * 0x1p-23f, (int)(r >> 32 & 63));

	x = ldexpf(x, -47);
	if (r >> 60 == 0 || x == 0x1p-47f)
		x = 0.0f;
	return r >> 59 & 1 ? -x : x;
}

static void check_alike(size_t dim, int64_t key, const float *elements)
{
	float packed[VARIANTS][MAX_DIM], back[MAX_DIM], sum[MAX_DIM];

	for (size_t v = 0; v < VARIANTS && sp_cpu_has(variants[v].isa); v++) {
		const sp_packed_codec *codec = variants[v].codec;

		assert_true(codec->pack(dim, key, elements, packed[v]));
		assert_memory_equal(packed[v], packed[0], dim * sizeof(float));
		assert_true(sp_packed_row_key(packed[v]) == key);
		assert_true(sp_packed_row_outlier(packed[v]) == SP_PACKED_NO_OUTLIER);
		codec->row.decode(dim, packed[v], back);
		assert_memory_equal(back, elements, dim * sizeof(float));
		for (size_t d = 0; d < dim; d++)
			sum[d] = (float)d;
		codec->row.accumulate(dim, 0.7f, packed[v], sum);
		for (size_t d = 0; d < dim; d++) {
			volatile float product = 0.7f * elements[d];

			assert_true(sum[d] == (float)d + product);
		}
	}
}

static void what_is_packed_comes_back(void **state)
{
	const size_t dims[] = {32, 33, 47, 64, 67};
	const int64_t keys[] = {0, 1, INT64_MAX, INT64_MIN, -3, 0x123456789abcdef};
	float elements[MAX_DIM];

	(void)state;
	for (size_t n = 0; n < 3000; n++) {
		size_t dim = dims[n % 5];

		for (size_t d = 0; d < dim; d++)
			elements[d] = random_element();
		check_alike(dim, n < 6 ? keys[n] : (int64_t)next_random(), elements);
	}
}

static bool fits_everywhere(const float *elements)
{
	float packed[SP_PACKED_ELEMENTS];
	bool fits = variants[0].codec->pack(SP_PACKED_ELEMENTS, 5, elements, packed);

	for (size_t v = 1; v < VARIANTS && sp_cpu_has(variants[v].isa); v++)
		assert_int_equal(variants[v].codec->pack(SP_PACKED_ELEMENTS, 5, elements, packed),
				 fits);
	return fits;
}

static void the_range_is_what_the_header_says(void **state)
{
	const struct {
		float element;
		bool fits, fits_first;
	} cases[] = {{0.0f, true, true},
		     {-0.0f, true, true},
		     {0x1p-47f, false, false},
		     {0x1.000002p-47f, true, false},
		     {0x1.000004p-47f, true, true},
		     {0x1.fffffep-48f, false, false},
		     {0x1.fffffep16f, true, true},
		     {0x1p17f, false, false},
		     {FLT_MAX, false, false},
		     {FLT_MIN, false, false},
		     {0x1p-149f, false, false},
		     {INFINITY, false, false},
		     {NAN, false, false},
		     {from_bits(0x7f800001), false, false},
		     {from_bits(0x7fffffff), false, false},
		     {1.0f, true, true}};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		for (int at = 0; at < SP_PACKED_ELEMENTS; at++)
			for (int sign = -1; sign < 2; sign += 2) {
				float elements[SP_PACKED_ELEMENTS] = {0};

				elements[at] = sign < 0 ? -cases[c].element : cases[c].element;
				assert_int_equal(fits_everywhere(elements),
						 at == 0 ? cases[c].fits_first : cases[c].fits);
			}
}

/* Elements behind the packed ones may be anything. */
static void only_the_first_elements_have_a_range(void **state)
{
	float elements[40] = {0}, packed[40], back[40];

	(void)state;
	elements[32] = NAN;
	elements[39] = FLT_MAX;
	for (size_t v = 0; v < VARIANTS && sp_cpu_has(variants[v].isa); v++) {
		assert_true(variants[v].codec->pack(40, 7, elements, packed));
		variants[v].codec->row.decode(40, packed, back);
		assert_memory_equal(back, elements, sizeof(back));
	}
}

static void a_place_refers_to_its_outlier(void **state)
{
	const uint64_t numbers[] = {0, 1, 2, UINT64_C(1) << 29, SP_PACKED_MAX_NUMBER};
	float place[SP_PACKED_ELEMENTS];

	(void)state;
	for (size_t n = 0; n < 5; n++) {
		int64_t key = (int64_t)next_random();

		sp_packed_row_refer(SP_PACKED_ELEMENTS, key, numbers[n], place);
		assert_true(sp_packed_row_outlier(place) == numbers[n]);
		for (size_t v = 0; v < VARIANTS && sp_cpu_has(variants[v].isa); v++)
			assert_true(sp_packed_row_key(place) == key);
	}
}

static void memory_of_zeros_has_no_key(void **state)
{
	const float zeros[SP_PACKED_ELEMENTS] = {0};

	(void)state;
	for (size_t v = 0; v < VARIANTS && sp_cpu_has(variants[v].isa); v++)
		assert_true(sp_packed_row_key(zeros) == -1);
}

static void a_sample_tells_whether_packing_pays(void **state)
{
	enum { ROWS = 10000, DIM = 32 };
	static float rows[ROWS][DIM];

	(void)state;
	assert_true(sp_packed_row_suits(DIM, rows, ROWS));
	assert_false(sp_packed_row_suits(DIM - 1, rows, ROWS));
	for (size_t i = 0; i < ROWS; i += 1 + next_random() % 200) /* one in a hundred */
		rows[i][i % DIM] = 1e20f;
	assert_true(sp_packed_row_suits(DIM, rows, ROWS));
	for (size_t i = 0; i < ROWS; i += 1 + next_random() % 16) /* and one in eight */
		rows[i][i % DIM] = 1e20f;
	assert_false(sp_packed_row_suits(DIM, rows, ROWS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_comes_back),
		cmocka_unit_test(the_range_is_what_the_header_says),
		cmocka_unit_test(only_the_first_elements_have_a_range),
		cmocka_unit_test(a_place_refers_to_its_outlier),
		cmocka_unit_test(memory_of_zeros_has_no_key),
		cmocka_unit_test(a_sample_tells_whether_packing_pays),
	};

	return cmocka_run_group_tests_name("packed row", tests, NULL, NULL);
}
