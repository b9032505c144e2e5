#include "processor/config/unused_rules.h"

#include <string.h>

#include "base/log.h"
#include "base/name_list.h"
#include "model_loader/checkpoint/part_name.h"

/* A table's name without its part, as patterns match it; NULL: out of memory. */
static const char *name_of(const sp_weights *weights, size_t i, sp_arena *arena)
{
	sp_part_name name = sp_part_name_split(sp_table_name(sp_weights_table(weights, i)));

	return sp_part_name_base(&name, arena);
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void log_unused(const char *key, const sp_name_rules *rules, const char *const *names,
		       size_t count)
{
	sp_name_list list = {0};

	for (size_t i = 0; i < count; i++)
		if (!is_among(names[i], names, i)) /* otherwise another part of it is listed */
			sp_name_list_add(&list, names[i]);
	for (size_t r = 0; r < rules->count; r++) {
		bool used = false;

		for (size_t i = 0; i < count && !used; i++)
			used = sp_name_matches(rules->items[r].pattern, names[i]);
		if (!used)
			sp_log(SP_LOG_WARNING,
			       "configuration key '%s': pattern '%.200s' matches no table of the "
			       "model; its tables: %s",
			       key, rules->items[r].pattern, sp_name_list_text(&list));
	}
}

static void log_all(const sp_load_policy *policy, const sp_weights *weights, sp_arena *arena)
{
	size_t count = sp_weights_table_count(weights);
	const char **names = sp_arena_array(arena, count, sizeof(*names));

	for (size_t i = 0; names != NULL && i < count; i++) {
		names[i] = name_of(weights, i, arena);
		if (names[i] == NULL)
			return;
	}
	if (names == NULL)
		return;
	log_unused("ev_row_format", &policy->row_formats, names, count);
	log_unused("serve_frequency_threshold", &policy->frequency_thresholds, names, count);
}

void sp_unused_rules_log(const sp_load_policy *policy, const sp_weights *weights)
{
	sp_arena *arena = policy->row_formats.count + policy->frequency_thresholds.count != 0
				  ? sp_arena_create(4096)
				  : NULL;

	if (arena != NULL)
		log_all(policy, weights, arena);
	sp_arena_destroy(arena);
}
