#include "processor/updater/updater.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu_list.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "processor/updater/updater_internal.h"

enum {
	DRAIN_MS = 5,   /* first pause before draining versions are checked again */
	LOG_MS = 60000, /* between two log lines about a wait */
	MINUTE_MS = 60000,
	NS_PER_MS = 1000000,
};

struct sp_updater {
	sp_update_state state;
	sp_catalog *catalog;
	sp_arena *arena; /* of one look or one order */
	sp_watch *watch;
	atomic_bool closing;

	/* Orders from any thread, one at a time. */
	pthread_mutex_t turn; /* held during an order */
	pthread_mutex_t lock; /* protects `pending` and its `done` */
	pthread_cond_t carried_out;
	sp_order *pending;
	sp_thread_group *thread;
};

/* ------------------------------------------------------------------ the thread */

/*
 * Requests have priority.  Without model_update_cpus the updater keeps off the processors of
 * cpusets, if there are others.  In Linux niceness and affinity are per thread, and threads started
 * from here inherit them; failures are ignored.
 */
static void lower_priority(const sp_config *config)
{
	cpu_set_t cpus;

	if (setpriority(PRIO_PROCESS, 0, (int)config->model_update_nice) != 0)
		sp_log(SP_LOG_INFO, "the updater cannot lower its priority");
	CPU_ZERO(&cpus);
	if (config->model_update_cpus != NULL)
		(void)sp_cpu_list_read(&cpus, sp_bytes_of(config->model_update_cpus));
	else if (config->cpusets != NULL && *config->cpusets != '\0')
		sp_session_homes_others(&cpus, config->cpusets);
	if (CPU_COUNT(&cpus) != 0 && sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		sp_log(SP_LOG_WARNING, "the updater cannot keep to model_update_cpus '%s'",
		       config->model_update_cpus != NULL ? config->model_update_cpus : "");
}

static int64_t now_ms(void)
{
	return sp_clock_now_ns() / NS_PER_MS;
}

static int64_t interval_of(const sp_update_state *u)
{
	return sp_decide_interval(u->source.config->update_poll_interval_ms,
				  u->listing.wait_count != 0, u->listing.wait_ends_ms);
}

static void obey_pending(sp_updater *updater)
{
	sp_order *order;

	pthread_mutex_lock(&updater->lock);
	order = updater->pending;
	updater->pending = NULL;
	pthread_mutex_unlock(&updater->lock);
	if (order == NULL)
		return;
	sp_update__obey(&updater->state, order);
	pthread_mutex_lock(&updater->lock);
	order->done = true;
	pthread_cond_broadcast(&updater->carried_out);
	pthread_mutex_unlock(&updater->lock);
}

static sp_look_result look(sp_updater *updater, sp_error *reason)
{
	sp_source_watch(&updater->state.source, updater->state.versions.live, updater->watch);
	return sp_update__look(&updater->state, reason);
}

static void work(void *context)
{
	sp_updater *updater = context;
	sp_update_state *u = &updater->state;
	sp_schedule schedule = {.settled_ms = INT64_MAX, .interval_ms = interval_of(u)};
	int64_t drain_ms = DRAIN_MS;
	bool woken = true;
	sp_error reason;

	lower_priority(u->source.config);
	while (!atomic_load(&updater->closing)) {
		int64_t now = now_ms();
		bool is_due = sp_decide_look_is_due(&schedule, now, woken);

		obey_pending(updater);
		if (is_due) {
			schedule.settled_ms = look(updater, &reason).settled_ms;
			schedule.looked_ms = now;
			schedule.interval_ms = interval_of(u);
			drain_ms = DRAIN_MS; /* another version may drain now */
		}
		schedule.fold_ms = sp_fold_step(&u->fold, u->source.config, &u->versions);
		schedule.drain_ms = sp_versions_drain(&u->versions) ? drain_ms : INT64_MAX;
		woken = sp_watch_wait(updater->watch, sp_decide_pause(&schedule, now_ms()));
		/* Requests end soon; a handle may be held for hours, so the pauses grow. */
		if (schedule.drain_ms != INT64_MAX && drain_ms < schedule.interval_ms)
			drain_ms *= 2;
	}
}

/* --------------------------------------------------------- the first version */

/* A missing warm-up file is not waited for: the start fails at once. */
static sp_status check_warmup_file_exists(const sp_config *config, sp_error *err)
{
	sp_file file;
	sp_status status;

	if (config->warmup_file_name == NULL)
		return SP_OK;
	status = sp_file_open(&file, config->warmup_file_name, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "warmup_file_name");
	sp_file_close(&file);
	return SP_OK;
}

/*
 * Waits only for missing files, for files that have just changed, and for rows that other servers
 * hold.  Only the time asleep counts against the limit, not the time of loading.
 */
static sp_status wait_for_first(sp_updater *updater, sp_error *err)
{
	const sp_update_state *u = &updater->state;
	const sp_config *config = u->source.config;
	int64_t minutes = config->init_timeout_minutes, waited = 0, next_log = 0;
	const char *where = u->source.folder != NULL ? u->source.folder : config->savedmodel_dir;
	sp_error reason = {.status = SP_OK};

	for (;;) {
		sp_look_result result = look(updater, &reason);
		bool settles = result.settled_ms != INT64_MAX;
		int64_t start = now_ms(), limit = minutes * MINUTE_MS;
		sp_schedule schedule = {.interval_ms = interval_of(u),
					.settled_ms = result.settled_ms,
					.drain_ms = INT64_MAX,
					.fold_ms = INT64_MAX};

		if (u->versions.live != NULL)
			return SP_OK;
		/*
		 * In a folder versions may still appear; a SavedModel alone is only waited for
		 * while it settles.
		 */
		if (result.in_vain || (u->source.folder == NULL && !settles))
			return sp_error_set(err, reason.status, "%s", reason.text);
		/* Files that have just changed are always looked at again. */
		if (settles && limit < config->savedmodel_settle_ms)
			limit = config->savedmodel_settle_ms;
		if (minutes >= 0 && waited >= limit)
			return sp_error_set(err, reason.status,
					    "no complete version in %s '%s' after "
					    "%" PRId64 " minutes: %s",
					    where == config->checkpoint_dir ? "checkpoint_dir"
									    : "savedmodel_dir",
					    where, minutes, reason.text);
		/* Waits of listed versions are logged by the catalog. */
		if (waited >= next_log && u->listing.wait_count == 0) {
			sp_log(SP_LOG_INFO, "waiting for a complete version in '%s': %s", where,
			       reason.text);
			next_log = waited + LOG_MS;
		}
		sp_watch_wait(updater->watch, sp_decide_pause(&schedule, start));
		waited += now_ms() - start;
	}
}

static sp_status open_first(sp_updater *updater, const sp_config *config, sp_published *published,
			    sp_error *err)
{
	sp_update_state *u = &updater->state;
	sp_pin pin;

	updater->arena = sp_arena_create(16 << 10);
	updater->catalog = sp_catalog_create();
	if (updater->arena == NULL || updater->catalog == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to look for a version");
	u->versions = (sp_versions){.published = published,
				    .catalog = updater->catalog,
				    .closing = &updater->closing,
				    .memory_limit = (size_t)config->model_update_memory_mb << 20};
	if (config->model_update_cpus != NULL &&
	    !sp_cpu_list_read(&(cpu_set_t){0}, sp_bytes_of(config->model_update_cpus)))
		return sp_error_set(
			err, SP_INVALID,
			"configuration key 'model_update_cpus' is no list such as 0-3,8");
	SP_TRY(sp_source_init(&u->source, config, updater->arena, err));
	SP_TRY(check_warmup_file_exists(config, err));
	if (u->source.folder != NULL) {
		SP_TRY(sp_pin_load(&pin, config->pin_file, err));
		sp_pin_set(&u->pin, &pin, updater->catalog);
	}
	SP_TRY(sp_watch_create(&updater->watch, err));
	SP_TRY(wait_for_first(updater, err));
	return sp_thread_group_create(&updater->thread, 1, "sp-updater", work, updater, err);
}

sp_status sp_updater_open(sp_updater **out, const sp_config *config, sp_published *published,
			  sp_error *err)
{
	sp_updater *updater = sp_alloc_zero(1, sizeof(*updater));
	sp_error local;
	sp_status status;

	SP_NEED_MEMORY(updater, err, "versions");
	pthread_mutex_init(&updater->turn, NULL);
	pthread_mutex_init(&updater->lock, NULL);
	pthread_cond_init(&updater->carried_out, NULL);
	status = open_first(updater, config, published, err != NULL ? err : &local);
	if (status != SP_OK) {
		sp_updater_close(updater);
		return status;
	}
	*out = updater;
	return SP_OK;
}

void sp_updater_close(sp_updater *updater)
{
	if (updater == NULL)
		return;
	atomic_store(&updater->closing, true);
	if (updater->thread != NULL)
		sp_watch_wake(updater->watch);
	sp_thread_group_destroy(updater->thread);
	sp_fold_stop(&updater->state.fold);
	sp_recall_fini(&updater->state.recall);
	sp_versions_close(&updater->state.versions);
	sp_watch_destroy(updater->watch);
	sp_catalog_destroy(updater->catalog);
	sp_arena_destroy(updater->arena);
	pthread_cond_destroy(&updater->carried_out);
	pthread_mutex_destroy(&updater->lock);
	pthread_mutex_destroy(&updater->turn);
	sp_free(updater);
}

sp_catalog *sp_updater_catalog(const sp_updater *updater)
{
	return updater->catalog;
}

/* -------------------------------------------------------------------- orders */

sp_status sp_updater_order(sp_updater *updater, sp_order_kind kind, int64_t full_step,
			   int64_t delta_step, const char *by, sp_error *err)
{
	sp_order order = {.kind = kind == SP_ORDER_PIN && full_step < 0 ? SP_ORDER_UNPIN : kind,
			  .full_step = full_step,
			  .delta_step = delta_step};
	sp_error line;

	if (updater->state.source.folder == NULL && kind != SP_ORDER_RELOAD)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the model has no checkpoint_dir and no numbered versions");
	/* sp_error_set() replaces control characters, so that a log line stays one line. */
	sp_error_set(&line, SP_OK, "%.200s", by != NULL && *by != '\0' ? by : "the host");
	snprintf(order.by, sizeof(order.by), "%.255s", line.text);
	pthread_mutex_lock(&updater->turn);
	pthread_mutex_lock(&updater->lock);
	updater->pending = &order;
	sp_watch_wake(updater->watch);
	while (!order.done)
		pthread_cond_wait(&updater->carried_out, &updater->lock);
	pthread_mutex_unlock(&updater->lock);
	pthread_mutex_unlock(&updater->turn);
	if (order.status != SP_OK && err != NULL)
		*err = order.error;
	return order.status;
}
