#include "processor/version/rows_kept.h"

#include "base/clock.h"
#include "base/log.h"
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

	if (!config->redis_publish || config->feature_store_type < SP_FEATURES_IN_REDIS ||
	    now < *due_ns)
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
