#include "api/host/http/http_servers.h"

#include "base/alloc.h"
#include "base/clock.h"

/* For requests that came before another port turned out not to be free. */
enum { LAST_WAIT_MS = 2000 };

struct sp_http_servers {
	sp_http_server *servers[SP_MAX_ADDRESSES];
	size_t count;
};

sp_status sp_http_servers_create(sp_http_servers **out, const sp_http_address *addresses,
				 size_t count, const sp_http_options *options, sp_error *err)
{
	sp_http_servers *servers = sp_alloc_zero(1, sizeof(*servers));
	sp_http_options each = *options;
	sp_status status = SP_OK;

	*out = NULL;
	if (servers == NULL)
		return sp_no_memory(err, "the servers");
	each.max_connections = (options->max_connections + count - 1) / count;
	*out = servers; /* the handler may be called from now on */
	for (; status == SP_OK && servers->count < count; servers->count += status == SP_OK) {
		each.host = addresses[servers->count].host;
		each.port = addresses[servers->count].port;
		status = sp_http_server_create(&servers->servers[servers->count], &each, err);
	}
	if (status != SP_OK && sp_http_servers_stop(servers, LAST_WAIT_MS)) {
		*out = NULL;
		sp_http_servers_destroy(servers);
	}
	return status;
}

uint16_t sp_http_servers_port(const sp_http_servers *servers, size_t i)
{
	return sp_http_server_port(servers->servers[i]);
}

void sp_http_servers_drain(sp_http_servers *servers)
{
	for (size_t i = 0; i < servers->count; i++)
		sp_http_server_drain(servers->servers[i]);
}

bool sp_http_servers_stop(sp_http_servers *servers, int64_t timeout_ms)
{
	int64_t end_ns = sp_clock_now_ns() + timeout_ms * 1000000;
	bool stopped = true;

	for (size_t i = 0; i < servers->count; i++) {
		int64_t left_ms = (end_ns - sp_clock_now_ns()) / 1000000;

		stopped &= sp_http_server_stop(servers->servers[i], left_ms > 0 ? left_ms : 0);
	}
	return stopped;
}

void sp_http_servers_get_load(const sp_http_servers *servers, sp_http_server_load *out)
{
	*out = (sp_http_server_load){0};
	for (size_t i = 0; servers != NULL && i < servers->count; i++) {
		sp_http_server_load load;

		sp_http_server_get_load(servers->servers[i], &load);
		out->open += load.open;
		out->busy += load.busy;
		out->dropped += load.dropped;
		out->turned_away += load.turned_away;
	}
}

void sp_http_servers_destroy(sp_http_servers *servers)
{
	if (servers == NULL)
		return;
	for (size_t i = 0; i < servers->count; i++)
		sp_http_server_destroy(servers->servers[i]);
	sp_free(servers);
}
