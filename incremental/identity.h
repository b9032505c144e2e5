#ifndef SP_INCREMENTAL_IDENTITY_H
#define SP_INCREMENTAL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * Whether the files of a checkpoint are still the ones that were looked at
 * before.  Names are not enough: a file grows while it is copied, and a trainer
 * that starts again writes the same names with other content.
 *
 * Threads: pure, but for what the file system says.
 */

/*
 * One number for size, time of change and inode of the files of PREFIX: its index
 * and data (model_loader/checkpoint/checkpoint_name.h), or PREFIX.pb and .pbtxt.  It differs
 * once any of them is written, comes or goes.  0 when there are none.
 */
uint64_t sp_identity_of_files(const char *prefix, sp_arena *arena);

/*
 * One number for the bytes of PREFIX.index, which has the checksum of every
 * tensor: the same for the same content, whoever copied or touched it.  0 when
 * it cannot be read.
 *
 * Rows that a tier of storage has left beside the checkpoint count with it: by
 * the bytes of PREFIX-*-ssd_record.index, and, because records have no checksum,
 * by size, time of change and inode of the files PREFIX-*-emb_files/NUMBER.emb.
 */
uint64_t sp_identity_of_content(const char *prefix, sp_arena *arena);

#endif
