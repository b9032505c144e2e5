#include "model_loader/checkpoint/sorted_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/varint.h"
#include "model_loader/checkpoint/snappy.h"

#define MAGIC 0xdb4775248b80fb57u

enum { FOOTER_SIZE = 48, HANDLES_SIZE = 40, TRAILER_SIZE = 5 };
enum { PLAIN = 0, SNAPPY = 1 };

typedef struct handle {
	uint64_t offset;
	uint64_t size;
} handle;

/* The entries found so far, and how much memory their keys may still take. */
typedef struct collector {
	sp_arena *arena;
	sp_table_entry *entries; /* from sp_alloc, moves as it grows */
	size_t count;
	size_t capacity;
	size_t key_bytes_left;
} collector;

int sp_table_key_compare(sp_bytes a, sp_bytes b)
{
	size_t n = a.size < b.size ? a.size : b.size;
	int order = n != 0 ? memcmp(a.data, b.data, n) : 0;

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static bool read_handle(const uint8_t **at, const uint8_t *end, handle *out)
{
	return sp_varint_read(at, end, &out->offset) && sp_varint_read(at, end, &out->size);
}

/* Reads a block: checks its CRC and uncompresses it. */
static sp_status read_block(sp_bytes *out, sp_bytes file, handle at, sp_arena *arena, sp_error *err)
{
	uint64_t room = file.size - FOOTER_SIZE;
	const uint8_t *trailer;
	uint32_t crc;

	if (room < TRAILER_SIZE || at.offset > room - TRAILER_SIZE ||
	    at.size > room - TRAILER_SIZE - at.offset)
		return sp_error_set(err, SP_CORRUPT,
				    "a block of %llu bytes at byte %llu lies outside the table",
				    (unsigned long long)at.size, (unsigned long long)at.offset);
	*out = (sp_bytes){file.data + at.offset, (size_t)at.size};
	trailer = (const uint8_t *)out->data + out->size;
	crc = sp_crc32c(0, out->data, out->size + 1);
	if (sp_crc32c_mask(crc) != sp_le32_at(trailer + 1))
		return sp_error_set(err, SP_CORRUPT, "the block at byte %llu fails its checksum",
				    (unsigned long long)at.offset);
	if (*trailer == SNAPPY)
		return sp_snappy_uncompress(out, *out, arena, err);
	if (*trailer != PLAIN)
		return sp_error_set(err, SP_UNSUPPORTED, "compression type %d of a block",
				    *trailer);
	return SP_OK;
}

static sp_status grow(collector *c, sp_error *err)
{
	size_t capacity = c->capacity != 0 ? 2 * c->capacity : 64;
	sp_table_entry *entries = sp_alloc_resize(c->entries, capacity, sizeof(*entries));

	SP_NEED_MEMORY(entries, err, "%zu entries", capacity);
	c->entries = entries;
	c->capacity = capacity;
	return SP_OK;
}

static sp_status add_entry(collector *c, const sp_table_entry *last, uint32_t shared,
			   sp_bytes suffix, sp_bytes value, sp_error *err)
{
	size_t size = shared + suffix.size; /* no overflow: both are below 2^32 */
	sp_bytes key = {NULL, size};
	char *bytes;

	if (size > c->key_bytes_left)
		return sp_error_set(err, SP_CORRUPT, "the keys expand beyond any reason");
	c->key_bytes_left -= size;
	key.data = bytes = sp_arena_alloc(c->arena, size);
	SP_NEED_MEMORY(bytes, err, "a key of %zu bytes", size);
	if (shared != 0)
		memcpy(bytes, last->key.data, shared);
	if (suffix.size != 0)
		memcpy(bytes + shared, suffix.data, suffix.size);
	if (last != NULL && sp_table_key_compare(last->key, key) >= 0)
		return sp_error_set(err, SP_CORRUPT, "entry %zu is out of order", c->count);
	if (c->count == c->capacity)
		SP_TRY(grow(c, err));
	c->entries[c->count++] = (sp_table_entry){key, value};
	return SP_OK;
}

/* The restarts of a block, read in step with its entries. */
typedef struct restarts {
	const uint8_t *at;
	uint32_t left;
} restarts;

static bool find_restarts(restarts *out, sp_bytes block, size_t *entries_size)
{
	const uint8_t *end = (const uint8_t *)block.data + block.size;

	if (block.size < 4)
		return false;
	out->left = sp_le32_at(end - 4);
	if (out->left == 0 || out->left > (block.size - 4) / 4)
		return false;
	*entries_size = block.size - 4 - (size_t)out->left * 4;
	out->at = end - 4 - (size_t)out->left * 4;
	return sp_le32_at(out->at) == 0;
}

/* Whether an entry at `offset` with `shared` bytes in common agrees with the restarts. */
static bool pass_restart(restarts *r, size_t offset, uint32_t shared)
{
	if (r->left == 0 || sp_le32_at(r->at) != offset)
		return r->left == 0 || sp_le32_at(r->at) > offset;
	r->at += 4;
	r->left--;
	return shared == 0;
}

/* Adds all entries of a block; their keys must follow the last one. */
static sp_status read_entries(collector *c, sp_bytes block, sp_error *err)
{
	const uint8_t *start = (const uint8_t *)block.data, *at = start, *end;
	size_t entries_size, first = c->count;
	restarts r;

	if (!find_restarts(&r, block, &entries_size))
		return sp_error_set(err, SP_CORRUPT, "a block has no valid restarts");
	for (end = start + entries_size; at != end;) {
		size_t offset = (size_t)(at - start);
		/* The first entry of a block shares no bytes, but must be in order. */
		const sp_table_entry *last = c->count != 0 ? &c->entries[c->count - 1] : NULL;
		size_t available = c->count != first ? last->key.size : 0;
		uint32_t shared, rest, value_size;
		sp_bytes suffix, value;

		if (!sp_varint_read32(&at, end, &shared) || !sp_varint_read32(&at, end, &rest) ||
		    !sp_varint_read32(&at, end, &value_size) || shared > available ||
		    rest > (size_t)(end - at) || value_size > (size_t)(end - at) - rest ||
		    !pass_restart(&r, offset, shared))
			return sp_error_set(err, SP_CORRUPT, "an entry of a block is malformed");
		suffix = (sp_bytes){(const char *)at, rest};
		value = (sp_bytes){(const char *)at + rest, value_size};
		SP_TRY(add_entry(c, last, shared, suffix, value, err));
		at += (size_t)rest + value_size;
	}
	if (r.left != 0 && entries_size != 0)
		return sp_error_set(err, SP_CORRUPT, "a restart of a block is at no entry");
	return SP_OK;
}

/* Reads all data blocks of the index, in order. */
static sp_status read_data(collector *data, const collector *index, sp_bytes file, sp_error *err)
{
	uint64_t free_from = 0; /* blocks must not overlap, or a small file could expand */

	for (size_t i = 0; i < index->count; i++) {
		sp_bytes value = index->entries[i].value, block;
		const uint8_t *at = (const uint8_t *)value.data, *end = at + value.size;
		size_t first = data->count;
		handle where;

		if (!read_handle(&at, end, &where) || at != end || where.offset < free_from)
			return sp_error_set(err, SP_CORRUPT, "block %zu has no valid handle", i);
		SP_TRY(read_block(&block, file, where, data->arena, err));
		free_from = where.offset + where.size + TRAILER_SIZE;
		SP_TRY(read_entries(data, block, err));
		if (data->count == first)
			continue;
		if (sp_table_key_compare(data->entries[data->count - 1].key,
					 index->entries[i].key) > 0 ||
		    (i != 0 && sp_table_key_compare(index->entries[i - 1].key,
						    data->entries[first].key) >= 0))
			return sp_error_set(err, SP_CORRUPT,
					    "block %zu holds keys the index puts elsewhere", i);
	}
	return SP_OK;
}

static sp_status read_footer(handle *index, sp_bytes file, sp_arena *arena, sp_error *err)
{
	const uint8_t *at, *end, *magic;
	handle metaindex;
	sp_bytes unused;

	if (file.size < FOOTER_SIZE)
		return sp_error_set(err, SP_CORRUPT, "%zu bytes are too few for a table",
				    file.size);
	at = (const uint8_t *)file.data + file.size - FOOTER_SIZE;
	end = magic = at + HANDLES_SIZE;
	if (((uint64_t)sp_le32_at(magic + 4) << 32 | sp_le32_at(magic)) != MAGIC)
		return sp_error_set(err, SP_CORRUPT, "this is no sorted table (wrong magic)");
	if (!read_handle(&at, end, &metaindex) || !read_handle(&at, end, index))
		return sp_error_set(err, SP_CORRUPT, "the footer holds no valid handles");
	/* The metaindex is not used; but a file that fails a checksum is corrupt. */
	return read_block(&unused, file, metaindex, arena, err);
}

static sp_status read_table(sp_sorted_table *out, collector *index, collector *data, sp_bytes file,
			    sp_error *err)
{
	sp_table_entry *entries;
	handle index_at;
	sp_bytes block;

	SP_TRY(read_footer(&index_at, file, data->arena, err));
	SP_TRY(read_block(&block, file, index_at, data->arena, err));
	SP_TRY(read_entries(index, block, err));
	SP_TRY(read_data(data, index, file, err));
	entries = sp_arena_copy(data->arena, data->entries, data->count, data->count,
				sizeof(*entries));
	SP_NEED_MEMORY(entries, err, "%zu entries", data->count);
	*out = (sp_sorted_table){entries, data->count};
	return SP_OK;
}

sp_status sp_sorted_table_read(sp_sorted_table *out, sp_bytes file, sp_arena *arena, sp_error *err)
{
	/* No overflow below 2^58 bytes, the size of any file. */
	size_t most = file.size * SP_SORTED_TABLE_EXPANSION + SP_SORTED_TABLE_SLACK;
	collector index = {.arena = arena, .key_bytes_left = most};
	collector data = {.arena = arena, .key_bytes_left = most};
	sp_status status = read_table(out, &index, &data, file, err);

	sp_free(index.entries);
	sp_free(data.entries);
	return status;
}
