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

sp_unit *sp_version_policy_next(sp_unit *units, int64_t now_ns)
{
	sp_unit *load = NULL, *unload = NULL;
	bool any_wanted = false, any_serves = false;

	for (sp_unit *unit = units; unit != NULL; unit = unit->next) {
		bool available = unit->state == SP_VERSION_AVAILABLE;

		any_wanted |= unit->wanted;
		any_serves |= unit->wanted && available;
		if (unit->wanted && unit->state == SP_VERSION_START && unit->due_ns <= now_ns &&
		    (load == NULL || unit->version > load->version))
			load = unit;
		if (!unit->wanted && available &&
		    (unload == NULL || unit->version <= unload->version))
			unload = unit;
	}
	return unload != NULL && (any_serves || !any_wanted) ? unload : load;
}
