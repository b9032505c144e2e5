#include "processor/updater/history.h"

#include <string.h>

#include "processor/updater/found.h"

static void drop(sp_history *history, size_t i)
{
	sp_found_drop(&history->versions[i]);
	history->count--;
	memmove(&history->versions[i], &history->versions[i + 1],
		(history->count - i) * sizeof(history->versions[0]));
}

void sp_history_remove(sp_history *history, const sp_found_version *version)
{
	for (size_t i = history->count; i > 0; i--)
		if (sp_found_is_same(&history->versions[i - 1], version)) {
			drop(history, i - 1);
			return;
		}
}

void sp_history_add(sp_history *history, const sp_found_version *version)
{
	sp_found_version copy;

	sp_history_remove(history, version);
	if (!sp_found_keep(&copy, version))
		return;
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
