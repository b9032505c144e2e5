#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model_loader/checkpoint/bundle.h"
#include "tests/support/fuzz.h"
#include "tests/support/paths.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

/*
 * An input is the entries of an index and the bytes of its one shard:
 *
 *   u8 number of entries; for each: u8 size, the key; u8 size, the value; then the shard
 *
 * The index made of them has checksums that hold.
 */
static char prefix[SP_PATH_SIZE + 8];

static void remove_files(void)
{
	prefix[strlen(prefix) - 2] = '\0';
	sp_temp_remove(prefix);
}

static void make_prefix(void)
{
	char folder[SP_PATH_SIZE];

	if (prefix[0] != '\0')
		return;
	snprintf(prefix, sizeof(prefix), "%s/b", sp_temp_make(folder));
	atexit(remove_files);
}

static void write_file(const char *suffix, sp_bytes bytes)
{
	char path[sizeof(prefix) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", prefix, suffix);
	file = fopen(path, "wb");
	if (file == NULL ||
	    (bytes.size != 0 && fwrite(bytes.data, 1, bytes.size, file) != bytes.size))
		abort();
	fclose(file);
}

/* The next `size` bytes of the input, or what is left of it. */
static sp_bytes take(sp_bytes *rest, size_t size)
{
	sp_bytes out = {rest->data, size < rest->size ? size : rest->size};

	*rest = (sp_bytes){rest->data + out.size, rest->size - out.size};
	return out;
}

static size_t take_size(sp_bytes *rest)
{
	sp_bytes byte = take(rest, 1);

	return byte.size != 0 ? (unsigned char)*byte.data : 0;
}

static void write_bundle(sp_bytes input)
{
	size_t entries = take_size(&input);
	sp_table_writer table;
	sp_block_writer block;

	sp_table_begin(&table, false);
	sp_block_begin(&block, 16);
	for (size_t i = 0; i < entries && input.size != 0; i++) {
		sp_bytes key = take(&input, take_size(&input));

		sp_block_add(&block, key, take(&input, take_size(&input)));
	}
	sp_table_add_block(&table, &block, sp_bytes_of("\xff\xff"));
	sp_table_end(&table);
	write_file(".index", sp_wire_view(&table.file));
	sp_table_fini(&table);
	write_file(".data-00000-of-00001", input);
}

/* The second half of the first dimension. */
static void read_half(const sp_bundle *bundle, const sp_bundle_entry *entry, sp_arena *arena)
{
	sp_buffer spec = sp_wire_begin();
	int64_t rows = entry->shape.rank != 0 ? entry->shape.dims[0] : 0;
	sp_tensor tensor;

	for (int i = 0; i < entry->shape.rank; i++)
		sp_buffer_printf(&spec, "%lld ", (long long)entry->shape.dims[i]);
	for (int i = 0; i < entry->shape.rank; i++) {
		if (i == 0)
			sp_buffer_printf(&spec, "%lld,%lld", (long long)(rows / 2),
					 (long long)(rows - rows / 2));
		else
			sp_buffer_append_text(&spec, ":-");
	}
	if (sp_bundle_read_slice(bundle, entry->name, sp_wire_view(&spec), arena, &tensor, NULL) ==
		    SP_OK &&
	    rows != 0 && tensor.shape.dims[0] != rows - rows / 2)
		abort();
	sp_buffer_fini(&spec);
}

/* A span gives what a read does. */
static void span(const sp_bundle *bundle, const sp_bundle_entry *entry, const sp_tensor *tensor)
{
	const char *want = tensor->data;
	sp_bundle_span from;
	uint32_t crc = 0;
	char buffer[48];

	if (sp_bundle_span_open(&from, bundle, entry->name, NULL) != SP_OK)
		return;
	for (size_t first = 0, count; first < from.count; first += count) {
		count = from.count - first < 3 ? from.count - first : 3;
		if (sp_bundle_span_read(&from, first, count, buffer, &crc, NULL) != SP_OK ||
		    memcmp(buffer, want + first * from.width, count * from.width) != 0)
			abort();
	}
	if (sp_bundle_span_check(&from, crc, NULL) != SP_OK)
		abort();
}

static void read_all(const sp_bundle *bundle)
{
	for (size_t i = 0; i < sp_bundle_count(bundle); i++) {
		const sp_bundle_entry *entry = sp_bundle_entry_at(bundle, i);
		sp_arena *arena = sp_arena_create(4096);
		sp_tensor tensor;

		if (arena == NULL || sp_bundle_find(bundle, entry->name) != entry)
			abort();
		if (sp_bundle_read(bundle, entry->name, arena, &tensor, NULL) == SP_OK)
			span(bundle, entry, &tensor);
		read_half(bundle, entry, arena);
		sp_arena_destroy(arena);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_bundle *bundle;

	make_prefix();
	write_bundle((sp_bytes){(const char *)data, size});
	if (sp_bundle_open(&bundle, prefix, NULL) == SP_OK) {
		read_all(bundle);
		sp_bundle_close(bundle);
	}
	return 0;
}
