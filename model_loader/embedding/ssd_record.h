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
 * With PREFIX the checkpoint's and NAME the variable's (or part's) name, "/" written as "_":
 *
 *   PREFIX-NAME-ssd_record            a bundle, of n keys and f files
 *     keys                  [n]       int64 or int32
 *     keys_file_id          [n] int64 the file of a key's record
 *     keys_offset           [n] int64 its place in the file, see below
 *     files                 [f] int64 numbers of the files
 *     record_count          [f] int64 records in each, live ones and others
 *     invalid_record_count  [f] int64
 *   PREFIX-NAME-emb_files/<number>.emb  records of one size, one after the other
 *
 * Three generations of DeepRec wrote two kinds of records:
 *
 *   header, rows       int64: training step, and from bit 48 on a bit for each slot that
 *                      has a row; int64 frequency; then the rows.  keys_offset is in bytes.
 *   rows, tail         the rows; then int64 frequency, if it is recorded, and int64
 *                      version, if that is.  keys_offset is in bytes, later in records.
 *
 * Rows are those of the variable and its optimizer slots, each padded to a multiple of 16 bytes
 * unless that was switched off.  The kind is not recorded.  It follows from the record's size and
 * the widths of the slots in the checkpoint.  If header and tail would both be 16 bytes, the
 * records decide: all must look like one kind, and have the flags of a header or not all look like
 * the other kind.  If that is not conclusive, the variable is refused (SP_UNSUPPORTED).
 *
 * The bundle's checksums are checked; records have none.
 *
 * Errors: SP_IO and SP_CORRUPT as for a bundle; SP_CORRUPT for a file that is missing, too short,
 * or not a whole number of records.
 *
 * Threads: any number may read at once.
 *
 * Source: DeepRec, core/framework/embedding/{ssd_hash_kv,value_ptr,
 * feature_descriptor_impl,ssd_record_descriptor}.h, releases 2206 to 2402.
 */
typedef struct sp_ssd_record sp_ssd_record;

/* PREFIX-NAME-ssd_record, in `arena`; NULL when out of memory. */
const char *sp_ssd_record_prefix(const char *checkpoint, const char *name, sp_arena *arena);

/*
 * The number of keys by the index of that prefix; 0 when it is unreadable, which opening reports.
 */
size_t sp_ssd_record_expected_count(const char *prefix);

typedef struct sp_ssd_record_options {
	const char *prefix; /* as above */
	const sp_bundle *checkpoint;
	const char *name; /* the variable's or part's */
	sp_dtype key_dtype;
	size_t dim;
	bool filtered; /* a tail of one number is the frequency */
} sp_ssd_record_options;

SP_MUST_CHECK sp_status sp_ssd_record_open(sp_ssd_record **out,
					   const sp_ssd_record_options *options, sp_error *err);

/* NULL is fine. */
void sp_ssd_record_close(sp_ssd_record *record);

size_t sp_ssd_record_count(const sp_ssd_record *record); /* keys */

/* Whether frequencies are known. */
bool sp_ssd_record_has_freqs(const sp_ssd_record *record);

/*
 * Reads keys [first, first + count); -1 for a key whose record has no row of the variable.  freqs
 * [count] are written if they are known.
 */
SP_MUST_CHECK sp_status sp_ssd_record_keys(sp_ssd_record *record, size_t first, size_t count,
					   int64_t *keys, int64_t *freqs, sp_error *err);

/* Whether versions are known, for all keys. */
bool sp_ssd_record_has_versions(const sp_ssd_record *record);

/* versions [count] of keys [first, first + count), if known; -1: never changed. */
SP_MUST_CHECK sp_status sp_ssd_record_versions(sp_ssd_record *record, size_t first, size_t count,
					       int64_t *versions, sp_error *err);

/* Their rows, float32 [count, dim], at any address. */
SP_MUST_CHECK sp_status sp_ssd_record_rows(sp_ssd_record *record, size_t first, size_t count,
					   void *rows, sp_error *err);

/* After everything has been read: fails if files were missing or have changed meanwhile. */
SP_MUST_CHECK sp_status sp_ssd_record_check(const sp_ssd_record *record, sp_error *err);

#endif
