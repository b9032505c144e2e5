#include "processor/updater.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "model_loader/model_folder.h"
#include "processor/updater_internal.h"

enum {
	DRAIN_MS = 5,   /* how soon requests under an old version are looked after */
	LOG_MS = 60000, /* between two lines that say what is waited for */
	MINUTE_MS = 60000,
};

typedef enum order_kind {
	ORDER_RELOAD,
	ORDER_ROLLBACK,
	ORDER_PIN,
} order_kind;

/* It lives on the stack of the thread that waits for it. */
typedef struct order {
	order_kind kind;
	int64_t full_step;
	int64_t delta_step;
	bool done;
	sp_status status;
	sp_error error;
} order;

/* -------------------------------------------------------------------- orders */

static bool is_live(const sp_updater *u, const sp_found_version *found)
{
	return u->live != NULL && !u->live->mixed &&
	       sp_updater__same(found->full_prefix, u->live->checkpoint_prefix) &&
	       sp_updater__same(found->delta_prefix, u->live->delta_prefix);
}

static sp_status reload(sp_updater *u, sp_error *err)
{
	sp_found_version found;

	u->pinned = false;
	sp_attempts_forget(&u->attempts);
	sp_arena_reset(u->arena);
	SP_TRY(sp_updater__find(u, &found, -1, -1, err));
	return sp_updater__bring_up(u, &found, true, err);
}

static sp_status pin(sp_updater *u, const order *o, sp_error *err)
{
	sp_found_version found;

	if (o->full_step < 0) {
		u->pinned = false;
		return SP_OK;
	}
	sp_arena_reset(u->arena);
	SP_TRY(sp_updater__find(u, &found, o->full_step, o->delta_step, err));
	if (!is_live(u, &found))
		SP_TRY(sp_updater__bring_up(u, &found, false, err));
	u->pinned = true;
	return SP_OK;
}

/* A name of the live version that outlives it, in the arena. */
static sp_status name_live(const sp_updater *u, sp_found_version *out, sp_error *err)
{
	const sp_version *live = u->live;

	*out = (sp_found_version){
		.full_prefix = sp_arena_text(u->arena, sp_bytes_of(live->checkpoint_prefix)),
		.full_step = live->full_step,
		.delta_step = live->delta_step};
	if (u->numbered)
		out->savedmodel_dir = out->full_prefix;
	if (live->delta_prefix != NULL)
		out->delta_prefix = sp_arena_text(u->arena, sp_bytes_of(live->delta_prefix));
	if (out->full_prefix == NULL || (live->delta_prefix != NULL && out->delta_prefix == NULL))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version's name");
	return SP_OK;
}

static sp_status roll_back(sp_updater *u, sp_error *err)
{
	sp_found_version left;

	sp_arena_reset(u->arena);
	SP_TRY(name_live(u, &left, err));
	SP_TRY(sp_updater__go_back(u, err));
	sp_updater__refuse(u, &left);
	/* Nor is it taken without its delta. */
	left.delta_prefix = NULL;
	if (strcmp(left.full_prefix, u->live->checkpoint_prefix) != 0)
		sp_updater__refuse(u, &left);
	sp_log(SP_LOG_WARNING, "rolled back to %s%s%s by order", u->live->checkpoint_prefix,
	       u->live->delta_prefix != NULL ? " with " : "",
	       u->live->delta_prefix != NULL ? u->live->delta_prefix : "");
	return SP_OK;
}

static sp_status obey(sp_updater *u, const order *o, sp_error *err)
{
	switch (o->kind) {
	case ORDER_RELOAD:
		return reload(u, err);
	case ORDER_ROLLBACK:
		return roll_back(u, err);
	case ORDER_PIN:
		return pin(u, o, err);
	}
	return SP_INTERNAL;
}

static void obey_pending(sp_updater *u)
{
	static const sp_catalog_event events[] = {[ORDER_RELOAD] = SP_EVENT_RELOAD,
						  [ORDER_ROLLBACK] = SP_EVENT_ROLLBACK,
						  [ORDER_PIN] = SP_EVENT_PIN};
	order *o;

	pthread_mutex_lock(&u->lock);
	o = u->pending;
	u->pending = NULL;
	pthread_mutex_unlock(&u->lock);
	if (o == NULL)
		return;
	o->status = obey(u, o, &o->error);
	if (o->status == SP_OK)
		sp_catalog_count(u->catalog, events[o->kind], 0);
	pthread_mutex_lock(&u->lock);
	o->done = true;
	pthread_cond_broadcast(&u->carried_out);
	pthread_mutex_unlock(&u->lock);
}

static sp_status give_order(sp_updater *u, order *o, sp_error *err)
{
	if (u->folder == NULL && o->kind != ORDER_RELOAD)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the model has no checkpoint_dir and no numbered versions");
	pthread_mutex_lock(&u->turn);
	pthread_mutex_lock(&u->lock);
	u->pending = o;
	sp_watch_wake(u->watch);
	while (!o->done)
		pthread_cond_wait(&u->carried_out, &u->lock);
	pthread_mutex_unlock(&u->lock);
	pthread_mutex_unlock(&u->turn);
	if (o->status != SP_OK && err != NULL)
		*err = o->error;
	return o->status;
}

sp_status sp_updater_reload(sp_updater *updater, sp_error *err)
{
	return give_order(updater, &(order){.kind = ORDER_RELOAD}, err);
}

sp_status sp_updater_rollback(sp_updater *updater, sp_error *err)
{
	return give_order(updater, &(order){.kind = ORDER_ROLLBACK}, err);
}

sp_status sp_updater_pin(sp_updater *updater, int64_t full_step, int64_t delta_step, sp_error *err)
{
	order o = {.kind = ORDER_PIN, .full_step = full_step, .delta_step = delta_step};

	return give_order(updater, &o, err);
}

/* ---------------------------------------------------------------- the thread */

/* "0-3,8"; false when it is not that. */
static bool read_cpus(cpu_set_t *out, const char *text)
{
	CPU_ZERO(out);
	for (;;) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*text < '0' || *text > '9')
			return false;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (*text < '0' || *text > '9')
				return false;
		}
		if (first > last || last >= CPU_SETSIZE)
			return false;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, out);
		if (*end == '\0')
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

/*
 * Requests come first.  In Linux both are a thread's own, and its helpers have
 * them from it; where they are not to be had, it works as it is.
 */
static void step_back(const sp_config *config)
{
	cpu_set_t cpus;

	if (setpriority(PRIO_PROCESS, 0, (int)config->model_update_nice) != 0)
		sp_log(SP_LOG_INFO, "the updater cannot lower its priority");
	if (config->model_update_cpus != NULL && read_cpus(&cpus, config->model_update_cpus) &&
	    sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		sp_log(SP_LOG_WARNING, "the updater cannot keep to model_update_cpus '%s'",
		       config->model_update_cpus);
}

/* The interval, or less where something settles. */
static int64_t until_look(const sp_updater *u)
{
	int64_t interval = u->config->update_poll_interval_ms, left;

	if (u->pinned || u->look_ms == INT64_MAX)
		return interval;
	left = u->look_ms - sp_clock_now_ns() / 1000000;
	return left <= 0 ? 0 : left < interval ? left : interval;
}

/*
 * How long to wait while nothing else is to be done.  Requests end soon; a
 * handle may stay for hours, so the pauses become longer.
 */
static int64_t pause_of(sp_updater *u, int64_t *drain_ms)
{
	int64_t pause = until_look(u), drain = *drain_ms;

	if (!sp_updater__drain(u) || pause <= drain)
		return pause;
	*drain_ms = 2 * drain;
	return drain;
}

static void work(void *context)
{
	sp_updater *u = context;
	int64_t interval = u->config->update_poll_interval_ms, looked = 0, drain_ms = DRAIN_MS;
	bool woken = true;

	step_back(u->config);
	while (!atomic_load(&u->stopped)) {
		int64_t now = sp_clock_now_ns() / 1000000, pause, next_fold;

		/* A clock that goes back, which none should, stops nothing. */
		bool due = woken || now < looked || now - looked >= interval || now >= u->look_ms;

		if (due)
			drain_ms = DRAIN_MS; /* there may be another version after this */
		obey_pending(u);
		if (!u->pinned && due) {
			(void)sp_updater__look(u);
			looked = now;
		}
		next_fold = sp_updater__fold(u);
		pause = pause_of(u, &drain_ms);
		woken = sp_watch_wait(u->watch, next_fold < pause ? next_fold : pause);
	}
}

/* --------------------------------------------------------- the first version */

static sp_status check_savedmodel_exists(const sp_config *config, sp_error *err)
{
	sp_status status;

	if (config->graph_file != NULL)
		return SP_OK; /* opening it says what is wrong with it */
	status = sp_model_folder_check(config->savedmodel_dir, err);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "savedmodel_dir");
}

/* One SavedModel, with or without checkpoints for it; or a folder of numbered ones. */
static sp_status choose_folder(sp_updater *u, sp_error *err)
{
	const sp_config *config = u->config;
	sp_found_version any;
	sp_status status = check_savedmodel_exists(config, err);

	u->folder = config->checkpoint_dir;
	if (status == SP_OK || config->checkpoint_dir != NULL || config->graph_file != NULL)
		return status;
	if (sp_discover_numbered(&any, config->savedmodel_dir, -1, u->arena, NULL) != SP_OK)
		return status;
	u->folder = config->savedmodel_dir;
	u->numbered = true;
	return SP_OK;
}

/*
 * Whether what a look has not found may come: versions in a folder do, the
 * SavedModel itself only when it has just changed.
 */
static bool may_come(const sp_updater *u, sp_status status)
{
	return status == SP_BUSY || (status == SP_NOT_FOUND && u->folder != NULL);
}

/* How long it is waited for; what has just changed is seen again in any case. */
static int64_t waiting_limit(const sp_updater *u)
{
	int64_t limit = u->config->init_timeout_minutes * MINUTE_MS;

	if (u->look_ms != INT64_MAX && limit < u->config->savedmodel_settle_ms)
		return u->config->savedmodel_settle_ms;
	return limit;
}

/*
 * Only time spent asleep counts against the limit: what loading takes is no
 * fault of whoever copies.
 */
static sp_status wait_for_first(sp_updater *u, sp_error *err)
{
	int64_t minutes = u->config->init_timeout_minutes, waited = 0, next_log = 0;
	const char *where = u->folder != NULL ? u->folder : u->config->savedmodel_dir;

	for (;;) {
		sp_status status = sp_updater__look(u);
		int64_t start = sp_clock_now_ns();

		if (u->live != NULL)
			return SP_OK;
		if (!may_come(u, status))
			return sp_error_set(err, u->reason.status, "%s", u->reason.text);
		if (minutes >= 0 && waited >= waiting_limit(u))
			return sp_error_set(err, u->reason.status,
					    "no complete version in %s '%s' after "
					    "%" PRId64 " minutes: %s",
					    where == u->config->checkpoint_dir ? "checkpoint_dir"
									       : "savedmodel_dir",
					    where, minutes, u->reason.text);
		if (waited >= next_log) {
			sp_log(SP_LOG_INFO, "waiting for a complete version in '%s': %s", where,
			       u->reason.text);
			next_log = waited + LOG_MS;
		}
		sp_watch_wait(u->watch, until_look(u));
		waited += (sp_clock_now_ns() - start) / 1000000;
	}
}

static sp_status open_first(sp_updater *u, sp_error *err)
{
	u->arena = sp_arena_create(16 << 10);
	u->catalog = sp_catalog_create();
	if (u->arena == NULL || u->catalog == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to look for a version");
	if (u->config->model_update_cpus != NULL &&
	    !read_cpus(&(cpu_set_t){0}, u->config->model_update_cpus))
		return sp_error_set(
			err, SP_INVALID,
			"configuration key 'model_update_cpus' is no list such as 0-3,8");
	SP_TRY(choose_folder(u, err));
	SP_TRY(sp_watch_create(&u->watch, err));
	SP_TRY(wait_for_first(u, err));
	return sp_thread_group_create(&u->thread, 1, "sp-updater", work, u, err);
}

sp_status sp_updater_open(sp_updater **out, const sp_config *config, sp_published *published,
			  sp_error *err)
{
	sp_updater *u = sp_alloc_zero(1, sizeof(*u));
	sp_error local;
	sp_status status;

	if (u == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for versions");
	u->config = config;
	u->published = published;
	pthread_mutex_init(&u->turn, NULL);
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->carried_out, NULL);
	status = open_first(u, err != NULL ? err : &local);
	if (status != SP_OK) {
		sp_updater_close(u);
		return status;
	}
	*out = u;
	return SP_OK;
}

void sp_updater_close(sp_updater *u)
{
	if (u == NULL)
		return;
	atomic_store(&u->stopped, true);
	if (u->thread != NULL)
		sp_watch_wake(u->watch);
	sp_thread_group_destroy(u->thread);
	sp_updater__stop_fold(u);
	sp_updater__close_versions(u);
	sp_watch_destroy(u->watch);
	sp_catalog_destroy(u->catalog);
	sp_arena_destroy(u->arena);
	pthread_cond_destroy(&u->carried_out);
	pthread_mutex_destroy(&u->lock);
	pthread_mutex_destroy(&u->turn);
	sp_free(u);
}

sp_catalog *sp_updater_catalog(const sp_updater *updater)
{
	return updater->catalog;
}
