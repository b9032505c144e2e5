#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/thread.h"
#include "storage/remote/remote_tier.h"

/*
 * A hash table of rows in flight, by table and key, in the store's chains.  A row is in it from the
 * moment a call needs it until its fetch is done and the row is in the cache.  A thread of the
 * source writes a row's bytes once, then its state.
 */

enum {
	MAX_FREE_FETCHES = 64,
	MAX_FREE_BYTES = 4 << 20,
};

/* ---- life ---- */

static sp_remote_fetch *pop_free(sp_remote_store *store)
{
	sp_remote_fetch *fetch;

	pthread_mutex_lock(&store->lock);
	fetch = store->free;
	if (fetch != NULL) {
		store->free = fetch->next;
		store->free_count--;
	}
	pthread_mutex_unlock(&store->lock);
	return fetch;
}

/* Makes room for `count` items; their content is lost.  False: out of memory. */
static bool reserve(void *list, size_t *capacity, size_t count, size_t size)
{
	void **items = list;
	size_t more = count + count / 4;

	if (count <= *capacity)
		return true;
	sp_free(*items);
	*capacity = 0;
	*items = sp_alloc_zero(more, size);
	if (*items == NULL)
		return false;
	*capacity = more;
	return true;
}

sp_remote_fetch *sp_remote__fetch_create(sp_remote_store *store, size_t count, size_t bytes,
					 uint64_t call)
{
	sp_remote_fetch *fetch = pop_free(store);

	if (fetch == NULL) {
		fetch = sp_alloc_zero(1, sizeof(*fetch));
		if (fetch == NULL)
			return NULL;
		fetch->store = store;
		pthread_mutex_init(&fetch->lock, NULL);
		sp_condition_init(&fetch->done);
	}
	fetch->call = call;
	fetch->count = fetch->size = 0;
	fetch->is_confirmed = fetch->is_done = fetch->is_detached = false;
	fetch->reason[0] = '\0';
	atomic_init(&fetch->references, 1);
	if (reserve(&fetch->rows, &fetch->capacity, count, sizeof(*fetch->rows)) &&
	    reserve(&fetch->states, &fetch->state_capacity, count, 1) &&
	    reserve(&fetch->bytes, &fetch->byte_capacity, bytes, 1) &&
	    reserve(&fetch->source_state, &fetch->source_state_capacity,
		    store->source->state_size(count), 1))
		return fetch;
	sp_remote__fetch_free(fetch);
	return NULL;
}

void sp_remote__fetch_free(sp_remote_fetch *fetch)
{
	pthread_cond_destroy(&fetch->done);
	pthread_mutex_destroy(&fetch->lock);
	sp_free(fetch->rows);
	sp_free(fetch->states);
	sp_free(fetch->bytes);
	sp_free(fetch->source_state);
	sp_free(fetch);
}

void sp_remote__fetch_release(sp_remote_fetch *fetch)
{
	sp_remote_store *store = fetch->store;

	if (atomic_fetch_sub_explicit(&fetch->references, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&store->lock);
	if (store->free_count < MAX_FREE_FETCHES && fetch->byte_capacity <= MAX_FREE_BYTES) {
		fetch->next = store->free;
		store->free = fetch;
		store->free_count++;
		fetch = NULL;
	}
	pthread_mutex_unlock(&store->lock);
	if (fetch != NULL)
		sp_remote__fetch_free(fetch);
}

/* ---- rows in flight ---- */

static atomic_uintptr_t *chain_of(sp_remote_store *store, const sp_remote_table *table, int64_t key)
{
	uint64_t h = (uint64_t)key ^ (uintptr_t)table ^ store->key_of_hash[0];

	h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
	h = (h ^ (h >> 32) ^ store->key_of_hash[1]) * 0x9e3779b97f4a7c15u;
	return &store->chains[h >> 32 & (SP_REMOTE_CHAINS - 1)];
}

/* Spins; returns the first row.  A chain is locked for a few steps only. */
static sp_remote_row *lock_chain(atomic_uintptr_t *chain)
{
	uintptr_t first = atomic_load_explicit(chain, memory_order_relaxed) & ~(uintptr_t)1;

	while (!atomic_compare_exchange_weak_explicit(chain, &first, first | 1,
						      memory_order_acquire, memory_order_relaxed))
		if ((first & 1) != 0) {
			sched_yield();
			first &= ~(uintptr_t)1;
		}
	return (sp_remote_row *)first;
}

static void unlock_chain(atomic_uintptr_t *chain, const sp_remote_row *first)
{
	atomic_store_explicit(chain, (uintptr_t)first, memory_order_release);
}

void sp_remote__fetch_prefetch(const sp_remote_fetch *fetch, const sp_remote_table *table,
			       int64_t key)
{
	__builtin_prefetch(chain_of(fetch->store, table, key), 1);
}

sp_remote_row *sp_remote__fetch_add(sp_remote_fetch *fetch, sp_remote_table *table, int64_t key,
				    uint32_t partition)
{
	atomic_uintptr_t *chain = chain_of(fetch->store, table, key);
	sp_remote_row *first = lock_chain(chain), *row = first;

	while (row != NULL && (row->key != key || row->table != table))
		row = row->next;
	if (row == NULL) {
		atomic_store_explicit(&fetch->states[fetch->count], SP_REMOTE_ROW_PENDING,
				      memory_order_relaxed);
		row = &fetch->rows[fetch->count++];
		row->next = first;
		row->fetch = fetch;
		row->table = table;
		row->key = key;
		row->partition = partition;
		row->at = fetch->size;
		fetch->size += sp_remote__cached_size(table);
		first = row;
	} else if (row->fetch->call != fetch->call) {
		atomic_fetch_add_explicit(&row->fetch->references, 1, memory_order_relaxed);
	}
	unlock_chain(chain, first);
	return row;
}

static void remove_from_chain(sp_remote_store *store, const sp_remote_row *row)
{
	atomic_uintptr_t *chain = chain_of(store, row->table, row->key);
	sp_remote_row *first = lock_chain(chain), **at = &first;

	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
	unlock_chain(chain, first);
}

static void cache_row(const sp_remote_row *row, sp_remote_row_state state)
{
	sp_remote_table *table = row->table;
	const char *bytes = row->fetch->bytes + row->at;

	if (table->max_age_s != 0) /* an older row of the key may be held */
		sp_row_cache_replace(table->cache, row->key, bytes);
	else if (state == SP_REMOTE_ROW_ABSENT)
		bytes = NULL;
	sp_row_cache_fill(table->cache, row->key, bytes);
}

static void write_to_file(const sp_remote_row *row)
{
	sp_remote_table *table = row->table;
	sp_row_file *file = table->store->file;

	if (file != NULL &&
	    !sp_row_file_put(file, table->file_table, row->key, row->fetch->bytes + row->at,
			     sp_remote__cached_size(table)))
		sp_remote__count_up(&table->disk_dropped, 1);
}

/* Caches all results of a finished fetch and removes its rows from the hash table. */
static void cache_rows(sp_remote_fetch *fetch)
{
	const sp_remote_row *end = fetch->rows + fetch->count;
	uint64_t bytes = 0; /* of found rows of one table */

	for (const sp_remote_row *row = fetch->rows; row < end; row++) {
		sp_remote_row_state state = sp_remote__row_state(row, true);

		if (end - row > SP_REMOTE_AHEAD) {
			const sp_remote_row *later = row + SP_REMOTE_AHEAD;

			sp_remote__fetch_prefetch(fetch, later->table, later->key);
			sp_row_cache_prefetch(later->table->cache, later->key);
		}
		if (state != SP_REMOTE_ROW_PENDING)
			cache_row(row, state);
		if (state == SP_REMOTE_ROW_FOUND) {
			bytes += row->table->row_size;
			write_to_file(row);
		}
		if (row + 1 == end || row[1].table != row->table) {
			sp_remote__count_up(&row->table->bytes_read, bytes);
			bytes = 0;
		}
		remove_from_chain(fetch->store, row);
	}
}

void sp_remote__fetch_detach(sp_remote_fetch *fetch)
{
	bool is_done;

	pthread_mutex_lock(&fetch->lock);
	is_done = fetch->is_done;
	fetch->is_detached = !is_done;
	pthread_mutex_unlock(&fetch->lock);
	if (is_done)
		cache_rows(fetch);
}

/* ---- results ---- */

void sp_remote_fetch_set_reason(sp_remote_fetch *fetch, const char *text, size_t size)
{
	if (fetch->reason[0] == '\0')
		snprintf(fetch->reason, sizeof(fetch->reason), "%.*s",
			 (int)(size < sizeof(fetch->reason) ? size : sizeof(fetch->reason) - 1),
			 text);
}

/* Writes the stamp after the row.  An absent key has zeros and a stamp. */
static void stamp(const sp_remote_table *table, char *bytes, bool is_absent)
{
	sp_remote_stamp value = sp_remote__age(table->store, sp_clock_now_ns()) << 1 | is_absent;

	if (is_absent)
		memset(bytes, 0, table->row_size);
	memcpy(bytes + table->row_size, &value, sizeof(value));
}

static void set_result(sp_remote_fetch *fetch, const sp_remote_range *range, size_t index,
		       const void *bytes, sp_remote_row_state how)
{
	char *to = fetch->bytes + range->at + index * sp_remote__cached_size(range->table);
	_Atomic uint8_t *state = &fetch->states[range->first + index];

	if (atomic_load_explicit(state, memory_order_relaxed) != SP_REMOTE_ROW_PENDING)
		return;
	if (bytes != NULL)
		memcpy(to, bytes, range->table->row_size);
	if (range->table->max_age_s != 0)
		stamp(range->table, to, bytes == NULL);
	atomic_store_explicit(state, (uint8_t)how, memory_order_release);
}

void sp_remote_range_found(sp_remote_fetch *fetch, const sp_remote_range *range, size_t index,
			   const void *bytes)
{
	set_result(fetch, range, index, bytes, SP_REMOTE_ROW_FOUND);
}

void sp_remote_range_not_found(sp_remote_fetch *fetch, const sp_remote_range *range, size_t index,
			       sp_remote_row_state how)
{
	set_result(fetch, range, index, NULL, how);
}

void sp_remote_fetch_finish(sp_remote_fetch *fetch)
{
	bool is_detached;

	pthread_mutex_lock(&fetch->lock);
	fetch->is_done = true;
	is_detached = fetch->is_detached;
	pthread_mutex_unlock(&fetch->lock);
	pthread_cond_broadcast(&fetch->done);
	if (is_detached)
		cache_rows(fetch);
	sp_remote__fetch_release(fetch);
}

void sp_remote__fetch_send(sp_remote_fetch *fetch)
{
	atomic_fetch_add_explicit(&fetch->references, 1, memory_order_relaxed);
	fetch->store->source->send(fetch);
}

bool sp_remote_fetch_is_done(sp_remote_fetch *fetch)
{
	bool is_done;

	pthread_mutex_lock(&fetch->lock);
	is_done = fetch->is_done;
	pthread_mutex_unlock(&fetch->lock);
	return is_done;
}

bool sp_remote__fetch_wait(sp_remote_fetch *fetch, int64_t deadline_ns)
{
	const struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	void (*poll)(sp_remote_fetch *, int64_t) = fetch->store->source->poll;
	int fault = 0;
	bool is_done;

	if (poll != NULL && !sp_remote_fetch_is_done(fetch))
		poll(fetch, deadline_ns);
	pthread_mutex_lock(&fetch->lock);
	while (!fetch->is_done && fault == 0)
		fault = pthread_cond_timedwait(&fetch->done, &fetch->lock, &until);
	is_done = fetch->is_done;
	pthread_mutex_unlock(&fetch->lock);
	return is_done;
}
