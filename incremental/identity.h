#ifndef SP_INCREMENTAL_IDENTITY_H
#define SP_INCREMENTAL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * Fingerprints of the files of a checkpoint, to detect that they have changed.  Names are not
 * enough: a file grows while it is copied, and a restarted trainer writes other content under the
 * same names.
 *
 * Threads: pure, apart from reading the file system.
 */

/*
 * A fingerprint of name, size, mtime and inode of the files of PREFIX: its index and data
 * (model_loader/checkpoint/checkpoint_name.h), PREFIX.pb and PREFIX.pbtxt.  It changes when any of
 * them is written, added or removed.  0 if there are none.
 */
uint64_t sp_identity_of_files(const char *prefix, sp_arena *arena);

/*
 * A fingerprint of the bytes of PREFIX.index, which contains the checksum of every tensor: equal
 * content has an equal fingerprint, even if the files were copied or touched.  0 if the index
 * cannot be read.
 *
 * Rows that an SSD tier has saved beside the checkpoint are included: the bytes of
 * PREFIX-*-ssd_record.index and, because records have no checksums, size, mtime and inode of the
 * files PREFIX-*-emb_files/NUMBER.emb.
 */
uint64_t sp_identity_of_content(const char *prefix, sp_arena *arena);

/*
 * The same, but that of the files NUMBER.emb only the sizes count: equal for all copies of a
 * checkpoint, on whatever machine.
 */
uint64_t sp_identity_of_rows(const char *prefix, sp_arena *arena);

#endif
