#ifndef SP_PROCESSOR_VERSION_ROWS_OF_PEERS_H
#define SP_PROCESSOR_VERSION_ROWS_OF_PEERS_H

#include "base/buffer.h"
#include "base/status.h"
#include "processor/config/config.h"
#include "processor/version/version.h"
#include "storage/shards/shard_tier.h"

/*
 * Rows of embeddings in other processors, and for them (storage/shards/).  A version's rows are
 * identified by the step of its full checkpoint and its peers_content.
 */

/* Connects and listens as the configuration says; sets its shard_client and shard_server. */
SP_MUST_CHECK sp_status sp_rows_of_peers_open(sp_config *config, sp_error *err);
void sp_rows_of_peers_close(sp_config *config);

/*
 * Finds the rows of a full checkpoint in the other processors; *out is NULL without any.  SP_IO if
 * they cannot be reached, or do not have the version yet; the version is then tried again later.
 */
SP_MUST_CHECK sp_status sp_rows_of_peers_find(sp_shard_store **out, const sp_config *config,
					      const sp_version *version, sp_error *err);

/*
 * Appends what is told of both sides, as members of a JSON object with a comma in front: "shards",
 * what there is now, and "shard_events", counted since the start.  Nothing without the keys.
 */
void sp_rows_of_peers_tell(sp_buffer *json, const sp_config *config);

/* Others are answered from this version from now on. */
void sp_rows_of_peers_publish(const sp_config *config, const sp_version *version);

#endif
