#ifndef SP_MODEL_LOADER_EMBEDDING_SSD_RECORD_H
#define SP_MODEL_LOADER_EMBEDDING_SSD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * The rows that DeepRec's SSD tier leaves beside a checkpoint.
 *
 * With PREFIX the checkpoint's and NAME the variable's (or part's) name, "/"
 * written as "_":
 *
 *   PREFIX-NAME-ssd_record            a bundle, of n keys and f files
 *     keys                  [n]       int64 or int32
 *     keys_file_id          [n] int64 which file a key's record is in
 *     keys_offset           [n] int64 where in it, by the rule below
 *     files                 [f] int64 numbers of the files
 *     record_count          [f] int64 records in each, live ones and others
 *     invalid_record_count  [f] int64
 *   PREFIX-NAME-emb_files/<number>.emb  records of one size, one behind the other
 *
 * Three generations of DeepRec wrote records of two kinds:
 *
 *   header, rows       int64: training step, and from bit 48 on a bit for each slot that
 *                      has a row; int64 frequency; then the rows.  keys_offset is in bytes.
 *   rows, tail         the rows; then int64 frequency, if it is recorded, and int64
 *                      version, if that is.  keys_offset is in bytes, later in records.
 *
 * Rows are those of the variable and its optimizer slots, each filled up to a
 * multiple of 16 bytes unless that was switched off.  Nothing says which kind a
 * file has.  It follows from the record's size and the widths of the slots in
 * the checkpoint; where header and tail would both be 16 bytes, from whether all
 * records look like the one, and either have its flags or do not all look like the
 * other; and where that does not settle it, the variable is refused (SP_UNSUPPORTED).
 *
 * The bundle's checksums are checked; records have none.
 *
 * Errors: SP_IO and SP_CORRUPT as of a bundle; a file that is missing, too
 * short, or of no whole number of records is SP_CORRUPT.
 *
 * Threads: any number may read at once.
 *
 * Source: DeepRec, core/framework/embedding/{ssd_hash_kv,value_ptr,
 * feature_descriptor_impl,ssd_record_descriptor}.h, releases 2206 to 2402.
 */
typedef struct sp_ssd_record sp_ssd_record;

/* PREFIX-NAME-ssd_record, in `arena`; NULL when out of memory. */
const char *sp_ssd_record_prefix(const char *checkpoint, const char *name, sp_arena *arena);

/* How many keys the index of that prefix tells of; 0 when it cannot be read: opening says why. */
size_t sp_ssd_record_expected_count(const char *prefix);

typedef struct sp_ssd_record_options {
	const char *prefix; /* as above */
	const sp_bundle *checkpoint;
	const char *name; /* the variable's or part's */
	sp_dtype key_dtype;
	size_t dim;
	bool filtered; /* a tail of one number is its frequency */
} sp_ssd_record_options;

SP_MUST_CHECK sp_status sp_ssd_record_open(sp_ssd_record **out,
					   const sp_ssd_record_options *options, sp_error *err);

/* NULL is fine. */
void sp_ssd_record_close(sp_ssd_record *record);

size_t sp_ssd_record_count(const sp_ssd_record *record); /* keys */

/* Whether a key's frequency is known. */
bool sp_ssd_record_has_freqs(const sp_ssd_record *record);

/*
 * Keys [first, first + count); -1 for one whose record has no row of the
 * variable.  freqs [count] are written when they are known.
 */
SP_MUST_CHECK sp_status sp_ssd_record_keys(sp_ssd_record *record, size_t first, size_t count,
					   int64_t *keys, int64_t *freqs, sp_error *err);

/* Whether the version of a key's row is known; of one record, those of all are. */
bool sp_ssd_record_has_versions(const sp_ssd_record *record);

/* versions [count] of keys [first, first + count), when they are known; -1: never changed. */
SP_MUST_CHECK sp_status sp_ssd_record_versions(sp_ssd_record *record, size_t first, size_t count,
					       int64_t *versions, sp_error *err);

/* Their rows, float32 [count, dim] at any address. */
SP_MUST_CHECK sp_status sp_ssd_record_rows(sp_ssd_record *record, size_t first, size_t count,
					   void *rows, sp_error *err);

/* After everything has been read: whether the files were there, and the same, all along. */
SP_MUST_CHECK sp_status sp_ssd_record_check(const sp_ssd_record *record, sp_error *err);

#endif
