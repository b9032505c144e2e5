#include "storage/redis/publication.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "storage/redis/publication_internal.h"

/* What both layouts have in common: clients, the lock, tables one after the other. */

enum {
	SLICE_BYTES = 512 << 10, /* of a batch of rows, approximately */
	DAY = 86400,
	LOCK_SECONDS = 30,
	PATIENCE_SECONDS = 30,
	CLOSE_SECONDS = 2,
};

/* Prefixes errors with "Redis"; those of the client begin with it. */
static sp_status add_prefix(sp_error *err, sp_status status)
{
	if (status == SP_OK || err == NULL || strncmp(err->text, "Redis", 5) == 0)
		return status;
	return sp_error_prefix(err, status, "Redis");
}

static sp_status connect_to(sp_redis_client **out, const sp_redis_publication *p, int64_t database,
			    sp_error *err)
{
	sp_redis_address *address = sp_alloc(sizeof(*address));
	sp_redis_client_options options = {.address = address, .is_cluster = p->options.is_cluster};
	sp_status status;

	SP_NEED_MEMORY(address, err, "an address");
	*address = *p->options.address;
	address->db = database;
	/* A command may be slow because Redis is being filled; that is no failure. */
	options.silence_ms = p->options.patience_seconds * 1000;
	status = sp_redis_client_create(out, &options, err);
	sp_redis_address_fini(address);
	sp_free(address);
	return status;
}

static void set_defaults(sp_redis_publication_options *o)
{
	if (o->keep_seconds == 0)
		o->keep_seconds = DAY;
	if (o->lock_seconds == 0)
		o->lock_seconds = LOCK_SECONDS;
	if (o->patience_seconds == 0)
		o->patience_seconds = PATIENCE_SECONDS;
	if (o->layout == SP_REDIS_DEEPREC)
		o->version.format = SP_ROW_FP32;
}

static sp_status allocate(sp_redis_publication *p, sp_error *err)
{
	size_t partitions = p->options.version.partitions;

	p->order = sp_alloc_zero(SP_REDIS_MAX_SLICE, sizeof(*p->order));
	p->ends = sp_alloc_zero(partitions + 1, sizeof(*p->ends));
	SP_NEED_MEMORY(p->order != NULL && p->ends != NULL, err, "a publication");
	return SP_OK;
}

static sp_status connect_all(sp_redis_publication *p, sp_error *err)
{
	int64_t database = p->options.address->db;

	if (p->options.layout == SP_REDIS_VERSIONED)
		return connect_to(&p->client, p, database, err);
	if (p->options.is_cluster)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "DeepRec's layout needs databases 0 and 1, and a cluster has "
				    "one");
	SP_TRY(connect_to(&p->client, p, 0, err));
	return connect_to(&p->other_client, p, 1, err);
}

static sp_status create(sp_redis_publication **out, const sp_redis_publication_options *options,
			sp_error *err)
{
	sp_redis_publication *p;
	sp_status status;

	if (options->layout != SP_REDIS_VERSIONED && options->layout != SP_REDIS_DEEPREC)
		return sp_error_set(err, SP_UNSUPPORTED, "rows are not written in layout %s",
				    sp_redis_layout_name(options->layout));
	p = sp_alloc_zero(1, sizeof(*p));
	SP_NEED_MEMORY(p, err, "a publication");
	p->options = *options;
	set_defaults(&p->options);
	p->arena = sp_arena_create(64 << 10);
	status = p->arena != NULL ? allocate(p, err) : sp_no_memory(err, "a publication");
	if (status == SP_OK)
		status = connect_all(p, err);
	if (status != SP_OK) {
		sp_redis_publication_close(p);
		return status;
	}
	*out = p;
	return SP_OK;
}

sp_status sp_redis_publication_keep(const sp_redis_publication_options *options, uint64_t content,
				    sp_error *err)
{
	sp_redis_publication *p;
	sp_status status;

	if (options->layout != SP_REDIS_VERSIONED)
		return SP_OK;
	SP_TRY(create(&p, options, err));
	status = sp_redis__versioned_keep(p, content, err);
	sp_redis_publication_close(p);
	return add_prefix(err, status);
}

sp_status sp_redis_publication_open(sp_redis_publication **out,
				    const sp_redis_publication_options *options, sp_error *err)
{
	sp_redis_publication *p;
	sp_status status;

	SP_TRY(create(&p, options, err));
	status = options->layout == SP_REDIS_DEEPREC ? sp_redis__deeprec_open(p, err)
						     : sp_redis__versioned_open(p, err);
	if (status != SP_OK)
		sp_redis_publication_close(p);
	else
		*out = p;
	return add_prefix(err, status);
}

/* ------------------------------------------------------------------ tables */

static void reset_table(sp_redis_publication *p)
{
	sp_redis__release_in_flight(p);
	for (size_t i = 0; i < p->writing.sample_count; i++)
		sp_free(p->writing.samples[i].row);
	memset(&p->writing, 0, sizeof(p->writing));
}

static sp_status begin(sp_redis_publication *p, bool *is_there, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	sp_redis_counters counters;

	w->row_size = sp_row_format_size(p->options.version.format, w->table.dim);
	w->slice = SLICE_BYTES / (w->row_size + 1) + 1;
	if (w->slice > SP_REDIS_MAX_SLICE)
		w->slice = SP_REDIS_MAX_SLICE;
	if (w->row_size + 1 > p->row_capacity) {
		char *row = sp_alloc_resize(p->row, w->row_size + 1, 1);

		SP_NEED_MEMORY(row, err, "a row");
		p->row = row;
		p->row_capacity = w->row_size + 1;
	}
	SP_NEED_MEMORY(SP_ARENA_GROW(p->arena, p->names, p->name_capacity, p->name_count, 1), err,
		       "the names of tables");
	p->names[p->name_count] = sp_arena_text(p->arena, sp_bytes_of(w->table.name));
	SP_NEED_MEMORY(p->names[p->name_count], err, "the names of tables");
	w->table.name = p->names[p->name_count++];
	sp_redis_client_counters(p->client, &counters);
	w->losses = counters.losses;
	SP_TRY(sp_redis__check_lock(p, err));
	if (p->options.layout == SP_REDIS_DEEPREC)
		SP_TRY(sp_redis__deeprec_begin(p, is_there, err));
	else
		SP_TRY(sp_redis__versioned_begin(p, is_there, err));
	p->counts.tables++;
	p->counts.tables_there += *is_there;
	return SP_OK;
}

sp_status sp_redis_publication_begin(sp_redis_publication *p,
				     const sp_redis_publication_table *table, bool *is_there,
				     sp_error *err)
{
	sp_status status;

	reset_table(p);
	p->writing.table = *table;
	*is_there = false;
	status = begin(p, is_there, err);
	return sp_error_prefix(err, status, "table '%s'", table->name);
}

sp_status sp_redis_publication_end(sp_redis_publication *p, sp_error *err)
{
	sp_status status = sp_redis__wait_all(p, err);

	p->has_failed = p->has_failed || status != SP_OK;
	if (status == SP_OK && p->writing.seen < p->writing.there)
		status = sp_redis__restart_table(p, "there are fewer rows now", err);
	if (status == SP_OK)
		status = p->options.layout == SP_REDIS_DEEPREC ? sp_redis__deeprec_end(p, err)
							       : sp_redis__versioned_end(p, err);
	return sp_error_prefix(err, status, "table '%s'", p->writing.table.name);
}

sp_status sp_redis_publication_finish(sp_redis_publication *p, sp_error *err)
{
	sp_status status = p->options.layout == SP_REDIS_DEEPREC
				   ? sp_redis__deeprec_finish(p, err)
				   : sp_redis__versioned_finish(p, err);

	return add_prefix(err, status);
}

sp_redis_publication_counts sp_redis_publication_counts_of(const sp_redis_publication *p)
{
	return p->counts;
}

/* Lets the next publication resume from here. */
static void save_progress(sp_redis_publication *p)
{
	sp_error why;

	if (p->writing.in_flight == 0 || p->has_failed || p->token[0] == '\0')
		return;
	if (sp_redis__wait_all(p, &why) != SP_OK ||
	    sp_redis__progress_write(p, false, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "rows of table '%s' will be written again: %s",
		       p->writing.table.name, why.text);
}

void sp_redis_publication_close(sp_redis_publication *p)
{
	if (p == NULL)
		return;
	/* Closing must not take long. */
	if (p->options.patience_seconds > CLOSE_SECONDS)
		p->options.patience_seconds = CLOSE_SECONDS;
	save_progress(p);
	reset_table(p);
	if (p->is_full && p->token[0] != '\0') {
		if (p->options.layout == SP_REDIS_DEEPREC)
			sp_redis__deeprec_delete(p);
		else
			sp_redis__versioned_delete(p);
	}
	if (p->lock_client != NULL)
		sp_redis__unlock(p);
	sp_redis_client_destroy(p->client);
	sp_redis_client_destroy(p->other_client);
	sp_arena_destroy(p->arena);
	sp_free(p->order);
	sp_free(p->ends);
	sp_free(p->row);
	sp_free(p);
}

sp_status sp_redis_publication_rollback(sp_redis_version *out,
					const sp_redis_publication_options *options, int64_t full,
					sp_error *err)
{
	sp_redis_publication *p;
	sp_status status;

	SP_TRY(create(&p, options, err));
	status = options->layout == SP_REDIS_DEEPREC
			 ? sp_redis__deeprec_rollback(out, p, full, err)
			 : sp_redis__versioned_rollback(out, p, full, err);
	sp_redis_publication_close(p);
	return add_prefix(err, status);
}

/* ---------------------------------------------------------------- progress */

/* The number after `name` in the text; 0 if it is not there. */
static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

sp_status sp_redis__progress_read(sp_redis_progress *out, const sp_redis_publication *p,
				  const char *table, sp_error *err)
{
	const sp_redis_value *value;
	sp_redis_batch *batch;
	char text[128];

	*out = (sp_redis_progress){0};
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, "HGET", p->tables, table);
	SP_TRY(sp_redis__run(p, batch, err));
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_STRING && value->size < sizeof(text)) {
		memcpy(text, value->text, value->size);
		text[value->size] = '\0';
		out->done = strncmp(text, "done ", 5) == 0;
		out->rows = number_after(text, "rows=");
		out->distinct = number_after(text, "distinct=");
		out->crc = (uint32_t)number_after(text, "crc=");
	}
	sp_redis_batch_release(batch);
	return SP_OK;
}

sp_status sp_redis__progress_write(sp_redis_publication *p, bool done, sp_error *err)
{
	const sp_redis_writing *w = &p->writing;
	sp_redis_batch *batch;
	char text[128], seconds[24];

	snprintf(text, sizeof(text), "%srows=%" PRIu64 " distinct=%" PRIu64 " crc=%" PRIu32,
		 done ? "done " : "", w->acknowledged, w->distinct, w->acknowledged_crc);
	snprintf(seconds, sizeof(seconds), "%d", SP_REDIS_LEFTOVER);
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	SP_REDIS_COMMAND(batch, "HSET", p->tables, w->table.name, text);
	if (p->options.layout == SP_REDIS_VERSIONED)
		SP_REDIS_COMMAND(batch, "EXPIRE", p->tables, seconds);
	return sp_redis__run_all(p, batch, err);
}

sp_status sp_redis__restart_table(sp_redis_publication *p, const char *why, sp_error *err)
{
	p->has_failed = true;
	SP_TRY(sp_redis__wait_all(p, err));
	p->writing.acknowledged = 0;
	SP_TRY(sp_redis__progress_write(p, false, err));
	return sp_error_set(err, SP_IO, "the rows must be written again: %s", why);
}
