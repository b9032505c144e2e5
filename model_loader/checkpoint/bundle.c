#include "model_loader/checkpoint/bundle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/size.h"
#include "model_loader/checkpoint/bundle_internal.h"
#include "model_loader/checkpoint/ordered_code.h"
#include "model_loader/checkpoint/sorted_table.h"
#include "model_loader/proto/unpack.h"
#include "model_loader/proto/proto_internal.h"
#include "model_loader/proto/tensor_bundle.pb-c.h"

/* Far more than any checkpoint needs: an entry takes about 100 bytes. */
#define MAX_INDEX_SIZE ((size_t)1 << 30)

enum {
	MAX_SHARDS = 100000, /* five digits in a file's name */
	READER_VERSION = 1,
	LITTLE_ENDIAN_BUNDLE = 0,
};

/* --------------------------------------------------------------------- header */

static sp_status read_header(sp_bundle *bundle, const sp_sorted_table *table, sp_arena *scratch,
			     sp_error *err)
{
	const SpPb__BundleHeaderProto *header;
	ProtobufCMessage *message;

	if (table->count == 0 || table->entries[0].key.size != 0)
		return sp_error_set(err, SP_CORRUPT, "it has no header");
	SP_TRY(sp_message_unpack(&message, &sp_pb__bundle_header_proto__descriptor,
				 table->entries[0].value, scratch, err));
	header = (const SpPb__BundleHeaderProto *)message;
	if (header->num_shards < 1 || header->num_shards > MAX_SHARDS)
		return sp_error_set(err, SP_CORRUPT, "it has %d shards", header->num_shards);
	if (header->endianness != LITTLE_ENDIAN_BUNDLE)
		return sp_error_set(err, SP_UNSUPPORTED, "it has byte order %d, not little-endian",
				    header->endianness);
	if (header->version != NULL && header->version->min_consumer > READER_VERSION)
		return sp_error_set(err, SP_UNSUPPORTED, "it wants a reader of version %d",
				    header->version->min_consumer);
	bundle->shard_count = header->num_shards;
	return SP_OK;
}

static sp_status open_shards(sp_bundle *bundle, sp_error *err)
{
	bundle->shards = sp_arena_array(bundle->arena, (size_t)bundle->shard_count,
					sizeof(*bundle->shards));
	SP_NEED_MEMORY(bundle->shards, err, "the bundle's index");
	for (int32_t i = 0; i < bundle->shard_count; i++)
		bundle->shards[i] = (sp_file){.fd = -1};
	for (int32_t i = 0; i < bundle->shard_count; i++) {
		const char *path = sp_arena_printf(bundle->arena,
						   "%s.data-%05" PRId32 "-of-%05" PRId32,
						   bundle->prefix, i, bundle->shard_count);
		sp_status status;

		SP_NEED_MEMORY(path, err, "the bundle's index");
		status = sp_file_open(&bundle->shards[i], path, err);
		if (status == SP_NOT_FOUND)
			return sp_error_set(err, SP_CORRUPT, "its shard %s is missing", path);
		SP_TRY(status);
		bundle->data_size += bundle->shards[i].size;
	}
	return SP_OK;
}

/* -------------------------------------------------------------------- entries */

static sp_status read_slices(sp_bundle_record *out, const SpPb__BundleEntryProto *proto,
			     sp_arena *arena, sp_error *err)
{
	sp_tensor_slice *slices = sp_arena_zeros(arena, proto->n_slices, sizeof(*slices));

	SP_NEED_MEMORY(slices, err, "the bundle's index");
	for (size_t i = 0; i < proto->n_slices; i++) {
		const SpPb__TensorSliceProto *slice = proto->slices[i];

		if (slice->n_extent != (size_t)out->entry.shape.rank)
			return sp_error_set(err, SP_CORRUPT, "a slice has another rank");
		slices[i].rank = out->entry.shape.rank;
		for (size_t d = 0; d < slice->n_extent; d++) {
			const SpPb__TensorSliceProto__Extent *extent = slice->extent[d];
			bool whole = extent->has_length_case ==
				     SP_PB__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH__NOT_SET;

			slices[i].start[d] = extent->start;
			slices[i].length[d] = whole ? SP_SLICE_FULL : extent->length;
		}
	}
	out->slices = slices;
	out->slice_count = proto->n_slices;
	out->entry.sliced = true;
	out->entry.size = 0;
	return SP_OK;
}

/* Checks that the tensor's bytes lie in its shard and match its shape in number. */
static sp_status read_place(const sp_bundle *bundle, sp_bundle_record *out,
			    const SpPb__BundleEntryProto *proto, sp_error *err)
{
	size_t count, size;
	bool fits;

	if (proto->shard_id < 0 || proto->shard_id >= bundle->shard_count)
		return sp_error_set(err, SP_CORRUPT, "it lies in shard %d of %d", proto->shard_id,
				    bundle->shard_count);
	if (proto->offset < 0 || proto->size < 0 ||
	    (uint64_t)proto->offset > bundle->shards[proto->shard_id].size ||
	    (uint64_t)proto->size > bundle->shards[proto->shard_id].size - (uint64_t)proto->offset)
		return sp_error_set(err, SP_CORRUPT,
				    "its %" PRId64 " bytes at byte %" PRId64
				    " lie outside shard %d of %zu bytes",
				    proto->size, proto->offset, proto->shard_id,
				    bundle->shards[proto->shard_id].size);
	out->shard = proto->shard_id;
	out->offset = (uint64_t)proto->offset;
	out->entry.size = (uint64_t)proto->size;
	out->crc = proto->crc32c;
	(void)sp_shape_count(&out->entry.shape, &count); /* sp_proto__shape() has checked it */
	if (out->entry.dtype == SP_STRING) /* each string has a length of at least one byte */
		fits = out->entry.size >= count;
	else
		fits = sp_size_mul(&size, count, sp_dtype_size(out->entry.dtype)) &&
		       size == out->entry.size;
	if (!fits) {
		char text[SP_SHAPE_TEXT_SIZE];

		return sp_error_set(err, SP_CORRUPT, "its %" PRId64 " bytes are no %s of shape %s",
				    proto->size, sp_dtype_name(out->entry.dtype),
				    sp_shape_text(&out->entry.shape, text));
	}
	return SP_OK;
}

/* A tensor of an unreadable kind is refused only when it is read: serving may never need it. */
static sp_status read_type(sp_bundle_record *out, const SpPb__BundleEntryProto *proto,
			   sp_arena *arena, sp_error *err)
{
	sp_dtype dtype = sp_proto__dtype(proto->dtype);
	sp_status status;

	if (proto->is_hash_table)
		out->refusal = "it is a hash table of DeepRec's older format";
	else if (sp_dtype_size(dtype) == 0 || dtype == SP_RESOURCE)
		out->refusal = sp_arena_printf(arena, "its type %d is not supported", proto->dtype);
	else
		out->entry.dtype = dtype;
	if (out->entry.dtype == SP_INVALID_DTYPE && out->refusal == NULL)
		return sp_no_memory(err, "the bundle's index");
	status = sp_proto__shape(&out->entry.shape, proto->shape, err);
	if (status != SP_UNSUPPORTED)
		return status;
	out->entry.dtype = SP_INVALID_DTYPE;
	out->entry.shape = sp_shape_scalar();
	out->refusal = "its rank is above the supported one";
	return SP_OK;
}

static sp_status read_record(const sp_bundle *bundle, sp_bundle_record *out,
			     const sp_table_entry *from, sp_arena *scratch, sp_error *err)
{
	const SpPb__BundleEntryProto *proto;
	ProtobufCMessage *message;

	*out = (sp_bundle_record){.entry.name = from->key};
	SP_TRY(sp_message_unpack(&message, &sp_pb__bundle_entry_proto__descriptor, from->value,
				 scratch, err));
	proto = (const SpPb__BundleEntryProto *)message;
	SP_TRY(read_type(out, proto, bundle->arena, err));
	if (out->refusal != NULL)
		return SP_OK;
	if (proto->n_slices == 0)
		return read_place(bundle, out, proto, err);
	if (from->key.data[0] == '\0')
		return sp_error_set(err, SP_CORRUPT, "a slice is sliced itself");
	return read_slices(out, proto, bundle->arena, err);
}

static sp_status with_name(sp_error *err, sp_status status, sp_bytes name)
{
	return sp_error_prefix(err, status, "tensor %.*s", (int)(name.size < 200 ? name.size : 200),
			       name.data);
}

static sp_status read_records(sp_bundle *bundle, const sp_sorted_table *table, sp_arena *scratch,
			      sp_error *err)
{
	size_t count = table->count - 1; /* without the header */

	bundle->records = sp_arena_array(bundle->arena, count, sizeof(*bundle->records));
	SP_NEED_MEMORY(bundle->records, err, "the bundle's index");
	for (size_t i = 0; i < count; i++) {
		const sp_table_entry *from = &table->entries[i + 1];
		sp_status status = read_record(bundle, &bundle->records[i], from, scratch, err);

		if (status != SP_OK)
			return with_name(err, status, from->key);
		sp_arena_reset(scratch);
		if (from->key.data[0] == '\0') /* keys of slices, which sort first */
			bundle->first_tensor = i + 1;
	}
	bundle->record_count = count;
	return SP_OK;
}

/* --------------------------------------------------------------------- lookup */

/* `key` is two views: a name and a suffix, compared as one name. */
static int compare_to_record(const void *key, const void *record)
{
	const sp_bytes *parts = key, name = ((const sp_bundle_record *)record)->entry.name;
	size_t n = parts[0].size < name.size ? parts[0].size : name.size;
	int order = sp_table_key_compare((sp_bytes){parts[0].data, n}, (sp_bytes){name.data, n});

	if (order != 0 || n < parts[0].size)
		return order != 0 ? order : 1;
	return sp_table_key_compare(parts[1], (sp_bytes){name.data + n, name.size - n});
}

static const sp_bundle_record *find_record(const sp_bundle *bundle, sp_bytes name, sp_bytes suffix)
{
	const sp_bytes parts[] = {name, suffix};

	if (bundle->record_count == 0)
		return NULL;
	return bsearch(parts, bundle->records, bundle->record_count, sizeof(*bundle->records),
		       compare_to_record);
}

/* --------------------------------------------------------------------- slices */

sp_status sp_bundle__find_slice(const sp_bundle *bundle, const sp_bundle_record *tensor,
				const sp_tensor_slice *slice, const sp_bundle_record **out,
				sp_error *err)
{
	sp_status status = SP_OK;
	sp_buffer key;

	sp_buffer_init(&key, SIZE_MAX / 4);
	sp_ordered_code_slice_key(&key, tensor->entry.name, slice);
	if (key.failed)
		status = sp_no_memory(err, "the bundle's index");
	else if ((*out = find_record(bundle, (sp_bytes){key.data, key.size}, (sp_bytes){"", 0})) ==
		 NULL)
		status = sp_error_set(err, SP_CORRUPT, "one of its slices is missing");
	sp_buffer_fini(&key);
	return status;
}

/*
 * Checks that each slice is inside the tensor and is stored with its dtype and shape, and that
 * together they have as many elements as the tensor.  Overlaps are found when the slices are
 * assembled.
 */
static sp_status check_slices(const sp_bundle *bundle, const sp_bundle_record *tensor,
			      sp_error *err)
{
	size_t total = 0, whole;
	uint64_t bytes = 0;

	for (size_t i = 0; i < tensor->slice_count; i++) {
		sp_tensor_slice slice = tensor->slices[i];
		const sp_bundle_record *stored;
		sp_shape shape;
		size_t count;

		SP_TRY(sp_bundle__find_slice(bundle, tensor, &slice, &stored, err));
		if (!sp_tensor_slice_resolve(&slice, &tensor->entry.shape))
			return sp_error_set(err, SP_CORRUPT, "slice %zu lies outside of it", i);
		shape = sp_tensor_slice_shape(&slice);
		if (stored->entry.dtype != tensor->entry.dtype ||
		    !sp_shape_equal(&stored->entry.shape, &shape))
			return sp_error_set(err, SP_CORRUPT,
					    "slice %zu is stored with another type or shape", i);
		if (!sp_shape_count(&shape, &count) || !sp_size_add(&total, total, count) ||
		    __builtin_add_overflow(bytes, stored->entry.size, &bytes))
			return sp_error_set(err, SP_CORRUPT, "its slices are too large");
	}
	(void)sp_shape_count(&tensor->entry.shape, &whole);
	if (bytes > bundle->data_size)
		return sp_error_set(err, SP_CORRUPT, "its slices share bytes");
	if (total != whole)
		return sp_error_set(err, SP_CORRUPT, "its slices have %zu of its %zu elements",
				    total, whole);
	return SP_OK;
}

/* ------------------------------------------------------------------- the bundle */

static sp_status read_index(sp_bundle *bundle, sp_arena *scratch, sp_error *err)
{
	const char *path = sp_arena_printf(bundle->arena, "%s.index", bundle->prefix);
	sp_sorted_table table;
	size_t size;

	SP_NEED_MEMORY(path, err, "the bundle's index");
	SP_TRY(sp_file_read(&bundle->index, &size, path, MAX_INDEX_SIZE, err));
	SP_TRY(sp_sorted_table_read(&table, (sp_bytes){bundle->index, size}, bundle->arena, err));
	SP_TRY(read_header(bundle, &table, scratch, err));
	SP_TRY(open_shards(bundle, err));
	SP_TRY(read_records(bundle, &table, scratch, err));
	for (size_t i = bundle->first_tensor; i < bundle->record_count; i++) {
		const sp_bundle_record *record = &bundle->records[i];
		sp_status status = record->entry.sliced ? check_slices(bundle, record, err) : SP_OK;

		if (status != SP_OK)
			return with_name(err, status, record->entry.name);
	}
	return SP_OK;
}

static sp_status open_bundle(sp_bundle *bundle, const char *prefix, sp_error *err)
{
	sp_arena *scratch = NULL;
	sp_status status;

	bundle->arena = sp_arena_create((size_t)1 << 16);
	SP_NEED_MEMORY(bundle->arena, err, "the bundle's index");
	bundle->prefix = sp_arena_text(bundle->arena, sp_bytes_of(prefix));
	scratch = sp_arena_create(4096);
	status = bundle->prefix != NULL && scratch != NULL
			 ? read_index(bundle, scratch, err)
			 : sp_no_memory(err, "the bundle's index");
	sp_arena_destroy(scratch);
	if (status == SP_OK || status == SP_NOT_FOUND)
		return status;
	return sp_error_prefix(err, status, "bundle %s", prefix);
}

sp_status sp_bundle_open(sp_bundle **out, const char *prefix, sp_error *err)
{
	sp_bundle *bundle = sp_alloc_zero(1, sizeof(*bundle));
	sp_status status;

	SP_NEED_MEMORY(bundle, err, "the bundle's index");
	status = open_bundle(bundle, prefix, err);
	if (status != SP_OK) {
		sp_bundle_close(bundle);
		return status;
	}
	*out = bundle;
	return SP_OK;
}

void sp_bundle_close(sp_bundle *bundle)
{
	if (bundle == NULL)
		return;
	for (int32_t i = 0; bundle->shards != NULL && i < bundle->shard_count; i++)
		sp_file_close(&bundle->shards[i]);
	sp_free(bundle->index);
	sp_arena_destroy(bundle->arena);
	sp_free(bundle);
}

const char *sp_bundle_prefix(const sp_bundle *bundle)
{
	return bundle->prefix;
}

size_t sp_bundle_count(const sp_bundle *bundle)
{
	return bundle->record_count - bundle->first_tensor;
}

const sp_bundle_entry *sp_bundle_entry_at(const sp_bundle *bundle, size_t i)
{
	return &bundle->records[bundle->first_tensor + i].entry;
}

static const sp_bundle_entry *tensor_of(const sp_bundle *bundle, const sp_bundle_record *record)
{
	return record != NULL && record >= bundle->records + bundle->first_tensor ? &record->entry
										  : NULL;
}

const sp_bundle_entry *sp_bundle_find(const sp_bundle *bundle, sp_bytes name)
{
	return tensor_of(bundle, find_record(bundle, name, (sp_bytes){"", 0}));
}

const sp_bundle_entry *sp_bundle_find_joined(const sp_bundle *bundle, const char *name,
					     const char *suffix)
{
	return tensor_of(bundle, find_record(bundle, sp_bytes_of(name), sp_bytes_of(suffix)));
}

sp_status sp_bundle_bad_tensor(sp_error *err, const sp_bundle *bundle, const sp_bundle_entry *entry,
			       const char *wanted, ...)
{
	char shape[SP_SHAPE_TEXT_SIZE], text[128];
	va_list args;

	va_start(args, wanted);
	vsnprintf(text, sizeof(text), wanted, args);
	va_end(args);
	return sp_error_set(err, SP_CORRUPT, "%s: '%.*s' is %s%s %s, not %s", bundle->prefix,
			    (int)entry->name.size, entry->name.data, entry->sliced ? "sliced " : "",
			    sp_dtype_name(entry->dtype), sp_shape_text(&entry->shape, shape), text);
}
