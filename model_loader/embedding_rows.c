#include "model_loader/embedding_internal.h"

#include <string.h>

#include "storage/table_builder.h"

enum {
	/* DeepRec's kSavedPartitionNum: parts are made of whole buckets. */
	BUCKETS = 1000,
	/* Bytes of rows that are read at a time. */
	PIECE_BYTES = 4 << 20,
	KEYS_PIECE = 4096,
};

/* Fills `size` bytes from a stream, which must have them. */
static sp_status fill(sp_bundle_stream *stream, void *buffer, size_t size, sp_error *err)
{
	for (size_t done = 0, got; done < size; done += got) {
		SP_TRY(sp_bundle_stream_next(stream, (char *)buffer + done, size - done, &got,
					     err));
		if (got == 0)
			return sp_error_set(err, SP_CORRUPT, "'%.*s' ends early",
					    (int)stream->entry->name.size,
					    stream->entry->name.data);
	}
	return SP_OK;
}

/* Only here are the bytes known to have the right checksum. */
static sp_status finish(sp_bundle_stream *stream, sp_error *err)
{
	char more[16];
	size_t got;

	SP_TRY(sp_bundle_stream_next(stream, more, sizeof(more), &got, err));
	if (got != 0)
		return sp_error_set(err, SP_CORRUPT, "'%.*s' is longer than its shape",
				    (int)stream->entry->name.size, stream->entry->name.data);
	return SP_OK;
}

/* `count` keys as int64.  int32 ones are read into the rear half and widened from the front. */
static sp_status fill_keys(sp_bundle_stream *stream, int64_t *keys, size_t count, sp_error *err)
{
	char *narrow = (char *)keys + count * sizeof(int32_t);

	if (stream->entry->dtype == SP_INT64)
		return fill(stream, keys, count * sizeof(*keys), err);
	SP_TRY(fill(stream, narrow, count * sizeof(int32_t), err));
	for (size_t i = 0; i < count; i++) {
		int32_t key;

		memcpy(&key, narrow + i * sizeof(key), sizeof(key));
		keys[i] = key;
	}
	return SP_OK;
}

/* C's remainder, as DeepRec's: a negative key routes nowhere, and is never stored by it. */
static bool routes_to(int64_t key, int64_t part, int64_t parts)
{
	return key % BUCKETS % parts == part;
}

sp_status sp_embedding__check_routing(sp_embedding_rows *rows, size_t part, sp_error *err)
{
	int64_t keys[KEYS_PIECE];
	sp_bundle_stream stream;

	SP_TRY(sp_bundle_stream_open(&stream, rows->bundle, rows->parts[part].keys->name, err));
	for (size_t left = rows->parts[part].row_count, piece; left != 0; left -= piece) {
		piece = left < KEYS_PIECE ? left : KEYS_PIECE;
		SP_TRY(fill_keys(&stream, keys, piece, err));
		for (size_t i = 0; i < piece; i++)
			if (!routes_to(keys[i], (int64_t)part, (int64_t)rows->part_count)) {
				rows->routed = false;
				return SP_OK;
			}
	}
	return SP_OK;
}

/* A pair of streams over one part, and which of its rows are wanted. */
typedef struct reader {
	sp_bundle_stream keys;
	sp_bundle_stream values;
	size_t dim;
	int64_t part; /* of `parts`; 0 of 1 takes every row */
	int64_t parts;
} reader;

static sp_status read_piece(reader *r, size_t count, sp_table_builder *builder, sp_error *err)
{
	int64_t *keys;
	float *values;

	SP_TRY(sp_table_builder_reserve(builder, count, &keys, &values, err));
	SP_TRY(fill_keys(&r->keys, keys, count, err));
	SP_TRY(fill(&r->values, values, count * r->dim * sizeof(float), err));
	for (size_t i = 0; r->parts > 1 && i < count; i++)
		if (!routes_to(keys[i], r->part, r->parts))
			keys[i] = -1; /* which the builder drops */
	return sp_table_builder_commit(builder, count, err);
}

static sp_status read_part(reader *r, const sp_bundle *bundle, const sp_embedding_part *part,
			   sp_table_builder *builder, sp_error *err)
{
	size_t row_size = r->dim * sizeof(float);
	size_t piece = row_size < PIECE_BYTES ? PIECE_BYTES / row_size : 1;

	SP_TRY(sp_bundle_stream_open(&r->keys, bundle, part->keys->name, err));
	SP_TRY(sp_bundle_stream_open(&r->values, bundle, part->values->name, err));
	for (size_t left = part->row_count, count; left != 0; left -= count) {
		count = left < piece ? left : piece;
		SP_TRY(read_piece(r, count, builder, err));
	}
	SP_TRY(finish(&r->keys, err));
	return finish(&r->values, err);
}

/* All parts, or the one that is the handle's own. */
static bool wants_part(const sp_embedding *embedding, const sp_embedding_spec *spec, size_t part)
{
	return embedding->whole || part == (size_t)spec->partition_id;
}

static sp_status read_rows(const sp_embedding_rows *rows, const sp_embedding *embedding,
			   const sp_embedding_spec *spec, bool only_own_part,
			   sp_table_builder *builder, sp_error *err)
{
	bool filtered = embedding->whole && only_own_part;
	reader r = {.dim = spec->dim,
		    .part = filtered ? spec->partition_id : 0,
		    .parts = filtered ? spec->partition_num : 1};

	for (size_t i = 0; i < rows->part_count; i++)
		if (wants_part(embedding, spec, i))
			SP_TRY(read_part(&r, rows->bundle, &rows->parts[i], builder, err));
	return SP_OK;
}

/* How many rows there may be.  Row counts are those of files, so a sum cannot overflow. */
static size_t expected_rows(const sp_embedding *embedding, const sp_embedding_spec *spec,
			    bool only_own_part)
{
	const sp_embedding_rows *both[] = {&embedding->full, &embedding->delta};
	size_t count = 0;

	for (size_t b = 0; b < 2; b++)
		for (size_t i = 0; i < both[b]->part_count; i++)
			if (wants_part(embedding, spec, i))
				count += both[b]->parts[i].row_count;
	return embedding->whole && only_own_part ? count / (size_t)spec->partition_num : count;
}

sp_status sp_embedding_load(sp_table **out, const sp_embedding *embedding,
			    const sp_embedding_spec *spec, bool only_own_part, sp_error *err)
{
	sp_table_options options = {
		.name = embedding->whole && !only_own_part ? embedding->base : spec->name,
		.dim = spec->dim,
		.filter = spec->filter,
		.default_value_no_permission = spec->default_value_no_permission,
		.default_rows = spec->default_rows,
		.default_row_count = spec->default_row_count,
		.expected_rows = expected_rows(embedding, spec, only_own_part)};
	sp_table_builder *builder;
	sp_status status;

	SP_TRY(sp_table_builder_create(&builder, &options, err));
	status = read_rows(&embedding->full, embedding, spec, only_own_part, builder, err);
	if (status == SP_OK)
		status = read_rows(&embedding->delta, embedding, spec, only_own_part, builder, err);
	if (status == SP_OK)
		status = sp_table_builder_freeze(builder, out, err);
	sp_table_builder_destroy(builder);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "embedding '%s'", spec->name);
	return SP_OK;
}
