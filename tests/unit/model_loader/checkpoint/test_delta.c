#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/checkpoint/delta.h"
#include "tests/support/embeddings.h"

/* Over tests/golden/embeddings/, see scripts/make_embedding_fixtures.py for the formulas. */

static sp_bundle *full, *delta, *broken_delta;
static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	full = sp_embeddings_open("full");
	delta = sp_embeddings_open("delta");
	broken_delta = sp_embeddings_open("broken_delta");
	arena = sp_arena_create(64 << 10);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_bundle_close(full);
	sp_bundle_close(delta);
	sp_bundle_close(broken_delta);
	sp_arena_destroy(arena);
	return 0;
}

static sp_tensor read_slice(const sp_bundle *with, const char *name, const char *slice)
{
	sp_tensor out;

	assert_ok(sp_delta_read_slice(full, with, sp_bytes_of(name), sp_bytes_of(slice), NULL,
				      arena, &out, &err),
		  &err);
	return out;
}

/* Rows [first, first + count) of a variable of 3 columns; change[r] is what replaced row r. */
static void check_rows(const sp_tensor *got, int64_t first, int64_t count, const float *change)
{
	assert_int_equal(got->dtype, SP_FLOAT);
	assert_int_equal(got->shape.rank, 2);
	assert_int_equal(got->shape.dims[0], count);
	assert_int_equal(got->shape.dims[1], 3);
	for (int64_t r = first; r < first + count; r++)
		for (int64_t c = 0; c < 3; c++) {
			float start = change[r] != 0 ? change[r] : 10.0f * (float)r;

			assert_true(sp_tensor_f32(got)[(r - first) * 3 + c] == start + (float)c);
		}
}

static const float unchanged[10];

/* The delta's i-th row of a variable starts with its number times ten. */
static const float sparse_changes[10] = {[2] = 500, [9] = 510};
static const float sliced_changes[10] = {[3] = 600, [7] = 700, [9] = 710};

static void without_a_delta_variables_are_as_saved(void **state)
{
	sp_tensor rows = read_slice(NULL, "sparse", "");

	(void)state;
	check_rows(&rows, 0, 10, unchanged);
	rows = read_slice(NULL, "sliced", "10 3 4,3:0,3");
	check_rows(&rows, 4, 3, unchanged);
}

static void a_variable_that_is_whole_in_the_delta_is_taken_from_it(void **state)
{
	const float want[] = {4, 5, 6};
	sp_tensor bias = read_slice(delta, "dense/bias", "");
	sp_tensor kernel = read_slice(delta, "dense/kernel", "");

	(void)state;
	assert_int_equal(bias.count, 3);
	assert_memory_equal(bias.data, want, sizeof(want));
	check_rows(&kernel, 0, 10, unchanged); /* the delta says nothing of it */
}

static void changed_rows_are_overwritten(void **state)
{
	sp_tensor rows = read_slice(delta, "sparse", "");

	(void)state;
	check_rows(&rows, 0, 10, sparse_changes);
	rows = read_slice(delta, "sparse", "10 3 2,4:-");
	check_rows(&rows, 2, 4, sparse_changes);
	rows = read_slice(delta, "sparse", "10 3 -:0,3");
	check_rows(&rows, 0, 10, sparse_changes);
	/* The bundle itself is as it was. */
	rows = read_slice(NULL, "sparse", "");
	check_rows(&rows, 0, 10, unchanged);
}

static void rows_of_parts_are_overwritten_where_the_part_starts(void **state)
{
	sp_tensor rows = read_slice(delta, "sliced", "");

	(void)state;
	check_rows(&rows, 0, 10, sliced_changes);
	rows = read_slice(delta, "sliced", "10 3 0,4:0,3");
	check_rows(&rows, 0, 4, sliced_changes);
	rows = read_slice(delta, "sliced", "10 3 4,3:0,3");
	check_rows(&rows, 4, 3, sliced_changes);
	rows = read_slice(delta, "sliced", "10 3 7,3:0,3");
	check_rows(&rows, 7, 3, sliced_changes);
}

static void check_refused(const sp_bundle *with, const char *name, const char *slice,
			  sp_status status)
{
	sp_tensor out;

	assert_int_equal(sp_delta_read_slice(full, with, sp_bytes_of(name), sp_bytes_of(slice),
					     NULL, arena, &out, &err),
			 status);
	assert_non_null(strstr(err.text, name));
}

static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	check_refused(delta, "sparse", "10 3 0,10:1,2", SP_UNSUPPORTED);
	check_refused(broken_delta, "sparse", "", SP_CORRUPT);
	check_refused(broken_delta, "dense/kernel", "", SP_CORRUPT);
	check_refused(broken_delta, "dense/bias", "", SP_CORRUPT);
	check_refused(delta, "nothing", "", SP_NOT_FOUND);
	check_refused(NULL, "nothing", "", SP_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_delta_variables_are_as_saved),
		cmocka_unit_test(a_variable_that_is_whole_in_the_delta_is_taken_from_it),
		cmocka_unit_test(changed_rows_are_overwritten),
		cmocka_unit_test(rows_of_parts_are_overwritten_where_the_part_starts),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests_name("delta", tests, set_up, tear_down);
}
