#ifndef SP_STORAGE_SHARDS_SHARD_VERSIONS_H
#define SP_STORAGE_SHARDS_SHARD_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "storage/shards/shard_frame.h"
#include "storage/table/table.h"

/*
 * The versions whose rows a process serves to others: the live full checkpoint and, for a while,
 * the previous one.  Deltas are not served: the other processes apply them themselves.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_shard_versions sp_shard_versions;

typedef struct sp_shard_version {
	int64_t full;     /* step of the full checkpoint */
	uint64_t content; /* identifies the checkpoint's rows */
	uint32_t slice, slices;
	const sp_table *const *tables; /* [count] */
	size_t count;
} sp_shard_version;

/* keep_ns: how long a version is kept after the next one was published. */
SP_MUST_CHECK sp_status sp_shard_versions_create(sp_shard_versions **out, int64_t keep_ns,
						 sp_error *err);
void sp_shard_versions_destroy(sp_shard_versions *versions);

/*
 * Makes a version the live one.  It holds references to the tables' layers below the deltas, so the
 * tables may be destroyed.  SP_UNSUPPORTED if a delta has been folded into a table.
 */
SP_MUST_CHECK sp_status sp_shard_versions_publish(sp_shard_versions *versions,
						  const sp_shard_version *version, sp_error *err);

/* Drops expired versions; returns when the next one expires, INT64_MAX: none will. */
int64_t sp_shard_versions_expire(sp_shard_versions *versions, int64_t now_ns);

/* Memory that a thread reuses for its responses; {0} at first. */
typedef struct sp_shard_memory {
	void *lookups;
	size_t capacity;
	void *scratch;
	size_t scratch_size;
} sp_shard_memory;

void sp_shard_memory_fini(sp_shard_memory *memory);

/*
 * Appends the response to a request.  The request's body is 8-byte aligned, and out->size is a
 * multiple of 8.  False: the request is malformed, or out of memory; nothing is appended.
 */
bool sp_shard_versions_respond(sp_shard_versions *versions, const sp_shard_header *header,
			       sp_bytes body, sp_buffer *out, sp_shard_memory *memory);

typedef struct sp_shard_versions_counters {
	uint64_t versions; /* now */
	uint64_t requests; /* LOOKUP */
	uint64_t keys, absent;
	uint64_t faults; /* requests answered by an error */
} sp_shard_versions_counters;

void sp_shard_versions_count(sp_shard_versions *versions, sp_shard_versions_counters *out);

#endif
