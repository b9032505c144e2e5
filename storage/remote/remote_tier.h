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
 * Tables whose rows are held by other processes: what all such tiers have in common.  A source
 * (storage/redis/, storage/shards/) knows where the rows are and how to request them.
 *
 * Hot rows and absent keys are cached in memory (storage/cache/row_cache.h).  The misses of a call,
 * of all its tables, are fetched together; a key that is repeated, or that another call is already
 * fetching, is not requested again.  A call waits until its deadline or the store's time limit.  A
 * key that has no result by then gets its default row and is counted, or the call fails; a result
 * that comes later is still cached.
 *
 * A store may have a file on the SSD, too (storage/remote/row_file.h), to which fetched rows are
 * written.  Keys that the file may have are read from it, while the others are being fetched, for
 * at most half of the time; those that it turns out not to have are a second fetch.
 *
 * Rows that may change at any time have a maximum age: a cached row that is older than the table's
 * max_age_s is a miss.
 *
 * Once its buffers have grown, a read allocates nothing.
 */
typedef struct sp_remote_store sp_remote_store;
typedef struct sp_remote_table sp_remote_table;
typedef struct sp_remote_fetch sp_remote_fetch;

typedef struct sp_remote_source {
	const char *name;  /* of the kind of tier: "redis" */
	const char *title; /* for texts: "Redis" */

	/* Rows of one partition are adjacent in a fetch. */
	uint32_t (*partition)(const sp_remote_table *table, int64_t key);

	/*
	 * Requests the rows of a fetch.  It may return before the responses have come; when the
	 * last one has, or has failed, any thread calls sp_remote_fetch_finish().
	 */
	void (*send)(sp_remote_fetch *fetch);

	/*
	 * Called while a call waits for a fetch: does the work of the source's thread until
	 * sp_remote_fetch_is_done() or the deadline, or returns at once.  The call may do other
	 * things for a short time and call it again; in the end it calls stop_polling().  NULL:
	 * there is no such work.
	 */
	void (*poll)(sp_remote_fetch *fetch, int64_t deadline_ns);
	void (*stop_polling)(sp_remote_store *store);

	/* Bytes of fetch->source_state for `count` rows. */
	size_t (*state_size)(size_t count);

	/* Sets the counters of servers and round trips. */
	void (*count)(const sp_remote_store *store, sp_tier_counters *out);

	/*
	 * After the last reference was released: waits for what is in flight, calls
	 * sp_remote_store_fini(), and frees the store.
	 */
	void (*close)(sp_remote_store *store);
} sp_remote_source;

/*
 * The first member of a source's struct for a table, zero at first.  A table lives as long as its
 * store, because results may come after its tier was destroyed.
 */
struct sp_remote_table {
	sp_remote_table *next;
	sp_remote_store *store;
	const char *name;
	size_t dim;
	size_t row_size;   /* as stored */
	int64_t max_age_s; /* a cached row that is older is a miss; 0: rows do not age */
	const sp_row_codec *codec;
	sp_row_cache *cache;
	size_t row_count;    /* SIZE_MAX: unknown */
	uint32_t file_table; /* index in the store's file */
	atomic_uint_least64_t asked, absent, hot_hits, errors, bytes_read, defaulted;
	atomic_uint_least64_t disk_hits, disk_errors, disk_dropped;
};

/* ---- rows in flight ---- */

typedef enum sp_remote_row_state {
	SP_REMOTE_ROW_PENDING, /* after the fetch is done: there is no result */
	SP_REMOTE_ROW_FOUND,
	SP_REMOTE_ROW_ABSENT,
	SP_REMOTE_ROW_UNCONFIRMED, /* absent if the finished fetch is_confirmed, else no result */
} sp_remote_row_state;

/* A row in flight. */
typedef struct sp_remote_row {
	struct sp_remote_row *next; /* in a chain of the store's hash table of rows in flight */
	sp_remote_fetch *fetch;
	sp_remote_table *table;
	int64_t key;
	uint32_t partition;
	size_t at; /* of the stored row in the fetch's bytes */
} sp_remote_row;

/*
 * Rows that one call fetches.  The source holds a reference until the fetch is finished, and so
 * does every other call that waits for one of its rows.
 *
 * The source writes stored rows and their states, and little else, because memory that several
 * processors write is slow.  The call that owns the fetch puts the rows into the cache; if it has
 * left before (is_detached), the source's thread does.
 */
struct sp_remote_fetch {
	sp_remote_fetch *next; /* in the list of free ones */
	sp_remote_store *store;
	uint64_t call; /* number of the call that owns it */
	atomic_size_t references;
	sp_remote_row *rows;     /* [count] by table, and by partition */
	_Atomic uint8_t *states; /* of rows, an sp_remote_row_state; written after their bytes */
	size_t count, capacity, state_capacity;
	char *bytes;
	size_t size, byte_capacity;
	void *source_state; /* state_size(count) bytes, 16-byte aligned */
	size_t source_state_capacity;
	bool is_confirmed;    /* set by the source: SP_REMOTE_ROW_UNCONFIRMED means absent */
	char reason[256];     /* why rows have no result; "": unknown */
	pthread_mutex_t lock; /* guards the last two */
	pthread_cond_t done;
	bool is_done;
	bool is_detached;
};

/* For a source, in one thread at a time for one fetch. */

/* Sets the reason why rows have no result; the first one is kept. */
void sp_remote_fetch_set_reason(sp_remote_fetch *fetch, const char *text, size_t size);

/* A range of a fetch's rows, of one table; their stored rows are adjacent in the fetch's bytes. */
typedef struct sp_remote_range {
	const sp_remote_table *table;
	size_t at; /* of the first stored row in the fetch's bytes */
	uint32_t first, count;
} sp_remote_range;

/* An empty range that begins with row `first`; for the thread that sends. */
static inline sp_remote_range sp_remote_range_at(const sp_remote_fetch *fetch, size_t first)
{
	return (sp_remote_range){.table = fetch->rows[first].table,
				 .at = fetch->rows[first].at,
				 .first = (uint32_t)first};
}

/*
 * Sets the result of a row of a range: its stored bytes, of the table's row_size, or
 * SP_REMOTE_ROW_ABSENT or SP_REMOTE_ROW_UNCONFIRMED.  Only the first result counts.
 */
void sp_remote_range_found(sp_remote_fetch *fetch, const sp_remote_range *range, size_t index,
			   const void *bytes);
void sp_remote_range_not_found(sp_remote_fetch *fetch, const sp_remote_range *range, size_t index,
			       sp_remote_row_state how);

/* All results have come, or will not come.  The source must not use the fetch any more. */
void sp_remote_fetch_finish(sp_remote_fetch *fetch);

bool sp_remote_fetch_is_done(sp_remote_fetch *fetch);

/* ---- stores: shared by the tables of one model version ---- */

enum { SP_REMOTE_CHAINS = 1 << 15 };

typedef struct sp_remote_options {
	int64_t timeout_ms;   /* of a call; 0: 5 */
	bool fail_on_timeout; /* a call fails if a key has no result in time */
	size_t cache_bytes;   /* of each table, or of all whose number of rows is unknown */
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
	atomic_uint_least64_t calls; /* that have fetched rows */
	sp_row_file *file;           /* NULL: none */
	bool lacks_file;             /* it could not be opened; a warning was logged */

	pthread_mutex_t lock; /* guards the next four */
	sp_arena *arena;
	sp_remote_table *tables;
	sp_remote_fetch *free;
	size_t free_count;
	atomic_uintptr_t chains[SP_REMOTE_CHAINS]; /* rows in flight; lowest bit: locked */
};

/* With one reference.  After a failure only sp_remote_store_fini() may be called. */
SP_MUST_CHECK sp_status sp_remote_store_init(sp_remote_store *store, const sp_remote_source *source,
					     const sp_remote_options *options, sp_error *err);

/* No fetch may be in flight. */
void sp_remote_store_fini(sp_remote_store *store);

/* Threads: thread-safe.  NULL is fine. */
sp_remote_store *sp_remote_store_retain(sp_remote_store *store);
void sp_remote_store_release(sp_remote_store *store);

/* Opens the tier of a table that has no cache yet.  It holds a reference to the store. */
SP_MUST_CHECK sp_status sp_remote_tier_open(sp_tier **out, sp_remote_table *table, sp_error *err);

/*
 * Divides cache_bytes among the tables whose number of rows is unknown, so that each can cache the
 * same number of rows; until then such a table caches sixteen.  Called after the last tier was
 * opened, before the first read.
 */
SP_MUST_CHECK sp_status sp_remote_store_divide_cache(sp_remote_store *store, sp_error *err);

/* ---- for remote_tier.c ---- */

/*
 * Follows a row of a table with max_age_s, in the cache and in fetches: the second of the store's
 * life in which the row came, times two; the lowest bit: the key is absent.
 */
typedef uint32_t sp_remote_stamp;

static inline size_t sp_remote__cached_size(const sp_remote_table *table)
{
	return table->row_size + (table->max_age_s != 0 ? sizeof(sp_remote_stamp) : 0);
}

static inline sp_remote_stamp sp_remote__age(const sp_remote_store *store, int64_t now_ns)
{
	return (sp_remote_stamp)((now_ns - store->start_ns) / 1000000000);
}

/* A fetch of `call` with room for `count` rows of `bytes` bytes in total; NULL: out of memory. */
sp_remote_fetch *sp_remote__fetch_create(sp_remote_store *store, size_t count, size_t bytes,
					 uint64_t call);

/*
 * Finds the row in flight, or adds it to `fetch`.  The caller adds rows of one partition one after
 * the other, and releases row->fetch once for each row of another call.
 */
sp_remote_row *sp_remote__fetch_add(sp_remote_fetch *fetch, sp_remote_table *table, int64_t key,
				    uint32_t partition);

/* Prefetches what sp_remote__fetch_add() needs, SP_REMOTE_AHEAD rows before. */
enum { SP_REMOTE_AHEAD = 8 };
void sp_remote__fetch_prefetch(const sp_remote_fetch *fetch, const sp_remote_table *table,
			       int64_t key);

/*
 * By its owner, once after sending: caches the rows if the fetch is done; if not, the source's
 * thread will.
 */
void sp_remote__fetch_detach(sp_remote_fetch *fetch);

/* The current state of a row; `in_time`: its fetch is done. */
static inline sp_remote_row_state sp_remote__row_state(const sp_remote_row *row, bool in_time)
{
	const sp_remote_fetch *fetch = row->fetch;
	int state = atomic_load_explicit(&fetch->states[row - fetch->rows], memory_order_acquire);

	if (state != SP_REMOTE_ROW_UNCONFIRMED)
		return (sp_remote_row_state)state;
	return in_time && fetch->is_confirmed ? SP_REMOTE_ROW_ABSENT : SP_REMOTE_ROW_PENDING;
}

/* Sends the fetch to the source; if that fails, the rows have no result. */
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
