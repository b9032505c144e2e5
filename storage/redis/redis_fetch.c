#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/thread.h"
#include "storage/redis/redis_tier_internal.h"

/*
 * Rows on their way are found by table and key in the store's chains, from the moment they are
 * wanted until the last answer of their batch has come and they are filed in the cache.  Answers
 * come in the client's thread, which writes a row's bytes once, then its state.
 */

enum {
	PIECE = 512, /* keys of a command at most: a longer one would hold up others in Redis */
	MS = 1000000,
	LATE_MS = 1000, /* answers that nobody waits for any more still go to the cache */
	KEPT_FETCHES = 64,
	KEPT_BYTES = 4 << 20,
};

/* ---- life ---- */

static sp_redis_fetch *take_free(sp_redis_store *store)
{
	sp_redis_fetch *fetch;

	pthread_mutex_lock(&store->lock);
	fetch = store->free;
	if (fetch != NULL) {
		store->free = fetch->next;
		store->free_count--;
	}
	pthread_mutex_unlock(&store->lock);
	return fetch;
}

/* Room for `count` items, without what is in it; false: no memory. */
static bool make_room(void *list, size_t *capacity, size_t count, size_t size)
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

sp_redis_fetch *sp_redis__fetch_create(sp_redis_store *store, size_t count, size_t bytes)
{
	sp_redis_fetch *fetch = take_free(store);

	if (fetch == NULL) {
		fetch = sp_alloc_zero(1, sizeof(*fetch));
		if (fetch == NULL)
			return NULL;
		fetch->store = store;
		pthread_mutex_init(&fetch->lock, NULL);
		sp_condition_init(&fetch->done);
	}
	fetch->count = fetch->size = fetch->piece_count = 0;
	fetch->is_confirmed = fetch->is_done = fetch->is_left = false;
	fetch->reason[0] = '\0';
	atomic_init(&fetch->references, 1);
	/* At worst each row is a piece, and one asks for the version. */
	if (make_room(&fetch->rows, &fetch->capacity, count, sizeof(*fetch->rows)) &&
	    make_room(&fetch->states, &fetch->state_capacity, count, 1) &&
	    make_room(&fetch->bytes, &fetch->byte_capacity, bytes, 1) &&
	    make_room(&fetch->pieces, &fetch->piece_capacity, count + 1, sizeof(*fetch->pieces)))
		return fetch;
	sp_redis__fetch_free(fetch);
	return NULL;
}

void sp_redis__fetch_free(sp_redis_fetch *fetch)
{
	pthread_cond_destroy(&fetch->done);
	pthread_mutex_destroy(&fetch->lock);
	sp_free(fetch->rows);
	sp_free(fetch->states);
	sp_free(fetch->bytes);
	sp_free(fetch->pieces);
	sp_free(fetch);
}

void sp_redis__fetch_release(sp_redis_fetch *fetch)
{
	sp_redis_store *store = fetch->store;

	if (atomic_fetch_sub_explicit(&fetch->references, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&store->lock);
	if (store->free_count < KEPT_FETCHES && fetch->byte_capacity <= KEPT_BYTES) {
		fetch->next = store->free;
		store->free = fetch;
		store->free_count++;
		fetch = NULL;
	}
	pthread_mutex_unlock(&store->lock);
	if (fetch != NULL)
		sp_redis__fetch_free(fetch);
}

/* ---- rows on their way ---- */

static sp_redis_row **chain_of(sp_redis_store *store, const sp_redis_shelf *shelf, int64_t key)
{
	uint64_t h = ((uint64_t)key ^ (uintptr_t)shelf) * 0x9e3779b97f4a7c15u;

	return &store->chains[h >> 32 & (SP_REDIS_CHAINS - 1)];
}

/* Neighbours have different locks. */
static pthread_mutex_t *lock_of(sp_redis_store *store, sp_redis_row *const *chain)
{
	return &store->chain_locks[(size_t)(chain - store->chains) % SP_REDIS_CHAIN_LOCKS];
}

sp_redis_row *sp_redis__fetch_want(sp_redis_fetch *own, sp_redis_shelf *shelf, int64_t key,
				   uint32_t partition)
{
	sp_redis_row **chain = chain_of(own->store, shelf, key), *row;
	pthread_mutex_t *lock = lock_of(own->store, chain);

	pthread_mutex_lock(lock);
	for (row = *chain; row != NULL; row = row->next)
		if (row->key == key && row->shelf == shelf)
			break;
	if (row == NULL) {
		atomic_store_explicit(&own->states[own->count], SP_REDIS_ROW_OPEN,
				      memory_order_relaxed);
		row = &own->rows[own->count++];
		row->next = *chain;
		row->fetch = own;
		row->shelf = shelf;
		row->key = key;
		row->partition = partition;
		row->at = own->size;
		own->size += sp_redis__kept_size(shelf);
		*chain = row;
	}
	atomic_fetch_add_explicit(&row->fetch->references, 1, memory_order_relaxed);
	pthread_mutex_unlock(lock);
	return row;
}

/* The row is not on its way any more. */
static void unchain(sp_redis_store *store, const sp_redis_row *row)
{
	sp_redis_row **at = chain_of(store, row->shelf, row->key);
	pthread_mutex_t *lock = lock_of(store, at);

	pthread_mutex_lock(lock);
	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
	pthread_mutex_unlock(lock);
}

/* Offers a row to the cache. */
static void keep(const sp_redis_row *row, sp_redis_row_state state)
{
	sp_redis_shelf *shelf = row->shelf;
	const char *bytes = row->fetch->bytes + row->at;

	if (state == SP_REDIS_ROW_FOUND)
		sp_redis__count_up(&shelf->bytes_read, shelf->row_size);
	if (shelf->ages) /* an older row of the key may be held */
		sp_row_cache_replace(shelf->cache, row->key, bytes);
	else if (state == SP_REDIS_ROW_ABSENT)
		bytes = NULL;
	sp_row_cache_fill(shelf->cache, row->key, bytes);
}

/* When the fetch is done. */
static void file_away(sp_redis_fetch *fetch)
{
	for (size_t i = 0; i < fetch->count; i++) {
		const sp_redis_row *row = &fetch->rows[i];
		sp_redis_row_state state = sp_redis__row_state(row, true);

		if (state != SP_REDIS_ROW_OPEN)
			keep(row, state);
		unchain(fetch->store, row);
	}
}

void sp_redis__fetch_leave(sp_redis_fetch *fetch)
{
	bool is_done;

	pthread_mutex_lock(&fetch->lock);
	is_done = fetch->is_done;
	fetch->is_left = !is_done;
	pthread_mutex_unlock(&fetch->lock);
	if (is_done)
		file_away(fetch);
}

/* ---- answers ---- */

static void note_reason(sp_redis_fetch *fetch, const char *text, size_t size)
{
	if (fetch->reason[0] == '\0')
		snprintf(fetch->reason, sizeof(fetch->reason), "%.*s",
			 (int)(size < sizeof(fetch->reason) ? size : sizeof(fetch->reason) - 1),
			 text);
}

static void note(sp_redis_fetch *fetch, const char *text)
{
	note_reason(fetch, text, strlen(text));
}

/* Writes the stamp behind the row.  An absent key has one, too, behind zeros. */
static void stamp(const sp_redis_shelf *shelf, char *bytes, bool is_absent)
{
	sp_redis_stamp value = sp_redis__age(shelf->store, sp_clock_now_ns()) << 1 | is_absent;

	if (is_absent)
		memset(bytes, 0, shelf->row_size);
	memcpy(bytes + shelf->row_size, &value, sizeof(value));
}

static void take_row(sp_redis_fetch *fetch, const sp_redis_piece *piece, size_t index,
		     const sp_redis_value *value)
{
	const sp_redis_shelf *shelf = piece->shelf;
	char *bytes = fetch->bytes + piece->at + index * sp_redis__kept_size(shelf);
	_Atomic uint8_t *state = &fetch->states[piece->first + index];
	bool is_absent = value->kind == SP_REDIS_NIL;
	sp_redis_row_state now = SP_REDIS_ROW_FOUND;

	/* After a lost connection the same answer may come again. */
	if (atomic_load_explicit(state, memory_order_relaxed) != SP_REDIS_ROW_OPEN)
		return;
	if (!is_absent && (value->kind != SP_REDIS_STRING || value->size != shelf->row_size)) {
		note(fetch, "a row in Redis has another size than the table's");
		return;
	}
	if (is_absent)
		now = fetch->store->layout == SP_REDIS_DEEPREC ? SP_REDIS_ROW_MISSING
							       : SP_REDIS_ROW_ABSENT;
	else
		memcpy(bytes, value->text, value->size);
	if (shelf->ages)
		stamp(shelf, bytes, is_absent);
	atomic_store_explicit(state, (uint8_t)now, memory_order_release);
}

/* The whole answer to a command, or the beginning of it. */
static void take_root(sp_redis_fetch *fetch, sp_redis_piece *piece, const sp_redis_value *value)
{
	size_t wanted = piece->count + (fetch->store->layout == SP_REDIS_VERSIONED);

	if (value->kind == SP_REDIS_ERROR || value->kind == SP_REDIS_FAILED)
		note_reason(fetch, value->text, value->size);
	else if (value->kind != SP_REDIS_ARRAY || value->integer != (int64_t)wanted)
		note(fetch, "Redis answers something else than rows");
	else
		return;
	piece->is_wrong = true;
}

static void take_check(sp_redis_fetch *fetch, const sp_redis_value *value)
{
	int64_t full, latest;

	if (value->kind == SP_REDIS_STRING &&
	    sp_redis_deeprec_version_read(&full, &latest, (sp_bytes){value->text, value->size},
					  NULL) == SP_OK &&
	    full == fetch->store->version.full)
		fetch->is_confirmed = true;
	else
		note(fetch, "the database in Redis has another version now");
}

static void take(void *owner, size_t command, const sp_redis_value *value)
{
	sp_redis_fetch *fetch = owner;
	sp_redis_piece *piece = &fetch->pieces[command];
	size_t index = value->index;

	if (piece->is_check) {
		take_check(fetch, value);
		return;
	}
	if (value->depth == 0) {
		piece->is_wrong = false;
		take_root(fetch, piece, value);
		return;
	}
	if (piece->is_wrong || value->depth != 1)
		return;
	if (fetch->store->layout == SP_REDIS_VERSIONED && index-- == 0) {
		piece->is_wrong = value->kind != SP_REDIS_STRING ||
				  value->size != SP_REDIS_MARK_SIZE ||
				  memcmp(value->text, fetch->store->mark, value->size) != 0;
		if (piece->is_wrong)
			note(fetch, "Redis does not have all rows of the version any more");
		return;
	}
	take_row(fetch, piece, index, value);
}

static void finish(sp_redis_fetch *fetch)
{
	bool is_left;

	pthread_mutex_lock(&fetch->lock);
	fetch->is_done = true;
	is_left = fetch->is_left;
	pthread_mutex_unlock(&fetch->lock);
	pthread_cond_broadcast(&fetch->done);
	if (is_left)
		file_away(fetch);
	sp_redis__fetch_release(fetch);
}

static void done(void *owner)
{
	finish(owner);
}

/* ---- the question ---- */

static void add_hash(sp_redis_batch *batch, const sp_redis_fetch *fetch,
		     const sp_redis_piece *piece)
{
	const sp_redis_row *rows = &fetch->rows[piece->first];
	const sp_redis_shelf *shelf = rows->shelf;
	const char *hash = shelf->hashes[rows->partition];
	bool has_mark = fetch->store->layout == SP_REDIS_VERSIONED;
	size_t size = strlen(hash);
	char field[8];

	sp_redis_batch_begin(batch, hash, size, 2 + has_mark + piece->count);
	sp_redis_batch_add(batch, "HMGET", 5);
	sp_redis_batch_add(batch, hash, size);
	if (has_mark)
		sp_redis_batch_add(batch, SP_REDIS_MARK_FIELD, 1);
	for (size_t i = 0; i < piece->count; i++)
		sp_redis_batch_add(batch, field,
				   sp_redis_field(field, rows[i].key,
						  has_mark ? sizeof(field) : shelf->key_size));
}

static void add_strings(sp_redis_batch *batch, const sp_redis_fetch *fetch,
			const sp_redis_piece *piece)
{
	char key[SP_REDIS_DEEPREC_KEY_MAX];

	sp_redis_batch_begin(batch, NULL, 0, 1 + piece->count);
	sp_redis_batch_add(batch, "MGET", 4);
	for (size_t i = piece->first; i < piece->first + piece->count; i++) {
		const sp_redis_row *row = &fetch->rows[i];

		sp_redis_batch_add(batch, key,
				   sp_redis_deeprec_key(key, (uint64_t)fetch->store->version.full,
							row->shelf->features[row->partition],
							row->key, row->shelf->key_size));
	}
}

/* After the rows: if the version is still there, it was when they were read. */
static void add_check(sp_redis_batch *batch, sp_redis_fetch *fetch)
{
	fetch->pieces[fetch->piece_count++] = (sp_redis_piece){.is_check = true};
	sp_redis_batch_begin(batch, NULL, 0, 2);
	sp_redis_batch_add(batch, "GET", 3);
	sp_redis_batch_add_text(batch, SP_REDIS_DEEPREC_VERSION);
}

static bool goes_on(const sp_redis_fetch *fetch, const sp_redis_piece *piece, size_t i)
{
	const sp_redis_row *first = &fetch->rows[piece->first], *row = &fetch->rows[i];

	return piece->count < PIECE && row->shelf == first->shelf &&
	       (fetch->store->layout == SP_REDIS_DEEPREC || row->partition == first->partition);
}

static void add_commands(sp_redis_batch *batch, sp_redis_fetch *fetch)
{
	bool by_hash = fetch->store->layout != SP_REDIS_DEEPREC;

	for (size_t i = 0; i < fetch->count;) {
		sp_redis_piece *piece = &fetch->pieces[fetch->piece_count++];

		*piece = (sp_redis_piece){.shelf = fetch->rows[i].shelf,
					  .at = fetch->rows[i].at,
					  .first = (uint32_t)i};
		for (; i < fetch->count && goes_on(fetch, piece, i); i++)
			piece->count++;
		if (by_hash)
			add_hash(batch, fetch, piece);
		else
			add_strings(batch, fetch, piece);
	}
	if (!by_hash)
		add_check(batch, fetch);
}

void sp_redis__fetch_send(sp_redis_fetch *fetch)
{
	static const sp_redis_sink sink = {.take = take, .done = done};
	const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + (int64_t)LATE_MS * MS,
				  .only_reads = true,
				  .fails_fast = true,
				  .sink = &sink,
				  .owner = fetch};
	sp_redis_batch *batch = sp_redis_batch_create(fetch->store->client);
	sp_error error = {.text = "no memory"};

	atomic_fetch_add_explicit(&fetch->references, 1, memory_order_relaxed);
	if (batch != NULL)
		add_commands(batch, fetch);
	if (batch == NULL || sp_redis_batch_submit(batch, &how, &error) != SP_OK) {
		note(fetch, error.text);
		finish(fetch);
	}
	sp_redis_batch_release(batch);
}

bool sp_redis__fetch_wait(sp_redis_fetch *fetch, int64_t deadline_ns)
{
	const struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	int fault = 0;
	bool is_done;

	pthread_mutex_lock(&fetch->lock);
	while (!fetch->is_done && fault == 0)
		fault = pthread_cond_timedwait(&fetch->done, &fetch->lock, &until);
	is_done = fetch->is_done;
	pthread_mutex_unlock(&fetch->lock);
	return is_done;
}
