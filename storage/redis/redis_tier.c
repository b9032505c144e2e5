#include "storage/redis/redis_tier.h"

#include "storage/redis/redis_tier_internal.h"

static uint32_t partition_of(const sp_remote_table *base, int64_t key)
{
	const sp_redis_table *table = (const sp_redis_table *)base;

	switch (((const sp_redis_store *)base->store)->layout) {
	case SP_REDIS_DEEPREC:
		return (uint32_t)((uint64_t)key % 1000 % table->feature_count);
	case SP_REDIS_TFRA:
		return (uint32_t)sp_redis_tfra_slice(key, table->partitions);
	default:
		return (uint32_t)sp_redis_partition((uint64_t)key, table->partitions);
	}
}

static void count(const sp_remote_store *store, sp_tier_counters *out)
{
	sp_redis_counters client;

	sp_redis_client_counters(((const sp_redis_store *)store)->client, &client);
	out->servers = client.servers;
	out->servers_up = client.servers_up;
	out->round_trips = client.round_trip_count;
	out->round_trip_ns = client.round_trip_ns;
}

const sp_remote_source sp_redis__source = {
	.name = "redis",
	.title = "Redis",
	.partition = partition_of,
	.state_size = sp_redis__fetch_state_size,
	.send = sp_redis__send,
	.poll = sp_redis__poll,
	.stop_polling = sp_redis__stop_polling,
	.count = count,
	.close = sp_redis__store_close,
};

sp_status sp_redis_tier_open(sp_tier **out, sp_redis_store *store,
			     const sp_redis_table_options *options, sp_error *err)
{
	sp_redis_table *table = NULL;

	SP_TRY(sp_redis__table_create(&table, store, options, err));
	return sp_remote_tier_open(out, &table->base, err);
}
