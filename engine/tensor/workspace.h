#ifndef SP_ENGINE_WORKSPACE_H
#define SP_ENGINE_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * A session's memory for the tensors of one request.
 *
 * The shapes of a recommendation graph depend on the data (how many ids are unique, how many
 * elements are not empty), so offsets cannot be fixed at load.  The order of the steps and the last
 * use of each value can: a block is released as soon as its last reader is done, and the next step
 * reuses it while it is still in the cache.
 *
 * The memory is kept between requests, so that after a few of the largest requests nothing more is
 * allocated from the system.  Memory of a request that needed far more than is usual is returned.
 *
 * A request that needs more than `limit` bytes fails with SP_NO_MEMORY.
 *
 * With SP_ARENA_DEBUG every block is its own malloc().
 *
 * Threads: one thread at a time.
 */
typedef struct sp_workspace sp_workspace;

/* NULL when out of memory.  Allocates nothing more until it is used. */
sp_workspace *sp_workspace_create(size_t limit);

/* NULL is fine. */
void sp_workspace_destroy(sp_workspace *workspace);

/* Releases all blocks at once; the memory stays for the next request. */
void sp_workspace_reset(sp_workspace *workspace);

/*
 * A tensor with uninitialised elements and one reference on its block.
 * SP_INVALID when the shape cannot be counted; SP_NO_MEMORY past the limit.
 */
SP_MUST_CHECK sp_status sp_workspace_tensor(sp_workspace *workspace, sp_tensor *out, sp_dtype dtype,
					    const sp_shape *shape, sp_error *err);

/* One more reference on the block of `tensor`, if it has one. */
void sp_tensor_retain(const sp_tensor *tensor);

/* Drops one reference; the last releases the block and a list's elements.  Unsets the tensor. */
void sp_workspace_release(sp_workspace *workspace, sp_tensor *tensor);

/* Whether the tensor holds the only reference on its block, so that its reader may overwrite it. */
bool sp_tensor_is_sole(const sp_tensor *tensor);

/*
 * Bytes that live until the reset: string bytes and scratch.
 * 16-byte aligned (64 from 64 bytes on), NULL past the limit or when the product overflows.
 */
void *sp_workspace_bytes(sp_workspace *workspace, size_t count, size_t size);

/*
 * A position in the request's bytes.  Rewinding to it frees the bytes (not the tensors) that were
 * allocated since, so that the iterations of a loop share them.
 */
typedef struct sp_workspace_mark {
	sp_arena_mark bytes;
	size_t used;
} sp_workspace_mark;

sp_workspace_mark sp_workspace_here(const sp_workspace *workspace);
void sp_workspace_rewind(sp_workspace *workspace, const sp_workspace_mark *mark);

/*
 * Bytes held after the last request that this or an earlier one has used: the rest of a block of
 * the system that was never touched takes no memory.
 *
 * Threads: any thread, at any time.
 */
size_t sp_workspace_touched(const sp_workspace *workspace);

/* Bytes held from the system. */
size_t sp_workspace_footprint(const sp_workspace *workspace);

#endif
