#include "processor/updater/recall.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define MS INT64_C(1000000)

enum {
	PAUSE_MS = 1000,
	FIRST_MS = 2000,    /* time for the first answer, and for connecting before it ... */
	NEXT_MS = 200,      /* ... and for the next ones */
	MOST_STEPS = 10000, /* versions between what is found and what is recalled */
};

static bool is_wanted(const sp_config *config)
{
	return sp_config_is_in_redis(config) && config->redis_layout == SP_REDIS_VERSIONED;
}

static sp_status connect_to(sp_recall *recall, const sp_config *config, sp_error *err)
{
	sp_redis_address address;
	const sp_redis_client_options options = {.address = &address,
						 .is_cluster = config->feature_store_type ==
							       SP_FEATURES_IN_REDIS_CLUSTER};
	sp_status status = sp_config_redis_address(&address, config, err);

	if (status == SP_OK)
		status = sp_redis_client_create(&recall->client, &options, err);
	sp_redis_address_fini(&address);
	return status;
}

static void take(sp_recall *recall, const sp_redis_value *answer)
{
	sp_redis_version version;

	recall->holds = answer->kind == SP_REDIS_STRING &&
			sp_redis_record_read(&version, (sp_bytes){answer->text, answer->size},
					     NULL) == SP_OK &&
			version.left > 0;
	if (recall->holds) {
		recall->full = version.full;
		recall->left = version.left;
	}
}

static void ask(sp_recall *recall, const char *key, bool is_first)
{
	sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
						      (is_first ? FIRST_MS : NEXT_MS) * MS,
				       .fail_fast = !is_first};
	sp_redis_batch *batch = sp_redis_batch_create(recall->client);

	if (batch == NULL)
		return;
	sp_redis_batch_begin(batch, key, strlen(key), 2);
	sp_redis_batch_add_text(batch, "GET");
	sp_redis_batch_add_text(batch, key);
	if (sp_redis_batch_run(batch, &how, NULL) == SP_OK)
		take(recall, sp_redis_batch_reply(batch, 0));
	sp_redis_batch_release(batch);
}

static void look(sp_recall *recall, const sp_source *source)
{
	const sp_config *config = source->config;
	const char *key = sp_redis_current_name(source->arena, config->redis_model);
	bool is_first = recall->client == NULL;
	sp_error why;

	if (sp_clock_now_ns() < recall->due_ns || key == NULL)
		return;
	if (is_first && connect_to(recall, config, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "what is recalled in Redis is unknown: %s", why.text);
	if (recall->client != NULL)
		ask(recall, key, is_first);
	recall->due_ns = sp_clock_now_ns() + PAUSE_MS * MS;
}

/* The newest version of that full checkpoint which is older than `from`. */
static sp_status find(sp_found_version *out, const sp_source *source, const sp_found_version *from,
		      int64_t full, sp_error *err)
{
	sp_found_version than = *from;

	for (int i = 0; i < MOST_STEPS; i++) {
		SP_TRY(sp_source_find_older(source, out, &than, err));
		if (out->full_step == full)
			return SP_OK;
		than = *out;
	}
	return sp_error_set(err, SP_NOT_FOUND, "there is no such version");
}

void sp_recall_apply(sp_recall *recall, const sp_source *source, sp_found_version *found)
{
	sp_found_version older;
	sp_error why;
	bool is_new;

	if (!is_wanted(source->config) || source->folder == NULL)
		return;
	look(recall, source);
	if (!recall->holds || found->full_step > recall->left || found->full_step == recall->full) {
		recall->told = -1;
		return;
	}
	is_new = recall->told != recall->full;
	recall->told = recall->full;
	if (find(&older, source, found, recall->full, &why) != SP_OK) {
		if (is_new)
			sp_log(SP_LOG_WARNING,
			       "version %" PRId64 " is recalled in Redis, but not here: %s",
			       recall->full, why.text);
		return;
	}
	if (is_new)
		sp_log(SP_LOG_INFO,
		       "version %" PRId64 " is recalled in Redis, until one comes that is newer "
		       "than %" PRId64,
		       recall->full, recall->left);
	*found = older;
}

void sp_recall_fini(sp_recall *recall)
{
	sp_redis_client_destroy(recall->client);
	recall->client = NULL;
}
