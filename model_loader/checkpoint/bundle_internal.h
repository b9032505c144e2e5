#ifndef SP_MODEL_LOADER_CHECKPOINT_BUNDLE_INTERNAL_H
#define SP_MODEL_LOADER_CHECKPOINT_BUNDLE_INTERNAL_H

#include "base/file.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/checkpoint/tensor_slice.h"

/* Shared by bundle.c, which opens a bundle, and bundle_read.c, which reads tensors. */

/* An entry of the index: a tensor, or one slice of one. */
typedef struct sp_bundle_record {
	sp_bundle_entry entry; /* first, so that a pointer to it can be cast to the record */
	const char *refusal;   /* why it cannot be read; NULL: it can */
	int32_t shard;
	uint64_t offset;
	uint32_t crc; /* masked */
	/* For a sliced tensor: its slices as stored; whole dimensions are SP_SLICE_FULL. */
	const sp_tensor_slice *slices;
	size_t slice_count;
} sp_bundle_record;

struct sp_bundle {
	sp_arena *arena;
	char *index; /* the file's bytes; names point into them */
	const char *prefix;
	sp_file *shards;
	int32_t shard_count;
	uint64_t data_size;        /* of all shards */
	sp_bundle_record *records; /* sorted by name; the records of single slices come first */
	size_t record_count;
	size_t first_tensor;
};

/* The record of a single slice.  SP_CORRUPT when there is none. */
SP_MUST_CHECK sp_status sp_bundle__find_slice(const sp_bundle *bundle,
					      const sp_bundle_record *tensor,
					      const sp_tensor_slice *slice,
					      const sp_bundle_record **out, sp_error *err);

#endif
