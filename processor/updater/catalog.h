#ifndef SP_PROCESSOR_UPDATER_CATALOG_H
#define SP_PROCESSOR_UPDATER_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "incremental/discover.h"

/*
 * The versions that have been seen, and how far each has come:
 *
 *   discovered -> loading -> warming -> live -> draining -> retired
 *        ^           |          |                    |
 *        +-> refused <----------+--------------------+
 *
 * discovered  its files are there, but perhaps not all of them, or another one is pinned:
 *             `why` says what it waits for
 * loading     it is read into memory; back to discovered when the processor closes
 * warming     it answers its first requests, which nobody waits for
 * live        it answers all new requests; one version is
 * draining    requests that began under it are under way
 * retired     no request uses it any more; its files may still be there
 * refused     it is not served, and `why` says why: it is broken, or a rollback has left it;
 *             changed files make it discovered again
 *
 * Every move is a log line.  The last few dozen versions are remembered, each once: a version
 * that is served again goes on under a new number.  Only while one of that name is still used,
 * and its files are loaded anew, there are two.
 *
 * Threads: thread-safe, but for create and destroy.
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
 * The number of the version that `found` names (full_prefix is "" for the SavedModel's own
 * weights) and that waits to be loaded or is refused; one that is not known yet
 * is discovered now, and so is one that was loaded before under that name.
 * 0 when out of memory: then nothing is remembered of it.
 */
uint64_t sp_catalog_number(sp_catalog *catalog, const sp_found_version *found);

/*
 * The number of a version that is discovered and waits for something; 0 when
 * there is none of that name.  What it waits for is a line in the log again when
 * the last one is a minute old.
 */
uint64_t sp_catalog_remind(sp_catalog *catalog, const sp_found_version *found);

/*
 * What version `number` is made of (incremental/identity.h); a refused one that was made
 * of something else is discovered again, and may be refused again.
 */
void sp_catalog_note_files(sp_catalog *catalog, uint64_t number, uint64_t files);

/*
 * Moves a version on, and counts it; of `why`, which may be NULL, the words are
 * remembered, and refusals are counted by its status.  Moving to the state it
 * has only replaces the words, and logs them if they are others, or if a version
 * still waits for what it waited for a minute ago.  One that is tried once more
 * and refused for the same reason is neither counted nor told again.  An unknown
 * number is ignored.
 */
void sp_catalog_move(sp_catalog *catalog, uint64_t number, sp_version_state to,
		     const sp_error *why);

/*
 * A version that drains, or is retired, is refused when no request uses it any more: a
 * rollback has left it.  That is no refusal that is counted.
 */
void sp_catalog_mark_rolled_back(sp_catalog *catalog, uint64_t number, const char *why);

/* ------------------------------------------------------ what is on the disk */

/*
 * `found` is the newest version there is; NULL: the live one is.  With `pinned`, why it is not
 * loaded, one that was never loaded has these words.
 */
void sp_catalog_set_newest(sp_catalog *catalog, const sp_found_version *found, const char *pinned);

/*
 * Of the versions that wait or are refused, and that nobody has asked for by
 * sp_catalog_number() or sp_catalog_set_newest() since the last sp_catalog_end_look(), the first
 * after number `after`, its texts in `arena`.  0: there is none.
 */
uint64_t sp_catalog_next_waiting(sp_catalog *catalog, uint64_t after, sp_found_version *out,
				 sp_arena *arena);

/* A version that waits or is refused, and whose files are gone, was never there. */
void sp_catalog_forget(sp_catalog *catalog, uint64_t number);

void sp_catalog_end_look(sp_catalog *catalog);

/* From now on only that version is served; `by` says by whose order.  NULL: any. */
void sp_catalog_pin(sp_catalog *catalog, const sp_found_version *found, const char *by);

/* The state it has; SP_VERSION_RETIRED for an unknown one. */
sp_version_state sp_catalog_state(sp_catalog *catalog, uint64_t number);

/* What is live, in `arena`.  SP_NOT_FOUND before the first, SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_catalog_live(sp_catalog *catalog, sp_found_version *out, sp_arena *arena,
					sp_error *err);

/* What is counted beside moves, when it has succeeded. */
typedef enum sp_catalog_event {
	SP_EVENT_FOLD, /* a delta's rows of one table became part of its full checkpoint's */
	SP_EVENT_RELOAD,
	SP_EVENT_ROLLBACK,
	SP_EVENT_PIN, /* or its end */
} sp_catalog_event;

void sp_catalog_count(sp_catalog *catalog, sp_catalog_event event, int64_t took_ns);

/*
 * All of it, newest first, as a terminated text for sp_free(); NULL when out of memory:
 *
 *   {"versions":[{"full":"/models/ckpt/v1/model.ckpt-100","delta":"/...-120",
 *     "full_step":100,"delta_step":120,"state":"live","for_ms":4711,
 *     "known_ms":4900,"why":""}, ...],
 *    "live":{"full_step":100,"delta_step":120,"for_ms":4711},
 *    "newest":{"full_step":100,"delta_step":130,"lag_ms":250},
 *    "pinned":{"full_step":100,"delta_step":120,"for_ms":4700,"by":"127.0.0.1:4711"},
 *    "counts":{"loads":3,"published":2,"last_load_ms":170,"refusals":{"corrupt":1},
 *     "moves":{"discovered":3,"loading":3,"warming":2,"live":2,"draining":1,"retired":1,
 *     "refused":1},"folds":1,"last_fold_ms":40,"reloads":0,"rollbacks":1,"pins":0}}
 *
 * without the line breaks; "delta" is left out where there is none, steps are then -1,
 * "live" before the first, and "pinned" unless one is.  A version that is newer than the live
 * one has "newer":true, a refused one "reason", the class of it: a status's name, or
 * "rolled_back".  for_ms is how long a version has its state, known_ms how long
 * it has been known.
 *
 * "newest" is the newest that was seen on the disk, served or not.  Its lag_ms is 0 when that one
 * is live, else how long the oldest of those that are newer than the live one, and not served,
 * has been known; but no longer than the live one has not been the newest.
 *
 * Counts are from the beginning: how often a version began
 * to be loaded, was published, was refused for a reason of that class (sp_status_name();
 * those that never were are left out), how long it took from its loading to its
 * publishing the last time; the events; and how often a version came into each state.
 */
char *sp_catalog_json(sp_catalog *catalog);

#endif
