#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "storage/redis/publication_internal.h"

/*
 * DeepRec's layout.  Its processors read two databases, of which one is active; a publication
 * empties the other one, fills it, and makes it active.  `active` and `model_version` of both
 * change in one script, so that no processor sees an intermediate state.
 */

/* In a database that a publication fills: its version, and the progress of its tables. */
#define PROGRESS_KEY  "serving_processor_publication"
#define VERSION_FIELD "version of the publication"

/* What a processor reads at its start. */
typedef struct database {
	bool is_active;
	const char *version; /* NULL: none */
	int64_t full;        /* -1: none */
} database;

static sp_status inspect(database *out, sp_redis_publication *p, sp_redis_client *client,
			 sp_error *err)
{
	const char *active;
	int64_t latest;

	*out = (database){.full = -1};
	SP_TRY(sp_redis__get(&active, p, client, SP_REDIS_DEEPREC_ACTIVE, err));
	SP_TRY(sp_redis__get(&out->version, p, client, SP_REDIS_DEEPREC_VERSION, err));
	out->is_active = active != NULL && strcmp(active, "0") != 0;
	if (out->version != NULL)
		SP_TRY(sp_redis_deeprec_version_read(&out->full, &latest, sp_bytes_of(out->version),
						     err));
	return SP_OK;
}

/* The active database; -1: none is. */
static sp_status find_serving(int64_t *out, database found[2], sp_redis_publication *p,
			      sp_error *err)
{
	sp_redis_client *clients[2] = {p->client, p->other_client};

	if (p->database == 1) {
		clients[0] = p->other_client;
		clients[1] = p->client;
	}
	SP_TRY(inspect(&found[0], p, clients[0], err));
	SP_TRY(inspect(&found[1], p, clients[1], err));
	*out = found[0].is_active ? 0 : found[1].is_active ? 1 : -1;
	return SP_OK;
}

/*
 * Takes the lock in the active database, as DeepRec's processors do; the other one becomes
 * p->client.
 */
static sp_status lock(sp_redis_publication *p, database found[2], int64_t *serving, sp_error *err)
{
	sp_redis_client *first = p->client;
	int64_t now;

	SP_TRY(find_serving(serving, found, p, err));
	if (*serving == 0) {
		p->client = p->other_client;
		p->other_client = first;
		p->database = 1;
	}
	SP_TRY(sp_redis__lock(p, *serving >= 0 ? p->other_client : p->client, SP_REDIS_DEEPREC_LOCK,
			      err));
	SP_TRY(find_serving(&now, found, p, err));
	if (now != *serving)
		return sp_error_set(err, SP_BUSY, "another publisher was faster");
	return SP_OK;
}

/* ----------------------------------------------------------------- the target */

static sp_status integer_of(int64_t *out, sp_redis_publication *p, sp_redis_batch *batch,
			    sp_error *err)
{
	SP_TRY(sp_redis__run(p, batch, err));
	*out = sp_redis_batch_reply(batch, 0)->integer;
	sp_redis_batch_release(batch);
	return SP_OK;
}

static sp_status count_keys(int64_t *out, sp_redis_publication *p, sp_error *err)
{
	sp_redis_batch *batch;

	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, "DBSIZE");
	return integer_of(out, p, batch, err);
}

/* The number of keys that are not rows. */
static sp_status count_others(int64_t *out, sp_redis_publication *p, sp_error *err)
{
	sp_redis_batch *batch;

	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, "EXISTS", SP_REDIS_DEEPREC_ACTIVE, SP_REDIS_DEEPREC_VERSION,
			 PROGRESS_KEY, SP_REDIS_DEEPREC_LOCK);
	return integer_of(out, p, batch, err);
}

static void name_progress(char out[64], const sp_redis_publication *p)
{
	snprintf(out, 64, "%" PRId64 "-%016" PRIx64, p->options.version.full,
		 p->options.version.checksum);
}

/* Whether the database has a publication of this version, complete or not. */
static sp_status has_version(bool *out, sp_redis_publication *p, sp_redis_client *client,
			     sp_error *err)
{
	const sp_redis_value *value;
	sp_redis_batch *batch;
	char version[64];

	name_progress(version, p);
	SP_TRY(sp_redis__batch_make(&batch, client, err));
	SP_REDIS_COMMAND(batch, "HGET", PROGRESS_KEY, VERSION_FIELD);
	SP_TRY(sp_redis__run(p, batch, err));
	value = sp_redis_batch_reply(batch, 0);
	*out = value->kind == SP_REDIS_STRING && value->size == strlen(version) &&
	       memcmp(value->text, version, value->size) == 0;
	sp_redis_batch_release(batch);
	return SP_OK;
}

/* If no database is active yet, the lock is in the one that is emptied. */
static const char empty_script[] = "if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
				   "redis.call('flushdb','async') "
				   "redis.call('set',KEYS[1],ARGV[1],'ex',ARGV[2]) return 1";

/* FLUSHDB deletes everything, so the database may hold nothing but what a publication has left. */
static sp_status empty(sp_redis_publication *p, const database *found, sp_error *err)
{
	int64_t keys, others;
	sp_redis_batch *batch;
	char version[64], seconds[24];

	SP_TRY(count_keys(&keys, p, err));
	SP_TRY(count_others(&others, p, err));
	others -= p->lock_client == p->client; /* the lock is ours */
	if (keys > 1 && others <= 0 && found->version == NULL)
		return sp_error_set(err, SP_CORRUPT,
				    "database %" PRId64 " has %" PRId64
				    " keys and neither 'active' nor 'model_version': it isn't "
				    "DeepRec's, and is not emptied",
				    p->database, keys);
	name_progress(version, p);
	snprintf(seconds, sizeof(seconds), "%" PRId64, p->options.lock_seconds);
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	if (p->lock_client == p->client)
		SP_REDIS_COMMAND(batch, "EVAL", empty_script, "1", SP_REDIS_DEEPREC_LOCK, p->token,
				 seconds);
	else
		SP_REDIS_COMMAND(batch, "FLUSHDB", "ASYNC");
	SP_REDIS_COMMAND(batch, "HSET", PROGRESS_KEY, VERSION_FIELD, version);
	return sp_redis__run_all(p, batch, err);
}

sp_status sp_redis__deeprec_open(sp_redis_publication *p, sp_error *err)
{
	database found[2];
	int64_t serving;
	bool is_ours = false;

	SP_TRY(lock(p, found, &serving, err));
	p->tables = PROGRESS_KEY;
	if (serving >= 0 && found[serving].full == p->options.version.full) {
		p->is_published = true;
		return SP_OK;
	}
	if (p->options.never_older && serving >= 0 && found[serving].full > p->options.version.full)
		return sp_error_set(err, SP_NOT_FOUND,
				    "version %" PRId64 " is active, which is newer than %" PRId64
				    "; 'serving_tool publish --rollback' goes back",
				    found[serving].full, p->options.version.full);
	SP_TRY(has_version(&is_ours, p, p->client, err));
	return is_ours ? SP_OK : empty(p, &found[p->database], err);
}

/* --------------------------------------------------------------------- tables */

sp_status sp_redis__deeprec_begin(sp_redis_publication *p, bool *is_there, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	sp_redis_progress progress;

	*is_there = p->is_published;
	if (p->is_published)
		return SP_OK;
	SP_TRY(sp_redis__progress_read(&progress, p, w->table.name, err));
	*is_there = progress.done;
	if (progress.done)
		p->total += progress.rows;
	w->there = w->acknowledged = progress.rows;
	w->there_crc = w->acknowledged_crc = progress.crc;
	return SP_OK;
}

sp_status sp_redis__deeprec_end(sp_redis_publication *p, sp_error *err)
{
	SP_TRY(sp_redis__compare_samples(p, err));
	p->total += p->writing.acknowledged;
	return sp_redis__progress_write(p, true, err);
}

/* ---------------------------------------------------------------- the switch */

static const char switch_script[] =
	"if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
	"redis.call('select',ARGV[2]) "
	"if ARGV[4]~='' then redis.call('set','model_version',ARGV[4]) end "
	"redis.call('set','active','1') "
	"redis.call('select',ARGV[3]) "
	"redis.call('set','active','0') return 1";

/* version "": model_version is not changed. */
static sp_status make_active(sp_redis_publication *p, const char *version, sp_error *err)
{
	const char *to = p->database == 0 ? "0" : "1", *from = p->database == 0 ? "1" : "0";
	sp_redis_batch *batch;
	int64_t done;

	SP_TRY(sp_redis__batch_make(&batch, p->lock_client, err));
	SP_REDIS_COMMAND(batch, "EVAL", switch_script, "1", SP_REDIS_DEEPREC_LOCK, p->token, to,
			 from, version);
	SP_TRY(integer_of(&done, p, batch, err));
	return done == 1 ? SP_OK
			 : sp_error_set(err, SP_BUSY,
					"the lock was lost: another publisher may have taken over");
}

/*
 * The number after the comma is 0 without a delta, as DeepRec writes it.  A repeated key is one
 * row, so there may be fewer rows than were written; the rows of each table were compared before.
 */
sp_status sp_redis__deeprec_finish(sp_redis_publication *p, sp_error *err)
{
	int64_t keys, others;
	char version[48];

	if (p->is_published)
		return SP_OK;
	SP_TRY(count_keys(&keys, p, err));
	SP_TRY(count_others(&others, p, err));
	keys -= others;
	if (keys < 0 || (uint64_t)keys > p->total || (keys == 0 && p->total != 0))
		return sp_error_set(err, SP_CORRUPT,
				    "database %" PRId64 " has %" PRId64 " rows, and %" PRIu64
				    " were written",
				    p->database, keys, p->total);
	SP_TRY(sp_redis__renew(p, err));
	snprintf(version, sizeof(version), "%" PRId64 ",0", p->options.version.full);
	return make_active(p, version, err);
}

void sp_redis__deeprec_delete(sp_redis_publication *p)
{
	sp_redis_batch *batch;
	sp_error why;
	sp_status status;

	if (p->is_published || p->lock_client == p->client)
		return;
	status = sp_redis__batch_make(&batch, p->client, &why);
	if (status == SP_OK) {
		SP_REDIS_COMMAND(batch, "FLUSHDB", "ASYNC");
		status = sp_redis__run_all(p, batch, &why);
	}
	if (status != SP_OK)
		sp_log(SP_LOG_WARNING, "rows stay in database %" PRId64 " of Redis: %s",
		       p->database, why.text);
}

sp_status sp_redis__deeprec_rollback(sp_redis_version *out, sp_redis_publication *p, int64_t full,
				     sp_error *err)
{
	database found[2];
	int64_t serving, there;

	SP_TRY(lock(p, found, &serving, err));
	there = found[p->database].full;
	if (serving < 0 || there < 0 || (full >= 0 && there != full))
		return sp_error_set(err, SP_NOT_FOUND,
				    "the database that isn't active has no version%s",
				    full >= 0 && there >= 0 ? " of that step" : "");
	*out = (sp_redis_version){.full = there, .former = found[serving].full};
	return make_active(p, "", err);
}
