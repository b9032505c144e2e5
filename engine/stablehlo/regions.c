#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/*
 * Calls, conditions and loops. A region becomes a function that takes its captured values as
 * additional arguments. In a loop these are loop variables that never change, which the import
 * turns into loop-invariant values.
 */

/* Adds the values as inputs of a node. */
static void add_values(sp_hlo_body *body, sp_hlo_node *node, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sp_hlo__value_type(body->hlo, values[i])->is_token)
			sp_hlo__input(node, sp_hlo__all(body, values[i]));
}

/* Assigns the node's outputs to the results that are tensors, in order. */
static sp_status give_outputs(sp_hlo_body *body, const sp_mlir_op *op, const sp_hlo_node *node)
{
	size_t output = 0;

	for (uint32_t i = 0; i < op->result_count; i++) {
		const sp_vhlo_type *type = sp_hlo__value_type(body->hlo, op->first_result + i);

		if (!type->is_token)
			SP_TRY(sp_hlo__give(body, op, i, sp_hlo__output(body, node, output++)));
	}
	return body->hlo->status;
}

static sp_status need_types(sp_hlo *hlo, const sp_mlir_op *op)
{
	for (size_t i = 0; i < op->operand_count; i++)
		sp_hlo__value_type(hlo, op->operands[i]);
	return hlo->status;
}

/* The node is named after the function, for readable errors. */
static sp_status call(sp_hlo_body *body, const sp_mlir_op *op, const char *function)
{
	const char *slash = strrchr(function, '/');
	sp_hlo_node node;

	body->stem = slash != NULL ? slash + 1 : "call";

	SP_TRY(need_types(body->hlo, op));
	sp_hlo__begin(body, &node, "PartitionedCall", op->operand_count);
	add_values(body, &node, op->operands, op->operand_count);
	sp_hlo__function(&node, "f", function);
	sp_hlo__write(body, &node);
	return give_outputs(body, op, &node);
}

static sp_status call_of_module(sp_hlo_body *body, const sp_mlir_op *op, const char *attribute)
{
	sp_hlo *hlo = body->hlo;
	sp_bytes name;
	int64_t function;

	SP_TRY(sp_vhlo_text(&hlo->module, op, attribute, &name, hlo->err));
	function = sp_hlo__find_function(hlo, name);
	if (function < 0)
		return sp_hlo__refuse(hlo, op, "the function is not there");
	return call(body, op, hlo->function_names[function]);
}

sp_status sp_hlo__do_call(sp_hlo_body *body, const sp_mlir_op *op)
{
	return call_of_module(body, op, "callee");
}

/* Functions for which TensorFlow has an operator. */
static const struct {
	const char *name, *op;
} functions_of_one[] = {
	{"acos", "Acos"}, {"acosh", "Acosh"},   {"asin", "Asin"}, {"asinh", "Asinh"},
	{"atan", "Atan"}, {"atanh", "Atanh"},   {"cosh", "Cosh"}, {"erf", "Erf"},
	{"erfc", "Erfc"}, {"lgamma", "Lgamma"}, {"sinh", "Sinh"}, {"tan", "Tan"},
};

/* The operator of a function of one number, such as "chlo.erf" and "mhlo.erf"; NULL for others. */
static const char *function_of_one(sp_hlo *hlo, const sp_mlir_op *op, sp_bytes name)
{
	if ((!sp_bytes_starts_with(name, "chlo.") && !sp_bytes_starts_with(name, "mhlo.")) ||
	    op->operand_count != 1 || op->result_count != 1 ||
	    !sp_dtype_is_floating(sp_hlo__value_type(hlo, op->operands[0])->dtype))
		return NULL;
	name = (sp_bytes){name.data + 5, name.size - 5};
	for (size_t i = 0; i < sizeof(functions_of_one) / sizeof(functions_of_one[0]); i++)
		if (sp_bytes_equal_text(name, functions_of_one[i].name))
			return functions_of_one[i].op;
	return NULL;
}

/* A composite: a named operation together with a function that implements it. */
sp_status sp_hlo__do_composite(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const char *known;
	sp_bytes name;

	SP_TRY(sp_vhlo_text(&hlo->module, op, "name", &name, hlo->err));
	known = function_of_one(hlo, op, name);
	if (known != NULL)
		return sp_hlo__apply(body, op, known);
	if (op->region_count != 0)
		return sp_hlo__refuse(body->hlo, op, "with regions");
	return call_of_module(body, op, "decomposition");
}

/* -------------------------------------------------------------- conditions */

/*
 * Makes functions of the branches, all of whose arguments are the values that any branch captures.
 */
static sp_status make_branches(sp_hlo *hlo, const sp_mlir_op *op, const uint32_t *captured,
			       size_t count, const char **functions)
{
	for (size_t i = 0; i < op->region_count; i++) {
		if (op->regions[i].argument_count != 0)
			return sp_hlo__refuse(hlo, op, "a branch with arguments");
		SP_TRY(sp_hlo__make_function(hlo, &op->regions[i], captured, count, SP_HLO_PLAIN,
					     &functions[i]));
	}
	return SP_OK;
}

static sp_status branch(sp_hlo_body *body, const sp_mlir_op *op, const char *name,
			const char *selector)
{
	sp_hlo *hlo = body->hlo;
	const char **functions = sp_arena_array(hlo->arena, op->region_count, sizeof(*functions));
	uint32_t *captured;
	sp_hlo_node node;
	size_t count;

	if (functions == NULL)
		return sp_hlo__out_of_memory(hlo);
	SP_TRY(sp_hlo__captured(hlo, op, &captured, &count));
	SP_TRY(make_branches(hlo, op, captured, count, functions));
	sp_hlo__begin(body, &node, name, count + 1);
	sp_hlo__input(&node, selector);
	add_values(body, &node, captured, count);
	if (strcmp(name, "StatelessCase") == 0) {
		sp_hlo__functions(&node, "branches", functions, op->region_count);
	} else {
		sp_hlo__function(&node, "then_branch", functions[0]);
		sp_hlo__function(&node, "else_branch", functions[1]);
	}
	sp_hlo__write(body, &node);
	return give_outputs(body, op, &node);
}

sp_status sp_hlo__do_if(sp_hlo_body *body, const sp_mlir_op *op)
{
	if (op->region_count != 2)
		return sp_hlo__refuse(body->hlo, op, "it does not have two branches");
	return branch(body, op, "StatelessIf", sp_hlo__all(body, op->operands[0]));
}

sp_status sp_hlo__do_case(sp_hlo_body *body, const sp_mlir_op *op)
{
	if (op->region_count == 0)
		return sp_hlo__refuse(body->hlo, op, "it has no branches");
	return branch(body, op, "StatelessCase", sp_hlo__all(body, op->operands[0]));
}

/* ------------------------------------------------------------------- loops */

sp_status sp_hlo__do_while(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const char *functions[2];
	uint32_t *captured;
	sp_hlo_node node;
	size_t count;

	if (op->region_count != 2 || op->operand_count != op->result_count ||
	    op->regions[0].argument_count != op->operand_count ||
	    op->regions[1].argument_count != op->operand_count)
		return sp_hlo__refuse(hlo, op, "its regions take another number of values");
	SP_TRY(need_types(hlo, op));
	SP_TRY(sp_hlo__captured(hlo, op, &captured, &count));
	SP_TRY(sp_hlo__make_function(hlo, &op->regions[0], captured, count, SP_HLO_PLAIN,
				     &functions[0]));
	SP_TRY(sp_hlo__make_function(hlo, &op->regions[1], captured, count, SP_HLO_LOOP_BODY,
				     &functions[1]));
	sp_hlo__begin(body, &node, "StatelessWhile", count + op->operand_count);
	add_values(body, &node, captured, count);
	add_values(body, &node, op->operands, op->operand_count);
	sp_hlo__function(&node, "cond", functions[0]);
	sp_hlo__function(&node, "body", functions[1]);
	sp_hlo__write(body, &node);
	/* The captured values are the first outputs of the loop. */
	for (uint32_t i = 0; i < op->result_count; i++)
		if (!sp_hlo__value_type(hlo, op->operands[i])->is_token)
			SP_TRY(sp_hlo__give(body, op, i, sp_hlo__output(body, &node, count++)));
	return hlo->status;
}

/* ------------------------------------------------------------ custom calls */

/* Tokens order side effects; there are none here. */
sp_status sp_hlo__do_token(sp_hlo_body *body, const sp_mlir_op *op)
{
	(void)op;
	return body->hlo->status;
}

static sp_status add_check(sp_hlo_body *body, const char *name)
{
	if (!SP_ARENA_GROW(body->hlo->arena, body->checks, body->check_capacity, body->check_count,
			   1))
		return sp_hlo__out_of_memory(body->hlo);
	body->checks[body->check_count++] = name;
	return SP_OK;
}

/* The message of a check; {0}, {1}, ... in it are placeholders for values. */
static const char *message(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	sp_shape shape = sp_shape_scalar();
	sp_tensor *text = sp_arena_zeros(hlo->arena, 1, sizeof(*text));
	uint32_t attribute;
	sp_bytes words = {"", 0};
	char *copy;

	hlo->status = sp_vhlo_find(&hlo->module, op, "error_message", &attribute, hlo->err);
	if (hlo->status != SP_OK)
		return NULL;
	if (attribute != SP_MLIR_NONE)
		sp_vhlo_string(&hlo->module, attribute, &words);
	copy = sp_arena_text(hlo->arena, words);
	if (text == NULL || copy == NULL)
		return sp_hlo__no_memory(hlo);
	hlo->status = sp_tensor_create(text, hlo->arena, SP_STRING, &shape, hlo->err);
	if (hlo->status != SP_OK)
		return NULL;
	sp_tensor_strings(text)[0] = (sp_bytes){copy, words.size};
	return sp_hlo__constant(body, text);
}

/* A condition on the dimensions of the request; the other operands are for the message. */
static sp_status assert_shape(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const char *words;
	sp_hlo_node node;

	if (!hlo->asserts_shapes)
		return SP_OK;
	if (op->operand_count == 0 || op->result_count != 0)
		return sp_hlo__refuse(hlo, op, "a shape assertion without a condition");
	SP_TRY(need_types(hlo, op));
	words = message(body, op);
	sp_hlo__begin(body, &node, "Assert", op->operand_count + 1);
	for (size_t i = 0; i < op->operand_count; i++) {
		sp_hlo__input(&node, sp_hlo__all(body, op->operands[i]));
		if (i == 0)
			sp_hlo__input(&node, words);
	}
	sp_hlo__write(body, &node);
	SP_TRY(hlo->status);
	return add_check(body, node.name);
}

/* Calls a TensorFlow function that the node lists. */
static sp_status call_tensorflow(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_attr *list = sp_attr_find(hlo->node->attrs, hlo->node->attr_count,
					   "function_list");
	uint32_t config, index;
	int64_t number;

	SP_TRY(sp_vhlo_find(&hlo->module, op, "tf.backend_config", &config, hlo->err));
	index = config != SP_MLIR_NONE ? sp_vhlo_dictionary(&hlo->module, config, "called_index")
				       : SP_MLIR_NONE;
	if (index == SP_MLIR_NONE || !sp_vhlo_number(&hlo->module, index, &number))
		return sp_hlo__refuse(hlo, op, "it does not say which function it calls");
	if (list == NULL || list->kind != SP_ATTR_LIST || list->element != SP_ATTR_FUNC ||
	    number < 0 || (uint64_t)number >= list->count)
		return sp_hlo__refuse(hlo, op, "the function it calls is not listed");
	return call(body, op, list->text_list[number]);
}

static sp_status refuse_target(sp_hlo *hlo, const sp_mlir_op *op, sp_bytes target)
{
	char name[80];
	size_t size = target.size < sizeof(name) - 1 ? target.size : sizeof(name) - 1;

	memcpy(name, target.data, size);
	name[size] = '\0';
	return sp_hlo__refuse(hlo, op, name);
}

sp_status sp_hlo__do_custom_call(sp_hlo_body *body, const sp_mlir_op *op)
{
	static const char *const same[] = {"Sharding",         "annotate_device_placement",
					   "xla.sdy.Sharding", "xla.sdy.FuncResultSharding",
					   "LayoutConstraint", "MoveToHost",
					   "MoveToDevice"};
	const char *known;
	sp_hlo *hlo = body->hlo;
	sp_bytes target;

	SP_TRY(sp_vhlo_text(&hlo->module, op, "call_target_name", &target, hlo->err));
	if (sp_bytes_equal_text(target, "shape_assertion"))
		return assert_shape(body, op);
	if (sp_bytes_equal_text(target, "tf.call_tf_function"))
		return call_tensorflow(body, op);
	if (sp_bytes_equal_text(target, "ApproxTopK"))
		return sp_hlo__approximate_top_k(body, op);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (sp_bytes_equal_text(target, same[i]))
			return sp_hlo__do_identity(body, op);
	known = function_of_one(hlo, op, target);
	return known != NULL ? sp_hlo__apply(body, op, known) : refuse_target(hlo, op, target);
}
