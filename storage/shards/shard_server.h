#ifndef SP_STORAGE_SHARDS_SHARD_SERVER_H
#define SP_STORAGE_SHARDS_SHARD_SERVER_H

#include "storage/shards/shard_address.h"
#include "storage/shards/shard_versions.h"

/*
 * Serves rows to other processors (storage/shards/shard_frame.h) at one address.
 *
 * Each thread accepts connections and handles their requests itself, one after the other.  While a
 * peer does not read its responses, nothing is read from it; after ten seconds it is disconnected.
 * So is a peer that stops in the middle of a request for ten seconds or sends a malformed one.
 * There is no authentication and no TLS: the address must be in a private network.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_shard_server sp_shard_server;

typedef struct sp_shard_server_options {
	const sp_shard_address *address; /* port 0: any, see sp_shard_server_address() */
	size_t threads;                  /* 0: 1 */
	int64_t keep_ns;                 /* how long the previous version is served */
} sp_shard_server_options;

SP_MUST_CHECK sp_status sp_shard_server_create(sp_shard_server **out,
					       const sp_shard_server_options *options,
					       sp_error *err);
/* NULL is fine. */
void sp_shard_server_destroy(sp_shard_server *server);

/* The address that it listens at. */
const sp_shard_address *sp_shard_server_address(const sp_shard_server *server);

/* Where versions are published. */
sp_shard_versions *sp_shard_server_versions(sp_shard_server *server);

typedef struct sp_shard_server_counters {
	sp_shard_versions_counters rows;
	uint64_t connections; /* open now */
	uint64_t malformed;   /* connections ended because of what they sent */
	uint64_t bytes_sent;
} sp_shard_server_counters;

void sp_shard_server_count(sp_shard_server *server, sp_shard_server_counters *out);

#endif
