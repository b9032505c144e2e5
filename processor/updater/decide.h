#ifndef SP_PROCESSOR_UPDATER_DECIDE_H
#define SP_PROCESSOR_UPDATER_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "incremental/discover.h"
#include "processor/updater/attempts.h"

/*
 * What the updater does next, as pure functions of what is on the disk, what is live, what is
 * ordered, what was tried before, and the clock.
 *
 * source.h looks and fills in the facts.  load.h, warm.h, versions.h and fold.h carry out what
 * is decided here, one thing each.  None of them decides.
 *
 * Threads: pure.
 */

/* A version that may come next.  It is examined only as far as a decision needs. */
typedef struct sp_candidate {
	sp_status found; /* SP_OK; else there is no such version, or no memory to look at it */
	sp_found_version version;
	uint64_t name, files; /* hashes of the version's name and of its files (attempts.h) */
	bool in_memory;       /* it was live before, and its memory was kept */
	bool is_gone;         /* its files were deleted */
	int64_t settle_ms;    /* for so long its SavedModel has to stay unchanged; 0: it has */
	sp_status complete;   /* SP_OK, or what is wrong with the set of its files */
	sp_error why;         /* says in words what `found`, settle_ms or `complete` says */
	bool is_done;         /* it was loaded, refused or put off in this look */
} sp_candidate;

typedef struct sp_live_facts {
	bool is_there; /* false: no version is live yet, and the rest is not filled in */
	sp_found_version version;
	bool is_rewritten; /* what it was read from is there with other content, or it is broken */
} sp_live_facts;

typedef enum sp_order_kind {
	SP_ORDER_NONE, /* a look, by itself */
	SP_ORDER_RELOAD,
	SP_ORDER_ROLLBACK,
	SP_ORDER_PIN,
	SP_ORDER_UNPIN,
} sp_order_kind;

typedef struct sp_situation {
	int64_t now_ns;
	const sp_attempts *attempts;
	sp_live_facts live;
	sp_order_kind order;
	bool is_pinned;

	sp_candidate newest;        /* on the disk */
	sp_candidate without_delta; /* the full checkpoint of that, without the delta */
	sp_candidate wanted; /* what is pinned or ordered; for a rollback, the next one back */
} sp_situation;

typedef enum sp_action_kind {
	SP_ACTION_NONE,       /* what is live is what should be */
	SP_ACTION_FAIL,       /* the target was not found: target->found and target->why */
	SP_ACTION_BACK_OFF,   /* it was tried as it is, and its next attempt is not due */
	SP_ACTION_WAIT,       /* for files, or for them to settle: target->why */
	SP_ACTION_SKIP,       /* it cannot be served again: a rollback goes on to the next one */
	SP_ACTION_REPUBLISH,  /* publish it once more: it is in memory */
	SP_ACTION_LOAD_DELTA, /* lay the target's delta, if it has one, on the live full checkpoint
			       */
	SP_ACTION_LOAD_FULL,  /* read a full checkpoint, or a SavedModel with its weights */
	SP_ACTION_LOAD_BOTH,  /* read a full checkpoint, and its delta on it */
} sp_action_kind;

typedef struct sp_action {
	sp_action_kind kind;
	sp_candidate *target; /* in the situation; NULL for SP_ACTION_NONE */
	bool exact;           /* the full checkpoint does not stand in for its broken delta */
} sp_action;

/*
 * The next action.  A look calls it again once the action is carried out and the target is
 * done: a delta that cannot be had leaves its full checkpoint to be taken alone.
 */
sp_action sp_decide(sp_situation *situation);

/* Whether it is to be taken in place of what is live. */
bool sp_decide_is_newer(const sp_live_facts *live, const sp_found_version *found);

/*
 * Whether what a rollback failed with may pass by itself: then the rollback stops, else it goes on
 * to an older version.  (When to load again after a failure, attempts.h decides.)
 */
bool sp_decide_may_pass(sp_status status);

/* ---------------------------------------------------------------- the clock */

typedef struct sp_schedule {
	int64_t looked_ms;   /* when the folder was looked at last */
	int64_t interval_ms; /* from there to the next look, if nothing else tells of a change */
	int64_t settled_ms;  /* when something that settles may be loaded; INT64_MAX: never */
	int64_t drain_ms;    /* until draining versions are looked after; INT64_MAX: never */
	int64_t fold_ms;     /* until folding goes on; INT64_MAX: never */
} sp_schedule;

/* `woken`: something may have changed.  A clock that goes back stops nothing. */
bool sp_decide_look_is_due(const sp_schedule *schedule, int64_t now_ms, bool woken);

/* How long the thread sleeps, in milliseconds. */
int64_t sp_decide_pause(const sp_schedule *schedule, int64_t now_ms);

/*
 * The interval between looks: poll_ms, but where something is listed as waiting, short enough to
 * remind of it, and no longer than until the first wait is over (0: none ends by itself).
 */
int64_t sp_decide_interval(int64_t poll_ms, bool is_waiting, int64_t wait_ends_ms);

#endif
