#ifndef SP_STORAGE_SST_SST_FILE_H
#define SP_STORAGE_SST_SST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * An index of the blocks of one of RocksDB's sorted files, for keys as storage/ssd/rocks.h stores
 * them.  It takes 14 bytes of memory per block.
 *
 * A file that is not as this project writes it is SP_CORRUPT (storage/sst/sst_block.h describes a
 * block):
 *
 *   file     data blocks, each from a multiple of 4096 bytes on and the next
 *            behind it; other blocks; footer
 *   footer   53 bytes: 1 byte kind of checksum (1: CRC-32C); handles of the
 *            metaindex and the index block, padded to 40 bytes; 4 bytes format
 *            (5); 0x88e241b785f4cff7.  Little endian.
 *   handle   varint offset, varint size without trailer
 *   index    a block with one entry per data block: a separator key, possibly
 *            truncated, not below any key of the block and below all keys of the
 *            next one; and the block's handle
 *
 * Source: RocksDB's wiki, "Rocksdb BlockBasedTable Format"; table/format.cc of RocksDB 7.8.
 *
 * Threads: any number, once open.
 */
typedef struct sp_sst_file sp_sst_file;

enum { SP_SST_PAGE = 4096 };

/*
 * Opens for direct reads where the file system supports them: reads from fd() then need offsets,
 * sizes and addresses that are multiples of SP_SST_PAGE.
 */
SP_MUST_CHECK sp_status sp_sst_file_open(sp_sst_file **out, const char *path, sp_error *err);

/* NULL is fine. */
void sp_sst_file_close(sp_sst_file *file);

/* Position of a block in the file. */
typedef struct sp_sst_place {
	int fd;
	uint64_t offset;
	uint32_t span; /* bytes to read, whole pages: the block, its trailer, padding */
	uint32_t size; /* bytes of the block, without its trailer */
} sp_sst_place;

size_t sp_sst_file_block_count(const sp_sst_file *file);

/* Block `b` < block_count(). */
sp_sst_place sp_sst_file_block(const sp_sst_file *file, size_t b);

/*
 * The only block that may have the key, a number in the order of the file; block_count() if none
 * may.
 */
size_t sp_sst_file_find(const sp_sst_file *file, uint64_t key);

/* Whether all keys of the file are below this one. */
bool sp_sst_file_ends_before(const sp_sst_file *file, uint64_t key);

uint64_t sp_sst_file_size(const sp_sst_file *file);    /* bytes on the disk */
size_t sp_sst_file_footprint(const sp_sst_file *file); /* bytes of memory */

#endif
