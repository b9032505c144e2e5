#include "incremental/discover.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "model_loader/checkpoint/checkpoint_name.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LONG_AGO     (-1e30)

enum { TRUST_SECONDS = 60 }; /* by which clocks of two machines may differ */

/* One call of this file's functions.  Times are in seconds: those of files may be of any size. */
typedef struct search {
	sp_arena *arena;
	double now;
	double quiet;
	sp_discover_note *notes;
	bool failed; /* a note found no memory */
} search;

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the names of a version");
}

static sp_status cannot_read(const char *path, sp_error *err)
{
	int number = errno;
	char reason[128];

	return sp_error_set(err, number == ENOENT || number == ENOTDIR ? SP_NOT_FOUND : SP_IO,
			    "cannot read the folder %s: %s", path,
			    strerror_r(number, reason, sizeof(reason)));
}

/* The entries of a folder, called one by one; readdir() gives them in no order. */
typedef sp_status visit_fn(void *context, const char *folder, const char *name, sp_error *err);

static sp_status each_entry(const char *folder, visit_fn *visit, void *context, sp_error *err)
{
	DIR *dir = opendir(folder);
	sp_status status = SP_OK;
	struct dirent *entry;

	if (dir == NULL)
		return cannot_read(folder, err);
	while (status == SP_OK && (errno = 0, entry = readdir(dir)) != NULL)
		status = visit(context, folder, entry->d_name, err);
	if (status == SP_OK && errno != 0)
		status = cannot_read(folder, err);
	closedir(dir);
	return status;
}

/*
 * Whether a path is of that type (S_IFREG, S_IFDIR).  It may just have been
 * deleted, or be closed to us; but a file system that stumbles must not make an
 * older version the newest.
 */
static sp_status find_path(bool *out, struct stat *info, const char *path, mode_t type,
			   sp_error *err)
{
	char reason[128];

	errno = 0;
	*out = stat(path, info) == 0 && (info->st_mode & S_IFMT) == type;
	if (*out || errno == 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES ||
	    errno == ELOOP)
		return SP_OK;
	return sp_error_set(err, SP_IO, "cannot look at %s: %s", path,
			    strerror_r(errno, reason, sizeof(reason)));
}

/* ------------------------------------------------------------ times and notes */

static double seconds_of(struct timespec time)
{
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double time_of_day(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return seconds_of(now);
}

static search search_with(const sp_discover_options *options, sp_arena *arena)
{
	search s = {.arena = arena, .quiet = SP_DISCOVER_QUIET_MS / 1000.0};

	if (options != NULL)
		s.quiet = (double)options->quiet_ms / 1000;
	s.now = options != NULL && options->now_ms != 0 ? (double)options->now_ms / 1000
							: time_of_day();
	return s;
}

static void note(search *s, const char *fmt, ...) SP_PRINTF(2, 3);
static void note(search *s, const char *fmt, ...)
{
	sp_discover_note *more = sp_arena_alloc(s->arena, sizeof(*more));
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (more != NULL)
		*more = (sp_discover_note){.text = sp_arena_text(s->arena, sp_bytes_of(text)),
					   .next = s->notes};
	if (more == NULL || more->text == NULL)
		s->failed = true;
	else
		s->notes = more;
}

/* ---------------------------------------------------- checkpoints in a folder */

/* The greatest step of one part of checkpoints. */
typedef struct greatest {
	sp_arena *arena;
	sp_checkpoint_part part;
	int64_t above, last; /* steps count from above the one up to the other */
	int64_t step;        /* -1: none seen */
	const char *prefix;
	const char *other; /* another prefix of the same step; or NULL */
} greatest;

static greatest greatest_of(const search *s, sp_checkpoint_part part, int64_t above, int64_t last)
{
	return (greatest){
		.arena = s->arena, .part = part, .above = above, .last = last, .step = -1};
}

/* Of two with one step the first by name, whatever order the folder is in. */
static void compare_prefix(greatest *best, int64_t step, const char *prefix)
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

static sp_status look_for_greatest(void *context, const char *folder, const char *name,
				   sp_error *err)
{
	sp_checkpoint_name is = sp_checkpoint_name_of(name);
	greatest *best = context;
	const char *prefix, *path;
	struct stat info;
	bool found;

	if (is.part != best->part || is.step <= best->above || is.step > best->last ||
	    is.step < best->step)
		return SP_OK;
	path = sp_arena_printf(best->arena, "%s/%s", folder, name);
	prefix = sp_arena_printf(best->arena, "%s/%.*s", folder, (int)is.prefix.size,
				 is.prefix.data);
	if (path == NULL || prefix == NULL)
		return no_memory(err);
	SP_TRY(find_path(&found, &info, path, S_IFREG, err));
	if (found)
		compare_prefix(best, is.step, prefix);
	return SP_OK;
}

/* The code looks into the one, the documentation names the other. */
static const char *const delta_folders[] = {".incremental_checkpoint", ".incremental_ckpt"};

static sp_status find_delta(greatest *out, const search *s, const char *folder, int64_t above,
			    int64_t last, sp_error *err)
{
	*out = greatest_of(s, SP_CHECKPOINT_INDEX, above, last);
	for (size_t i = 0; i < COUNT(delta_folders); i++) {
		const char *deltas = sp_arena_printf(s->arena, "%s/%s", folder, delta_folders[i]);
		sp_error why;
		sp_status status;

		if (deltas == NULL)
			return no_memory(err);
		/* A folder that is not there is no fault: its words must not stay in *err. */
		status = each_entry(deltas, look_for_greatest, out, &why);
		if (status != SP_OK && status != SP_NOT_FOUND)
			return sp_error_set(err, status, "%s", why.text);
	}
	return SP_OK;
}

/* Data that may be being written: the least step above that of the full checkpoint. */
typedef struct coming {
	const search *s;
	int64_t above;
	int64_t step; /* -1: none */
	double time;  /* of its last write */
	const char *prefix;
} coming;

/* When a file was written, by those of its times that can be true; else long ago. */
static double time_written(const struct stat *info, double now)
{
	double times[] = {seconds_of(info->st_mtim), seconds_of(info->st_ctim)};
	double latest = LONG_AGO;

	for (size_t i = 0; i < COUNT(times); i++)
		if (times[i] > latest && times[i] <= now + TRUST_SECONDS)
			latest = times[i];
	return latest;
}

/* Its prefix is the first by name, so that what is said of it stays the same. */
static sp_status look_for_data(void *context, const char *folder, const char *name, sp_error *err)
{
	sp_checkpoint_name is = sp_checkpoint_name_of(name);
	coming *c = context;
	const char *path, *prefix;
	struct stat info;
	bool found;
	double time;

	if (is.part != SP_CHECKPOINT_DATA || is.step <= c->above ||
	    (c->step >= 0 && is.step > c->step))
		return SP_OK;
	path = sp_arena_printf(c->s->arena, "%s/%s", folder, name);
	prefix = sp_arena_printf(c->s->arena, "%s/%.*s", folder, (int)is.prefix.size,
				 is.prefix.data);
	if (path == NULL || prefix == NULL)
		return no_memory(err);
	SP_TRY(find_path(&found, &info, path, S_IFREG, err));
	time = found ? time_written(&info, c->s->now) : LONG_AGO;
	if (c->s->now - time >= c->s->quiet)
		return SP_OK;
	if (is.step != c->step || time > c->time)
		c->time = time;
	if (is.step != c->step || strcmp(prefix, c->prefix) < 0)
		c->prefix = prefix;
	c->step = is.step;
	return SP_OK;
}

/* What is in the folder itself. */
typedef struct content {
	greatest full;
	coming data;
} content;

static sp_status read_content(content *out, const search *s, const char *folder, sp_error *err)
{
	out->full = greatest_of(s, SP_CHECKPOINT_INDEX, -1, INT64_MAX);
	SP_TRY(each_entry(folder, look_for_greatest, &out->full, err));
	out->data = (coming){.s = s, .above = out->full.step, .step = -1};
	if (s->quiet <= 0)
		return SP_OK;
	return each_entry(folder, look_for_data, &out->data, err);
}

static bool is_same_content(const content *a, const content *b)
{
	return a->full.prefix != NULL && strcmp(a->full.prefix, b->full.prefix) == 0 &&
	       a->data.step == b->data.step;
}

static sp_status wait_for_full(sp_discovery *out, const search *s, const content *c,
			       const greatest *delta, sp_error *err)
{
	double rest = c->data.time + s->quiet - s->now;

	out->waiting = (sp_found_version){.full_prefix = c->full.prefix,
					  .full_step = c->full.step,
					  .delta_prefix = delta->prefix,
					  .delta_step = delta->step};
	out->wait_ms = (int64_t)(rest * 1000) + 1;
	out->why = sp_arena_printf(s->arena,
				   "delta %" PRId64 " waits for full checkpoint %" PRId64
				   ", whose data is there without its index: %s.index",
				   delta->step, c->data.step, c->data.prefix);
	return out->why != NULL ? SP_OK : no_memory(err);
}

static sp_status take(sp_discovery *out, greatest *delta, const search *s, const content *c,
		      const char *folder, sp_error *err)
{
	*out = (sp_discovery){.version = {.full_prefix = c->full.prefix,
					  .full_step = c->full.step,
					  .delta_step = -1}};
	SP_TRY(find_delta(delta, s, folder, c->full.step, INT64_MAX, err));
	if (c->data.step >= 0 && delta->step > c->data.step) {
		SP_TRY(wait_for_full(out, s, c, delta, err));
		SP_TRY(find_delta(delta, s, folder, c->full.step, c->data.step, err));
	}
	out->version.delta_prefix = delta->prefix;
	out->version.delta_step = delta->step;
	return SP_OK;
}

/* Data that is alone in a folder tells of the checkpoint that it is to be. */
static sp_status wait_for_index(sp_discovery *out, const search *s, const char *folder,
				sp_error *err)
{
	greatest data = greatest_of(s, SP_CHECKPOINT_DATA, -1, INT64_MAX);

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(each_entry(folder, look_for_greatest, &data, err));
	if (data.prefix != NULL) {
		out->waiting = (sp_found_version){
			.full_prefix = data.prefix, .full_step = data.step, .delta_step = -1};
		out->why = sp_arena_printf(
			s->arena, "full checkpoint %" PRId64 " waits for its index: %s.index",
			data.step, data.prefix);
		if (out->why == NULL)
			return no_memory(err);
	}
	return sp_error_set(err, SP_NOT_FOUND, "%s holds no checkpoint index", folder);
}

static void note_other(search *s, const greatest *best)
{
	if (best->other != NULL)
		note(s, "two checkpoints of step %" PRId64 ": %s is served, %s is not", best->step,
		     best->prefix, best->other);
}

/*
 * A trainer may write the next full checkpoint and a delta on it while we look.
 * Whoever has written that delta had written the other before, so a look after
 * the delta was seen shows it.
 */
static sp_status find_version(sp_discovery *out, search *s, const char *folder, sp_error *err)
{
	greatest delta;
	content seen, now;

	SP_TRY(read_content(&now, s, folder, err));
	do {
		if (now.full.prefix == NULL)
			return wait_for_index(out, s, folder, err);
		seen = now;
		SP_TRY(take(out, &delta, s, &seen, folder, err));
		SP_TRY(read_content(&now, s, folder, err));
	} while (!is_same_content(&now, &seen));
	note_other(s, &seen.full);
	note_other(s, &delta);
	return SP_OK;
}

/* ------------------------------------------------------------------ the folder */

typedef struct version_folder {
	struct version_folder *next;
	const char *name; /* the end of `path` */
	const char *path;
	struct timespec time; /* of its `checkpoint` */
	bool is_true;         /* that time can be */
	int64_t full_step;    /* what it holds; 0 before that is read, -1: none */
	int64_t delta_step;
	sp_found_version found; /* when a version is looked for by its steps */
} version_folder;

typedef struct folder_list {
	search *s;
	version_folder *first; /* no order */
} folder_list;

static sp_status look_for_folder(void *context, const char *root, const char *name, sp_error *err)
{
	folder_list *list = context;
	sp_arena *arena = list->s->arena;
	const char *file = sp_arena_printf(arena, "%s/%s/checkpoint", root, name);
	version_folder *folder;
	struct stat info;
	bool found;

	if (file == NULL)
		return no_memory(err);
	if (!sp_checkpoint_is_version(name))
		return SP_OK;
	SP_TRY(find_path(&found, &info, file, S_IFREG, err));
	if (!found)
		return SP_OK;
	folder = sp_arena_zeros(arena, 1, sizeof(*folder));
	if (folder == NULL)
		return no_memory(err);
	folder->path = sp_arena_printf(arena, "%s/%s", root, name);
	if (folder->path == NULL)
		return no_memory(err);
	folder->name = folder->path + strlen(root) + 1;
	folder->time = info.st_mtim;
	folder->is_true = seconds_of(info.st_mtim) <= list->s->now + TRUST_SECONDS &&
			  seconds_of(info.st_mtim) <= seconds_of(info.st_ctim) + TRUST_SECONDS;
	folder->next = list->first;
	list->first = folder;
	return SP_OK;
}

static sp_status read_steps(const search *s, version_folder *folder, sp_error *err)
{
	greatest full = greatest_of(s, SP_CHECKPOINT_INDEX, -1, INT64_MAX), delta;

	SP_TRY(each_entry(folder->path, look_for_greatest, &full, err));
	folder->full_step = full.step;
	folder->delta_step = -1;
	if (full.prefix == NULL)
		return SP_OK;
	SP_TRY(find_delta(&delta, s, folder->path, full.step, INT64_MAX, err));
	folder->delta_step = delta.step;
	return SP_OK;
}

/* Of the folders that time does not tell apart. */
static bool is_before(const version_folder *a, const version_folder *b)
{
	if (a->full_step != b->full_step)
		return a->full_step > b->full_step;
	if (a->delta_step != b->delta_step)
		return a->delta_step > b->delta_step;
	return strcmp(a->name, b->name) > 0;
}

static const char *reason_of(const version_folder *best, const version_folder *other)
{
	if (best->full_step != other->full_step)
		return "has the greater step";
	return best->delta_step != other->delta_step ? "has the greater delta" : "sorts last";
}

/* The first by name of those whose time cannot be true; NULL: there is none. */
static const version_folder *find_untrue(const folder_list *list)
{
	const version_folder *untrue = NULL;

	for (const version_folder *f = list->first; f != NULL; f = f->next)
		if (!f->is_true && (untrue == NULL || strcmp(f->name, untrue->name) < 0))
			untrue = f;
	return untrue;
}

static const char *time_text(char out[40], time_t time)
{
	struct tm parts;

	if (gmtime_r(&time, &parts) == NULL || strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(out, 40, "%lld s", (long long)time);
	return out;
}

static void note_choice(search *s, const version_folder *best, const version_folder *other,
			const version_folder *untrue)
{
	char time[40];

	if (untrue != NULL)
		note(s,
		     "%s/checkpoint has a time that cannot be true, %s, so times choose no folder: "
		     "%s is served, because it %s, and %s is not",
		     untrue->path, time_text(time, untrue->time.tv_sec), best->path,
		     reason_of(best, other), other->path);
	else
		note(s,
		     "the files 'checkpoint' of two folders were changed in the same second: %s is "
		     "served, because it %s, and %s is not",
		     best->path, reason_of(best, other), other->path);
}

/* Keeps only the folders of the latest second. */
static void keep_latest(folder_list *list)
{
	time_t latest = 0;

	for (const version_folder *f = list->first; f != NULL; f = f->next)
		if (f == list->first || f->time.tv_sec > latest)
			latest = f->time.tv_sec;
	for (version_folder **at = &list->first; *at != NULL;)
		if ((*at)->time.tv_sec < latest)
			*at = (*at)->next;
		else
			at = &(*at)->next;
}

/* The first of a list that is not empty, in the order of the header. */
static sp_status choose(const version_folder **out, folder_list *list, const version_folder *untrue,
			sp_error *err)
{
	const version_folder *best, *other = NULL;

	if (untrue == NULL)
		keep_latest(list);
	*out = best = list->first;
	if (best->next == NULL)
		return SP_OK;
	for (version_folder *f = list->first; f != NULL; f = f->next)
		SP_TRY(read_steps(list->s, f, err));
	for (const version_folder *f = best->next; f != NULL; f = f->next)
		if (is_before(f, best)) {
			other = best;
			best = f;
		} else if (other == NULL || is_before(f, other)) {
			other = f;
		}
	note_choice(list->s, best, other, untrue);
	*out = best;
	return SP_OK;
}

static sp_status finish(sp_discovery *out, const search *s, sp_status status, sp_error *err)
{
	if (status == SP_OK && s->failed)
		status = no_memory(err);
	out->notes = s->notes;
	return status;
}

sp_status sp_discover_version(sp_discovery *out, const char *checkpoint_dir,
			      const sp_discover_options *options, sp_arena *arena, sp_error *err)
{
	search s = search_with(options, arena);
	folder_list list = {.s = &s};
	const version_folder *folder;

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(each_entry(checkpoint_dir, look_for_folder, &list, err));
	if (list.first == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "no folder below %s has a file 'checkpoint'",
				    checkpoint_dir);
	SP_TRY(choose(&folder, &list, find_untrue(&list), err));
	return finish(out, &s, find_version(out, &s, folder->path, err), err);
}

/* ---------------------------------------------------------- by their steps */

/* A folder that cannot be read does not hold it. */
static bool holds(const search *s, version_folder *folder, int64_t full_step, int64_t delta_step)
{
	greatest full = greatest_of(s, SP_CHECKPOINT_INDEX, full_step - 1, full_step);
	greatest delta = {.prefix = NULL};

	if (each_entry(folder->path, look_for_greatest, &full, NULL) != SP_OK ||
	    full.prefix == NULL)
		return false;
	if (delta_step >= 0 &&
	    (find_delta(&delta, s, folder->path, delta_step - 1, delta_step, NULL) != SP_OK ||
	     delta.prefix == NULL))
		return false;
	folder->found = (sp_found_version){.full_prefix = full.prefix,
					   .full_step = full_step,
					   .delta_prefix = delta.prefix,
					   .delta_step = delta_step};
	return true;
}

sp_status sp_discover_steps(sp_found_version *out, const char *checkpoint_dir, int64_t full_step,
			    int64_t delta_step, sp_arena *arena, sp_error *err)
{
	search s = search_with(NULL, arena);
	folder_list list = {.s = &s};
	const version_folder *untrue, *best;

	if (delta_step < 0)
		delta_step = -1;
	SP_TRY(each_entry(checkpoint_dir, look_for_folder, &list, err));
	untrue = find_untrue(&list);
	for (version_folder **at = &list.first; *at != NULL;)
		if (full_step >= 0 && holds(&s, *at, full_step, delta_step))
			at = &(*at)->next;
		else
			*at = (*at)->next;
	if (list.first == NULL)
		return sp_error_set(err, SP_NOT_FOUND,
				    "no folder below %s has step %" PRId64 " with delta %" PRId64,
				    checkpoint_dir, full_step, delta_step);
	SP_TRY(choose(&best, &list, untrue, err));
	*out = best->found;
	return SP_OK;
}

/* ------------------------------------------------------ the version before */

/* The greatest full checkpoint of a folder up to step `last`, with its greatest delta up to there.
 */
static sp_status find_up_to(sp_found_version *out, const search *s, const char *folder,
			    int64_t last, sp_error *err)
{
	greatest full = greatest_of(s, SP_CHECKPOINT_INDEX, -1, last), delta;

	SP_TRY(each_entry(folder, look_for_greatest, &full, err));
	if (full.prefix == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no older checkpoint", folder);
	SP_TRY(find_delta(&delta, s, folder, full.step, last, err));
	*out = (sp_found_version){.full_prefix = full.prefix,
				  .full_step = full.step,
				  .delta_prefix = delta.prefix,
				  .delta_step = delta.step};
	return SP_OK;
}

/* Whether folder `a` is newer than `b`, in the order of the header. */
static bool precedes(const version_folder *a, const version_folder *b, bool by_time)
{
	if (by_time && a->time.tv_sec != b->time.tv_sec)
		return a->time.tv_sec > b->time.tv_sec;
	return is_before(a, b);
}

/* The newest folder of those that are older than `than`; of all when that is NULL. */
static const version_folder *next_older(const folder_list *list, const version_folder *than,
					bool by_time)
{
	const version_folder *next = NULL;

	for (const version_folder *f = list->first; f != NULL; f = f->next)
		if (f != than && (than == NULL || precedes(than, f, by_time)) &&
		    (next == NULL || precedes(f, next, by_time)))
			next = f;
	return next;
}

/* `folder` may be gone: then any other may be the one before. */
static sp_status find_in_older_folder(sp_found_version *out, search *s, const char *checkpoint_dir,
				      const char *folder, sp_error *err)
{
	folder_list list = {.s = s};
	const version_folder *at = NULL;
	bool by_time;

	SP_TRY(each_entry(checkpoint_dir, look_for_folder, &list, err));
	by_time = find_untrue(&list) == NULL;
	for (version_folder *f = list.first; f != NULL; f = f->next) {
		SP_TRY(read_steps(s, f, err));
		if (strcmp(f->name, strrchr(folder, '/') + 1) == 0)
			at = f;
	}
	while ((at = next_older(&list, at, by_time)) != NULL) {
		sp_status status = find_up_to(out, s, at->path, INT64_MAX, err);

		if (status != SP_NOT_FOUND)
			return status;
	}
	return sp_error_set(err, SP_NOT_FOUND, "%s holds no older version", checkpoint_dir);
}

sp_status sp_discover_older(sp_found_version *out, const char *checkpoint_dir,
			    const sp_found_version *than, sp_arena *arena, sp_error *err)
{
	const char *slash = strrchr(than->full_prefix, '/'), *folder;
	search s = search_with(NULL, arena);
	greatest delta;
	sp_status status;

	if (slash == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s is in no folder of versions",
				    than->full_prefix);
	folder = sp_arena_printf(arena, "%.*s", (int)(slash - than->full_prefix),
				 than->full_prefix);
	if (folder == NULL)
		return no_memory(err);
	if (strrchr(folder, '/') == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s is in no folder of versions",
				    than->full_prefix);
	if (than->delta_prefix != NULL) {
		SP_TRY(find_delta(&delta, &s, folder, than->full_step, than->delta_step - 1, err));
		*out = (sp_found_version){.full_prefix = than->full_prefix,
					  .full_step = than->full_step,
					  .delta_prefix = delta.prefix,
					  .delta_step = delta.step};
		return SP_OK;
	}
	status = than->full_step > 0 ? find_up_to(out, &s, folder, than->full_step - 1, err)
				     : SP_NOT_FOUND;
	return status == SP_NOT_FOUND ? find_in_older_folder(out, &s, checkpoint_dir, folder, err)
				      : status;
}

/* ------------------------------------------------------ numbered SavedModels */

/* A number, and how it is written. */
typedef struct numbered {
	int64_t number; /* -1: none */
	const char *name;
} numbered;

typedef struct highest {
	sp_arena *arena;
	int64_t only; /* negative: any */
	int64_t last; /* greater ones do not count */
	numbered best;
	const char *other; /* name of the same number; NULL: there is none */
	numbered coming;   /* without a graph */
} highest;

/* Whether `a` is the better of two names of one number. */
static bool is_plainer(const char *a, const char *b)
{
	bool a_is_plain = a[0] != '0' || a[1] == '\0', b_is_plain = b[0] != '0' || b[1] == '\0';

	return a_is_plain != b_is_plain ? a_is_plain : strcmp(a, b) < 0;
}

static bool is_better(const numbered *a, const numbered *b)
{
	return a->number != b->number ? a->number > b->number : is_plainer(a->name, b->name);
}

static void compare_numbers(highest *h, const numbered *one)
{
	if (one->number > h->best.number) {
		h->best = *one;
		h->other = NULL;
	} else if (one->number < h->best.number) {
		return;
	} else if (is_plainer(one->name, h->best.name)) {
		h->other = h->best.name;
		h->best = *one;
	} else if (h->other == NULL || is_plainer(one->name, h->other)) {
		h->other = one->name;
	}
}

/* Whether a folder holds a graph; *is_folder whether it is one. */
static sp_status find_graph(bool *out, bool *is_folder, const char *base, const char *name,
			    sp_arena *arena, sp_error *err)
{
	static const char *const files[] = {"saved_model.pb", "saved_model.pbtxt"};
	const char *folder = sp_arena_printf(arena, "%s/%s", base, name);
	struct stat info;

	*out = false;
	if (folder == NULL)
		return no_memory(err);
	SP_TRY(find_path(is_folder, &info, folder, S_IFDIR, err));
	for (size_t i = 0; i < COUNT(files) && *is_folder && !*out; i++) {
		const char *path = sp_arena_printf(arena, "%s/%s", folder, files[i]);

		if (path == NULL)
			return no_memory(err);
		SP_TRY(find_path(out, &info, path, S_IFREG, err));
	}
	return SP_OK;
}

static sp_status look_for_number(void *context, const char *base, const char *name, sp_error *err)
{
	highest *h = context;
	numbered one;
	bool found, is_folder;

	if (!sp_checkpoint_number(&one.number, sp_bytes_of(name)) ||
	    (h->only >= 0 && one.number != h->only) || one.number > h->last ||
	    one.number < h->best.number)
		return SP_OK;
	SP_TRY(find_graph(&found, &is_folder, base, name, h->arena, err));
	if (!is_folder)
		return SP_OK;
	one.name = sp_arena_text(h->arena, sp_bytes_of(name));
	if (one.name == NULL)
		return no_memory(err);
	if (found)
		compare_numbers(h, &one);
	else if (is_better(&one, &h->coming))
		h->coming = one;
	return SP_OK;
}

static sp_status name_numbered(sp_found_version *out, const char *base, const numbered *one,
			       sp_arena *arena, sp_error *err)
{
	const char *folder = sp_arena_printf(arena, "%s/%s", base, one->name);

	*out = (sp_found_version){.savedmodel_dir = folder,
				  .full_prefix = folder,
				  .full_step = one->number,
				  .delta_step = -1};
	return folder != NULL ? SP_OK : no_memory(err);
}

static sp_status wait_for_graph(sp_discovery *out, const char *base, const highest *h,
				sp_error *err)
{
	SP_TRY(name_numbered(&out->waiting, base, &h->coming, h->arena, err));
	out->why = sp_arena_printf(h->arena, "SavedModel %" PRId64 " waits for %s/saved_model.pb",
				   h->coming.number, out->waiting.full_prefix);
	return out->why != NULL ? SP_OK : no_memory(err);
}

static sp_status find_numbered(sp_discovery *out, const char *base, int64_t only, int64_t last,
			       sp_arena *arena, sp_error *err)
{
	search s = {.arena = arena};
	highest h = {
		.arena = arena, .only = only, .last = last, .best.number = -1, .coming.number = -1};

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(each_entry(base, look_for_number, &h, err));
	if (h.coming.number > h.best.number)
		SP_TRY(wait_for_graph(out, base, &h, err));
	if (h.best.number < 0)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no numbered SavedModel", base);
	if (h.other != NULL)
		note(&s, "two folders of %s mean number %" PRId64 ": %s is served, %s is not", base,
		     h.best.number, h.best.name, h.other);
	return finish(out, &s, name_numbered(&out->version, base, &h.best, arena, err), err);
}

sp_status sp_discover_numbered(sp_discovery *out, const char *base, int64_t only, sp_arena *arena,
			       sp_error *err)
{
	return find_numbered(out, base, only, INT64_MAX, arena, err);
}

sp_status sp_discover_older_numbered(sp_found_version *out, const char *base, int64_t number,
				     sp_arena *arena, sp_error *err)
{
	sp_discovery found;

	SP_TRY(find_numbered(&found, base, -1, number - 1, arena, err));
	*out = found.version;
	return SP_OK;
}
