#include "storage/ssd/ssd_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/cache/hot_rows.h"
#include "storage/ssd/rocks.h"
#include "storage/rows/rows.h"
#include "storage/ssd/ssd_internal.h"

/*
 * Rows are encoded into a chunk.  A full chunk is sorted by key and position, repeats are dropped,
 * and it is written as a run; in the end runs are merged (storage/ssd/rocks.c).  Every row is
 * offered to the cache.
 */

enum {
	MIN_CHUNK = 4 << 20,
	MAX_CHUNK = 128 << 20,
};

typedef struct entry {
	uint64_t key;
	size_t at; /* index of the record in the chunk */
} entry;

struct sp_ssd_builder {
	sp_ssd_store *store;
	sp_ssd_table table; /* a copy */
	sp_ssd_place place;
	sp_ssd_folder folder;
	sp_rocks_writer *writer;
	const sp_row_codec *codec;
	sp_row_cache *cache;
	size_t expected_rows; /* for the size of the cache; SIZE_MAX when unknown */
	double total_freq;

	size_t record_size; /* int64 key, stored row */
	size_t capacity, count;
	char *records;
	entry *entries;
	const char **sorted;
};

size_t sp_ssd_builder_room(const sp_ssd_store *store)
{
	size_t bytes = store->cache_bytes / 4;

	if (bytes < MIN_CHUNK)
		return MIN_CHUNK;
	return bytes < MAX_CHUNK ? bytes : MAX_CHUNK;
}

static sp_status allocate_chunk(sp_ssd_builder *builder, sp_error *err)
{
	size_t size;

	builder->capacity = sp_ssd_builder_room(builder->store) /
				    (builder->record_size + sizeof(entry) + sizeof(char *)) +
			    1;
	SP_NEED_MEMORY(sp_size_mul(&size, builder->capacity, builder->record_size), err,
		       "sorting rows of table '%s'", builder->table.name);
	builder->records = sp_alloc(size);
	builder->entries = sp_alloc(builder->capacity * sizeof(*builder->entries));
	builder->sorted = sp_alloc(builder->capacity * sizeof(*builder->sorted));
	SP_NEED_MEMORY(builder->records != NULL && builder->entries != NULL &&
			       builder->sorted != NULL,
		       err, "sorting rows of table '%s'", builder->table.name);
	return SP_OK;
}

static sp_status start_writing(sp_ssd_builder *builder, sp_error *err)
{
	sp_ssd_path rows;
	sp_status status;

	SP_TRY(sp_ssd_folder_begin(&builder->folder, builder->store->path, builder->place.name,
				   err));
	rows = sp_ssd_folder_file(&builder->folder, "rows");
	/* One at a time: the first call sets up global state of RocksDB. */
	pthread_mutex_lock(&builder->store->lock);
	status = sp_rocks_writer_create(&builder->writer, rows.text,
					builder->record_size - sizeof(int64_t), err);
	pthread_mutex_unlock(&builder->store->lock);
	return status;
}

static sp_status fill(sp_ssd_builder *builder, size_t expected_rows, sp_error *err)
{
	const sp_ssd_table *table = &builder->table;
	size_t row_size = sp_row_format_size(table->format, table->dim);

	builder->codec = sp_row_codec_find(table->format);
	builder->record_size = sizeof(int64_t) + row_size;
	builder->expected_rows = expected_rows != 0 ? expected_rows : SIZE_MAX;
	SP_TRY(sp_ssd__place_find(&builder->place, builder->store, table, err));
	SP_TRY(sp_ssd__cache_create(&builder->cache, builder->store, table, builder->expected_rows,
				    sp_sst_run_expected_footprint(expected_rows, row_size), err));
	SP_TRY(allocate_chunk(builder, err));
	return start_writing(builder, err);
}

sp_status sp_ssd_builder_create(sp_ssd_builder **out, sp_ssd_store *store,
				const sp_ssd_table *table, size_t expected_rows, sp_error *err)
{
	sp_ssd_builder *builder = sp_alloc_zero(1, sizeof(*builder));
	sp_status status;

	SP_NEED_MEMORY(builder, err, "table '%s'", table->name);
	builder->store = sp_ssd_store_retain(store);
	builder->folder.lock = -1;
	status = sp_ssd__table_copy(&builder->table, table, err);
	if (status == SP_OK)
		status = fill(builder, expected_rows, err);
	if (status != SP_OK) {
		sp_ssd_builder_destroy(builder);
		return sp_error_prefix(err, status, "table '%s', SSD tier", table->name);
	}
	*out = builder;
	return SP_OK;
}

static void free_chunk(sp_ssd_builder *builder)
{
	sp_free(builder->records);
	sp_free(builder->entries);
	sp_free(builder->sorted);
	builder->records = NULL;
	builder->entries = NULL;
	builder->sorted = NULL;
}

void sp_ssd_builder_destroy(sp_ssd_builder *builder)
{
	if (builder == NULL)
		return;
	sp_rocks_writer_destroy(builder->writer);
	sp_ssd_folder_discard(&builder->folder, builder->store->path);
	sp_row_cache_destroy(builder->cache);
	free_chunk(builder);
	sp_ssd__place_fini(&builder->place);
	sp_ssd_store_release(builder->store);
	sp_ssd__table_fini(&builder->table);
	sp_free(builder);
}

static int compare_entries(const void *left, const void *right)
{
	const entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Writes the chunk as one run, with the last row of each key. */
static sp_status flush(sp_ssd_builder *builder, sp_error *err)
{
	entry *entries = builder->entries;
	size_t count = builder->count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(&entries[i].key, builder->records + i * builder->record_size,
		       sizeof(entries[i].key));
		entries[i].at = i;
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || entries[i + 1].key != entries[i].key)
			builder->sorted[kept++] = builder->records +
						  entries[i].at * builder->record_size;
	builder->count = 0;
	return sp_rocks_writer_add_run(builder->writer, builder->sorted, kept, err);
}

static sp_status put_one(sp_ssd_builder *builder, int64_t key, const char *row, int64_t freq,
			 sp_error *err)
{
	char *record = builder->records + builder->count * builder->record_size;

	memcpy(record, &key, sizeof(key));
	builder->codec->encode(builder->table.dim, row, record + sizeof(key));
	sp_row_cache_seed(builder->cache, key, record + sizeof(key), freq > 0 ? (uint64_t)freq : 0);
	builder->total_freq += freq > 0 ? (double)freq : 0;
	builder->count++;
	return builder->count == builder->capacity ? flush(builder, err) : SP_OK;
}

sp_status sp_ssd_builder_put(sp_ssd_builder *builder, const int64_t *keys, const void *rows,
			     const int64_t *freqs, size_t count, sp_error *err)
{
	size_t size = builder->table.dim * sizeof(float);

	for (size_t i = 0; i < count; i++) {
		sp_status status;

		if (sp_key_is_mark(keys[i]))
			continue;
		status = put_one(builder, keys[i], (const char *)rows + i * size,
				 freqs != NULL ? freqs[i] : 1, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "table '%s', SSD tier",
					       builder->table.name);
	}
	return SP_OK;
}

/* Replaces the cache by one of the right size that holds the same hot rows. */
static sp_status fit_cache(sp_ssd_builder *builder, const sp_sst_run *run, const char *hot_rows,
			   sp_error *err)
{
	sp_row_cache_destroy(builder->cache);
	builder->cache = NULL;
	SP_TRY(sp_ssd__cache_create(&builder->cache, builder->store, &builder->table,
				    sp_sst_run_row_count(run), sp_sst_run_footprint(run), err));
	sp_hot_rows_load(builder->cache, hot_rows);
	return SP_OK;
}

static sp_status save_hot_rows(sp_ssd_builder *builder, const sp_sst_run *run, sp_error *err)
{
	const sp_ssd_path path = sp_ssd_folder_file(&builder->folder, "hot");

	SP_TRY(sp_hot_rows_save(builder->cache, path.text, err));
	if (sp_sst_run_row_count(run) == builder->expected_rows)
		return SP_OK;
	return fit_cache(builder, run, path.text, err);
}

/* Reads all rows back, to check them and to build the filter. */
static sp_status scan_rows(const sp_ssd_builder *builder, size_t rows, sp_sst_run **out,
			   sp_error *err)
{
	const sp_ssd_path folder = sp_ssd_folder_file(&builder->folder, "rows");
	sp_rocks_files files;
	sp_status status;

	SP_TRY(sp_rocks_files_find(&files, folder.text, err));
	status = sp_sst_run_scan(out, (const char *const *)files.paths, files.count,
				 builder->record_size - sizeof(int64_t), rows, err);
	sp_rocks_files_fini(&files);
	return status;
}

/* Completes the folder, renames it and opens it. */
static sp_status publish(sp_ssd_builder *builder, sp_sst_run *run, sp_tier **out, sp_error *err)
{
	const sp_ssd_path filter = sp_ssd_folder_file(&builder->folder, "filter");
	sp_ssd_store *store = builder->store;

	SP_TRY(sp_sst_run_save_filter(run, filter.text, err));
	sp_row_cache_finish_seeding(builder->cache, builder->total_freq);
	SP_TRY(save_hot_rows(builder, run, err));
	SP_TRY(sp_ssd_folder_publish(&builder->folder, store->path, builder->place.name,
				     builder->place.label, err));
	SP_TRY(sp_ssd__tier_create(out, store, &builder->table, &builder->folder, run,
				   builder->cache, err));
	builder->cache = NULL;
	return SP_OK;
}

static sp_status finish(sp_ssd_builder *builder, sp_tier **out, sp_error *err)
{
	sp_sst_run *run;
	sp_status status;
	size_t rows;

	SP_TRY(flush(builder, err));
	free_chunk(builder);
	SP_TRY(sp_rocks_writer_finish(builder->writer, &rows, err));
	SP_TRY(scan_rows(builder, rows, &run, err));
	status = publish(builder, run, out, err);
	if (status != SP_OK)
		sp_sst_run_release(run);
	return status;
}

sp_status sp_ssd_builder_freeze(sp_ssd_builder *builder, sp_tier **out, sp_error *err)
{
	sp_status status = finish(builder, out, err);

	return sp_error_prefix(err, status, "table '%s', SSD tier", builder->table.name);
}
