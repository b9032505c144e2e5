#ifndef SP_STORAGE_SSD_READ_RINGS_H
#define SP_STORAGE_SSD_READ_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/ssd/read_plan.h"

/*
 * Reads from the disk for requests, many blocks at a time: by io_uring, or where it is not
 * available by threads (storage/ssd/read_threads.h), since a single thread that reads block after
 * block would leave most of a device idle.  No other file of the project uses liburing.
 *
 * A call takes a free ring, submits as many reads as the ring has slots, and sleeps until some have
 * completed; with io_uring no other thread takes part.  Bytes are read to memory of the ring, so a
 * call returns at its deadline, and the ring can be used while its abandoned reads are in flight.
 *
 * A ring allocates when a block is larger than any it has read before.
 *
 * Threads: thread-safe, except create and destroy.  In a forked child every call returns
 * SP_UNSUPPORTED.
 */
typedef struct sp_read_rings sp_read_rings;

enum { SP_READ_RING_BLOCKS = 32 }; /* blocks in flight per ring */

/*
 * At most `count` calls read at once; others wait for a ring.
 *
 * by_threads  false: by io_uring; SP_UNSUPPORTED where the kernel refuses it: it is too old, lacks
 *             memory for it, or forbids it, as is common in containers.  True: by `count` threads
 */
SP_MUST_CHECK sp_status sp_read_rings_create(sp_read_rings **out, size_t count, bool by_threads,
					     sp_error *err);

/* By io_uring or, if the kernel refuses it or with no_rings, by threads, which a log line says. */
SP_MUST_CHECK sp_status sp_read_rings_open(sp_read_rings **out, size_t count, bool no_rings,
					   sp_error *err);

/*
 * Only when no call is running.  With io_uring waits up to a second for abandoned reads; the memory
 * of those that have not completed is leaked, because the kernel may still write to it.  Threads
 * end the reads that they have begun.  NULL is fine.
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
