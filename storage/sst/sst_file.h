#ifndef SP_STORAGE_SST_SST_FILE_H
#define SP_STORAGE_SST_SST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Where the blocks of rows lie in one of RocksDB's sorted files, for keys as
 * storage/ssd/rocks.h stores them: an index in memory, 10 bytes per block, or
 * 14 where blocks have different numbers of pages.
 *
 * The file is as this store has it written (storage/sst/sst_block.h for what a
 * block is), or it is SP_CORRUPT:
 *
 *   file     data blocks, each from a multiple of 4096 bytes on and the next
 *            behind it; other blocks; footer
 *   footer   53 bytes: 1 byte kind of checksum (1: CRC-32C); handles of the
 *            metaindex and the index block, padded to 40 bytes; 4 bytes format
 *            (5); 0x88e241b785f4cff7.  Little endian.
 *   handle   varint offset, varint size without trailer
 *   index    a block with one entry per data block: a key not below any key of
 *            the block and below all keys of the next one, maybe cut short;
 *            and the block's handle
 *
 * Source: RocksDB's wiki, "Rocksdb BlockBasedTable Format"; table/format.cc of
 * RocksDB 7.8.
 *
 * Threads: any number, once open.
 */
typedef struct sp_sst_file sp_sst_file;

enum { SP_SST_PAGE = 4096 };

/*
 * Reads past the page cache where the file system can: bytes read from fd() then
 * need offsets, sizes and addresses that are multiples of SP_SST_PAGE.
 */
SP_MUST_CHECK sp_status sp_sst_file_open(sp_sst_file **out, const char *path, sp_error *err);

/* NULL is fine. */
void sp_sst_file_close(sp_sst_file *file);

/* Where a block is read from. */
typedef struct sp_sst_place {
	int fd;
	uint64_t offset;
	uint32_t span; /* bytes to read, whole pages: the block, its trailer, padding */
	uint32_t size; /* bytes of the block, without its trailer */
} sp_sst_place;

size_t sp_sst_file_block_count(const sp_sst_file *file);

/* Block `b` < block_count(). */
sp_sst_place sp_sst_file_block(const sp_sst_file *file, size_t b);

/* The block that has the key, a number in the order of the file, if the file has it; block_count()
 * when no block can. */
size_t sp_sst_file_find(const sp_sst_file *file, uint64_t key);

/* Whether all its keys are below this one. */
bool sp_sst_file_ends_before(const sp_sst_file *file, uint64_t key);

uint64_t sp_sst_file_size(const sp_sst_file *file);    /* bytes on the disk */
size_t sp_sst_file_footprint(const sp_sst_file *file); /* bytes of memory */

#endif
