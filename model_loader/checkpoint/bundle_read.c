#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/varint.h"
#include "model_loader/checkpoint/bundle_internal.h"

/* ----------------------------------------------------------- bytes of a shard */

/*
 * Reads bytes of the record from `first` on.  The shard was long enough when it was opened, so a
 * failure is one of the file system and may be temporary.
 */
static sp_status read_bytes(const sp_bundle *bundle, const sp_bundle_record *record, size_t first,
			    size_t size, void *buffer, sp_error *err)
{
	sp_status status = sp_file_read_at(&bundle->shards[record->shard], record->offset + first,
					   buffer, size, err);

	if (status == SP_OK)
		return SP_OK;
	if (err != NULL)
		err->status = SP_IO;
	return sp_error_prefix(err, SP_IO, "shard %d of %s", record->shard, bundle->prefix);
}

static sp_status check_crc(const sp_bundle_record *record, uint32_t crc, sp_error *err)
{
	if (sp_crc32c_mask(crc) != record->crc)
		return sp_error_set(err, SP_CORRUPT, "its %" PRIu64 " bytes fail their checksum",
				    record->entry.size);
	return SP_OK;
}

/* -------------------------------------------------------------------- strings */

/*
 * Stored form: the lengths as varints, the masked CRC32C of the lengths, then all bytes.  The
 * checksums cover each length as 32 bits (64 if needed), not as varint; then the stored checksum,
 * and the bytes.
 */
static uint32_t add_length(uint32_t crc, uint64_t length)
{
	uint64_t bytes = htole64(length);

	return sp_crc32c(crc, &bytes, length <= UINT32_MAX ? 4 : 8);
}

/* Points the views to the strings in the stored bytes. */
static sp_status split_strings(const sp_bundle_record *record, sp_bytes *items, size_t count,
			       const uint8_t *stored, sp_error *err)
{
	const uint8_t *at = stored, *end = stored + record->entry.size;
	uint32_t crc = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t length;

		if (!sp_varint_read(&at, end, &length) || length > record->entry.size)
			return sp_error_set(err, SP_CORRUPT, "the length of its string %zu", i);
		crc = add_length(crc, length);
		items[i].size = (size_t)length;
	}
	if (end - at < 4 || sp_le32_at(at) != sp_crc32c_mask(crc))
		return sp_error_set(err, SP_CORRUPT,
				    "the lengths of its strings fail their checksum");
	crc = sp_crc32c(crc, at, (size_t)(end - at));
	for (size_t i = 0, left = (size_t)(end - (at += 4)); i < count; i++) {
		if (items[i].size > left)
			return sp_error_set(err, SP_CORRUPT, "its string %zu ends too early", i);
		items[i].data = (const char *)at;
		at += items[i].size;
		left -= items[i].size;
	}
	if (at != end)
		return sp_error_set(err, SP_CORRUPT, "it has more bytes than its strings");
	return check_crc(record, crc, err);
}

static sp_status read_strings(const sp_bundle *bundle, const sp_bundle_record *record,
			      sp_arena *arena, sp_tensor *out, sp_error *err)
{
	uint8_t *stored = sp_arena_alloc(arena, (size_t)record->entry.size);

	SP_NEED_MEMORY(stored, err, "%" PRIu64 " bytes of text", record->entry.size);
	SP_TRY(sp_tensor_create(out, arena, SP_STRING, &record->entry.shape, err));
	SP_TRY(read_bytes(bundle, record, 0, (size_t)record->entry.size, stored, err));
	if (record->entry.size == 0) /* an empty tensor has no checksum of lengths either */
		return check_crc(record, 0, err);
	return split_strings(record, sp_tensor_strings(out), out->count, stored, err);
}

/* -------------------------------------------------------------------- tensors */

/* Reads a record that is not sliced. */
static sp_status read_stored(const sp_bundle *bundle, const sp_bundle_record *record,
			     sp_arena *arena, sp_tensor *out, sp_error *err)
{
	size_t size = (size_t)record->entry.size;

	if (record->entry.dtype == SP_STRING)
		return read_strings(bundle, record, arena, out, err);
	SP_TRY(sp_tensor_create(out, arena, record->entry.dtype, &record->entry.shape, err));
	SP_TRY(read_bytes(bundle, record, 0, size, out->data, err));
	SP_TRY(check_crc(record, sp_crc32c(0, out->data, size), err));
	for (size_t i = 0; out->dtype == SP_BOOL && i < out->count; i++)
		((uint8_t *)out->data)[i] = ((const uint8_t *)out->data)[i] != 0;
	return SP_OK;
}

/* A part of a sliced tensor during its assembly. */
typedef struct assembly {
	sp_tensor *out;
	sp_tensor_slice wanted;
	uint64_t *seen; /* a bit per element of out */
	size_t copied;
	sp_arena *arena;
} assembly;

/* Copies the wanted part of the slice at `place`. */
static sp_status add_piece(const sp_bundle *bundle, const sp_bundle_record *piece,
			   const sp_tensor_slice *place, assembly *to, sp_error *err)
{
	/* Strings refer to the bytes read, which are kept; elements are copied. */
	bool kept = piece->entry.dtype == SP_STRING;
	sp_arena *arena = kept ? to->arena : sp_arena_create(4096);
	sp_status status;
	sp_tensor tensor;

	SP_NEED_MEMORY(arena, err, "a slice");
	status = read_stored(bundle, piece, arena, &tensor, err);
	if (status == SP_OK &&
	    !sp_tensor_slice_copy(to->out, &to->wanted, &tensor, place, to->seen, &to->copied))
		status = sp_error_set(err, SP_CORRUPT, "two of its slices overlap");
	if (!kept)
		sp_arena_destroy(arena);
	return status;
}

static sp_status add_pieces(const sp_bundle *bundle, const sp_bundle_record *record, assembly *to,
			    sp_error *err)
{
	if (!record->entry.sliced) {
		sp_tensor_slice all = sp_tensor_slice_all(&record->entry.shape);

		return add_piece(bundle, record, &all, to, err);
	}
	for (size_t i = 0; i < record->slice_count; i++) {
		sp_tensor_slice place = record->slices[i];
		const sp_bundle_record *piece;

		SP_TRY(sp_bundle__find_slice(bundle, record, &place, &piece, err));
		(void)sp_tensor_slice_resolve(&place,
					      &record->entry.shape); /* checked when opened */
		if (sp_tensor_slice_overlap(&to->wanted, &place))
			SP_TRY(add_piece(bundle, piece, &place, to, err));
	}
	return SP_OK;
}

static sp_status assemble(const sp_bundle *bundle, const sp_bundle_record *record, assembly *to,
			  sp_error *err)
{
	sp_shape shape = sp_tensor_slice_shape(&to->wanted);
	sp_status status;

	SP_TRY(sp_tensor_create(to->out, to->arena, record->entry.dtype, &shape, err));
	to->seen = sp_alloc_zero(to->out->count / 64 + 1, sizeof(*to->seen));
	SP_NEED_MEMORY(to->seen, err, "%zu bits", to->out->count);
	status = add_pieces(bundle, record, to, err);
	sp_free(to->seen);
	if (status == SP_OK && to->copied != to->out->count)
		return sp_error_set(err, SP_CORRUPT, "its slices leave out some of it");
	return status;
}

static sp_status find_readable(const sp_bundle_record **out, const sp_bundle *bundle, sp_bytes name,
			       sp_error *err)
{
	const sp_bundle_entry *entry = sp_bundle_find(bundle, name);

	if (entry == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "bundle %s has no tensor %.*s",
				    bundle->prefix, (int)(name.size < 200 ? name.size : 200),
				    name.data);
	*out = (const sp_bundle_record *)entry;
	if ((*out)->refusal != NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "tensor %.*s of bundle %s: %s",
				    (int)(name.size < 200 ? name.size : 200), name.data,
				    bundle->prefix, (*out)->refusal);
	return SP_OK;
}

static sp_status with_name(sp_error *err, sp_status status, const sp_bundle *bundle, sp_bytes name)
{
	if (status == SP_OK)
		return SP_OK;
	return sp_error_prefix(err, status, "tensor %.*s of bundle %s",
			       (int)(name.size < 200 ? name.size : 200), name.data, bundle->prefix);
}

sp_status sp_bundle_read_slice(const sp_bundle *bundle, sp_bytes name, sp_bytes slice,
			       sp_arena *arena, sp_tensor *out, sp_error *err)
{
	assembly to = {.out = out, .arena = arena};
	const sp_bundle_record *record;
	sp_status status;
	sp_shape shape;

	SP_TRY(find_readable(&record, bundle, name, err));
	status = sp_tensor_slice_parse(&to.wanted, slice, &record->entry.shape, err);
	if (status == SP_OK) {
		shape = sp_tensor_slice_shape(&to.wanted);
		if (!record->entry.sliced && sp_shape_equal(&shape, &record->entry.shape))
			status = read_stored(bundle, record, arena, out, err);
		else
			status = assemble(bundle, record, &to, err);
	}
	return with_name(err, status, bundle, name);
}

sp_status sp_bundle_read(const sp_bundle *bundle, sp_bytes name, sp_arena *arena, sp_tensor *out,
			 sp_error *err)
{
	return sp_bundle_read_slice(bundle, name, (sp_bytes){"", 0}, arena, out, err);
}

/* ---------------------------------------------------------------------- spans */

sp_status sp_bundle_span_open(sp_bundle_span *out, const sp_bundle *bundle, sp_bytes name,
			      sp_error *err)
{
	const sp_bundle_record *record;

	SP_TRY(find_readable(&record, bundle, name, err));
	if (record->entry.sliced || record->entry.dtype == SP_STRING ||
	    record->entry.dtype == SP_BOOL)
		return with_name(err,
				 sp_error_set(err, SP_UNSUPPORTED, "%s%s cannot be read in parts",
					      record->entry.sliced ? "slices of " : "",
					      sp_dtype_name(record->entry.dtype)),
				 bundle, name);
	*out = (sp_bundle_span){.bundle = bundle,
				.entry = &record->entry,
				.width = sp_dtype_size(record->entry.dtype)};
	out->count = (size_t)record->entry.size / out->width;
	return SP_OK;
}

sp_status sp_bundle_span_read(const sp_bundle_span *span, size_t first, size_t count, void *buffer,
			      uint32_t *crc, sp_error *err)
{
	const sp_bundle_record *record = (const sp_bundle_record *)span->entry;
	size_t size = count * span->width;
	sp_status status;

	assert(first <= span->count && count <= span->count - first);
	status = read_bytes(span->bundle, record, first * span->width, size, buffer, err);
	if (status != SP_OK)
		return with_name(err, status, span->bundle, span->entry->name);
	if (crc != NULL)
		*crc = sp_crc32c(*crc, buffer, size);
	return SP_OK;
}

sp_status sp_bundle_span_read_keys(const sp_bundle_span *span, size_t first, size_t count,
				   int64_t *keys, uint32_t *crc, sp_error *err)
{
	/*
	 * int32 keys are read to the end of the buffer, so that widening overwrites none before it
	 * is read.
	 */
	char *narrow = (char *)keys + count * sizeof(int32_t);

	if (span->width == sizeof(*keys))
		return sp_bundle_span_read(span, first, count, keys, crc, err);
	assert(span->width == sizeof(int32_t));
	SP_TRY(sp_bundle_span_read(span, first, count, narrow, crc, err));
	for (size_t i = 0; i < count; i++) {
		int32_t key;

		memcpy(&key, narrow + i * sizeof(key), sizeof(key));
		keys[i] = key;
	}
	return SP_OK;
}

void sp_bundle_span_fetch(const sp_bundle_span *span, size_t first, size_t count, bool once)
{
	const sp_bundle_record *record = (const sp_bundle_record *)span->entry;

	first = first < span->count ? first : span->count;
	count = count < span->count - first ? count : span->count - first;
	sp_file_fetch(&span->bundle->shards[record->shard], record->offset + first * span->width,
		      count * span->width, once);
}

size_t sp_bundle_span_ahead(const sp_bundle_span *span)
{
	const sp_bundle_record *record = (const sp_bundle_record *)span->entry;

	return sp_file_ahead(&span->bundle->shards[record->shard]);
}

sp_status sp_bundle_span_check(const sp_bundle_span *span, uint32_t crc, sp_error *err)
{
	return with_name(err, check_crc((const sp_bundle_record *)span->entry, crc, err),
			 span->bundle, span->entry->name);
}
