#ifndef SP_TESTS_SUPPORT_SST_WRITER_H
#define SP_TESTS_SUPPORT_SST_WRITER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "tests/support/table_writer.h"

/*
 * Writes sorted files of RocksDB's (storage/sst/sst_file.h has the format) piece by
 * piece, so that a test can also make one that is wrong in just one place, with
 * checksums that hold.  Nothing is checked.
 */
typedef struct sp_sst_writer {
	sp_buffer file;
	sp_block_writer index;
} sp_sst_writer;

void sp_sst_writer_begin(sp_sst_writer *sst);

/* Contents of a data block, with trailer, at the next page. */
void sp_sst_writer_put_block(sp_sst_writer *sst, sp_bytes contents);

/* The same of a block that is written, which ends; named in the index under `separator`. */
void sp_sst_writer_add_block(sp_sst_writer *sst, sp_block_writer *block, sp_bytes separator);

/* The entry of a row: RocksDB's key for `key`, and the row. */
void sp_sst_writer_add_row(sp_block_writer *block, uint64_t key, sp_bytes row);

/* An entry of the index as given. */
void sp_sst_writer_name_block(sp_sst_writer *sst, sp_bytes separator, uint64_t offset,
			      uint64_t size);

/* The index as it was written, and the footer; the file is then whole. */
void sp_sst_writer_end(sp_sst_writer *sst);

/* The same with any bytes as the index. */
void sp_sst_writer_end_with(sp_sst_writer *sst, sp_bytes index);

void sp_sst_writer_fini(sp_sst_writer *sst);

/* The eight bytes of a key. */
typedef struct sp_sst_key {
	char bytes[8];
} sp_sst_key;

sp_sst_key sp_sst_key_of(uint64_t key);

#endif
