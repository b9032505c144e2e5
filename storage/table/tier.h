#ifndef SP_STORAGE_TABLE_TIER_H
#define SP_STORAGE_TABLE_TIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * A slower tier of storage, such as an SSD: it holds the rows of one table that are not in memory.
 *
 * Tiers of many tables may lie in one store: read() is called once per request, with
 * the keys of all tables, and all its reads are in flight together.  So all tiers of a process are
 * of one kind.
 *
 * An absent key is no failure.  Error texts name table and tier.  read() returns by its deadline,
 * with SP_DEADLINE.
 *
 * A kind of tier is one .c file: a struct whose first member is sp_tier, a table of functions, and
 * a function sp_<kind>_tier_open().
 *
 * Threads: read() and counters() may run in any number of threads at once; retain and release are
 * thread-safe.
 */
typedef struct sp_tier sp_tier;

/* A read of one tier. */
typedef struct sp_tier_read {
	sp_tier *tier;
	const int64_t *keys; /* [count], repeats allowed; no marks */
	size_t count;
	float *const *rows; /* [count] pointers to dim elements each; written iff found */
	bool *found;        /* [count]; all are written */
} sp_tier_read;

/* Counted since the tier was opened. */
typedef struct sp_tier_counters {
	uint64_t asked;      /* keys */
	uint64_t absent;     /* of calls that did not fail */
	uint64_t hot_hits;   /* keys answered from the cache in memory, as found or as absent */
	uint64_t errors;     /* calls that failed */
	uint64_t bytes_read; /* from the device or the network */
	uint64_t defaulted;  /* keys without an answer in time, answered as if they were absent */

	/* Of a tier whose rows are on servers; shared by the tables of a version.  Else 0. */
	uint64_t servers, servers_up;        /* now */
	uint64_t round_trips, round_trip_ns; /* commands that were answered; a sum */

	/* Of one that keeps rows of its servers in a file on this machine.  Else 0. */
	uint64_t disks, disks_up; /* now: 1, and 1 while the file is in use */
	uint64_t disk_hits;       /* keys answered from it */
	uint64_t disk_errors;     /* rows that could not be read, or were damaged */
	uint64_t disk_dropped;    /* rows that were not written because the disk is too slow */
} sp_tier_counters;

/* A layer of rows to be merged into a tier. */
typedef struct sp_tier_fold {
	sp_rows *over;           /* stored in the tier's format */
	int64_t rows_per_second; /* rate limit; 0: none */
	const atomic_bool *stop; /* true: fold() returns SP_BUSY soon */
} sp_tier_fold;

typedef struct sp_tier_kind {
	const char *name; /* "ssd"; for logs, metrics, errors */

	/*
	 * Bytes of scratch that reading up to `count` keys of this tier needs.  read() gets the sum
	 * over all its reads, 64-byte aligned.
	 */
	size_t (*scratch)(const sp_tier *tier, size_t count);

	/*
	 * `count` reads of tiers of this kind.  deadline_ns is on sp_clock_now_ns()'s clock; 0:
	 * none.  A failure leaves the output unspecified.
	 */
	sp_status (*read)(const sp_tier_read *reads, size_t count, void *scratch,
			  int64_t deadline_ns, sp_error *err);

	void (*counters)(const sp_tier *tier, sp_tier_counters *out);

	/* Bytes of memory. */
	size_t (*footprint)(const sp_tier *tier);

	/*
	 * All three or none.  fold() makes another tier, with the rows of `over` and, for all other
	 * keys, those of `tier`, which is read meanwhile and does not change.  It sleeps as long as
	 * it works.  adopt() is called right before `folded` replaces `tier` and `over`; from then
	 * on no request reads keys of `over` from `tier`.
	 */
	size_t (*fold_cost)(const sp_tier *tier,
			    const sp_rows *over); /* upper bound of the bytes of memory */
	sp_status (*fold)(sp_tier **out, sp_tier *tier, const sp_tier_fold *how, sp_error *err);
	void (*adopt)(sp_tier *folded, sp_tier *tier, const sp_rows *over);

	/* Called with the last reference; frees the tier. */
	void (*destroy)(sp_tier *tier);
} sp_tier_kind;

struct sp_tier {
	const sp_tier_kind *kind;
	size_t dim;               /* elements of a row */
	size_t row_count;         /* keys held; SIZE_MAX when unknown */
	atomic_size_t references; /* 1 when opened */
};

/* Adds a reference and returns `tier`.  NULL is fine. */
static inline sp_tier *sp_tier_retain(sp_tier *tier)
{
	if (tier != NULL)
		atomic_fetch_add_explicit(&tier->references, 1, memory_order_relaxed);
	return tier;
}

/* Drops a reference; the last one destroys.  NULL is fine. */
static inline void sp_tier_release(sp_tier *tier)
{
	if (tier != NULL &&
	    atomic_fetch_sub_explicit(&tier->references, 1, memory_order_acq_rel) == 1)
		tier->kind->destroy(tier);
}

#endif
