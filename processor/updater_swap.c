#include "processor/updater_internal.h"

#include <time.h>

#include "base/clock.h"

/* How much memory there is for another version. */

/* ------------------------------------------------------------------- memory */

/* Bytes of what a version alone has, and of its full checkpoint unless the live one has it, too. */
static size_t footprint(const sp_updater *u, const sp_version *version)
{
	sp_weights *full = sp_weights_base(version->weights);
	size_t bytes = sp_weights_footprint(version->weights);

	if (full != version->weights && full != sp_weights_base(u->live->weights))
		bytes += sp_weights_footprint(full);
	return bytes;
}

size_t sp_updater__room(const sp_updater *u)
{
	size_t budget = (size_t)u->config->model_update_memory_mb << 20, used;
	sp_weights *full;

	if (budget == 0 || u->live == NULL)
		return 0;
	full = sp_weights_base(u->live->weights);
	used = sp_weights_footprint(u->live->weights);
	if (full != u->live->weights)
		used += sp_weights_footprint(full);
	if (u->previous != NULL)
		used += footprint(u, u->previous);
	for (const sp_version *v = u->draining; v != NULL; v = v->next)
		used += footprint(u, v);
	return used < budget ? budget - used : 1;
}

/* How long a handle may keep a version before its memory counts as taken for good. */
enum { HANDLES_MS = 10000 };

static bool has_requests(const sp_updater *u)
{
	for (const sp_version *v = u->draining; v != NULL; v = v->next)
		if (sp_published_is_pinned(u->published, v))
			return true;
	return u->previous != NULL && sp_published_is_pinned(u->published, u->previous);
}

sp_status sp_updater__wait_for_requests(sp_updater *u, sp_error *err)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	int64_t end = sp_clock_now_ns() + HANDLES_MS * INT64_C(1000000);

	while (sp_updater__drain(u) && (sp_clock_now_ns() < end || has_requests(u))) {
		if (atomic_load(&u->stopped))
			return sp_error_set(err, SP_BUSY, "the processor is closing");
		nanosleep(&nap, NULL);
	}
	return SP_OK;
}
