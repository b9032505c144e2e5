/* Which keys a fused column reads from its inputs, and how their rows are combined. */
#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/ops/embedding/embedding_columns.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static sp_workspace *workspace;
static sp_error err;
static sp_column_keys keys;

static int set_up(void **state)
{
	(void)state;
	workspace = sp_workspace_create(1 << 20);
	return workspace == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_workspace_destroy(workspace);
	return 0;
}

static sp_tensor tensor(sp_dtype dtype, sp_shape shape, void *data)
{
	sp_tensor out = {.dtype = dtype, .shape = shape, .data = data};

	assert_true(sp_shape_count(&shape, &out.count));
	return out;
}

/* A sparse tensor of int64 keys; weights may be NULL. */
static sp_status read_sparse(sp_column_spec spec, int64_t *indices, size_t rank, int64_t *values,
			     float *weights, size_t count, int64_t *dims)
{
	sp_tensor inputs[5] = {
		{0},
		tensor(SP_INT64, sp_shape_matrix((int64_t)count, (int64_t)rank), indices),
		tensor(SP_INT64, sp_shape_vector((int64_t)count), values),
		tensor(SP_INT64, sp_shape_vector((int64_t)rank), dims),
	};
	const sp_tensor *in[5];
	sp_call call = {.workspace = workspace, .err = &err};

	if (weights != NULL)
		inputs[4] = tensor(SP_FLOAT, sp_shape_vector((int64_t)count), weights);
	for (size_t i = 0; i < COUNT(in); i++)
		in[i] = &inputs[i];
	spec.name = "column";
	spec.source = SP_COLUMN_SPARSE;
	spec.weighted = weights != NULL;
	return sp_column_read_keys(&call, &spec, in, &keys);
}

static sp_status read_dense(sp_column_spec spec, sp_tensor cells)
{
	const sp_tensor *in[2] = {NULL, &cells};
	sp_call call = {.workspace = workspace, .err = &err};

	spec.name = "column";
	return sp_column_read_keys(&call, &spec, in, &keys);
}

static void assert_keys(const int64_t *wanted, const int64_t *segments, size_t count)
{
	assert_int_equal(keys.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(keys.keys[i], wanted[i]);
		assert_int_equal(keys.segments[i], segments[i]);
	}
}

static void rows_in_any_order_are_put_in_order(void **state)
{
	int64_t indices[] = {2, 0, 0, 0, 2, 1, 0, 1}, values[] = {10, 11, 12, 13}, dims[] = {3, 2};

	(void)state;
	assert_ok(read_sparse((sp_column_spec){0}, indices, 2, values, NULL, 4, dims), &err);
	assert_keys((int64_t[]){11, 13, 10, 12}, (int64_t[]){0, 0, 2, 2}, 4);
	assert_int_equal(keys.row_count, 3);
	assert_false(keys.one_each);
}

static void negative_keys_and_weights_that_are_not_positive_are_dropped(void **state)
{
	int64_t indices[] = {0, 0, 0, 1, 1, 0, 1, 1, 2, 0}, values[] = {-1, 5, 6, 7, 8};
	int64_t dims[] = {3, 2};
	float weights[] = {1, 2, 0, NAN, 0.5f};
	sp_column_spec spec = {.drops_ids = true, .drops_weights = true};

	(void)state;
	assert_ok(read_sparse(spec, indices, 2, values, weights, 5, dims), &err);
	assert_keys((int64_t[]){5, 8}, (int64_t[]){0, 2}, 2);
	assert_true(keys.weights[0] == 2 && keys.weights[1] == 0.5f);
}

static void an_empty_row_gets_the_default_where_there_is_one(void **state)
{
	int64_t indices[] = {1, 0}, values[] = {4}, dims[] = {3, 1};
	float weights[] = {0.5f};
	sp_column_spec spec = {.fills = true, .default_key = 9, .default_weight = 1};

	(void)state;
	assert_ok(read_sparse(spec, indices, 2, values, weights, 1, dims), &err);
	assert_keys((int64_t[]){9, 4, 9}, (int64_t[]){0, 1, 2}, 3);
	assert_true(keys.weights[0] == 1 && keys.weights[1] == 0.5f && keys.weights[2] == 1);
}

static void leading_dimensions_are_rows(void **state)
{
	int64_t indices[] = {0, 1, 0, 1, 0, 3}, values[] = {1, 2}, dims[] = {2, 2, 4};
	sp_column_spec spec = {.row_dims = 2};

	(void)state;
	assert_ok(read_sparse(spec, indices, 3, values, NULL, 2, dims), &err);
	assert_keys((int64_t[]){1, 2}, (int64_t[]){1, 2}, 2);
	assert_int_equal(keys.row_count, 4);
	assert_int_equal(keys.lead.rank, 2);
	spec = (sp_column_spec){.row_dims = 1, .flattens = true};
	assert_ok(read_sparse(spec, indices, 3, values, NULL, 2, dims), &err);
	assert_keys((int64_t[]){1, 2}, (int64_t[]){0, 1}, 2);
}

static void assert_refused(sp_status status, const char *words)
{
	assert_int_equal(status, SP_INVALID);
	if (strstr(err.text, words) == NULL)
		fail_msg("'%s' lacks '%s'", err.text, words);
}

static void what_does_not_fit_is_refused(void **state)
{
	int64_t indices[] = {0, 0, 5, 0}, values[] = {1, 2}, dims[] = {3, 2};
	int64_t negative[] = {-3, 2}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40},
		none[] = {0, 2};
	sp_column_spec plain = {0}, deep = {.row_dims = 2};

	(void)state;
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 2, dims), "5 is not in [0, 3)");
	indices[2] = -1;
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 2, dims), "-1 is not in");
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 2, negative), "is -3");
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 2, huge), "too many cells");
	assert_refused(read_sparse(deep, indices, 2, values, NULL, 2, dims), "3 dimensions");
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 1, none), "not in [0, 0)");
	plain.flattens = true;
	assert_refused(read_sparse(plain, indices, 2, values, NULL, 0, none), "cannot infer");
	assert_refused(read_sparse(plain, indices, 0, values, NULL, 0, none), "dimensions");
	/* Rows that no memory could hold. */
	plain = (sp_column_spec){.fills = true};
	huge[1] = 1;
	assert_int_equal(read_sparse(plain, indices, 2, values, NULL, 0, huge), SP_NO_MEMORY);
}

static void cells_that_are_ignored_are_no_keys(void **state)
{
	int32_t cells[] = {-1, 3, 4, -1};
	sp_bytes texts[] = {{"a", 1}, {"", 0}, {"b", 1}, {"a", 1}};
	sp_column_spec spec = {.source = SP_COLUMN_DENSE, .row_dims = 1, .ignored_key = -1};

	(void)state;
	assert_ok(read_dense(spec, tensor(SP_INT32, sp_shape_matrix(2, 2), cells)), &err);
	assert_keys((int64_t[]){3, 4}, (int64_t[]){0, 1}, 2);
	assert_true(keys.one_each);
	assert_int_equal(keys.dtype, SP_INT32);
	spec = (sp_column_spec){
		.source = SP_COLUMN_TEXTS, .row_dims = 1, .hash_buckets = 1, .widen = true};
	assert_ok(read_dense(spec, tensor(SP_STRING, sp_shape_vector(4), texts)), &err);
	assert_keys((int64_t[]){0, 0, 0}, (int64_t[]){0, 2, 3}, 3);
	assert_false(keys.one_each);
	assert_refused(read_dense(spec, tensor(SP_STRING, sp_shape_matrix(2, 2), texts)),
		       "2 dimensions");
}

static void buckets_of_later_columns_are_shifted(void **state)
{
	int32_t buckets[] = {0, 1, 2, 3, INT32_MAX, INT32_MAX};
	sp_column_spec spec = {.source = SP_COLUMN_BUCKETS,
			       .row_dims = 1,
			       .number_count = 2,
			       .bucket_count = 4,
			       .drops_ids = true};

	(void)state;
	assert_ok(read_dense(spec, tensor(SP_INT32, sp_shape_matrix(3, 2), buckets)), &err);
	/* The last sum wraps around, as in the graph, and is negative. */
	assert_keys((int64_t[]){0, 5, 2, 7, INT32_MAX}, (int64_t[]){0, 0, 1, 1, 2}, 5);
	assert_refused(read_dense(spec, tensor(SP_INT32, sp_shape_matrix(2, 3), buckets)),
		       "are not [rows, 2]");
	assert_refused(read_dense(spec, tensor(SP_INT32, sp_shape_scalar(), buckets)),
		       "are not [rows, 2]");
}

enum { LONGEST_BAG = 200, WIDEST_ROW = 19 };

/* Rows of a table of 5, three to a row at most, against the definition in double. */
static void rows_are_combined_by_the_definition(void **state)
{
	const float table[] = {1, -2, 0.5f, 4, -0.25f, 8, 3, 3, 7, -7};
	const int64_t numbers[] = {0, 3, 3, 1, 4, 2};
	const int64_t segments[] = {0, 0, 0, 2, 2, 3};
	const float weights[] = {0.5f, 2, 1, -1, 3, 0.25f};

	(void)state;
	for (int weighted = 0; weighted < 2; weighted++)
		for (int combiner = 0; combiner < 3; combiner++) {
			sp_pooling pooling = {.combiner = (sp_combiner)combiner,
					      .segments = segments,
					      .weights = weighted ? weights : NULL,
					      .segment_count = 4};
			float rows[8];

			sp_column_combine(rows, 2, table, numbers, 6, &pooling);
			for (size_t row = 0; row < 4; row++)
				for (size_t j = 0; j < 2; j++) {
					double sum = 0, all = 0, squares = 0, wanted;

					for (size_t i = 0; i < 6; i++) {
						double w = weighted ? (double)weights[i] : 1;

						if (segments[i] != (int64_t)row)
							continue;
						sum += w *
						       (double)table[numbers[i] * 2 + (int64_t)j];
						all += w;
						squares += w * w;
					}
					wanted = row == 1                     ? 0
						 : combiner == SP_COMBINE_SUM ? sum
						 : combiner == SP_COMBINE_MEAN
							 ? sum / all
							 : sum / sqrt(squares);
					assert_true(fabs((double)rows[row * 2 + j] - wanted) <
						    1e-6 * (1 + fabs(wanted)));
				}
		}
}

/* Bags of `count` rows of `width` floats, against their definition in double. */
static void check_long_bag(size_t count, size_t width)
{
	float table[LONGEST_BAG * WIDEST_ROW], terms[LONGEST_BAG * WIDEST_ROW];
	float weights[LONGEST_BAG], row[WIDEST_ROW];
	int64_t numbers[LONGEST_BAG], segments[LONGEST_BAG] = {0};
	sp_pooling pooling = {.combiner = SP_COMBINE_SUM,
			      .segments = segments,
			      .weights = weights,
			      .segment_count = 1};

	for (size_t i = 0; i < count; i++) {
		numbers[i] = (int64_t)(count - 1 - i);
		weights[i] = 0.3f + (float)(i % 7) / 3;
		for (size_t j = 0; j < width; j++)
			table[i * width + j] = (float)((i * 31 + j * 17) % 101) / 7 - 7;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < width; j++)
			terms[i * width + j] = table[(size_t)numbers[i] * width + j] * weights[i];
	sp_column_combine(row, width, table, numbers, count, &pooling);
	for (size_t j = 0; j < width; j++) {
		double sum = 0, size = 0;

		for (size_t i = 0; i < count; i++) {
			sum += (double)terms[i * width + j];
			size += fabs((double)terms[i * width + j]);
		}
		assert_true(fabs((double)row[j] - sum) <= (double)(count + 1) * 0x1p-24 * size);
	}
	pooling.weights = NULL;
	sp_column_combine(row, width, table, numbers, count, &pooling);
	for (size_t j = 0; j < width; j++) {
		double sum = 0, size = 0;

		for (size_t i = 0; i < count; i++) {
			sum += (double)table[i * width + j];
			size += fabs((double)table[i * width + j]);
		}
		assert_true(fabs((double)row[j] - sum) <= (double)count * 0x1p-24 * size);
	}
}

static void long_bags_are_summed_as_segments_are(void **state)
{
	static const size_t counts[] = {1, 8, 9, 10, 15, 16, 19, 41, LONGEST_BAG};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (size_t width = 1; width <= WIDEST_ROW; width += 6)
			check_long_bag(counts[i], width);
}

static void a_divisor_of_zero_is_what_the_graph_says(void **state)
{
	const float table[] = {1}, weights[] = {1, -1};
	const int64_t numbers[] = {0, 0}, segments[] = {0, 0};
	sp_pooling pooling = {.combiner = SP_COMBINE_MEAN,
			      .segments = segments,
			      .weights = weights,
			      .segment_count = 1};
	float row;

	(void)state;
	sp_column_combine(&row, 1, table, numbers, 2, &pooling);
	assert_true(isnan(row));
	pooling.zero_divisor_is_zero = true;
	sp_column_combine(&row, 1, table, numbers, 2, &pooling);
	assert_true(row == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_in_any_order_are_put_in_order),
		cmocka_unit_test(negative_keys_and_weights_that_are_not_positive_are_dropped),
		cmocka_unit_test(an_empty_row_gets_the_default_where_there_is_one),
		cmocka_unit_test(leading_dimensions_are_rows),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(cells_that_are_ignored_are_no_keys),
		cmocka_unit_test(buckets_of_later_columns_are_shifted),
		cmocka_unit_test(rows_are_combined_by_the_definition),
		cmocka_unit_test(long_bags_are_summed_as_segments_are),
		cmocka_unit_test(a_divisor_of_zero_is_what_the_graph_says),
	};
	return cmocka_run_group_tests_name("embedding_columns", tests, set_up, tear_down);
}
