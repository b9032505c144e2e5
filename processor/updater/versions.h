#ifndef SP_PROCESSOR_UPDATER_VERSIONS_H
#define SP_PROCESSOR_UPDATER_VERSIONS_H

#include <stdatomic.h>

#include "processor/updater/catalog.h"
#include "processor/updater/found.h"
#include "processor/version/version.h"
#include "session_group/published.h"

/*
 * The versions in memory, from publishing to closing:
 *
 *   live       answers all new requests; there is one after the first publishing
 *   previous   was live before and shares the full checkpoint, so it costs only a delta's memory:
 *              kept, so that a rollback reads no files
 *   draining   closed after their last request and their last handle
 *
 * Threads: the updater's.
 */
typedef struct sp_versions {
	sp_published *published;
	sp_catalog *catalog;
	const atomic_bool *closing; /* true: stop waiting for requests */
	size_t memory_limit;        /* limit of all versions together, bytes; 0: none */
	sp_version *live;           /* NULL before the first */
	sp_version *previous;       /* NULL: a rollback reads files */
	sp_version *draining;
	sp_history history; /* without the live version */
} sp_versions;

/* Makes `version` the live one; the old one drains, or is kept for a rollback. */
void sp_versions_publish(sp_versions *versions, sp_version *version);

/* Replaces the live version by one that is the same version in the catalog. */
void sp_versions_replace_live(sp_versions *versions, sp_version *version);

/* Removes and returns the previous version, to publish it again; NULL: it was not kept. */
sp_version *sp_versions_take_previous(sp_versions *versions);

/* Frees the previous version: a rollback must then read files. */
void sp_versions_drop_previous(sp_versions *versions);

/* Whether it shares the full checkpoint of the live version. */
bool sp_versions_is_on_live(const sp_versions *versions, const sp_version *version);

/* Closes versions without requests and handles; true while others are left. */
bool sp_versions_drain(sp_versions *versions);

/*
 * Returns when only the live and the previous version are in memory; waits for handles, which may
 * be held for hours, only ten seconds.  SP_BUSY when closing.
 */
SP_MUST_CHECK sp_status sp_versions_wait_for_requests(sp_versions *versions, sp_error *err);

/* Bytes that another version may take in addition; 0: no limit. */
size_t sp_versions_memory_left(const sp_versions *versions);

/* Closes all versions; only when no request is running and no handle is held. */
void sp_versions_close(sp_versions *versions);

#endif
