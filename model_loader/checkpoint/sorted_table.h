#ifndef SP_MODEL_LOADER_CHECKPOINT_SORTED_TABLE_H
#define SP_MODEL_LOADER_CHECKPOINT_SORTED_TABLE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The sorted table under a bundle's .index file: LevelDB's table format
 * without the internal suffix of its keys.
 *
 *   file      blocks, each with a trailer; footer
 *   footer    48 bytes: handles of the metaindex and the index block, padded
 *             with zeros to 40 bytes; 0xdb4775248b80fb57, little-endian
 *   handle    varint offset, varint size (without the trailer)
 *   trailer   1 byte type (0 plain, 1 snappy), 4 bytes masked CRC32C of the
 *             stored bytes and the type
 *   block     entries; restarts, 4 bytes each; their count, 4 bytes
 *   entry    varint length of the prefix shared with the previous key, varint length
 *            of the rest, varint length of the value; rest; value.  At a restart
 *            nothing is shared.
 *
 * The index block has one entry per data block: a key not below any key of the block and below all
 * keys of the next one, and the block's handle.  Keys are ordered as unsigned bytes, without
 * repeats.
 *
 * All of this is checked: SP_CORRUPT otherwise.  SP_UNSUPPORTED for other compressions.  Memory is
 * bounded by the file's size: blocks may not overlap, and keys may not expand to more than
 * SP_SORTED_TABLE_EXPANSION times their stored size and a little.
 * Source: LevelDB's table_format.md; core/lib/io/table of TensorFlow 2.15.
 */
#define SP_SORTED_TABLE_EXPANSION 32
#define SP_SORTED_TABLE_SLACK     ((size_t)1 << 20)

typedef struct sp_table_entry {
	sp_bytes key;
	sp_bytes value;
} sp_table_entry;

typedef struct sp_sorted_table {
	const sp_table_entry *entries; /* in the order of their keys */
	size_t count;
} sp_sorted_table;

/*
 * Reads all entries of the table in `file`.  They live in the arena, except values of plain blocks,
 * which point into `file`: it must outlive `out`.
 */
SP_MUST_CHECK sp_status sp_sorted_table_read(sp_sorted_table *out, sp_bytes file, sp_arena *arena,
					     sp_error *err);

/* Negative, 0 or positive, in the order of the table. */
int sp_table_key_compare(sp_bytes a, sp_bytes b);

#endif
