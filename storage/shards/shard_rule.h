#ifndef SP_STORAGE_SHARDS_SHARD_RULE_H
#define SP_STORAGE_SHARDS_SHARD_RULE_H

#include <stdint.h>

/*
 * Which slice of a table has a key: DeepRec's rule for partitioned variables,
 * FloorMod(FloorMod(key, 1000), count), by which every key is in one slice.  Threads: pure.
 */
enum { SP_SHARD_BUCKETS = 1000 };

static inline uint32_t sp_shard_of_key(int64_t key, uint32_t count)
{
	int64_t bucket = key % SP_SHARD_BUCKETS;

	if (bucket < 0)
		bucket += SP_SHARD_BUCKETS;
	return (uint32_t)bucket % count;
}

#endif
