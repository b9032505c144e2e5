#ifndef SP_PROCESSOR_UPDATER_RECALL_H
#define SP_PROCESSOR_UPDATER_RECALL_H

#include <stdbool.h>
#include <stdint.h>

#include "processor/updater/source.h"
#include "storage/redis/redis_client.h"

/*
 * Where rows are in Redis, all processors go back to an earlier version together: `serving_tool
 * publish --rollback` names it there, and the version that is left.  It is served until a full
 * checkpoint comes that is newer than the one that was left.
 *
 * Redis is asked at most once per second; while it does not answer, its last answer counts.
 *
 * Threads: the updater's.
 */
typedef struct sp_recall {
	sp_redis_client *client; /* NULL: rows are not in Redis, or none yet */
	int64_t due_ns;          /* when to ask next */
	bool holds;
	int64_t full, left; /* what is served, and up to which version instead of what is newer */
	int64_t told;       /* the full step that was logged; -1: none */
} sp_recall;

/* {0} is fine for all of them.  Replaces *found if it is recalled; its texts are in the arena. */
void sp_recall_apply(sp_recall *recall, const sp_source *source, sp_found_version *found);

void sp_recall_fini(sp_recall *recall);

#endif
