#include "tests/support/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

enum { ROW_DIM = 64, MAX_PATH = 4096 };

static void die(const char *path)
{
	perror(path);
	exit(1);
}

/* Written under another name first: nobody sees half of it. */
static void write_file(const char *path, const void *data, size_t size)
{
	char temporary[MAX_PATH + 64];
	FILE *file;

	snprintf(temporary, sizeof(temporary), "%.*s.writing", MAX_PATH, path);
	file = fopen(temporary, "wb");
	if (file == NULL || (size != 0 && fwrite(data, size, 1, file) != 1) || fclose(file) != 0 ||
	    rename(temporary, path) != 0)
		die(path);
}

static size_t size_of(const sp_checkpoint_tensor *tensor)
{
	size_t size = sp_dtype_size(tensor->dtype);

	for (int d = 0; d < tensor->rank; d++)
		size *= (size_t)tensor->dims[d];
	return size;
}

/* Its bytes in pieces, which are the same one over and over where there is only a value. */
enum { PIECE = 1 << 14 };

static size_t piece_of(const sp_checkpoint_tensor *tensor, size_t at, float same[PIECE],
		       const void **bytes)
{
	size_t left = size_of(tensor) - at, size = PIECE * sizeof(*same);

	if (tensor->data != NULL) {
		*bytes = (const char *)tensor->data + at;
		return left;
	}
	if (at == 0)
		for (int i = 0; i < PIECE; i++)
			same[i] = tensor->value;
	*bytes = same;
	return left < size ? left : size;
}

static uint32_t checksum(const sp_checkpoint_tensor *tensor)
{
	float same[PIECE];
	const void *bytes;
	uint32_t crc = 0;

	for (size_t at = 0, size; at < size_of(tensor); at += size) {
		size = piece_of(tensor, at, same, &bytes);
		crc = sp_crc32c(crc, bytes, size);
	}
	return crc;
}

static bool write_bytes(const sp_checkpoint_tensor *tensor, FILE *file)
{
	float same[PIECE];
	const void *bytes;

	for (size_t at = 0, size; at < size_of(tensor); at += size) {
		size = piece_of(tensor, at, same, &bytes);
		if (fwrite(bytes, size, 1, file) != 1)
			return false;
	}
	return true;
}

static sp_buffer describe(const sp_checkpoint_tensor *tensor, size_t offset)
{
	sp_buffer entry = sp_wire_begin(), shape = sp_wire_begin();
	size_t size = size_of(tensor);

	for (int d = 0; d < tensor->rank; d++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, (uint64_t)tensor->dims[d]);
		sp_wire_message(&shape, 2, &dim);
	}
	sp_wire_varint(&entry, 1, tensor->dtype);
	sp_wire_message(&entry, 2, &shape);
	if (tensor->shard != 0)
		sp_wire_varint(&entry, 3, (uint64_t)tensor->shard);
	sp_wire_varint(&entry, 4, offset);
	sp_wire_varint(&entry, 5, size);
	sp_wire_fixed32(&entry, 6, sp_crc32c_mask(checksum(tensor)));
	return entry;
}

static sp_buffer header(int shards)
{
	sp_buffer out = sp_wire_begin(), version = sp_wire_begin();

	sp_wire_varint(&out, 1, (uint64_t)shards);
	sp_wire_varint(&version, 1, 1);
	sp_wire_message(&out, 3, &version);
	return out;
}

static size_t offset_of(const sp_checkpoint_tensor *tensors, size_t i)
{
	size_t offset = 0;

	for (size_t before = 0; before < i; before++)
		if (tensors[before].shard == tensors[i].shard)
			offset += size_of(&tensors[before]);
	return offset;
}

static void write_index(const char *prefix, const sp_checkpoint_tensor *tensors, size_t count,
			int shards)
{
	sp_buffer entry = header(shards);
	char path[MAX_PATH + 32];
	sp_table_writer table;
	sp_block_writer block;

	sp_table_begin(&table, false);
	sp_block_begin(&block, 16);
	sp_block_add(&block, sp_bytes_of(""), sp_wire_view(&entry));
	sp_buffer_fini(&entry);
	for (size_t i = 0; i < count; i++) {
		entry = describe(&tensors[i], offset_of(tensors, i));
		sp_block_add(&block, sp_bytes_of(tensors[i].name), sp_wire_view(&entry));
		sp_buffer_fini(&entry);
	}
	sp_table_add_block(&table, &block, sp_bytes_of("\xff"));
	sp_table_end(&table);
	snprintf(path, sizeof(path), "%s.index", prefix);
	write_file(path, table.file.data, table.file.size);
	sp_block_fini(&block);
	sp_table_fini(&table);
}

static void write_shard(const char *prefix, const sp_checkpoint_tensor *tensors, size_t count,
			int shard, int shards)
{
	char path[MAX_PATH + 32], temporary[MAX_PATH + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s.data-%05d-of-%05d", prefix, shard, shards);
	snprintf(temporary, sizeof(temporary), "%s.data.writing", prefix);
	file = fopen(temporary, "wb");
	if (file == NULL)
		die(temporary);
	for (size_t i = 0; i < count; i++) {
		if (tensors[i].shard == shard && !write_bytes(&tensors[i], file))
			die(temporary);
	}
	if (fclose(file) != 0 || rename(temporary, path) != 0)
		die(path);
}

void sp_checkpoint_write(const char *prefix, const sp_checkpoint_tensor *tensors, size_t count,
			 int shards)
{
	for (int shard = 0; shard < shards; shard++)
		write_shard(prefix, tensors, count, shard, shards);
	write_index(prefix, tensors, count, shards);
}

void sp_checkpoint_write_rows(const sp_rows_version *v)
{
	int64_t count = (int64_t)v->count;
	int shards = v->shards > 1 ? v->shards : 1;
	sp_checkpoint_tensor dense = {
		.name = "dense", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = v->value};
	sp_checkpoint_tensor seldom = {
		.name = "seldom", .dtype = SP_FLOAT, .rank = 2, .dims = {8, 2}, .value = v->seldom};
	sp_checkpoint_tensor keys = {.name = v->is_delta ? "table-sparse_incr_keys" : "table-keys",
				     .dtype = SP_INT64,
				     .rank = 1,
				     .dims = {count},
				     .data = v->keys};
	sp_checkpoint_tensor values = {.name = v->is_delta ? "table-sparse_incr_values"
							   : "table-values",
				       .dtype = SP_FLOAT,
				       .shard = shards > 1,
				       .rank = 2,
				       .dims = {count, ROW_DIM},
				       .value = v->value};
	sp_checkpoint_tensor tensors[4] = {dense, seldom, keys, values};

	if (v->seldom != 0) {
		sp_checkpoint_write(v->prefix, tensors, 4, shards);
	} else {
		tensors[1] = dense;
		sp_checkpoint_write(v->prefix, tensors + 1, 3, shards);
	}
}

void sp_checkpoint_break(const char *prefix, int64_t at)
{
	char path[MAX_PATH + 64];
	FILE *file;
	int byte;

	snprintf(path, sizeof(path), "%.*s.data-00000-of-00001", MAX_PATH, prefix);
	file = fopen(path, "r+b");
	if (file == NULL || fseek(file, (long)at, SEEK_SET) != 0 || (byte = fgetc(file)) == EOF ||
	    fseek(file, (long)at, SEEK_SET) != 0 || fputc(byte ^ 1, file) == EOF ||
	    fclose(file) != 0)
		die(path);
}
