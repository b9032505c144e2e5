#ifndef SP_API_HOST_HTTP_HTTP_SERVERS_H
#define SP_API_HOST_HTTP_HTTP_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/http/http_server.h"
#include "base/status.h"

/* Servers on several ports that are otherwise alike; the functions are those of http_server.h. */
typedef struct sp_http_servers sp_http_servers;

typedef struct sp_http_address {
	const char *host;
	uint16_t port; /* 0: any free one */
} sp_http_address;

enum { SP_MAX_ADDRESSES = 4 };

/* `host` and `port` of the options are not used; their max_connections is for all together. */
SP_MUST_CHECK sp_status sp_http_servers_create(sp_http_servers **out,
					       const sp_http_address *addresses, size_t count,
					       const sp_http_options *options, sp_error *err);

/* The port of address `i`. */
uint16_t sp_http_servers_port(const sp_http_servers *servers, size_t i);

void sp_http_servers_drain(sp_http_servers *servers);
bool sp_http_servers_stop(sp_http_servers *servers, int64_t timeout_ms);

/* The sum of all; zeros for NULL. */
void sp_http_servers_get_load(const sp_http_servers *servers, sp_http_server_load *out);

/* NULL is fine. */
void sp_http_servers_destroy(sp_http_servers *servers);

#endif
