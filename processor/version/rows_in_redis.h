#ifndef SP_PROCESSOR_VERSION_ROWS_IN_REDIS_H
#define SP_PROCESSOR_VERSION_ROWS_IN_REDIS_H

#include "base/status.h"
#include "model_loader/version/model.h"
#include "processor/config/config.h"
#include "processor/publish/publish.h"
#include "storage/redis/redis_tier.h"

/*
 * Finds the rows of a full checkpoint in Redis.  *out is NULL if the configuration reads them from
 * the checkpoint.
 *
 * If Redis lacks them and the configuration allows it, they are published (processor/publish), as
 * DeepRec's first processor does; while another publisher is at work, it is waited for.  The live
 * version goes on meanwhile: this is called by the thread that loads versions.
 *
 * SP_IO if Redis cannot be reached or has not the rows, SP_BUSY when the processor closes.
 */
SP_MUST_CHECK sp_status sp_rows_in_redis_find(sp_redis_store **out, sp_model *model,
					      const sp_config *config,
					      const sp_publish_source *source, sp_error *err);

/*
 * Publishes again what Redis has lost of a version that it had.  SP_UNSUPPORTED if the
 * configuration does not allow it; SP_BUSY when the processor closes, or while somebody else
 * publishes; SP_IO and others when that fails.
 */
SP_MUST_CHECK sp_status sp_rows_in_redis_restore(sp_model *model, const sp_config *config,
						 const sp_publish_source *source, sp_error *err);

#endif
