#include "engine/stablehlo/translate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/*
 * A module is a list of functions; the regions of conditions and loops become functions, too.  Each
 * operation is translated in place.  The import checks the arguments of calls, as for any call.
 */

/* Limits the nodes: nested regions that capture each other's values are written repeatedly. */
enum { MAX_NODES = 1 << 20 };

static const sp_hlo_rule rules[] = {
	{"abs", 1, 1, 1, sp_hlo__do_unary, "Abs", NULL},
	{"add", 1, 2, 1, sp_hlo__do_add, "AddV2", "LogicalOr"},
	{"after_all", 1, SP_HLO_ANY, 1, sp_hlo__do_token, NULL, NULL},
	{"and", 1, 2, 1, sp_hlo__do_binary, "BitwiseAnd", "LogicalAnd"},
	{"atan2", 1, 2, 1, sp_hlo__do_binary, "Atan2", NULL},
	{"bitcast_convert", 1, 1, 1, sp_hlo__do_bitcast, NULL, NULL},
	{"broadcast_in_dim", 1, 1, 1, sp_hlo__do_broadcast, NULL, NULL},
	{"call", 1, SP_HLO_ANY, SP_HLO_ANY, sp_hlo__do_call, NULL, NULL},
	{"case", 1, 1, SP_HLO_ANY, sp_hlo__do_case, NULL, NULL},
	{"cbrt", 2, 1, 1, sp_hlo__do_cbrt, NULL, NULL},
	{"ceil", 1, 1, 1, sp_hlo__do_unary, "Ceil", NULL},
	{"clamp", 1, 3, 1, sp_hlo__do_clamp, NULL, NULL},
	{"compare", 1, 2, 1, sp_hlo__do_compare, NULL, NULL},
	{"complex", 1, 2, 1, sp_hlo__do_complex, "Complex", NULL},
	{"composite", 2, SP_HLO_ANY, SP_HLO_ANY, sp_hlo__do_composite, NULL, NULL},
	{"concatenate", 1, SP_HLO_SOME, 1, sp_hlo__do_concatenate, NULL, NULL},
	{"constant", 1, 0, 1, sp_hlo__do_constant, NULL, NULL},
	{"convert", 1, 1, 1, sp_hlo__do_convert, NULL, NULL},
	{"convolution", 1, 2, 1, sp_hlo__do_convolution, NULL, NULL},
	{"cosine", 2, 1, 1, sp_hlo__do_unary, "Cos", NULL},
	{"count_leading_zeros", 1, 1, 1, sp_hlo__do_leading_zeros, NULL, NULL},
	{"create_token", 1, 0, 1, sp_hlo__do_token, NULL, NULL},
	{"custom_call", 2, SP_HLO_ANY, SP_HLO_ANY, sp_hlo__do_custom_call, NULL, NULL},
	{"divide", 1, 2, 1, sp_hlo__do_divide, "RealDiv", NULL},
	{"dot_general", 2, 2, 1, sp_hlo__do_dot_general, NULL, NULL},
	{"dynamic_broadcast_in_dim", 1, 2, 1, sp_hlo__do_broadcast, NULL, NULL},
	{"dynamic_gather", 2, 3, 1, sp_hlo__do_dynamic_gather, NULL, NULL},
	{"dynamic_iota", 1, 1, 1, sp_hlo__do_dynamic_iota, NULL, NULL},
	{"dynamic_pad", 1, 5, 1, sp_hlo__do_dynamic_pad, NULL, NULL},
	{"dynamic_reshape", 1, 2, 1, sp_hlo__do_dynamic_reshape, NULL, NULL},
	{"dynamic_slice", 1, SP_HLO_SOME, 1, sp_hlo__do_dynamic_slice, NULL, NULL},
	{"dynamic_update_slice", 1, SP_HLO_SOME, 1, sp_hlo__do_dynamic_update_slice, NULL, NULL},
	{"exponential", 2, 1, 1, sp_hlo__do_unary, "Exp", NULL},
	{"exponential_minus_one", 2, 1, 1, sp_hlo__do_unary, "Expm1", NULL},
	{"fft", 1, 1, 1, sp_hlo__do_fft, NULL, NULL},
	{"floor", 1, 1, 1, sp_hlo__do_unary, "Floor", NULL},
	{"gather", 2, 2, 1, sp_hlo__do_gather, NULL, NULL},
	{"get_dimension_size", 1, 1, 1, sp_hlo__do_dimension_size, NULL, NULL},
	{"if", 1, 1, SP_HLO_ANY, sp_hlo__do_if, NULL, NULL},
	{"imag", 1, 1, 1, sp_hlo__do_part, "Imag", NULL},
	{"iota", 1, 0, 1, sp_hlo__do_iota, NULL, NULL},
	{"is_finite", 1, 1, 1, sp_hlo__do_unary, "IsFinite", NULL},
	{"log", 2, 1, 1, sp_hlo__do_unary, "Log", NULL},
	{"log_plus_one", 2, 1, 1, sp_hlo__do_unary, "Log1p", NULL},
	{"logistic", 2, 1, 1, sp_hlo__do_unary, "Sigmoid", NULL},
	{"maximum", 1, 2, 1, sp_hlo__do_maximum, "Maximum", "LogicalOr"},
	{"minimum", 1, 2, 1, sp_hlo__do_binary, "Minimum", "LogicalAnd"},
	{"multiply", 1, 2, 1, sp_hlo__do_binary, "Mul", "LogicalAnd"},
	{"negate", 1, 1, 1, sp_hlo__do_negate, "Neg", NULL},
	{"not", 1, 1, 1, sp_hlo__do_not, NULL, NULL},
	{"optimization_barrier", 1, SP_HLO_ANY, SP_HLO_ANY, sp_hlo__do_identity, NULL, NULL},
	{"or", 1, 2, 1, sp_hlo__do_binary, "BitwiseOr", "LogicalOr"},
	{"pad", 1, 2, 1, sp_hlo__do_pad, NULL, NULL},
	{"popcnt", 1, 1, 1, sp_hlo__do_popcnt, NULL, NULL},
	{"power", 1, 2, 1, sp_hlo__do_binary, "Pow", NULL},
	{"real", 1, 1, 1, sp_hlo__do_part, "Real", NULL},
	{"real_dynamic_slice", 1, 4, 1, sp_hlo__do_real_dynamic_slice, NULL, NULL},
	{"reduce", 1, SP_HLO_SOME, SP_HLO_SOME, sp_hlo__do_reduce, NULL, NULL},
	{"reduce_precision", 1, 1, 1, sp_hlo__do_reduce_precision, NULL, NULL},
	{"reduce_window", 1, SP_HLO_SOME, SP_HLO_SOME, sp_hlo__do_reduce_window, NULL, NULL},
	{"remainder", 1, 2, 1, sp_hlo__do_remainder, "TruncateMod", NULL},
	{"reshape", 1, 1, 1, sp_hlo__do_reshape, NULL, NULL},
	{"reverse", 1, 1, 1, sp_hlo__do_reverse, NULL, NULL},
	{"round_nearest_afz", 1, 1, 1, sp_hlo__do_round, NULL, NULL},
	{"round_nearest_even", 1, 1, 1, sp_hlo__do_unary, "Rint", NULL},
	{"rsqrt", 2, 1, 1, sp_hlo__do_unary, "Rsqrt", NULL},
	{"scatter", 2, SP_HLO_SOME, SP_HLO_SOME, sp_hlo__do_scatter, NULL, NULL},
	{"select", 1, 3, 1, sp_hlo__do_select, NULL, NULL},
	{"shift_left", 1, 2, 1, sp_hlo__do_shift, "LeftShift", NULL},
	{"shift_right_arithmetic", 1, 2, 1, sp_hlo__do_shift, "RightShift", NULL},
	{"shift_right_logical", 1, 2, 1, sp_hlo__do_shift, "RightShift", NULL},
	{"sign", 1, 1, 1, sp_hlo__do_unary, "Sign", NULL},
	{"sine", 2, 1, 1, sp_hlo__do_unary, "Sin", NULL},
	{"slice", 1, 1, 1, sp_hlo__do_slice, NULL, NULL},
	{"sort", 1, SP_HLO_SOME, SP_HLO_SOME, sp_hlo__do_sort, NULL, NULL},
	{"sqrt", 2, 1, 1, sp_hlo__do_unary, "Sqrt", NULL},
	{"subtract", 1, 2, 1, sp_hlo__do_binary, "Sub", NULL},
	{"tan", 2, 1, 1, sp_hlo__do_unary, "Tan", NULL},
	{"tanh", 2, 1, 1, sp_hlo__do_unary, "Tanh", NULL},
	{"transpose", 1, 1, 1, sp_hlo__do_transpose, NULL, NULL},
	{"while", 1, SP_HLO_ANY, SP_HLO_ANY, sp_hlo__do_while, NULL, NULL},
	{"xor", 1, 2, 1, sp_hlo__do_binary, "BitwiseXor", "NotEqual"},
};

/* ------------------------------------------------------------- operations */

static int compare_rules(const void *a, const void *b)
{
	return strcmp(((const sp_hlo_rule *)a)->name, ((const sp_hlo_rule *)b)->name);
}

/* NULL for an unknown operation, or an unknown version of one. */
static const sp_hlo_rule *find_rule(const sp_mlir_op *op)
{
	static const char dialect[] = "vhlo.";
	const char *version = strrchr(op->name, '_');
	char name[40] = "";
	sp_hlo_rule key = {.name = name};
	const sp_hlo_rule *rule;
	size_t size;

	if (strncmp(op->name, dialect, sizeof(dialect) - 1) != 0 || version == NULL ||
	    version[1] != 'v')
		return NULL;
	size = (size_t)(version - op->name) - (sizeof(dialect) - 1);
	if (size >= sizeof(name))
		return NULL;
	memcpy(name, op->name + sizeof(dialect) - 1, size);
	rule = bsearch(&key, rules, sizeof(rules) / sizeof(rules[0]), sizeof(rules[0]),
		       compare_rules);
	if (rule == NULL || version[2] < '1' || version[2] > '0' + rule->newest ||
	    version[3] != '\0')
		return NULL;
	return rule;
}

static bool has_token(sp_hlo *hlo, const sp_mlir_op *op)
{
	bool has = false;

	for (size_t i = 0; i < op->operand_count; i++) {
		const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[i]);

		has |= type->is_token;
	}
	for (uint32_t i = 0; i < op->result_count; i++) {
		const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result + i);

		has |= type->is_token;
	}
	return has;
}

/* Operations that only forward values may forward tokens, too. */
static bool takes_tokens(const sp_hlo_rule *rule)
{
	return rule->translate == sp_hlo__do_token || rule->translate == sp_hlo__do_identity ||
	       rule->translate == sp_hlo__do_call || rule->translate == sp_hlo__do_while ||
	       rule->translate == sp_hlo__do_if || rule->translate == sp_hlo__do_case;
}

static bool is_count(int wanted, size_t count)
{
	if (wanted == SP_HLO_SOME)
		return count != 0;
	return wanted == SP_HLO_ANY || count == (size_t)wanted;
}

static sp_status translate_op(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_hlo_rule *rule = find_rule(op);

	if (rule == NULL)
		return sp_error_set(hlo->err, SP_UNSUPPORTED, "operation %s is not supported",
				    op->name);
	if (!is_count(rule->operands, op->operand_count) ||
	    !is_count(rule->results, op->result_count))
		return sp_error_set(hlo->err, SP_CORRUPT,
				    "operation %s has %zu operands and %u results", op->name,
				    op->operand_count, op->result_count);
	if (has_token(hlo, op) && !takes_tokens(rule))
		return sp_hlo__refuse(hlo, op, "on a token");
	SP_TRY(hlo->status);
	body->rule = rule;
	body->stem = rule->name;
	hlo->status = rule->translate(body, op);
	return hlo->status;
}

/* Lists operations that cannot be translated, as far as they fit. */
static void list_missing(const sp_mlir_region *region, char *text, size_t size)
{
	for (size_t i = 0; i < region->op_count; i++) {
		const sp_mlir_op *op = &region->ops[i];
		size_t used = strlen(text);

		if (strcmp(op->name, "vhlo.return_v1") != 0 && find_rule(op) == NULL &&
		    strstr(text, op->name) == NULL && used + strlen(op->name) + 3 < size) {
			strcat(text, used != 0 ? ", " : "");
			strcat(text, op->name);
		}
		/*
		 * Only regions of control flow: the translations of reductions check their
		 * functions.
		 */
		if (strcmp(op->name, "vhlo.while_v1") == 0 || strcmp(op->name, "vhlo.if_v1") == 0 ||
		    strcmp(op->name, "vhlo.case_v1") == 0)
			for (size_t k = 0; k < op->region_count; k++)
				list_missing(&op->regions[k], text, size);
	}
}

/* -------------------------------------------------------------- functions */

static sp_status grow_functions(sp_hlo *hlo)
{
	if (SP_ARENA_GROW(hlo->arena, hlo->made, hlo->made_capacity, hlo->made_count, 1))
		return SP_OK;
	return sp_hlo__out_of_memory(hlo);
}

/* Enters a value into a new function: constants remain constants, all others become arguments. */
static void enter(sp_hlo *hlo, uint32_t number, const char *argument)
{
	sp_hlo_value *value = &hlo->values[number];
	bool stays = value->constant != NULL && value->shape == NULL;

	value->all = stays ? NULL : argument;
	value->source = NULL;
	value->shape = NULL;
	value->is_broadcast &= stays;
	if (!stays)
		value->constant = NULL;
}

typedef struct arguments {
	sp_arg_def *list;
	size_t count;
} arguments;

static sp_status add_argument(sp_hlo *hlo, arguments *args, uint32_t value, bool is_captured)
{
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);
	sp_arg_def *arg = &args->list[args->count];

	SP_TRY(hlo->status);
	if (type->is_token) {
		hlo->values[value] = (sp_hlo_value){.all = NULL};
		return SP_OK;
	}
	*arg = (sp_arg_def){.dtype = type->dtype};
	arg->name = sp_arena_printf(hlo->arena, "argument_%zu", args->count);
	if (arg->name == NULL)
		return sp_hlo__out_of_memory(hlo);
	args->count++;
	if (is_captured)
		enter(hlo, value, arg->name);
	else
		hlo->values[value] = (sp_hlo_value){.all = arg->name};
	return SP_OK;
}

/* Checks that an argument of the module's first function has the declared shape. */
static sp_status ensure_shape(sp_hlo_body *body, uint32_t value)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);
	sp_partial_shape *shape = sp_arena_zeros(hlo->arena, 1, sizeof(*shape));
	sp_hlo_node node;

	if (hlo->status != SP_OK || type->is_token)
		return hlo->status;
	if (shape == NULL)
		return sp_hlo__out_of_memory(hlo);
	shape->rank = type->rank;
	memcpy(shape->dims, type->dims, sizeof(shape->dims));
	body->stem = "shaped";
	SP_HLO_BEGIN(body, &node, "EnsureShape", type->dtype, hlo->values[value].all);
	sp_hlo__shape(&node, "shape", shape);
	hlo->values[value].all = sp_hlo__write(body, &node);
	return hlo->status;
}

static sp_status add_return(sp_hlo_body *body, sp_function_def *function, sp_arg_def *outputs,
			    sp_named_ref *returns, uint32_t value)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);
	size_t at = function->output_count;

	if (hlo->status != SP_OK || type->is_token)
		return hlo->status;
	outputs[at].name = sp_arena_printf(hlo->arena, "result_%zu", at);
	outputs[at].dtype = type->dtype;
	returns[at].name = outputs[at].name;
	returns[at].ref = sp_hlo__all(body, value);
	function->output_count++;
	return outputs[at].name != NULL ? hlo->status : sp_hlo__out_of_memory(hlo);
}

/* Writes the results of the region after the arguments that are passed on. */
static sp_status take_returns(sp_hlo_body *body, const sp_mlir_region *region, size_t passed_on,
			      sp_function_def *function)
{
	sp_hlo *hlo = body->hlo;
	const sp_mlir_op *end = region->op_count != 0 ? &region->ops[region->op_count - 1] : NULL;
	sp_named_ref *returns;
	sp_arg_def *outputs;

	if (end == NULL || strcmp(end->name, "vhlo.return_v1") != 0)
		return sp_error_set(hlo->err, SP_CORRUPT,
				    "a function of the module does not end with a return");
	returns = sp_arena_array(hlo->arena, passed_on + end->operand_count, sizeof(*returns));
	outputs = sp_arena_array(hlo->arena, passed_on + end->operand_count, sizeof(*outputs));
	if (returns == NULL || outputs == NULL)
		return sp_hlo__out_of_memory(hlo);
	body->stem = "return";
	for (size_t i = 0; i < passed_on; i++) {
		outputs[i] = function->inputs[i];
		returns[i] = (sp_named_ref){function->inputs[i].name, function->inputs[i].name};
	}
	function->output_count = passed_on;
	for (size_t i = 0; i < end->operand_count; i++)
		SP_TRY(add_return(body, function, outputs, returns, end->operands[i]));
	function->outputs = outputs;
	function->returns = returns;
	return hlo->status;
}

static sp_status write_body(sp_hlo_body *body, const sp_mlir_region *region, size_t passed_on,
			    sp_function_def *function)
{
	sp_hlo *hlo = body->hlo;

	for (size_t i = 0; i + 1 < region->op_count; i++) {
		SP_TRY(translate_op(body, &region->ops[i]));
		if (body->count > hlo->ops_left)
			return sp_error_set(hlo->err, SP_UNSUPPORTED,
					    "the module makes more than %d nodes", MAX_NODES);
	}
	SP_TRY(take_returns(body, region, passed_on, function));
	hlo->ops_left -= body->count < hlo->ops_left ? body->count : hlo->ops_left;
	function->nodes = body->nodes;
	function->node_count = body->count;
	function->control_returns = body->checks;
	function->control_return_count = body->check_count;
	return SP_OK;
}

static sp_status write_function(sp_hlo *hlo, const sp_mlir_region *region, const uint32_t *captured,
				size_t captured_count, const char *name, sp_hlo_role role,
				size_t place)
{
	size_t most = captured_count + region->argument_count;
	sp_function_def function = {.name = name};
	arguments args = {sp_arena_array(hlo->arena, most, sizeof(*args.list)), 0};
	sp_hlo_body body = {.hlo = hlo};

	if (args.list == NULL)
		return sp_hlo__out_of_memory(hlo);
	for (size_t i = 0; i < captured_count; i++) {
		if (role == SP_HLO_SCALAR)
			enter(hlo, captured[i], NULL);
		else
			SP_TRY(add_argument(hlo, &args, captured[i], true));
	}
	for (uint32_t i = 0; i < region->argument_count; i++)
		SP_TRY(add_argument(hlo, &args, region->first_argument + i, false));
	for (uint32_t i = 0; role == SP_HLO_FIRST && i < region->argument_count; i++)
		SP_TRY(ensure_shape(&body, region->first_argument + i));
	function.inputs = args.list;
	function.input_count = args.count;
	SP_TRY(write_body(&body, region, role == SP_HLO_LOOP_BODY ? captured_count : 0, &function));
	hlo->made[place] = function;
	return SP_OK;
}

sp_status sp_hlo__make_function(sp_hlo *hlo, const sp_mlir_region *region, const uint32_t *captured,
				size_t captured_count, sp_hlo_role role, const char **out)
{
	sp_hlo_value *outside = sp_arena_array(hlo->scratch, captured_count, sizeof(*outside));
	size_t place = hlo->made_count;
	sp_status status;

	SP_TRY(grow_functions(hlo));
	hlo->made_count++;
	*out = sp_arena_printf(hlo->arena, "%s/region_%zu", hlo->prefix, place);
	if (outside == NULL || *out == NULL)
		return sp_hlo__out_of_memory(hlo);
	for (size_t i = 0; i < captured_count; i++)
		outside[i] = hlo->values[captured[i]];
	status = write_function(hlo, region, captured, captured_count, *out, role, place);
	for (size_t i = 0; i < captured_count; i++)
		hlo->values[captured[i]] = outside[i];
	hlo->status = hlo->status != SP_OK ? hlo->status : status;
	return status;
}

/* --------------------------------------------------------------- capturing */

typedef struct capture {
	uint32_t *values;
	size_t count;
	size_t capacity;
	uint32_t inner; /* values below this number are defined outside of the region */
} capture;

static sp_status add_captured(sp_hlo *hlo, capture *to, uint32_t value)
{
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);

	SP_TRY(hlo->status);
	if (hlo->stamps[value] == hlo->stamp || type->is_token)
		return SP_OK;
	hlo->stamps[value] = hlo->stamp;
	if (!SP_ARENA_GROW(hlo->scratch, to->values, to->capacity, to->count, 1))
		return sp_hlo__out_of_memory(hlo);
	to->values[to->count++] = value;
	return SP_OK;
}

static sp_status capture_region(sp_hlo *hlo, capture *to, const sp_mlir_region *region)
{
	for (size_t i = 0; i < region->op_count; i++) {
		const sp_mlir_op *op = &region->ops[i];

		for (size_t k = 0; k < op->operand_count; k++)
			if (op->operands[k] < to->inner)
				SP_TRY(add_captured(hlo, to, op->operands[k]));
		for (size_t k = 0; k < op->region_count; k++)
			SP_TRY(capture_region(hlo, to, &op->regions[k]));
	}
	return SP_OK;
}

sp_status sp_hlo__captured(sp_hlo *hlo, const sp_mlir_op *op, uint32_t **values, size_t *count)
{
	capture all = {.inner = op->first_inner};

	hlo->stamp++;
	for (size_t i = 0; i < op->region_count; i++)
		SP_TRY(capture_region(hlo, &all, &op->regions[i]));
	*values = all.values;
	*count = all.count;
	return SP_OK;
}

/* ------------------------------------------------------------------ module */

int64_t sp_hlo__find_function(const sp_hlo *hlo, sp_bytes name)
{
	uint64_t found;

	return sp_map_get(&hlo->functions, name, &found) ? (int64_t)found : -1;
}

/* A function's name in a form that node names allow. */
static const char *printable(sp_hlo *hlo, sp_bytes name, size_t number)
{
	enum { MAX_NAME = 80 };
	char text[MAX_NAME + 1];
	size_t size = name.size < MAX_NAME ? name.size : MAX_NAME;

	for (size_t i = 0; i < size; i++) {
		char c = name.data[i];

		text[i] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
				  ? c
				  : '_';
	}
	text[size] = '\0';
	return sp_arena_printf(hlo->arena, "%s/%s_%zu", hlo->prefix, text, number);
}

static sp_status index_functions(sp_hlo *hlo, const sp_mlir_region *body)
{
	hlo->function_ops = sp_arena_array(hlo->scratch, body->op_count,
					   sizeof(*hlo->function_ops));
	hlo->function_names = sp_arena_array(hlo->scratch, body->op_count,
					     sizeof(*hlo->function_names));
	if (hlo->function_ops == NULL || hlo->function_names == NULL)
		return sp_hlo__out_of_memory(hlo);
	for (size_t i = 0; i < body->op_count; i++) {
		const sp_mlir_op *op = &body->ops[i];
		sp_bytes name;

		if (strcmp(op->name, "vhlo.func_v1") != 0 || op->region_count != 1)
			return sp_error_set(hlo->err, SP_UNSUPPORTED,
					    "operation %s is not supported", op->name);
		SP_TRY(sp_vhlo_text(&hlo->module, op, "sym_name", &name, hlo->err));
		hlo->function_names[i] = printable(hlo, name, i);
		if (hlo->function_names[i] == NULL)
			return sp_hlo__out_of_memory(hlo);
		hlo->function_ops[i] = op;
		switch (sp_map_add(&hlo->functions, name, i)) {
		case SP_MAP_ADDED:
			break;
		case SP_MAP_PRESENT:
			return sp_error_set(hlo->err, SP_CORRUPT,
					    "two functions of the module have one name");
		default:
			return sp_hlo__out_of_memory(hlo);
		}
	}
	hlo->function_count = body->op_count;
	return SP_OK;
}

static sp_status make_tables(sp_hlo *hlo)
{
	const sp_mlir_module *module = &hlo->module;

	hlo->types = sp_arena_array(hlo->scratch, module->type_count, sizeof(*hlo->types));
	hlo->type_is_read = sp_arena_zeros(hlo->scratch, module->type_count,
					   sizeof(*hlo->type_is_read));
	hlo->values = sp_arena_zeros(hlo->scratch, module->value_count, sizeof(*hlo->values));
	hlo->stamps = sp_arena_zeros(hlo->scratch, module->value_count, sizeof(*hlo->stamps));
	hlo->constants = sp_arena_array(hlo->scratch, module->attribute_count,
					sizeof(*hlo->constants));
	hlo->constant_is_read = sp_arena_zeros(hlo->scratch, module->attribute_count,
					       sizeof(*hlo->constant_is_read));
	if (hlo->types == NULL || hlo->type_is_read == NULL || hlo->values == NULL ||
	    hlo->stamps == NULL || hlo->constants == NULL || hlo->constant_is_read == NULL)
		return sp_hlo__out_of_memory(hlo);
	sp_map_init(&hlo->functions, hlo->scratch);
	return SP_OK;
}

/* ------------------------------------------------------------------- node */

static const sp_attr *list_attr(const sp_node_def *node, const char *name)
{
	const sp_attr *attr = sp_attr_find(node->attrs, node->attr_count, name);

	return attr != NULL && attr->kind == SP_ATTR_LIST && attr->count != 0 ? attr : NULL;
}

static bool has_text(const sp_attr *list, const char *text, size_t *at)
{
	for (size_t i = 0; list != NULL && list->element == SP_ATTR_BYTES && i < list->count; i++)
		if (sp_bytes_equal_text(list->bytes_list[i], text)) {
			*at = i;
			return true;
		}
	return false;
}

static sp_status check_node(sp_hlo *hlo, size_t *platform, bool *has_platform)
{
	const sp_node_def *node = hlo->node;
	const sp_attr *platforms = list_attr(node, "platforms");
	const sp_attr *disabled = list_attr(node, "disabled_checks");
	size_t ignored;

	if (list_attr(node, "dim_args_spec") != NULL)
		return sp_error_set(hlo->err, SP_UNSUPPORTED,
				    "a module that is called with dimensions");
	*platform = 0;
	*has_platform = platforms != NULL && platforms->count > 1;
	if (platforms != NULL && !has_text(platforms, "CPU", platform) &&
	    !has_text(disabled, "platform", &ignored))
		return sp_error_set(hlo->err, SP_UNSUPPORTED, "a module that is not made for CPUs");
	hlo->asserts_shapes = !has_text(disabled, "shape_assertions", &ignored);
	return SP_OK;
}

/* In a module for several platforms the first argument is the platform's index. */
static sp_status fix_platform(sp_hlo *hlo, size_t platform)
{
	sp_function_def *first = &hlo->made[0];
	sp_hlo_body body = {.hlo = hlo, .stem = "platform", .nodes = NULL};
	sp_node_def *nodes;
	const char *number, *name;

	if (first->input_count == 0)
		return sp_error_set(hlo->err, SP_CORRUPT, "the module does not take a platform");
	/* A constant of the same name replaces the argument. */
	number = sp_hlo__cast(&body, sp_hlo__int_scalar(&body, (int64_t)platform), SP_INT32,
			      first->inputs[0].dtype);
	nodes = sp_arena_copy(hlo->arena, first->nodes, first->node_count,
			      first->node_count + body.count, sizeof(*nodes));
	if (nodes == NULL || number == NULL)
		return sp_hlo__out_of_memory(hlo);
	name = first->inputs[0].name;
	memcpy(nodes + first->node_count, body.nodes, body.count * sizeof(*nodes));
	nodes[first->node_count + body.count - 1].name = name;
	first->nodes = nodes;
	first->node_count += body.count;
	first->inputs++;
	first->input_count--;
	return SP_OK;
}

static sp_status check_inputs(const sp_hlo *hlo)
{
	size_t inputs = 0;

	while (inputs < hlo->node->input_count && hlo->node->inputs[inputs][0] != '^')
		inputs++;
	if (inputs == hlo->made[0].input_count)
		return SP_OK;
	return sp_error_set(hlo->err, SP_INVALID, "the module takes %zu tensors, not %zu",
			    hlo->made[0].input_count, inputs);
}

static sp_status write_functions(sp_hlo *hlo)
{
	int64_t first = sp_hlo__find_function(hlo, sp_bytes_of("main"));

	if (first < 0)
		return sp_error_set(hlo->err, SP_CORRUPT, "the module has no function 'main'");
	/* "main" comes first. */
	for (size_t i = 0; i < hlo->function_count; i++) {
		size_t function = i == 0 ? (size_t)first : i <= (size_t)first ? i - 1 : i;
		size_t place = hlo->made_count;

		SP_TRY(grow_functions(hlo));
		hlo->made_count++;
		SP_TRY(write_function(hlo, &hlo->function_ops[function]->regions[0], NULL, 0,
				      hlo->function_names[function],
				      i == 0 ? SP_HLO_FIRST : SP_HLO_PLAIN, place));
	}
	return SP_OK;
}

static sp_status translate(sp_hlo *hlo)
{
	const sp_attr *module = sp_attr_find(hlo->node->attrs, hlo->node->attr_count, "module");
	const sp_mlir_region *body = &hlo->module.body;
	size_t platform = 0;
	bool has_platform = false;
	char missing[160] = "";

	if (module == NULL || module->kind != SP_ATTR_BYTES)
		return sp_error_set(hlo->err, SP_INVALID, "it has no module");
	SP_TRY(check_node(hlo, &platform, &has_platform));
	SP_TRY(sp_mlir_read(&hlo->module, module->bytes, hlo->scratch, hlo->err));
	if (body->op_count != 1 || strcmp(body->ops[0].name, "builtin.module") != 0 ||
	    body->ops[0].region_count != 1)
		return sp_error_set(hlo->err, SP_CORRUPT, "the bytecode does not hold one module");
	SP_TRY(make_tables(hlo));
	SP_TRY(index_functions(hlo, &body->ops[0].regions[0]));
	for (size_t i = 0; i < hlo->function_count; i++)
		list_missing(&hlo->function_ops[i]->regions[0], missing, sizeof(missing));
	if (missing[0] != '\0')
		return sp_error_set(hlo->err, SP_UNSUPPORTED, "not supported: %s", missing);
	SP_TRY(write_functions(hlo));
	if (has_platform)
		SP_TRY(fix_platform(hlo, platform));
	return check_inputs(hlo);
}

sp_status sp_stablehlo_translate(sp_translation *out, const sp_node_def *node, const char *prefix,
				 sp_arena *arena, sp_arena *scratch, sp_error *err)
{
	sp_hlo hlo = {.prefix = prefix,
		      .node = node,
		      .ops_left = MAX_NODES,
		      .arena = arena,
		      .scratch = scratch,
		      .err = err};

	SP_TRY(translate(&hlo));
	*out = (sp_translation){hlo.made, hlo.made_count};
	return SP_OK;
}
