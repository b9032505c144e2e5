#include "tests/support/table_writer.h"

#include <assert.h>
#include <snappy-c.h>
#include <stdlib.h>

#include "base/hash.h"
#include "tests/support/wire.h"

static void fixed32(sp_buffer *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		sp_buffer_append_char(out, (char)(value >> 8 * i));
}

void sp_block_begin(sp_block_writer *block, uint32_t interval)
{
	*block = (sp_block_writer){.interval = interval};
	block->bytes = sp_wire_begin();
	block->last_key = sp_wire_begin();
	block->restart_count = 1;
}

void sp_block_add_raw(sp_block_writer *block, uint32_t shared, sp_bytes suffix, sp_bytes value)
{
	sp_wire_number(&block->bytes, shared);
	sp_wire_number(&block->bytes, suffix.size);
	sp_wire_number(&block->bytes, value.size);
	sp_buffer_append(&block->bytes, suffix.data, suffix.size);
	sp_buffer_append(&block->bytes, value.data, value.size);
	block->entries++;
}

void sp_block_add(sp_block_writer *block, sp_bytes key, sp_bytes value)
{
	uint32_t shared = 0;

	if (block->entries != 0 && block->entries % block->interval == 0) {
		assert(block->restart_count < 256);
		block->restarts[block->restart_count++] = (uint32_t)block->bytes.size;
	} else {
		while (shared < key.size && shared < block->last_key.size &&
		       key.data[shared] == block->last_key.data[shared])
			shared++;
	}
	sp_block_add_raw(block, shared, (sp_bytes){key.data + shared, key.size - shared}, value);
	sp_buffer_clear(&block->last_key);
	sp_buffer_append(&block->last_key, key.data, key.size);
}

void sp_block_end(sp_block_writer *block)
{
	for (uint32_t i = 0; i < block->restart_count; i++)
		fixed32(&block->bytes, block->restarts[i]);
	fixed32(&block->bytes, block->restart_count);
}

void sp_block_fini(sp_block_writer *block)
{
	sp_buffer_fini(&block->bytes);
	sp_buffer_fini(&block->last_key);
}

void sp_table_begin(sp_table_writer *table, bool compress)
{
	*table = (sp_table_writer){.compress = compress};
	table->file = sp_wire_begin();
	sp_block_begin(&table->index, 1);
}

void sp_table_put_block(sp_table_writer *table, sp_bytes contents, uint8_t type, sp_buffer *handle)
{
	size_t offset = table->file.size;
	uint32_t crc;

	sp_wire_number(handle, offset);
	sp_wire_number(handle, contents.size);
	sp_buffer_append(&table->file, contents.data, contents.size);
	sp_buffer_append_char(&table->file, (char)type);
	crc = sp_crc32c(0, table->file.data + offset, contents.size + 1);
	fixed32(&table->file, sp_crc32c_mask(crc));
}

static void put_finished(sp_table_writer *table, sp_block_writer *block, sp_buffer *handle)
{
	sp_bytes contents = sp_wire_view(&block->bytes);
	size_t size = snappy_max_compressed_length(contents.size);
	char *compressed;

	if (!table->compress) {
		sp_table_put_block(table, contents, 0, handle);
		return;
	}
	compressed = malloc(size);
	if (compressed == NULL ||
	    snappy_compress(contents.data, contents.size, compressed, &size) != SNAPPY_OK)
		abort();
	sp_table_put_block(table, (sp_bytes){compressed, size}, 1, handle);
	free(compressed);
}

void sp_table_add_block(sp_table_writer *table, sp_block_writer *block, sp_bytes key)
{
	sp_buffer handle = sp_wire_begin();

	sp_block_end(block);
	put_finished(table, block, &handle);
	sp_block_fini(block);
	sp_block_add(&table->index, key, sp_wire_view(&handle));
	sp_buffer_fini(&handle);
}

void sp_table_end(sp_table_writer *table)
{
	sp_buffer footer = sp_wire_begin();
	sp_block_writer metaindex;

	sp_block_begin(&metaindex, 1);
	sp_block_end(&metaindex);
	put_finished(table, &metaindex, &footer);
	sp_block_fini(&metaindex);
	sp_block_end(&table->index);
	put_finished(table, &table->index, &footer);
	while (footer.size < 40)
		sp_buffer_append_char(&footer, '\0');
	fixed32(&footer, 0x8b80fb57);
	fixed32(&footer, 0xdb477524);
	sp_buffer_append(&table->file, footer.data, footer.size);
	sp_buffer_fini(&footer);
}

void sp_table_fini(sp_table_writer *table)
{
	sp_buffer_fini(&table->file);
	sp_block_fini(&table->index);
}
