#include <string.h>

#include "base/alloc.h"
#include "base/float_mode.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/session_internal.h"

/*
 * All places that steps read and write are resolved to pointers when the session is made, except
 * the values of snapshots, which are bound when the snapshot changes.
 */

struct sp_session {
	const sp_program *program;
	sp_arena *arena;
	sp_workspace *workspace;
	sp_plan_frame *frames; /* one per entry */

	/*
	 * What is kept between requests (sp_call): random streams and session variables.  A run
	 * changes the second copy, which becomes the first if it succeeds.
	 */
	uint64_t *state, *next_state;
	size_t state_words;
};

/* ---------------------------------------------------------------- set up */

static const sp_tensor *place_of(const sp_session *session, const sp_plan_frame *frame, sp_ref ref)
{
	switch (ref.kind) {
	case SP_REF_CONSTANT:
		return session->program->values[ref.index].constant;
	case SP_REF_FEED:
		return &frame->feeds[ref.index];
	case SP_REF_SLOT:
		return &frame->slots[ref.index];
	case SP_REF_SNAPSHOT:
		return NULL; /* set by bind() */
	}
	return NULL;
}

static bool frame_init(sp_session *session, sp_plan_frame *frame, const sp_plan *plan)
{
	sp_arena *arena = session->arena;

	*frame = (sp_plan_frame){.plan = plan};
	if (plan->error != NULL)
		return true;
	frame->feeds = sp_arena_zeros(arena, plan->feed_count, sizeof(*frame->feeds));
	frame->slots = sp_arena_zeros(arena, plan->slot_count, sizeof(*frame->slots));
	frame->in = sp_arena_array(arena, plan->ref_count, sizeof(*frame->in));
	frame->out = sp_arena_array(arena, plan->out_count, sizeof(*frame->out));
	if (frame->feeds == NULL || frame->slots == NULL || frame->in == NULL || frame->out == NULL)
		return false;
	for (size_t i = 0; i < plan->ref_count; i++)
		frame->in[i] = place_of(session, frame, plan->refs[i]);
	for (size_t i = 0; i < plan->out_count; i++)
		frame->out[i] = &frame->slots[plan->out_slots[i]];
	return true;
}

static bool session_init(sp_session *session, const sp_plan *plans, size_t count, size_t limit)
{
	session->arena = sp_arena_create(64 << 10);
	session->workspace = sp_workspace_create(limit);
	if (session->arena == NULL || session->workspace == NULL)
		return false;
	session->frames = sp_arena_zeros(session->arena, count, sizeof(sp_plan_frame));
	session->state_words = session->program->stream_count +
			       SP_SESSION_VARIABLE_WORDS * session->program->session_variable_count;
	session->state = sp_arena_zeros(session->arena, session->state_words, sizeof(uint64_t));
	session->next_state = sp_arena_zeros(session->arena, session->state_words,
					     sizeof(uint64_t));
	if (session->frames == NULL || session->state == NULL || session->next_state == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!frame_init(session, &session->frames[i], &plans[i]))
			return false;
	return true;
}

sp_status sp_session__create(sp_session **out, const sp_program *program, const sp_plan *plans,
			     size_t plan_count, size_t workspace_limit, sp_error *err)
{
	sp_session *session = sp_alloc_apart(sizeof(*session));

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

size_t sp_session_footprint(const sp_session *session)
{
	return sizeof(*session) + sp_arena_used(session->arena) +
	       sp_workspace_touched(session->workspace);
}

void sp_session_reset(sp_session *session)
{
	sp_workspace_reset(session->workspace);
}

/* ------------------------------------------------------------------- run */

static void bind(sp_plan_frame *frame, const sp_snapshot *snapshot)
{
	const sp_plan *plan = frame->plan;

	if (frame->bound == snapshot->number)
		return;
	for (size_t i = 0; i < plan->ref_count; i++)
		if (plan->refs[i].kind == SP_REF_SNAPSHOT)
			frame->in[i] = &snapshot->values[plan->refs[i].index];
	frame->bound = snapshot->number;
}

/* The fetches that are wanted, as bits of sp_step.wanted_by. */
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

static sp_status take_feeds(sp_plan_frame *frame, const sp_run *run, uint64_t wanted, sp_error *err)
{
	const sp_plan *plan = frame->plan;

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
		frame->feeds[i] = *feed;
	}
	return SP_OK;
}

static sp_status give_fetches(const sp_session *session, const sp_plan_frame *frame,
			      const sp_run *run, const sp_tensor **fetches, sp_error *err)
{
	const sp_plan *plan = frame->plan;

	for (size_t i = 0; i < plan->fetch_count; i++) {
		sp_ref ref = plan->fetches[i];

		fetches[i] = NULL;
		if (run->wanted != NULL && !run->wanted[i])
			continue;
		fetches[i] = ref.kind == SP_REF_SNAPSHOT ? &run->snapshot->values[ref.index]
							 : place_of(session, frame, ref);
		if (!sp_tensor_is_set(fetches[i]))
			return sp_error_set(err, SP_INVALID,
					    "output %zu depends on a branch that was not taken", i);
	}
	return SP_OK;
}

sp_status sp_session__run_plan(sp_session *session, const sp_run *run, sp_object_list *objects,
			       const sp_tensor **fetches, sp_error *err)
{
	sp_plan_frame *frame = &session->frames[run->entry];
	sp_execution ex = {
		.frame = frame,
		.workspace = session->workspace,
		.wanted = wanted_bits(frame->plan, run->wanted),
		.deadline_ns = run->deadline_ns,
		.loop_ns = run->loop_ns,
		.stop = run->stop,
		.trace = run->trace,
		.call = {.workspace = session->workspace,
			 .resources = run->snapshot != NULL ? run->snapshot->resources
							    : run->resources,
			 .environment = run->environment,
			 .objects = objects,
			 .drawn_by_node = session->next_state,
			 .session_variables = session->next_state + session->program->stream_count,
			 .deadline_ns = run->deadline_ns,
			 .fresh = run->fresh,
			 .err = err}};
	size_t state_size = session->state_words * sizeof(*session->state);
	sp_status status;
	unsigned mode;

	if (frame->plan->error != NULL)
		return sp_error_set(err, frame->plan->error->status, "%s",
				    frame->plan->error->text);
	SP_TRY(take_feeds(frame, run, ex.wanted, err));
	if (run->snapshot != NULL)
		bind(frame, run->snapshot);
	memcpy(session->next_state, session->state, state_size);
	mode = sp_float_mode_flush();
	status = sp_execute(&ex);
	sp_float_mode_restore(mode);
	SP_TRY(status);
	SP_TRY(give_fetches(session, frame, run, fetches, err));
	if (!run->rehearsal)
		memcpy(session->state, session->next_state, state_size);
	return SP_OK;
}

sp_status sp_session_run(sp_session *session, const sp_run *run, const sp_tensor **fetches,
			 sp_error *err)
{
	sp_error ignored;

	return sp_session__run_plan(session, run, NULL, fetches, err != NULL ? err : &ignored);
}
