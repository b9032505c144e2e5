#ifndef SP_STORAGE_REMOTE_REMOTE_TIER_H
#define SP_STORAGE_REMOTE_REMOTE_TIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "storage/cache/row_cache.h"
#include "storage/format/row_format.h"
#include "storage/remote/row_file.h"
#include "storage/table/tier.h"

/*
 * Tables whose rows are in other processes: what all such tiers have in common.  Where the rows
 * are, and how they are asked for, is a source's (storage/redis/, storage/shards/).
 *
 * Hot rows are cached in memory (storage/cache/row_cache.h), and so are keys that are known to be
 * absent.  Of the keys that a call lacks, of all its tables, those that another call has asked for
 * already are only waited for, and so are repeats.  The others are one fetch.  A call
 * waits until its deadline, or until the store's time limit has passed.  Keys without an answer by
 * then are answered by their default rows and counted, or the call fails.  Answers that come later
 * go to the cache.
 *
 * A store may have a file on the SSD, too (storage/remote/row_file.h).  Rows that come are written
 * to it, and keys that it may have are not asked for, but read from it while the others are on
 * their way, for half of the time at most; what it does not answer is a second fetch.
 *
 * Rows that may change at any time age: what is in memory is asked for again when it is older than
 * the table's keep_s.
 *
 * After a while a read allocates nothing.
 */
typedef struct sp_remote_store sp_remote_store;
typedef struct sp_remote_shelf sp_remote_shelf;
typedef struct sp_remote_fetch sp_remote_fetch;

typedef struct sp_remote_source {
	const char *name;  /* of the kind of tier: "redis" */
	const char *title; /* for texts: "Redis" */

	/* Rows of one partition are asked for one after the other. */
	uint32_t (*partition)(const sp_remote_shelf *shelf, int64_t key);

	/*
	 * Asks for the rows of a fetch.  It may return before the answers have come; after the last
	 * one sp_remote_fetch_finish() is called, by any thread.
	 */
	void (*ask)(sp_remote_fetch *fetch);

	/*
	 * By a call that waits for a fetch: may do the work of the source's thread until
	 * sp_remote_fetch_is_done() or the deadline, or return at once.  Between two fetches the
	 * call does other things for a short time; after the last one it stops.  NULL: there is no
	 * such work.
	 */
	void (*help)(sp_remote_fetch *fetch, int64_t deadline_ns);
	void (*stop_helping)(sp_remote_store *store);

	/* Bytes of fetch->own for `count` rows. */
	size_t (*own_size)(size_t count);

	/* The servers and round trips of the counters. */
	void (*count)(const sp_remote_store *store, sp_tier_counters *out);

	/* With the last reference: after the last answer sp_remote_store_fini(), then frees. */
	void (*close)(sp_remote_store *store);
} sp_remote_source;

/*
 * A table: the first member of a source's own, zero at first.  It belongs to its store and stays
 * until the store ends, because answers may come after its tier has gone.
 */
struct sp_remote_shelf {
	sp_remote_shelf *next;
	sp_remote_store *store;
	const char *name;
	size_t dim;
	size_t row_size; /* as stored */
	int64_t keep_s;  /* what is older in memory is asked for again; 0: it does not age */
	const sp_row_codec *codec;
	sp_row_cache *cache;
	size_t row_count; /* SIZE_MAX: unknown */
	uint32_t table;   /* number in the store's file */
	atomic_uint_least64_t asked, absent, hot_hits, errors, bytes_read, defaulted;
	atomic_uint_least64_t disk_hits, disk_errors, disk_dropped;
};

/* ---- rows on their way ---- */

typedef enum sp_remote_row_state {
	SP_REMOTE_ROW_OPEN, /* of a fetch that is done: there is no answer */
	SP_REMOTE_ROW_FOUND,
	SP_REMOTE_ROW_ABSENT,
	SP_REMOTE_ROW_MISSING, /* absent if the fetch is confirmed in the end, else without answer
				*/
} sp_remote_row_state;

/* A key that is asked for. */
typedef struct sp_remote_row {
	struct sp_remote_row *next; /* in a chain of the store's rows on their way */
	sp_remote_fetch *fetch;
	sp_remote_shelf *shelf;
	int64_t key;
	uint32_t partition;
	size_t at; /* of the stored row in the fetch's bytes */
} sp_remote_row;

/*
 * The rows that one call asks for.  The source holds a reference until all answers have come, every
 * call that waits for one of the rows another one.
 *
 * The source writes stored rows, their states and little else: memory that goes to and fro between
 * processors costs more than all the rest.  The call that owns the fetch files the rows in the
 * cache; if it has left before, the source's thread does.
 */
struct sp_remote_fetch {
	sp_remote_fetch *next; /* in the list of free ones */
	sp_remote_store *store;
	uint64_t call; /* whose it is: a number of its own */
	atomic_size_t references;
	sp_remote_row *rows;     /* [count] by table, and by partition */
	_Atomic uint8_t *states; /* of rows, an sp_remote_row_state; written after their bytes */
	size_t count, capacity, state_capacity;
	char *bytes;
	size_t size, byte_capacity;
	void *own; /* the source's, own_size(count) bytes, 16-byte aligned */
	size_t own_capacity;
	bool is_confirmed;    /* the source's: rows that are missing are absent */
	char reason[256];     /* why rows have no answer; "": none is known */
	pthread_mutex_t lock; /* guards the last two */
	pthread_cond_t done;
	bool is_done;
	bool is_left;
};

/* For a source, in one thread at a time for one fetch. */

/* Why rows have no answer; the first reason stays. */
void sp_remote_fetch_note(sp_remote_fetch *fetch, const char *text, size_t size);

/* Rows of one table, from `first` on: the bytes of each follow those of the one before. */
typedef struct sp_remote_run {
	const sp_remote_shelf *shelf;
	size_t at; /* of the first stored row in the fetch's bytes */
	uint32_t first, count;
} sp_remote_run;

/* A run of no row yet, which begins with row `first`; for the thread that asks. */
static inline sp_remote_run sp_remote_run_at(const sp_remote_fetch *fetch, size_t first)
{
	return (sp_remote_run){.shelf = fetch->rows[first].shelf,
			       .at = fetch->rows[first].at,
			       .first = (uint32_t)first};
}

/*
 * The answer for a row of a run: its bytes, of the shelf's row_size, or SP_REMOTE_ROW_ABSENT or
 * SP_REMOTE_ROW_MISSING.  Ignored after an earlier answer.
 */
void sp_remote_run_found(sp_remote_fetch *fetch, const sp_remote_run *run, size_t index,
			 const void *bytes);
void sp_remote_run_lacks(sp_remote_fetch *fetch, const sp_remote_run *run, size_t index,
			 sp_remote_row_state how);

/* All answers have come, or will not come.  The fetch is not the source's any more. */
void sp_remote_fetch_finish(sp_remote_fetch *fetch);

bool sp_remote_fetch_is_done(sp_remote_fetch *fetch);

/* ---- stores: shared by the tables of one model version ---- */

enum { SP_REMOTE_CHAINS = 1 << 15 };

typedef struct sp_remote_options {
	int64_t limit_ms;   /* of a call; 0: 5 */
	bool fails;         /* a call without an answer in time fails */
	size_t cache_bytes; /* memory of each table; of all together that are not counted */
	sp_row_cache_policy policy;
	sp_row_file_options file; /* folder NULL: none */
} sp_remote_options;

/* The first member of a source's own. */
struct sp_remote_store {
	const sp_remote_source *source;
	atomic_size_t references;
	sp_remote_options options;
	int64_t start_ns; /* stamps count from it */
	uint64_t key_of_hash[2];
	atomic_uint_least64_t calls; /* that have asked for rows */
	sp_row_file *file;           /* NULL: none */
	bool lacks_file;             /* it could not be opened, which is logged */

	pthread_mutex_t lock; /* guards the next four */
	sp_arena *arena;
	sp_remote_shelf *shelves;
	sp_remote_fetch *free;
	size_t free_count;
	atomic_uintptr_t
		chains[SP_REMOTE_CHAINS]; /* the first row of each; the lowest bit: locked */
};

/* With one reference.  After a failure only sp_remote_store_fini() may be called. */
SP_MUST_CHECK sp_status sp_remote_store_init(sp_remote_store *store, const sp_remote_source *source,
					     const sp_remote_options *options, sp_error *err);

/* Nothing may be on its way. */
void sp_remote_store_fini(sp_remote_store *store);

/* Threads: thread-safe.  NULL is fine. */
sp_remote_store *sp_remote_store_retain(sp_remote_store *store);
void sp_remote_store_release(sp_remote_store *store);

/*
 * The tier of a shelf, which is described but has no cache yet.  It holds a reference to the store.
 */
SP_MUST_CHECK sp_status sp_remote_tier_open(sp_tier **out, sp_remote_shelf *shelf, sp_error *err);

/*
 * Divides cache_bytes among the shelves whose number of rows is unknown: each holds as many rows.
 * Until then such a shelf holds sixteen.  After the last tier was opened, before the first read.
 */
SP_MUST_CHECK sp_status sp_remote_store_divide(sp_remote_store *store, sp_error *err);

/* ---- for remote_tier.c ---- */

/*
 * What is behind a row that ages, in the cache and in fetches: seconds of the store's life, times
 * two; the lowest bit: the key is absent.
 */
typedef uint32_t sp_remote_stamp;

static inline size_t sp_remote__kept_size(const sp_remote_shelf *shelf)
{
	return shelf->row_size + (shelf->keep_s != 0 ? sizeof(sp_remote_stamp) : 0);
}

static inline sp_remote_stamp sp_remote__age(const sp_remote_store *store, int64_t now_ns)
{
	return (sp_remote_stamp)((now_ns - store->start_ns) / 1000000000);
}

/* A fetch of `call` with room for `count` rows of `bytes` together; NULL: no memory. */
sp_remote_fetch *sp_remote__fetch_create(sp_remote_store *store, size_t count, size_t bytes,
					 uint64_t call);

/*
 * Finds the row on its way, or adds it to `own`.  The caller adds rows of one partition one after
 * the other, and releases row->fetch once for each row of another call.
 */
sp_remote_row *sp_remote__fetch_want(sp_remote_fetch *own, sp_remote_shelf *shelf, int64_t key,
				     uint32_t partition);

/* Prefetches what sp_remote__fetch_want() needs, some SP_REMOTE_AHEAD rows before. */
enum { SP_REMOTE_AHEAD = 8 };
void sp_remote__fetch_expect(const sp_remote_fetch *own, const sp_remote_shelf *shelf, int64_t key);

/* By its owner, once after sending. */
void sp_remote__fetch_leave(sp_remote_fetch *fetch);

/* The state of a row now; `in_time`: its fetch is done. */
static inline sp_remote_row_state sp_remote__row_state(const sp_remote_row *row, bool in_time)
{
	const sp_remote_fetch *fetch = row->fetch;
	int state = atomic_load_explicit(&fetch->states[row - fetch->rows], memory_order_acquire);

	if (state != SP_REMOTE_ROW_MISSING)
		return (sp_remote_row_state)state;
	return in_time && fetch->is_confirmed ? SP_REMOTE_ROW_ABSENT : SP_REMOTE_ROW_OPEN;
}

/* Asks for the fetch's own rows; if that fails, they have no answer. */
void sp_remote__fetch_send(sp_remote_fetch *fetch);

/* False at the deadline. */
bool sp_remote__fetch_wait(sp_remote_fetch *fetch, int64_t deadline_ns);

void sp_remote__fetch_release(sp_remote_fetch *fetch);
void sp_remote__fetch_free(sp_remote_fetch *fetch);

static inline void sp_remote__count_up(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif
