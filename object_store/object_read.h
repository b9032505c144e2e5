#ifndef SP_OBJECT_STORE_OBJECT_READ_H
#define SP_OBJECT_STORE_OBJECT_READ_H

#include "base/store.h"
#include "object_store/names.h"
#include "object_store/transfer.h"

/*
 * Bytes of objects.
 *
 * An object is read in blocks of SP_OBJECT_BLOCK bytes, several at a time, each by requests for
 * the part that is still missing.  Hints are read ahead while there is room: blocks take at most
 * SP_OBJECT_ROOM bytes in the process, but for one that each reading thread needs.  A block that
 * is read once is freed when all of it was read, others when room is needed; SP_OBJECT_KEPT bytes
 * of those stay.  Without hints the blocks after one that is read in sequence are read ahead.
 *
 * Bytes of an object that was changed after it was opened are refused.  What a web server sends
 * without regard to ranges is kept in an unnamed temporary file.
 *
 * Threads: thread-safe; not for the transfers' thread.
 */
enum {
	SP_OBJECT_BLOCK = 4 << 20,
	SP_OBJECT_ROOM = 56 * SP_OBJECT_BLOCK,
	SP_OBJECT_KEPT = 12 * SP_OBJECT_BLOCK,
	SP_OBJECT_AHEAD = 40 * SP_OBJECT_BLOCK,
};

SP_MUST_CHECK sp_status sp_object_open(sp_store_object **out, const sp_object_url *url,
				       sp_account *account, const sp_name_about *about,
				       sp_error *err);
void sp_object_close(sp_store_object *object);
SP_MUST_CHECK sp_status sp_object_read(sp_store_object *object, uint64_t offset, void *buffer,
				       size_t size, sp_error *err);
void sp_object_fetch(sp_store_object *object, uint64_t offset, uint64_t size, bool once);

/* A source of sp_transfers_set_source(): the next block to be read ahead. */
sp_transfer *sp_object_next_block(void);

#endif
