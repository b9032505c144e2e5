/*
 * What the cases of TensorFlow cannot say about the operators that move
 * elements: hostile sizes, what it leaves undefined or does wrongly, and a
 * copy of boxes of any form against its definition.
 */
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/ops/ops.h"
#include "engine/ops/array/strided_copy.h"

enum { MAX_IN = 6, MAX_OUT = 4, LIMIT = 16 << 20 };

/* One node, its inputs and outputs. */
typedef struct bench {
	sp_arena *arena;
	sp_workspace *workspace;
	sp_attr attrs[4];
	size_t attr_count;
	sp_tensor in[MAX_IN];
	size_t in_count;
	sp_tensor out[MAX_OUT];
	sp_error err;
} bench;

static int setup(void **state)
{
	bench *b = sp_alloc_zero(1, sizeof(*b));

	b->arena = sp_arena_create(4096);
	b->workspace = sp_workspace_create(LIMIT);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bench *b = *state;

	sp_workspace_destroy(b->workspace);
	sp_arena_destroy(b->arena);
	sp_free(b);
	return 0;
}

static void give(bench *b, sp_dtype dtype, sp_shape shape, const void *data)
{
	sp_tensor *t = &b->in[b->in_count++];

	assert_int_equal(sp_tensor_create(t, b->arena, dtype, &shape, NULL), SP_OK);
	if (t->count != 0)
		memcpy(t->data, data, t->count * sp_dtype_size(dtype));
}

static void give_i64(bench *b, int rank, const int64_t *values, int64_t n)
{
	give(b, SP_INT64, rank == 0 ? sp_shape_scalar() : sp_shape_vector(n), values);
}

static void give_i32(bench *b, int rank, const int32_t *values, int64_t n)
{
	give(b, SP_INT32, rank == 0 ? sp_shape_scalar() : sp_shape_vector(n), values);
}

static void give_f32(bench *b, int rank, const float *values, int64_t n)
{
	give(b, SP_FLOAT, rank == 0 ? sp_shape_scalar() : sp_shape_vector(n), values);
}

static void set_int(bench *b, const char *name, int64_t value)
{
	b->attrs[b->attr_count++] = (sp_attr){.name = name, .kind = SP_ATTR_INT, .i = value};
}

static void set_text(bench *b, const char *name, const char *value)
{
	b->attrs[b->attr_count++] = (sp_attr){
		.name = name, .kind = SP_ATTR_BYTES, .bytes = sp_bytes_of(value)};
}

static sp_status run(bench *b, const sp_op *op)
{
	const sp_node node = {.name = "op",
			      .op_name = op->name,
			      .op = op,
			      .attrs = b->attrs,
			      .attr_count = b->attr_count};
	sp_dtype dtypes[MAX_IN];
	const sp_tensor *values[MAX_IN] = {NULL}, *in[MAX_IN];
	sp_tensor *out[MAX_OUT];
	sp_prepare prepare = {.node = &node,
			      .in_dtypes = dtypes,
			      .in_values = values,
			      .in_count = b->in_count,
			      .arena = b->arena};
	sp_status status;

	for (size_t i = 0; i < b->in_count; i++) {
		dtypes[i] = b->in[i].dtype;
		in[i] = &b->in[i];
	}
	for (size_t i = 0; i < MAX_OUT; i++)
		out[i] = &b->out[i];
	status = op->prepare(&prepare, &b->err);
	if (status == SP_OK) {
		sp_call call = {.state = prepare.state,
				.in = in,
				.in_count = b->in_count,
				.out = out,
				.out_count = prepare.out_count,
				.workspace = b->workspace,
				.err = &b->err};

		assert_true(prepare.out_count <= MAX_OUT);
		status = op->run(&call);
	}
	b->in_count = 0;
	b->attr_count = 0;
	return status;
}

/* ---------------------------------------------------------- hostile sizes */

static void a_huge_output_is_refused(void **state)
{
	static const int64_t huge[] = {INT64_C(1) << 40},
			     overflow[] = {INT64_C(1) << 40, INT64_C(1) << 40};
	static const int64_t zero[] = {0}, one[] = {1}, most[] = {INT64_MAX};
	static const int64_t paddings[] = {INT64_C(1) << 41, INT64_C(1) << 41};
	static const int32_t depth[] = {INT32_MAX}, far[] = {INT32_MAX};
	static const float x[] = {1, 2};
	bench *b = *state;

	give_i64(b, 1, huge, 1);
	give_f32(b, 0, x, 1);
	assert_int_equal(run(b, &sp_op_Fill), SP_NO_MEMORY);

	give_i64(b, 1, overflow, 2);
	give_f32(b, 0, x, 1);
	assert_int_equal(run(b, &sp_op_Fill), SP_INVALID);

	give_f32(b, 1, x, 2);
	give_i64(b, 1, huge, 1);
	assert_int_equal(run(b, &sp_op_Tile), SP_NO_MEMORY);

	give_f32(b, 1, x, 2);
	give_i64(b, 1, most, 1);
	assert_int_equal(run(b, &sp_op_Tile), SP_INVALID);

	give_f32(b, 0, x, 1);
	give_i64(b, 1, huge, 1);
	assert_int_equal(run(b, &sp_op_BroadcastTo), SP_NO_MEMORY);

	give_i64(b, 0, zero, 1);
	give_i64(b, 0, most, 1);
	give_i64(b, 0, one, 1);
	assert_int_equal(run(b, &sp_op_Range), SP_INVALID);

	give_f32(b, 0, x, 1);
	give_f32(b, 0, x + 1, 1);
	give_i64(b, 0, huge, 1);
	assert_int_equal(run(b, &sp_op_LinSpace), SP_NO_MEMORY);

	give_i64(b, 1, one, 1);
	give_i32(b, 0, depth, 1);
	give_f32(b, 0, x, 1);
	give_f32(b, 0, x, 1);
	assert_int_equal(run(b, &sp_op_OneHot), SP_NO_MEMORY);

	give_f32(b, 1, x, 2);
	give(b, SP_INT64, sp_shape_matrix(1, 2), paddings);
	assert_int_equal(run(b, &sp_op_Pad), SP_NO_MEMORY);

	give_i32(b, 1, far, 1);
	give_f32(b, 1, x, 1);
	assert_int_equal(run(b, &sp_op_DynamicStitch), SP_NO_MEMORY);
}

static void paddings_that_overflow_are_refused(void **state)
{
	static const int64_t paddings[] = {INT64_MAX, INT64_MAX};
	static const float x[] = {1, 2, 3};
	bench *b = *state;

	give_f32(b, 1, x, 3);
	give(b, SP_INT64, sp_shape_matrix(1, 2), paddings);
	assert_int_equal(run(b, &sp_op_Pad), SP_INVALID);
}

/* Nothing is there, but products of the other dimensions do not fit. */
static void an_empty_tensor_of_huge_dimensions_is_harmless(void **state)
{
	const sp_shape shape = {.rank = 4, .dims = {0, 2, INT64_C(1) << 40, INT64_C(1) << 19}};
	static const int32_t axis[] = {1}, perm[] = {3, 2, 1, 0}, index[] = {1, 0};
	bench *b = *state;

	give(b, SP_FLOAT, shape, NULL);
	set_int(b, "axis", 1);
	set_int(b, "num", 2);
	assert_int_equal(run(b, &sp_op_Unpack), SP_OK);
	assert_int_equal(b->out[1].count, 0);

	give_i32(b, 0, axis, 1);
	give(b, SP_FLOAT, shape, NULL);
	set_int(b, "num_split", 2);
	assert_int_equal(run(b, &sp_op_Split), SP_OK);

	give(b, SP_FLOAT, shape, NULL);
	give_i32(b, 1, perm, 4);
	assert_int_equal(run(b, &sp_op_Transpose), SP_OK);
	assert_int_equal(b->out[0].shape.dims[0], INT64_C(1) << 19);

	give(b, SP_FLOAT, shape, NULL);
	give_i32(b, 1, index, 2);
	give_i32(b, 0, axis, 1);
	assert_int_equal(run(b, &sp_op_GatherV2), SP_OK);

	give(b, SP_FLOAT, shape, NULL);
	give(b, SP_FLOAT, shape, NULL);
	give_i32(b, 0, axis, 1);
	assert_int_equal(run(b, &sp_op_ConcatV2), SP_OK);
	assert_int_equal(b->out[0].shape.dims[1], 4);

	give(b, SP_FLOAT, shape, NULL);
	give_i32(b, 1, axis, 1);
	assert_int_equal(run(b, &sp_op_ReverseV2), SP_OK);

	give(b, SP_FLOAT, shape, NULL);
	assert_int_equal(run(b, &sp_op_MatrixDiagPart), SP_OK);
}

static void an_id_of_no_part_is_told_by_what_bounds_it(void **state)
{
	static const struct {
		const char *rule;
		int64_t id;
		const char *words;
	} cases[] = {
		{"mod_ev", -1, "id -1 is negative"},
		{"mod", -7, "id -7 is negative"},
		{"div", -2, "id -2 is negative"},
		{"div", 6, "id 6 is in no part of a table of 6 rows"},
	};
	static const int64_t part[] = {3, 8};
	bench *b = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		give_i64(b, 1, &cases[i].id, 1);
		give_i64(b, 1, part, 2);
		give_i64(b, 1, part, 2);
		set_text(b, "partition_strategy", cases[i].rule);
		assert_int_equal(run(b, &sp_op_PartitionWithPermutation), SP_INVALID);
		assert_non_null(strstr(b->err.text, cases[i].words));
	}
}

static void a_rank_above_the_largest_is_refused_by_name(void **state)
{
	const sp_shape shape = {.rank = SP_MAX_RANK, .dims = {1, 1, 1, 1, 1, 1, 1, 1}};
	static const int32_t axis[] = {0}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const float x[] = {1};
	bench *b = *state;

	give(b, SP_FLOAT, shape, x);
	give_i32(b, 0, axis, 1);
	assert_int_equal(run(b, &sp_op_ExpandDims), SP_UNSUPPORTED);
	assert_non_null(strstr(b->err.text, "rank 9"));

	give(b, SP_FLOAT, shape, x);
	give(b, SP_FLOAT, shape, x);
	assert_int_equal(run(b, &sp_op_Pack), SP_UNSUPPORTED);

	give_f32(b, 0, x, 1);
	give_i32(b, 1, ones, 9);
	assert_int_equal(run(b, &sp_op_Reshape), SP_UNSUPPORTED);

	give_i32(b, 1, ones, 9);
	give_f32(b, 0, x, 1);
	assert_int_equal(run(b, &sp_op_Fill), SP_UNSUPPORTED);
}

static void masks_of_any_bits_are_harmless(void **state)
{
	static const int32_t begin[] = {0}, end[] = {2}, stride[] = {1};
	static const int64_t masks[] = {INT64_MIN, -1, INT64_MAX};
	static const float x[] = {1, 2, 3};
	bench *b = *state;

	for (size_t i = 0; i < 3; i++) {
		give_f32(b, 1, x, 3);
		give_i32(b, 1, begin, 1);
		give_i32(b, 1, end, 1);
		give_i32(b, 1, stride, 1);
		set_int(b, "ellipsis_mask", masks[i]);
		/* One bit, which no entry has: no ellipsis.  More are an error. */
		assert_int_equal(run(b, &sp_op_StridedSlice), i == 0 ? SP_OK : SP_INVALID);
	}
	assert_int_equal(b->out[0].count, 2);
}

/* ------------------------------------- where TensorFlow is no judge at all */

static void a_place_that_no_index_names_is_zero(void **state)
{
	static const int32_t indices[] = {3, 1};
	static const float data[] = {5, 6};
	bench *b = *state;

	/* What an earlier request left in the same block. */
	give_f32(b, 0, data, 1);
	give_f32(b, 0, data + 1, 1);
	give_i32(b, 0, (const int32_t[]){4}, 1);
	assert_int_equal(run(b, &sp_op_LinSpace), SP_OK);
	sp_workspace_release(b->workspace, &b->out[0]);

	give_i32(b, 1, indices, 2);
	give_f32(b, 1, data, 2);
	assert_int_equal(run(b, &sp_op_DynamicStitch), SP_OK);
	assert_int_equal(b->out[0].count, 4);
	assert_memory_equal(b->out[0].data, ((float[]){0, 6, 0, 5}), 4 * sizeof(float));
}

static void a_negative_number_in_a_matrix_is_not_counted_somewhere_else(void **state)
{
	static const int32_t numbers[] = {0, -1}, size[] = {3};
	bench *b = *state;

	give(b, SP_INT32, sp_shape_matrix(1, 2), numbers);
	give_i32(b, 0, size, 1);
	give_f32(b, 1, NULL, 0);
	assert_int_equal(run(b, &sp_op_DenseBincount), SP_INVALID);
}

static void a_negative_dimension_in_a_permutation_is_refused(void **state)
{
	static const int32_t perm[] = {-1, 0};
	static const float x[6] = {0};
	bench *b = *state;

	give(b, SP_FLOAT, sp_shape_matrix(2, 3), x);
	give_i32(b, 1, perm, 2);
	assert_int_equal(run(b, &sp_op_Transpose), SP_INVALID);
}

static void a_range_over_all_of_int64_has_the_right_length(void **state)
{
	static const int64_t low[] = {INT64_MIN}, high[] = {INT64_MAX}, step[] = {INT64_C(1) << 62};
	bench *b = *state;

	give_i64(b, 0, low, 1);
	give_i64(b, 0, high, 1);
	give_i64(b, 0, step, 1);
	assert_int_equal(run(b, &sp_op_Range), SP_OK);
	assert_int_equal(b->out[0].count, 4);
	assert_int_equal(sp_tensor_i64(&b->out[0])[3], INT64_C(1) << 62);
}

static void tensor_and_updates_may_be_the_same_bytes(void **state)
{
	static const int32_t indices[] = {2, 0, 1};
	sp_shape shape = sp_shape_vector(3), column = sp_shape_matrix(3, 1);
	bench *b = *state;
	sp_prepare prepare;
	sp_dtype dtypes[] = {SP_FLOAT, SP_INT32, SP_FLOAT};
	const sp_node node = {.op_name = "TensorScatterUpdate", .op = &sp_op_TensorScatterUpdate};
	sp_tensor *out[] = {&b->out[0]};
	sp_tensor x, at;

	assert_int_equal(sp_workspace_tensor(b->workspace, &x, SP_FLOAT, &shape, NULL), SP_OK);
	memcpy(x.data, (float[]){10, 20, 30}, 3 * sizeof(float));
	assert_int_equal(sp_tensor_create(&at, b->arena, SP_INT32, &column, NULL), SP_OK);
	memcpy(at.data, indices, sizeof(indices));
	prepare = (sp_prepare){
		.node = &node, .in_dtypes = dtypes, .in_count = 3, .arena = b->arena};
	assert_int_equal(sp_op_TensorScatterUpdate.prepare(&prepare, NULL), SP_OK);
	assert_int_equal(sp_op_TensorScatterUpdate.run(&(sp_call){
				 .state = prepare.state,
				 .in = (const sp_tensor *[]){&x, &at, &x},
				 .in_count = 3,
				 .out = out,
				 .out_count = 1,
				 .in_dies = 7,
				 .workspace = b->workspace,
			 }),
			 SP_OK);
	assert_memory_equal(b->out[0].data, ((float[]){20, 30, 10}), 3 * sizeof(float));
}

/* ------------------------------------------------------------------ hashes */

static void many_nan_do_not_make_unique_slow(void **state)
{
	enum { N = 200000 };
	float *x = sp_alloc(N * sizeof(*x));
	bench *b = *state;
	int64_t begin;

	for (size_t i = 0; i < N; i++)
		x[i] = __builtin_nanf("");
	give_f32(b, 1, x, N);
	begin = sp_clock_now_ns();
	assert_int_equal(run(b, &sp_op_Unique), SP_OK);
	/* Linear is some milliseconds even under a checker; quadratic would be minutes. */
	assert_true(sp_clock_now_ns() - begin < INT64_C(5000000000));
	assert_int_equal(b->out[0].count, N);
	sp_free(x);
}

/* Numbers that differ in a few bits only, as identifiers do. */
static void like_numbers_do_not_make_unique_slow(void **state)
{
	enum { N = 100000 };
	int64_t *x = sp_alloc(N * sizeof(*x)), begin = sp_clock_now_ns();
	bench *b = *state;

	for (unsigned shift = 0; shift < 47; shift += 8) {
		for (int64_t i = 0; i < N; i++)
			x[i] = i << shift;
		give_i64(b, 1, x, N);
		assert_int_equal(run(b, &sp_op_Unique), SP_OK);
		assert_int_equal(b->out[0].count, N);
		sp_workspace_reset(b->workspace);
	}
	assert_true(sp_clock_now_ns() - begin < INT64_C(5000000000));
	sp_free(x);
}

/* ------------------------------------------------------------------- boxes */

/* The definition: every index in turn. */
static void copy_slowly(const sp_strided_copy *strided, char *to, const char *from, size_t size,
			int dim)
{
	if (dim == strided->rank) {
		memcpy(to, from, size);
		return;
	}
	for (int64_t i = 0; i < strided->dims[dim]; i++)
		copy_slowly(strided, to + i * strided->to[dim], from + i * strided->from[dim], size,
			    dim + 1);
}

static void a_box_is_copied_as_defined(void **state)
{
	enum { BYTES = 1 << 18, REACH = 1 << 22 };
	static char from[2 * REACH], fast[BYTES], slow[BYTES];
	static const size_t sizes[] = {1, 2, 4, 8, 16, 12};

	(void)state;
	srand(5);
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)rand();
	for (int round = 0; round < 3000; round++) {
		size_t size = sizes[rand() % 6];
		sp_strided_copy strided = {.rank = rand() % 6};
		sp_shape shape = {.rank = strided.rank};
		int64_t strides[SP_MAX_RANK];

		for (int d = 0; d < strided.rank; d++) {
			shape.dims[d] = 1 + rand() % (round % 8 == 0 && d > 3 ? 40 : 4);
			strided.dims[d] = rand() % 20 == 0 ? 0 : shape.dims[d];
		}
		sp_strided_copy__strides(&shape, size, strides);
		for (int d = 0; d < strided.rank; d++) {
			int other = rand() % strided.rank;

			strided.to[d] = strides[d];
			/* As it stands, repeated, backwards, or along another dimension. */
			strided.from[d] = (const int64_t[]){strides[d], 0, -strides[d],
							    strides[other]}[rand() % 4];
		}
		memset(fast, 0, sizeof(fast));
		memset(slow, 0, sizeof(slow));
		sp_strided_copy__run(&strided, fast, from + REACH, size);
		copy_slowly(&strided, slow, from + REACH, size, 0);
		assert_memory_equal(fast, slow, sizeof(fast));
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_huge_output_is_refused),
		CASE(paddings_that_overflow_are_refused),
		CASE(an_empty_tensor_of_huge_dimensions_is_harmless),
		CASE(an_id_of_no_part_is_told_by_what_bounds_it),
		CASE(a_rank_above_the_largest_is_refused_by_name),
		CASE(masks_of_any_bits_are_harmless),
		CASE(a_place_that_no_index_names_is_zero),
		CASE(a_negative_number_in_a_matrix_is_not_counted_somewhere_else),
		CASE(a_negative_dimension_in_a_permutation_is_refused),
		CASE(a_range_over_all_of_int64_has_the_right_length),
		CASE(tensor_and_updates_may_be_the_same_bytes),
		CASE(many_nan_do_not_make_unique_slow),
		CASE(like_numbers_do_not_make_unique_slow),
		cmocka_unit_test(a_box_is_copied_as_defined),
	};

	return cmocka_run_group_tests_name("array operators", tests, NULL, NULL);
}
