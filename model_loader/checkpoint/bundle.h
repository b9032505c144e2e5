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
 * A tensor bundle: TensorFlow's V2 checkpoint, PREFIX.index and
 * PREFIX.data-SSSSS-of-NNNNN.
 *
 * The index is a sorted table (model_loader/checkpoint/sorted_table.h) of serialized
 * BundleEntryProto by tensor name; the header entry has the empty key.
 * Everything in it is checked before it is believed: block CRCs, order of the
 * keys, shard numbers, offsets and sizes against the files, sizes against
 * dtype and shape.  The bytes of a tensor are checked against their CRC32C
 * whenever they are read.
 *
 * Shards stay open, a file descriptor each.  What cannot be read of one, because
 * it has become shorter or its disk fails, is SP_IO.
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

/* NULL when the bundle has no tensor of that name; or none of the name with the suffix behind it.
 */
const sp_bundle_entry *sp_bundle_find(const sp_bundle *bundle, sp_bytes name);
const sp_bundle_entry *sp_bundle_find_joined(const sp_bundle *bundle, const char *name,
					     const char *suffix);

/* SP_CORRUPT: "PREFIX: 'NAME' is DT_INT32 [3], not <what is wanted>". */
sp_status sp_bundle_bad_tensor(sp_error *err, const sp_bundle *bundle, const sp_bundle_entry *entry,
			       const char *wanted, ...) SP_PRINTF(4, 5);

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
 * A tensor of a fixed-size type where it lies in its shard, for tables too large
 * to hold twice.  Not for sliced or string tensors.
 *
 * Any parts of it may be read in any order.  Their CRCs, continued by the
 * reader or joined by sp_crc32c_join(), are checked when all of it is read; what
 * came before must not be published until then.
 *
 * Threads: immutable once open.
 */
typedef struct sp_bundle_span {
	const sp_bundle *bundle;
	const sp_bundle_entry *entry;
	size_t count; /* elements */
	size_t width; /* bytes of one */
	bool stored; /* as they are in memory; else their byte order is turned, or they are booleans
		      */
} sp_bundle_span;

SP_MUST_CHECK sp_status sp_bundle_span_open(sp_bundle_span *out, const sp_bundle *bundle,
					    sp_bytes name, sp_error *err);

/*
 * Elements [first, first + count) of those there are, as they are in memory.  *crc
 * is continued over the stored bytes, those that came to lie in `buffer`; it may
 * be NULL when span->stored, where the caller sums them.  SP_IO when they cannot be
 * read, because the file has become shorter or its disk fails.
 */
SP_MUST_CHECK sp_status sp_bundle_span_read(const sp_bundle_span *span, size_t first, size_t count,
					    void *buffer, uint32_t *crc, sp_error *err);

/* The same of int64 or int32 elements, as int64. */
SP_MUST_CHECK sp_status sp_bundle_span_read_keys(const sp_bundle_span *span, size_t first,
						 size_t count, int64_t *keys, uint32_t *crc,
						 sp_error *err);

/* These, clipped to those there are, will be read soon: starts the disk, doesn't wait. */
void sp_bundle_span_fetch(const sp_bundle_span *span, size_t first, size_t count);

/* After everything has been read and used: `crc` is that of the whole tensor, or SP_CORRUPT. */
SP_MUST_CHECK sp_status sp_bundle_span_check(const sp_bundle_span *span, uint32_t crc,
					     sp_error *err);

#endif
