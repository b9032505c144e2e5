#include "storage/cache/hot_rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

static const char magic[8] = "SPHOT1";

typedef struct hot_head {
	char magic[8];
	uint64_t row_size;
	double window;
} hot_head;

static const int64_t end_key = -1;

/* A file and the checksum of all bytes read or written. */
typedef struct hot_file {
	FILE *file;
	uint32_t sum;
	bool good;
} hot_file;

static void write_bytes(hot_file *hot, const void *bytes, size_t size)
{
	hot->sum = sp_crc32c(hot->sum, bytes, size);
	hot->good = hot->good && fwrite(bytes, 1, size, hot->file) == size;
}

static void write_all(hot_file *hot, sp_row_cache *cache, void *row)
{
	hot_head head = {.row_size = sp_row_cache_row_size(cache),
			 .window = sp_row_cache_window(cache)};
	sp_row_cache_entry entry = {.row = row};
	uint32_t sum;

	memcpy(head.magic, magic, sizeof(magic));
	write_bytes(hot, &head, sizeof(head));
	for (size_t at = 0; sp_row_cache_next(cache, &at, &entry);) {
		write_bytes(hot, &entry.key, sizeof(entry.key));
		write_bytes(hot, &entry.uses, sizeof(entry.uses));
		write_bytes(hot, row, (size_t)head.row_size);
	}
	write_bytes(hot, &end_key, sizeof(end_key));
	sum = hot->sum;
	write_bytes(hot, &sum, sizeof(sum));
}

static sp_status save(sp_row_cache *cache, const char *path, void *row, sp_error *err)
{
	hot_file hot = {.file = fopen(path, "we"), .good = true};
	sp_status status = SP_OK;

	if (hot.file != NULL)
		write_all(&hot, cache, row);
	if (hot.file == NULL || !hot.good || fflush(hot.file) != 0 || fsync(fileno(hot.file)) != 0)
		status = sp_file_failed(err, SP_IO, "write", path);
	if (hot.file != NULL)
		fclose(hot.file);
	return status;
}

sp_status sp_hot_rows_save(sp_row_cache *cache, const char *path, sp_error *err)
{
	void *row = sp_alloc(sp_row_cache_row_stride(cache));
	sp_status status;

	SP_NEED_MEMORY(row, err, "writing %s", path);
	status = save(cache, path, row, err);
	sp_free(row);
	return status;
}

static bool read_bytes(hot_file *hot, void *bytes, size_t size)
{
	if (fread(bytes, 1, size, hot->file) != size)
		return false;
	hot->sum = sp_crc32c(hot->sum, bytes, size);
	return true;
}

/* False: the file is incomplete or damaged. */
static bool read_all(hot_file *hot, sp_row_cache *cache, void *row)
{
	hot_head head;
	int64_t key;
	uint64_t uses;
	uint32_t expected, sum;

	if (!read_bytes(hot, &head, sizeof(head)) ||
	    memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    head.row_size != sp_row_cache_row_size(cache) || !(head.window > 0))
		return false;
	for (;;) {
		if (!read_bytes(hot, &key, sizeof(key)))
			return false;
		if (key == end_key)
			break;
		if (!read_bytes(hot, &uses, sizeof(uses)) || !read_bytes(hot, row, head.row_size))
			return false;
		sp_row_cache_seed(cache, key, row, uses);
	}
	expected = hot->sum;
	if (!read_bytes(hot, &sum, sizeof(sum)) || sum != expected)
		return false;
	sp_row_cache_finish_seeding(cache, head.window);
	return true;
}

void sp_hot_rows_load(sp_row_cache *cache, const char *path)
{
	hot_file hot = {.file = fopen(path, "re")};
	void *row = sp_alloc(sp_row_cache_row_stride(cache));

	if (hot.file == NULL || row == NULL || !read_all(&hot, cache, row)) {
		sp_log(SP_LOG_WARNING, "%s cannot be used: the cache starts empty", path);
		sp_row_cache_clear(cache);
	}
	sp_free(row);
	if (hot.file != NULL)
		fclose(hot.file);
}
