#ifndef SP_TESTS_SUPPORT_TABLE_WRITER_H
#define SP_TESTS_SUPPORT_TABLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Writes sorted tables (model_loader/checkpoint/sorted_table.h has the format) piece by
 * piece, so that a test can also make one that is wrong in just one place, with
 * checksums that hold.  Nothing is checked, neither order nor sizes.
 */

/* One block being written: entries, then restarts. */
typedef struct sp_block_writer {
	sp_buffer bytes;
	sp_buffer last_key;
	uint32_t restarts[256];
	uint32_t restart_count;
	uint32_t interval; /* entries from one restart to the next */
	uint32_t entries;
} sp_block_writer;

void sp_block_begin(sp_block_writer *block, uint32_t interval);
void sp_block_add(sp_block_writer *block, sp_bytes key, sp_bytes value);

/* An entry as given, whatever the keys are; no restart. */
void sp_block_add_raw(sp_block_writer *block, uint32_t shared, sp_bytes suffix, sp_bytes value);

/* Restarts and their count behind the entries; the bytes are then the block's. */
void sp_block_end(sp_block_writer *block);
void sp_block_fini(sp_block_writer *block);

/* A table being written. */
typedef struct sp_table_writer {
	sp_buffer file;
	sp_block_writer index;
	bool compress; /* blocks that end are compressed by snappy */
} sp_table_writer;

void sp_table_begin(sp_table_writer *table, bool compress);

/* The contents with their trailer at the end of the file; *handle is appended to. */
void sp_table_put_block(sp_table_writer *table, sp_bytes contents, uint8_t type, sp_buffer *handle);

/* Ends the data block, writes it, and names it in the index under `key`. */
void sp_table_add_block(sp_table_writer *table, sp_block_writer *block, sp_bytes key);

/* Metaindex, index and footer; the file is then whole. */
void sp_table_end(sp_table_writer *table);
void sp_table_fini(sp_table_writer *table);

#endif
