#include "engine/ops/control/control.h"

#include "engine/graph/op.h"

/*
 * Nodes that own regions. The types are checked here; the session runs them
 * (engine/runtime/control.c).
 */

static sp_status wrong_count(const sp_prepare *prepare, sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "%s has %zu inputs for %u regions",
			    prepare->node->op_name, prepare->in_count, prepare->node->region_count);
}

static sp_control_layout *new_layout(sp_prepare *prepare, sp_control_kind kind)
{
	sp_control_layout *layout = sp_prepare_state(prepare, sizeof(*layout));

	if (layout != NULL)
		layout->kind = kind;
	return layout;
}

static sp_status no_memory(const sp_prepare *prepare, sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", prepare->node->op_name);
}

/* TensorFlow lowers such a node to Switch, which needs a scalar condition. */
static sp_status read_scalar_only(sp_prepare *prepare, sp_dtype dtype, sp_error *err)
{
	sp_control_layout *layout = prepare->state;
	bool is_switch;

	SP_TRY(sp_node_attr_bool(prepare->node, "_lower_using_switch_merge", false, &is_switch,
				 err));
	layout->scalar_only = is_switch && dtype == SP_BOOL;
	return SP_OK;
}

/* States `count` outputs with the types of the inputs from `first` on. */
static sp_status state_outputs(sp_prepare *prepare, size_t first, size_t count, sp_error *err)
{
	SP_TRY(sp_prepare_outputs(prepare, count, SP_INVALID_DTYPE, err));
	for (size_t i = 0; i < count; i++)
		prepare->out_dtypes[i] = prepare->in_dtypes[first + i];
	return SP_OK;
}

/*
 * Checks that the inputs from `a` and from `b` on have the same types; `what` names them in the
 * error.
 */
static sp_status same_types(const sp_prepare *prepare, size_t a, size_t b, size_t count,
			    const char *what, sp_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (prepare->in_dtypes[a + i] != prepare->in_dtypes[b + i])
			return sp_error_set(err, SP_INVALID, "%s %zu is %s, then %s", what, i,
					    sp_dtype_name(prepare->in_dtypes[a + i]),
					    sp_dtype_name(prepare->in_dtypes[b + i]));
	return SP_OK;
}

/* ------------------------------------------------------------ conditions */

static sp_status prepare_branches(sp_prepare *prepare, sp_control_kind kind, sp_error *err)
{
	sp_control_layout *layout = new_layout(prepare, kind);
	uint32_t regions = prepare->node->region_count;
	size_t returns, each;

	if (layout == NULL)
		return no_memory(prepare, err);
	if (regions == 0 || prepare->in_count == 0 || (prepare->in_count - 1) % regions != 0)
		return wrong_count(prepare, err);
	returns = prepare->in_count - 1;
	each = returns / regions;
	layout->return_count = (uint32_t)returns;
	for (uint32_t r = 1; r < regions; r++)
		SP_TRY(same_types(prepare, 1, 1 + r * each, each, "the branches' result", err));
	return state_outputs(prepare, 1, each, err);
}

static sp_status check_selector(const sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype = prepare->in_dtypes[0];

	if (dtype == SP_BOOL || dtype == SP_STRING || dtype == SP_FLOAT || dtype == SP_DOUBLE ||
	    dtype == SP_INT8 || dtype == SP_INT16 || dtype == SP_INT32 || dtype == SP_INT64 ||
	    dtype == SP_UINT8)
		return SP_OK;
	return sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status prepare_if(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_branches(prepare, SP_CONTROL_IF, err));
	SP_TRY(read_scalar_only(prepare, prepare->in_dtypes[0], err));
	return check_selector(prepare, err);
}

static sp_status prepare_case(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_branches(prepare, SP_CONTROL_CASE, err));
	return sp_prepare_input_dtype(prepare, 0, SP_INT32, err);
}

/* ----------------------------------------------------------------- loops */

static sp_status prepare_while(sp_prepare *prepare, sp_error *err)
{
	sp_control_layout *layout = new_layout(prepare, SP_CONTROL_WHILE);
	size_t n = prepare->in_count / 2;
	sp_dtype go_on;

	if (layout == NULL)
		return no_memory(prepare, err);
	if (prepare->node->region_count != 2 || prepare->in_count != 2 * n + 1)
		return wrong_count(prepare, err);
	layout->argument_count = (uint32_t)n;
	layout->return_count = (uint32_t)n + 1;
	go_on = prepare->in_dtypes[n];
	if (go_on == SP_RESOURCE || go_on == SP_VARIANT)
		return sp_prepare_unsupported(prepare, go_on, err);
	SP_TRY(read_scalar_only(prepare, go_on, err));
	SP_TRY(same_types(prepare, 0, n + 1, n, "variable", err));
	return state_outputs(prepare, 0, n, err);
}

#define CONTROL(op, prepare_op)                                               \
	const sp_op sp_op_##op = {.name = #op,                                \
				  .outputs = "output",                        \
				  .flags = SP_OP_CONTROL | SP_OP_PER_REQUEST, \
				  .prepare = prepare_op}

CONTROL(Case, prepare_case);
CONTROL(If, prepare_if);
CONTROL(StatelessCase, prepare_case);
CONTROL(StatelessIf, prepare_if);
CONTROL(StatelessWhile, prepare_while);
CONTROL(While, prepare_while);
CONTROL(XlaIf, prepare_if);
CONTROL(XlaWhile, prepare_while);

SP_DEFINE_TYPED_OP(LoopVariable, NULL, SP_OP_ARGUMENT | SP_OP_PER_REQUEST, "T -> T", NULL);
