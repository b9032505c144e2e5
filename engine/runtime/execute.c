#include "engine/runtime/execute.h"

#include "base/clock.h"
#include "engine/tensor/tensor_list.h"

/*
 * The interpreter: the steps of a region in order, and the conditions and loops that run regions.
 *
 * What a region returns is passed on by reference.  All other values that it still holds at its end
 * are released, so that the next round of a loop reuses their blocks.
 */

static sp_status run_region(sp_execution *ex, uint32_t region);

static sp_status check_time(const sp_execution *ex)
{
	if (ex->stop != NULL && atomic_load_explicit(ex->stop, memory_order_relaxed))
		return sp_error_set(ex->call.err, SP_CANCELLED, "the request was cancelled");
	if (ex->deadline_ns == 0 || sp_clock_now_ns() < ex->deadline_ns)
		return SP_OK;
	return sp_error_set(ex->call.err, SP_DEADLINE, "the deadline of the request has passed");
}

static sp_status fail(const sp_execution *ex, const sp_step *step, const char *what)
{
	return sp_error_set(ex->call.err, SP_INVALID, "node '%s' (%s): %s", step->node->name,
			    step->node->op_name, what);
}

static const sp_tensor *returned(const sp_execution *ex, const sp_control *control, size_t i)
{
	return ex->frame->in[control->first_return + i];
}

static sp_tensor *variable(const sp_execution *ex, const sp_control *control, size_t i)
{
	return ex->frame->out[control->first_argument + i];
}

/* Makes `out` one more reference to the value. */
static sp_status share(const sp_execution *ex, const sp_step *step, sp_tensor *out,
		       const sp_tensor *value)
{
	if (!sp_tensor_is_set(value))
		return fail(ex, step, "a value depends on a branch that was not taken");
	*out = *value;
	sp_tensor_retain(out);
	return SP_OK;
}

/* Moves the value to `out`; `from` becomes unset. */
static void move(sp_tensor *out, sp_tensor *from)
{
	*out = *from;
	from->dtype = SP_INVALID_DTYPE;
	from->block = NULL;
}

static void end_region(const sp_execution *ex, uint32_t region)
{
	const sp_plan *plan = ex->frame->plan;
	const sp_plan_region *r = &plan->regions[region];

	for (uint32_t i = 0; i < r->release_count; i++)
		sp_workspace_release(ex->workspace,
				     &ex->frame->slots[plan->releases[r->first_release + i]]);
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

/*
 * A scalar is true unless it is 0 or an empty string; any other tensor unless it has no elements.
 */
static sp_status truth_of(const sp_execution *ex, const sp_step *step, const sp_tensor *t,
			  bool *out)
{
	*out = t->shape.rank == 0 ? number_is_set(t) : t->count != 0;
	if (t->shape.rank != 0 && step->control->scalar_only)
		return fail(ex, step, "the condition must be a scalar");
	return SP_OK;
}

/* ------------------------------------------------------------ conditions */

static sp_status choose_branch(const sp_execution *ex, const sp_step *step,
			       const sp_tensor *selector, uint32_t *branch)
{
	uint32_t last = step->control->region_count - 1;
	bool is_true;
	int32_t i;

	if (step->control->kind == SP_CONTROL_IF) {
		SP_TRY(truth_of(ex, step, selector, &is_true));
		*branch = is_true ? 0 : 1;
		return SP_OK;
	}
	if (selector->shape.rank != 0)
		return fail(ex, step, "branch_index must be scalar");
	i = *sp_tensor_i32(selector);
	*branch = i < 0 || (uint32_t)i > last ? last : (uint32_t)i;
	return SP_OK;
}

static sp_status run_condition(sp_execution *ex, const sp_step *step)
{
	const sp_control *control = step->control;
	sp_tensor **out = ex->frame->out + step->first_out;
	uint32_t branch = 0;

	SP_TRY(choose_branch(ex, step, ex->frame->in[step->first_in], &branch));
	SP_TRY(run_region(ex, control->first_region + branch));
	for (uint32_t i = 0; i < step->out_count; i++)
		SP_TRY(share(ex, step, out[i],
			     returned(ex, control, branch * step->out_count + i)));
	end_region(ex, control->first_region + branch);
	return SP_OK;
}

/* ----------------------------------------------------------------- loops */

/* The variables get their initial values, by move where the loop is the last reader. */
static sp_status begin_loop(const sp_execution *ex, const sp_step *step)
{
	const sp_control *control = step->control;

	for (uint32_t i = 0; i < control->argument_count; i++) {
		const sp_tensor *first = ex->frame->in[step->first_in + i];

		if (i < 64 && (step->in_dies >> i & 1) != 0)
			move(variable(ex, control, i), (sp_tensor *)first);
		else
			SP_TRY(share(ex, step, variable(ex, control, i), first));
	}
	return SP_OK;
}

/* A list counts as strings if its elements are strings or lists; they are not examined. */
static bool may_hold_text(const sp_tensor *t)
{
	if (t->dtype != SP_VARIANT)
		return t->dtype == SP_STRING;
	return t->shape.rank != 0 || sp_tensor_list(t)->dtype == SP_STRING ||
	       sp_tensor_list(t)->dtype == SP_VARIANT;
}

/*
 * String bytes are not reference-counted: those of an iteration must stay if a variable has some.
 */
static bool keeps_text(const sp_execution *ex, const sp_control *control)
{
	for (uint32_t i = 0; i < control->argument_count; i++)
		if (may_hold_text(variable(ex, control, i)))
			return true;
	return false;
}

typedef struct loop {
	sp_workspace_mark mark; /* where the allocations of the iterations begin */
	int64_t ends_ns; /* when the loop must have ended; 0: no limit but the request's deadline */
} loop;

static loop loop_here(const sp_execution *ex)
{
	return (loop){.mark = sp_workspace_here(ex->workspace),
		      .ends_ns = ex->loop_ns != 0 ? sp_clock_now_ns() + ex->loop_ns : 0};
}

/*
 * All variables change at once after an iteration, because they may swap values.  Meanwhile the
 * outputs of the step, which are still unset, hold the new values.
 */
static sp_status next_round(sp_execution *ex, const sp_step *step, const loop *l)
{
	const sp_control *control = step->control;
	sp_tensor **next = ex->frame->out + step->first_out;

	for (uint32_t i = 0; i < step->out_count; i++)
		SP_TRY(share(ex, step, next[i], returned(ex, control, 1 + i)));
	end_region(ex, control->first_region + 1);
	end_region(ex, control->first_region);
	for (uint32_t i = 0; i < step->out_count; i++)
		move(variable(ex, control, i), next[i]);
	if (!keeps_text(ex, control))
		sp_workspace_rewind(ex->workspace, &l->mark);
	if (l->ends_ns != 0 && sp_clock_now_ns() >= l->ends_ns)
		return fail(ex, step, "the loop does not end");
	return check_time(ex);
}

static void end_loop(const sp_execution *ex, const sp_step *step)
{
	sp_tensor **out = ex->frame->out + step->first_out;

	for (uint32_t i = 0; i < step->out_count; i++)
		move(out[i], variable(ex, step->control, i));
}

static sp_status run_while(sp_execution *ex, const sp_step *step)
{
	const sp_control *control = step->control;
	loop l = loop_here(ex);
	const sp_tensor *go_on = returned(ex, control, 0);
	bool is_true;

	SP_TRY(begin_loop(ex, step));
	for (;;) {
		SP_TRY(run_region(ex, control->first_region));
		if (!sp_tensor_is_set(go_on))
			return fail(ex, step,
				    "its condition depends on a branch that was not taken");
		SP_TRY(truth_of(ex, step, go_on, &is_true));
		if (!is_true)
			break;
		SP_TRY(run_region(ex, control->first_region + 1));
		SP_TRY(next_round(ex, step, &l));
	}
	end_region(ex, control->first_region);
	end_loop(ex, step);
	return SP_OK;
}

static sp_status run_control(sp_execution *ex, const sp_step *step)
{
	switch (step->control->kind) {
	case SP_CONTROL_IF:
	case SP_CONTROL_CASE:
		return run_condition(ex, step);
	case SP_CONTROL_WHILE:
		return run_while(ex, step);
	}
	return SP_OK;
}

/* ------------------------------------------------------------------- steps */

/* Whether the step is on a branch that was not taken: it is skipped and its outputs stay unset. */
static bool is_dead(const sp_step *step, const sp_tensor *const *in)
{
	uint32_t count = step->in_count + step->control_count;
	bool any_alive = step->in_count == 0;

	for (uint32_t k = step->in_count; k < count; k++)
		if (!sp_tensor_is_set(in[k]))
			return true;
	for (uint32_t k = 0; k < step->in_count; k++) {
		if (sp_tensor_is_set(in[k]))
			any_alive = true;
		else if (!step->takes_dead)
			return true;
	}
	return !any_alive;
}

static void set_token(sp_tensor *sign)
{
	static const bool alive = true;

	*sign = (sp_tensor){.dtype = SP_BOOL, .count = 1, .data = (void *)&alive};
}

/* Reads the clock only after some steps, which may be shorter than reading it. */
static sp_status check_time_sometimes(sp_execution *ex)
{
	enum { STEPS = 64 };

	if (++ex->steps < STEPS)
		return SP_OK;
	ex->steps = 0;
	return check_time(ex);
}

static sp_status run_step(sp_execution *ex, const sp_step *step)
{
	sp_call *call = &ex->call;
	sp_tensor **out = ex->frame->out + step->first_out;

	call->state = step->state;
	call->in = ex->frame->in + step->first_in;
	call->in_count = step->in_count;
	call->out = out;
	call->out_count = step->out_count;
	call->in_dies = step->in_dies;
	/* Slots may hold what a failed request left in them; its blocks are gone. */
	for (uint32_t k = 0; k < step->out_count + step->token; k++) {
		out[k]->dtype = SP_INVALID_DTYPE;
		out[k]->block = NULL;
	}
	if (step->may_die && is_dead(step, call->in))
		return SP_OK;
	if (step->control != NULL)
		SP_TRY(run_control(ex, step));
	else
		SP_TRY(step->run(call));
	if (step->token)
		set_token(out[step->out_count]);
	return SP_OK;
}

/* Records the start of a step; NULL: it is not traced. */
static sp_step_time *start_step(sp_run_trace *trace, const sp_step *step)
{
	sp_step_time *time;

	if (trace->count == trace->capacity) {
		trace->left_out++;
		return NULL;
	}
	time = &trace->steps[trace->count++];
	*time = (sp_step_time){
		.node = step->node->name, .op = step->node->op_name, .start_ns = sp_clock_now_ns()};
	return time;
}

/* Names the innermost node, not the loops and conditions around it. */
static sp_status name_node(const sp_execution *ex, const sp_step *step, sp_status status)
{
	if (step->control != NULL || status == SP_DEADLINE || status == SP_CANCELLED)
		return status;
	return sp_error_prefix(ex->call.err, status, "node '%s' (%s)", step->node->name,
			       step->node->op_name);
}

static sp_status run_region(sp_execution *ex, uint32_t region)
{
	sp_plan_frame *frame = ex->frame;
	const sp_plan *plan = frame->plan;
	const sp_step *step = plan->steps + plan->regions[region].first_step;
	const sp_step *end = step + plan->regions[region].step_count;

	for (; step < end; step++) {
		sp_step_time *time = NULL;
		sp_status status;

		if ((step->wanted_by & ex->wanted) == 0)
			continue;
		if (ex->trace != NULL)
			time = start_step(ex->trace, step);
		status = run_step(ex, step);
		if (time != NULL)
			time->end_ns = sp_clock_now_ns();
		if (status == SP_OK)
			status = check_time_sometimes(ex);
		if (status != SP_OK)
			return name_node(ex, step, status);
		for (uint32_t k = 0; k < step->release_count; k++)
			sp_workspace_release(
				ex->workspace,
				&frame->slots[plan->releases[step->first_release + k]]);
	}
	return SP_OK;
}

sp_status sp_execute(sp_execution *ex)
{
	return run_region(ex, 0);
}
