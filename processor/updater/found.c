#include "processor/updater/found.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

bool sp_found_is_same(const sp_found_version *a, const sp_found_version *b)
{
	if (strcmp(a->full_prefix, b->full_prefix) != 0)
		return false;
	if (a->delta_prefix == NULL || b->delta_prefix == NULL)
		return a->delta_prefix == b->delta_prefix;
	return strcmp(a->delta_prefix, b->delta_prefix) == 0;
}

static const char *copy_text(const char *text, sp_arena *arena)
{
	return arena != NULL ? sp_arena_text(arena, sp_bytes_of(text)) : sp_alloc_text(text);
}

bool sp_found_copy(sp_found_version *out, const sp_found_version *from, sp_arena *arena)
{
	*out = *from;
	out->full_prefix = copy_text(from->full_prefix, arena);
	if (from->savedmodel_dir != NULL)
		out->savedmodel_dir = out->full_prefix;
	if (from->delta_prefix != NULL)
		out->delta_prefix = copy_text(from->delta_prefix, arena);
	return out->full_prefix != NULL &&
	       (from->delta_prefix == NULL || out->delta_prefix != NULL);
}

bool sp_found_keep(sp_found_version *out, const sp_found_version *from)
{
	if (sp_found_copy(out, from, NULL))
		return true;
	sp_found_drop(out);
	return false;
}

void sp_found_drop(sp_found_version *version)
{
	sp_free((void *)version->full_prefix);
	sp_free((void *)version->delta_prefix);
	*version = (sp_found_version){.full_prefix = NULL};
}

const char *sp_found_steps(char out[SP_FOUND_STEPS_SIZE], int64_t full_step, int64_t delta_step)
{
	if (delta_step < 0)
		snprintf(out, SP_FOUND_STEPS_SIZE, "%" PRId64, full_step);
	else
		snprintf(out, SP_FOUND_STEPS_SIZE, "%" PRId64 "+%" PRId64, full_step, delta_step);
	return out;
}

/* --------------------------------------------------------------------- history */

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
