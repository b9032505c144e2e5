/*
 * What mathematical operators refuse before they ever see data: wrong types,
 * wrong numbers of inputs, attributes that make no sense.  Of all operators,
 * that none reads inputs which a node does not have.
 */
#include "tests/support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "engine/ops/ops.h"
#include "engine/tensor/resource.h"

typedef struct refusal {
	const char *op;
	size_t in_count;
	sp_dtype dtypes[4];
	sp_attr attr;
	sp_status status;
	const char *words; /* in the error */
} refusal;

#define OF(...) .dtypes = {__VA_ARGS__}
#define TEXT(key, value) \
	.attr = {.name = key, .kind = SP_ATTR_BYTES, .bytes = {value, sizeof(value) - 1}}
#define UNSUPPORTED(phrase) .status = SP_UNSUPPORTED, .words = phrase
#define INVALID(phrase)     .status = SP_INVALID, .words = phrase

static const refusal refusals[] = {
	{.op = "Exp", .in_count = 1, OF(SP_INT32), UNSUPPORTED("Exp of DT_INT32")},
	{.op = "Abs", .in_count = 1, OF(SP_UINT8), UNSUPPORTED("DT_UINT8")},
	{.op = "Exp", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), INVALID("takes 1 inputs, not 2")},
	{.op = "LogicalNot", .in_count = 1, OF(SP_INT8), UNSUPPORTED("DT_INT8")},
	{.op = "LeakyRelu", .in_count = 1, OF(SP_INT32), UNSUPPORTED("DT_INT32")},
	{.op = "OnesLike", .in_count = 1, OF(SP_STRING), UNSUPPORTED("DT_STRING")},
	{.op = "OnesLike", .in_count = 1, OF(SP_VARIANT), UNSUPPORTED("DT_VARIANT")},
	{.op = "Squeeze", .in_count = 1, OF(SP_VARIANT), UNSUPPORTED("DT_VARIANT")},
	{.op = "ExpandDims", .in_count = 2, OF(SP_VARIANT, SP_INT32), UNSUPPORTED("DT_VARIANT")},
	{.op = "AddV2", .in_count = 2, OF(SP_STRING, SP_STRING), UNSUPPORTED("DT_STRING")},
	{.op = "AddV2", .in_count = 2, OF(SP_FLOAT, SP_INT32), INVALID("must be DT_FLOAT")},
	{.op = "Add", .in_count = 2, OF(SP_STRING, SP_FLOAT), INVALID("must be DT_STRING")},
	{.op = "AddV2", .in_count = 1, OF(SP_FLOAT), INVALID("takes 2 inputs, not 1")},
	{.op = "Less", .in_count = 2, OF(SP_STRING, SP_STRING), UNSUPPORTED("DT_STRING")},
	{.op = "RealDiv", .in_count = 2, OF(SP_INT32, SP_INT32), UNSUPPORTED("DT_INT32")},
	{.op = "Equal",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_FLOAT),
	 TEXT("incompatible_shape_error", "no"),
	 INVALID("incompatible_shape_error")},
	{.op = "AddN", .in_count = 0, INVALID("takes at least 1 inputs, not 0")},
	{.op = "AddN", .in_count = 2, OF(SP_FLOAT, SP_DOUBLE), INVALID("must be DT_FLOAT")},
	{.op = "BiasAdd",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_FLOAT),
	 TEXT("data_format", "NHCW"),
	 INVALID("NHCW")},
	{.op = "Select", .in_count = 3, OF(SP_INT32, SP_FLOAT, SP_FLOAT), INVALID("DT_BOOL")},
	{.op = "SelectV2", .in_count = 3, OF(SP_BOOL, SP_FLOAT, SP_DOUBLE), INVALID("DT_FLOAT")},
	{.op = "SelectV2",
	 .in_count = 3,
	 OF(SP_BOOL, SP_VARIANT, SP_VARIANT),
	 UNSUPPORTED("VARIANT")},
	{.op = "Cast", .in_count = 1, OF(SP_FLOAT), INVALID("'DstT' is missing")},
	{.op = "Cast",
	 .in_count = 1,
	 OF(SP_STRING),
	 .attr = {.name = "DstT", .kind = SP_ATTR_TYPE, .type = SP_FLOAT},
	 UNSUPPORTED("Cast of DT_STRING to DT_FLOAT")},
	{.op = "Bitcast",
	 .in_count = 1,
	 OF(SP_BOOL),
	 .attr = {.name = "type", .kind = SP_ATTR_TYPE, .type = SP_UINT8},
	 UNSUPPORTED("DT_BOOL")},
	{.op = "Sum", .in_count = 2, OF(SP_FLOAT, SP_FLOAT), INVALID("int32 or int64")},
	{.op = "Sum", .in_count = 2, OF(SP_STRING, SP_INT32), UNSUPPORTED("DT_STRING")},
	{.op = "All", .in_count = 2, OF(SP_FLOAT, SP_INT32), UNSUPPORTED("DT_FLOAT")},
	{.op = "ArgMax",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_INT32),
	 .attr = {.name = "output_type", .kind = SP_ATTR_TYPE, .type = SP_FLOAT},
	 UNSUPPORTED("DT_FLOAT")},
	{.op = "Cumsum", .in_count = 2, OF(SP_BOOL, SP_INT32), UNSUPPORTED("DT_BOOL")},
	{.op = "MatMul", .in_count = 2, OF(SP_BOOL, SP_BOOL), UNSUPPORTED("DT_BOOL")},
	{.op = "MatMul", .in_count = 2, OF(SP_FLOAT, SP_DOUBLE), INVALID("DT_FLOAT")},
	{.op = "BatchMatMulV3", .in_count = 2, OF(SP_INT8, SP_INT8), UNSUPPORTED("DT_INT8")},
	{.op = "BatchMatMulV3",
	 .in_count = 2,
	 OF(SP_INT8, SP_FLOAT),
	 .attr = {.name = "Tout", .kind = SP_ATTR_TYPE, .type = SP_FLOAT},
	 UNSUPPORTED("DT_INT8 and DT_FLOAT")},
	{.op = "Softmax", .in_count = 1, OF(SP_INT32), UNSUPPORTED("DT_INT32")},
	{.op = "MatrixBandPart",
	 .in_count = 3,
	 OF(SP_STRING, SP_INT64, SP_INT64),
	 UNSUPPORTED("DT_STRING")},
	{.op = "Einsum", .in_count = 1, OF(SP_FLOAT), TEXT("equation", ""), INVALID("one '->'")},
	{.op = "Einsum", .in_count = 1, OF(SP_FLOAT), TEXT("equation", "ij"), INVALID("one '->'")},
	{.op = "Einsum",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 TEXT("equation", "a->b->c"),
	 INVALID("one '->'")},
	{.op = "Einsum",
	 .in_count = 3,
	 OF(SP_FLOAT, SP_FLOAT, SP_FLOAT),
	 TEXT("equation", "a,a,a->a"),
	 INVALID("more than two")},
	{.op = "Einsum",
	 .in_count = 2,
	 OF(SP_FLOAT, SP_FLOAT),
	 TEXT("equation", "a->a"),
	 INVALID("1")},
	{.op = "Einsum", .in_count = 1, OF(SP_FLOAT), TEXT("equation", "a,b->a"), INVALID("2")},
	{.op = "Einsum",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 TEXT("equation", "a->b"),
	 UNSUPPORTED("output")},
	{.op = "Einsum",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 TEXT("equation", "a.->a"),
	 UNSUPPORTED("stray")},
	{.op = "Einsum",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 TEXT("equation", "...a...->a"),
	 UNSUPPORTED("stray")},
	{.op = "Einsum",
	 .in_count = 1,
	 OF(SP_FLOAT),
	 TEXT("equation", "abcdefghij->a"),
	 UNSUPPORTED("too many dimensions")},
	{.op = "Einsum", .in_count = 1, OF(SP_BOOL), TEXT("equation", "a->a"), UNSUPPORTED("BOOL")},
};

static void refused_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const refusal *r = &refusals[i];
		sp_arena *arena = sp_arena_create(4096);
		const sp_tensor *no_values[4] = {NULL};
		sp_node node = {.name = "node",
				.op_name = r->op,
				.op = sp_op_find(r->op),
				.attrs = &r->attr,
				.attr_count = r->attr.name != NULL};
		sp_prepare prepare = {.node = &node,
				      .in_dtypes = r->dtypes,
				      .in_values = no_values,
				      .in_count = r->in_count,
				      .arena = arena};
		sp_error err = {.status = SP_OK};

		assert_non_null(node.op);
		assert_int_equal(node.op->prepare(&prepare, &err), r->status);
		if (strstr(err.text, r->words) == NULL)
			fail_msg("%s: '%s' lacks '%s'", r->op, err.text, r->words);
		sp_arena_destroy(arena);
	}
}

/* So that operators come as far as they can before they look at their inputs. */
#define LIST(key, of, member, values)                                           \
	{                                                                       \
		.name = key, .kind = SP_ATTR_LIST, .element = of,               \
		.count = sizeof(values) / sizeof((values)[0]), .member = values \
	}
#define TYPE(key)                                                   \
	{                                                           \
		.name = key, .kind = SP_ATTR_TYPE, .type = SP_FLOAT \
	}

static const int64_t ones[] = {1, 1, 1, 1};
static const sp_dtype floats[] = {SP_FLOAT};
static const sp_attr common[] = {
	LIST("ksize", SP_ATTR_INT, i_list, ones),
	LIST("strides", SP_ATTR_INT, i_list, ones),
	LIST("dilations", SP_ATTR_INT, i_list, ones),
	LIST("Tcomponents", SP_ATTR_TYPE, type_list, floats),
	{.name = "padding", .kind = SP_ATTR_BYTES, .bytes = {"SAME", 4}},
	TYPE("T"),
	TYPE("dtype"),
	TYPE("type"),
	TYPE("Tout"),
	TYPE("Toutput"),
};

/* `count` floats of which no value is known; in arrays that a sanitizer sees the end of. */
static void prepare_alone(const sp_op *op, size_t count)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_dtype *dtypes = count != 0 ? sp_arena_array(arena, count, sizeof(*dtypes)) : NULL;
	const sp_tensor **values = count != 0 ? sp_arena_array(arena, count, sizeof(*values))
					      : NULL;
	sp_node node = {.name = "node",
			.op_name = op->name,
			.op = op,
			.attrs = common,
			.attr_count = sizeof(common) / sizeof(common[0])};
	sp_resources resources;
	sp_prepare prepare = {.node = &node,
			      .in_dtypes = dtypes,
			      .in_values = values,
			      .in_count = count,
			      .arena = arena,
			      .resources = &resources};
	sp_error err = {.status = SP_OK};

	for (size_t i = 0; i < count; i++) {
		dtypes[i] = SP_FLOAT;
		values[i] = NULL;
	}
	sp_resources_init(&resources, arena);
	if (op->prepare(&prepare, &err) != err.status)
		fail_msg("%s of %zu inputs is refused without a word", op->name, count);
	sp_arena_destroy(arena);
}

/* It has to say itself how many inputs it wants; arrays without elements have no address. */
static void no_operator_looks_at_inputs_that_are_not_there(void **state)
{
	static const sp_op *const all[] = {
#define SP_OP(name)          &sp_op_##name,
#define SP_OP_INTERNAL(name) &sp_op_##name,
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_INTERNAL
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t count = 0; count < 4; count++)
			prepare_alone(all[i], count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_in_words),
		cmocka_unit_test(no_operator_looks_at_inputs_that_are_not_there),
	};
	return cmocka_run_group_tests_name("math_prepare", tests, NULL, NULL);
}
