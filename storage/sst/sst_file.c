#include "storage/sst/sst_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/varint.h"
#include "storage/sst/sst_block.h"

enum { FOOTER = 53, HANDLES = 1, VERSION = 41, MAGIC = 45, CRC32C = 1, FORMAT = 5, FEW = 64 };

static const uint64_t magic = UINT64_C(0x88e241b785f4cff7);

struct sp_sst_file {
	int fd;
	uint64_t size;
	size_t count, capacity;
	uint64_t *bounds; /* [count] above every key of the block, or UINT64_MAX */
	uint32_t *pages;  /* [count + 1] first page of each block; the last block's end */
	uint16_t *tails;  /* [count] bytes after the block on its pages: trailer and padding */
};

typedef struct handle {
	uint64_t offset, size;
} handle;

static sp_status corrupt(sp_error *err, const char *what)
{
	return sp_error_set(err, SP_CORRUPT, "%s", what);
}

static bool read_handle(const uint8_t **at, const uint8_t *end, handle *out)
{
	return sp_varint_read(at, end, &out->offset) && sp_varint_read(at, end, &out->size);
}

/* Whether the block and its trailer lie before `end`. */
static bool is_within(const handle *block, uint64_t end)
{
	return block->offset < end && block->size < end - block->offset &&
	       end - block->offset - block->size >= SP_SST_TRAILER;
}

static sp_status read_footer(handle *index, const sp_file *file, sp_error *err)
{
	uint8_t footer[FOOTER];
	const uint8_t *at = footer + HANDLES;
	handle metaindex;

	if (file->size < FOOTER)
		return corrupt(err, "it is too short for a sorted file");
	SP_TRY(sp_file_read_at(file, file->size - FOOTER, footer, FOOTER, err));
	if (sp_le64_at(footer + MAGIC) != magic || sp_le32_at(footer + VERSION) != FORMAT ||
	    footer[0] != CRC32C)
		return corrupt(err, "its footer is not that of a sorted file of format 5");
	if (!read_handle(&at, footer + VERSION, &metaindex) ||
	    !read_handle(&at, footer + VERSION, index) || !is_within(index, file->size - FOOTER) ||
	    index->size > SIZE_MAX - SP_SST_TRAILER)
		return corrupt(err, "its footer has no valid handles");
	return SP_OK;
}

/* ---- the index ---- */

/* Makes room for `capacity` blocks; false leaves the arrays unchanged. */
static bool resize(sp_sst_file *file, size_t capacity)
{
	uint64_t *bounds = sp_alloc_resize(file->bounds, capacity + 1, sizeof(*bounds));
	uint32_t *pages = sp_alloc_resize(file->pages, capacity + 1, sizeof(*pages));
	uint16_t *tails = sp_alloc_resize(file->tails, capacity + 1, sizeof(*tails));

	file->bounds = bounds != NULL ? bounds : file->bounds;
	file->pages = pages != NULL ? pages : file->pages;
	file->tails = tails != NULL ? tails : file->tails;
	if (bounds == NULL || pages == NULL || tails == NULL)
		return false;
	file->capacity = capacity;
	return true;
}

/*
 * A number above all keys up to the separator.  A truncated separator, padded with zeros, is above
 * the keys of its block and not above those of the next one.
 */
static uint64_t bound_of(const uint8_t *key, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, key, size);
	number = be64toh(number);
	return size == sizeof(number) && number != UINT64_MAX ? number + 1 : number;
}

static sp_status add_block(sp_sst_file *file, const sp_sst_cursor *entry, uint64_t end,
			   sp_error *err)
{
	const uint8_t *at = entry->value, *value_end = at + entry->value_size;
	uint64_t offset = (uint64_t)(file->count != 0 ? file->pages[file->count] : 0) * SP_SST_PAGE;
	uint64_t span, bound;
	handle block;

	if (entry->key_size > sizeof(uint64_t) || !read_handle(&at, value_end, &block) ||
	    at != value_end || block.offset != offset || !is_within(&block, end) ||
	    block.size > UINT32_MAX - SP_SST_TRAILER - SP_SST_PAGE)
		return corrupt(err, "a block of its index is not where it must be");
	span = (block.size + SP_SST_TRAILER + SP_SST_PAGE - 1) / SP_SST_PAGE * SP_SST_PAGE;
	bound = bound_of(entry->key, entry->key_size);
	if (span > end - offset || (offset + span) / SP_SST_PAGE > UINT32_MAX ||
	    (file->count != 0 && bound <= file->bounds[file->count - 1]))
		return corrupt(err, "its index is out of order");
	if (file->count == file->capacity && !resize(file, 2 * file->capacity + FEW))
		return sp_no_memory(err, "its index");
	file->pages[file->count] = (uint32_t)(offset / SP_SST_PAGE);
	file->pages[file->count + 1] = (uint32_t)((offset + span) / SP_SST_PAGE);
	file->tails[file->count] = (uint16_t)(span - block.size);
	file->bounds[file->count++] = bound;
	return SP_OK;
}

static sp_status add_blocks(sp_sst_file *file, const uint8_t *index, size_t size, uint64_t end,
			    sp_error *err)
{
	sp_sst_cursor cursor;
	sp_sst_step step;

	SP_TRY(sp_sst_block_check(index, size, err));
	sp_sst_cursor_start(&cursor, index, size);
	while ((step = sp_sst_cursor_next(&cursor)) == SP_SST_ENTRY)
		SP_TRY(add_block(file, &cursor, end, err));
	return step == SP_SST_END ? SP_OK : corrupt(err, "its index is malformed");
}

static sp_status read_index(sp_sst_file *out, const sp_file *file, sp_error *err)
{
	handle index;
	uint8_t *bytes;
	size_t size;
	sp_status status;

	SP_TRY(read_footer(&index, file, err));
	size = (size_t)index.size;
	bytes = sp_alloc(size + SP_SST_TRAILER);
	SP_NEED_MEMORY(bytes, err, "its index");
	status = sp_file_read_at(file, index.offset, bytes, size + SP_SST_TRAILER, err);
	if (status == SP_OK)
		status = add_blocks(out, bytes, size, index.offset, err);
	sp_free(bytes);
	(void)resize(out, out->count);
	return status;
}

/* ---- the file ---- */

/*
 * Opens the file for direct reads, or for cached ones where the file system (such as tmpfs) has
 * none.
 */
static sp_status open_rows(sp_sst_file *file, const char *path, sp_error *err)
{
	char reason[128];

	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (file->fd < 0 && errno == EINVAL)
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return sp_error_set(err, SP_IO, "%s", strerror_r(errno, reason, sizeof(reason)));
	return SP_OK;
}

static sp_status fill(sp_sst_file *out, const char *path, sp_error *err)
{
	sp_file file;
	sp_status status;

	SP_TRY(sp_file_open(&file, path, err));
	out->size = file.size;
	status = read_index(out, &file, err);
	sp_file_close(&file);
	if (status == SP_OK)
		status = open_rows(out, path, err);
	return sp_error_prefix(err, status, "%s", path);
}

sp_status sp_sst_file_open(sp_sst_file **out, const char *path, sp_error *err)
{
	sp_sst_file *file = sp_alloc_zero(1, sizeof(*file));
	sp_status status;

	SP_NEED_MEMORY(file, err, "opening %s", path);
	file->fd = -1;
	status = fill(file, path, err);
	if (status != SP_OK) {
		sp_sst_file_close(file);
		return status;
	}
	*out = file;
	return SP_OK;
}

void sp_sst_file_close(sp_sst_file *file)
{
	if (file == NULL)
		return;
	if (file->fd >= 0)
		close(file->fd);
	sp_free(file->bounds);
	sp_free(file->pages);
	sp_free(file->tails);
	sp_free(file);
}

size_t sp_sst_file_block_count(const sp_sst_file *file)
{
	return file->count;
}

sp_sst_place sp_sst_file_block(const sp_sst_file *file, size_t b)
{
	uint32_t span = (file->pages[b + 1] - file->pages[b]) * SP_SST_PAGE;

	return (sp_sst_place){
		.fd = file->fd,
		.offset = (uint64_t)file->pages[b] * SP_SST_PAGE,
		.span = span,
		.size = span - file->tails[b],
	};
}

size_t sp_sst_file_find(const sp_sst_file *file, uint64_t key)
{
	size_t low = 0, count = file->count;

	/* Branch-free binary search for the first block whose bound is above the key. */
	while (count > 0) {
		size_t half = count / 2;
		bool is_above = file->bounds[low + half] <= key;

		low += is_above ? half + 1 : 0;
		count = is_above ? count - half - 1 : half;
	}
	return low;
}

bool sp_sst_file_ends_before(const sp_sst_file *file, uint64_t key)
{
	return file->count == 0 || file->bounds[file->count - 1] <= key;
}

uint64_t sp_sst_file_size(const sp_sst_file *file)
{
	return file->size;
}

size_t sp_sst_file_footprint(const sp_sst_file *file)
{
	size_t entry = sizeof(*file->bounds) + sizeof(*file->pages) + sizeof(*file->tails);

	return sizeof(*file) + file->capacity * entry;
}
