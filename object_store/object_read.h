#ifndef SP_OBJECT_STORE_OBJECT_READ_H
#define SP_OBJECT_STORE_OBJECT_READ_H

#include "base/store.h"
#include "object_store/names.h"
#include "object_store/transfer.h"

/*
 * Reads objects' bytes, with read-ahead.
 *
 * An object is read in blocks of SP_OBJECT_BLOCK bytes, several in parallel.  A retry asks for the
 * bytes of the block that are still missing.  Ranges hinted by sp_object_fetch() are read ahead;
 * without hints, so are the blocks that follow a sequential reader.  All blocks of the process take
 * at most SP_OBJECT_MEMORY bytes, plus one block per reading thread.  A block that is needed once
 * is freed when all of it was read; others are freed when memory is needed, and up to
 * SP_OBJECT_CACHE bytes of them stay.
 *
 * If the object was changed after it was opened, a read fails.  If a web server ignores ranges, the
 * object is downloaded to an unnamed temporary file.
 *
 * Threads: thread-safe; not for the transfers' thread.
 */
enum {
	SP_OBJECT_BLOCK = 4 << 20,
	SP_OBJECT_MEMORY = 56 * SP_OBJECT_BLOCK,
	SP_OBJECT_CACHE = 12 * SP_OBJECT_BLOCK,
	SP_OBJECT_AHEAD = 40 * SP_OBJECT_BLOCK,
};

SP_MUST_CHECK sp_status sp_object_open(sp_store_object **out, const sp_object_url *url,
				       sp_account *account, const sp_object_attributes *attributes,
				       sp_error *err);
void sp_object_close(sp_store_object *object);
SP_MUST_CHECK sp_status sp_object_read(sp_store_object *object, uint64_t offset, void *buffer,
				       size_t size, sp_error *err);
void sp_object_fetch(sp_store_object *object, uint64_t offset, uint64_t size, bool once);

/* For sp_transfers_set_source(): the next block to read ahead, or NULL. */
sp_transfer *sp_object_next_block(void);

#endif
