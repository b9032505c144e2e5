#ifndef SP_STORAGE_SHARDS_SHARD_HOLDINGS_H
#define SP_STORAGE_SHARDS_SHARD_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "storage/shards/shard_frame.h"
#include "storage/table/table.h"

/*
 * The rows that a process has for others: those of the full checkpoint that is live, and for a
 * while of the one before.  Deltas are not part of it: who asks lays them over the rows itself.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_shard_holdings sp_shard_holdings;

typedef struct sp_shard_version {
	int64_t full;     /* step of the full checkpoint */
	uint64_t content; /* identifies the checkpoint's rows */
	uint32_t slice, slices;
	const sp_table *const *tables; /* [count] */
	size_t count;
} sp_shard_version;

/* keep_ns: how long a version stays after another has been published. */
SP_MUST_CHECK sp_status sp_shard_holdings_create(sp_shard_holdings **out, int64_t keep_ns,
						 sp_error *err);
void sp_shard_holdings_destroy(sp_shard_holdings *holdings);

/*
 * Makes a version the live one.  It keeps the layers of the tables below the deltas, whatever
 * becomes of the tables.  SP_UNSUPPORTED when a delta has been folded into them.
 */
SP_MUST_CHECK sp_status sp_shard_holdings_publish(sp_shard_holdings *holdings,
						  const sp_shard_version *version, sp_error *err);

/* Drops the versions whose time is over; returns when the next one's is, INT64_MAX: never. */
int64_t sp_shard_holdings_expire(sp_shard_holdings *holdings, int64_t now_ns);

/* Memory that one thread's answers use again; {0} at first. */
typedef struct sp_shard_memory {
	void *lookups;
	size_t capacity;
	void *scratch;
	size_t scratch_size;
} sp_shard_memory;

void sp_shard_memory_fini(sp_shard_memory *memory);

/*
 * Appends the answer to a question, whose body is 8-byte aligned; so is the answer if out->size is
 * a multiple of 8.  False: the question is malformed, or memory was out; nothing is appended.
 */
bool sp_shard_holdings_answer(sp_shard_holdings *holdings, const sp_shard_header *header,
			      sp_bytes body, sp_buffer *out, sp_shard_memory *memory);

typedef struct sp_shard_holdings_counters {
	uint64_t versions;  /* held now */
	uint64_t questions; /* for rows */
	uint64_t keys, absent;
	uint64_t faults; /* questions answered by an error */
} sp_shard_holdings_counters;

void sp_shard_holdings_count(sp_shard_holdings *holdings, sp_shard_holdings_counters *out);

#endif
