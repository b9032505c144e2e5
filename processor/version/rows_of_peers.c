#include "processor/version/rows_of_peers.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"

/* All find a new version at about the same time, and load slices of about the same size. */
enum { VERSION_TIMEOUT_MS = 2000 };

static sp_status connect_to_peers(sp_config *config, sp_error *err)
{
	sp_shard_peers *peers = sp_alloc(sizeof(*peers));
	const sp_shard_client_options options = {.peers = peers,
						 .hedge_ms = config->shard_hedge_ms};
	sp_status status;

	SP_NEED_MEMORY(peers, err, "the addresses of other processors");
	status = sp_shard_peers_parse(peers, config->shard_peers, err);
	if (status == SP_OK)
		status = sp_shard_client_create(&config->shard_client, &options, err);
	sp_free(peers);
	return status;
}

static sp_status listen_for_peers(sp_config *config, sp_error *err)
{
	sp_shard_address address;
	const sp_shard_server_options options = {.address = &address,
						 .threads = (size_t)config->shard_threads,
						 .keep_ns = config->shard_keep_seconds *
							    INT64_C(1000000000)};
	char text[SP_SHARD_ADDRESS_TEXT];

	SP_TRY(sp_shard_address_parse(&address, sp_bytes_of(config->shard_listen), true, err));
	SP_TRY(sp_shard_server_create(&config->shard_server, &options, err));
	sp_log(SP_LOG_INFO, "other processors are answered at %s",
	       sp_shard_address_text(sp_shard_server_address(config->shard_server), text));
	return SP_OK;
}

sp_status sp_rows_of_peers_open(sp_config *config, sp_error *err)
{
	if (config->shard_peers != NULL)
		SP_TRY(connect_to_peers(config, err));
	if (config->shard_listen != NULL)
		return sp_error_prefix(err, listen_for_peers(config, err),
				       "configuration key 'shard_listen'");
	return SP_OK;
}

void sp_rows_of_peers_close(sp_config *config)
{
	sp_shard_client_destroy(config->shard_client);
	sp_shard_server_destroy(config->shard_server);
	config->shard_client = NULL;
	config->shard_server = NULL;
}

/* As the same checkpoint has it everywhere. */
static int64_t step_of(int64_t full_step)
{
	return full_step > 0 ? full_step : 0;
}

sp_status sp_rows_of_peers_find(sp_shard_store **out, const sp_config *config,
				const sp_version *version, sp_error *err)
{
	const sp_shard_store_options options = {
		.client = config->shard_client,
		.full = step_of(version->full_step),
		.content = version->peers_content,
		.timeout_ms = config->shard_timeout_ms,
		.fail_on_timeout = config->shard_on_timeout == 1,
		.version_timeout_ms = VERSION_TIMEOUT_MS,
		.cache_bytes = (size_t)config->ev_storage_size[0],
		.policy = (sp_row_cache_policy)config->ev_cache_policy,
		.closing = config->embeddings.closing,
	};
	sp_status status;

	*out = NULL;
	if (config->shard_client == NULL)
		return SP_OK;
	status = sp_shard_store_open(out, &options, err);
	if (status != SP_NOT_FOUND)
		return status;
	if (err != NULL)
		err->status = SP_IO;
	return SP_IO;
}

static sp_status publish(const sp_config *config, const sp_version *version, sp_error *err)
{
	const sp_load_policy *policy = &config->embeddings;
	size_t count = sp_weights_table_count(version->weights);
	const sp_table **tables = sp_alloc_zero(count + 1, sizeof(*tables));
	const sp_shard_version shared = {
		.full = step_of(version->full_step),
		.content = version->peers_content,
		.slice = config->shard_embedding ? (uint32_t)policy->slice : 0,
		.slices = config->shard_embedding ? (uint32_t)policy->slice_count : 1,
		.tables = tables,
		.count = count};
	sp_status status;

	SP_NEED_MEMORY(tables, err, "the tables for other processors");
	for (size_t i = 0; i < count; i++)
		tables[i] = sp_weights_table(version->weights, i);
	status = sp_shard_versions_publish(sp_shard_server_versions(config->shard_server), &shared,
					   err);
	sp_free(tables);
	return status;
}

void sp_rows_of_peers_publish(const sp_config *config, const sp_version *version)
{
	sp_error err;

	if (config->shard_server != NULL && publish(config, version, &err) != SP_OK)
		sp_log(SP_LOG_WARNING, "other processors do not get version %lld: %s",
		       (long long)version->full_step, err.text);
}

static void tell_of_asking(sp_buffer *json, sp_shard_client *client)
{
	sp_shard_client_counters c;

	sp_shard_client_count(client, &c);
	sp_buffer_printf(json,
			 ",\"shards\":{\"peers\":%" PRIu64 ",\"peers_up\":%" PRIu64
			 ",\"slices_down\":%" PRIu64 "}",
			 c.peers, c.peers_up, c.slices_down);
	sp_buffer_printf(json,
			 ",\"shard_events\":{\"asked\":%" PRIu64 ",\"hedged\":%" PRIu64
			 ",\"asked_again\":%" PRIu64 ",\"unanswered\":%" PRIu64
			 ",\"connections_lost\":%" PRIu64 "}",
			 c.requests, c.hedges, c.retries, c.failures, c.losses);
}

static void tell_of_answering(sp_buffer *json, sp_shard_server *server)
{
	sp_shard_server_counters c;

	sp_shard_server_count(server, &c);
	sp_buffer_printf(json, ",\"shards\":{\"connections\":%" PRIu64 ",\"versions\":%" PRIu64 "}",
			 c.connections, c.rows.versions);
	sp_buffer_printf(json,
			 ",\"shard_events\":{\"answered\":%" PRIu64 ",\"answered_keys\":%" PRIu64
			 ",\"absent_keys\":%" PRIu64 ",\"answered_by_error\":%" PRIu64
			 ",\"malformed\":%" PRIu64 "}",
			 c.rows.requests, c.rows.keys, c.rows.absent, c.rows.faults, c.malformed);
}

void sp_rows_of_peers_tell(sp_buffer *json, const sp_config *config)
{
	if (config->shard_client != NULL)
		tell_of_asking(json, config->shard_client);
	if (config->shard_server != NULL)
		tell_of_answering(json, config->shard_server);
}
