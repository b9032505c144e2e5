#include "session_group/session_set.h"

#include <assert.h>
#include <stdint.h>

#include "base/alloc.h"

struct sp_session_set {
	size_t count;
	const sp_session_homes *homes;
	sp_session *sessions[];
};

sp_status sp_session_set_create(sp_session_set **out, const sp_program *program, size_t count,
				size_t workspace_limit, const sp_session_homes *homes,
				sp_error *err)
{
	sp_session_set *set = NULL;

	assert(count >= 1);
	if (count <= (SIZE_MAX - sizeof(*set)) / sizeof(set->sessions[0]))
		set = sp_alloc_zero(1, sizeof(*set) + count * sizeof(set->sessions[0]));
	SP_NEED_MEMORY(set, err, "%zu sessions", count);
	set->count = count;
	set->homes = homes;
	for (size_t i = 0; i < count; i++) {
		sp_status status;

		sp_session_set_enter_home(set, i);
		status = sp_session_create(&set->sessions[i], program, workspace_limit, err);
		sp_session_set_leave_home(set, i);
		if (status != SP_OK) {
			sp_session_set_destroy(set);
			return status;
		}
	}
	*out = set;
	return SP_OK;
}

void sp_session_set_destroy(sp_session_set *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->count; i++)
		sp_session_destroy(set->sessions[i]);
	sp_free(set);
}

sp_session *sp_session_set_get(const sp_session_set *set, size_t number)
{
	assert(number < set->count);
	return set->sessions[number];
}

size_t sp_session_set_footprint(const sp_session_set *set)
{
	size_t bytes = sizeof(*set) + set->count * sizeof(set->sessions[0]);

	for (size_t i = 0; i < set->count; i++)
		bytes += sp_session_footprint(set->sessions[i]);
	return bytes;
}

void sp_session_set_enter_home(const sp_session_set *set, size_t number)
{
	int node = sp_session_homes_node(set->homes, number);

	if (node >= 0)
		sp_numa_prefer(node);
}

void sp_session_set_leave_home(const sp_session_set *set, size_t number)
{
	if (sp_session_homes_node(set->homes, number) >= 0)
		sp_numa_prefer(-1);
}
