#include "processor/updater_internal.h"

#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "incremental/identity.h"
#include "model_loader/version/weights_swap.h"

/*
 * When memory is short: how much of it there is, and a full checkpoint in place
 * of another, embedding by embedding.
 */

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

/* --------------------------------------------------------------------- swap */

typedef struct swapping {
	sp_updater *u;
	const sp_found_version *found;
	uint64_t content, files; /* of that, before it is read */
	sp_weights_swap *swap;
} swapping;

/* The catalog's live version is the one before, with words about what has become of it. */
static void publish_mixture(sp_updater *u, sp_version *mixture)
{
	mixture->mixed = true;
	sp_updater__remember(u, u->live);
	sp_updater__replace_live(u, mixture);
	sp_updater__expect_fold(u); /* there is nothing to fold */
}

static void tell_progress(const swapping *s)
{
	sp_error words;

	sp_error_set(&words, SP_OK, "%zu of %zu embeddings are those of step %" PRId64,
		     sp_weights_swap_loaded(s->swap), sp_weights_swap_count(s->swap),
		     s->found->full_step);
	sp_catalog_move(s->u->catalog, s->u->live->number, SP_VERSION_LIVE, &words);
}

static sp_status swap_one(const swapping *s, sp_error *err)
{
	sp_weights *weights;
	sp_version *mixture;

	SP_TRY(sp_weights_swap_next(s->swap, &weights, err));
	SP_TRY(sp_version_of(&mixture, s->u->live, s->found, weights, err));
	publish_mixture(s->u, mixture);
	tell_progress(s);
	return sp_updater__wait_for_requests(s->u, err);
}

static sp_status swap_all(const swapping *s, sp_version **out, sp_error *err)
{
	sp_updater *u = s->u;
	sp_weights *weights;

	while (sp_weights_swap_loaded(s->swap) < sp_weights_swap_count(s->swap))
		SP_TRY(swap_one(s, err));
	SP_TRY(sp_weights_swap_finish(s->swap, &weights, err));
	SP_TRY(sp_version_of(out, u->live, s->found, weights, err));
	(*out)->content = s->content;
	(*out)->files = s->files;
	return SP_OK;
}

bool sp_updater__may_swap(const sp_updater *u, const sp_found_version *found, sp_status why)
{
	sp_manifest files;

	return why == SP_NO_MEMORY && u->live != NULL && u->config->checkpoint_dir != NULL &&
	       u->config->model_update_when_memory_is_short == SP_TABLE_BY_TABLE &&
	       sp_updater__list_files(u, found, &files, NULL) == SP_OK &&
	       sp_updater__has_graph(u, &files);
}

/* Nothing but what is live needs the old embeddings. */
static sp_status begin(swapping *s, sp_error *err)
{
	sp_updater *u = s->u;

	sp_updater__drop_previous(u);
	SP_TRY(sp_updater__wait_for_requests(u, err));
	s->content = sp_identity_of_content(s->found->full_prefix, u->arena);
	s->files = sp_identity_of_files(s->found->full_prefix, u->arena);
	SP_TRY(sp_version_begin_swap(&s->swap, u->live, u->config, s->found, sp_updater__room(u),
				     err));
	sp_log(SP_LOG_INFO,
	       "memory is short: %zu embeddings are loaded one after the other from %s",
	       sp_weights_swap_count(s->swap), s->found->full_prefix);
	return SP_OK;
}

sp_status sp_updater__swap(sp_updater *u, const sp_found_version *found, uint64_t number,
			   sp_error *err)
{
	swapping s = {.u = u, .found = found};
	sp_version *version;
	sp_status status = begin(&s, err);

	if (status == SP_OK)
		status = swap_all(&s, &version, err);
	sp_weights_swap_destroy(s.swap);
	if (status == SP_OK)
		return sp_updater__warm_and_publish(u, version, number, err);
	sp_updater__fail(u, number, err);
	return status;
}
