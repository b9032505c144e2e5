#include "incremental/discover.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* ------------------------------------------------------------ the folder */

typedef struct newest {
	sp_arena *arena;
	const char *folder; /* NULL: none seen */
	const char *name;
	time_t time;
} newest;

static sp_status look_for_newest(void *context, const char *folder, const char *name, sp_error *err)
{
	newest *best = context;
	const char *path;
	struct stat info;

	/* Like a shell's pattern, '*' does not match a leading dot. */
	if (name[0] == '.')
		return SP_OK;
	path = sp_arena_printf(best->arena, "%s/%s/checkpoint", folder, name);
	if (path == NULL)
		return no_memory(err);
	if (stat(path, &info) != 0)
		return SP_OK; /* another thing, or just being deleted */
	if (best->folder != NULL && (info.st_mtime < best->time ||
				     (info.st_mtime == best->time && strcmp(name, best->name) > 0)))
		return SP_OK;
	best->time = info.st_mtime;
	best->name = sp_arena_text(best->arena, sp_bytes_of(name));
	best->folder = sp_arena_printf(best->arena, "%s/%s", folder, name);
	return best->name != NULL && best->folder != NULL ? SP_OK : no_memory(err);
}

/* -------------------------------------------------------- the checkpoint */

typedef struct greatest {
	sp_arena *arena;
	int64_t above; /* only steps above this count */
	int64_t below; /* and below this */
	int64_t step;
	const char *prefix; /* NULL: none seen */
} greatest;

/* The number between the last '-' before `dot` and `dot`; 0 when there is none. */
static int64_t step_before(const char *name, const char *dot)
{
	const char *dash = memrchr(name, '-', (size_t)(dot - name));
	const char *at;
	int64_t step = 0;

	if (dash == NULL)
		return 0;
	for (at = dash + 1; at < dot; at++) {
		if (*at < '0' || *at > '9' || step > (INT64_MAX - 9) / 10)
			return 0;
		step = 10 * step + (*at - '0');
	}
	return step;
}

/* Of a name that ends with ".index". */
static int64_t step_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *dash = strrchr(name, '-');

	return dash != NULL && dash > dot ? 0 : step_before(name, dot);
}

static sp_status look_for_greatest(void *context, const char *folder, const char *name,
				   sp_error *err)
{
	greatest *best = context;
	sp_bytes bytes = sp_bytes_of(name);
	const char *prefix;
	int64_t step;

	if (!sp_bytes_ends_with(bytes, ".index"))
		return SP_OK;
	step = step_of(name);
	if (step <= best->above || step >= best->below ||
	    (best->prefix != NULL && step < best->step))
		return SP_OK;
	prefix = sp_arena_printf(best->arena, "%s/%.*s", folder,
				 (int)(bytes.size - strlen(".index")), name);
	if (prefix == NULL)
		return no_memory(err);
	/* Of two with one step the first by name, whatever order the folder is in. */
	if (best->prefix == NULL || step > best->step || strcmp(prefix, best->prefix) < 0)
		best->prefix = prefix;
	best->step = step;
	return SP_OK;
}

/* The code looks into the one, the documentation names the other. */
static const char *const delta_folders[] = {".incremental_checkpoint", ".incremental_ckpt"};

static sp_status find_delta(sp_found_version *out, const char *folder, int64_t below,
			    sp_arena *arena, sp_error *err)
{
	greatest best = {.arena = arena, .above = out->full_step, .below = below};

	for (size_t i = 0; i < COUNT(delta_folders); i++) {
		const char *deltas = sp_arena_printf(arena, "%s/%s", folder, delta_folders[i]);
		sp_error why;
		sp_status status;

		if (deltas == NULL)
			return no_memory(err);
		/* A folder that is not there is no fault: its words must not stay in *err. */
		status = each_entry(deltas, look_for_greatest, &best, &why);
		if (status != SP_OK && status != SP_NOT_FOUND)
			return sp_error_set(err, status, "%s", why.text);
	}
	out->delta_prefix = best.prefix;
	out->delta_step = best.prefix != NULL ? best.step : -1;
	return SP_OK;
}

/* The least step above that of the full checkpoint of which there is data. */
typedef struct coming {
	int64_t above;
	int64_t step; /* INT64_MAX: none */
} coming;

static sp_status look_for_data(void *context, const char *folder, const char *name, sp_error *err)
{
	const char *data = strstr(name, ".data-");
	coming *c = context;
	int64_t step;

	(void)folder;
	(void)err;
	if (data == NULL)
		return SP_OK;
	step = step_before(name, data);
	if (step > c->above && step < c->step)
		c->step = step;
	return SP_OK;
}

/*
 * A trainer may write the next full checkpoint and a delta on it between two
 * looks of ours.  Whoever has written that delta had written the other's data
 * before, so a look after the delta was seen shows it.
 */
static sp_status find_delta_of(sp_found_version *out, const char *folder, sp_arena *arena,
			       sp_error *err)
{
	coming next = {.above = out->full_step, .step = INT64_MAX};
	int64_t below;

	SP_TRY(each_entry(folder, look_for_data, &next, err));
	do {
		below = next.step;
		SP_TRY(find_delta(out, folder, below, arena, err));
		SP_TRY(each_entry(folder, look_for_data, &next, err));
	} while (next.step < below && out->delta_step > next.step);
	return SP_OK;
}

sp_status sp_discover_version(sp_found_version *out, const char *checkpoint_dir, sp_arena *arena,
			      sp_error *err)
{
	newest folder = {.arena = arena};
	greatest full = {.arena = arena, .above = -1, .below = INT64_MAX};

	*out = (sp_found_version){.full_step = -1, .delta_step = -1};
	SP_TRY(each_entry(checkpoint_dir, look_for_newest, &folder, err));
	if (folder.folder == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "no folder below %s has a file 'checkpoint'",
				    checkpoint_dir);
	SP_TRY(each_entry(folder.folder, look_for_greatest, &full, err));
	if (full.prefix == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no checkpoint index",
				    folder.folder);
	out->full_prefix = full.prefix;
	out->full_step = full.step;
	return find_delta_of(out, folder.folder, arena, err);
}

/* ---------------------------------------------------------- by their steps */

typedef struct wanted {
	sp_arena *arena;
	int64_t full_step;
	int64_t delta_step;
	time_t time; /* of the folder that `found` is from */
	sp_found_version found;
} wanted;

typedef struct exact {
	sp_arena *arena;
	int64_t step;
	const char *prefix; /* NULL: not seen */
} exact;

static sp_status look_for_step(void *context, const char *folder, const char *name, sp_error *err)
{
	exact *e = context;
	sp_bytes bytes = sp_bytes_of(name);
	const char *prefix;

	if (!sp_bytes_ends_with(bytes, ".index") || step_of(name) != e->step)
		return SP_OK;
	prefix = sp_arena_printf(e->arena, "%s/%.*s", folder, (int)(bytes.size - strlen(".index")),
				 name);
	if (prefix == NULL)
		return no_memory(err);
	if (e->prefix == NULL || strcmp(prefix, e->prefix) < 0)
		e->prefix = prefix;
	return SP_OK;
}

/* The prefix of that step in a folder, or NULL; a folder that cannot be read has none. */
static const char *find_step(const char *folder, int64_t step, sp_arena *arena)
{
	exact e = {.arena = arena, .step = step};

	return folder != NULL && each_entry(folder, look_for_step, &e, NULL) == SP_OK ? e.prefix
										      : NULL;
}

static sp_status look_in_version(void *context, const char *root, const char *name, sp_error *err)
{
	wanted *w = context;
	const char *folder = sp_arena_printf(w->arena, "%s/%s", root, name);
	const char *path = sp_arena_printf(w->arena, "%s/%s/checkpoint", root, name);
	const char *full, *delta = NULL;
	struct stat info;

	if (folder == NULL || path == NULL)
		return no_memory(err);
	if (name[0] == '.' || stat(path, &info) != 0 ||
	    (w->found.full_prefix != NULL && info.st_mtime < w->time))
		return SP_OK;
	full = find_step(folder, w->full_step, w->arena);
	for (size_t i = 0; w->delta_step >= 0 && delta == NULL && i < COUNT(delta_folders); i++)
		delta = find_step(sp_arena_printf(w->arena, "%s/%s", folder, delta_folders[i]),
				  w->delta_step, w->arena);
	if (full == NULL || (w->delta_step >= 0 && delta == NULL))
		return SP_OK;
	w->time = info.st_mtime;
	w->found = (sp_found_version){.full_prefix = full,
				      .full_step = w->full_step,
				      .delta_prefix = delta,
				      .delta_step = w->delta_step};
	return SP_OK;
}

sp_status sp_discover_steps(sp_found_version *out, const char *checkpoint_dir, int64_t full_step,
			    int64_t delta_step, sp_arena *arena, sp_error *err)
{
	wanted w = {.arena = arena,
		    .full_step = full_step,
		    .delta_step = delta_step < 0 ? -1 : delta_step};

	SP_TRY(each_entry(checkpoint_dir, look_in_version, &w, err));
	if (w.found.full_prefix == NULL)
		return sp_error_set(err, SP_NOT_FOUND,
				    "no folder below %s has step %" PRId64 " with delta %" PRId64,
				    checkpoint_dir, full_step, delta_step);
	*out = w.found;
	return SP_OK;
}

/* ------------------------------------------------------ the version before */

/* In that folder; SP_NOT_FOUND when it holds none. */
static sp_status find_before_step(sp_found_version *out, const char *folder, int64_t step,
				  sp_arena *arena, sp_error *err)
{
	greatest full = {.arena = arena, .above = -1, .below = step};

	SP_TRY(each_entry(folder, look_for_greatest, &full, err));
	if (full.prefix == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no older checkpoint", folder);
	*out = (sp_found_version){
		.full_prefix = full.prefix, .full_step = full.step, .delta_step = -1};
	return find_delta(out, folder, step, arena, err);
}

/* The newest folder of those that are older than one. */
typedef struct older {
	newest best;
	const char *than;
	bool any; /* that one is gone: nobody knows how old it was */
	time_t time;
} older;

static sp_status look_for_older(void *context, const char *folder, const char *name, sp_error *err)
{
	older *o = context;
	const char *path = sp_arena_printf(o->best.arena, "%s/%s/checkpoint", folder, name);
	struct stat info;

	if (path == NULL)
		return no_memory(err);
	if (strcmp(name, o->than) == 0 || stat(path, &info) != 0)
		return SP_OK;
	if (!o->any &&
	    (info.st_mtime > o->time || (info.st_mtime == o->time && strcmp(name, o->than) < 0)))
		return SP_OK;
	return look_for_newest(&o->best, folder, name, err);
}

static sp_status find_in_older_folder(sp_found_version *out, const char *checkpoint_dir,
				      const char *folder, sp_arena *arena, sp_error *err)
{
	for (;;) {
		const char *path = sp_arena_printf(arena, "%s/checkpoint", folder);
		older o = {.best.arena = arena, .than = strrchr(folder, '/') + 1};
		struct stat info;
		sp_status status;

		if (path == NULL)
			return no_memory(err);
		o.any = stat(path, &info) != 0;
		o.time = o.any ? 0 : info.st_mtime;
		SP_TRY(each_entry(checkpoint_dir, look_for_older, &o, err));
		if (o.best.folder == NULL)
			return sp_error_set(err, SP_NOT_FOUND, "%s holds no older version",
					    checkpoint_dir);
		folder = o.best.folder;
		status = find_before_step(out, folder, INT64_MAX, arena, err);
		if (status != SP_NOT_FOUND)
			return status;
	}
}

sp_status sp_discover_older(sp_found_version *out, const char *checkpoint_dir,
			    const sp_found_version *than, sp_arena *arena, sp_error *err)
{
	const char *slash = strrchr(than->full_prefix, '/'), *folder;
	sp_status status;

	folder = slash == NULL ? NULL
			       : sp_arena_printf(arena, "%.*s", (int)(slash - than->full_prefix),
						 than->full_prefix);
	if (folder == NULL || strrchr(folder, '/') == NULL)
		return slash == NULL || folder != NULL
			       ? sp_error_set(err, SP_NOT_FOUND, "%s is in no folder of versions",
					      than->full_prefix)
			       : no_memory(err);
	if (than->delta_prefix != NULL) {
		*out = (sp_found_version){.full_prefix = than->full_prefix,
					  .full_step = than->full_step,
					  .delta_step = -1};
		return find_delta(out, folder, than->delta_step, arena, err);
	}
	status = find_before_step(out, folder, than->full_step, arena, err);
	return status == SP_NOT_FOUND
		       ? find_in_older_folder(out, checkpoint_dir, folder, arena, err)
		       : status;
}

/* ------------------------------------------------------ numbered SavedModels */

typedef struct highest {
	sp_arena *arena;
	int64_t only; /* negative: any */
	int64_t number;
	const char *folder; /* NULL: none seen */
} highest;

/* The number a folder is called, or -1. */
static int64_t number_of(const char *name)
{
	int64_t number = 0;

	if (*name == '\0')
		return -1;
	for (; *name != '\0'; name++) {
		if (*name < '0' || *name > '9' || number > (INT64_MAX - 9) / 10)
			return -1;
		number = 10 * number + (*name - '0');
	}
	return number;
}

static sp_status find_graph(bool *out, const char *base, const char *name, sp_arena *arena,
			    sp_error *err)
{
	static const char *const files[] = {"saved_model.pb", "saved_model.pbtxt"};
	struct stat info;

	*out = false;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !*out; i++) {
		const char *path = sp_arena_printf(arena, "%s/%s/%s", base, name, files[i]);

		if (path == NULL)
			return no_memory(err);
		*out = stat(path, &info) == 0;
	}
	return SP_OK;
}

static sp_status look_for_number(void *context, const char *base, const char *name, sp_error *err)
{
	int64_t number = number_of(name);
	highest *best = context;
	bool found;

	if (number < 0 || (best->only >= 0 && number != best->only) ||
	    (best->folder != NULL && number <= best->number))
		return SP_OK;
	SP_TRY(find_graph(&found, base, name, best->arena, err));
	if (!found)
		return SP_OK; /* on its way, or none at all */
	best->number = number;
	best->folder = sp_arena_printf(best->arena, "%s/%s", base, name);
	return best->folder != NULL ? SP_OK : no_memory(err);
}

static sp_status find_highest(sp_found_version *out, const char *base, visit_fn *visit,
			      highest *best, sp_error *err)
{
	SP_TRY(each_entry(base, visit, best, err));
	if (best->folder == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no numbered SavedModel", base);
	*out = (sp_found_version){.savedmodel_dir = best->folder,
				  .full_prefix = best->folder,
				  .full_step = best->number,
				  .delta_step = -1};
	return SP_OK;
}

sp_status sp_discover_numbered(sp_found_version *out, const char *base, int64_t only,
			       sp_arena *arena, sp_error *err)
{
	highest best = {.arena = arena, .only = only};

	return find_highest(out, base, look_for_number, &best, err);
}

typedef struct lower {
	highest best; /* first */
	int64_t than;
} lower;

static sp_status look_for_lower(void *context, const char *base, const char *name, sp_error *err)
{
	lower *l = context;

	return number_of(name) < l->than ? look_for_number(&l->best, base, name, err) : SP_OK;
}

sp_status sp_discover_older_numbered(sp_found_version *out, const char *base, int64_t number,
				     sp_arena *arena, sp_error *err)
{
	lower l = {.best = {.arena = arena, .only = -1}, .than = number};

	return find_highest(out, base, look_for_lower, &l.best, err);
}
