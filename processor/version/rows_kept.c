#include "processor/version/rows_kept.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "incremental/identity.h"
#include "processor/version/rows_in_redis.h"
#include "storage/redis/publication.h"

/* Often enough that a few failures do no harm. */
static int64_t pause_ns(const sp_config *config)
{
	int64_t seconds = config->redis_keep_seconds / 8;

	return (seconds < 1 ? 1 : seconds > 3600 ? 3600 : seconds) * 1000000000;
}

void sp_rows_kept(int64_t *due_ns, const sp_config *config, int64_t full_step, uint64_t content)
{
	sp_redis_address address;
	const sp_redis_publication_options options = {
		.address = &address,
		.is_cluster = config->feature_store_type == SP_FEATURES_IN_REDIS_CLUSTER,
		.layout = (sp_redis_layout)config->redis_layout,
		.model = config->redis_model,
		.version = {.full = full_step > 0 ? full_step : 0},
		.keep_seconds = config->redis_keep_seconds,
		.patience_seconds = 2,
	};
	int64_t now = sp_clock_now_ns();
	sp_status status;
	sp_error why;

	if (!config->redis_publish || !sp_config_is_in_redis(config) || now < *due_ns)
		return;
	*due_ns = now + pause_ns(config);
	status = sp_config_redis_address(&address, config, &why);
	if (status == SP_OK)
		status = sp_redis_publication_keep(&options, content, &why);
	sp_redis_address_fini(&address);
	if (status != SP_OK)
		sp_log(SP_LOG_WARNING, "the rows of version %lld may expire: %s",
		       (long long)full_step, why.text);
}

/* ---------------------------------------------------------------- what is lost */

#define SECOND INT64_C(1000000000)

static sp_status restore(const sp_version *live, const sp_config *config, const char *prefix,
			 bool is_own, sp_error *err)
{
	const sp_publish_source source = {.prefix = prefix,
					  .content = live->redis_content,
					  .is_own = is_own,
					  .full_step = live->full_step,
					  .delta_step = -1,
					  .only_finite = config->embeddings.only_finite};
	sp_arena *arena = sp_arena_create(4096);
	bool is_same;

	SP_NEED_MEMORY(arena, err, "the name of a version");
	is_same = sp_identity_of_rows(prefix, arena) == live->redis_content;
	sp_arena_destroy(arena);
	if (!is_same)
		return sp_error_set(err, SP_NOT_FOUND, "its files are gone, or have changed");
	return sp_rows_in_redis_restore(live->runtime->model, config, &source, err);
}

void sp_rows_restored(sp_version *live, const sp_config *config, const char *prefix, bool is_own)
{
	int64_t now = sp_clock_now_ns(), pause = live->restore_pause;
	sp_error why;

	if (live->redis == NULL || prefix == NULL || now < live->restore_ns ||
	    !sp_redis_store_had_loss(live->redis))
		return;
	if (pause == 0 || now - live->restore_ns > 60 * SECOND)
		pause = SECOND;
	live->restore_pause = pause < 30 * SECOND ? 2 * pause : 60 * SECOND;
	sp_log(SP_LOG_WARNING, "Redis does not have all rows of version %" PRId64 " any more",
	       live->full_step);
	if (restore(live, config, prefix, is_own, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "the lost rows of version %" PRId64 " stay lost for now: %s",
		       live->full_step, why.text);
	/* What requests met meanwhile is no new loss. */
	(void)sp_redis_store_had_loss(live->redis);
	live->restore_ns = sp_clock_now_ns() + pause;
}
