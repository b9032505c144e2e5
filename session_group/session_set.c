#include "session_group/session_set.h"

#include <assert.h>
#include <stdint.h>

#include "base/alloc.h"

struct sp_session_set {
	size_t count;
	sp_session *sessions[];
};

sp_status sp_session_set_create(sp_session_set **out, const sp_program *program, size_t count,
				size_t workspace_limit, sp_error *err)
{
	sp_session_set *set = NULL;

	assert(count >= 1);
	if (count <= (SIZE_MAX - sizeof(*set)) / sizeof(set->sessions[0]))
		set = sp_alloc_zero(1, sizeof(*set) + count * sizeof(set->sessions[0]));
	if (set == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu sessions", count);
	set->count = count;
	for (size_t i = 0; i < count; i++) {
		sp_status status = sp_session_create(&set->sessions[i], program, workspace_limit,
						     err);

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
