#include "processor/updater/history.h"

#include <string.h>

#include "base/alloc.h"

bool sp_history_is_same(const sp_found_version *a, const sp_found_version *b)
{
	if (strcmp(a->full_prefix, b->full_prefix) != 0)
		return false;
	if (a->delta_prefix == NULL || b->delta_prefix == NULL)
		return a->delta_prefix == b->delta_prefix;
	return strcmp(a->delta_prefix, b->delta_prefix) == 0;
}

static void drop(sp_history *history, size_t i)
{
	sp_free((void *)history->versions[i].full_prefix);
	sp_free((void *)history->versions[i].delta_prefix);
	history->count--;
	memmove(&history->versions[i], &history->versions[i + 1],
		(history->count - i) * sizeof(history->versions[0]));
}

void sp_history_remove(sp_history *history, const sp_found_version *version)
{
	for (size_t i = history->count; i > 0; i--)
		if (sp_history_is_same(&history->versions[i - 1], version)) {
			drop(history, i - 1);
			return;
		}
}

void sp_history_add(sp_history *history, const sp_found_version *version)
{
	sp_found_version copy = *version;

	sp_history_remove(history, version);
	copy.full_prefix = sp_alloc_text(version->full_prefix);
	if (version->savedmodel_dir != NULL)
		copy.savedmodel_dir = copy.full_prefix;
	if (version->delta_prefix != NULL)
		copy.delta_prefix = sp_alloc_text(version->delta_prefix);
	if (copy.full_prefix == NULL ||
	    (version->delta_prefix != NULL && copy.delta_prefix == NULL)) {
		sp_free((void *)copy.full_prefix);
		sp_free((void *)copy.delta_prefix);
		return;
	}
	if (history->count == SP_HISTORY_KEPT)
		drop(history, 0);
	history->versions[history->count++] = copy;
}

const sp_found_version *sp_history_last(const sp_history *history)
{
	return history->count > 0 ? &history->versions[history->count - 1] : NULL;
}

void sp_history_clear(sp_history *history)
{
	while (history->count > 0)
		drop(history, history->count - 1);
}
