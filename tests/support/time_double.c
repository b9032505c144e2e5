#include "tests/support/time_double.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "incremental/watch.h"

struct sp_watch {
	char unused;
};

/* `spent` is what has passed, whatever the clock says. */
static struct {
	pthread_mutex_t lock;
	pthread_t test;
	pthread_cond_t changed;
	int64_t clock_ns; /* the clock when nothing had passed */
	int64_t spent_ms;
	int64_t allowed_ms; /* time may pass up to there */
	int64_t wakes_ms;   /* of the wait that is under way */
	bool waiting;
	bool woken;
	size_t waits;
	sp_time_hook *hook;
} the = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void sp_time_begin(int64_t now_ms, sp_time_hook *hook)
{
	pthread_mutex_lock(&the.lock);
	the.clock_ns = now_ms * 1000000;
	the.spent_ms = the.allowed_ms = 0;
	the.waiting = the.woken = false;
	the.test = pthread_self();
	the.waits = 0;
	the.hook = hook;
	pthread_mutex_unlock(&the.lock);
}

static int64_t now_ns(void)
{
	return the.clock_ns + the.spent_ms * 1000000;
}

int64_t sp_clock_now_ns(void)
{
	int64_t now;

	pthread_mutex_lock(&the.lock);
	now = now_ns();
	pthread_mutex_unlock(&the.lock);
	return now;
}

int64_t sp_time_now_ms(void)
{
	return sp_clock_now_ns() / 1000000;
}

size_t sp_time_waits(void)
{
	size_t waits;

	pthread_mutex_lock(&the.lock);
	waits = the.waits;
	pthread_mutex_unlock(&the.lock);
	return waits;
}

static bool is_asleep(void)
{
	return the.waiting && !the.woken && the.wakes_ms > the.allowed_ms;
}

void sp_time_pass(int64_t ms)
{
	pthread_mutex_lock(&the.lock);
	the.allowed_ms += ms;
	pthread_cond_broadcast(&the.changed);
	while (!is_asleep())
		pthread_cond_wait(&the.changed, &the.lock);
	the.spent_ms = the.allowed_ms;
	pthread_mutex_unlock(&the.lock);
}

void sp_time_leap(int64_t ms)
{
	pthread_mutex_lock(&the.lock);
	the.clock_ns += ms * 1000000;
	pthread_mutex_unlock(&the.lock);
}

/* --------------------------------------------------------- incremental/watch.h */

sp_status sp_watch_create(sp_watch **out, sp_error *err)
{
	(void)err;
	*out = malloc(sizeof(**out));
	if (*out == NULL)
		abort();
	return SP_OK;
}

void sp_watch_destroy(sp_watch *watch)
{
	free(watch);
}

void sp_watch_checkpoints(sp_watch *watch, const char *checkpoint_dir)
{
	(void)watch;
	(void)checkpoint_dir;
}

void sp_watch_savedmodel(sp_watch *watch, const char *folder, const char *graph_file)
{
	(void)watch;
	(void)folder;
	(void)graph_file;
}

bool sp_watch_wait(sp_watch *watch, int64_t timeout_ms)
{
	bool held = !pthread_equal(pthread_self(), the.test), woken;

	(void)watch;
	if (the.hook != NULL)
		the.hook(sp_time_now_ms());
	pthread_mutex_lock(&the.lock);
	the.waits++;
	the.waiting = true;
	the.wakes_ms = the.spent_ms + timeout_ms;
	pthread_cond_broadcast(&the.changed);
	while (!the.woken && held && the.wakes_ms > the.allowed_ms)
		pthread_cond_wait(&the.changed, &the.lock);
	woken = the.woken;
	the.woken = the.waiting = false;
	if (!woken)
		the.spent_ms = the.wakes_ms;
	if (!held)
		the.allowed_ms = the.spent_ms;
	pthread_mutex_unlock(&the.lock);
	return woken;
}

void sp_watch_wake(sp_watch *watch)
{
	(void)watch;
	pthread_mutex_lock(&the.lock);
	the.woken = true;
	pthread_cond_broadcast(&the.changed);
	pthread_mutex_unlock(&the.lock);
}
