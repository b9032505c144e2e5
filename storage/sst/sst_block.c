#include "storage/sst/sst_block.h"

#include <string.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "base/varint.h"

sp_status sp_sst_block_check(const uint8_t *block, size_t size, sp_error *err)
{
	uint32_t stored = sp_le32_at(block + size + 1);

	if (sp_crc32c_mask(sp_crc32c(0, block, size + 1)) != stored)
		return sp_error_set(err, SP_CORRUPT, "a block fails its checksum");
	if (block[size] != 0)
		return sp_error_set(err, SP_CORRUPT, "a block with compression %d", block[size]);
	return SP_OK;
}

void sp_sst_cursor_start(sp_sst_cursor *cursor, const uint8_t *block, size_t size)
{
	size_t restarts;

	*cursor = (sp_sst_cursor){0};
	if (size < sizeof(uint32_t))
		return;
	restarts = sp_le32_at(block + size - sizeof(uint32_t));
	if (restarts > size / sizeof(uint32_t) - 1)
		return;
	cursor->at = block;
	cursor->end = block + size - (restarts + 1) * sizeof(uint32_t);
}

sp_sst_step sp_sst_cursor_next(sp_sst_cursor *cursor)
{
	uint32_t shared, rest, value_size;

	if (cursor->at == NULL)
		return SP_SST_MALFORMED;
	if (cursor->at == cursor->end)
		return SP_SST_END;
	if (!sp_varint_read32(&cursor->at, cursor->end, &shared) ||
	    !sp_varint_read32(&cursor->at, cursor->end, &rest) ||
	    !sp_varint_read32(&cursor->at, cursor->end, &value_size) || shared > cursor->key_size ||
	    rest > SP_SST_MAX_KEY - shared || rest > (size_t)(cursor->end - cursor->at) ||
	    value_size > (size_t)(cursor->end - cursor->at) - rest)
		return SP_SST_MALFORMED;
	memcpy(cursor->key + shared, cursor->at, rest);
	cursor->key_size = shared + rest;
	cursor->value = cursor->at + rest;
	cursor->value_size = value_size;
	cursor->at = cursor->value + value_size;
	return SP_SST_ENTRY;
}
