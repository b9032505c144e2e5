#include "engine/stablehlo/ops/scalar_code.h"

#include <string.h>

#include "engine/ops/array/elements.h"
#include "engine/ops/math/binary.h"
#include "engine/ops/math/cast.h"
#include "engine/ops/math/select.h"
#include "engine/ops/math/unary.h"
#include "engine/ops/ops.h"

/*
 * The body is traversed from its results back to its arguments, and nodes become steps in
 * topological order.  Each value has a register: first the arguments, then constants and results of
 * steps in the order of traversal.
 */

enum {
	MOST_REGISTERS = 1024,
	MOST_NODES = 4096, /* in all calls together; names are compared linearly */
	MOST_DEPTH = 256,  /* of recursion into operands */
	MOST_OPERANDS = 3,
	ELEMENT_SIZE = 16, /* the widest element, in bytes */
};

typedef enum step_kind { STEP_UNARY, STEP_BINARY, STEP_SELECT, STEP_COPY } step_kind;

typedef struct step {
	step_kind kind;
	sp_unary_fn *unary;
	sp_binary_fn *binary;
	sp_select_fn *select;
	size_t size; /* STEP_COPY: element size */
	uint16_t in[MOST_OPERANDS];
	uint16_t in_count;
	uint16_t out;
	const sp_op *op;
} step;

struct sp_scalar_code {
	step *steps;
	size_t step_count;
	size_t argument_sizes[SP_SCALAR_ENDS];
	size_t argument_count;
	const void **constants; /* [register_count] SP_SCALAR_LANES copies of a constant, or NULL */
	size_t register_count;
	uint16_t results[SP_SCALAR_ENDS];
	size_t result_sizes[SP_SCALAR_ENDS];
	size_t result_count;
	bool is_direct; /* the last step writes the only result directly to its destination */
};

typedef struct value {
	uint16_t at; /* its register */
	sp_dtype dtype;
	const sp_tensor *constant; /* the tensor of a constant, possibly empty; else NULL */
} value;

/* One call of a function. */
typedef struct scope {
	const sp_function_def *function;
	const value *arguments;
	value **values; /* [nodes] their outputs, NULL until they are found */
	bool *open;     /* [nodes] being visited: detects cycles */
} scope;

typedef struct maker {
	const sp_prepare *prepare;
	const sp_graph_def *library;
	sp_scalar_code *code;
	int depth;
	size_t visited; /* nodes of all functions called so far */
	sp_error *err;
} maker;

static sp_status no_memory(const maker *m)
{
	return sp_error_set(m->err, SP_NO_MEMORY, "no memory for an operator");
}

static sp_status refuse(const maker *m, const scope *s, const sp_node_def *node, const char *why)
{
	return sp_error_set(m->err, SP_UNSUPPORTED, "function '%s': node '%s' (%s) %s",
			    s->function->name, node->name, node->op, why);
}

static sp_status corrupt(const maker *m, const scope *s, const char *ref)
{
	return sp_error_set(m->err, SP_INVALID, "function '%s': '%s' is not a reference to a value",
			    s->function->name, ref);
}

/* ------------------------------------------------------------ the names */

static const sp_function_def *find_function(const maker *m, const char *name)
{
	for (size_t i = 0; m->library != NULL && i < m->library->function_count; i++)
		if (strcmp(m->library->functions[i].name, name) == 0)
			return &m->library->functions[i];
	return NULL;
}

static bool is_one_of(const char *op, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

#define IS_ONE_OF(op, list) is_one_of(op, list, sizeof(list) / sizeof(list[0]))

/* Operators that forward their first operand; a second one may be a shape. */
static const char *const same[] = {
	"Identity",    "StopGradient", "PreventGradient", "Snapshot", "XlaSharding",
	"BroadcastTo", "Reshape",      "EnsureShape",     "Squeeze",  "ExpandDims",
};

/* Operators that forward all of their operands. */
static const char *const same_all[] = {"IdentityN", "XlaOptimizationBarrier"};

static const char *const calls[] = {"PartitionedCall", "StatefulPartitionedCall"};

/* The function that a node calls; NULL if it is no call. */
static const sp_function_def *called(const maker *m, const sp_node_def *node)
{
	const sp_attr *f = sp_attr_find(node->attrs, node->attr_count, "f");

	if (!IS_ONE_OF(node->op, calls))
		return find_function(m, node->op);
	return f != NULL && f->kind == SP_ATTR_FUNC ? find_function(m, f->text) : NULL;
}

/* ------------------------------------------------------------- registers */

static sp_status add_register(maker *m, uint16_t *out)
{
	if (m->code->register_count == MOST_REGISTERS)
		return sp_error_set(m->err, SP_UNSUPPORTED,
				    "a function of scalars has more than %d steps", MOST_REGISTERS);
	*out = (uint16_t)m->code->register_count++;
	return SP_OK;
}

static bool is_supported(sp_dtype dtype)
{
	return sp_dtype_size(dtype) != 0 && dtype != SP_STRING && dtype != SP_RESOURCE;
}

/* A constant of one element. */
static sp_status add_filled(maker *m, sp_dtype dtype, const void *element, value *out)
{
	size_t size = sp_dtype_size(dtype);
	void *elements = sp_arena_array(m->prepare->arena, SP_SCALAR_LANES, size);

	if (elements == NULL)
		return no_memory(m);
	sp_elements__fill(elements, SP_SCALAR_LANES, element, size);
	out->dtype = dtype;
	SP_TRY(add_register(m, &out->at));
	m->code->constants[out->at] = elements;
	return SP_OK;
}

static sp_status add_constant(maker *m, const scope *s, const sp_node_def *node, value *out)
{
	const sp_attr *attr = sp_attr_find(node->attrs, node->attr_count, "value");
	const sp_tensor *t = attr != NULL && attr->kind == SP_ATTR_TENSOR ? attr->tensor : NULL;

	if (t == NULL)
		return refuse(m, s, node, "has no value");
	*out = (value){.dtype = t->dtype, .constant = t};
	if (!is_supported(t->dtype))
		return refuse(m, s, node, "has an unsupported type");
	if (t->count != 1)
		return SP_OK; /* a vector may be a shape */
	return add_filled(m, t->dtype, t->data, out);
}

static bool is_scalar(const value *v)
{
	return v->constant == NULL || v->constant->count == 1;
}

/* Whether a value is a shape of one element. */
static bool is_shape_of_one(const value *v)
{
	const sp_tensor *t = v->constant;

	if (t == NULL || (t->dtype != SP_INT32 && t->dtype != SP_INT64))
		return false;
	for (size_t i = 0; i < t->count; i++)
		if (sp_tensor_index(t, i) != 1 && sp_tensor_index(t, i) != -1)
			return false;
	return true;
}

/* ----------------------------------------------------------------- steps */

static sp_status add_step(maker *m, step *s, const value *in, size_t count, value *out)
{
	for (size_t i = 0; i < count; i++)
		s->in[i] = in[i].at;
	s->in_count = (uint16_t)count;
	SP_TRY(add_register(m, &s->out));
	out->at = s->out;
	m->code->steps[m->code->step_count++] = *s;
	return SP_OK;
}

static sp_status add_conversion(maker *m, const scope *s, const sp_node_def *node, const value *in,
				value *out)
{
	bool cast = strcmp(node->op, "Cast") == 0;
	const sp_attr *to = sp_attr_find(node->attrs, node->attr_count, cast ? "DstT" : "type");
	step conversion = {.kind = STEP_UNARY};

	if (to == NULL || to->kind != SP_ATTR_TYPE)
		return refuse(m, s, node, "has no type");
	*out = (value){.at = in->at, .dtype = to->type};
	if (in->dtype == to->type)
		return SP_OK;
	if (!cast)
		return sp_dtype_size(in->dtype) == sp_dtype_size(to->type)
			       ? SP_OK
			       : refuse(m, s, node, "changes the element size");
	conversion.unary = sp_cast__find(in->dtype, to->type);
	if (conversion.unary == NULL)
		return refuse(m, s, node, "is an unsupported conversion");
	return add_step(m, &conversion, in, 1, out);
}

static sp_status add_select(maker *m, const scope *s, const sp_node_def *node, const value *in,
			    value *out)
{
	step select = {.kind = STEP_SELECT, .select = sp_select__find(sp_dtype_size(in[1].dtype))};

	if (in[0].dtype != SP_BOOL || in[1].dtype != in[2].dtype || select.select == NULL)
		return refuse(m, s, node, "has operands of incompatible types");
	*out = (value){.dtype = in[1].dtype};
	return add_step(m, &select, in, 3, out);
}

/* Adds an elementwise operator; its prepared state has the kernel. */
static sp_status add_operator(maker *m, const scope *s, const sp_node_def *node, const value *in,
			      size_t count, value *out)
{
	const sp_op *op = sp_op_find(node->op);
	bool unary = op != NULL && op->run == sp_unary__run;
	bool binary = op != NULL && (op->run == sp_binary__run || op == &sp_op_Add ||
				     op == &sp_op_Equal || op == &sp_op_NotEqual);
	const sp_tensor *values[MOST_OPERANDS] = {NULL};
	sp_dtype dtypes[MOST_OPERANDS];
	sp_node named = {.name = node->name,
			 .op_name = node->op,
			 .op = op,
			 .attrs = node->attrs,
			 .attr_count = node->attr_count};
	sp_prepare prepare = {.node = &named,
			      .in_dtypes = dtypes,
			      .in_values = values,
			      .in_count = count,
			      .arena = m->prepare->arena};
	step operation = {.op = op};

	if (!unary && !binary)
		return refuse(m, s, node, "is not an operator on scalars that is supported");
	for (size_t i = 0; i < count; i++)
		dtypes[i] = in[i].dtype;
	SP_TRY(op->prepare(&prepare, m->err));
	if (unary) {
		operation.kind = STEP_UNARY;
		operation.unary = ((const sp_unary_state *)prepare.state)->kernel;
	} else {
		const sp_binary_state *state = prepare.state;

		if (state == NULL || state->binary->complaint != NULL)
			return refuse(m, s, node, "fails for some operands");
		operation.kind = STEP_BINARY;
		operation.binary = state->kernel;
	}
	*out = (value){.dtype = prepare.out_dtypes[0]};
	return add_step(m, &operation, in, count, out);
}

/* -------------------------------------------------------------- the walk */

static sp_status find_value(maker *m, scope *s, const char *ref, value *out);
static sp_status make_call(maker *m, const sp_function_def *function, const value *arguments,
			   size_t count, value *results);

static size_t data_inputs(const sp_node_def *node)
{
	size_t n = 0;

	while (n < node->input_count && node->inputs[n][0] != '^')
		n++;
	return n;
}

static sp_status make_ordinary(maker *m, scope *s, const sp_node_def *node, const value *in,
			       size_t count, value *out)
{
	bool keeps = IS_ONE_OF(node->op, same);

	for (size_t i = 0; i < count; i++)
		if (!is_scalar(&in[i]) && !(keeps && i == 1))
			return refuse(m, s, node, "has an operand that is not a scalar");
	if (keeps) {
		if (count == 0 || count > 2 ||
		    (count == 2 && strcmp(node->op, "ExpandDims") != 0 && !is_shape_of_one(&in[1])))
			return refuse(m, s, node, "does not keep a scalar as it is");
		*out = in[0];
		return SP_OK;
	}
	if ((strcmp(node->op, "Cast") == 0 || strcmp(node->op, "Bitcast") == 0) && count == 1)
		return add_conversion(m, s, node, in, out);
	if ((strcmp(node->op, "Select") == 0 || strcmp(node->op, "SelectV2") == 0) && count == 3)
		return add_select(m, s, node, in, out);
	if (strcmp(node->op, "ZerosLike") == 0 && count == 1)
		return add_filled(m, in[0].dtype, (const char[ELEMENT_SIZE]){0}, out);
	if (count == 0 || count > MOST_OPERANDS)
		return refuse(m, s, node, "is not an operator on scalars that is supported");
	return add_operator(m, s, node, in, count, out);
}

static sp_status make_node(maker *m, scope *s, size_t number)
{
	const sp_node_def *node = &s->function->nodes[number];
	const sp_function_def *function = called(m, node);
	size_t count = data_inputs(node), outputs = 1;
	value in[SP_SCALAR_ENDS], *out;

	if (count > SP_SCALAR_ENDS)
		return refuse(m, s, node, "has too many operands");
	if (function != NULL)
		outputs = function->output_count;
	else if (IS_ONE_OF(node->op, same_all))
		outputs = count;
	out = sp_arena_zeros(m->prepare->arena, outputs + 1, sizeof(*out));
	if (out == NULL)
		return no_memory(m);
	for (size_t i = 0; i < count; i++)
		SP_TRY(find_value(m, s, node->inputs[i], &in[i]));
	if (function != NULL)
		SP_TRY(make_call(m, function, in, count, out));
	else if (IS_ONE_OF(node->op, same_all))
		memcpy(out, in, count * sizeof(*in));
	else if (strcmp(node->op, "Const") == 0)
		SP_TRY(add_constant(m, s, node, out));
	else
		SP_TRY(make_ordinary(m, s, node, in, count, out));
	s->values[number] = out;
	return SP_OK;
}

static size_t output_count(const maker *m, const sp_node_def *node)
{
	const sp_function_def *function = called(m, node);

	if (function != NULL)
		return function->output_count;
	return IS_ONE_OF(node->op, same_all) ? data_inputs(node) : 1;
}

/* The output number of "node:name:3"; for a call, `name` is an output of the function. */
static size_t output_number(const maker *m, const sp_node_def *node, const char *colon)
{
	const sp_function_def *function = find_function(m, node->op);
	const char *second = strrchr(colon, ':');
	size_t number = 0;

	for (size_t i = 0; function != NULL && i < function->output_count; i++)
		if (strlen(function->outputs[i].name) == (size_t)(second - colon - 1) &&
		    strncmp(function->outputs[i].name, colon + 1, (size_t)(second - colon - 1)) ==
			    0)
			return i;
	if (second[1] == '\0')
		return SIZE_MAX;
	for (const char *at = second + 1; *at != '\0'; at++) {
		if (*at < '0' || *at > '9' || number > UINT16_MAX)
			return SIZE_MAX;
		number = 10 * number + (size_t)(*at - '0');
	}
	return number;
}

static sp_status find_output(maker *m, scope *s, size_t number, const char *colon, const char *ref,
			     value *out)
{
	const sp_node_def *node = &s->function->nodes[number];
	size_t output = colon != NULL ? output_number(m, node, colon) : 0;

	if (output >= output_count(m, node))
		return corrupt(m, s, ref);
	if (s->values[number] == NULL) {
		if (s->open[number] || m->depth == MOST_DEPTH)
			return refuse(m, s, node, "is part of a cycle or nested too deeply");
		s->open[number] = true;
		m->depth++;
		SP_TRY(make_node(m, s, number));
		m->depth--;
		s->open[number] = false;
	}
	*out = s->values[number][output];
	return SP_OK;
}

static sp_status find_value(maker *m, scope *s, const char *ref, value *out)
{
	const sp_function_def *f = s->function;
	const char *colon = strchr(ref, ':');
	size_t size = colon != NULL ? (size_t)(colon - ref) : strlen(ref);

	for (size_t i = 0; i < f->input_count; i++)
		if (strncmp(f->inputs[i].name, ref, size) == 0 && f->inputs[i].name[size] == '\0') {
			*out = s->arguments[i];
			return SP_OK;
		}
	for (size_t i = 0; i < f->node_count; i++)
		if (strncmp(f->nodes[i].name, ref, size) == 0 && f->nodes[i].name[size] == '\0')
			return find_output(m, s, i, colon, ref, out);
	return corrupt(m, s, ref);
}

static sp_status make_call(maker *m, const sp_function_def *function, const value *arguments,
			   size_t count, value *results)
{
	scope s = {.function = function, .arguments = arguments};

	if (function->input_count != count)
		return sp_error_set(m->err, SP_INVALID, "function '%s' takes %zu values, not %zu",
				    function->name, function->input_count, count);
	m->visited += function->node_count < MOST_NODES ? function->node_count + 1 : MOST_NODES;
	if (m->visited > MOST_NODES || m->depth == MOST_DEPTH)
		return sp_error_set(m->err, SP_UNSUPPORTED, "function '%s' has too many nodes",
				    function->name);
	s.values = sp_arena_zeros(m->prepare->arena, function->node_count, sizeof(*s.values));
	s.open = sp_arena_zeros(m->prepare->arena, function->node_count, sizeof(*s.open));
	if (s.values == NULL || s.open == NULL)
		return no_memory(m);
	m->depth++;
	for (size_t i = 0; i < function->output_count; i++)
		SP_TRY(find_value(m, &s, function->returns[i].ref, &results[i]));
	m->depth--;
	return SP_OK;
}

/* ---------------------------------------------------------------- making */

/*
 * A result that is an argument is copied, because an earlier result may be written over that
 * argument.
 */
static sp_status keep_argument(maker *m, const sp_scalar_types *types, value result, size_t i)
{
	step copy = {.kind = STEP_COPY, .size = m->code->result_sizes[i]};

	if (i != 0 && result.at < types->argument_count)
		SP_TRY(add_step(m, &copy, &(value){.at = result.at}, 1, &result));
	m->code->results[i] = result.at;
	return SP_OK;
}

static sp_status check_results(maker *m, const sp_function_def *function, const value *results,
			       const sp_scalar_types *types)
{
	sp_scalar_code *code = m->code;

	for (size_t i = 0; i < types->result_count; i++) {
		if (!is_scalar(&results[i]) || results[i].dtype != types->results[i])
			return sp_error_set(m->err, SP_INVALID,
					    "function '%s' returns %s as value %zu, not a scalar "
					    "of %s",
					    function->name, sp_dtype_name(results[i].dtype), i,
					    sp_dtype_name(types->results[i]));
		code->result_sizes[i] = sp_dtype_size(types->results[i]);
		SP_TRY(keep_argument(m, types, results[i], i));
	}
	code->is_direct = types->result_count == 1 && code->step_count != 0 &&
			  code->steps[code->step_count - 1].out == code->results[0];
	return SP_OK;
}

static sp_status make_arguments(maker *m, const sp_scalar_types *types, value *arguments)
{
	for (size_t i = 0; i < types->argument_count; i++) {
		if (!is_supported(types->arguments[i]))
			return sp_prepare_unsupported(m->prepare, types->arguments[i], m->err);
		arguments[i] = (value){.dtype = types->arguments[i]};
		m->code->argument_sizes[i] = sp_dtype_size(types->arguments[i]);
		SP_TRY(add_register(m, &arguments[i].at));
	}
	return SP_OK;
}

sp_status sp_scalar_code__make(const sp_scalar_code **out, const sp_prepare *prepare,
			       const char *name, const sp_scalar_types *types, sp_error *err)
{
	const sp_attr *attr = sp_node_attr(prepare->node, name);
	sp_scalar_code *code = sp_arena_zeros(prepare->arena, 1, sizeof(*code));
	maker m = {.prepare = prepare, .library = prepare->node->library, .code = code, .err = err};
	const sp_function_def *function;
	value arguments[SP_SCALAR_ENDS], results[SP_SCALAR_ENDS];

	function = attr != NULL && attr->kind == SP_ATTR_FUNC ? find_function(&m, attr->text)
							      : NULL;
	if (function == NULL)
		return sp_error_set(err, SP_INVALID, "attribute '%s' names no function", name);
	if (types->argument_count > SP_SCALAR_ENDS || types->result_count > SP_SCALAR_ENDS)
		return sp_error_set(err, SP_UNSUPPORTED, "function '%s' takes %zu values",
				    function->name, types->argument_count);
	if (function->output_count != types->result_count)
		return sp_error_set(err, SP_INVALID, "function '%s' returns %zu values, not %zu",
				    function->name, function->output_count, types->result_count);
	if (code == NULL)
		return no_memory(&m);
	code->steps = sp_arena_zeros(prepare->arena, MOST_REGISTERS, sizeof(*code->steps));
	code->constants = sp_arena_zeros(prepare->arena, MOST_REGISTERS, sizeof(*code->constants));
	if (code->steps == NULL || code->constants == NULL)
		return no_memory(&m);
	code->argument_count = types->argument_count;
	code->result_count = types->result_count;
	SP_TRY(make_arguments(&m, types, arguments));
	SP_TRY(make_call(&m, function, arguments, types->argument_count, results));
	SP_TRY(check_results(&m, function, results, types));
	*out = code;
	return SP_OK;
}

bool sp_scalar_code__is_argument(const sp_scalar_code *code, size_t i)
{
	return code->results[0] == i && i < code->argument_count;
}

bool sp_scalar_code__reads(const sp_scalar_code *code, size_t i)
{
	for (size_t k = 0; k < code->step_count; k++)
		for (size_t o = 0; o < code->steps[k].in_count; o++)
			if (code->steps[k].in[o] == i)
				return true;
	for (size_t k = 0; k < code->result_count; k++)
		if (code->results[k] == i)
			return true;
	return false;
}

bool sp_scalar_code__is_associative(const sp_scalar_code *code)
{
	static const sp_op *const ops[] = {&sp_op_Add,       &sp_op_AddV2,      &sp_op_Mul,
					   &sp_op_Maximum,   &sp_op_Minimum,    &sp_op_LogicalOr,
					   &sp_op_BitwiseOr, &sp_op_LogicalAnd, &sp_op_BitwiseAnd,
					   &sp_op_BitwiseXor};
	const step *s = code->steps;

	if (!code->is_direct || code->step_count != 1 || code->argument_count != 2 ||
	    s->in[0] + s->in[1] != 1)
		return false;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (s->op == ops[i])
			return true;
	return false;
}

/* --------------------------------------------------------------- running */

sp_status sp_scalar_run__start(sp_scalar_run *run, const sp_call *call, const sp_scalar_code *code)
{
	char *elements = sp_call_bytes(call, code->step_count * SP_SCALAR_LANES, ELEMENT_SIZE);

	run->code = code;
	run->registers = sp_call_bytes(call, code->register_count, sizeof(*run->registers));
	if (elements == NULL || run->registers == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < code->register_count; i++)
		run->registers[i] = (void *)code->constants[i];
	for (size_t i = 0; i < code->step_count; i++)
		run->registers[code->steps[i].out] = elements + i * SP_SCALAR_LANES * ELEMENT_SIZE;
	return SP_OK;
}

static void run_step(const step *s, void *const *registers, void *out, size_t count)
{
	static const size_t steps[] = {1, 1, 1};

	switch (s->kind) {
	case STEP_UNARY:
		s->unary(registers[s->in[0]], out, count);
		break;
	case STEP_BINARY:
		s->binary(&(sp_binary_run){.left = registers[s->in[0]],
					   .right = registers[s->in[1]],
					   .out = out,
					   .count = count,
					   .left_step = 1,
					   .right_step = 1});
		break;
	case STEP_SELECT:
		s->select(&(sp_select_run){.condition = registers[s->in[0]],
					   .yes = registers[s->in[1]],
					   .no = registers[s->in[2]],
					   .out = out,
					   .count = count,
					   .step = steps});
		break;
	case STEP_COPY:
		memcpy(out, registers[s->in[0]], count * s->size);
		break;
	}
}

/* At most SP_SCALAR_LANES elements, from the arguments in the registers. */
static void run_block(const sp_scalar_run *run, void *const *results, size_t count)
{
	const sp_scalar_code *code = run->code;
	size_t steps = code->step_count - code->is_direct;

	for (size_t i = 0; i < steps; i++)
		run_step(&code->steps[i], run->registers, run->registers[code->steps[i].out],
			 count);
	if (code->is_direct) {
		run_step(&code->steps[steps], run->registers, results[0], count);
		return;
	}
	for (size_t i = 0; i < code->result_count; i++)
		memmove(results[i], run->registers[code->results[i]],
			count * code->result_sizes[i]);
}

void sp_scalar_run__apply(const sp_scalar_run *run, const void *const *arguments,
			  void *const *results, size_t count)
{
	const sp_scalar_code *code = run->code;
	void *to[SP_SCALAR_ENDS];

	for (size_t from = 0, n; from < count; from += n) {
		n = count - from < SP_SCALAR_LANES ? count - from : SP_SCALAR_LANES;
		for (size_t i = 0; i < code->argument_count; i++)
			run->registers[i] = (char *)arguments[i] + from * code->argument_sizes[i];
		for (size_t i = 0; i < code->result_count; i++)
			to[i] = (char *)results[i] + from * code->result_sizes[i];
		run_block(run, to, n);
	}
}
