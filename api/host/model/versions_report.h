#ifndef SP_API_HOST_MODEL_VERSIONS_REPORT_H
#define SP_API_HOST_MODEL_VERSIONS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The JSON of serving_processor_versions() as structs.  Texts are views of the JSON or of
 * the arena.  A missing member is 0 or empty; an unknown one is skipped.
 */
typedef struct sp_reported_version {
	int64_t full_step, delta_step;
	int64_t for_ms, known_ms;
	bool newer; /* than the live one */
	sp_bytes state, why;
	sp_bytes reason; /* class of the refusal */
} sp_reported_version;

typedef struct sp_reported_steps {
	bool is_present;
	int64_t full_step, delta_step;
	int64_t lag_ms;
} sp_reported_steps;

typedef struct sp_reported_failure {
	int64_t for_ms;
	sp_bytes why; /* empty: there is none */
} sp_reported_failure;

typedef struct sp_reported_count {
	sp_bytes name;
	int64_t count;
} sp_reported_count;

typedef struct sp_reported_table {
	sp_bytes name;
	int64_t rows, overlay_rows, memory;
	int64_t keys, absent;
	sp_bytes tier; /* empty: all rows are in memory, and the numbers below are 0 */
	int64_t in_memory, cached, missed, errors, bytes_read;
	int64_t servers; /* 0: the tier has none, nor the numbers below */
	int64_t servers_up, defaulted, round_trips, round_trip_us;
	int64_t disks; /* 0: rows of servers are not kept on a disk, and the numbers below are 0 */
	int64_t disks_up, disk_hits, disk_errors, disk_dropped;
} sp_reported_table;

/* [count] of one of the structs around. */
typedef struct sp_reported_list {
	void *items;
	size_t count;
} sp_reported_list;

/* Rows that a trainer streams, of the live version. */
typedef struct sp_reported_stream {
	bool is_present;
	bool connected, paused;
	int64_t errors, lag_messages, lag_ms, messages, rows, states, incomplete_batches;
	int64_t keys, memory;
	sp_reported_list skipped; /* sp_reported_count by reason */
} sp_reported_stream;

typedef struct sp_versions_report {
	sp_reported_list versions; /* sp_reported_version, newest first */
	sp_reported_steps newest, pinned;
	sp_reported_failure unreadable; /* no version can be found where they come from */
	sp_reported_list moves;         /* sp_reported_count by state */
	sp_reported_list refusals;      /* sp_reported_count by class */
	int64_t last_load_ms, folds, last_fold_ms, reloads, rollbacks, pins;
	int64_t memory;
	sp_reported_list owners;               /* sp_reported_count: bytes by owner */
	sp_reported_list shards, shard_events; /* sp_reported_count: of other processors */
	sp_reported_list tables;               /* sp_reported_table */
	sp_reported_stream row_stream;
} sp_versions_report;

/* Errors: SP_CORRUPT if `json` is not such JSON, SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_versions_report_read(sp_versions_report *out, const char *json,
						sp_arena *arena, sp_error *err);

/* Asks the library for the report of a processor; texts are in the arena. */
SP_MUST_CHECK sp_status sp_versions_report_ask(sp_versions_report *out, void *processor,
					       sp_arena *arena, sp_error *err);

/* The live version; NULL: none. */
const sp_reported_version *sp_versions_report_live(const sp_versions_report *report);

#endif
