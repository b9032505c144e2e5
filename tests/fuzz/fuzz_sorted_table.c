#include <stdlib.h>

#include "model_loader/checkpoint/sorted_table.h"
#include "tests/support/fuzz.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

static size_t total; /* keeps the compiler from leaving the walk out */

/* What a table promises: keys in order. */
static void check(sp_bytes file)
{
	sp_arena *arena = sp_arena_create(1 << 16);
	sp_sorted_table table;

	if (arena == NULL)
		abort();
	if (sp_sorted_table_read(&table, file, arena, NULL) == SP_OK) {
		for (size_t i = 0; i < table.count; i++) {
			const sp_table_entry *entry = &table.entries[i];

			if (i != 0 && sp_table_key_compare(entry[-1].key, entry->key) >= 0)
				abort();
			for (size_t k = 0; k < entry->value.size; k++)
				total += (unsigned char)entry->value.data[k];
		}
	}
	sp_arena_destroy(arena);
}

/*
 * Any bytes as a table, and, behind checksums that hold, as a block: plain or
 * compressed, as the first byte says.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_buffer handle = sp_wire_begin();
	sp_table_writer table;

	check((sp_bytes){(const char *)data, size});
	if (size != 0) {
		sp_table_begin(&table, false);
		sp_table_put_block(&table, (sp_bytes){(const char *)data + 1, size - 1}, data[0],
				   &handle);
		sp_block_add(&table.index, sp_bytes_of("\xff\xff"), sp_wire_view(&handle));
		sp_table_end(&table);
		check(sp_wire_view(&table.file));
		sp_table_fini(&table);
	}
	sp_buffer_fini(&handle);
	return 0;
}
