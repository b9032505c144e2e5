#ifndef SP_PROCESSOR_UPDATER_VERSIONS_H
#define SP_PROCESSOR_UPDATER_VERSIONS_H

#include <stdatomic.h>

#include "processor/updater/catalog.h"
#include "processor/updater/history.h"
#include "processor/version/version.h"
#include "session_group/published.h"

/*
 * The versions in memory, from the moment one is published until it is closed:
 *
 *   live       answers all new requests; there is one from the first publishing on
 *   previous   was live before, and lies on the same full checkpoint: it costs a delta's memory
 *              and is kept, so that a rollback needs no file
 *   draining   are closed after their last request and their last handle
 *
 * Threads: the updater's.
 */
typedef struct sp_versions {
	sp_published *published;
	sp_catalog *catalog;
	const atomic_bool *closing; /* ends a wait for requests */
	size_t memory_limit;        /* bytes for all versions together; 0: any */
	sp_version *live;           /* NULL before the first */
	sp_version *previous;       /* NULL: a rollback reads files */
	sp_version *draining;
	sp_history history; /* without the live one */
} sp_versions;

/* Makes it the live one; the one before drains, or is kept for a rollback. */
void sp_versions_publish(sp_versions *versions, sp_version *version);

/* Puts it in the place of the live one, as the same version in the catalog. */
void sp_versions_replace_live(sp_versions *versions, sp_version *version);

/* Takes the one before out, for it to be published again; NULL when its memory was not kept. */
sp_version *sp_versions_take_previous(sp_versions *versions);

/* Gives up its memory: a rollback then reads its files again. */
void sp_versions_drop_previous(sp_versions *versions);

/* Whether it lies on the full checkpoint that is live. */
bool sp_versions_is_on_live(const sp_versions *versions, const sp_version *version);

/* Closes the versions that nobody uses or holds any more; true while there are others. */
bool sp_versions_drain(sp_versions *versions);

/*
 * Returns when only what is live, and what a rollback goes to, is in memory; but waits for
 * handles, which may be held for hours, ten seconds only.  SP_BUSY when closing.
 */
SP_MUST_CHECK sp_status sp_versions_wait_for_requests(sp_versions *versions, sp_error *err);

/* Bytes that another version may take beside all these; 0: any. */
size_t sp_versions_memory_left(const sp_versions *versions);

/* Closes all of them; no request is under way, and nobody holds one. */
void sp_versions_close(sp_versions *versions);

#endif
