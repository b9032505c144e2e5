#include <inttypes.h>
#include <string.h>

#include "base/folder.h"
#include "incremental/discover.h"
#include "model_loader/checkpoint/checkpoint_name.h"

/* A folder name that is a number. */
typedef struct numbered {
	int64_t number; /* -1: none */
	const char *name;
} numbered;

/* The order of sp_discover_numbered(): the number, then no leading zero, then the name. */
static bool is_better(const numbered *a, const numbered *b)
{
	bool a_is_plain, b_is_plain;

	if (a->number != b->number)
		return a->number > b->number;
	a_is_plain = a->name[0] != '0' || a->name[1] == '\0';
	b_is_plain = b->name[0] != '0' || b->name[1] == '\0';
	return a_is_plain != b_is_plain ? a_is_plain : strcmp(a->name, b->name) < 0;
}

static sp_status find_graph(bool *is_folder, bool *has_graph, const char *base, const char *name,
			    sp_arena *arena, sp_error *err)
{
	static const char *const files[] = {"saved_model.pb", "saved_model.pbtxt"};
	const char *folder = sp_arena_printf(arena, "%s/%s", base, name);
	struct stat info;

	*has_graph = false;
	SP_NEED_MEMORY(folder, err, "the names of a version");
	SP_TRY(sp_folder_find(is_folder, &info, folder, S_IFDIR, err));
	for (size_t i = 0; i < 2 && *is_folder && !*has_graph; i++) {
		const char *path = sp_arena_printf(arena, "%s/%s", folder, files[i]);

		SP_NEED_MEMORY(path, err, "the names of a version");
		SP_TRY(sp_folder_find(has_graph, &info, path, S_IFREG, err));
	}
	return SP_OK;
}

static sp_status name_version(sp_found_version *out, const char *base, const numbered *one,
			      sp_arena *arena, sp_error *err)
{
	const char *folder = sp_arena_printf(arena, "%s/%s", base, one->name);

	*out = (sp_found_version){.savedmodel_dir = folder,
				  .full_prefix = folder,
				  .full_step = one->number,
				  .delta_step = -1};
	return folder != NULL ? SP_OK : sp_no_memory(err, "the names of a version");
}

/* The greatest number up to `last`; only the number `only` unless that is negative. */
static sp_status find_numbered(sp_discovery *out, const char *base, int64_t only, int64_t last,
			       sp_arena *arena, sp_error *err)
{
	numbered best = {.number = -1}, other = {.number = -1}, without_graph = {.number = -1};
	sp_discover_note *note;
	sp_folder entries;

	*out = (sp_discovery){.version = {.full_step = -1, .delta_step = -1}};
	SP_TRY(sp_folder_list(&entries, base, arena, err));
	for (size_t i = 0; i < entries.count; i++) {
		numbered one = {.name = entries.names[i]};
		bool is_folder, has_graph;

		if (!sp_checkpoint_number(&one.number, sp_bytes_of(one.name)) ||
		    (only >= 0 && one.number != only) || one.number > last ||
		    one.number < best.number)
			continue;
		SP_TRY(find_graph(&is_folder, &has_graph, base, one.name, arena, err));
		if (!is_folder)
			continue;
		if (!has_graph) {
			if (is_better(&one, &without_graph))
				without_graph = one;
		} else if (is_better(&one, &best)) {
			other = best;
			best = one;
		} else if (is_better(&one, &other)) {
			other = one;
		}
	}
	if (without_graph.number > best.number) {
		SP_TRY(name_version(&out->waiting, base, &without_graph, arena, err));
		out->why = sp_arena_printf(arena,
					   "SavedModel %" PRId64 " waits for %s/saved_model.pb",
					   without_graph.number, out->waiting.full_prefix);
		SP_NEED_MEMORY(out->why, err, "the names of a version");
	}
	if (best.number < 0)
		return sp_error_set(err, SP_NOT_FOUND, "%s holds no numbered SavedModel", base);
	if (other.number == best.number) {
		note = sp_arena_zeros(arena, 1, sizeof(*note));
		if (note != NULL)
			note->text = sp_arena_printf(arena,
						     "two folders of %s mean number %" PRId64
						     ": %s is served, %s is not",
						     base, best.number, best.name, other.name);
		SP_NEED_MEMORY(note != NULL && note->text != NULL, err, "the names of a version");
		out->notes = note;
	}
	return name_version(&out->version, base, &best, arena, err);
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
