#ifndef SP_MODEL_LOADER_CHECKPOINT_SNAPPY_H
#define SP_MODEL_LOADER_CHECKPOINT_SNAPPY_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Uncompresses one raw snappy block into the arena.  SP_CORRUPT when it is malformed or claims a
 * size that no such block can have.
 *
 * Source: snappy's format_description.txt.  Threads: pure except for the arena.
 */
SP_MUST_CHECK sp_status sp_snappy_uncompress(sp_bytes *out, sp_bytes block, sp_arena *arena,
					     sp_error *err);

#endif
