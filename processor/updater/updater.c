#include "processor/updater/updater.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "model_loader/saved_model/model_folder.h"
#include "processor/updater/pin_file.h"
#include "processor/updater/updater_internal.h"

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
	char by[256]; /* who gives it */
	bool done;
	sp_status status;
	sp_error error;
} order;

/* -------------------------------------------------------------------- orders */

static bool is_live(const sp_updater *u, const sp_found_version *found)
{
	return u->live != NULL &&
	       sp_updater__same(found->full_prefix, u->live->checkpoint_prefix) &&
	       sp_updater__same(found->delta_prefix, u->live->delta_prefix);
}

const char *sp_updater__name(char out[SP_UPDATER_NAME_SIZE], int64_t full_step, int64_t delta_step)
{
	if (delta_step < 0)
		snprintf(out, SP_UPDATER_NAME_SIZE, "%" PRId64, full_step);
	else
		snprintf(out, SP_UPDATER_NAME_SIZE, "%" PRId64 "+%" PRId64, full_step, delta_step);
	return out;
}

/* ---------------------------------------------------------------------- pins */

/* What a start would read. */
static sp_status write_pin(const sp_updater *u, const sp_updater_pinned *pin, sp_error *err)
{
	const char *path = u->config->pin_file;

	if (path == NULL)
		return SP_OK;
	return pin->holds ? sp_pin_file_write(path, pin->full_step, pin->delta_step, err)
			  : sp_pin_file_remove(path, err);
}

/* That cannot be helped: the next start serves something else than this one. */
static void write_pin_back(const sp_updater *u)
{
	sp_error why;

	if (write_pin(u, &u->pin, &why) != SP_OK)
		sp_log(SP_LOG_ERROR, "the pin of the next start is not that of now: %s", why.text);
}

static void set_pin(sp_updater *u, const sp_updater_pinned *pin)
{
	sp_found_version named = {.full_step = pin->full_step, .delta_step = pin->delta_step};

	u->pin = *pin;
	u->exact = pin->holds;
	sp_catalog_pin(u->catalog, pin->holds ? &named : NULL, pin->by);
}

/* Of what is live; who gives the order is in `by`. */
static sp_updater_pinned pin_of(const sp_found_version *found, const char *by)
{
	sp_updater_pinned pin = {
		.holds = true, .full_step = found->full_step, .delta_step = found->delta_step};

	snprintf(pin.by, sizeof(pin.by), "%s", by);
	return pin;
}

/* -------------------------------------------------------------------- orders */

/* The end of a pin, if there is one; it holds on when the newest cannot be had. */
static sp_status reload(sp_updater *u, sp_error *err)
{
	sp_updater_pinned before = u->pin;
	sp_found_version found;
	sp_status status = write_pin(u, &(sp_updater_pinned){.holds = false}, err);

	if (status == SP_OK) {
		sp_attempts_forget(&u->attempts);
		u->exact = false;
		status = sp_updater__find(u, &found, -1, -1, err);
	}
	if (status == SP_OK) {
		sp_updater__note_files(u, &found);
		status = sp_updater__bring_up(u, &found, true, err);
	}
	u->exact = before.holds;
	if (status == SP_OK)
		set_pin(u, &(sp_updater_pinned){.holds = false});
	else
		write_pin_back(u);
	return status;
}

static sp_status unpin(sp_updater *u, sp_error *err)
{
	sp_status status = write_pin(u, &(sp_updater_pinned){.holds = false}, err);

	if (status == SP_OK)
		set_pin(u, &(sp_updater_pinned){.holds = false});
	else
		write_pin_back(u);
	return status;
}

static sp_status serve_exactly(sp_updater *u, const sp_found_version *found, sp_error *err)
{
	sp_status status;

	if (is_live(u, found))
		return SP_OK;
	sp_updater__note_files(u, found);
	u->exact = true;
	status = sp_updater__bring_up(u, found, false, err);
	u->exact = u->pin.holds;
	return status;
}

/* The file comes first: what it says can be taken back, what is published cannot. */
static sp_status pin(sp_updater *u, const order *o, sp_error *err)
{
	sp_found_version found;
	sp_updater_pinned wanted;
	sp_status status;

	if (o->full_step < 0)
		return unpin(u, err);
	SP_TRY(sp_updater__find(u, &found, o->full_step, o->delta_step, err));
	wanted = pin_of(&found, o->by);
	status = write_pin(u, &wanted, err);
	if (status == SP_OK)
		status = serve_exactly(u, &found, err);
	if (status != SP_OK) {
		write_pin_back(u);
		return status;
	}
	sp_updater__allow(u, &found);
	set_pin(u, &wanted);
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

/* It is refused until its files change, and is not taken without its delta either. */
static void refuse_left(sp_updater *u, sp_found_version *left, uint64_t number, const char *by)
{
	char why[sizeof(u->pin.by) + 32];

	snprintf(why, sizeof(why), "rolled back by order of %s", by);
	sp_updater__note_failure(u, left, SP_BUSY);
	sp_catalog_bar(u->catalog, number, why);
	left->delta_prefix = NULL;
	if (strcmp(left->full_prefix, u->live->checkpoint_prefix) != 0)
		sp_updater__note_failure(u, left, SP_BUSY);
}

/* A pin goes along: nothing is taken that was not ordered. */
static sp_status move_pin(sp_updater *u, const char *by, sp_error *err)
{
	sp_found_version live = {.full_step = u->live->full_step,
				 .delta_step = u->live->delta_step};
	sp_updater_pinned moved = pin_of(&live, by);

	set_pin(u, &moved);
	return write_pin(u, &moved, err);
}

static sp_status roll_back(sp_updater *u, const order *o, sp_error *err)
{
	uint64_t number = u->live->number;
	sp_found_version left;

	SP_TRY(name_live(u, &left, err));
	/* Whether that can be written shows before anything is changed. */
	if (u->pin.holds)
		SP_TRY(write_pin(u, &u->pin, err));
	SP_TRY(sp_updater__go_back(u, &left, err));
	refuse_left(u, &left, number, o->by);
	return u->pin.holds ? move_pin(u, o->by, err) : SP_OK;
}

static sp_status obey(sp_updater *u, const order *o, sp_error *err)
{
	sp_arena_reset(u->arena);
	switch (o->kind) {
	case ORDER_RELOAD:
		return reload(u, err);
	case ORDER_ROLLBACK:
		return roll_back(u, o, err);
	case ORDER_PIN:
		return pin(u, o, err);
	}
	return SP_INTERNAL;
}

/* Who ordered what, and what is live for it. */
static void tell_order(const sp_updater *u, const order *o, const char *from)
{
	static const char *const names[] = {
		[ORDER_RELOAD] = "reload", [ORDER_ROLLBACK] = "rollback", [ORDER_PIN] = "pin"};
	bool unpins = o->kind == ORDER_PIN && o->full_step < 0;
	const char *name = unpins ? "unpin" : names[o->kind];
	char to[SP_UPDATER_NAME_SIZE];

	sp_updater__name(to, u->live->full_step, u->live->delta_step);
	if (o->status != SP_OK)
		sp_log(SP_LOG_WARNING, "%s by order of %s has failed, %s is live: %s", name, o->by,
		       to, o->error.text);
	else
		sp_log(o->kind == ORDER_RELOAD || unpins ? SP_LOG_INFO : SP_LOG_WARNING,
		       "%s by order of %s: from version %s to %s", name, o->by, from, to);
}

static void obey_pending(sp_updater *u)
{
	static const sp_catalog_event events[] = {[ORDER_RELOAD] = SP_EVENT_RELOAD,
						  [ORDER_ROLLBACK] = SP_EVENT_ROLLBACK,
						  [ORDER_PIN] = SP_EVENT_PIN};
	char from[SP_UPDATER_NAME_SIZE];
	order *o;

	pthread_mutex_lock(&u->lock);
	o = u->pending;
	u->pending = NULL;
	pthread_mutex_unlock(&u->lock);
	if (o == NULL)
		return;
	sp_updater__name(from, u->live->full_step, u->live->delta_step);
	o->status = obey(u, o, &o->error);
	tell_order(u, o, from);
	if (o->status == SP_OK)
		sp_catalog_count(u->catalog, events[o->kind], 0);
	pthread_mutex_lock(&u->lock);
	o->done = true;
	pthread_cond_broadcast(&u->carried_out);
	pthread_mutex_unlock(&u->lock);
}

/* Whatever a caller says of himself is one line of a log. */
static void copy_by(order *o, const char *by)
{
	sp_error text;

	sp_error_set(&text, SP_OK, "%.200s", by != NULL && *by != '\0' ? by : "the host");
	snprintf(o->by, sizeof(o->by), "%.255s", text.text);
}

static sp_status give_order(sp_updater *u, order *o, const char *by, sp_error *err)
{
	copy_by(o, by);
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

sp_status sp_updater_reload(sp_updater *updater, const char *by, sp_error *err)
{
	return give_order(updater, &(order){.kind = ORDER_RELOAD}, by, err);
}

sp_status sp_updater_rollback(sp_updater *updater, const char *by, sp_error *err)
{
	return give_order(updater, &(order){.kind = ORDER_ROLLBACK}, by, err);
}

sp_status sp_updater_pin(sp_updater *updater, int64_t full_step, int64_t delta_step, const char *by,
			 sp_error *err)
{
	order o = {.kind = ORDER_PIN, .full_step = full_step, .delta_step = delta_step};

	return give_order(updater, &o, by, err);
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
	int64_t interval = sp_updater__next_look_ms(u), left;

	if (u->look_ms == INT64_MAX)
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
	int64_t interval = sp_updater__next_look_ms(u), looked = 0, drain_ms = DRAIN_MS;
	bool woken = true;

	step_back(u->config);
	while (!atomic_load(&u->stopped)) {
		int64_t now = sp_clock_now_ns() / 1000000, pause, next_fold;

		/* A clock that goes back, which none should, stops nothing. */
		bool due = woken || now < looked || now - looked >= interval || now >= u->look_ms;

		if (due)
			drain_ms = DRAIN_MS; /* there may be another version after this */
		obey_pending(u);
		if (due) {
			(void)sp_updater__look(u);
			looked = now;
			interval = sp_updater__next_look_ms(u);
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
	sp_discovery any;
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

/* It is not made while a version is: nothing is waited for without it. */
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

/* What was pinned when the process ended last is pinned still. */
static sp_status read_pin(sp_updater *u, sp_error *err)
{
	const char *path = u->config->pin_file;
	sp_updater_pinned pin = {.holds = true};
	sp_status status;

	if (path == NULL)
		return SP_OK;
	status = sp_pin_file_read(path, &pin.full_step, &pin.delta_step, err);
	if (status == SP_NOT_FOUND)
		return SP_OK;
	if (status != SP_OK)
		return status;
	snprintf(pin.by, sizeof(pin.by), "the pin_file '%.200s'", path);
	set_pin(u, &pin);
	return SP_OK;
}

/*
 * Whether what a look has not found may come: versions in a folder do, the
 * SavedModel itself only when it has just changed.
 */
static bool may_come(const sp_updater *u, sp_look look)
{
	if (look == SP_LOOK_REFUSED)
		return false;
	return u->folder != NULL || u->look_ms != INT64_MAX;
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
 * Only files that are not all there, or have just changed, are waited for.  Only
 * time spent asleep counts against the limit: what loading takes is no fault of
 * whoever copies.
 */
static sp_status wait_for_first(sp_updater *u, sp_error *err)
{
	int64_t minutes = u->config->init_timeout_minutes, waited = 0, next_log = 0;
	const char *where = u->folder != NULL ? u->folder : u->config->savedmodel_dir;

	for (;;) {
		sp_look look = sp_updater__look(u);
		int64_t start = sp_clock_now_ns();

		if (u->live != NULL)
			return SP_OK;
		if (!may_come(u, look))
			return sp_error_set(err, u->reason.status, "%s", u->reason.text);
		if (minutes >= 0 && waited >= waiting_limit(u))
			return sp_error_set(err, u->reason.status,
					    "no complete version in %s '%s' after "
					    "%" PRId64 " minutes: %s",
					    where == u->config->checkpoint_dir ? "checkpoint_dir"
									       : "savedmodel_dir",
					    where, minutes, u->reason.text);
		/* What is listed as waiting is told of by the catalog. */
		if (waited >= next_log && u->waits.count == 0) {
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
	SP_TRY(check_warmup_file_exists(u->config, err));
	if (u->folder != NULL)
		SP_TRY(read_pin(u, err));
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
