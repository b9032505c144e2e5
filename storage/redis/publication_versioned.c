#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "storage/redis/publication_internal.h"

/*
 * Our layout.  A version is published in this order: rows, marks, the version's record, `current`;
 * it expires in the order record, rows.  Every step may be repeated, and if a later step is never
 * done, the keys written so far expire.
 */

/* --------------------------------------------------------------- one table */

/* The names of a table's hashes in the arena. */
static sp_status name_hashes(const char ***out, const sp_redis_publication *p, const char *table,
			     const sp_redis_version *version, sp_error *err)
{
	const char **names = sp_arena_array(p->arena, version->partitions, sizeof(*names));

	SP_NEED_MEMORY(names, err, "the names of a table");
	for (size_t i = 0; i < version->partitions; i++) {
		names[i] = sp_redis_hash_name(p->arena, p->options.model, table, version, i);
		SP_NEED_MEMORY(names[i], err, "the names of a table");
	}
	*out = names;
	return SP_OK;
}

/* The state of a table's hashes. */
typedef struct state {
	uint64_t rows;
	size_t present;  /* hashes */
	size_t complete; /* of these have the mark and as many rows as "#rows" says */
	const char *bad; /* the first one that is not complete; NULL: none */
} state;

/* The number in a field; UINT64_MAX: it is absent or not a number. */
static uint64_t number_of(const sp_redis_value *value)
{
	char text[24];

	if (value->kind != SP_REDIS_STRING || value->size >= sizeof(text) || value->size == 0)
		return UINT64_MAX;
	memcpy(text, value->text, value->size);
	text[value->size] = '\0';
	return strtoull(text, NULL, 10);
}

/* Adds a hash to the state, by the replies to its HLEN and HMGET. */
static void add_to_state(state *out, const sp_redis_value *length, const sp_redis_value *fields,
			 const char *mark, const char *name)
{
	const sp_redis_value *its_mark = fields + 1, *its_rows = fields + 2;
	uint64_t rows = (uint64_t)length->integer;

	rows -= its_mark->kind == SP_REDIS_STRING;
	rows -= its_rows->kind == SP_REDIS_STRING;
	out->present += length->integer != 0;
	out->rows += length->integer != 0 ? rows : 0;
	if (its_mark->kind == SP_REDIS_STRING && its_mark->size == strlen(mark) &&
	    memcmp(its_mark->text, mark, its_mark->size) == 0 && number_of(its_rows) == rows)
		out->complete++;
	else if (out->bad == NULL)
		out->bad = name;
}

static sp_status inspect(state *out, sp_redis_publication *p, const char *const *hashes,
			 const sp_redis_version *version, sp_error *err)
{
	char mark[SP_REDIS_MARK_SIZE + 1];
	sp_redis_batch *batch;
	sp_status status;

	*out = (state){0};
	sp_redis_mark(mark, version);
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	for (size_t i = 0; i < version->partitions; i++) {
		SP_REDIS_COMMAND(batch, "HLEN", hashes[i]);
		SP_REDIS_COMMAND(batch, "HMGET", hashes[i], SP_REDIS_MARK_FIELD,
				 SP_REDIS_ROWS_FIELD);
	}
	status = sp_redis__run(p, batch, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "key %s and others like it", hashes[0]);
	for (size_t i = 0; i < version->partitions; i++)
		add_to_state(out, sp_redis_batch_reply(batch, 2 * i),
			     sp_redis_batch_reply(batch, 2 * i + 1), mark, hashes[i]);
	sp_redis_batch_release(batch);
	return SP_OK;
}

/* Runs a command for each key: NAME KEY, or NAME KEY ARGUMENT. */
static sp_status for_each_key(sp_redis_publication *p, const char *const *keys, size_t count,
			      const char *name, const char *argument, sp_error *err)
{
	sp_redis_batch *batch;

	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	for (size_t i = 0; i < count; i++)
		if (argument != NULL)
			SP_REDIS_COMMAND(batch, name, keys[i], argument);
		else
			SP_REDIS_COMMAND(batch, name, keys[i]);
	return sp_redis__run_all(p, batch, err);
}

/*
 * Creates all hashes, so that they can be told to expire.  Those of a complete version, which is
 * being repaired, do not expire.
 */
static sp_status start_hashes(sp_redis_publication *p, sp_error *err)
{
	size_t partitions = p->options.version.partitions;
	char seconds[24];
	sp_redis_batch *batch;
	const char *record;

	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	for (size_t i = 0; i < partitions; i++)
		SP_REDIS_COMMAND(batch, "HSETNX", p->writing.hashes[i], SP_REDIS_ROWS_FIELD, "0");
	SP_TRY(sp_redis__run_all(p, batch, err));
	SP_TRY(sp_redis__get(&record, p, p->client, p->record, err));
	if (record != NULL)
		return SP_OK;
	snprintf(seconds, sizeof(seconds), "%d", SP_REDIS_LEFTOVER);
	return for_each_key(p, p->writing.hashes, partitions, "EXPIRE", seconds, err);
}

/*
 * Rows that were acknowledged are not sent again if all of them are still there.  Other rows that
 * are there stay: they are the same.
 */
sp_status sp_redis__versioned_begin(sp_redis_publication *p, bool *is_there, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	sp_redis_progress progress;
	state found;

	SP_TRY(name_hashes(&w->hashes, p, w->table.name, &p->options.version, err));
	SP_TRY(inspect(&found, p, w->hashes, &p->options.version, err));
	SP_TRY(sp_redis__progress_read(&progress, p, w->table.name, err));
	if (progress.done && found.bad == NULL && found.rows == progress.distinct) {
		*is_there = true;
		return SP_OK;
	}
	if (progress.rows != 0 &&
	    (found.present < p->options.version.partitions || found.rows < progress.distinct)) {
		sp_log(SP_LOG_WARNING,
		       "table '%s' in Redis has %llu of %llu rows that were written, and is "
		       "written again",
		       w->table.name, (unsigned long long)found.rows,
		       (unsigned long long)progress.distinct);
		progress.rows = 0;
	}
	w->there = w->acknowledged = progress.rows;
	w->there_crc = w->acknowledged_crc = progress.crc;
	w->distinct = found.rows;
	SP_TRY(start_hashes(p, err));
	return sp_redis__progress_write(p, false, err);
}

/*
 * Compares the number of rows with what was written.  If replies were lost with a connection, it is
 * unknown how many fields were added, and in which order several rows of a key were written.
 */
static sp_status check_count(sp_redis_publication *p, const state *found, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	sp_redis_counters counters;
	bool was_cut;

	sp_redis_client_counters(p->client, &counters);
	was_cut = counters.losses != w->losses;
	if (found->present < p->options.version.partitions || found->rows > w->seen ||
	    (was_cut ? found->rows < w->distinct : found->rows != w->distinct))
		return sp_error_set(err, SP_CORRUPT,
				    "%llu rows are in Redis, and %llu were written: does it evict "
				    "keys?",
				    (unsigned long long)found->rows,
				    (unsigned long long)w->distinct);
	if (was_cut && found->rows != w->seen)
		return sp_redis__restart_table(
			p, "the connection was lost, and some keys have several rows", err);
	w->distinct = found->rows;
	return SP_OK;
}

static sp_status write_marks(sp_redis_publication *p, sp_error *err)
{
	const char **hashes = p->writing.hashes;
	size_t partitions = p->options.version.partitions;
	char mark[SP_REDIS_MARK_SIZE + 1], rows[24];
	sp_redis_batch *lengths, *batch;
	sp_status status;

	sp_redis_mark(mark, &p->options.version);
	SP_TRY(sp_redis__batch_make(&lengths, p->client, err));
	for (size_t i = 0; i < partitions; i++) {
		SP_REDIS_COMMAND(lengths, "HLEN", hashes[i]);
		SP_REDIS_COMMAND(lengths, "HEXISTS", hashes[i], SP_REDIS_MARK_FIELD);
	}
	SP_TRY(sp_redis__run(p, lengths, err));
	status = sp_redis__batch_make(&batch, p->client, err);
	for (size_t i = 0; status == SP_OK && i < partitions; i++) {
		/*
		 * Two fields are not rows: the number of rows and, if the table is being repaired,
		 * the mark.
		 */
		snprintf(rows, sizeof(rows), "%" PRId64,
			 sp_redis_batch_reply(lengths, 2 * i)->integer - 1 -
				 sp_redis_batch_reply(lengths, 2 * i + 1)->integer);
		SP_REDIS_COMMAND(batch, "HSET", hashes[i], SP_REDIS_ROWS_FIELD, rows,
				 SP_REDIS_MARK_FIELD, mark);
	}
	sp_redis_batch_release(lengths);
	return status == SP_OK ? sp_redis__run_all(p, batch, err) : status;
}

sp_status sp_redis__versioned_end(sp_redis_publication *p, sp_error *err)
{
	state found;

	SP_TRY(inspect(&found, p, p->writing.hashes, &p->options.version, err));
	SP_TRY(check_count(p, &found, err));
	SP_TRY(sp_redis__compare_samples(p, err));
	SP_TRY(write_marks(p, err));
	return sp_redis__progress_write(p, true, err);
}

/* ---------------------------------------------------------------- versions */

static sp_status name_version(const char **record, const char **tables,
			      const sp_redis_publication *p, const sp_redis_version *version,
			      sp_error *err)
{
	*record = sp_redis_version_name(p->arena, p->options.model, version->full);
	*tables = sp_redis_tables_name(p->arena, p->options.model, version);
	SP_NEED_MEMORY(*record != NULL && *tables != NULL, err, "the names of a version");
	return SP_OK;
}

/* The elements of an array reply, copied to the arena. */
static sp_status list_of(sp_redis_tables *out, sp_redis_publication *p, const char *command,
			 const char *key, sp_error *err)
{
	const sp_redis_value *value;
	sp_redis_batch *batch;
	sp_status status = SP_OK;

	*out = (sp_redis_tables){0};
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, command, key);
	SP_TRY(sp_redis__run(p, batch, err));
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_ARRAY && value->integer > 0) {
		out->count = (size_t)value->integer;
		out->names = sp_arena_array(p->arena, out->count, sizeof(*out->names));
		if (out->names == NULL)
			status = sp_no_memory(err, "a list of names");
	}
	for (size_t i = 0; status == SP_OK && i < out->count; i++) {
		out->names[i] = sp_arena_text(p->arena,
					      (sp_bytes){value[i + 1].text, value[i + 1].size});
		if (out->names[i] == NULL)
			status = sp_no_memory(err, "a list of names");
	}
	sp_redis_batch_release(batch);
	return status;
}

/* Makes all tables' keys persistent, and fails if a table is not complete. */
static sp_status persist_tables(sp_redis_publication *p, const sp_redis_version *version,
				const sp_redis_tables *tables, sp_error *err)
{
	const char **hashes;
	state found;

	for (size_t i = 0; i < tables->count; i++) {
		SP_TRY(sp_redis__check_lock(p, err));
		SP_TRY(name_hashes(&hashes, p, tables->names[i], version, err));
		SP_TRY(for_each_key(p, hashes, version->partitions, "PERSIST", NULL, err));
		SP_TRY(inspect(&found, p, hashes, version, err));
		if (found.bad != NULL)
			return sp_error_set(err, SP_CORRUPT,
					    "key %s of table '%s' is gone or has lost rows: does "
					    "Redis evict keys?",
					    found.bad, tables->names[i]);
	}
	return SP_OK;
}

/* Rows expire a minute after the record, so that whoever finds the record finds the rows. */
static sp_status expire_rows(sp_redis_publication *p, const sp_redis_version *version,
			     const char *name, sp_error *err)
{
	sp_redis_tables tables;
	const char **hashes;
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%" PRId64, p->options.keep_seconds + 60);
	SP_TRY(list_of(&tables, p, "HKEYS", name, err));
	for (size_t i = 0; i < tables.count; i++) {
		SP_TRY(name_hashes(&hashes, p, tables.names[i], version, err));
		SP_TRY(for_each_key(p, hashes, version->partitions, "EXPIRE", seconds, err));
	}
	return for_each_key(p, &name, 1, "EXPIRE", seconds, err);
}

static sp_status expire_record(sp_redis_publication *p, const char *record, sp_error *err)
{
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%" PRId64, p->options.keep_seconds);
	return for_each_key(p, &record, 1, "EXPIRE", seconds, err);
}

static sp_status expire_version(sp_redis_publication *p, const sp_redis_version *version,
				sp_error *err)
{
	const char *record, *name, *text;
	sp_redis_version now;

	SP_TRY(name_version(&record, &name, p, version, err));
	SP_TRY(sp_redis__get(&text, p, p->client, record, err));
	/* Another version of the same step, with other content, has a record of the same name. */
	if (text != NULL && sp_redis_record_read(&now, sp_bytes_of(text), NULL) == SP_OK &&
	    now.checksum == version->checksum)
		SP_TRY(expire_record(p, record, err));
	return expire_rows(p, version, name, err);
}

/* -1: it does not expire; -2: there is no such key. */
static sp_status time_to_live(int64_t *out, sp_redis_publication *p, const char *key, sp_error *err)
{
	sp_redis_batch *batch;

	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, "TTL", key);
	SP_TRY(sp_redis__run(p, batch, err));
	*out = sp_redis_batch_reply(batch, 0)->integer;
	sp_redis_batch_release(batch);
	return SP_OK;
}

/*
 * Makes every version but the current one expire, whoever published it.  A failure is only logged,
 * because the next publication does it again.
 */
static sp_status expire_others(sp_redis_publication *p, const sp_redis_version *current,
			       sp_error *err)
{
	sp_redis_version version;
	sp_redis_tables records;
	int64_t left;

	SP_TRY(list_of(&records, p, "SMEMBERS", p->versions, err));
	for (size_t i = 0; i < records.count; i++) {
		const char *record, *tables;

		if (sp_redis_record_read(&version, sp_bytes_of(records.names[i]), NULL) == SP_OK) {
			if (version.full == current->full && version.checksum == current->checksum)
				continue;
			SP_TRY(name_version(&record, &tables, p, &version, err));
			SP_TRY(time_to_live(&left, p, tables, err));
			if (left == -1)
				SP_TRY(expire_version(p, &version, err));
			if (left != -2)
				continue;
		}
		SP_TRY(for_each_key(p, &p->versions, 1, "SREM", records.names[i], err));
	}
	return SP_OK;
}

/*
 * Makes the version's record the current one.  With `is_rollback`, the record's `left` says up to
 * which newer version it is served instead.
 */
static sp_status make_current(sp_redis_publication *p, sp_redis_version *version, bool is_rollback,
			      sp_error *err)
{
	char record[SP_REDIS_MAX_RECORD];
	sp_redis_version now;
	const char *text;

	version->former = -1;
	version->left = 0;
	SP_TRY(sp_redis__get(&text, p, p->client, p->current, err));
	if (text != NULL && sp_redis_record_read(&now, sp_bytes_of(text), NULL) == SP_OK) {
		int64_t newest = now.full > now.left ? now.full : now.left;

		version->former = now.full != version->full ? now.full : now.former;
		if (is_rollback && newest > version->full)
			version->left = newest;
		/*
		 * A version that is published again after a rollback stays the one rolled back to.
		 */
		if (!is_rollback && now.full == version->full && now.checksum == version->checksum)
			version->left = now.left;
	}
	sp_redis_record_write(record, version);
	return for_each_key(p, &p->current, 1, "SET", record, err);
}

/* -------------------------------------------------------------- publishing */

static sp_status make_names(sp_redis_publication *p, sp_error *err)
{
	const char *lock = sp_redis_lock_name(p->arena, p->options.model);

	p->current = sp_redis_current_name(p->arena, p->options.model);
	p->versions = sp_redis_versions_name(p->arena, p->options.model);
	SP_NEED_MEMORY(lock != NULL && p->current != NULL && p->versions != NULL, err,
		       "the names of a model");
	SP_TRY(sp_redis__lock(p, p->client, lock, err));
	return name_version(&p->record, &p->tables, p, &p->options.version, err);
}

/* Reads the keys before anything is written, so that keys of another kind are an error. */
sp_status sp_redis__versioned_open(sp_redis_publication *p, sp_error *err)
{
	char record[SP_REDIS_MAX_RECORD];
	sp_redis_version version;
	const char *text;

	p->options.version.former = -1;
	SP_TRY(make_names(p, err));
	SP_TRY(sp_redis__get(&text, p, p->client, p->current, err));
	if (text != NULL)
		SP_TRY(sp_error_prefix(err, sp_redis_record_read(&version, sp_bytes_of(text), err),
				       "key %s", p->current));
	SP_TRY(sp_redis__get(&text, p, p->client, p->record, err));
	sp_redis_record_write(record, &p->options.version);
	return for_each_key(p, &p->versions, 1, "SADD", record, err);
}

/* Whether a newer version must stay the current one. */
static sp_status is_older(bool *out, const sp_redis_publication *p, sp_error *err)
{
	sp_redis_version now;
	const char *text;

	SP_TRY(sp_redis__get(&text, p, p->client, p->current, err));
	*out = p->options.never_older && text != NULL &&
	       sp_redis_record_read(&now, sp_bytes_of(text), NULL) == SP_OK &&
	       now.full > p->options.version.full;
	return SP_OK;
}

sp_status sp_redis__versioned_finish(sp_redis_publication *p, sp_error *err)
{
	sp_redis_version *version = &p->options.version;
	sp_redis_tables tables = {p->names, p->name_count};
	char record[SP_REDIS_MAX_RECORD];
	bool stays;
	sp_error why;

	SP_TRY(persist_tables(p, version, &tables, err));
	SP_TRY(for_each_key(p, &p->tables, 1, "PERSIST", NULL, err));
	SP_TRY(sp_redis__renew(p, err));
	version->former = -1;
	sp_redis_record_write(record, version);
	SP_TRY(for_each_key(p, &p->record, 1, "SET", record, err));
	SP_TRY(is_older(&stays, p, err));
	if (stays)
		return SP_OK;
	SP_TRY(make_current(p, version, false, err));
	if (expire_others(p, version, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "former versions in Redis stay for now: %s", why.text);
	return SP_OK;
}

/* Deletes an incomplete version, because Redis is out of memory. */
void sp_redis__versioned_delete(sp_redis_publication *p)
{
	sp_redis_version *version = &p->options.version;
	const char *record, **hashes;
	sp_status status;
	sp_error why;

	status = sp_redis__get(&record, p, p->client, p->record, &why);
	if (status == SP_OK && record != NULL)
		return; /* it was complete before: readers may use it */
	for (size_t i = 0; status == SP_OK && i < p->name_count; i++) {
		status = name_hashes(&hashes, p, p->names[i], version, &why);
		if (status == SP_OK)
			status = for_each_key(p, hashes, version->partitions, "UNLINK", NULL, &why);
	}
	if (status == SP_OK)
		status = for_each_key(p, &p->tables, 1, "UNLINK", NULL, &why);
	if (status != SP_OK)
		sp_log(SP_LOG_WARNING, "rows in Redis stay until they expire: %s", why.text);
}

/* Extends the rows first, so that they never expire before the record. */
sp_status sp_redis__versioned_keep(sp_redis_publication *p, uint64_t content, sp_error *err)
{
	const char *record, *name, *text;
	sp_redis_version version;
	int64_t left;

	record = sp_redis_version_name(p->arena, p->options.model, p->options.version.full);
	SP_NEED_MEMORY(record, err, "the name of a version");
	SP_TRY(sp_redis__get(&text, p, p->client, record, err));
	if (text != NULL)
		SP_TRY(sp_redis_record_read(&version, sp_bytes_of(text), err));
	if (text == NULL ||
	    version.checksum != sp_redis_checksum(content, version.partitions, version.format))
		return sp_error_set(err, SP_NOT_FOUND, "key %s %s", record,
				    text == NULL ? "is gone" : "is of other rows");
	SP_TRY(time_to_live(&left, p, record, err));
	if (left == -1 || left > p->options.keep_seconds / 2)
		return SP_OK;
	SP_TRY(name_version(&record, &name, p, &version, err));
	SP_TRY(expire_rows(p, &version, name, err));
	return expire_record(p, record, err);
}

/* ---------------------------------------------------------------- rollback */

/* The full step to roll back to: `full`, or that of the previous version. */
static sp_status choose(int64_t *out, sp_redis_publication *p, int64_t full, sp_error *err)
{
	sp_redis_version version;
	const char *text;

	*out = full;
	if (full >= 0)
		return SP_OK;
	SP_TRY(sp_redis__get(&text, p, p->client, p->current, err));
	if (text == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "there is no key %s", p->current);
	SP_TRY(sp_redis_record_read(&version, sp_bytes_of(text), err));
	if (version.former < 0)
		return sp_error_set(err, SP_NOT_FOUND, "key %s names no former version",
				    p->current);
	*out = version.former;
	return SP_OK;
}

/*
 * The version that is rolled back from does not expire before another one is published: it may be
 * in use.
 */
sp_status sp_redis__versioned_rollback(sp_redis_version *out, sp_redis_publication *p, int64_t full,
				       sp_error *err)
{
	const char *record, *name, *text;
	sp_redis_tables tables;

	SP_TRY(make_names(p, err));
	SP_TRY(choose(&full, p, full, err));
	record = sp_redis_version_name(p->arena, p->options.model, full);
	SP_NEED_MEMORY(record, err, "the name of a version");
	SP_TRY(sp_redis__get(&text, p, p->client, record, err));
	if (text == NULL)
		return sp_error_set(err, SP_NOT_FOUND,
				    "there is no key %s: the version was never published, or has "
				    "expired",
				    record);
	SP_TRY(sp_redis_record_read(out, sp_bytes_of(text), err));
	SP_TRY(name_version(&record, &name, p, out, err));
	SP_TRY(for_each_key(p, &record, 1, "PERSIST", NULL, err));
	SP_TRY(for_each_key(p, &name, 1, "PERSIST", NULL, err));
	SP_TRY(list_of(&tables, p, "HKEYS", name, err));
	SP_TRY(persist_tables(p, out, &tables, err));
	SP_TRY(sp_redis__renew(p, err));
	return make_current(p, out, true, err);
}
