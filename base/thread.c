#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/size.h"

struct sp_thread_group {
	pthread_mutex_t lock; /* protects decided and go */
	pthread_cond_t start;
	bool decided; /* all threads exist, or starting failed */
	bool go;
	sp_thread_main *main;
	void *context;
	const char *subject; /* of log lines */
	size_t count;
	pthread_t threads[];
};

/* Each thread waits until all of its group exist, or creating one has failed. */
static void *run(void *argument)
{
	sp_thread_group *group = argument;
	bool go;

	pthread_mutex_lock(&group->lock);
	while (!group->decided)
		pthread_cond_wait(&group->start, &group->lock);
	go = group->go;
	pthread_mutex_unlock(&group->lock);
	sp_log_set_subject(group->subject);
	if (go)
		group->main(group->context);
	return NULL;
}

static void decide(sp_thread_group *group, bool go)
{
	pthread_mutex_lock(&group->lock);
	group->decided = true;
	group->go = go;
	pthread_cond_broadcast(&group->start);
	pthread_mutex_unlock(&group->lock);
}

sp_status sp_thread_group_create(sp_thread_group **out, size_t count, const char *name,
				 sp_thread_main *main, void *context, sp_error *err)
{
	sp_thread_group *group = NULL;
	sigset_t all, old;
	int failure = 0;
	char short_name[16] = "";
	size_t size;

	if (sp_size_mul(&size, count, sizeof(pthread_t)) &&
	    sp_size_add(&size, size, sizeof(*group)))
		group = sp_alloc_zero(1, size);
	SP_NEED_MEMORY(group, err, "%zu threads", count);
	pthread_mutex_init(&group->lock, NULL);
	pthread_cond_init(&group->start, NULL);
	group->main = main;
	group->context = context;
	group->subject = sp_log_subject();
	strncat(short_name, name, sizeof(short_name) - 1);

	sigfillset(&all);
	/* base/mapping.c handles SIGBUS; a blocked SIGBUS would end the process. */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (group->count < count && failure == 0) {
		failure = pthread_create(&group->threads[group->count], NULL, run, group);
		if (failure == 0)
			pthread_setname_np(group->threads[group->count++], short_name);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);

	decide(group, failure == 0);
	if (failure != 0) {
		sp_thread_group_destroy(group);
		return sp_error_set(err, SP_IO, "cannot start %zu threads: %s", count,
				    strerror(failure));
	}
	*out = group;
	return SP_OK;
}

void sp_thread_group_destroy(sp_thread_group *group)
{
	if (group == NULL)
		return;
	for (size_t i = 0; i < group->count; i++)
		pthread_join(group->threads[i], NULL);
	pthread_cond_destroy(&group->start);
	pthread_mutex_destroy(&group->lock);
	sp_free(group);
}

void sp_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}
