#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/redis/publication_internal.h"

/* Single commands of a publication, and its lock. */

#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)

enum { GRACE_MS = 200 };

int64_t sp_redis__patience_ns(const sp_redis_publication *p)
{
	return p->options.patience_seconds * SECOND;
}

sp_status sp_redis__batch_make(sp_redis_batch **out, sp_redis_client *client, sp_error *err)
{
	*out = sp_redis_batch_create(client);
	return *out != NULL ? SP_OK : sp_no_memory(err, "commands for Redis");
}

void sp_redis__command(sp_redis_batch *batch, const char *const *words, size_t count)
{
	const char *key = count > 1 ? words[1] : NULL;

	if (strcmp(words[0], "EVAL") == 0) /* EVAL SCRIPT 1 KEY */
		key = words[3];
	sp_redis_batch_begin(batch, key, key != NULL ? strlen(key) : 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
}

sp_status sp_redis__run(const sp_redis_publication *p, sp_redis_batch *batch, sp_error *err)
{
	sp_redis_submit_options options = {.deadline_ns = sp_clock_now_ns() +
							  sp_redis__patience_ns(p)};
	sp_status status = sp_redis_batch_submit(batch, &options, err);

	/*
	 * Waits a little longer than the deadline, so that the client can say why there is no
	 * reply.
	 */
	if (status == SP_OK)
		status = sp_redis_batch_wait(batch, options.deadline_ns + GRACE_MS * MS, err);
	if (status != SP_OK)
		sp_redis_batch_release(batch);
	return status;
}

sp_status sp_redis__run_all(const sp_redis_publication *p, sp_redis_batch *batch, sp_error *err)
{
	SP_TRY(sp_redis__run(p, batch, err));
	sp_redis_batch_release(batch);
	return SP_OK;
}

sp_status sp_redis__get(const char **out, const sp_redis_publication *p, sp_redis_client *client,
			const char *key, sp_error *err)
{
	const sp_redis_value *value;
	sp_redis_batch *batch;
	sp_status status;

	*out = NULL;
	SP_TRY(sp_redis__batch_make(&batch, client, err));
	SP_REDIS_COMMAND(batch, "GET", key);
	status = sp_redis__run(p, batch, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "key %s", key);
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_STRING) {
		*out = sp_arena_text(p->arena, (sp_bytes){value->text, value->size});
		if (*out == NULL)
			status = sp_no_memory(err, "the value of %s", key);
	}
	sp_redis_batch_release(batch);
	return status;
}

/* ------------------------------------------------------------ the lock */

/* Neither may touch the lock of a publisher that took it after ours had expired. */
static const char renew_script[] = "if redis.call('get',KEYS[1])==ARGV[1] then "
				   "return redis.call('expire',KEYS[1],ARGV[2]) else return 0 end";
static const char release_script[] = "if redis.call('get',KEYS[1])==ARGV[1] then "
				     "return redis.call('del',KEYS[1]) else return 0 end";

/* DeepRec's value is a random number in decimal. */
static void make_token(sp_redis_publication *p)
{
	uint32_t number[2] = {(uint32_t)sp_clock_now_ns(), (uint32_t)time(NULL)};

	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		sp_log(SP_LOG_WARNING, "no random number for a lock, taking the time");
	if (p->options.layout == SP_REDIS_DEEPREC)
		snprintf(p->token, sizeof(p->token), "%" PRIu32, number[0] & INT32_MAX);
	else
		snprintf(p->token, sizeof(p->token), "%08" PRIx32 "%08" PRIx32, number[0],
			 number[1]);
}

/* Also finds that an earlier attempt succeeded whose reply was lost. */
static sp_status try_lock(bool *is_ours, sp_redis_publication *p, sp_error *err)
{
	const char *holder;
	sp_redis_batch *batch;
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%" PRId64, p->options.lock_seconds);
	SP_TRY(sp_redis__batch_make(&batch, p->lock_client, err));
	SP_REDIS_COMMAND(batch, "SET", p->lock, p->token, "EX", seconds, "NX");
	SP_TRY(sp_redis__run_all(p, batch, err));
	SP_TRY(sp_redis__get(&holder, p, p->lock_client, p->lock, err));
	*is_ours = holder != NULL && strcmp(holder, p->token) == 0;
	return SP_OK;
}

static bool is_stopped(const sp_redis_publication *p)
{
	return p->options.stop != NULL && atomic_load(p->options.stop);
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = {.tv_nsec = (long)ns};

	nanosleep(&pause, NULL);
}

sp_status sp_redis__lock(sp_redis_publication *p, sp_redis_client *client, const char *key,
			 sp_error *err)
{
	/* A lock that is not renewed has expired by then. */
	int64_t last = sp_clock_now_ns() + (p->options.lock_seconds + 1) * SECOND;
	bool is_ours = false, is_logged = false;
	sp_status status;

	p->lock_client = client;
	p->lock = key;
	make_token(p);
	for (;;) {
		p->renew_ns = sp_clock_now_ns() + p->options.lock_seconds * SECOND / 3;
		status = try_lock(&is_ours, p, err);
		if (status == SP_OK && is_ours)
			return SP_OK;
		if (status != SP_OK || !p->options.waits || sp_clock_now_ns() > last ||
		    is_stopped(p))
			break;
		if (!is_logged)
			sp_log(SP_LOG_INFO, "another publisher holds key %s: waiting", key);
		is_logged = true;
		sleep_ns(SECOND / 5);
	}
	p->token[0] = '\0';
	return status != SP_OK ? status
			       : sp_error_set(err, SP_BUSY, "another publisher holds key %s", key);
}

/* *done: whether the script returned 1. */
static sp_status run_script(bool *done, sp_redis_publication *p, const char *script, sp_error *err)
{
	sp_redis_batch *batch;
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%" PRId64, p->options.lock_seconds);
	SP_TRY(sp_redis__batch_make(&batch, p->lock_client, err));
	SP_REDIS_COMMAND(batch, "EVAL", script, "1", p->lock, p->token, seconds);
	SP_TRY(sp_redis__run(p, batch, err));
	*done = sp_redis_batch_reply(batch, 0)->integer == 1;
	sp_redis_batch_release(batch);
	return SP_OK;
}

sp_status sp_redis__renew(sp_redis_publication *p, sp_error *err)
{
	int64_t next = sp_clock_now_ns() + p->options.lock_seconds * SECOND / 3;
	bool held;

	SP_TRY(run_script(&held, p, renew_script, err));
	if (!held)
		return sp_error_set(err, SP_BUSY, "key %s is no longer ours: another publisher %s",
				    p->lock, "may have taken over");
	p->renew_ns = next;
	return SP_OK;
}

sp_status sp_redis__check_lock(sp_redis_publication *p, sp_error *err)
{
	if (is_stopped(p))
		return sp_error_set(err, SP_BUSY, "publishing was stopped");
	return sp_clock_now_ns() < p->renew_ns ? SP_OK : sp_redis__renew(p, err);
}

void sp_redis__unlock(sp_redis_publication *p)
{
	bool released;
	sp_error why;

	if (p->token[0] == '\0')
		return;
	if (run_script(&released, p, release_script, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "key %s stays until it expires: %s", p->lock, why.text);
	p->token[0] = '\0';
}
