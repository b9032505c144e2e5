#include "incremental/discover.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/folder.h"
#include "model_loader/checkpoint/checkpoint_name.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LONG_AGO     (-1e30)

enum { TRUST_SECONDS = 60 }; /* how far the clocks of two machines may differ */

/* State of one call.  Times are doubles in seconds, because a file may have any time. */
typedef struct search {
	sp_arena *arena;
	double now;
	double quiet;
	sp_discover_note *notes;
	bool failed; /* out of memory for a note */
} search;

static double seconds_of(struct timespec time)
{
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static search search_init(const sp_discover_options *options, sp_arena *arena)
{
	search s = {.arena = arena, .quiet = SP_DISCOVER_QUIET_MS / 1000.0};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	s.now = seconds_of(now);
	if (options != NULL) {
		s.quiet = (double)options->quiet_ms / 1000;
		s.now = options->now_ms != 0 ? (double)options->now_ms / 1000 : s.now;
	}
	return s;
}

/* `text` is in the arena; NULL: out of memory. */
static void note(search *s, const char *text)
{
	sp_discover_note *more = sp_arena_alloc(s->arena, sizeof(*more));

	s->failed |= more == NULL || text == NULL;
	if (s->failed)
		return;
	*more = (sp_discover_note){.text = text, .next = s->notes};
	s->notes = more;
}

/* ---------------------------------------------------- the steps in one folder */

/* The greatest step in (above, last] of the index files or of the data files. */
typedef struct best_step {
	sp_checkpoint_part part;
	int64_t above, last;
	int64_t step; /* -1: there is none */
	const char *prefix;
	const char *other; /* another prefix with the same step, or NULL */
} best_step;

static best_step best_step_of(sp_checkpoint_part part, int64_t above, int64_t last)
{
	return (best_step){.part = part, .above = above, .last = last, .step = -1};
}

/* If two prefixes have the same step, the one that sorts first is used. */
static void compare_prefix(best_step *best, int64_t step, const char *prefix)
{
	int order = best->prefix != NULL ? strcmp(prefix, best->prefix) : -1;

	if (step > best->step) {
		best->other = NULL;
	} else if (order < 0) {
		best->other = best->prefix;
	} else {
		if (order > 0 && (best->other == NULL || strcmp(prefix, best->other) < 0))
			best->other = prefix;
		return;
	}
	best->step = step;
	best->prefix = prefix;
}

/* Sets *info only if *found. */
static sp_status find_file(const char **prefix, bool *found, struct stat *info, const search *s,
			   const char *folder, const char *name, sp_error *err)
{
	sp_bytes stem = sp_checkpoint_name_of(name).prefix;
	const char *path = sp_arena_printf(s->arena, "%s/%s", folder, name);

	*prefix = sp_arena_printf(s->arena, "%s/%.*s", folder, (int)stem.size, stem.data);
	SP_NEED_MEMORY(path != NULL && *prefix != NULL, err, "the names of a version");
	return sp_folder_find(found, info, path, S_IFREG, err);
}

/* Updates `best`, which may come from another folder. */
static sp_status find_best_step(best_step *best, const search *s, const char *folder, sp_error *err)
{
	sp_folder entries;

	SP_TRY(sp_folder_list(&entries, folder, s->arena, err));
	for (size_t i = 0; i < entries.count; i++) {
		sp_checkpoint_name is = sp_checkpoint_name_of(entries.names[i]);
		const char *prefix;
		struct stat info;
		bool found;

		if (is.part != best->part || is.step <= best->above || is.step > best->last ||
		    is.step < best->step)
			continue;
		SP_TRY(find_file(&prefix, &found, &info, s, folder, entries.names[i], err));
		if (found)
			compare_prefix(best, is.step, prefix);
	}
	return SP_OK;
}

static sp_status find_delta(best_step *out, const search *s, const char *folder, int64_t above,
			    int64_t last, sp_error *err)
{
	/* DeepRec's code uses the first name, its documentation the second. */
	static const char *const names[] = {".incremental_checkpoint", ".incremental_ckpt"};

	*out = best_step_of(SP_CHECKPOINT_INDEX, above, last);
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *deltas = sp_arena_printf(s->arena, "%s/%s", folder, names[i]);
		sp_error why;
		sp_status status;

		SP_NEED_MEMORY(deltas, err, "the names of a version");
		status = find_best_step(out, s, deltas, &why);
		if (status != SP_OK && status != SP_NOT_FOUND) /* NOT_FOUND: no deltas */
			return sp_error_set(err, status, "%s", why.text);
	}
	return SP_OK;
}

/* The greatest full checkpoint up to step `last`, and the greatest delta on it up to `last`. */
static sp_status find_up_to(sp_found_version *out, const search *s, const char *folder,
			    int64_t last, sp_error *err)
{
	best_step full = best_step_of(SP_CHECKPOINT_INDEX, -1, last), delta;

	SP_TRY(find_best_step(&full, s, folder, err));
	delta = best_step_of(SP_CHECKPOINT_INDEX, full.step, last);
	if (full.prefix != NULL)
		SP_TRY(find_delta(&delta, s, folder, full.step, last, err));
	*out = (sp_found_version){.full_prefix = full.prefix,
				  .full_step = full.step,
				  .delta_prefix = delta.prefix,
				  .delta_step = delta.step};
	return SP_OK;
}

/* ---------------------------------------------------------- choice of the folder */

typedef struct version_folder {
	struct version_folder *next;
	const char *name; /* last part of `path` */
	const char *path;
	struct timespec time;   /* mtime of `checkpoint` */
	bool plausible;         /* see discover.h */
	sp_found_version found; /* set by find_up_to(); full_step -1: no checkpoint */
} version_folder;

/* Lists the folders that have a file `checkpoint`. */
static sp_status list_folders(version_folder **out, const search *s, const char *root,
			      sp_error *err)
{
	sp_folder entries;

	*out = NULL;
	SP_TRY(sp_folder_list(&entries, root, s->arena, err));
	for (size_t i = 0; i < entries.count; i++) {
		const char *name = entries.names[i];
		const char *path = sp_arena_printf(s->arena, "%s/%s/checkpoint", root, name);
		version_folder *folder = sp_arena_zeros(s->arena, 1, sizeof(*folder));
		struct stat info;
		bool found;
		double written;

		if (!sp_checkpoint_is_version(name))
			continue;
		SP_NEED_MEMORY(path != NULL && folder != NULL, err, "the names of a version");
		SP_TRY(sp_folder_find(&found, &info, path, S_IFREG, err));
		if (!found)
			continue;
		written = seconds_of(info.st_mtim);
		*folder = (version_folder){.next = *out,
					   .name = name,
					   .path = sp_arena_printf(s->arena, "%s/%s", root, name),
					   .time = info.st_mtim,
					   .plausible = written <= s->now + TRUST_SECONDS &&
							written <= seconds_of(info.st_ctim) +
									   TRUST_SECONDS};
		SP_NEED_MEMORY(folder->path, err, "the names of a version");
		*out = folder;
	}
	return SP_OK;
}

/* The folder with an implausible time whose name sorts first; NULL if there is none. */
static const version_folder *find_implausible(const version_folder *list)
{
	const version_folder *first = NULL;

	for (const version_folder *f = list; f != NULL; f = f->next)
		if (!f->plausible && (first == NULL || strcmp(f->name, first->name) < 0))
			first = f;
	return first;
}

/* The order of the header, for two folders whose `found` is set. */
static bool is_newer(const version_folder *a, const version_folder *b, bool by_time)
{
	if (by_time && a->time.tv_sec != b->time.tv_sec)
		return a->time.tv_sec > b->time.tv_sec;
	if (a->found.full_step != b->found.full_step)
		return a->found.full_step > b->found.full_step;
	if (a->found.delta_step != b->found.delta_step)
		return a->found.delta_step > b->found.delta_step;
	return strcmp(a->name, b->name) > 0;
}

static const char *reason_of(const version_folder *best, const version_folder *other)
{
	if (best->found.full_step != other->found.full_step)
		return "has the greater step";
	return best->found.delta_step != other->found.delta_step ? "has the greater delta"
								 : "sorts last";
}

static const char *time_text(char out[40], time_t time)
{
	struct tm parts;

	if (gmtime_r(&time, &parts) == NULL || strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(out, 40, "%lld s", (long long)time);
	return out;
}

static void note_choice(search *s, const version_folder *best, const version_folder *other,
			const version_folder *implausible)
{
	char time[40];

	if (implausible != NULL)
		note(s,
		     sp_arena_printf(s->arena,
				     "%s/checkpoint has a time that cannot be true, %s, so times "
				     "choose no folder: %s is served, because it %s, and %s is not",
				     implausible->path, time_text(time, implausible->time.tv_sec),
				     best->path, reason_of(best, other), other->path));
	else
		note(s, sp_arena_printf(s->arena,
					"the files 'checkpoint' of two folders were changed in the "
					"same second: %s is served, because it %s, and %s is not",
					best->path, reason_of(best, other), other->path));
}

/* Keeps only the folders of the latest second. */
static void keep_latest(version_folder **list)
{
	time_t latest = (*list)->time.tv_sec;

	for (const version_folder *f = *list; f != NULL; f = f->next)
		if (f->time.tv_sec > latest)
			latest = f->time.tv_sec;
	while (*list != NULL)
		if ((*list)->time.tv_sec < latest)
			*list = (*list)->next;
		else
			list = &(*list)->next;
}

/* The newest folder of a non-empty list.  Folders are read only if their times do not decide. */
static sp_status choose(const version_folder **out, search *s, version_folder *list,
			const version_folder *implausible, sp_error *err)
{
	const version_folder *best, *other = NULL;

	if (implausible == NULL)
		keep_latest(&list);
	*out = best = list;
	if (list->next == NULL)
		return SP_OK;
	for (version_folder *f = list; f != NULL; f = f->next)
		SP_TRY(find_up_to(&f->found, s, f->path, INT64_MAX, err));
	for (const version_folder *f = list->next; f != NULL; f = f->next)
		if (is_newer(f, best, false)) {
			other = best;
			best = f;
		} else if (other == NULL || is_newer(f, other, false)) {
			other = f;
		}
	note_choice(s, best, other, implausible);
	*out = best;
	return SP_OK;
}

/* ------------------------------------------------------ the version in a folder */

/* The least step above `above` with data that may still be being written. */
typedef struct unfinished {
	int64_t step; /* -1: none */
	double time;  /* of the last write */
	const char *prefix;
} unfinished;

/* The later of mtime and ctime that is not in the future; LONG_AGO if both are. */
static double time_written(const struct stat *info, double now)
{
	double times[] = {seconds_of(info->st_mtim), seconds_of(info->st_ctim)};
	double latest = LONG_AGO;

	for (size_t i = 0; i < COUNT(times); i++)
		if (times[i] > latest && times[i] <= now + TRUST_SECONDS)
			latest = times[i];
	return latest;
}

/* If several prefixes have the step, takes the first by name, so that log lines do not change. */
static sp_status find_unfinished(unfinished *out, const search *s, const char *folder,
				 int64_t above, sp_error *err)
{
	sp_folder entries;

	*out = (unfinished){.step = -1};
	if (s->quiet <= 0)
		return SP_OK;
	SP_TRY(sp_folder_list(&entries, folder, s->arena, err));
	for (size_t i = 0; i < entries.count; i++) {
		sp_checkpoint_name is = sp_checkpoint_name_of(entries.names[i]);
		const char *prefix;
		struct stat info;
		double time;
		bool found;

		if (is.part != SP_CHECKPOINT_DATA || is.step <= above ||
		    (out->step >= 0 && is.step > out->step))
			continue;
		SP_TRY(find_file(&prefix, &found, &info, s, folder, entries.names[i], err));
		time = found ? time_written(&info, s->now) : LONG_AGO;
		if (s->now - time >= s->quiet)
			continue;
		if (is.step != out->step || time > out->time)
			out->time = time;
		if (is.step != out->step || strcmp(prefix, out->prefix) < 0)
			out->prefix = prefix;
		out->step = is.step;
	}
	return SP_OK;
}

/* The content of a version folder, without deltas. */
typedef struct content {
	best_step full;
	unfinished data;
} content;

static sp_status read_content(content *out, const search *s, const char *folder, sp_error *err)
{
	out->full = best_step_of(SP_CHECKPOINT_INDEX, -1, INT64_MAX);
	SP_TRY(find_best_step(&out->full, s, folder, err));
	return find_unfinished(&out->data, s, folder, out->full.step, err);
}

static bool is_same_content(const content *a, const content *b)
{
	return a->full.prefix != NULL && strcmp(a->full.prefix, b->full.prefix) == 0 &&
	       a->data.step == b->data.step;
}

/* Chooses the delta on `c->full`; deltas above unfinished data are not used yet. */
static sp_status choose_delta(sp_discovery *out, best_step *delta, const search *s,
			      const content *c, const char *folder, sp_error *err)
{
	sp_found_version found = {
		.full_prefix = c->full.prefix, .full_step = c->full.step, .delta_step = -1};

	*out = (sp_discovery){.version = found};
	SP_TRY(find_delta(delta, s, folder, c->full.step, INT64_MAX, err));
	if (c->data.step >= 0 && delta->step > c->data.step) {
		out->waiting = found;
		out->waiting.delta_prefix = delta->prefix;
		out->waiting.delta_step = delta->step;
		out->wait_ms = (int64_t)((c->data.time + s->quiet - s->now) * 1000) + 1;
		out->why = sp_arena_printf(s->arena,
					   "delta %" PRId64 " waits for full checkpoint %" PRId64
					   ", whose data is there without its index: %s.index",
					   delta->step, c->data.step, c->data.prefix);
		SP_NEED_MEMORY(out->why, err, "the names of a version");
		SP_TRY(find_delta(delta, s, folder, c->full.step, c->data.step, err));
	}
	out->version.delta_prefix = delta->prefix;
	out->version.delta_step = delta->step;
	return SP_OK;
}

/* Returns SP_NOT_FOUND; out->waiting is the checkpoint whose data has arrived without its index. */
static sp_status wait_for_index(sp_discovery *out, const search *s, const char *folder,
				sp_error *err)
{
	best_step data = best_step_of(SP_CHECKPOINT_DATA, -1, INT64_MAX);

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(find_best_step(&data, s, folder, err));
	if (data.prefix != NULL) {
		out->waiting = (sp_found_version){
			.full_prefix = data.prefix, .full_step = data.step, .delta_step = -1};
		out->why = sp_arena_printf(
			s->arena, "full checkpoint %" PRId64 " waits for its index: %s.index",
			data.step, data.prefix);
		SP_NEED_MEMORY(out->why, err, "the names of a version");
	}
	return sp_error_set(err, SP_NOT_FOUND, "%s holds no checkpoint index", folder);
}

static void note_other(search *s, const best_step *best)
{
	if (best->other != NULL)
		note(s,
		     sp_arena_printf(s->arena,
				     "two checkpoints of step %" PRId64 ": %s is served, %s is not",
				     best->step, best->prefix, best->other));
}

/*
 * A trainer may meanwhile write the next full checkpoint and then a delta on it.  The folder is
 * read again after its deltas until it has not changed, so a delta is never taken for one on an
 * older full checkpoint.
 */
static sp_status find_version(sp_discovery *out, search *s, const char *folder, sp_error *err)
{
	best_step delta;
	content seen, now;

	SP_TRY(read_content(&now, s, folder, err));
	do {
		if (now.full.prefix == NULL)
			return wait_for_index(out, s, folder, err);
		seen = now;
		SP_TRY(choose_delta(out, &delta, s, &seen, folder, err));
		SP_TRY(read_content(&now, s, folder, err));
	} while (!is_same_content(&now, &seen));
	note_other(s, &seen.full);
	note_other(s, &delta);
	return SP_OK;
}

sp_status sp_discover_version(sp_discovery *out, const char *checkpoint_dir,
			      const sp_discover_options *options, sp_arena *arena, sp_error *err)
{
	search s = search_init(options, arena);
	const version_folder *folder;
	version_folder *list;
	sp_status status;

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(list_folders(&list, &s, checkpoint_dir, err));
	if (list == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "no folder below %s has a file 'checkpoint'",
				    checkpoint_dir);
	SP_TRY(choose(&folder, &s, list, find_implausible(list), err));
	status = find_version(out, &s, folder->path, err);
	if (status == SP_OK && s.failed)
		status = sp_no_memory(err, "the names of a version");
	out->notes = s.notes;
	return status;
}

/* ------------------------------------------------------------- given steps */

/* False also if the folder cannot be read. */
static bool find_exact(const search *s, const char *folder, int64_t full_step, int64_t delta_step,
		       sp_found_version *out)
{
	best_step full = best_step_of(SP_CHECKPOINT_INDEX, full_step - 1, full_step);
	best_step delta = {.prefix = NULL};

	if (find_best_step(&full, s, folder, NULL) != SP_OK || full.prefix == NULL)
		return false;
	if (delta_step >= 0 &&
	    (find_delta(&delta, s, folder, delta_step - 1, delta_step, NULL) != SP_OK ||
	     delta.prefix == NULL))
		return false;
	*out = (sp_found_version){.full_prefix = full.prefix,
				  .full_step = full_step,
				  .delta_prefix = delta.prefix,
				  .delta_step = delta_step};
	return true;
}

sp_status sp_discover_steps(sp_found_version *out, const char *checkpoint_dir, int64_t full_step,
			    int64_t delta_step, sp_arena *arena, sp_error *err)
{
	search s = search_init(NULL, arena);
	const version_folder *implausible, *best;
	version_folder *list;

	if (delta_step < 0)
		delta_step = -1;
	SP_TRY(list_folders(&list, &s, checkpoint_dir, err));
	implausible = find_implausible(list);
	for (version_folder **at = &list; *at != NULL;)
		if (full_step >= 0 && find_exact(&s, (*at)->path, full_step, delta_step, out))
			at = &(*at)->next;
		else
			*at = (*at)->next;
	if (list == NULL)
		return sp_error_set(err, SP_NOT_FOUND,
				    "no folder below %s has step %" PRId64 " with delta %" PRId64,
				    checkpoint_dir, full_step, delta_step);
	SP_TRY(choose(&best, &s, list, implausible, err));
	return find_exact(&s, best->path, full_step, delta_step, out)
		       ? SP_OK
		       : sp_error_set(err, SP_NOT_FOUND, "%s has changed", best->path);
}

/* -------------------------------------------------------- previous version */

/* The newest folder older than `than`; the newest of all if `than` is NULL. */
static const version_folder *next_older(const version_folder *list, const version_folder *than,
					bool by_time)
{
	const version_folder *next = NULL;

	for (const version_folder *f = list; f != NULL; f = f->next)
		if (f != than && (than == NULL || is_newer(than, f, by_time)) &&
		    (next == NULL || is_newer(f, next, by_time)))
			next = f;
	return next;
}

/* If `folder` has been deleted, the result is the newest of the other folders. */
static sp_status find_in_older_folder(sp_found_version *out, const search *s,
				      const char *checkpoint_dir, const char *folder, sp_error *err)
{
	const version_folder *at = NULL;
	version_folder *list;
	bool by_time;

	SP_TRY(list_folders(&list, s, checkpoint_dir, err));
	by_time = find_implausible(list) == NULL;
	for (version_folder *f = list; f != NULL; f = f->next) {
		SP_TRY(find_up_to(&f->found, s, f->path, INT64_MAX, err));
		if (strcmp(f->name, strrchr(folder, '/') + 1) == 0)
			at = f;
	}
	while ((at = next_older(list, at, by_time)) != NULL)
		if (at->found.full_prefix != NULL) {
			*out = at->found;
			return SP_OK;
		}
	return sp_error_set(err, SP_NOT_FOUND, "%s holds no older version", checkpoint_dir);
}

sp_status sp_discover_older(sp_found_version *out, const char *checkpoint_dir,
			    const sp_found_version *than, sp_arena *arena, sp_error *err)
{
	const char *slash = strrchr(than->full_prefix, '/'), *folder = NULL;
	search s = search_init(NULL, arena);
	best_step delta;

	if (slash != NULL) {
		folder = sp_arena_printf(arena, "%.*s", (int)(slash - than->full_prefix),
					 than->full_prefix);
		SP_NEED_MEMORY(folder, err, "the names of a version");
	}
	if (folder == NULL || strrchr(folder, '/') == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s is in no folder of versions",
				    than->full_prefix);
	if (than->delta_prefix != NULL) {
		SP_TRY(find_delta(&delta, &s, folder, than->full_step, than->delta_step - 1, err));
		*out = *than;
		out->delta_prefix = delta.prefix;
		out->delta_step = delta.step;
		return SP_OK;
	}
	if (than->full_step > 0) {
		sp_status status = find_up_to(out, &s, folder, than->full_step - 1, err);

		if (status != SP_NOT_FOUND && (status != SP_OK || out->full_prefix != NULL))
			return status;
	}
	return find_in_older_folder(out, &s, checkpoint_dir, folder, err);
}
