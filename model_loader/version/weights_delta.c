#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/name_list.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/version/weights_internal.h"

/*
 * Checks that a delta belongs to the model.
 *
 * DeepRec writes every ordinary variable into every delta, whole or by changed rows; an embedding
 * not used in training since its start may be missing.  So a delta with none of the variables
 * belongs to another model, and would change only the version number.
 */

/* Counts embeddings, and variables that servable signatures read and a checkpoint has given. */
typedef struct census {
	size_t embeddings;
	size_t count;
	size_t lacking;     /* not in the delta */
	sp_name_list names; /* of those not in the delta */
} census;

static void count_variable(census *c, const sp_weights *weights, const sp_resource *resource)
{
	sp_value_origin origin;

	c->embeddings += resource->kind == SP_RESOURCE_EMBEDDING;
	if (resource->kind != SP_RESOURCE_VARIABLE)
		return;
	origin = sp_load_environment_origin(weights->values->environment, &resource->variable);
	c->count += origin != SP_VALUE_ELSEWHERE;
	if (origin != SP_VALUE_OF_FULL)
		return;
	c->lacking++;
	sp_name_list_add(&c->names, resource->name);
}

static sp_status take_census(census *c, const sp_weights *weights, sp_error *err)
{
	bool *read = sp_weights__read_resources(weights);

	SP_NEED_MEMORY(read, err, "looking at a delta");
	for (size_t i = 0; i < weights->resources->count; i++)
		if (read[i])
			count_variable(c, weights, &weights->resources->items[i]);
	sp_free(read);
	return SP_OK;
}

/* "DELTA has none of the model's 3 variables (it has 'foo_w'): it is of another model". */
static sp_status refuse(const sp_weights *weights, size_t count, const char *what, sp_error *err)
{
	const sp_bundle *delta = weights->values->environment->delta;
	sp_name_list list = {0};

	for (size_t i = 0; i < sp_bundle_count(delta); i++) {
		sp_bytes name = sp_bundle_entry_at(delta, i)->name;
		char text[128];

		snprintf(text, sizeof(text), "%.*s", (int)name.size, name.data);
		if (name.size != 0)
			sp_name_list_add(&list, text);
	}
	return sp_error_set(
		err, SP_CORRUPT,
		"%s has none of the model's %zu %s%s (it has %s): it is of another model",
		sp_bundle_prefix(delta), count, what, count != 1 ? "s" : "",
		sp_name_list_text(&list));
}

sp_status sp_weights__check_delta(const sp_weights *weights, sp_error *err)
{
	census c = {.count = 0};

	if (weights->base == NULL)
		return SP_OK;
	SP_TRY(take_census(&c, weights, err));
	if (c.count != 0 && c.lacking == c.count)
		return refuse(weights, c.count, "variable", err);
	if (c.lacking != 0)
		sp_log(SP_LOG_WARNING,
		       "%s lacks %zu of the model's %zu variables, which stay as the full "
		       "checkpoint "
		       "has them: %s",
		       sp_bundle_prefix(weights->values->environment->delta), c.lacking, c.count,
		       sp_name_list_text(&c.names));
	return SP_OK;
}

/* Whether the delta has rows of a loaded embedding. */
static bool has_rows(const sp_embedding_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].found.delta.part_count != 0)
			return true;
	return false;
}

sp_status sp_weights__check_delta_rows(const sp_weights *weights, sp_error *err)
{
	census c = {.count = 0};

	if (weights->base == NULL || has_rows(&weights->values->environment->embeddings))
		return SP_OK;
	SP_TRY(take_census(&c, weights, err));
	return c.count == 0 && c.embeddings != 0 ? refuse(weights, c.embeddings, "embedding", err)
						 : SP_OK;
}
