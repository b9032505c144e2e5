#ifndef SP_STORAGE_SST_SST_BLOCK_H
#define SP_STORAGE_SST_SST_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A block of one of RocksDB's sorted files (its block based table), with the options of
 * storage/ssd/rocks.h: uncompressed, with CRC-32C.
 *
 *   block    entries; restarts, 4 bytes each; their count, 4 bytes
 *   entry    varint length of the prefix shared with the previous key, varint length of
 *            the rest, varint length of the value; rest; value
 *   trailer  behind the block: 1 byte of compression (0: none), 4 bytes masked
 *            CRC-32C of the block and that byte
 *
 * All numbers are little endian.  Nothing here allocates.
 *
 * Source: LevelDB's table_format.md; RocksDB's wiki, "Rocksdb BlockBasedTable Format".
 */
enum { SP_SST_TRAILER = 5, SP_SST_MAX_KEY = 16 };

/* `block` [size + SP_SST_TRAILER]; SP_CORRUPT for a compressed block or a wrong checksum. */
SP_MUST_CHECK sp_status sp_sst_block_check(const uint8_t *block, size_t size, sp_error *err);

/* Iterates over the entries of a block. */
typedef struct sp_sst_cursor {
	const uint8_t *at, *end;
	uint8_t key[SP_SST_MAX_KEY];
	size_t key_size;
	const uint8_t *value; /* in the block */
	size_t value_size;
} sp_sst_cursor;

/* Positions before the first entry.  The first step in an invalid block is SP_SST_MALFORMED. */
void sp_sst_cursor_start(sp_sst_cursor *cursor, const uint8_t *block, size_t size);

typedef enum sp_sst_step { SP_SST_ENTRY, SP_SST_END, SP_SST_MALFORMED } sp_sst_step;

/* Moves to the next entry.  A key of more than SP_SST_MAX_KEY bytes is malformed. */
SP_MUST_CHECK sp_sst_step sp_sst_cursor_next(sp_sst_cursor *cursor);

#endif
