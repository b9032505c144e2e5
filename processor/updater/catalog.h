#ifndef SP_PROCESSOR_UPDATER_CATALOG_H
#define SP_PROCESSOR_UPDATER_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "incremental/discover.h"

/*
 * The known versions and their states:
 *
 *   discovered -> loading -> warming -> live -> draining -> retired
 *        ^           |          |                    |
 *        +-> refused <----------+--------------------+
 *
 * discovered  its files were seen, but some may be missing, or another version is pinned:
 *             `why` says what it waits for
 * loading     it is read into memory; back to discovered when the processor closes
 * warming     it answers warm-up requests
 * live        it answers all new requests; one version at a time
 * draining    it is not live any more, but some requests still use it
 * retired     no request uses it any more; its files may still exist
 * refused     it is not served, for the reason `why`: it is broken, or was rolled back; it is
 *             discovered again when its files change
 *
 * Every transition is logged.  The last few dozen versions are remembered, each once: a version
 * that is served again gets a new number.  Two have the same name only while one is still used and
 * its files are loaded again.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_catalog sp_catalog;

typedef enum sp_version_state {
	SP_VERSION_DISCOVERED,
	SP_VERSION_LOADING,
	SP_VERSION_WARMING,
	SP_VERSION_LIVE,
	SP_VERSION_DRAINING,
	SP_VERSION_RETIRED,
	SP_VERSION_REFUSED,
} sp_version_state;

/* "discovered" ... */
const char *sp_version_state_name(sp_version_state state);

/* NULL when out of memory. */
sp_catalog *sp_catalog_create(void);
void sp_catalog_destroy(sp_catalog *catalog);

/*
 * The number of the version that `found` names (full_prefix is "" for the SavedModel's own weights)
 * and that waits to be loaded or is refused.  An unknown version, or one of that name that was
 * loaded before, becomes discovered.  0 when out of memory: nothing is recorded.
 */
uint64_t sp_catalog_number(sp_catalog *catalog, const sp_found_version *found);

/*
 * The number of a discovered version that waits; 0 when there is none of that name.  Logs what it
 * waits for again if the last line is a minute old.
 */
uint64_t sp_catalog_remind(sp_catalog *catalog, const sp_found_version *found);

/*
 * Sets the identity of the files of version `number` (incremental/identity.h).  A refused version
 * with other files is discovered again, and may be refused again.
 */
void sp_catalog_note_files(sp_catalog *catalog, uint64_t number, uint64_t files);

/*
 * Moves a version to a state and counts the move.  `why`, which may be NULL, gives its reason;
 * refusals are counted by its status.  A move to the same state only replaces the reason, and logs
 * it if it is new, or if the version has waited for it for another minute.  A version that was
 * tried again and refused for the same reason is neither counted nor logged.  Unknown numbers are
 * ignored.
 */
void sp_catalog_move(sp_catalog *catalog, uint64_t number, sp_version_state to,
		     const sp_error *why);

/*
 * A version that drains or is retired becomes refused, as rolled back, when no request uses it any
 * more.  This does not count as a refusal.
 */
void sp_catalog_mark_rolled_back(sp_catalog *catalog, uint64_t number, const char *why);

/* ------------------------------------------------------ what is on the disk */

/*
 * `found` is the newest version; NULL: the live one is.  `pinned`, if not NULL, is the reason why
 * it is not loaded, and is set if it was never loaded.
 */
void sp_catalog_set_newest(sp_catalog *catalog, const sp_found_version *found, const char *pinned);

/*
 * The first version after number `after`, with texts in `arena`, that waits or is refused and was
 * not passed to sp_catalog_number() or sp_catalog_set_newest() since the last
 * sp_catalog_end_look().  0: none.
 */
uint64_t sp_catalog_next_waiting(sp_catalog *catalog, uint64_t after, sp_found_version *out,
				 sp_arena *arena);

/* No version can be found where they come from, for the reason `why`; NULL: they can. */
void sp_catalog_set_unreadable(sp_catalog *catalog, const sp_error *why);

/* Removes a version that waits or is refused, because its files are gone. */
void sp_catalog_forget(sp_catalog *catalog, uint64_t number);

void sp_catalog_end_look(sp_catalog *catalog);

/* Only this version is served from now on; `by` is who ordered it.  `found` NULL: no pin. */
void sp_catalog_pin(sp_catalog *catalog, const sp_found_version *found, const char *by);

/* The state of a version; SP_VERSION_RETIRED for an unknown one. */
sp_version_state sp_catalog_state(sp_catalog *catalog, uint64_t number);

/* Events counted besides moves, if successful. */
typedef enum sp_catalog_event {
	SP_EVENT_FOLD, /* rows of a delta were folded into a table of its full checkpoint */
	SP_EVENT_RELOAD,
	SP_EVENT_ROLLBACK,
	SP_EVENT_PIN, /* or unpin */
} sp_catalog_event;

void sp_catalog_count(sp_catalog *catalog, sp_catalog_event event, int64_t took_ns);

/*
 * All of it as a terminated text for sp_free(): what api/serving_processor.h says of
 * serving_processor_versions(), without "memory" and "tables".  NULL when out of memory.
 */
char *sp_catalog_json(sp_catalog *catalog);

#endif
