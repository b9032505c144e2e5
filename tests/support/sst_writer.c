#include "tests/support/sst_writer.h"

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "tests/support/wire.h"

enum { PAGE = 4096, CRC32C = 1, FORMAT = 5, HANDLES = 40 };

static void fixed32(sp_buffer *out, uint32_t value)
{
	value = htole32(value);
	sp_buffer_append(out, &value, sizeof(value));
}

static void put_contents(sp_buffer *file, sp_bytes contents)
{
	size_t offset = file->size;

	sp_buffer_append(file, contents.data, contents.size);
	sp_buffer_append_char(file, 0);
	fixed32(file, sp_crc32c_mask(sp_crc32c(0, file->data + offset, contents.size + 1)));
}

void sp_sst_writer_begin(sp_sst_writer *sst)
{
	sst->file = sp_wire_begin();
	sp_block_begin(&sst->index, 1);
}

void sp_sst_writer_put_block(sp_sst_writer *sst, sp_bytes contents)
{
	put_contents(&sst->file, contents);
	while (sst->file.size % PAGE != 0)
		sp_buffer_append_char(&sst->file, 0);
}

void sp_sst_writer_name_block(sp_sst_writer *sst, sp_bytes separator, uint64_t offset,
			      uint64_t size)
{
	sp_buffer handle = sp_wire_begin();

	sp_wire_number(&handle, offset);
	sp_wire_number(&handle, size);
	sp_block_add(&sst->index, separator, sp_wire_view(&handle));
	sp_buffer_fini(&handle);
}

void sp_sst_writer_add_block(sp_sst_writer *sst, sp_block_writer *block, sp_bytes separator)
{
	sp_block_end(block);
	sp_sst_writer_name_block(sst, separator, sst->file.size, block->bytes.size);
	sp_sst_writer_put_block(sst, sp_wire_view(&block->bytes));
	sp_block_fini(block);
}

void sp_sst_writer_add_row(sp_block_writer *block, uint64_t key, sp_bytes row)
{
	const sp_sst_key user = sp_sst_key_of(key);
	char stored[16] = {0};

	memcpy(stored, user.bytes, sizeof(user.bytes));
	stored[8] = 1; /* a value, of version 0 */
	sp_block_add(block, (sp_bytes){stored, sizeof(stored)}, row);
}

void sp_sst_writer_end_with(sp_sst_writer *sst, sp_bytes index)
{
	sp_buffer footer = sp_wire_begin();

	sp_buffer_append_char(&footer, CRC32C);
	sp_wire_number(&footer, sst->file.size); /* of a metaindex that nobody reads */
	sp_wire_number(&footer, 0);
	sp_wire_number(&footer, sst->file.size);
	sp_wire_number(&footer, index.size);
	while (footer.size < 1 + HANDLES)
		sp_buffer_append_char(&footer, 0);
	fixed32(&footer, FORMAT);
	fixed32(&footer, 0x85f4cff7);
	fixed32(&footer, 0x88e241b7);
	put_contents(&sst->file, index);
	sp_buffer_append(&sst->file, footer.data, footer.size);
	sp_buffer_fini(&footer);
}

void sp_sst_writer_end(sp_sst_writer *sst)
{
	sp_block_end(&sst->index);
	sp_sst_writer_end_with(sst, sp_wire_view(&sst->index.bytes));
}

void sp_sst_writer_fini(sp_sst_writer *sst)
{
	sp_buffer_fini(&sst->file);
	sp_block_fini(&sst->index);
}

sp_sst_key sp_sst_key_of(uint64_t key)
{
	sp_sst_key out;

	key = htobe64(key);
	memcpy(out.bytes, &key, sizeof(key));
	return out;
}
