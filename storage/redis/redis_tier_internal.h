#ifndef SP_STORAGE_REDIS_REDIS_TIER_INTERNAL_H
#define SP_STORAGE_REDIS_REDIS_TIER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "storage/redis/redis_tier.h"

/*
 * A table belongs to its store and stays until the store ends, because answers may come after its
 * tier has gone.
 */
typedef struct sp_redis_shelf {
	struct sp_redis_shelf *next;
	sp_redis_store *store;
	const char *name;
	size_t dim, key_size;
	size_t row_size; /* as stored */
	bool ages;       /* rows have a stamp behind them, in the cache and in fetches */
	const sp_row_codec *codec;
	size_t partitions;
	const char **hashes; /* [partitions]; not of deeprec */
	uint64_t *features;  /* [feature_count] */
	size_t feature_count;
	sp_row_cache *cache;
	size_t row_count; /* SIZE_MAX: unknown */
	atomic_uint_least64_t asked, absent, hot_hits, errors, bytes_read, defaulted;
} sp_redis_shelf;

/* ---- rows on their way ---- */

typedef enum sp_redis_row_state {
	SP_REDIS_ROW_OPEN, /* of a fetch that is done: there is no answer */
	SP_REDIS_ROW_FOUND,
	SP_REDIS_ROW_ABSENT,
	SP_REDIS_ROW_MISSING, /* absent if the fetch is confirmed in the end, else without answer */
} sp_redis_row_state;

/* A key that Redis is asked for. */
typedef struct sp_redis_row {
	struct sp_redis_row *next; /* in a chain of the store's rows on their way */
	struct sp_redis_fetch *fetch;
	sp_redis_shelf *shelf;
	int64_t key;
	uint32_t partition;
	size_t at; /* of the stored row in the fetch's bytes */
} sp_redis_row;

/* The rows of a command. */
typedef struct sp_redis_piece {
	const sp_redis_shelf *shelf;
	size_t at; /* of the first stored row in the fetch's bytes */
	uint32_t first, count;
	bool is_check; /* deeprec: asks for the version instead */
	bool is_wrong; /* what comes is not what was asked for */
} sp_redis_piece;

/*
 * The rows that one call asks for.  The thread of the client holds a reference until all answers
 * have come, every call that waits for one of the rows another one.
 *
 * That thread writes stored rows, their states and little else: memory that goes to and fro between
 * processors costs more than all the rest.  The call that owns the fetch files the rows in the
 * cache; if it has left before, the thread does.
 */
typedef struct sp_redis_fetch {
	struct sp_redis_fetch *next; /* in the list of free ones */
	sp_redis_store *store;
	atomic_size_t references;
	sp_redis_row *rows;
	_Atomic uint8_t *states; /* of rows, an sp_redis_row_state; written after their bytes */
	size_t count, capacity, state_capacity;
	char *bytes;
	size_t size, byte_capacity;
	sp_redis_piece *pieces;
	size_t piece_count, piece_capacity;
	bool is_confirmed;    /* deeprec: the database has the version */
	char reason[256];     /* why rows have no answer; "": none is known */
	pthread_mutex_t lock; /* guards the last two */
	pthread_cond_t done;
	bool is_done;
	bool is_left;
} sp_redis_fetch;

enum { SP_REDIS_CHAINS = 1 << 13, SP_REDIS_CHAIN_LOCKS = 64 };

/* Seconds of the store's life, times two; the lowest bit: the key is absent. */
typedef uint32_t sp_redis_stamp;

struct sp_redis_store {
	atomic_size_t references;
	sp_redis_client *client;
	sp_redis_layout layout;
	bool is_cluster;
	char *model;
	sp_redis_version version;
	char mark[SP_REDIS_MARK_SIZE + 1];
	int64_t limit_ms, patience_ms;
	bool fails;
	int64_t keep_s, start_ns; /* stamps count from the start */
	size_t cache_bytes;
	sp_row_cache_policy policy;

	pthread_mutex_t lock; /* guards the next four */
	sp_arena *arena;
	sp_redis_shelf *shelves;
	sp_redis_fetch *free;
	size_t free_count;
	pthread_mutex_t chain_locks[SP_REDIS_CHAIN_LOCKS]; /* of every 64th chain each */
	sp_redis_row *chains[SP_REDIS_CHAINS];
};

static inline size_t sp_redis__kept_size(const sp_redis_shelf *shelf)
{
	return shelf->row_size + (shelf->ages ? sizeof(sp_redis_stamp) : 0);
}

static inline sp_redis_stamp sp_redis__age(const sp_redis_store *store, int64_t now_ns)
{
	return (sp_redis_stamp)((now_ns - store->start_ns) / 1000000000);
}

static inline void sp_redis__count_up(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

SP_MUST_CHECK sp_status sp_redis__shelf_create(sp_redis_shelf **out, sp_redis_store *store,
					       const sp_redis_table *table, sp_error *err);

/* A fetch with room for `count` rows of `bytes` together; NULL: no memory. */
sp_redis_fetch *sp_redis__fetch_create(sp_redis_store *store, size_t count, size_t bytes);

/*
 * Finds the row on its way, or adds it to `own`.  The caller adds rows of one hash one after the
 * other, and releases row->fetch once for each call.
 */
sp_redis_row *sp_redis__fetch_want(sp_redis_fetch *own, sp_redis_shelf *shelf, int64_t key,
				   uint32_t partition);

/* Asks for the fetch's own rows; if that fails, they have no answer. */
void sp_redis__fetch_send(sp_redis_fetch *fetch);

/* By its owner, once after sending. */
void sp_redis__fetch_leave(sp_redis_fetch *fetch);

/* The state of a row now; `in_time`: its fetch is done. */
static inline sp_redis_row_state sp_redis__row_state(const sp_redis_row *row, bool in_time)
{
	const sp_redis_fetch *fetch = row->fetch;
	int state = atomic_load_explicit(&fetch->states[row - fetch->rows], memory_order_acquire);

	if (state != SP_REDIS_ROW_MISSING)
		return (sp_redis_row_state)state;
	return in_time && fetch->is_confirmed ? SP_REDIS_ROW_ABSENT : SP_REDIS_ROW_OPEN;
}

/* False at the deadline. */
bool sp_redis__fetch_wait(sp_redis_fetch *fetch, int64_t deadline_ns);

void sp_redis__fetch_release(sp_redis_fetch *fetch);
void sp_redis__fetch_free(sp_redis_fetch *fetch);

#endif
