#include "base/clock.h"
#include "engine/runtime/session_internal.h"
#include "engine/tensor/tensor_list.h"

/*
 * Conditions and loops.  What a region returns is handed on by reference; what
 * else it holds at its end is given back, so that a loop's next round finds the
 * blocks of the last one.
 */

static sp_status fail(const sp_running *run, const sp_step *step, const char *what)
{
	return sp_error_set(run->call.err, SP_INVALID, "node '%s' (%s): %s", step->node->name,
			    step->node->op_name, what);
}

static const sp_tensor *returned(const sp_running *run, const sp_control *control, size_t i)
{
	return run->lane->in[control->first_return + i];
}

static sp_tensor *variable(const sp_running *run, const sp_control *control, size_t i)
{
	return run->lane->out[control->first_argument + i];
}

/* `out` becomes one more reference to the value. */
static sp_status share(const sp_running *run, const sp_step *step, sp_tensor *out,
		       const sp_tensor *value)
{
	if (!sp_tensor_is_set(value))
		return fail(run, step, "a value hangs on a branch that was not taken");
	*out = *value;
	sp_tensor_retain(out);
	return SP_OK;
}

/* `out` takes the value over; `from` has none any more. */
static void move(sp_tensor *out, sp_tensor *from)
{
	*out = *from;
	from->dtype = SP_INVALID_DTYPE;
	from->block = NULL;
}

static void end_region(const sp_running *run, uint32_t region)
{
	const sp_plan *plan = run->lane->plan;
	const sp_plan_region *r = &plan->regions[region];

	for (uint32_t i = 0; i < r->release_count; i++)
		sp_workspace_release(run->workspace,
				     &run->lane->slots[plan->releases[r->first_release + i]]);
}

static bool number_is_set(const sp_tensor *t)
{
	const unsigned char *bytes = t->data;

	switch (t->dtype) {
	case SP_FLOAT:
		return *(const float *)t->data != 0;
	case SP_DOUBLE:
		return *(const double *)t->data != 0;
	case SP_STRING:
		return ((const sp_bytes *)t->data)->size != 0;
	default:
		for (size_t i = 0; i < sp_dtype_size(t->dtype); i++)
			if (bytes[i] != 0)
				return true;
		return false;
	}
}

/* A scalar is true unless it is 0 or an empty text; any other tensor unless it is empty. */
static sp_status truth_of(const sp_running *run, const sp_step *step, const sp_tensor *t, bool *out)
{
	*out = t->shape.rank == 0 ? number_is_set(t) : t->count != 0;
	if (t->shape.rank != 0 && step->control->scalar_only)
		return fail(run, step, "what decides must be a scalar");
	return SP_OK;
}

/* ------------------------------------------------------------ conditions */

static sp_status choose_branch(const sp_running *run, const sp_step *step,
			       const sp_tensor *selector, uint32_t *branch)
{
	uint32_t last = step->control->region_count - 1;
	bool is_true;
	int32_t i;

	if (step->control->kind == SP_CONTROL_IF) {
		SP_TRY(truth_of(run, step, selector, &is_true));
		*branch = is_true ? 0 : 1;
		return SP_OK;
	}
	if (selector->shape.rank != 0)
		return fail(run, step, "branch_index must be scalar");
	i = *sp_tensor_i32(selector);
	*branch = i < 0 || (uint32_t)i > last ? last : (uint32_t)i;
	return SP_OK;
}

static sp_status run_condition(sp_running *run, const sp_step *step)
{
	const sp_control *control = step->control;
	sp_tensor **out = run->lane->out + step->first_out;
	uint32_t branch = 0;

	SP_TRY(choose_branch(run, step, run->lane->in[step->first_in], &branch));
	SP_TRY(sp_session__run_region(run, control->first_region + branch));
	for (uint32_t i = 0; i < step->out_count; i++)
		SP_TRY(share(run, step, out[i],
			     returned(run, control, branch * step->out_count + i)));
	end_region(run, control->first_region + branch);
	return SP_OK;
}

/* ----------------------------------------------------------------- loops */

/* The variables take over what their first values' last reader would be the loop. */
static sp_status begin_loop(const sp_running *run, const sp_step *step)
{
	const sp_control *control = step->control;

	for (uint32_t i = 0; i < control->argument_count; i++) {
		uint32_t k = control->plain_count + i;
		const sp_tensor *first = run->lane->in[step->first_in + k];

		if (k < 64 && (step->in_dies >> k & 1) != 0)
			move(variable(run, control, i), (sp_tensor *)first);
		else
			SP_TRY(share(run, step, variable(run, control, i), first));
	}
	return SP_OK;
}

/* A list of texts, or one whose elements nobody has asked. */
static bool may_hold_text(const sp_tensor *t)
{
	if (t->dtype != SP_VARIANT)
		return t->dtype == SP_STRING;
	return t->shape.rank != 0 || sp_tensor_list(t)->dtype == SP_STRING ||
	       sp_tensor_list(t)->dtype == SP_VARIANT;
}

/* Texts are not counted one by one: what a round allocates can go unless a variable keeps some. */
static bool keeps_text(const sp_running *run, const sp_control *control)
{
	for (uint32_t i = 0; i < control->argument_count; i++)
		if (may_hold_text(variable(run, control, i)))
			return true;
	return false;
}

/* What the rounds of a loop have in common. */
typedef struct loop {
	sp_workspace_mark mark; /* what they allocate is behind it */
	int64_t ends_ns;        /* when they must have ended; 0: the request's time counts */
} loop;

static loop loop_here(const sp_running *run)
{
	return (loop){.mark = sp_workspace_here(run->workspace),
		      .ends_ns = run->loop_ns != 0 ? sp_clock_now_ns() + run->loop_ns : 0};
}

/*
 * Between two rounds: the variables change all at once, as they may swap.  The
 * outputs, which have no value yet, hold what comes next.
 */
static sp_status next_round(sp_running *run, const sp_step *step, uint32_t first_variable,
			    uint32_t first_returned, const loop *l)
{
	const sp_control *control = step->control;
	sp_tensor **next = run->lane->out + step->first_out;

	for (uint32_t i = 0; i < step->out_count; i++)
		SP_TRY(share(run, step, next[i], returned(run, control, first_returned + i)));
	end_region(run, control->first_region + 1);
	end_region(run, control->first_region);
	for (uint32_t i = 0; i < step->out_count; i++)
		move(variable(run, control, first_variable + i), next[i]);
	if (!keeps_text(run, control))
		sp_workspace_rewind(run->workspace, &l->mark);
	if (l->ends_ns != 0 && sp_clock_now_ns() >= l->ends_ns)
		return fail(run, step, "the loop does not end");
	return sp_session__check_time(run);
}

static void end_loop(const sp_running *run, const sp_step *step, uint32_t first_variable)
{
	sp_tensor **out = run->lane->out + step->first_out;

	for (uint32_t i = 0; i < step->out_count; i++)
		move(out[i], variable(run, step->control, first_variable + i));
}

static sp_status run_while(sp_running *run, const sp_step *step)
{
	const sp_control *control = step->control;
	loop l = loop_here(run);
	const sp_tensor *go_on = returned(run, control, 0);
	bool is_true;

	SP_TRY(begin_loop(run, step));
	for (;;) {
		SP_TRY(sp_session__run_region(run, control->first_region));
		if (!sp_tensor_is_set(go_on))
			return fail(run, step,
				    "its condition hangs on a branch that was not taken");
		SP_TRY(truth_of(run, step, go_on, &is_true));
		if (!is_true)
			break;
		SP_TRY(sp_session__run_region(run, control->first_region + 1));
		SP_TRY(next_round(run, step, 0, 1, &l));
	}
	end_region(run, control->first_region);
	end_loop(run, step, 0);
	return SP_OK;
}

/* for (i = start; delta > 0 ? i < limit : i > limit; i += delta) */
static sp_status run_for(sp_running *run, const sp_step *step)
{
	const sp_control *control = step->control;
	const sp_tensor *const *in = run->lane->in + step->first_in;
	loop l = loop_here(run);
	sp_shape scalar = sp_shape_scalar();
	int64_t i, limit, delta;

	for (int k = 0; k < 3; k++)
		if (in[k]->shape.rank != 0)
			return fail(run, step, "start, limit and delta must be scalars");
	limit = *sp_tensor_i32(in[0]);
	delta = *sp_tensor_i32(in[1]);
	i = *sp_tensor_i32(in[2]);
	if ((i < limit && delta <= 0) || (i > limit && delta >= 0))
		return fail(run, step, "delta does not lead from start to limit");
	SP_TRY(begin_loop(run, step));
	for (; delta > 0 ? i < limit : i > limit; i += delta) {
		sp_tensor *counter = variable(run, control, 0);

		sp_workspace_release(run->workspace, counter);
		SP_TRY(sp_workspace_tensor(run->workspace, counter, SP_INT32, &scalar,
					   run->call.err));
		*sp_tensor_i32(counter) = (int32_t)i;
		SP_TRY(sp_session__run_region(run, control->first_region + 1));
		SP_TRY(next_round(run, step, 1, 0, &l));
	}
	sp_workspace_release(run->workspace, variable(run, control, 0));
	end_loop(run, step, 1);
	return SP_OK;
}

sp_status sp_session__run_control(sp_running *run, const sp_step *step)
{
	switch (step->control->kind) {
	case SP_CONTROL_IF:
	case SP_CONTROL_CASE:
		return run_condition(run, step);
	case SP_CONTROL_WHILE:
		return run_while(run, step);
	case SP_CONTROL_FOR:
		return run_for(run, step);
	}
	return SP_OK;
}
