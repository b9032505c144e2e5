#ifndef SP_STORAGE_SHARDS_SHARD_ADDRESS_H
#define SP_STORAGE_SHARDS_SHARD_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * Where the holders of slices are:
 *
 *     HOST:PORT    a name, an IPv4 address, or an IPv6 address in brackets
 *     unix:PATH
 *
 * Threads: pure.
 */
enum {
	SP_SHARD_HOST_SIZE = 256,
	SP_SHARD_MAX_REPLICAS = 32, /* of a slice */
	SP_SHARD_MAX_PEERS = 256,   /* of all slices together; so slices */
};

typedef struct sp_shard_address {
	char host[SP_SHARD_HOST_SIZE]; /* or the path of a unix socket */
	int port;                      /* -1: a unix socket */
} sp_shard_address;

/* Port 0 is allowed if `any_port`, for listening. */
SP_MUST_CHECK sp_status sp_shard_address_parse(sp_shard_address *out, sp_bytes text, bool any_port,
					       sp_error *err);

/* Size of an address as text. */
enum { SP_SHARD_ADDRESS_TEXT = SP_SHARD_HOST_SIZE + 16 };

const char *sp_shard_address_text(const sp_shard_address *address, char out[SP_SHARD_ADDRESS_TEXT]);

/* The holders of all slices.  As text: slices are separated by ";", the replicas of one by ",". */
typedef struct sp_shard_peers {
	sp_shard_address items[SP_SHARD_MAX_PEERS];
	uint32_t slice_of[SP_SHARD_MAX_PEERS];
	size_t count;
	uint32_t slices;
} sp_shard_peers;

SP_MUST_CHECK sp_status sp_shard_peers_parse(sp_shard_peers *out, const char *text, sp_error *err);

#endif
