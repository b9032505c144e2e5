#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/checkpoint/tensor_slice.h"

static const sp_shape shape_30_16 = {2, {30, 16}};

static void texts_give_start_and_length(void **state)
{
	sp_tensor_slice slice;
	sp_error err;

	(void)state;
	assert_ok(sp_tensor_slice_parse(&slice, sp_bytes_of("30 16 10,20:-"), &shape_30_16, &err),
		  &err);
	assert_int_equal(slice.rank, 2);
	assert_int_equal(slice.start[0], 10);
	assert_int_equal(slice.length[0], 20);
	assert_int_equal(slice.start[1], 0);
	assert_int_equal(slice.length[1], 16);
}

static void an_empty_text_is_the_whole(void **state)
{
	sp_shape scalar = sp_shape_scalar();
	sp_tensor_slice slice;
	sp_error err;

	(void)state;
	assert_ok(sp_tensor_slice_parse(&slice, sp_bytes_of(""), &shape_30_16, &err), &err);
	assert_int_equal(slice.length[0], 30);
	assert_int_equal(slice.length[1], 16);
	assert_ok(sp_tensor_slice_parse(&slice, sp_bytes_of(""), &scalar, &err), &err);
	assert_int_equal(slice.rank, 0);
}

static void texts_that_are_no_slice_are_refused(void **state)
{
	static const char *const wrong[] = {
		"30 16",
		"30 16 ",
		"30 16 0,30",
		"30 16 0,30:0,16:0,1",
		"30 15 0,30:0,15",
		"30 0,30",
		"16 30 0,16:0,30",
		"30 16 1,30:0,16",
		"30 16 31,1:0,16",
		"30 16 0,0:0,16",
		"30 16 -1,5:0,16",
		"30 16 0,-1:0,16",
		"30 16  0,30:-",
		" 30 16 0,30:-",
		"30 16 0,30:- ",
		"30 16 0,30:",
		"30 16 0;30:-",
		"30 16 0,3 0:-",
		"30 16 0,30,-",
		"30 16 0x0,30:-",
		"30 16 --:-",
		"30\t16 0,30:-",
		"+30 16 0,30:-",
		" ",
		"30 16 0,9223372036854775808:-",
		"30 16 9223372036854775807,1:-",
		"30 16 18446744073709551616,30:-",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_tensor_slice slice;
		sp_error err;

		if (sp_tensor_slice_parse(&slice, sp_bytes_of(wrong[i]), &shape_30_16, &err) !=
		    SP_INVALID)
			fail_msg("\"%s\" was taken", wrong[i]);
		assert_non_null(strstr(err.text, "[30,16]"));
	}
}

static void a_slice_must_fit_its_shape(void **state)
{
	static const struct {
		int64_t start, length;
		bool fits;
	} cases[] = {
		{0, SP_SLICE_FULL, true},
		{1, SP_SLICE_FULL, false},
		{0, 30, true},
		{30, 0, true},
		{30, 1, false},
		{31, 0, false},
		{-1, 2, false},
		{0, -2, false},
		{INT64_MAX, INT64_MAX, false},
		{29, INT64_MAX, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sp_tensor_slice slice = {2, {cases[i].start, 0}, {cases[i].length, SP_SLICE_FULL}};

		assert_int_equal(sp_tensor_slice_resolve(&slice, &shape_30_16), cases[i].fits);
	}
}

/* Element (i, j, k) of the whole tensor is 100 i + 10 j + k. */
static void fill(int32_t *data, const sp_tensor_slice *place)
{
	for (int64_t i = 0; i < place->length[0]; i++)
		for (int64_t j = 0; j < place->length[1]; j++)
			for (int64_t k = 0; k < place->length[2]; k++)
				*data++ = (int32_t)(100 * (place->start[0] + i) +
						    10 * (place->start[1] + j) + place->start[2] +
						    k);
}

static sp_tensor tensor_at(int32_t *data, const sp_tensor_slice *place)
{
	sp_tensor t = {.dtype = SP_INT32, .shape = sp_tensor_slice_shape(place), .data = data};

	assert_true(sp_shape_count(&t.shape, &t.count));
	return t;
}

/* All pairs of slices of a small tensor, against the definition. */
static void copies_what_two_slices_share(void **state)
{
	enum { SIZE = 3 };
	sp_tensor_slice places[216];
	size_t count = 0;

	(void)state;
	for (int code = 0; code < 6 * 6 * 6; code++) {
		/* start and length of a non-empty range in 0 ... 2 */
		static const int64_t range[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {2, 1}};
		sp_tensor_slice *p = &places[count++];

		p->rank = 3;
		for (int d = 0, rest = code; d < 3; d++, rest /= 6) {
			p->start[d] = range[rest % 6][0];
			p->length[d] = range[rest % 6][1];
		}
	}
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < count; b++) {
			int32_t from[SIZE * SIZE * SIZE], to[SIZE * SIZE * SIZE];
			sp_tensor src = tensor_at(from, &places[a]),
				  dst = tensor_at(to, &places[b]);
			int32_t want[SIZE * SIZE * SIZE];
			uint64_t seen = 0;
			size_t copied = 0, shared = 1;

			memset(to, -1, sizeof(to));
			fill(from, &places[a]);
			fill(want, &places[b]);
			for (int d = 0; d < 3; d++) {
				size_t n = 0;

				for (int64_t i = 0; i < SIZE; i++)
					n += i >= places[a].start[d] && i >= places[b].start[d] &&
					     i < places[a].start[d] + places[a].length[d] &&
					     i < places[b].start[d] + places[b].length[d];
				shared *= n;
			}
			assert_true(sp_tensor_slice_copy(&dst, &places[b], &src, &places[a], &seen,
							 &copied));
			assert_int_equal(copied, shared);
			assert_int_equal(sp_tensor_slice_overlap(&places[a], &places[b]),
					 shared != 0);
			assert_int_equal(__builtin_popcountll(seen), shared);
			for (size_t i = 0; i < dst.count; i++)
				assert_int_equal(to[i], seen >> i & 1 ? want[i] : -1);
		}
}

static void an_element_is_written_once(void **state)
{
	sp_tensor_slice all = {3, {0, 0, 0}, {3, 3, 3}}, corner = {3, {2, 2, 2}, {1, 1, 1}};
	int32_t from[27], to[27];
	sp_tensor whole = tensor_at(from, &all), dst = tensor_at(to, &all);
	sp_tensor last = tensor_at(from, &corner);
	uint64_t seen = 0;
	size_t copied = 0;

	(void)state;
	fill(from, &all);
	assert_true(sp_tensor_slice_copy(&dst, &all, &last, &corner, &seen, &copied));
	assert_false(sp_tensor_slice_copy(&dst, &all, &whole, &all, &seen, &copied));
}

static void scalars_are_slices_too(void **state)
{
	sp_tensor_slice all = {.rank = 0};
	int32_t from = 7, to = 0;
	sp_tensor src = tensor_at(&from, &all), dst = tensor_at(&to, &all);
	uint64_t seen = 0;
	size_t copied = 0;

	(void)state;
	assert_true(sp_tensor_slice_copy(&dst, &all, &src, &all, &seen, &copied));
	assert_int_equal(to, 7);
	assert_int_equal(copied, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_give_start_and_length),
		cmocka_unit_test(an_empty_text_is_the_whole),
		cmocka_unit_test(texts_that_are_no_slice_are_refused),
		cmocka_unit_test(a_slice_must_fit_its_shape),
		cmocka_unit_test(copies_what_two_slices_share),
		cmocka_unit_test(an_element_is_written_once),
		cmocka_unit_test(scalars_are_slices_too),
	};

	return cmocka_run_group_tests_name("tensor_slice", tests, NULL, NULL);
}
