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
 * A call takes a ring that nobody uses, hands the kernel as many reads as the ring
 * has places, and sleeps until some have come; no other thread has a part in
 * it.  The bytes go to memory of the ring, so a call whose time is over leaves at once,
 * and the ring is used on while the kernel still owes it blocks.
 *
 * A ring allocates when a block is larger than any it has read before.
 *
 * Threads: thread-safe, but for create and destroy.  In a process that is forked off
 * later every call is SP_UNSUPPORTED.
 */
typedef struct sp_read_rings sp_read_rings;

enum { SP_READ_RING_BLOCKS = 32 }; /* in flight, of each ring */

/*
 * As many calls as there are rings read at once; others wait for one.
 * SP_UNSUPPORTED where the kernel has no io_uring for us: too old, out of memory for it, or
 * forbidden, as containers often have it.
 */
SP_MUST_CHECK sp_status sp_read_rings_create(sp_read_rings **out, size_t count, sp_error *err);

/*
 * No calls may be under way.  Waits a second for what the kernel still reads; the memory of what it
 * has not read then stays for good.  NULL is fine.
 */
void sp_read_rings_destroy(sp_read_rings *rings);

/*
 * Reads all keys of all requests; `take` is called by the calling thread.  deadline_ns is
 * on sp_clock_now_ns()'s clock; 0: none.  On failure *failed is the request that
 * failed first, as far as it is one (else SIZE_MAX), and some rows may have been taken.
 */
SP_MUST_CHECK sp_status sp_read_rings_run(sp_read_rings *rings, const sp_read_request *requests,
					  size_t count, sp_read_take *take, int64_t deadline_ns,
					  size_t *failed, sp_error *err);

#endif
