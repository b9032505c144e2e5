#include <stdatomic.h>

#include "base/alloc.h"
#include "engine/runtime/program_internal.h"
#include "engine/runtime/session_internal.h"

enum { ARENA_CHUNK = 256 << 10 };

/* Values are computed in the workspace of a session and copied to the snapshot's arena. */

static sp_status keep_values(sp_snapshot *snapshot, const sp_tensor *const *fetches, size_t count,
			     sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		snapshot->values[i] = *fetches[i];
		/* Without a block the bytes belong to the resources, the graph or an object. */
		if (fetches[i]->block != NULL || fetches[i]->dtype == SP_STRING)
			SP_TRY(sp_tensor_copy(&snapshot->values[i], snapshot->arena, fetches[i],
					      err));
	}
	return SP_OK;
}

static sp_status compute(sp_snapshot *snapshot, const sp_program *program, sp_session *session,
			 sp_error *err)
{
	size_t count = program->snapshot_plan.fetch_count;
	sp_run run = {.resources = snapshot->resources};
	const sp_tensor **fetches = sp_arena_array(snapshot->arena, count, sizeof(*fetches));

	snapshot->values = sp_arena_zeros(snapshot->arena, count, sizeof(*snapshot->values));
	SP_NEED_MEMORY(fetches != NULL && snapshot->values != NULL, err, "the version's values");
	SP_TRY(sp_session__run_plan(session, &run, &snapshot->objects, fetches, err));
	return keep_values(snapshot, fetches, count, err);
}

/*
 * Bytes for a few forms of every variable (packed, transposed, joined) and a little more.  A
 * hostile graph of constants may ask for terabytes.
 */
static size_t workspace_limit(const sp_resources *resources)
{
	size_t limit = (size_t)1 << 30;

	for (size_t i = 0; i < resources->count; i++) {
		const sp_tensor *variable = &resources->items[i].variable;

		limit += 4 * variable->count * sp_dtype_size(variable->dtype);
	}
	return limit;
}

/* Allocates a snapshot without values. */
static sp_status make(sp_snapshot **out, sp_resources *resources, sp_error *err)
{
	static atomic_uint_least64_t last_number;
	sp_snapshot *snapshot = sp_alloc_zero(1, sizeof(*snapshot));

	if (snapshot == NULL || (snapshot->arena = sp_arena_create(ARENA_CHUNK)) == NULL) {
		sp_snapshot_destroy(snapshot);
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version");
	}
	snapshot->number = atomic_fetch_add(&last_number, 1) + 1;
	snapshot->resources = resources;
	sp_objects_init(&snapshot->objects, snapshot->arena);
	*out = snapshot;
	return SP_OK;
}

sp_status sp_snapshot_build(sp_snapshot **out, const sp_program *program, sp_resources *resources,
			    sp_error *err)
{
	sp_snapshot *snapshot;
	sp_session *session = NULL;
	sp_error local;
	sp_status status;

	*out = NULL;
	if (err == NULL)
		err = &local;
	SP_TRY(make(&snapshot, resources, err));
	status = sp_session__create(&session, program, &program->snapshot_plan, 1,
				    workspace_limit(resources), err);
	if (status == SP_OK)
		status = compute(snapshot, program, session, err);
	sp_session_destroy(session);
	if (status != SP_OK) {
		sp_snapshot_destroy(snapshot);
		return status;
	}
	*out = snapshot;
	return SP_OK;
}

sp_status sp_snapshot_share(sp_snapshot **out, const sp_snapshot *snapshot, sp_resources *resources,
			    sp_error *err)
{
	SP_TRY(make(out, resources, err));
	(*out)->values = snapshot->values;
	return SP_OK;
}

size_t sp_snapshot_footprint(const sp_snapshot *snapshot)
{
	return snapshot != NULL ? sp_arena_footprint(snapshot->arena) : 0;
}

void sp_snapshot_destroy(sp_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	sp_objects_fini(&snapshot->objects);
	sp_arena_destroy(snapshot->arena);
	sp_free(snapshot);
}
