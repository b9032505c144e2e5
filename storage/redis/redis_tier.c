#include "storage/redis/redis_tier.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/cache/key_miss.h"
#include "storage/redis/redis_tier_internal.h"
#include "storage/scratch.h"

/*
 * A read looks up the cache of each table, in blocks of keys.  The misses are sorted by table and
 * key, so that repeats are adjacent; each key then wants a row, in the order of the hashes, and
 * when the rows have come, or the time is over, they are copied to all places of their keys.
 */

enum {
	CACHE_BLOCK = 32, /* keys that are looked up in the cache together */
	MS = 1000000,
};

typedef struct redis_tier {
	sp_tier tier;
	sp_redis_shelf *shelf;
} redis_tier;

/* A key without repeats: its misses are from `first` on. */
typedef struct wanted_key {
	size_t first;
	sp_redis_row *row;
} wanted_key;

/* Arrays in the scratch. */
typedef struct read_state {
	sp_key_miss *misses; /* [keys] */
	wanted_key *wanted;  /* [keys] */
	sp_key_miss *order;  /* [keys] wanted keys of a read by partition; at: index in `wanted` */
	sp_row_cache_answer *answers; /* [CACHE_BLOCK] */
	void *rows;                   /* [CACHE_BLOCK] of the widest table */
	size_t miss_count, wanted_count;
	size_t bytes; /* of the rows that are wanted */
	sp_redis_stamp now;
} read_state;

static sp_redis_shelf *shelf_of(const sp_tier *tier)
{
	return ((const redis_tier *)tier)->shelf;
}

/* ---- scratch ---- */

static void lay_out(read_state *state, sp_scratch *s, const sp_tier_read *reads, size_t count)
{
	size_t keys = 0, widest = 0;

	for (size_t r = 0; r < count; r++) {
		size_t stride = sp_row_cache_row_stride(shelf_of(reads[r].tier)->cache);

		if (!sp_size_add(&keys, keys, reads[r].count))
			s->used = SIZE_MAX;
		if (stride > widest)
			widest = stride;
	}
	state->misses = sp_scratch_take(s, keys, sizeof(*state->misses));
	state->wanted = sp_scratch_take(s, keys, sizeof(*state->wanted));
	state->order = sp_scratch_take(s, keys, sizeof(*state->order));
	state->answers = sp_scratch_take(s, CACHE_BLOCK, sizeof(*state->answers));
	state->rows = sp_scratch_take(s, CACHE_BLOCK, widest);
}

/* read() gets the sum of the sizes of its reads, which is at least what they need together. */
static size_t scratch_size(const sp_tier *tier, size_t count)
{
	const sp_tier_read read = {.tier = (sp_tier *)(uintptr_t)tier, .count = count};
	sp_scratch s = {0};
	read_state state;

	lay_out(&state, &s, &read, 1);
	return s.used;
}

/* ---- the cache ---- */

/* What the cache knows of a key; a row that is too old is a miss. */
static sp_row_cache_answer judge(const sp_redis_shelf *shelf, sp_row_cache_answer answer,
				 const char *row, sp_redis_stamp now)
{
	sp_redis_stamp stamp;

	if (answer != SP_ROW_CACHE_ROW || !shelf->ages)
		return answer;
	memcpy(&stamp, row + shelf->row_size, sizeof(stamp));
	if ((int64_t)now - (stamp >> 1) >= shelf->store->keep_s)
		return SP_ROW_CACHE_MISS;
	return (stamp & 1) != 0 ? SP_ROW_CACHE_ABSENT : SP_ROW_CACHE_ROW;
}

/* Looks up a block of a read's keys and lists the misses; returns the hits. */
static size_t read_cached(read_state *state, const sp_tier_read *reads, size_t r, size_t first,
			  size_t count)
{
	const sp_tier_read *read = &reads[r];
	sp_redis_shelf *shelf = shelf_of(read->tier);
	size_t stride = sp_row_cache_row_stride(shelf->cache), hits = 0, found = 0;

	sp_row_cache_read(shelf->cache, read->keys + first, count, state->answers, state->rows);
	for (size_t i = 0; i < count; i++) {
		const char *row = (const char *)state->rows + i * stride;
		sp_row_cache_answer answer = judge(shelf, state->answers[i], row, state->now);
		size_t at = first + i;

		if (answer == SP_ROW_CACHE_MISS) {
			state->misses[state->miss_count++] = (sp_key_miss){
				read->keys[at], (uint32_t)r, (uint32_t)at};
			continue;
		}
		hits++;
		read->found[at] = answer == SP_ROW_CACHE_ROW;
		if (!read->found[at])
			continue;
		found++;
		shelf->codec->decode(shelf->dim, row, read->rows[at]);
	}
	if (hits != found)
		sp_redis__count_up(&shelf->absent, hits - found);
	return hits;
}

static void read_caches(read_state *state, const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		sp_redis_shelf *shelf = shelf_of(reads[r].tier);
		size_t hits = 0;

		for (size_t done = 0, piece; done < reads[r].count; done += piece) {
			piece = reads[r].count - done < CACHE_BLOCK ? reads[r].count - done
								    : CACHE_BLOCK;
			hits += read_cached(state, reads, r, done, piece);
		}
		sp_redis__count_up(&shelf->asked, reads[r].count);
		sp_redis__count_up(&shelf->hot_hits, hits);
	}
}

/* ---- what is wanted ---- */

static uint32_t partition_of(const sp_redis_shelf *shelf, int64_t key)
{
	switch (shelf->store->layout) {
	case SP_REDIS_DEEPREC:
		return (uint32_t)((uint64_t)key % 1000 % shelf->feature_count);
	case SP_REDIS_TFRA:
		return (uint32_t)sp_redis_tfra_slice(key, shelf->partitions);
	default:
		return (uint32_t)sp_redis_partition((uint64_t)key, shelf->partitions);
	}
}

/* Sorts the misses of one read, which begin at `first`; returns the index after the last one. */
static size_t group_misses(read_state *state, const sp_tier_read *reads, size_t first)
{
	const sp_key_miss *misses = state->misses;
	const sp_redis_shelf *shelf = shelf_of(reads[misses[first].read].tier);
	size_t end = first, start = state->wanted_count;

	while (end < state->miss_count && misses[end].read == misses[first].read)
		end++;
	sp_key_miss_sort(state->misses + first, end - first);
	for (size_t at = first; at < end; at++) {
		if (at != first && misses[at].key == misses[at - 1].key)
			continue;
		state->order[state->wanted_count] = (sp_key_miss){
			partition_of(shelf, misses[at].key), misses[at].read,
			(uint32_t)state->wanted_count};
		state->wanted[state->wanted_count++] = (wanted_key){.first = at};
	}
	sp_key_miss_sort(state->order + start, state->wanted_count - start);
	state->bytes += (state->wanted_count - start) * sp_redis__kept_size(shelf);
	return end;
}

static void want(read_state *state, const sp_tier_read *reads, sp_redis_fetch *own)
{
	for (size_t i = 0; i < state->wanted_count; i++) {
		const sp_key_miss *next = &state->order[i];
		wanted_key *wanted = &state->wanted[next->at];

		wanted->row = sp_redis__fetch_want(own, shelf_of(reads[next->read].tier),
						   state->misses[wanted->first].key,
						   (uint32_t)next->key);
	}
}

/* ---- what has come ---- */

/* Copies the row of a wanted key to all of its places; false: there is no answer. */
static bool copy_out(const read_state *state, const sp_tier_read *reads, const wanted_key *wanted,
		     bool in_time)
{
	const sp_key_miss *miss = &state->misses[wanted->first];
	const sp_tier_read *read = &reads[miss->read];
	const sp_redis_row *row = wanted->row;
	const sp_redis_shelf *shelf = row->shelf;
	sp_redis_row_state how = sp_redis__row_state(row, in_time);
	const sp_key_miss *end = state->misses + state->miss_count;
	size_t copies = 0;

	for (; miss < end && miss->key == row->key && &reads[miss->read] == read; miss++) {
		read->found[miss->at] = how == SP_REDIS_ROW_FOUND;
		if (how == SP_REDIS_ROW_FOUND)
			shelf->codec->decode(shelf->dim, row->fetch->bytes + row->at,
					     read->rows[miss->at]);
		copies++;
	}
	if (how == SP_REDIS_ROW_ABSENT)
		sp_redis__count_up(&row->shelf->absent, copies);
	else if (how == SP_REDIS_ROW_OPEN)
		sp_redis__count_up(&row->shelf->defaulted, copies);
	return how != SP_REDIS_ROW_OPEN;
}

/* Why a key has no answer. */
static sp_status explain(const sp_redis_row *row, bool in_time, sp_error *err)
{
	const char *table = row->shelf->name;

	if (!in_time)
		return sp_error_set(err, SP_DEADLINE, "table '%s', Redis tier: no answer in time",
				    table);
	return sp_error_set(err, SP_IO, "table '%s', Redis tier: %s", table,
			    row->fetch->reason[0] != '\0' ? row->fetch->reason : "no answer");
}

static void count_errors(const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++)
		sp_redis__count_up(&shelf_of(reads[r].tier)->errors, 1);
}

/* Waits for all rows that are wanted, copies them, and lets go of their fetches. */
static sp_status collect(read_state *state, const sp_tier_read *reads, int64_t deadline_ns,
			 bool fails, sp_error *err)
{
	const sp_redis_fetch *last = NULL;
	sp_status status = SP_OK;
	bool in_time = true;

	for (size_t i = 0; i < state->wanted_count; i++) {
		sp_redis_fetch *fetch = state->wanted[i].row->fetch;

		if (fetch != last)
			in_time = sp_redis__fetch_wait(fetch, deadline_ns);
		last = fetch;
		if (!copy_out(state, reads, &state->wanted[i], in_time) && fails && status == SP_OK)
			status = explain(state->wanted[i].row, in_time, err);
	}
	for (size_t i = 0; i < state->wanted_count; i++)
		sp_redis__fetch_release(state->wanted[i].row->fetch);
	return status;
}

static sp_status read_missed(read_state *state, const sp_tier_read *reads, size_t count,
			     int64_t deadline_ns, sp_error *err)
{
	sp_redis_store *store = shelf_of(reads[0].tier)->store;
	int64_t limit_ns = sp_clock_now_ns() + store->limit_ms * MS;
	sp_redis_fetch *own;
	sp_status status;

	if (state->miss_count == 0)
		return SP_OK;
	for (size_t at = 0; at < state->miss_count;)
		at = group_misses(state, reads, at);
	own = sp_redis__fetch_create(store, state->wanted_count, state->bytes);
	SP_NEED_MEMORY(own, err, "%zu rows from Redis", state->wanted_count);
	want(state, reads, own);
	if (own->count != 0)
		sp_redis__fetch_send(own);
	if (deadline_ns != 0 && deadline_ns < limit_ns)
		limit_ns = deadline_ns;
	status = collect(state, reads, limit_ns, store->fails, err);
	if (own->count != 0)
		sp_redis__fetch_leave(own);
	sp_redis__fetch_release(own);
	if (status != SP_OK)
		count_errors(reads, count);
	return status;
}

static sp_status redis_read(const sp_tier_read *reads, size_t count, void *scratch,
			    int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	read_state state = {0};

	for (size_t r = 0; r < count; r++)
		if (reads[r].count > UINT32_MAX)
			return sp_error_set(err, SP_INVALID, "a lookup of %zu keys",
					    reads[r].count);
	lay_out(&state, &s, reads, count);
	if (shelf_of(reads[0].tier)->ages)
		state.now = sp_redis__age(shelf_of(reads[0].tier)->store, sp_clock_now_ns());
	read_caches(&state, reads, count);
	return read_missed(&state, reads, count, deadline_ns, err);
}

/* ---- the tier ---- */

static uint64_t load(const atomic_uint_least64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void redis_counters(const sp_tier *tier, sp_tier_counters *out)
{
	const sp_redis_shelf *shelf = shelf_of(tier);
	sp_redis_counters client;

	sp_redis_client_counters(shelf->store->client, &client);
	*out = (sp_tier_counters){
		.asked = load(&shelf->asked),
		.absent = load(&shelf->absent),
		.hot_hits = load(&shelf->hot_hits),
		.errors = load(&shelf->errors),
		.bytes_read = load(&shelf->bytes_read),
		.defaulted = load(&shelf->defaulted),
		.servers = client.servers,
		.servers_up = client.servers_up,
		.round_trips = client.round_trip_count,
		.round_trip_ns = client.round_trip_ns,
	};
}

static size_t redis_footprint(const sp_tier *tier)
{
	return sizeof(redis_tier) + sp_row_cache_footprint(shelf_of(tier)->cache);
}

static void redis_destroy(sp_tier *tier)
{
	sp_redis_shelf *shelf = shelf_of(tier);
	sp_tier_counters c;

	redis_counters(tier, &c);
	if (c.asked != 0)
		sp_log(SP_LOG_INFO,
		       "table '%s', Redis tier: %" PRIu64
		       " keys, %.2f %% of them in memory, %" PRIu64 " bytes read, %" PRIu64
		       " keys not answered in time",
		       shelf->name, c.asked, 100.0 * (double)c.hot_hits / (double)c.asked,
		       c.bytes_read, c.defaulted);
	sp_redis_store_release(shelf->store);
	sp_free(tier);
}

static const sp_tier_kind redis_kind = {
	.name = "redis",
	.scratch = scratch_size,
	.read = redis_read,
	.counters = redis_counters,
	.footprint = redis_footprint,
	.destroy = redis_destroy,
};

sp_status sp_redis_tier_open(sp_tier **out, sp_redis_store *store, const sp_redis_table *table,
			     sp_error *err)
{
	redis_tier *tier = sp_alloc_zero(1, sizeof(*tier));
	sp_status status;

	SP_NEED_MEMORY(tier, err, "table '%s' in Redis", table->name);
	status = sp_redis__shelf_create(&tier->shelf, store, table, err);
	if (status != SP_OK) {
		sp_free(tier);
		return status;
	}
	tier->tier.kind = &redis_kind;
	tier->tier.dim = table->dim;
	tier->tier.row_count = tier->shelf->row_count;
	atomic_init(&tier->tier.references, 1);
	sp_redis_store_retain(store);
	*out = &tier->tier;
	return SP_OK;
}
