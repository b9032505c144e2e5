#ifndef SP_STORAGE_REDIS_REDIS_ADDRESS_H
#define SP_STORAGE_REDIS_REDIS_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * The address of a Redis server or cluster, with credentials:
 *
 *     HOST:PORT               DeepRec's redis_url; several for a cluster, separated by commas
 *     [IPV6]:PORT
 *     redis://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DB]
 *     unix:PATH, or unix://PATH
 *
 * User and password may have %XX escapes.  rediss:// (TLS) is refused.  Errors never show the text,
 * which may contain a password.
 *
 * Threads: pure.
 */
enum {
	SP_REDIS_HOST_SIZE = 256,
	SP_REDIS_SECRET_SIZE = 512,
	SP_REDIS_SERVERS = 16, /* addresses in a text */
	SP_REDIS_PORT = 6379,
};

typedef struct sp_redis_server {
	char host[SP_REDIS_HOST_SIZE]; /* or the path of a unix socket */
	int port;                      /* 0: a unix socket */
} sp_redis_server;

typedef struct sp_redis_address {
	sp_redis_server servers[SP_REDIS_SERVERS];
	size_t count; /* >= 1 */
	char user[SP_REDIS_SECRET_SIZE];
	char password[SP_REDIS_SECRET_SIZE]; /* "": none */
	int64_t db;
} sp_redis_address;

SP_MUST_CHECK sp_status sp_redis_address_parse(sp_redis_address *out, const char *text,
					       sp_error *err);

/* Replaces user and password; NULL: not replaced.  SP_INVALID if one is too long. */
SP_MUST_CHECK sp_status sp_redis_address_set_user(sp_redis_address *address, const char *user,
						  const char *password, sp_error *err);

/* "HOST:PORT" or the path; returns `out`. */
enum { SP_REDIS_NAME_SIZE = SP_REDIS_HOST_SIZE + 8 };
const char *sp_redis_server_name(const sp_redis_server *server, char out[SP_REDIS_NAME_SIZE]);

/* Overwrites the secrets. */
void sp_redis_address_fini(sp_redis_address *address);

#endif
