#include <math.h>
#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/*
 * reduce: becomes TensorFlow's reduction if its function is recognised, else XlaVariadicReduceV2.
 */

static const char *base_name(const sp_mlir_op *op)
{
	const char *dot = strchr(op->name, '.');

	return dot != NULL ? dot + 1 : op->name;
}

static bool is_op(const sp_mlir_op *op, const char *name)
{
	return strcmp(base_name(op), name) == 0;
}

const char *sp_hlo__region_op(const sp_mlir_region *region)
{
	static const char *const known[] = {"add_v1",     "multiply_v1", "maximum_v1",
					    "minimum_v1", "and_v1",      "or_v1"};
	const sp_mlir_op *op = region->ops, *end = region->ops + 1;
	uint32_t a = region->first_argument;

	if (region->op_count != 2 || region->argument_count != 2 || op->operand_count != 2 ||
	    op->result_count != 1 || !is_op(end, "return_v1") || end->operand_count != 1 ||
	    end->operands[0] != op->first_result)
		return NULL;
	if ((op->operands[0] != a || op->operands[1] != a + 1) &&
	    (op->operands[0] != a + 1 || op->operands[1] != a))
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_op(op, known[i]))
			return known[i];
	return NULL;
}

/* ------------------------------------------------------------- one value */

typedef struct reduction {
	const char *body;    /* of the region */
	const char *op;      /* reduction of numbers, or NULL */
	const char *bool_op; /* reduction of booleans, or NULL */
	const char *joins;   /* combines two numbers */
	const char *joins_bools;
} reduction;

static const reduction reductions[] = {
	{"add_v1", "Sum", "Any", "AddV2", "LogicalOr"},
	{"multiply_v1", "Prod", "All", "Mul", "LogicalAnd"},
	{"maximum_v1", "Max", "Any", "Maximum", "LogicalOr"},
	{"minimum_v1", "Min", "All", "Minimum", "LogicalAnd"},
	{"and_v1", NULL, "All", NULL, "LogicalAnd"},
	{"or_v1", NULL, "Any", NULL, "LogicalOr"},
};

static const char *reduce(sp_hlo_body *body, const char *name, const char *x, const int64_t *axes,
			  size_t count, sp_dtype dtype)
{
	sp_hlo_node node;

	sp_hlo__begin(body, &node, name, 2);
	sp_hlo__input(&node, x);
	sp_hlo__input(&node, sp_hlo__ints(body, axes, count));
	sp_hlo__bool(&node, "keep_dims", false);
	if (dtype != SP_BOOL)
		sp_hlo__type(&node, "T", dtype);
	sp_hlo__type(&node, "Tidx", SP_INT32);
	return sp_hlo__write(body, &node);
}

/* Whether the initial value is neutral. */
static bool is_neutral(const sp_hlo *hlo, uint32_t init, const reduction *how)
{
	const sp_tensor *known = sp_hlo__known(hlo, init);
	double value;

	if (known == NULL || !sp_hlo__known_number(hlo, init, &value))
		return false;
	if (strcmp(how->op != NULL ? how->op : how->bool_op, "Sum") == 0)
		return value == 0;
	if (how->op != NULL && strcmp(how->op, "Prod") == 0)
		return value == 1;
	if (known->dtype == SP_BOOL)
		return value == (strcmp(how->bool_op, "All") == 0);
	if (how->op != NULL && sp_dtype_is_floating(known->dtype))
		return strcmp(how->op, "Max") == 0 ? value == -(double)INFINITY
						   : value == (double)INFINITY;
	return false;
}

static sp_status reduce_one(sp_hlo_body *body, const sp_mlir_op *op, const reduction *how,
			    const int64_t *axes, size_t count)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	const char *name, *result;
	sp_hlo_node node;

	SP_TRY(hlo->status);
	name = type->dtype == SP_BOOL ? how->bool_op : how->op;
	result = reduce(body, name, sp_hlo__all(body, op->operands[0]), axes, count, type->dtype);
	if (is_neutral(hlo, op->operands[1], how))
		return sp_hlo__give(body, op, 0, result);
	if (type->dtype != SP_BOOL)
		return sp_hlo__give(body, op, 0,
				    sp_hlo__binary(body, how->joins, result,
						   sp_hlo__all(body, op->operands[1]),
						   type->dtype));
	sp_hlo__begin(body, &node, how->joins_bools, 2);
	sp_hlo__input(&node, result);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[1]));
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

/* -------------------------------------------------------- argmax and argmin */

/*
 * The reducer of jnp.argmax and jnp.argmin on (x, i) and (y, j):
 *
 *     wins = x > y or x is NaN;  first = x = y and i < j
 *     (wins ? x : y, wins or first ? i : j)
 */
typedef struct extreme {
	const sp_mlir_region *region;
	const sp_mlir_module *module;
	sp_error *err;
	uint64_t direction; /* of x and y */
} extreme;

enum { NOT_EQUAL = 1, GREATER = 3, EQUAL = 0, LESS = 5 };

static const sp_mlir_op *producer(const extreme *ex, uint32_t value)
{
	for (size_t i = 0; i < ex->region->op_count; i++)
		if (ex->region->ops[i].result_count == 1 &&
		    ex->region->ops[i].first_result == value)
			return &ex->region->ops[i];
	return NULL;
}

static bool is_compare(const extreme *ex, uint32_t value, uint32_t a, uint32_t b,
		       uint64_t *direction)
{
	const sp_mlir_op *op = producer(ex, value);

	return op != NULL && is_op(op, "compare_v1") && op->operand_count == 2 &&
	       op->operands[0] == a && op->operands[1] == b &&
	       sp_vhlo_enum(ex->module, op, "comparison_direction", direction, ex->err) == SP_OK;
}

static const sp_mlir_op *binary_op(const extreme *ex, uint32_t value, const char *name)
{
	const sp_mlir_op *op = producer(ex, value);

	return op != NULL && is_op(op, name) && op->operand_count == 2 ? op : NULL;
}

/* x > y, or (x > y or x != x). */
static bool is_winner(extreme *ex, uint32_t value, uint32_t x, uint32_t y)
{
	const sp_mlir_op *either = binary_op(ex, value, "or_v1");
	uint64_t differs;

	if (either == NULL)
		return is_compare(ex, value, x, y, &ex->direction);
	return is_compare(ex, either->operands[0], x, y, &ex->direction) &&
	       is_compare(ex, either->operands[1], x, x, &differs) && differs == NOT_EQUAL;
}

static bool is_first(const extreme *ex, uint32_t value, uint32_t a)
{
	const sp_mlir_op *both = binary_op(ex, value, "and_v1");
	uint64_t equal, less;

	return both != NULL && is_compare(ex, both->operands[0], a, a + 2, &equal) &&
	       equal == EQUAL && is_compare(ex, both->operands[1], a + 1, a + 3, &less) &&
	       less == LESS;
}

static const sp_mlir_op *choice(const extreme *ex, uint32_t value, uint32_t x, uint32_t y)
{
	const sp_mlir_op *op = producer(ex, value);

	return op != NULL && is_op(op, "select_v1") && op->operand_count == 3 &&
			       op->operands[1] == x && op->operands[2] == y
		       ? op
		       : NULL;
}

static bool is_extreme(extreme *ex)
{
	const sp_mlir_region *region = ex->region;
	const sp_mlir_op *end, *value, *place, *either;
	uint32_t a = region->first_argument;

	if (region->op_count == 0 || region->argument_count != 4)
		return false;
	end = &region->ops[region->op_count - 1];
	if (!is_op(end, "return_v1") || end->operand_count != 2)
		return false;
	value = choice(ex, end->operands[0], a, a + 2);
	place = choice(ex, end->operands[1], a + 1, a + 3);
	if (value == NULL || place == NULL)
		return false;
	either = binary_op(ex, place->operands[0], "or_v1");
	return either != NULL && either->operands[0] == value->operands[0] &&
	       is_winner(ex, value->operands[0], a, a + 2) &&
	       is_first(ex, either->operands[1], a) &&
	       (ex->direction == GREATER || ex->direction == LESS);
}

/* Whether a value is an iota along dimension `axis`. */
static bool is_iota_along(sp_hlo *hlo, uint32_t value, int64_t axis)
{
	const sp_mlir_op *op = hlo->values[value].op;
	int64_t at;

	return op != NULL && (is_op(op, "iota_v1") || is_op(op, "dynamic_iota_v1")) &&
	       sp_vhlo_int(&hlo->module, op, "iota_dimension", &at, hlo->err) == SP_OK &&
	       at == axis;
}

/* The index of the first NaN, or else of the first extreme. */
static const char *index_of_extreme(sp_hlo_body *body, const char *x, const char *extreme_value,
				    int64_t axis, const sp_vhlo_type *type, sp_dtype place_type)
{
	sp_hlo_node node;
	const char *wide, *is_there;

	SP_HLO_BEGIN(body, &node, "ExpandDims", type->dtype, extreme_value,
		     sp_hlo__int_scalar(body, axis));
	sp_hlo__type(&node, "Tdim", SP_INT32);
	wide = sp_hlo__write(body, &node);
	is_there = sp_hlo__binary(body, "Equal", x, wide, type->dtype);
	if (sp_dtype_is_floating(type->dtype)) {
		sp_hlo__begin(body, &node, "LogicalOr", 2);
		sp_hlo__input(&node, is_there);
		sp_hlo__input(&node, sp_hlo__binary(body, "NotEqual", x, x, type->dtype));
		is_there = sp_hlo__write(body, &node);
	}
	SP_HLO_BEGIN(body, &node, "ArgMax", SP_INT32,
		     sp_hlo__cast(body, is_there, SP_BOOL, SP_INT32),
		     sp_hlo__int_scalar(body, axis));
	sp_hlo__type(&node, "Tidx", SP_INT32);
	sp_hlo__type(&node, "output_type", SP_INT64);
	return sp_hlo__cast(body, sp_hlo__write(body, &node), SP_INT64, place_type);
}

/* The smallest or the largest number of a type. */
static double extreme_number(sp_dtype dtype, bool least)
{
	bool has_sign = dtype == SP_INT8 || dtype == SP_INT16 || dtype == SP_INT32 ||
			dtype == SP_INT64;
	double size = ldexp(1, 8 * (int)sp_dtype_size(dtype) - has_sign);

	if (!sp_dtype_is_integer(dtype))
		return least ? -(double)INFINITY : (double)INFINITY;
	return !least ? size - 1 : has_sign ? -size : 0;
}

static bool is_argument_of_extreme(sp_hlo_body *body, const sp_mlir_op *op, const int64_t *axes,
				   size_t count)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype dtype = sp_hlo__value_type(hlo, op->operands[0])->dtype;
	extreme ex = {.region = &op->regions[0], .module = &hlo->module, .err = hlo->err};
	double init, place;

	return count == 1 && is_extreme(&ex) && is_iota_along(hlo, op->operands[1], axes[0]) &&
	       dtype != SP_BOOL && sp_hlo__known_number(hlo, op->operands[2], &init) &&
	       sp_hlo__known_number(hlo, op->operands[3], &place) &&
	       init == extreme_number(dtype, ex.direction == GREATER) && place == 0;
}

static sp_status reduce_extreme(sp_hlo_body *body, const sp_mlir_op *op, const int64_t *axes)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	const sp_vhlo_type *places = sp_hlo__value_type(hlo, op->operands[1]);
	extreme ex = {.region = &op->regions[0], .module = &hlo->module, .err = hlo->err};
	const char *x, *value;

	SP_TRY(hlo->status);
	is_extreme(&ex);
	x = sp_hlo__all(body, op->operands[0]);
	value = reduce(body, ex.direction == GREATER ? "Max" : "Min", x, axes, 1, type->dtype);
	SP_TRY(sp_hlo__give(body, op, 0, value));
	return sp_hlo__give(body, op, 1,
			    index_of_extreme(body, x, value, axes[0], type, places->dtype));
}

/* ------------------------------------------------------- any other function */

static sp_status reduce_by_function(sp_hlo_body *body, const sp_mlir_op *op, const int64_t *axes,
				    size_t count)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype *dtypes = sp_arena_array(hlo->arena, op->result_count, sizeof(*dtypes));
	int64_t *dims = sp_arena_array(hlo->arena, count, sizeof(*dims));
	const char *function;
	sp_hlo_node node;

	if (dtypes == NULL || dims == NULL)
		return sp_hlo__out_of_memory(hlo);
	memcpy(dims, axes, count * sizeof(*dims));
	SP_TRY(sp_hlo__scalar_function(hlo, op, &function));
	sp_hlo__begin(body, &node, "XlaVariadicReduceV2", op->operand_count);
	for (size_t i = 0; i < op->operand_count; i++)
		sp_hlo__input(&node, sp_hlo__all(body, op->operands[i]));
	for (size_t i = 0; i < op->result_count; i++)
		dtypes[i] = sp_hlo__value_type(hlo, op->operands[i])->dtype;
	sp_hlo__types(&node, "T", dtypes, op->result_count);
	sp_hlo__ints_attr(&node, "dimensions_to_reduce", dims, count);
	sp_hlo__function(&node, "reducer", function);
	sp_hlo__write(body, &node);
	for (uint32_t i = 0; i < op->result_count; i++)
		SP_TRY(sp_hlo__give(body, op, i, sp_hlo__output(body, &node, i)));
	return hlo->status;
}

sp_status sp_hlo__do_reduce(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	int64_t axes[SP_MAX_RANK];
	bool is_bool;
	const char *function;
	size_t count;

	if (op->region_count != 1 || op->result_count == 0 ||
	    op->operand_count != 2 * (size_t)op->result_count)
		return sp_hlo__refuse(hlo, op, "it does not have one start per value");
	SP_TRY(sp_vhlo_ints(&hlo->module, op, "dimensions", axes, SP_MAX_RANK, &count, hlo->err));
	is_bool = sp_hlo__value_type(hlo, op->operands[0])->dtype == SP_BOOL;
	if (op->result_count == 2 && is_argument_of_extreme(body, op, axes, count))
		return reduce_extreme(body, op, axes);
	function = op->result_count == 1 ? sp_hlo__region_op(&op->regions[0]) : NULL;
	for (size_t i = 0; function != NULL && i < sizeof(reductions) / sizeof(reductions[0]); i++)
		if (strcmp(reductions[i].body, function) == 0 &&
		    (is_bool || reductions[i].op != NULL))
			return reduce_one(body, op, &reductions[i], axes, count);
	return reduce_by_function(body, op, axes, count);
}
