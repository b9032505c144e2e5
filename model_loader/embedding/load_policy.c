#include "model_loader/embedding/load_policy.h"

#include <string.h>

/*
 * Matches both from left to right.  On a mismatch the last star takes one character more; earlier
 * stars never need to change, so the time is at most the product of the lengths.
 */
bool sp_name_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *taken = NULL;

	while (*name != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			taken = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star != NULL) {
			pattern = star + 1;
			name = ++taken;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

int64_t sp_name_rules_find(const sp_name_rules *rules, const char *name, int64_t otherwise)
{
	for (size_t i = 0; i < rules->count; i++)
		if (sp_name_matches(rules->items[i].pattern, name))
			return rules->items[i].value;
	return otherwise;
}

static bool is_set(const atomic_bool *flag)
{
	return flag != NULL && atomic_load(flag);
}

bool sp_load_policy_is_over(const sp_load_policy *policy)
{
	return is_set(policy->closing) || is_set(policy->cancelled);
}

sp_status sp_load_policy_go_on(const sp_load_policy *policy, sp_error *err)
{
	if (policy == NULL || !sp_load_policy_is_over(policy))
		return SP_OK;
	return sp_error_set(err, SP_BUSY, "%s",
			    is_set(policy->closing) ? "the processor is closing"
						    : "something else could not be loaded");
}

static bool has_name(const char *names, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = names; at != NULL;) {
		const char *end = strchr(at, ';');
		size_t length = end != NULL ? (size_t)(end - at) : strlen(at);

		if ((length == size && memcmp(at, name, size) == 0) || (length == 1 && *at == '*'))
			return true;
		at = end != NULL ? end + 1 : NULL;
	}
	return false;
}

bool sp_load_policy_shards(const sp_load_policy *policy, const char *name)
{
	return has_name(policy->sharded_names, name);
}

bool sp_load_policy_asks(const sp_load_policy *policy, const char *name)
{
	return policy->shards != NULL && has_name(policy->peers_names, name);
}

bool sp_load_policy_compares_rows(const sp_load_policy *policy)
{
	return policy->ignore_new_keys || policy->old_key != SP_OLD_KEY_REPLACE ||
	       policy->max_new_percent != 0 || policy->max_drift_percent != 0;
}
