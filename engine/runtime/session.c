#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_mode.h"
#include "engine/passes/count_writes.h"
#include "engine/runtime/program_internal.h"
#include "engine/runtime/session_internal.h"

/*
 * Every place a step reads from or writes to is known once the session exists,
 * but for the snapshot's values: so the loop below follows ready-made pointers,
 * and only a new snapshot makes it touch them again.
 */

struct sp_session {
	const sp_program *program;
	sp_arena *arena;
	sp_workspace *workspace;
	sp_lane *lanes; /* one per entry */

	/*
	 * What goes on from run to run (engine/graph/op.h): random streams of nodes, of variables,
	 * and counts.  Before a run, and in it.
	 */
	uint64_t *drawn, *drawing;
	size_t drawn_count;
};

/* ---------------------------------------------------------------- set up */

static const sp_tensor *place_of(const sp_session *session, const sp_lane *l, sp_ref ref)
{
	switch (ref.kind) {
	case SP_REF_CONSTANT:
		return session->program->values[ref.index].constant;
	case SP_REF_FEED:
		return &l->feeds[ref.index];
	case SP_REF_SLOT:
		return &l->slots[ref.index];
	case SP_REF_SNAPSHOT:
		return NULL; /* by bind() */
	}
	return NULL;
}

static bool lane_init(sp_session *session, sp_lane *l, const sp_plan *plan)
{
	sp_arena *arena = session->arena;

	*l = (sp_lane){.plan = plan};
	if (plan->error != NULL)
		return true;
	l->feeds = sp_arena_zeros(arena, plan->feed_count, sizeof(*l->feeds));
	l->slots = sp_arena_zeros(arena, plan->slot_count, sizeof(*l->slots));
	l->in = sp_arena_array(arena, plan->ref_count, sizeof(*l->in));
	l->out = sp_arena_array(arena, plan->out_count, sizeof(*l->out));
	if (l->feeds == NULL || l->slots == NULL || l->in == NULL || l->out == NULL)
		return false;
	for (size_t i = 0; i < plan->ref_count; i++)
		l->in[i] = place_of(session, l, plan->refs[i]);
	for (size_t i = 0; i < plan->out_count; i++)
		l->out[i] = &l->slots[plan->out_slots[i]];
	return true;
}

static bool session_init(sp_session *session, const sp_plan *plans, size_t count, size_t limit)
{
	session->arena = sp_arena_create(64 << 10);
	session->workspace = sp_workspace_create(limit);
	if (session->arena == NULL || session->workspace == NULL)
		return false;
	session->lanes = sp_arena_zeros(session->arena, count, sizeof(sp_lane));
	session->drawn_count = session->program->stream_count + session->program->generator_count +
			       SP_COUNT_WORDS * session->program->count_count;
	session->drawn = sp_arena_zeros(session->arena, session->drawn_count, sizeof(uint64_t));
	session->drawing = sp_arena_zeros(session->arena, session->drawn_count, sizeof(uint64_t));
	if (session->lanes == NULL || session->drawn == NULL || session->drawing == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!lane_init(session, &session->lanes[i], &plans[i]))
			return false;
	return true;
}

sp_status sp_session__create(sp_session **out, const sp_program *program, const sp_plan *plans,
			     size_t plan_count, size_t workspace_limit, sp_error *err)
{
	sp_session *session = sp_alloc_zero(1, sizeof(*session));

	*out = NULL;
	if (session != NULL) {
		session->program = program;
		if (session_init(session, plans, plan_count, workspace_limit)) {
			*out = session;
			return SP_OK;
		}
	}
	sp_session_destroy(session);
	return sp_error_set(err, SP_NO_MEMORY, "no memory for a session");
}

sp_status sp_session_create(sp_session **out, const sp_program *program, size_t workspace_limit,
			    sp_error *err)
{
	return sp_session__create(out, program, program->plans, program->plan_count,
				  workspace_limit, err);
}

void sp_session_destroy(sp_session *session)
{
	if (session == NULL)
		return;
	sp_workspace_destroy(session->workspace);
	sp_arena_destroy(session->arena);
	sp_free(session);
}

sp_workspace *sp_session_workspace(sp_session *session)
{
	return session->workspace;
}

void sp_session_reset(sp_session *session)
{
	sp_workspace_reset(session->workspace);
}

/* ------------------------------------------------------------------- run */

static void bind(sp_lane *l, const sp_snapshot *snapshot)
{
	const sp_plan *plan = l->plan;

	if (l->bound == snapshot->number)
		return;
	for (size_t i = 0; i < plan->ref_count; i++)
		if (plan->refs[i].kind == SP_REF_SNAPSHOT)
			l->in[i] = &snapshot->values[plan->refs[i].index];
	l->bound = snapshot->number;
}

/* The outputs that are wanted, as the bits that steps carry. */
static uint64_t wanted_bits(const sp_plan *plan, const bool *wanted)
{
	uint64_t bits = 0;

	if (wanted == NULL)
		return ~(uint64_t)0;
	for (size_t i = 0; i < plan->fetch_count; i++)
		if (wanted[i])
			bits |= (uint64_t)1 << (i < 63 ? i : 63);
	return bits;
}

static sp_status take_feeds(sp_lane *l, const sp_run *run, uint64_t wanted, sp_error *err)
{
	const sp_plan *plan = l->plan;

	for (size_t i = 0; i < plan->feed_count; i++) {
		const sp_tensor *feed = &run->feeds[i];

		if (!sp_tensor_is_set(feed) && plan->feed_defaults[i] != NULL)
			feed = plan->feed_defaults[i];
		if (!sp_tensor_is_set(feed) && (plan->feed_wanted_by[i] & wanted) != 0)
			return sp_error_set(
				err, SP_INVALID,
				"you must feed a value for placeholder tensor '%s' with dtype %s",
				plan->feed_names[i], sp_dtype_name(plan->feed_dtypes[i]));
		if (sp_tensor_is_set(feed) && plan->feed_dtypes[i] != SP_INVALID_DTYPE &&
		    feed->dtype != plan->feed_dtypes[i])
			return sp_error_set(err, SP_INVALID, "input '%s' must be %s, not %s",
					    plan->feed_names[i],
					    sp_dtype_name(plan->feed_dtypes[i]),
					    sp_dtype_name(feed->dtype));
		l->feeds[i] = *feed;
	}
	return SP_OK;
}

/* On a branch that was not taken?  Then nothing is run and nothing is set. */
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

static void set_life_sign(sp_tensor *sign)
{
	static const bool alive = true;

	*sign = (sp_tensor){.dtype = SP_BOOL, .count = 1, .data = (void *)&alive};
}

sp_status sp_session__check_time(const sp_running *run)
{
	if (run->stop != NULL && atomic_load_explicit(run->stop, memory_order_relaxed))
		return sp_error_set(run->call.err, SP_BUSY, "loading was stopped");
	if (run->deadline_ns == 0 || sp_clock_now_ns() < run->deadline_ns)
		return SP_OK;
	return sp_error_set(run->call.err, SP_DEADLINE, "the deadline of the request has passed");
}

/* The clock is asked once in a while: a step may take less than asking does. */
static sp_status check_time_sometimes(sp_running *run)
{
	enum { STEPS = 64 };

	if (++run->steps < STEPS)
		return SP_OK;
	run->steps = 0;
	return sp_session__check_time(run);
}

static sp_status run_step(sp_running *run, const sp_step *step)
{
	sp_call *call = &run->call;
	sp_tensor **out = run->lane->out + step->first_out;

	call->state = step->state;
	call->in = run->lane->in + step->first_in;
	call->in_count = step->in_count;
	call->out = out;
	call->out_count = step->out_count;
	call->in_dies = step->in_dies;
	/* A request that failed leaves its slots as they were: forget their blocks, too. */
	for (uint32_t k = 0; k < step->out_count + step->life_sign; k++) {
		out[k]->dtype = SP_INVALID_DTYPE;
		out[k]->block = NULL;
	}
	if (step->may_die && is_dead(step, call->in))
		return SP_OK;
	if (step->control != NULL)
		SP_TRY(sp_session__run_control(run, step));
	else
		SP_TRY(step->run(call));
	if (step->life_sign)
		set_life_sign(out[step->out_count]);
	return SP_OK;
}

/* The innermost node is named, not the loops and conditions around it. */
static sp_status name_node(const sp_running *run, const sp_step *step, sp_status status)
{
	if (step->control != NULL || status == SP_DEADLINE)
		return status;
	return sp_error_prefix(run->call.err, status, "node '%s' (%s)", step->node->name,
			       step->node->op_name);
}

sp_status sp_session__run_region(sp_running *run, uint32_t region)
{
	sp_lane *l = run->lane;
	const sp_plan *plan = l->plan;
	const sp_step *step = plan->steps + plan->regions[region].first_step;
	const sp_step *end = step + plan->regions[region].step_count;

	for (; step < end; step++) {
		sp_status status;

		if ((step->wanted_by & run->wanted) == 0)
			continue;
		status = run_step(run, step);
		if (status == SP_OK)
			status = check_time_sometimes(run);
		if (status != SP_OK)
			return name_node(run, step, status);
		for (uint32_t k = 0; k < step->release_count; k++)
			sp_workspace_release(run->workspace,
					     &l->slots[plan->releases[step->first_release + k]]);
	}
	return SP_OK;
}

static sp_status give_fetches(const sp_session *session, const sp_lane *l, const sp_run *run,
			      const sp_tensor **fetches, sp_error *err)
{
	const sp_plan *plan = l->plan;

	for (size_t i = 0; i < plan->fetch_count; i++) {
		sp_ref ref = plan->fetches[i];

		fetches[i] = NULL;
		if (run->wanted != NULL && !run->wanted[i])
			continue;
		fetches[i] = ref.kind == SP_REF_SNAPSHOT ? &run->snapshot->values[ref.index]
							 : place_of(session, l, ref);
		if (!sp_tensor_is_set(fetches[i]))
			return sp_error_set(
				err, SP_INVALID,
				"output %zu has no value: it hangs on a branch that was not taken",
				i);
	}
	return SP_OK;
}

sp_status sp_session__run_plan(sp_session *session, const sp_run *run, sp_keeper *keeper,
			       const sp_tensor **fetches, sp_error *err)
{
	sp_lane *l = &session->lanes[run->entry];
	sp_running running = {
		.lane = l,
		.workspace = session->workspace,
		.wanted = wanted_bits(l->plan, run->wanted),
		.deadline_ns = run->deadline_ns,
		.loop_ns = run->loop_ns,
		.stop = run->stop,
		.call = {.workspace = session->workspace,
			 .resources = run->snapshot != NULL ? run->snapshot->resources
							    : run->resources,
			 .environment = run->environment,
			 .keeper = keeper,
			 .drawn_by_node = session->drawing,
			 .drawn_by_variable = session->drawing + session->program->stream_count,
			 .counts = session->drawing + session->program->stream_count +
				   session->program->generator_count,
			 .deadline_ns = run->deadline_ns,
			 .err = err}};
	size_t drawn_size = session->drawn_count * sizeof(*session->drawn);
	sp_status status;
	unsigned mode;

	if (l->plan->error != NULL)
		return sp_error_set(err, l->plan->error->status, "%s", l->plan->error->text);
	SP_TRY(take_feeds(l, run, running.wanted, err));
	if (run->snapshot != NULL)
		bind(l, run->snapshot);
	memcpy(session->drawing, session->drawn, drawn_size);
	mode = sp_float_mode_flush();
	status = sp_session__run_region(&running, 0);
	sp_float_mode_restore(mode);
	SP_TRY(status);
	SP_TRY(give_fetches(session, l, run, fetches, err));
	if (!run->rehearsal)
		memcpy(session->drawn, session->drawing, drawn_size);
	return SP_OK;
}

sp_status sp_session_run(sp_session *session, const sp_run *run, const sp_tensor **fetches,
			 sp_error *err)
{
	sp_error ignored;

	return sp_session__run_plan(session, run, NULL, fetches, err != NULL ? err : &ignored);
}
