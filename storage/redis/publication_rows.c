#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "storage/redis/publication_internal.h"

/*
 * Writes rows.  A slice of rows becomes a batch of commands: an HSET for each partition, or one
 * MSET.  Several batches are in flight; they are waited for in order, so that progress is a number
 * of rows.
 */

#define SECOND INT64_C(1000000000)

enum { SAVE_NS = 1000000000 }; /* between two writes of the progress */

/* -------------------------------------------------------------- in flight */

/* "OOM command not allowed ...": Redis is out of memory. */
static bool is_out_of_memory(const sp_redis_batch *batch)
{
	for (size_t i = 0; i < sp_redis_batch_count(batch); i++) {
		const sp_redis_value *value = sp_redis_batch_reply(batch, i);

		if (value->kind == SP_REDIS_ERROR &&
		    sp_bytes_starts_with((sp_bytes){value->text, value->size}, "OOM"))
			return true;
	}
	return false;
}

/* Waits for the oldest batch. */
static sp_status wait_oldest(sp_redis_publication *p, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	sp_redis_batch *batch = w->batches[w->first];
	int64_t deadline = sp_clock_now_ns() + 2 * sp_redis__patience_ns(p);
	sp_status status = sp_redis_batch_wait(batch, deadline, err);

	if (status == SP_OK) {
		for (size_t i = 0; i < sp_redis_batch_count(batch); i++) {
			const sp_redis_value *value = sp_redis_batch_reply(batch, i);

			if (value->kind == SP_REDIS_INTEGER) /* fields that HSET has added */
				w->distinct += (uint64_t)value->integer;
		}
		w->acknowledged += w->batch_rows[w->first];
		w->acknowledged_crc = w->batch_crc[w->first];
	} else if (status == SP_IO) {
		p->is_full = p->is_full || is_out_of_memory(batch);
	}
	sp_redis_batch_release(batch);
	w->first = (w->first + 1) % SP_REDIS_MAX_IN_FLIGHT;
	w->in_flight--;
	return status;
}

sp_status sp_redis__wait_all(sp_redis_publication *p, sp_error *err)
{
	while (p->writing.in_flight != 0)
		SP_TRY(wait_oldest(p, err));
	return SP_OK;
}

void sp_redis__release_in_flight(sp_redis_publication *p)
{
	sp_redis_writing *w = &p->writing;

	for (; w->in_flight != 0; w->in_flight--) {
		sp_redis_batch_release(w->batches[w->first]);
		w->first = (w->first + 1) % SP_REDIS_MAX_IN_FLIGHT;
	}
}

/* ---------------------------------------------------------------- samples */

static uint64_t mix(int64_t key)
{
	uint64_t x = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return x ^ x >> 32;
}

static bool is_sampled(const sp_redis_writing *w, int64_t key)
{
	return (mix(key) & ((UINT64_C(1) << w->sample_bits) - 1)) == 0;
}

/* Samples half as many keys as before. */
static void halve_samples(sp_redis_writing *w)
{
	size_t kept = 0;

	w->sample_bits++;
	for (size_t i = 0; i < w->sample_count; i++) {
		if (is_sampled(w, w->samples[i].key))
			w->samples[kept++] = w->samples[i];
		else
			sp_free(w->samples[i].row);
	}
	w->sample_count = kept;
}

static sp_status sample(sp_redis_publication *p, int64_t key, const float *row, sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	const sp_row_codec *codec = sp_row_codec_find(p->options.version.format);
	size_t i = 0;

	while (i < w->sample_count && w->samples[i].key != key)
		i++;
	while (i == w->sample_count && w->sample_count == SP_REDIS_SAMPLES && is_sampled(w, key)) {
		halve_samples(w);
		i = w->sample_count;
	}
	if (!is_sampled(w, key))
		return SP_OK;
	if (i == w->sample_count) {
		w->samples[i] = (sp_redis_sample){key, sp_alloc(w->row_size + 1)};
		SP_NEED_MEMORY(w->samples[i].row, err, "a row of table '%s'", w->table.name);
		w->sample_count++;
	}
	codec->encode(w->table.dim, row, w->samples[i].row);
	return SP_OK;
}

/* ------------------------------------------------------------------ slices */

/* A slice of rows; the rows themselves are the caller's. */
typedef struct slice {
	int64_t keys[SP_REDIS_MAX_SLICE];
	const float *rows[SP_REDIS_MAX_SLICE];
	size_t count;
	uint32_t crc; /* of all rows up to its last */
} slice;

static void add_row(sp_redis_publication *p, sp_redis_batch *batch, const slice *s, size_t i)
{
	sp_row_codec_find(p->options.version.format)
		->encode(p->writing.table.dim, s->rows[i], p->row);
	sp_redis_batch_add(batch, p->row, p->writing.row_size);
}

/* A stable counting sort of the rows by partition. */
static void sort(sp_redis_publication *p, const slice *s)
{
	size_t partitions = p->options.version.partitions;
	uint32_t first = 0;

	memset(p->ends, 0, (partitions + 1) * sizeof(*p->ends));
	for (size_t i = 0; i < s->count; i++)
		p->ends[sp_redis_partition((uint64_t)s->keys[i], partitions)]++;
	for (size_t i = 0; i < partitions; i++) {
		uint32_t count = p->ends[i];

		p->ends[i] = first;
		first += count;
	}
	for (size_t i = 0; i < s->count; i++) {
		size_t at = sp_redis_partition((uint64_t)s->keys[i], partitions);

		p->order[p->ends[at]++] = (uint32_t)i;
	}
}

static void fill_hashes(sp_redis_publication *p, sp_redis_batch *batch, const slice *s)
{
	uint32_t first = 0;
	char field[8];

	sort(p, s);
	for (size_t i = 0; i < p->options.version.partitions; i++) {
		const char *hash = p->writing.hashes[i];
		uint32_t end = p->ends[i];

		if (end == first)
			continue;
		sp_redis_batch_begin(batch, hash, strlen(hash), 2 + 2 * (size_t)(end - first));
		sp_redis_batch_add_text(batch, "HSET");
		sp_redis_batch_add_text(batch, hash);
		for (; first < end; first++) {
			size_t row = p->order[first];

			sp_redis_batch_add(batch, field, sp_redis_field(field, s->keys[row], 8));
			add_row(p, batch, s, row);
		}
	}
}

/* As DeepRec routes a key; it never stores a negative key of a table with several parts. */
static bool find_feature(uint64_t *out, const sp_redis_publication_table *table, int64_t key)
{
	int64_t part = table->feature_count > 1 ? key % 1000 % (int64_t)table->feature_count : 0;

	if (part < 0)
		return false;
	*out = table->features[part];
	return true;
}

static void fill_strings(sp_redis_publication *p, sp_redis_batch *batch, const slice *s)
{
	const sp_redis_publication_table *table = &p->writing.table;
	char key[SP_REDIS_DEEPREC_KEY_MAX];
	size_t count = 0, size;
	uint64_t feature = 0;

	for (size_t i = 0; i < s->count; i++)
		count += find_feature(&feature, table, s->keys[i]);
	if (count == 0)
		return;
	sp_redis_batch_begin(batch, NULL, 0, 1 + 2 * count);
	sp_redis_batch_add_text(batch, "MSET");
	for (size_t i = 0; i < s->count; i++)
		if (find_feature(&feature, table, s->keys[i])) {
			size = sp_redis_deeprec_key(key, (uint64_t)p->options.version.full, feature,
						    s->keys[i], table->key_size);
			sp_redis_batch_add(batch, key, size);
			add_row(p, batch, s, i);
		}
}

/* Waits until the next rows may be sent at the allowed rate. */
static sp_status pace(sp_redis_publication *p, size_t rows, sp_error *err)
{
	int64_t now = sp_clock_now_ns();

	SP_TRY(sp_redis__check_lock(p, err));
	if (p->options.rows_per_second == 0)
		return SP_OK;
	while (now < p->paid_ns) {
		int64_t pause = p->paid_ns - now < SECOND / 10 ? p->paid_ns - now : SECOND / 10;
		struct timespec time = {.tv_nsec = (long)pause};

		nanosleep(&time, NULL);
		SP_TRY(sp_redis__check_lock(p, err));
		now = sp_clock_now_ns();
	}
	p->paid_ns = now + (int64_t)rows * SECOND / p->options.rows_per_second;
	return SP_OK;
}

static sp_status send_slice(sp_redis_publication *p, const slice *s, sp_error *err)
{
	sp_redis_submit_options options = {.deadline_ns = 0};
	sp_redis_writing *w = &p->writing;
	size_t at = (w->first + w->in_flight) % SP_REDIS_MAX_IN_FLIGHT;
	sp_redis_batch *batch;
	sp_status status;

	if (s->count == 0)
		return SP_OK;
	SP_TRY(pace(p, s->count, err));
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	if (p->options.layout == SP_REDIS_DEEPREC)
		fill_strings(p, batch, s);
	else
		fill_hashes(p, batch, s);
	p->counts.rows_sent += s->count;
	p->counts.bytes_sent += sp_redis_batch_size(batch);
	options.deadline_ns = sp_clock_now_ns() + sp_redis__patience_ns(p);
	status = sp_redis_batch_count(batch) != 0 ? sp_redis_batch_submit(batch, &options, err)
						  : SP_OK;
	if (status != SP_OK || sp_redis_batch_count(batch) == 0) {
		if (status == SP_OK) {
			w->acknowledged += s->count;
			w->acknowledged_crc = s->crc;
		}
		sp_redis_batch_release(batch);
		return status;
	}
	w->batches[at] = batch;
	w->batch_rows[at] = s->count;
	w->batch_crc[at] = s->crc;
	if (++w->in_flight == SP_REDIS_MAX_IN_FLIGHT)
		SP_TRY(wait_oldest(p, err));
	if (sp_clock_now_ns() < w->saved_ns + SAVE_NS)
		return SP_OK;
	w->saved_ns = sp_clock_now_ns();
	return sp_redis__progress_write(p, false, err);
}

/* Counts a row and updates the checksum; *is_there: the row was acknowledged before. */
static sp_status count_row(bool *is_there, sp_redis_publication *p, int64_t key, const void *row,
			   sp_error *err)
{
	sp_redis_writing *w = &p->writing;

	w->crc = sp_crc32c(w->crc, &key, sizeof(key));
	w->crc = sp_crc32c(w->crc, row, w->table.dim * sizeof(float));
	p->counts.rows++;
	*is_there = w->seen < w->there;
	p->counts.rows_there += *is_there;
	w->seen++;
	if (w->seen == w->there && w->crc != w->there_crc)
		return sp_redis__restart_table(p, "those that were written before are others", err);
	return is_sampled(w, key) ? sample(p, key, row, err) : SP_OK;
}

static sp_status put(sp_redis_publication *p, const int64_t *keys, const char *rows, size_t count,
		     sp_error *err)
{
	sp_redis_writing *w = &p->writing;
	slice s = {.count = 0};
	bool is_there;

	for (size_t i = 0; i < count; i++) {
		const float *row = (const void *)(rows + i * w->table.dim * sizeof(float));

		if (keys[i] == -1 || keys[i] == -2)
			continue;
		SP_TRY(count_row(&is_there, p, keys[i], row, err));
		if (is_there)
			continue;
		s.crc = w->crc;
		s.keys[s.count] = keys[i];
		s.rows[s.count++] = row;
		if (s.count == w->slice) {
			SP_TRY(send_slice(p, &s, err));
			s.count = 0;
		}
	}
	SP_TRY(send_slice(p, &s, err));
	return sp_redis__check_lock(p, err);
}

sp_status sp_redis_publication_put(sp_redis_publication *p, const int64_t *keys, const void *rows,
				   size_t count, sp_error *err)
{
	sp_status status = put(p, keys, rows, count, err);

	p->has_failed = p->has_failed || (status != SP_OK && status != SP_BUSY);
	return sp_error_prefix(err, status, "table '%s'", p->writing.table.name);
}

/* ------------------------------------------------------------- reading back */

static void add_get(sp_redis_publication *p, sp_redis_batch *batch, int64_t key)
{
	sp_redis_writing *w = &p->writing;
	char name[SP_REDIS_DEEPREC_KEY_MAX], field[8];
	uint64_t feature = 0;
	const char *hash;
	size_t size;

	if (p->options.layout == SP_REDIS_DEEPREC) {
		find_feature(&feature, &w->table, key);
		size = sp_redis_deeprec_key(name, (uint64_t)p->options.version.full, feature, key,
					    w->table.key_size);
		sp_redis_batch_begin(batch, name, size, 2);
		sp_redis_batch_add_text(batch, "GET");
		sp_redis_batch_add(batch, name, size);
		return;
	}
	hash = w->hashes[sp_redis_partition((uint64_t)key, p->options.version.partitions)];
	sp_redis_batch_begin(batch, hash, strlen(hash), 3);
	sp_redis_batch_add_text(batch, "HGET");
	sp_redis_batch_add_text(batch, hash);
	sp_redis_batch_add(batch, field, sp_redis_field(field, key, 8));
}

static sp_status compare(const sp_redis_publication *p, const sp_redis_batch *batch, sp_error *err)
{
	const sp_redis_writing *w = &p->writing;

	for (size_t i = 0; i < w->sample_count; i++) {
		const sp_redis_value *value = sp_redis_batch_reply(batch, i);
		bool is_negative = w->table.feature_count > 1 && w->samples[i].key < 0;

		if (is_negative && value->kind == SP_REDIS_NIL)
			continue;
		if (value->kind != SP_REDIS_STRING || value->size != w->row_size ||
		    memcmp(value->text, w->samples[i].row, w->row_size) != 0)
			return sp_error_set(err, SP_CORRUPT,
					    "key %lld reads back as %s, not as the row that was "
					    "written",
					    (long long)w->samples[i].key,
					    value->kind == SP_REDIS_NIL ? "absent" : "other bytes");
	}
	return SP_OK;
}

sp_status sp_redis__compare_samples(sp_redis_publication *p, sp_error *err)
{
	sp_redis_batch *batch;
	sp_status status;

	if (p->writing.sample_count == 0)
		return SP_OK;
	SP_TRY(sp_redis__batch_make(&batch, p->client, err));
	for (size_t i = 0; i < p->writing.sample_count; i++)
		add_get(p, batch, p->writing.samples[i].key);
	SP_TRY(sp_redis__run(p, batch, err));
	status = compare(p, batch, err);
	p->counts.rows_compared += p->writing.sample_count;
	sp_redis_batch_release(batch);
	return status;
}
