#include "api/host/model/version_policy.h"

bool sp_version_policy_wants(const sp_version_policy *policy, int64_t version, size_t newer)
{
	for (size_t i = 0; i < policy->ordered_count; i++)
		if (policy->ordered[i].version == version)
			return policy->ordered[i].wanted;
	if (policy->kind == SP_POLICY_ALL)
		return true;
	if (policy->kind == SP_POLICY_LATEST)
		return newer < (size_t)policy->latest;
	for (size_t i = 0; i < policy->specific_count; i++)
		if (policy->specific[i] == version)
			return true;
	return false;
}

/* The newest version in `state` that is wanted, or the oldest that is not; NULL: none. */
static const sp_version_fact *choose(const sp_version_fact *facts, size_t count, bool wanted,
				     sp_version_state state)
{
	const sp_version_fact *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const sp_version_fact *fact = &facts[i];

		if (fact->wanted != wanted || fact->state != state ||
		    (state == SP_VERSION_START && !fact->due))
			continue;
		if (best == NULL || (fact->version > best->version) == wanted)
			best = fact;
	}
	return best;
}

static bool any_wanted(const sp_version_fact *facts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (facts[i].wanted)
			return true;
	return false;
}

sp_version_step sp_version_policy_next(const sp_version_fact *facts, size_t count)
{
	const sp_version_fact *load = choose(facts, count, true, SP_VERSION_START);
	const sp_version_fact *unload = choose(facts, count, false, SP_VERSION_AVAILABLE);
	bool replaced = choose(facts, count, true, SP_VERSION_AVAILABLE) != NULL ||
			!any_wanted(facts, count);

	if (unload != NULL && replaced)
		return (sp_version_step){SP_VERSION_UNLOAD, (size_t)(unload - facts)};
	if (load != NULL)
		return (sp_version_step){SP_VERSION_LOAD, (size_t)(load - facts)};
	return (sp_version_step){SP_VERSION_WAIT, 0};
}
