#ifndef SP_MODEL_LOADER_BUNDLE_H
#define SP_MODEL_LOADER_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor.h"

/*
 * A tensor bundle: TensorFlow's V2 checkpoint, PREFIX.index and
 * PREFIX.data-SSSSS-of-NNNNN.
 *
 * The index is a sorted table (model_loader/sorted_table.h) of serialized
 * BundleEntryProto by tensor name; the header entry has the empty key.
 * Everything in it is checked before it is believed: block CRCs, order of the
 * keys, shard numbers, offsets and sizes against the files, sizes against
 * dtype and shape.  The bytes of a tensor are checked against their CRC32C
 * whenever they are read.
 *
 * Shards are read with pread(), see base/file.h for why.
 *
 * Big-endian bundles are swapped after their check.  DeepRec's
 * is_hash_table entries (field 100) are refused by name when read.
 *
 * Source: tensorflow/core/protobuf/tensor_bundle.proto and
 * core/util/tensor_bundle of TensorFlow 2.15.
 *
 * Threads: immutable once open; any number of threads may read at once.
 */
typedef struct sp_bundle sp_bundle;

/*
 * Opens PREFIX.index and every shard it names.  SP_NOT_FOUND when the index is
 * not there; SP_CORRUPT when anything in it is wrong, a shard is missing or
 * too short.
 */
SP_MUST_CHECK sp_status sp_bundle_open(sp_bundle **out, const char *prefix, sp_error *err);

/* NULL is fine. */
void sp_bundle_close(sp_bundle *bundle);

const char *sp_bundle_prefix(const sp_bundle *bundle);

typedef struct sp_bundle_entry {
	sp_bytes name; /* the tensor's name, also of a sliced one; owned by the bundle */
	sp_dtype dtype;
	sp_shape shape; /* the full shape of a sliced tensor */
	bool sliced;    /* stored in pieces */
	uint64_t size;  /* stored bytes; 0 for a sliced tensor */
} sp_bundle_entry;

/* Tensors in the order of their names; entries of single slices are not among them. */
size_t sp_bundle_count(const sp_bundle *bundle);
const sp_bundle_entry *sp_bundle_entry_at(const sp_bundle *bundle, size_t i);

/* NULL when the bundle has no tensor of that name. */
const sp_bundle_entry *sp_bundle_find(const sp_bundle *bundle, sp_bytes name);

/*
 * The whole tensor, in the arena; a sliced one is put together.  SP_NOT_FOUND
 * without such a tensor, SP_CORRUPT when its bytes fail their check.
 */
SP_MUST_CHECK sp_status sp_bundle_read(const sp_bundle *bundle, sp_bytes name, sp_arena *arena,
				       sp_tensor *out, sp_error *err);

/*
 * Part of a tensor, as RestoreV2's shape_and_slices spells it: the full dims,
 * separated by spaces, then "start,length" or "-" per dim, separated by
 * colons: "30 16 10,300:0,16".  "" is the whole tensor.  SP_INVALID when the
 * text is not of that form or does not fit the stored shape.
 */
SP_MUST_CHECK sp_status sp_bundle_read_slice(const sp_bundle *bundle, sp_bytes name, sp_bytes slice,
					     sp_arena *arena, sp_tensor *out, sp_error *err);

/*
 * Streams a tensor of a fixed-size type from its start, for tables too large
 * to hold twice: next() fills `buffer` with whole elements and says how many
 * bytes it wrote, 0 at the end.  The CRC is checked as the last byte is
 * delivered, so what came before must not be published until next() has
 * returned SP_OK with 0.  Not for sliced or string tensors.
 *
 * Threads: one thread at a time per stream.
 */
typedef struct sp_bundle_stream {
	const sp_bundle *bundle;
	const sp_bundle_entry *entry;
	uint64_t position;
	uint32_t crc;
} sp_bundle_stream;

SP_MUST_CHECK sp_status sp_bundle_stream_open(sp_bundle_stream *out, const sp_bundle *bundle,
					      sp_bytes name, sp_error *err);
SP_MUST_CHECK sp_status sp_bundle_stream_next(sp_bundle_stream *stream, void *buffer,
					      size_t capacity, size_t *got, sp_error *err);

#endif
