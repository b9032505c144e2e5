#include "processor/updater/versions.h"

#include <time.h>

#include "base/clock.h"
#include "processor/updater/found.h"

/* ------------------------------------------------------------------ publishing */

static void start_draining(sp_versions *versions, sp_version *version)
{
	version->next = versions->draining;
	versions->draining = version;
}

bool sp_versions_is_on_live(const sp_versions *versions, const sp_version *version)
{
	return sp_weights_base(version->weights) == sp_weights_base(versions->live->weights);
}

sp_version *sp_versions_take_previous(sp_versions *versions)
{
	sp_version *previous = versions->previous;

	versions->previous = NULL;
	return previous;
}

void sp_versions_drop_previous(sp_versions *versions)
{
	if (versions->previous != NULL)
		start_draining(versions, versions->previous);
	versions->previous = NULL;
}

void sp_versions_publish(sp_versions *versions, sp_version *version)
{
	sp_version *old = versions->live;
	sp_found_version old_name, new_name = sp_version_name(version);

	sp_published_swap(versions->published, version);
	versions->live = version;
	sp_catalog_move(versions->catalog, version->number, SP_VERSION_LIVE, NULL);
	if (old == NULL)
		return;
	sp_catalog_move(versions->catalog, old->number, SP_VERSION_DRAINING, NULL);
	sp_versions_drop_previous(versions);
	old_name = sp_version_name(old);
	/* The same version, loaded again: not a target of a rollback. */
	if (sp_found_is_same(&old_name, &new_name)) {
		start_draining(versions, old);
		return;
	}
	sp_history_add(&versions->history, &old_name);
	sp_history_remove(&versions->history, &new_name);
	/* If it shares the full checkpoint it costs only a delta's memory; else that of a model. */
	if (sp_versions_is_on_live(versions, old) && sp_history_last(&versions->history) != NULL &&
	    sp_found_is_same(sp_history_last(&versions->history), &old_name))
		versions->previous = old;
	else
		start_draining(versions, old);
}

void sp_versions_replace_live(sp_versions *versions, sp_version *version)
{
	sp_version *old = versions->live;

	version->number = old->number;
	old->number = 0; /* in the catalog it is the same version */
	sp_published_swap(versions->published, version);
	versions->live = version;
	start_draining(versions, old);
}

/* -------------------------------------------------------------------- retiring */

/*
 * Whether no request and no handle uses a version that is not live.  Acquiring a handle pins the
 * version meanwhile, so pins are checked first.
 */
static bool is_over(const sp_versions *versions, const sp_version *version)
{
	if (sp_published_is_pinned(versions->published, version) ||
	    atomic_load(&version->holders) != 0)
		return false;
	sp_catalog_move(versions->catalog, version->number, SP_VERSION_RETIRED, NULL);
	return true;
}

bool sp_versions_drain(sp_versions *versions)
{
	for (sp_version **at = &versions->draining; *at != NULL;) {
		sp_version *version = *at;

		if (!is_over(versions, version)) {
			at = &version->next;
			continue;
		}
		*at = version->next;
		sp_version_close(version);
	}
	return (versions->previous != NULL && !is_over(versions, versions->previous)) ||
	       versions->draining != NULL;
}

static bool has_requests(const sp_versions *versions)
{
	for (const sp_version *v = versions->draining; v != NULL; v = v->next)
		if (sp_published_is_pinned(versions->published, v))
			return true;
	return versions->previous != NULL &&
	       sp_published_is_pinned(versions->published, versions->previous);
}

sp_status sp_versions_wait_for_requests(sp_versions *versions, sp_error *err)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	int64_t end = sp_clock_now_ns() + INT64_C(10000000000);

	while (sp_versions_drain(versions) && (sp_clock_now_ns() < end || has_requests(versions))) {
		if (atomic_load(versions->closing))
			return sp_error_set(err, SP_BUSY, "the processor is closing");
		nanosleep(&nap, NULL);
	}
	return SP_OK;
}

void sp_versions_close(sp_versions *versions)
{
	while (versions->draining != NULL) {
		sp_version *version = versions->draining;

		versions->draining = version->next;
		sp_version_close(version);
	}
	sp_version_close(versions->previous);
	sp_version_close(versions->live);
	sp_history_clear(&versions->history);
}

/* ---------------------------------------------------------------------- memory */

/* Bytes of a version, including its full checkpoint unless the live version shares it. */
static size_t footprint(const sp_versions *versions, const sp_version *version)
{
	sp_weights *full = sp_weights_base(version->weights);
	size_t bytes = sp_weights_footprint(version->weights);

	if (full != version->weights &&
	    (version == versions->live || !sp_versions_is_on_live(versions, version)))
		bytes += sp_weights_footprint(full);
	return bytes;
}

size_t sp_versions_memory_left(const sp_versions *versions)
{
	size_t limit = versions->memory_limit, used;

	if (limit == 0 || versions->live == NULL)
		return 0;
	used = footprint(versions, versions->live);
	if (versions->previous != NULL)
		used += footprint(versions, versions->previous);
	for (const sp_version *v = versions->draining; v != NULL; v = v->next)
		used += footprint(versions, v);
	return used < limit ? limit - used : 1;
}
