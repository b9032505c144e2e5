#ifndef SP_MODEL_LOADER_CHECKPOINT_BUNDLE_H
#define SP_MODEL_LOADER_CHECKPOINT_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * A tensor bundle: TensorFlow's V2 checkpoint, PREFIX.index and PREFIX.data-SSSSS-of-NNNNN.
 *
 * The index is a sorted table (model_loader/checkpoint/sorted_table.h) of serialized
 * BundleEntryProto by tensor name; the header entry has the empty key.  Everything in it is checked
 * before it is used: block CRCs, order of the keys, shard numbers, offsets and sizes against the
 * files, sizes against dtype and shape.  The bytes of a tensor are checked against their CRC32C
 * whenever they are read.
 *
 * Shards stay open, with a file descriptor each.  If a read fails later, because a shard was
 * truncated or its disk fails, the error is SP_IO.
 *
 * Big-endian bundles are refused, and DeepRec's is_hash_table entries (field 100) when they are
 * read.
 *
 * Source: tensorflow/core/protobuf/tensor_bundle.proto and core/util/tensor_bundle of TensorFlow
 * 2.15.
 *
 * Threads: immutable once open; any number of threads may read at once.
 */
typedef struct sp_bundle sp_bundle;

/*
 * Opens PREFIX.index and every shard it names.  SP_NOT_FOUND when the index is missing; SP_CORRUPT
 * when anything in it is wrong, or a shard is missing or too short.
 */
SP_MUST_CHECK sp_status sp_bundle_open(sp_bundle **out, const char *prefix, sp_error *err);

/* NULL is fine. */
void sp_bundle_close(sp_bundle *bundle);

const char *sp_bundle_prefix(const sp_bundle *bundle);

typedef struct sp_bundle_entry {
	sp_bytes name; /* for a sliced tensor its full name; owned by the bundle */
	sp_dtype dtype;
	sp_shape shape; /* the full shape of a sliced tensor */
	bool sliced;    /* stored as several slices */
	uint64_t size;  /* stored bytes; 0 for a sliced tensor */
} sp_bundle_entry;

/* Tensors in the order of their names; the entries of single slices are not included. */
size_t sp_bundle_count(const sp_bundle *bundle);
const sp_bundle_entry *sp_bundle_entry_at(const sp_bundle *bundle, size_t i);

/* NULL when the bundle has no tensor of that name, or of the name followed by the suffix. */
const sp_bundle_entry *sp_bundle_find(const sp_bundle *bundle, sp_bytes name);
const sp_bundle_entry *sp_bundle_find_joined(const sp_bundle *bundle, const char *name,
					     const char *suffix);

/* Returns SP_CORRUPT: "PREFIX: 'NAME' is DT_INT32 [3], not <wanted>". */
sp_status sp_bundle_bad_tensor(sp_error *err, const sp_bundle *bundle, const sp_bundle_entry *entry,
			       const char *wanted, ...) SP_PRINTF(4, 5);

/*
 * Reads the whole tensor into the arena; slices are assembled.  SP_NOT_FOUND when there is none,
 * SP_CORRUPT when its checksum is wrong.
 */
SP_MUST_CHECK sp_status sp_bundle_read(const sp_bundle *bundle, sp_bytes name, sp_arena *arena,
				       sp_tensor *out, sp_error *err);

/*
 * Reads part of a tensor, given as RestoreV2's shape_and_slices: the full dims, separated by
 * spaces, then "start,length" or "-" per dim, separated by colons: "30 16 10,300:0,16".  "" is the
 * whole tensor.  SP_INVALID when the text is malformed or does not fit the stored shape.
 */
SP_MUST_CHECK sp_status sp_bundle_read_slice(const sp_bundle *bundle, sp_bytes name, sp_bytes slice,
					     sp_arena *arena, sp_tensor *out, sp_error *err);

/*
 * A tensor of numbers, read in parts from its shard, for tables too large to hold twice.  Not for
 * sliced tensors, strings and booleans.
 *
 * Parts may be read in any order.  The reader continues their CRCs, or joins them by
 * sp_crc32c_join(), and checks the result after all parts; nothing read may be published before.
 *
 * Threads: immutable once open.
 */
typedef struct sp_bundle_span {
	const sp_bundle *bundle;
	const sp_bundle_entry *entry;
	size_t count; /* elements */
	size_t width; /* bytes of an element */
} sp_bundle_span;

SP_MUST_CHECK sp_status sp_bundle_span_open(sp_bundle_span *out, const sp_bundle *bundle,
					    sp_bytes name, sp_error *err);

/*
 * Reads elements [first, first + count), clipped to the tensor, as they are in memory.  *crc is
 * continued over these bytes; it may be NULL, and the caller then computes it over `buffer`.  SP_IO
 * when the file was truncated or its disk fails.
 */
SP_MUST_CHECK sp_status sp_bundle_span_read(const sp_bundle_span *span, size_t first, size_t count,
					    void *buffer, uint32_t *crc, sp_error *err);

/* As sp_bundle_span_read(), for int64 or int32 elements, which become int64. */
SP_MUST_CHECK sp_status sp_bundle_span_read_keys(const sp_bundle_span *span, size_t first,
						 size_t count, int64_t *keys, uint32_t *crc,
						 sp_error *err);

/*
 * Starts to read these elements (clipped to the tensor) from the disk, without waiting; `once`:
 * they are not read again after that.
 */
void sp_bundle_span_fetch(const sp_bundle_span *span, size_t first, size_t count, bool once);

/* How far ahead of a reader elements are best requested by it, in bytes. */
size_t sp_bundle_span_ahead(const sp_bundle_span *span);

/* After all parts have been read: SP_CORRUPT unless `crc` is the checksum of the whole tensor. */
SP_MUST_CHECK sp_status sp_bundle_span_check(const sp_bundle_span *span, uint32_t crc,
					     sp_error *err);

#endif
