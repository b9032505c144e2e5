#include "storage/shards/shard_frame.h"

#include <string.h>

#include "base/little_endian.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "numbers are copied between frames and memory without conversion");

enum {
	MARK = 0x4853,
	VERSION = 1,
	ALIGN = 8,
	TABLES_HEAD = 24,
	TABLE_HEAD = 16,
	LOOKUP_HEAD = 16,
	PART_HEAD = 8,
	ERROR_HEAD = 8,
	MAX_ERROR_TEXT = 1024,
};

/* ---- bytes ---- */

static sp_bytes bytes_after(sp_bytes bytes, size_t size)
{
	return (sp_bytes){bytes.data + size, bytes.size - size};
}

static uint64_t padded(uint64_t size)
{
	return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static bool are_zeros(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* Whether `bytes` begin with a text of `size` bytes and its padding. */
static bool has_text(sp_bytes bytes, uint64_t size)
{
	return padded(size) <= bytes.size && are_zeros(bytes.data + size, padded(size) - size);
}

void sp_shard_put_u32(sp_buffer *out, uint32_t value)
{
	sp_buffer_append(out, &value, sizeof(value));
}

void sp_shard_put_u64(sp_buffer *out, uint64_t value)
{
	sp_buffer_append(out, &value, sizeof(value));
}

/* ---- frames ---- */

bool sp_shard_header_read(sp_shard_header *out, const char *bytes, bool requests)
{
	uint32_t first = sp_le32_at(bytes);
	bool is_request;

	out->kind = (uint8_t)(first >> 24);
	out->size = sp_le32_at(bytes + 4);
	out->id = sp_le64_at(bytes + 8);
	if ((first & 0xffff) != MARK || (first >> 16 & 0xff) != VERSION || out->size % ALIGN != 0 ||
	    out->kind < SP_SHARD_VERSION || out->kind > SP_SHARD_ERROR)
		return false;
	is_request = out->kind == SP_SHARD_VERSION || out->kind == SP_SHARD_LOOKUP;
	return is_request == requests &&
	       out->size <= (uint32_t)(is_request ? SP_SHARD_MAX_REQUEST : SP_SHARD_MAX_RESPONSE);
}

size_t sp_shard_frame_begin(sp_buffer *out, sp_shard_kind kind, uint64_t id)
{
	size_t start = out->size;

	sp_shard_put_u32(out, MARK | VERSION << 16 | (uint32_t)kind << 24);
	sp_shard_put_u32(out, 0);
	sp_shard_put_u64(out, id);
	return start;
}

bool sp_shard_frame_end(sp_buffer *out, size_t start)
{
	static const char zeros[ALIGN] = {0};
	size_t size = out->size - start;
	uint32_t body;

	sp_buffer_append(out, zeros, padded(size) - size);
	if (out->failed)
		return false;
	body = (uint32_t)(out->size - start - SP_SHARD_HEADER);
	memcpy(out->data + start + 4, &body, sizeof(body));
	return true;
}

/* ---- VERSION ---- */

void sp_shard_version_write(sp_buffer *out, uint64_t id, int64_t full, uint64_t content)
{
	size_t start = sp_shard_frame_begin(out, SP_SHARD_VERSION, id);

	sp_shard_put_u64(out, (uint64_t)full);
	sp_shard_put_u64(out, content);
	(void)sp_shard_frame_end(out, start);
}

bool sp_shard_version_read(int64_t *full, uint64_t *content, sp_bytes body)
{
	if (body.size != 16)
		return false;
	*full = (int64_t)sp_le64_at(body.data);
	*content = sp_le64_at(body.data + 8);
	return true;
}

/* ---- TABLES ---- */

/* Reads the next table; false: there is none, or it is malformed. */
static bool read_table(sp_shard_table *out, sp_bytes *rest)
{
	uint32_t name_size;

	if (rest->size < TABLE_HEAD)
		return false;
	out->dim = sp_le32_at(rest->data);
	name_size = sp_le32_at(rest->data + 4);
	out->row_count = sp_le64_at(rest->data + 8);
	*rest = bytes_after(*rest, TABLE_HEAD);
	if (out->dim == 0 || !has_text(*rest, name_size))
		return false;
	out->name = (sp_bytes){rest->data, name_size};
	*rest = bytes_after(*rest, padded(name_size));
	return true;
}

bool sp_shard_tables_read(sp_shard_tables *out, sp_bytes body)
{
	sp_shard_table table;
	sp_bytes rest;

	if (body.size < TABLES_HEAD || sp_le32_at(body.data + 20) != 0)
		return false;
	*out = (sp_shard_tables){.token = sp_le64_at(body.data),
				 .slice = sp_le32_at(body.data + 8),
				 .slices = sp_le32_at(body.data + 12),
				 .count = sp_le32_at(body.data + 16),
				 .rest = bytes_after(body, TABLES_HEAD)};
	if (out->slice >= out->slices || out->count > SP_SHARD_MAX_TABLES)
		return false;
	rest = out->rest;
	for (uint32_t i = 0; i < out->count; i++)
		if (!read_table(&table, &rest))
			return false;
	return rest.size == 0;
}

bool sp_shard_tables_next(sp_shard_tables *tables, sp_shard_table *out)
{
	return read_table(out, &tables->rest);
}

/* ---- LOOKUP ---- */

static bool read_part(sp_shard_part *out, sp_bytes *rest)
{
	uint64_t size;

	if (rest->size < PART_HEAD)
		return false;
	out->table = sp_le32_at(rest->data);
	out->count = sp_le32_at(rest->data + 4);
	size = (uint64_t)out->count * sizeof(int64_t);
	*rest = bytes_after(*rest, PART_HEAD);
	if (size > rest->size)
		return false;
	out->keys = (const int64_t *)(const void *)rest->data;
	*rest = bytes_after(*rest, size);
	return true;
}

bool sp_shard_lookup_read(sp_shard_lookup *out, sp_bytes body)
{
	sp_shard_part part;
	sp_bytes rest;

	if (body.size < LOOKUP_HEAD || sp_le32_at(body.data + 12) != 0)
		return false;
	*out = (sp_shard_lookup){.token = sp_le64_at(body.data),
				 .parts = sp_le32_at(body.data + 8),
				 .rest = bytes_after(body, LOOKUP_HEAD)};
	if (out->parts > SP_SHARD_MAX_TABLES)
		return false;
	rest = out->rest;
	for (uint32_t i = 0; i < out->parts; i++)
		if (!read_part(&part, &rest))
			return false;
	return rest.size == 0;
}

bool sp_shard_lookup_next(sp_shard_lookup *lookup, sp_shard_part *out)
{
	return read_part(out, &lookup->rest);
}

/* ---- ROWS ---- */

bool sp_shard_rows_next(sp_shard_rows *out, sp_bytes *rest, uint32_t count, size_t dim)
{
	size_t words = ((size_t)count + 63) / 64, held = 0;
	uint64_t size;

	if (words > rest->size / sizeof(uint64_t))
		return false;
	out->bits = (const uint64_t *)(const void *)rest->data;
	if (count % 64 != 0 && out->bits[words - 1] >> count % 64 != 0)
		return false;
	for (size_t i = 0; i < words; i++)
		held += (size_t)__builtin_popcountll(out->bits[i]);
	*rest = bytes_after(*rest, words * sizeof(uint64_t));
	out->rows = rest->data;
	if (held != 0 && dim > rest->size / sizeof(float) / held)
		return false;
	size = (uint64_t)held * dim * sizeof(float);
	if (!has_text(*rest, size))
		return false;
	*rest = bytes_after(*rest, padded(size));
	return true;
}

/* ---- ERROR ---- */

void sp_shard_error_write(sp_buffer *out, uint64_t id, sp_shard_error_code fault, const char *text)
{
	size_t start = sp_shard_frame_begin(out, SP_SHARD_ERROR, id), size = strlen(text);

	if (size > MAX_ERROR_TEXT)
		size = MAX_ERROR_TEXT;
	sp_shard_put_u32(out, fault);
	sp_shard_put_u32(out, (uint32_t)size);
	sp_buffer_append(out, text, size);
	(void)sp_shard_frame_end(out, start);
}

bool sp_shard_error_read(sp_shard_error_code *fault, sp_bytes *text, sp_bytes body)
{
	uint32_t code, size;

	if (body.size < ERROR_HEAD)
		return false;
	code = sp_le32_at(body.data);
	size = sp_le32_at(body.data + 4);
	*text = (sp_bytes){body.data + ERROR_HEAD, size};
	*fault = (sp_shard_error_code)code;
	return code >= SP_SHARD_NO_VERSION && code <= SP_SHARD_FAILED && size <= MAX_ERROR_TEXT &&
	       padded(size) == body.size - ERROR_HEAD &&
	       has_text(bytes_after(body, ERROR_HEAD), size);
}
