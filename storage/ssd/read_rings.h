#ifndef SP_STORAGE_SSD_READ_RINGS_H
#define SP_STORAGE_SSD_READ_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/ssd/read_plan.h"

/*
 * Reads from the disk for requests by io_uring, many blocks at a time.  The only
 * file of the project that sees liburing.
 *
 * A call takes a free ring, submits as many reads as the ring has places, and sleeps until
 * some have completed; no other thread takes part.  Bytes are read to memory of the ring, so a
 * call returns at once when its time is over, and the ring can be used while such abandoned
 * reads are still in flight.
 *
 * A ring allocates when a block is larger than any it has read before.
 *
 * Threads: thread-safe, but for create and destroy.  In a process that is forked off
 * later every call is SP_UNSUPPORTED.
 */
typedef struct sp_read_rings sp_read_rings;

enum { SP_READ_RING_BLOCKS = 32 }; /* in flight, of each ring */

/*
 * As many calls as there are rings read at once; others wait for a ring.  SP_UNSUPPORTED where
 * the kernel refuses io_uring: too old, out of memory for it, or forbidden, as often in
 * containers.
 */
SP_MUST_CHECK sp_status sp_read_rings_create(sp_read_rings **out, size_t count, sp_error *err);

/*
 * No calls may be under way.  Waits up to a second for abandoned reads; the memory of those that
 * have not ended then is leaked, because the kernel may still write to it.  NULL is fine.
 */
void sp_read_rings_destroy(sp_read_rings *rings);

/*
 * Reads all keys of all requests; `take` is called by the calling thread.  deadline_ns is
 * on sp_clock_now_ns()'s clock; 0: none.  On failure *failed is the request that failed first,
 * SIZE_MAX when no single one did, and some rows may have been taken.
 */
SP_MUST_CHECK sp_status sp_read_rings_run(sp_read_rings *rings, const sp_read_request *requests,
					  size_t count, sp_read_take *take, int64_t deadline_ns,
					  size_t *failed, sp_error *err);

#endif
