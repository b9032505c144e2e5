#include "storage/sst/sst_run.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "storage/sst/key_filter.h"
#include "storage/sst/sst_block.h"

/*
 * A stored key has our eight bytes, the most significant first, and eight bytes of RocksDB: the
 * type of the entry, and a sequence number, which is not used here.
 */
enum {
	KEY = 8,
	STORED_KEY = 16,
	IS_VALUE = 1,
	SCAN_PIECE = 1 << 20, /* bytes read at once; at least one block */
	ENTRY_OVERHEAD = 19,  /* bytes per row in a block besides the row, measured */
	INDEX_ENTRY = 14,
};

struct sp_sst_run {
	atomic_size_t references;
	size_t row_size, count;
	sp_key_filter *filter;
	sp_sst_file *files[];
};

static void destroy(sp_sst_run *run)
{
	for (size_t f = 0; f < run->count; f++)
		sp_sst_file_close(run->files[f]);
	sp_key_filter_destroy(run->filter);
	sp_free(run);
}

sp_sst_run *sp_sst_run_retain(sp_sst_run *run)
{
	atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed);
	return run;
}

void sp_sst_run_release(sp_sst_run *run)
{
	if (run != NULL &&
	    atomic_fetch_sub_explicit(&run->references, 1, memory_order_acq_rel) == 1)
		destroy(run);
}

/* Opens the files, without a filter. */
static sp_status open_files(sp_sst_run **out, const char *const *files, size_t count,
			    size_t row_size, sp_error *err)
{
	sp_sst_run *run = sp_alloc_zero(1, sizeof(*run) + count * sizeof(*run->files));

	SP_NEED_MEMORY(run, err, "opening rows");
	atomic_init(&run->references, 1);
	run->row_size = row_size;
	for (; run->count < count; run->count++) {
		sp_status status = sp_sst_file_open(&run->files[run->count], files[run->count],
						    err);

		if (status != SP_OK) {
			destroy(run);
			return status;
		}
	}
	*out = run;
	return SP_OK;
}

sp_status sp_sst_run_open(sp_sst_run **out, const char *const *files, size_t count, size_t row_size,
			  const char *filter_path, sp_error *err)
{
	sp_sst_run *run;
	sp_status status;

	SP_TRY(open_files(&run, files, count, row_size, err));
	status = sp_key_filter_load(&run->filter, filter_path, err);
	if (status != SP_OK) {
		destroy(run);
		return status;
	}
	*out = run;
	return SP_OK;
}

sp_status sp_sst_run_save_filter(const sp_sst_run *run, const char *path, sp_error *err)
{
	return sp_key_filter_save(run->filter, path, err);
}

/* ---- blocks ---- */

/* Reads the key at the cursor; SP_CORRUPT when the entry is not a row of the run. */
static sp_status read_entry(const sp_sst_run *run, const sp_sst_cursor *entry, uint64_t *key,
			    sp_error *err)
{
	*key = 0;
	if (entry->key_size != STORED_KEY || entry->key[KEY] != IS_VALUE)
		return sp_error_set(err, SP_CORRUPT, "an entry of a block is no row");
	if (entry->value_size != run->row_size)
		return sp_error_set(err, SP_CORRUPT, "a row of %zu bytes where all have %zu",
				    entry->value_size, run->row_size);
	memcpy(key, entry->key, sizeof(*key));
	*key = be64toh(*key);
	return SP_OK;
}

sp_status sp_sst_run_check(const sp_sst_place *place, const void *bytes, sp_error *err)
{
	return sp_sst_block_check(bytes, place->size, err);
}

sp_status sp_sst_run_find(const sp_sst_run *run, const sp_sst_place *place, const void *bytes,
			  int64_t key, const void **row, sp_error *err)
{
	sp_sst_cursor cursor;
	sp_sst_step step;
	uint64_t at;

	*row = NULL;
	sp_sst_cursor_start(&cursor, bytes, place->size);
	while ((step = sp_sst_cursor_next(&cursor)) == SP_SST_ENTRY) {
		SP_TRY(read_entry(run, &cursor, &at, err));
		if (at < (uint64_t)key)
			continue;
		*row = at == (uint64_t)key ? cursor.value : NULL;
		return SP_OK;
	}
	return step == SP_SST_END ? SP_OK : sp_error_set(err, SP_CORRUPT, "a block is malformed");
}

/* The file and block that may have the key; NULL: the run lacks it. */
static const sp_sst_file *find_block(const sp_sst_run *run, uint64_t key, size_t *block)
{
	size_t low = 0, count = run->count;

	while (count > 0) {
		size_t half = count / 2;

		if (sp_sst_file_ends_before(run->files[low + half], key)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	if (low == run->count)
		return NULL;
	*block = sp_sst_file_find(run->files[low], key);
	return run->files[low];
}

bool sp_sst_run_locate(const sp_sst_run *run, int64_t key, sp_sst_place *out)
{
	const sp_sst_file *file;
	size_t block;

	if (!sp_key_filter_may_have(run->filter, key))
		return false;
	file = find_block(run, (uint64_t)key, &block);
	if (file != NULL)
		*out = sp_sst_file_block(file, block);
	return file != NULL;
}

/* ---- scanning ---- */

typedef struct scan {
	sp_sst_run *run;
	char *buffer;
	size_t size;
	bool has_key;
	uint64_t last; /* key */
} scan;

/* Checks block `b` of a file, and that a read would find each of its rows there. */
static sp_status scan_block(scan *s, const sp_sst_file *file, size_t b, const char *bytes,
			    sp_error *err)
{
	const sp_sst_place place = sp_sst_file_block(file, b);
	sp_sst_cursor cursor;
	sp_sst_step step;

	SP_TRY(sp_sst_run_check(&place, bytes, err));
	sp_sst_cursor_start(&cursor, (const uint8_t *)bytes, place.size);
	while ((step = sp_sst_cursor_next(&cursor)) == SP_SST_ENTRY) {
		uint64_t key;
		size_t block = 0;

		SP_TRY(read_entry(s->run, &cursor, &key, err));
		if ((s->has_key && key <= s->last) || find_block(s->run, key, &block) != file ||
		    block != b)
			return sp_error_set(err, SP_CORRUPT, "its keys are out of order");
		sp_key_filter_add(s->run->filter, (int64_t)key);
		s->has_key = true;
		s->last = key;
	}
	return step == SP_SST_END ? SP_OK : sp_error_set(err, SP_CORRUPT, "a block is malformed");
}

/* The number of blocks from `first` on to read together; *bytes: their size. */
static size_t plan_piece(const sp_sst_file *file, size_t first, size_t *bytes)
{
	size_t end = first, blocks = sp_sst_file_block_count(file);

	for (*bytes = 0; end < blocks; end++) {
		size_t span = sp_sst_file_block(file, end).span;

		if (end != first && *bytes + span > SCAN_PIECE)
			break;
		*bytes += span;
	}
	return end - first;
}

static sp_status make_room(scan *s, size_t bytes, sp_error *err)
{
	if (bytes <= s->size)
		return SP_OK;
	sp_free(s->buffer);
	s->size = 0;
	s->buffer = sp_alloc_aligned(SP_SST_PAGE, bytes);
	SP_NEED_MEMORY(s->buffer, err, "reading rows");
	s->size = bytes;
	return SP_OK;
}

static sp_status scan_file(scan *s, const sp_sst_file *file, sp_error *err)
{
	size_t blocks = sp_sst_file_block_count(file);

	for (size_t first = 0, count, bytes; first < blocks; first += count) {
		const sp_sst_place place = sp_sst_file_block(file, first);
		const sp_file whole = {.fd = place.fd, .size = sp_sst_file_size(file)};
		const char *at;

		count = plan_piece(file, first, &bytes);
		SP_TRY(make_room(s, bytes, err));
		SP_TRY(sp_file_read_at(&whole, place.offset, s->buffer, bytes, err));
		at = s->buffer;
		for (size_t b = first; b < first + count; b++) {
			SP_TRY(scan_block(s, file, b, at, err));
			at += sp_sst_file_block(file, b).span;
		}
	}
	return SP_OK;
}

sp_status sp_sst_run_scan(sp_sst_run **out, const char *const *files, size_t count, size_t row_size,
			  size_t expected_rows, sp_error *err)
{
	scan s = {0};
	sp_status status;

	SP_TRY(open_files(&s.run, files, count, row_size, err));
	status = sp_key_filter_create(&s.run->filter, expected_rows, err);
	for (size_t f = 0; status == SP_OK && f < count; f++) {
		status = scan_file(&s, s.run->files[f], err);
		if (status != SP_OK)
			sp_error_prefix(err, status, "%s", files[f]);
	}
	sp_free(s.buffer);
	if (status != SP_OK) {
		destroy(s.run);
		return status;
	}
	*out = s.run;
	return SP_OK;
}

/* ---- figures ---- */

size_t sp_sst_run_row_count(const sp_sst_run *run)
{
	return sp_key_filter_key_count(run->filter);
}

size_t sp_sst_run_footprint(const sp_sst_run *run)
{
	size_t bytes = sizeof(*run) + run->count * sizeof(*run->files) +
		       sp_key_filter_footprint(run->filter);

	for (size_t f = 0; f < run->count; f++)
		bytes += sp_sst_file_footprint(run->files[f]);
	return bytes;
}

size_t sp_sst_run_expected_footprint(size_t row_count, size_t row_size)
{
	size_t rows_per_block = SP_SST_PAGE / (row_size + ENTRY_OVERHEAD);

	if (rows_per_block == 0)
		rows_per_block = 1;
	return 16384 + sp_key_filter_expected_footprint(row_count) +
	       row_count / rows_per_block * INDEX_ENTRY;
}
