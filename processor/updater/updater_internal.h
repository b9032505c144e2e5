#ifndef SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H
#define SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/thread.h"
#include "incremental/manifest.h"
#include "incremental/watch.h"
#include "processor/updater/attempts.h"
#include "processor/updater/updater.h"
#include "storage/table/layers_fold.h"

/* A delta that is being folded into its full checkpoint, one table after the other. */
typedef struct sp_updater_fold {
	int64_t due_ns;         /* when to go on; 0: there is nothing to do */
	size_t table;           /* of the live version's weights */
	sp_layers_fold *layers; /* of that table, under way; NULL: not begun */
	int64_t began_ns;
} sp_updater_fold;

/* Versions of a look that wait for something, by their numbers in the catalog. */
enum { SP_UPDATER_WAITS = 3 }; /* what is to come, what was found, and that without its delta */
typedef struct sp_updater_waits {
	uint64_t numbers[SP_UPDATER_WAITS];
	size_t count;
	int64_t end_ms; /* how long one of them waits at most; 0: its files have to come */
} sp_updater_waits;

/* What has been said of the folder, as hashes of lines: each is said once while it is true. */
enum { SP_UPDATER_NOTES = 8 };
typedef struct sp_updater_notes {
	uint64_t lines[SP_UPDATER_NOTES];
	size_t count;
} sp_updater_notes;

enum {
	SP_UPDATER_HISTORY = 64, /* versions that a rollback knows by name */
	SP_UPDATER_NAME_SIZE = 48,
};

/* Versions that were live, the last one at the end, each once; texts for sp_free(). */
typedef struct sp_updater_history {
	sp_found_version versions[SP_UPDATER_HISTORY];
	size_t count;
} sp_updater_history;

/* The version that is served and no other. */
typedef struct sp_updater_pinned {
	bool holds;
	int64_t full_step;
	int64_t delta_step;
	char by[256];
} sp_updater_pinned;

/*
 * The inside of the updater, shared by updater.c (its thread and its orders),
 * updater_look.c (what is new), updater_files.c (what has changed),
 * updater_publish.c (from files to the live version, and what becomes of the old
 * one), updater_back.c (what a rollback goes to) and updater_fold.c (a delta becomes
 * part of its full checkpoint).
 */
struct sp_updater {
	const sp_config *config;
	sp_catalog *catalog;
	sp_published *published;
	sp_watch *watch;
	sp_thread_group *thread;
	atomic_bool stopped;

	pthread_mutex_t turn; /* one order at a time */
	pthread_mutex_t lock; /* protects pending and its target's done */
	pthread_cond_t carried_out;
	struct order *pending;

	/* The rest is the thread's; before it starts, the opener's. */
	sp_arena *arena;    /* of one look or one order */
	const char *folder; /* where versions come; NULL: there is the SavedModel itself */
	bool numbered;      /* they are SavedModels of their own */
	sp_version *live;
	sp_version *draining; /* to be closed after their last request */

	/* What was live before, for a rollback; the last one itself where that costs little. */
	sp_updater_history history;
	sp_version *previous; /* NULL: its files are read again */

	sp_updater_fold fold; /* of the live version's delta */
	bool told_obstacle;   /* why some table is not folded */

	/* A SavedModel that was not old enough when it was looked at. */
	struct {
		uint64_t folder;
		uint64_t files;
		int64_t since_ms; /* on our clock, how long they have been as they are */
	} settling;
	int64_t look_ms; /* on our clock, when to look for it again; INT64_MAX: there is none */

	sp_updater_pinned pin;
	bool exact; /* a full checkpoint does not stand in for its broken delta */
	bool blind; /* no version can be found: a log line has said so */
	sp_attempts attempts;
	sp_updater_waits waits;
	sp_updater_notes notes;
	sp_error reason; /* why the last look has changed nothing; SP_OK: nothing is new */
};

static inline bool sp_updater__same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* ---------------------------------------------------------------- updater.c */

/* "100" or "100+110", as log lines have it. */
const char *sp_updater__name(char out[SP_UPDATER_NAME_SIZE], int64_t full_step, int64_t delta_step);

/* ----------------------------------------------------------- updater_back.c */

/* Makes `old` what a rollback goes to. */
void sp_updater__remember(sp_updater *u, const sp_version *old);

/* It is live: a rollback does not go to it. */
void sp_updater__unremember(sp_updater *u, const sp_version *version);

void sp_updater__forget_history(sp_updater *u);

/*
 * Publishes the version that was live before again, or the next older one on the disk;
 * `left`, the live one's name, is not what the next rollback goes to.  What is broken or
 * refused is passed over.
 */
SP_MUST_CHECK sp_status sp_updater__go_back(sp_updater *u, const sp_found_version *left,
					    sp_error *err);

/* -------------------------------------------------------- updater_publish.c */

/*
 * Loads what `found` names, warms it up and publishes it; else it is refused.  With `afresh`
 * everything is read again, also a full checkpoint that is in memory.
 *
 * When only the delta is broken the full checkpoint is published alone, if
 * nothing as good is live; the status is still the delta's.
 */
SP_MUST_CHECK sp_status sp_updater__bring_up(sp_updater *u, const sp_found_version *found,
					     bool afresh, sp_error *err);

/* Its first requests, then everybody's; else it is closed and refused. */
SP_MUST_CHECK sp_status sp_updater__warm_and_publish(sp_updater *u, sp_version *version,
						     uint64_t number, sp_error *err);

/* Makes it the live one; the old one drains, or is kept for a rollback. */
void sp_updater__publish(sp_updater *u, sp_version *version);

/* A version that could not be had: refused for what `err` says, unless it is for closing. */
void sp_updater__fail(sp_updater *u, uint64_t number, const sp_error *err);

/* Closes the versions that nobody uses or holds any more; true while there are others. */
bool sp_updater__drain(sp_updater *u);

/* Closes all versions; no request is under way, and nobody holds one. */
void sp_updater__close_versions(sp_updater *u);

/* Whether the full checkpoint of `found` is in memory already, as it is on disk. */
bool sp_updater__has_full(const sp_updater *u, const sp_found_version *found);

/* Puts `version` in the place of the live one, whose answers it gives, too. */
void sp_updater__replace_live(sp_updater *u, sp_version *version);

/* Gives up the memory of what a rollback would find there; it then reads it again. */
void sp_updater__drop_previous(sp_updater *u);

/* ----------------------------------------------------------- updater_fold.c */

/* After publishing: the live version's delta is to be folded, when its time has come. */
void sp_updater__expect_fold(sp_updater *u);

/* Something newer comes, or the end: what is under way is thrown away. */
void sp_updater__stop_fold(sp_updater *u);

/* Does a little of it; in how many milliseconds to go on, INT64_MAX for never. */
int64_t sp_updater__fold(sp_updater *u);

/* ----------------------------------------------------------- updater_memory.c*/

/* Bytes that another full checkpoint may take beside all that is loaded; 0: any. */
size_t sp_updater__room(const sp_updater *u);

/*
 * Until only what is live, and what a rollback goes to, is in memory; but for a
 * handle not for ever.  SP_BUSY when closing.
 */
SP_MUST_CHECK sp_status sp_updater__wait_for_requests(sp_updater *u, sp_error *err);

/* ---------------------------------------------------------- updater_files.c */

/* Wakes for changes of where versions come from, and of what the live one was read from. */
void sp_updater__watch(const sp_updater *u);

/* What `found` is read from beside a checkpoint, in u->arena. */
SP_MUST_CHECK sp_status sp_updater__list_files(const sp_updater *u, const sp_found_version *found,
					       sp_manifest *out, sp_error *err);

/* The bundle that `found`, without its delta, has its weights from.  NULL when out of memory. */
const char *sp_updater__weights_prefix(const sp_updater *u, const sp_found_version *found);

/* Whether the graph in memory, and the assets that it read, are those in these files. */
bool sp_updater__has_graph(const sp_updater *u, const sp_manifest *files);

/*
 * Whether the live version has to be read anew: something that it was read from is
 * there with other content, or its image is broken.
 */
bool sp_updater__is_rewritten(const sp_updater *u);

/*
 * Whether the SavedModel of `found`, whose files these are, may be taken for
 * complete; SP_BUSY in words when its assets have just changed: u->look_ms says
 * when to look again.
 */
SP_MUST_CHECK sp_status sp_updater__settle(sp_updater *u, const sp_found_version *found,
					   const sp_manifest *files, sp_error *err);

/* ----------------------------------------------------------- updater_look.c */

typedef enum sp_look {
	SP_LOOK_DONE,       /* there is nothing newer now */
	SP_LOOK_INCOMPLETE, /* files are missing, or no version is there at all */
	SP_LOOK_KNOWN,      /* it could not be had before, and has not changed */
	SP_LOOK_REFUSED, /* complete, and could not be loaded or warmed up, whatever the reason */
} sp_look;

/* Looks once, and loads what is new; u->reason says why it could not. */
sp_look sp_updater__look(sp_updater *u);

/* In how many milliseconds to look again, though nothing tells of a change. */
int64_t sp_updater__next_look_ms(const sp_updater *u);

/* The newest version there is; with steps >= 0 the one of these. */
SP_MUST_CHECK sp_status sp_updater__find(const sp_updater *u, sp_found_version *out,
					 int64_t full_step, int64_t delta_step, sp_error *err);

/* What it is made of, for the catalog. */
void sp_updater__note_files(sp_updater *u, const sp_found_version *found);

/* It was tried and failed so; SP_BUSY: it is not tried before its files change. */
void sp_updater__note_failure(sp_updater *u, const sp_found_version *found, sp_status status);

/* It may be tried again. */
void sp_updater__allow(sp_updater *u, const sp_found_version *found);

/* Whether its files are all there, and it was not refused as they are. */
bool sp_updater__may_serve(sp_updater *u, const sp_found_version *found);

#endif
