#ifndef SP_PROCESSOR_UPDATER_DECIDE_H
#define SP_PROCESSOR_UPDATER_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "incremental/discover.h"
#include "processor/updater/attempts.h"

/*
 * Decides what the updater does next, as pure functions of the versions on the disk, the live
 * version, orders, earlier attempts, and the clock.
 *
 * source.h collects the facts.  load.h, warm.h, versions.h and fold.h carry out one decision each
 * and decide nothing.
 *
 * Threads: pure.
 */

/* A version that may come next, examined only as far as a decision needs. */
typedef struct sp_candidate {
	sp_status found; /* SP_OK; else there is no such version, or no memory */
	sp_found_version version;
	uint64_t name, files; /* hashes of the version's name and of its files (attempts.h) */
	bool in_memory;       /* it was live before and is still in memory */
	bool is_gone;         /* its files were deleted */
	int64_t settle_ms;    /* how long its SavedModel must still stay unchanged; 0: no longer */
	sp_status complete;   /* SP_OK, or the fault of its set of files */
	sp_error why;         /* the error text of `found`, settle_ms or `complete` */
	bool is_done;         /* it was loaded, refused or put off in this look */
} sp_candidate;

typedef struct sp_live_facts {
	bool is_there; /* false: no version is live yet; the other fields are unset */
	sp_found_version version;
	bool is_rewritten; /* its files exist with other content, or it is broken */
} sp_live_facts;

typedef enum sp_order_kind {
	SP_ORDER_NONE, /* a look */
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
	sp_candidate without_delta; /* the full checkpoint of `newest`, without the delta */
	sp_candidate wanted;        /* what is pinned or ordered; for a rollback, the next to try */
} sp_situation;

typedef enum sp_action_kind {
	SP_ACTION_NONE,       /* nothing to do */
	SP_ACTION_FAIL,       /* the target was not found: target->found and target->why */
	SP_ACTION_BACK_OFF,   /* it failed with these files, and its next attempt is not due */
	SP_ACTION_WAIT,       /* for files to arrive or settle: target->why */
	SP_ACTION_SKIP,       /* it cannot be served again: a rollback tries the next one */
	SP_ACTION_REPUBLISH,  /* publish it again: it is in memory */
	SP_ACTION_LOAD_DELTA, /* the target's delta, if any, on the live full checkpoint */
	SP_ACTION_LOAD_FULL,  /* read a full checkpoint, or a SavedModel with its weights */
	SP_ACTION_LOAD_BOTH,  /* read a full checkpoint, then its delta */
} sp_action_kind;

typedef struct sp_action {
	sp_action_kind kind;
	sp_candidate *target; /* points into the situation; NULL for SP_ACTION_NONE */
	bool exact;           /* the full checkpoint must not replace its broken delta */
} sp_action;

/*
 * The next action.  A look calls it again when the action has been carried out and the target is
 * done: if a delta cannot be loaded, its full checkpoint may be loaded alone.
 */
sp_action sp_decide(sp_situation *situation);

/* Whether `found` should replace the live version. */
bool sp_decide_is_newer(const sp_live_facts *live, const sp_found_version *found);

/*
 * Whether what a rollback failed with may pass by itself: then the rollback stops, else it goes on
 * to an older version.  (When to load again after a failure, attempts.h decides.)
 */
bool sp_decide_may_pass(sp_status status);

/* ---------------------------------------------------------------- the clock */

typedef struct sp_schedule {
	int64_t looked_ms;   /* time of the last look */
	int64_t interval_ms; /* to the next look, unless something else wakes the thread */
	int64_t settled_ms;  /* when a settling version may be loaded; INT64_MAX: never */
	int64_t drain_ms;    /* until draining versions are checked; INT64_MAX: never */
	int64_t fold_ms;     /* until the fold continues; INT64_MAX: never */
} sp_schedule;

/* `woken`: something may have changed.  Works even if the clock is set back. */
bool sp_decide_look_is_due(const sp_schedule *schedule, int64_t now_ms, bool woken);

/* How long the thread sleeps, in milliseconds. */
int64_t sp_decide_pause(const sp_schedule *schedule, int64_t now_ms);

/*
 * The interval between looks: poll_ms, or less if a version is listed as waiting, so that its log
 * line is repeated in time; at most until the first wait ends (0: none ends by itself).
 */
int64_t sp_decide_interval(int64_t poll_ms, bool is_waiting, int64_t wait_ends_ms);

#endif
