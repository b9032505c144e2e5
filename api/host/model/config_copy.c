#include <string.h>

#include "api/host/model/model_config.h"

/* Replaces a text by its copy; false when out of memory. */
static bool own_text(const char **text, sp_arena *arena)
{
	if (*text == NULL)
		return true;
	*text = sp_arena_text(arena, sp_bytes_of(*text));
	return *text != NULL;
}

/*
 * Replaces an array by its copy, whose room is a power of two, as sp_arena_append() expects it;
 * false when out of memory.
 */
static bool own_array(void *array, size_t count, size_t size, sp_arena *arena)
{
	size_t room = 1;
	void *copy;

	memcpy(&copy, array, sizeof(copy));
	if (count == 0)
		return true;
	while (room < count)
		room *= 2;
	copy = sp_arena_copy(arena, copy, count, room, size);
	memcpy(array, &copy, sizeof(copy));
	return copy != NULL;
}

static bool own_labels(sp_model_config *config, sp_arena *arena)
{
	sp_configured_label *labels;
	bool fits = own_array(&config->labels, config->label_count, sizeof(*labels), arena);

	labels = (sp_configured_label *)(uintptr_t)config->labels;
	for (size_t i = 0; fits && i < config->label_count; i++)
		fits = own_text(&labels[i].label, arena);
	return fits;
}

static bool own_traffic(sp_configured_traffic *traffic, sp_arena *arena)
{
	bool fits = own_text(&traffic->field, arena) && own_text(&traffic->header, arena) &&
		    own_text(&traffic->shadow.label, arena);

	for (size_t i = 0; fits && i < traffic->share_count; i++)
		fits = own_text(&traffic->shares[i].label, arena);
	return fits;
}

static bool own_batching(const sp_batching_config **batching, sp_arena *arena)
{
	sp_batching_config *copy;

	if (*batching == NULL)
		return true;
	copy = sp_arena_copy(arena, *batching, 1, 1, sizeof(*copy));
	*batching = copy;
	return copy != NULL && own_text(&copy->thread_pool_name, arena);
}

/* Makes all that the model points at its own. */
static bool own_all(sp_model_config *config, sp_arena *arena)
{
	sp_version_policy *policy = &config->policy;
	const char **texts[] = {
		&config->name,         &config->base_path,      &config->processor_config,
		&config->platform,     &config->signature_name, &config->saved_model_tags,
		&config->samples.type, &config->samples.prefix};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!own_text(texts[i], arena))
			return false;
	return own_array(&policy->specific, policy->specific_count, sizeof(policy->specific[0]),
			 arena) &&
	       own_array(&policy->ordered, policy->ordered_count, sizeof(policy->ordered[0]),
			 arena) &&
	       own_labels(config, arena) && own_traffic(&config->traffic, arena) &&
	       own_batching(&config->batching, arena);
}

sp_status sp_model_configs_copy(sp_model_configs **out, const sp_model_configs *from, sp_error *err)
{
	sp_model_configs *configs = sp_model_configs_create(from->count);

	if (configs == NULL)
		return sp_no_memory(err, "the configuration of models");
	for (size_t i = 0; i < from->count; i++) {
		configs->items[i] = from->items[i];
		configs->items[i].traffic = from->items[i].own_traffic;
		if (!own_all(&configs->items[i], configs->arena)) {
			sp_model_configs_destroy(configs);
			return sp_no_memory(err, "the configuration of models");
		}
	}
	*out = configs;
	return SP_OK;
}
