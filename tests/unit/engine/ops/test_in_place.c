/*
 * Operators that may write their output over an input: what comes out must not
 * depend on whether they do.  What it must be is the business of test_cases.
 */
#include "tests/support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "engine/graph/op.h"
#include "engine/tensor/workspace.h"

enum { MOST_INPUTS = 5, MOST_OUTPUTS = 6 };

typedef struct scene {
	const char *op;
	size_t in_count;
	sp_dtype dtypes[MOST_INPUTS];
	sp_shape shapes[MOST_INPUTS];
	sp_attr attr;       /* named, or none */
	bool one_tensor;    /* every input is the same tensor */
	bool must_not_take; /* no input's bytes are fit for the output */
} scene;

typedef struct stage {
	sp_arena *arena;
	sp_workspace *workspace;
	sp_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
} stage;

/* Small positive numbers that differ from place to place; indices are 0 or 1. */
static void fill(sp_tensor *t, size_t salt)
{
	for (size_t i = 0; i < t->count; i++) {
		size_t value = (i * 7 + salt * 3) % 11 + 1;

		switch (t->dtype) {
		case SP_FLOAT:
			sp_tensor_f32(t)[i] = (float)value;
			break;
		case SP_HALF:
			((uint16_t *)t->data)[i] = sp_half_from_float((float)value);
			break;
		case SP_INT64:
			sp_tensor_i64(t)[i] = (int64_t)(value % 2);
			break;
		case SP_INT8:
			((int8_t *)t->data)[i] = (int8_t)value;
			break;
		case SP_BOOL:
			sp_tensor_bool(t)[i] = value % 2 == 0;
			break;
		default:
			fail_msg("no numbers of this type");
		}
	}
}

static const sp_op *find(const char *name)
{
	const sp_op *op = sp_op_find(name);

	if (op == NULL)
		fail_msg("no operator %s", name);
	return op;
}

/* Runs the scene; with `dies` the operator is the last to look at its inputs. */
static size_t play(stage *st, const scene *s, bool dies)
{
	const sp_op *op = find(s->op);
	sp_node node = {.name = "node",
			.op_name = s->op,
			.op = op,
			.attrs = &s->attr,
			.attr_count = s->attr.name != NULL};
	const sp_tensor *no_values[MOST_INPUTS] = {NULL}, *in[MOST_INPUTS];
	sp_tensor *out[MOST_OUTPUTS];
	sp_error err;
	sp_prepare prepare = {.node = &node,
			      .in_dtypes = s->dtypes,
			      .in_values = no_values,
			      .in_count = s->in_count,
			      .arena = st->arena};
	sp_call call = {.in = in,
			.in_count = s->in_count,
			.out = out,
			.in_dies = dies ? UINT64_MAX : 0,
			.workspace = st->workspace,
			.err = &err};

	assert_int_equal(op->prepare(&prepare, &err), SP_OK);
	call.state = prepare.state;
	call.out_count = prepare.out_count;
	for (size_t i = 0; i < s->in_count; i++) {
		in[i] = &st->in[s->one_tensor ? 0 : i];
		if (s->one_tensor && i > 0)
			continue;
		assert_int_equal(sp_workspace_tensor(st->workspace, &st->in[i], s->dtypes[i],
						     &s->shapes[i], &err),
				 SP_OK);
		fill(&st->in[i], i);
	}
	for (size_t i = 0; i < call.out_count; i++) {
		st->out[i] = (sp_tensor){.dtype = SP_INVALID_DTYPE};
		out[i] = &st->out[i];
	}
	assert_int_equal(op->run(&call), SP_OK);
	return call.out_count;
}

static bool took_an_input(const stage *st, const scene *s)
{
	for (size_t i = 0; i < (s->one_tensor ? 1 : s->in_count); i++)
		if (st->in[i].data == st->out[0].data)
			return true;
	return false;
}

static void check(const scene *s)
{
	stage fresh = {.arena = sp_arena_create(4096), .workspace = sp_workspace_create(1 << 20)};
	stage over = {.arena = sp_arena_create(4096), .workspace = sp_workspace_create(1 << 20)};
	size_t outputs = play(&fresh, s, false);

	assert_int_equal(play(&over, s, true), outputs);
	assert_false(took_an_input(&fresh, s));
	assert_int_equal(took_an_input(&over, s), !s->must_not_take);
	for (size_t i = 0; i < outputs; i++) {
		assert_int_equal(fresh.out[i].dtype, over.out[i].dtype);
		assert_true(sp_shape_equal(&fresh.out[i].shape, &over.out[i].shape));
		assert_memory_equal(fresh.out[i].data, over.out[i].data,
				    fresh.out[i].count * sp_dtype_size(fresh.out[i].dtype));
	}
	sp_workspace_destroy(fresh.workspace);
	sp_workspace_destroy(over.workspace);
	sp_arena_destroy(fresh.arena);
	sp_arena_destroy(over.arena);
}

#define DIMS(...)                                                                     \
	{                                                                             \
		.rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { \
			__VA_ARGS__                                                   \
		}                                                                     \
	}
#define SCALAR            \
	{                 \
		.rank = 0 \
	}
#define ROW    DIMS(3)
#define COLUMN DIMS(4, 1)
#define MATRIX DIMS(4, 3)
#define IMAGE  DIMS(2, 2, 2, 3)

#define OF(...) .dtypes = {__VA_ARGS__}
#define ON(...) .shapes = {__VA_ARGS__}

static const scene unary[] = {
	{.op = "Neg", .in_count = 1, OF(SP_FLOAT), ON(MATRIX)},
	{.op = "Exp", .in_count = 1, OF(SP_HALF), ON(MATRIX)},
	{.op = "Relu", .in_count = 1, OF(SP_FLOAT), ON(MATRIX)},
	{.op = "LeakyRelu", .in_count = 1, OF(SP_FLOAT), ON(MATRIX)},
	{.op = "OnesLike", .in_count = 1, OF(SP_INT64), ON(MATRIX)},
	{.op = "LogicalNot", .in_count = 1, OF(SP_BOOL), ON(MATRIX)},
	{.op = "IsNan", .in_count = 1, OF(SP_FLOAT), ON(MATRIX), .must_not_take = true},
	{.op = "Softmax", .in_count = 1, OF(SP_FLOAT), ON(MATRIX)},
	{.op = "LogSoftmax", .in_count = 1, OF(SP_FLOAT), ON(MATRIX)},
	{.op = "LogSoftmax", .in_count = 1, OF(SP_HALF), ON(MATRIX)},
	{.op = "Cast",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 ON(MATRIX),
	 .attr = {.name = "DstT", .kind = SP_ATTR_TYPE, .type = SP_INT32}},
	{.op = "Cast",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 ON(MATRIX),
	 .attr = {.name = "DstT", .kind = SP_ATTR_TYPE, .type = SP_INT64},
	 .must_not_take = true},
};

static const scene binary[] = {
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX, MATRIX)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX, ROW)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(ROW, MATRIX)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX, COLUMN)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(COLUMN, MATRIX)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(SCALAR, MATRIX)},
	{.op = "Sub", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(SCALAR, SCALAR)},
	{.op = "Sub",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_FLOAT),
	 ON(COLUMN, ROW),
	 .must_not_take = true},
	{.op = "Mul", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX), .one_tensor = true},
	{.op = "Less", .in_count = 2, OF(SP_INT8, SP_INT8), ON(MATRIX, ROW)},
	{.op = "Less",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_FLOAT),
	 ON(MATRIX, ROW),
	 .must_not_take = true},
	{.op = "BiasAdd", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX, ROW)},
	{.op = "Cumsum", .in_count = 2, OF(SP_FLOAT, SP_INT64), ON(MATRIX, SCALAR)},
	{.op = "Cumprod",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_INT64),
	 ON(MATRIX, SCALAR),
	 .attr = {.name = "exclusive", .kind = SP_ATTR_BOOL, .b = true}},
	{.op = "Cumsum",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_INT64),
	 ON(MATRIX, SCALAR),
	 .attr = {.name = "reverse", .kind = SP_ATTR_BOOL, .b = true}},
};

static const scene of_many[] = {
	{.op = "AddN", .in_count = 3, OF(SP_FLOAT, SP_FLOAT, SP_FLOAT), ON(MATRIX, MATRIX, MATRIX)},
	{.op = "AddN", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), ON(MATRIX), .one_tensor = true},
	{.op = "AddN",
	 .in_count = 3,
	 OF(SP_FLOAT, SP_FLOAT, SP_FLOAT),
	 ON(MATRIX),
	 .one_tensor = true,
	 .must_not_take = true},
	{.op = "ClipByValue",
	 .in_count = 3,
	 OF(SP_FLOAT, SP_FLOAT, SP_FLOAT),
	 ON(MATRIX, SCALAR, SCALAR)},
	{.op = "ClipByValue",
	 .in_count = 3,
	 OF(SP_FLOAT, SP_FLOAT, SP_FLOAT),
	 ON(MATRIX, MATRIX, SCALAR)},
	{.op = "SelectV2",
	 .in_count = 3,
	 OF(SP_BOOL, SP_FLOAT, SP_FLOAT),
	 ON(MATRIX, MATRIX, MATRIX)},
	{.op = "SelectV2", .in_count = 3, OF(SP_BOOL, SP_FLOAT, SP_FLOAT), ON(COLUMN, ROW, MATRIX)},
	{.op = "SelectV2", .in_count = 3, OF(SP_BOOL, SP_INT8, SP_INT8), ON(MATRIX, ROW, SCALAR)},
	{.op = "SelectV2",
	 .in_count = 3,
	 OF(SP_BOOL, SP_FLOAT, SP_FLOAT),
	 ON(COLUMN, ROW, SCALAR),
	 .must_not_take = true},
	{.op = "Select",
	 .in_count = 3,
	 OF(SP_BOOL, SP_FLOAT, SP_FLOAT),
	 ON(MATRIX, MATRIX, MATRIX)},
	{.op = "MatrixBandPart",
	 .in_count = 3,
	 OF(SP_FLOAT, SP_INT64, SP_INT64),
	 ON(MATRIX, SCALAR, SCALAR)},
	{.op = "FusedBatchNormV3",
	 .in_count = 5,
	 OF(SP_FLOAT, SP_FLOAT, SP_FLOAT, SP_FLOAT, SP_FLOAT),
	 ON(IMAGE, ROW, ROW, ROW, ROW),
	 .attr = {.name = "is_training", .kind = SP_ATTR_BOOL, .b = false}},
};

static void operators_of_one_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); i++)
		check(&unary[i]);
}

static void operators_of_two_inputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
		check(&binary[i]);
}

static void operators_of_many_inputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(of_many) / sizeof(of_many[0]); i++)
		check(&of_many[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_of_one_input),
		cmocka_unit_test(operators_of_two_inputs),
		cmocka_unit_test(operators_of_many_inputs),
	};
	return cmocka_run_group_tests_name("in_place", tests, NULL, NULL);
}
