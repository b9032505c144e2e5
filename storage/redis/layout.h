#ifndef SP_STORAGE_REDIS_LAYOUT_H
#define SP_STORAGE_REDIS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "storage/format/row_format.h"

/*
 * How embedding rows are stored in Redis: names, keys and values.  Nothing here talks to a server.
 *
 * versioned  Ours.  A table is `partitions` hashes <model>.<table>@<full>-<checksum>{p<i>}: field =
 *            the key's 8 bytes, value = the row (storage/format/row_format.h).  The name depends on
 *            the content, so a hash never has rows of two versions, and whoever publishes a version
 *            again writes the same bytes.  Besides its rows a hash has the field "#rows", their
 *            number, and, once it is complete, "#", its mark: the checksum in hexadecimal.  A hash
 *            without the mark has expired, has been evicted, or is not complete.
 *
 *                <model>.current     the record of the version to be served
 *                <model>@<full>      the record of a complete version; it expires before its rows
 *                <model>.versions    set of records: versions that were published and may exist
 *                <model>.lock        held by a publisher
 *                <model>@<full>-<checksum>.tables    hash: the progress of each table
 *
 *            In names of models and tables all bytes but letters, digits, '_', '-' and '/' become
 *            %XX; in a model also '.', so that different names never give the same key.
 *
 * deeprec    DeepRec's processor: a string per row, key = version, feature, key, value = float32
 *            [dim].  Database 0 or 1 serves, the one with `active` = "1"; `model_version` is
 *            "full,latest".  A feature is the index of its KvVarHandleOp among those of the graph.
 *
 * hps        NVIDIA's Hierarchical Parameter Server: hashes hps_et{hps_et.<model>.<table>/p<i>}v,
 *            field = the key's 4 or 8 bytes, value = float32 [dim].
 *
 * tfra       TensorFlow Recommenders Addons: hashes <tag>:<table>{<n>}, fields and values as hps.
 *
 * All numbers in keys and fields are little endian.
 *
 * Threads: pure.
 */
typedef enum sp_redis_layout {
	SP_REDIS_VERSIONED,
	SP_REDIS_DEEPREC,
	SP_REDIS_HPS,
	SP_REDIS_TFRA,
	SP_REDIS_LAYOUTS, /* how many there are */
} sp_redis_layout;

/* "versioned", "deeprec", "hps", "tfra". */
const char *sp_redis_layout_name(sp_redis_layout layout);

/* False if no layout has this name. */
bool sp_redis_layout_find(sp_redis_layout *out, const char *name);

/* ------------------------------------------------------------ ours */

/* The content of a version's record. */
typedef struct sp_redis_version {
	int64_t full;  /* step of the full checkpoint */
	int64_t delta; /* the newest delta when it was published; 0: none.  For information only */
	uint64_t checksum; /* sp_redis_checksum() */
	size_t partitions; /* 1 .. SP_REDIS_MAX_PARTITIONS */
	sp_row_format format;
	int64_t former; /* of .current: the full checkpoint that was served before; -1: none */
	int64_t left;   /* of .current: at a rollback, the newest full checkpoint; 0: none */
} sp_redis_version;

enum {
	SP_REDIS_MAX_PARTITIONS = 16384,
	SP_REDIS_MAX_RECORD = 256, /* bytes, with the terminating NUL */
	SP_REDIS_MARK_SIZE = 16,
};

#define SP_REDIS_MARK_FIELD "#"
#define SP_REDIS_ROWS_FIELD "#rows"

/*
 * Identifies the rows in the hashes: the checkpoint's rows (`content`), their partitions and
 * format.
 */
uint64_t sp_redis_checksum(uint64_t content, size_t partitions, sp_row_format format);

/* "full=100 delta=0 checksum=0123456789abcdef partitions=16 format=fp32" */
void sp_redis_record_write(char out[SP_REDIS_MAX_RECORD], const sp_redis_version *version);

/*
 * SP_CORRUPT if it is not a record.  Unknown words are skipped, so that a later publisher may add
 * some.
 */
SP_MUST_CHECK sp_status sp_redis_record_read(sp_redis_version *out, sp_bytes record, sp_error *err);

/* The value of a mark; SP_REDIS_MARK_SIZE hexadecimal digits and a NUL. */
void sp_redis_mark(char out[SP_REDIS_MARK_SIZE + 1], const sp_redis_version *version);

/* Names in `arena`; NULL when out of memory. */
const char *sp_redis_hash_name(sp_arena *arena, const char *model, const char *table,
			       const sp_redis_version *version, size_t partition);
const char *sp_redis_version_name(sp_arena *arena, const char *model, int64_t full);
const char *sp_redis_current_name(sp_arena *arena, const char *model);
const char *sp_redis_lock_name(sp_arena *arena, const char *model);
const char *sp_redis_versions_name(sp_arena *arena, const char *model);
const char *sp_redis_tables_name(sp_arena *arena, const char *model,
				 const sp_redis_version *version);

/*
 * The partition of a key, here and in hps: HPS' mixing function rrxmrrxmsx_0, by P. Evensen, modulo
 * `partitions`.
 */
size_t sp_redis_partition(uint64_t key, size_t partitions);

/* ------------------------------------------------------------ keys and rows */

/*
 * Writes a key as a field, `key_size` bytes, 4 or 8, of its two's complement; returns key_size.  A
 * table whose keys are int32 has fields of 4 bytes in hps and tfra, and of 8 in ours.
 */
size_t sp_redis_field(char out[8], int64_t key, size_t key_size);

/* ------------------------------------------------------------ DeepRec's */

enum { SP_REDIS_DEEPREC_KEY_MAX = 24 };

#define SP_REDIS_DEEPREC_ACTIVE  "active"
#define SP_REDIS_DEEPREC_VERSION "model_version"
#define SP_REDIS_DEEPREC_LOCK    "model_lock"

/* Returns how many bytes it wrote: 20 if key_size is 4, 24 if it is 8. */
size_t sp_redis_deeprec_key(char out[SP_REDIS_DEEPREC_KEY_MAX], uint64_t full, uint64_t feature,
			    int64_t key, size_t key_size);

/* "full,latest"; SP_CORRUPT if it is anything else. */
SP_MUST_CHECK sp_status sp_redis_deeprec_version_read(int64_t *full, int64_t *latest, sp_bytes text,
						      sp_error *err);

/* ------------------------------------------------------------ hps, tfra */

/* Names in `arena`; NULL when out of memory.  These systems do not escape anything. */
const char *sp_redis_hps_name(sp_arena *arena, const char *model, const char *table,
			      size_t partition);

/*
 * `slice` of `slices`, 1 .. SP_REDIS_MAX_PARTITIONS.  TFRA may be configured to use other hash tags
 * (redis_hash_tags_runtime); without them, <n> is the least number that hashes to the slot at which
 * the slice begins.
 */
const char *sp_redis_tfra_name(sp_arena *arena, const char *tag, const char *table, size_t slice,
			       size_t slices);

/* The slice of a key: its lower 32 bits modulo `slices`. */
size_t sp_redis_tfra_slice(int64_t key, size_t slices);

#endif
