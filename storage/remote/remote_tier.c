#include "storage/remote/remote_tier.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/cache/key_miss.h"
#include "storage/scratch.h"

/*
 * A read first looks up each table's cache, in blocks of keys.  The misses of a table are sorted by
 * partition and added in that order to a fetch, repeated keys only once.  When the rows have come,
 * or the time is over, they are copied to the places of their keys in the same order, which is the
 * order of the fetch's memory.  Many misses are split into pieces, each with a fetch of its own, so
 * that the rows of the first pieces are copied and cached while the others are in flight.
 *
 * If the store has a file, keys that the file may have are read from it instead, each key once.
 */

enum {
	CACHE_BLOCK = 32, /* keys that are looked up in the cache together */
	PIECES = 4,       /* of a read's misses */
	PIECE_KEYS = 256, /* misses of a piece at least */
	MS = 1000000,
};

typedef struct remote_tier {
	sp_tier tier;
	sp_tier_kind kind;
	sp_remote_table *table;
} remote_tier;

/* Misses that are fetched together. */
typedef struct read_piece {
	size_t first, end;
	sp_remote_fetch *fetches[2]; /* sent before and after the file is read; NULL: not needed */
} read_piece;

/* Arrays in the scratch. */
typedef struct read_state {
	sp_key_miss *misses;          /* [keys] by read and partition, which is in `key` */
	sp_remote_row **pending;      /* [keys] of the misses, or FROM_FILE; NULL: not requested */
	sp_row_cache_result *results; /* [CACHE_BLOCK] */
	void *rows;                   /* [CACHE_BLOCK] of the widest table */
	size_t miss_count;
	read_piece pieces[PIECES];
	size_t piece_count;
	uint64_t call;
	sp_remote_stamp now;
	const sp_tier_read *reads;

	/* Of a store with a file. */
	sp_key_miss *order;         /* [keys] misses by read and key; at: index in `misses` */
	sp_row_file_row *file_rows; /* [keys] that the file may have; owner: index in `order` */
	size_t file_row_count;
} read_state;

/* Stands for the row of a key that is to be read, or was read, from the file. */
static sp_remote_row from_file;
#define FROM_FILE (&from_file)

static sp_remote_table *table_of(const sp_tier *tier)
{
	return ((const remote_tier *)tier)->table;
}

/* ---- scratch ---- */

static void lay_out(read_state *state, sp_scratch *s, const sp_tier_read *reads, size_t count)
{
	size_t keys = 0, widest = 0;

	for (size_t r = 0; r < count; r++) {
		size_t stride = sp_row_cache_row_stride(table_of(reads[r].tier)->cache);

		if (!sp_size_add(&keys, keys, reads[r].count))
			s->used = SIZE_MAX;
		if (stride > widest)
			widest = stride;
	}
	state->misses = sp_scratch_take(s, keys, sizeof(*state->misses));
	state->pending = sp_scratch_take(s, keys, sizeof(*state->pending));
	state->results = sp_scratch_take(s, CACHE_BLOCK, sizeof(*state->results));
	state->rows = sp_scratch_take(s, CACHE_BLOCK, widest);
	state->reads = reads;
	if (table_of(reads[0].tier)->store->file == NULL)
		return;
	state->order = sp_scratch_take(s, keys, sizeof(*state->order));
	state->file_rows = sp_scratch_take(s, keys, sizeof(*state->file_rows));
}

/* The tier's read gets the sum over its reads, which is at least what they need together. */
static size_t scratch_size(const sp_tier *tier, size_t count)
{
	const sp_tier_read read = {.tier = (sp_tier *)(uintptr_t)tier, .count = count};
	sp_scratch s = {0};
	read_state state;

	lay_out(&state, &s, &read, 1);
	return s.used;
}

/* ---- the cache ---- */

/* The cache's result, except that a row older than max_age_s is a miss. */
static sp_row_cache_result check_age(const sp_remote_table *table, sp_row_cache_result result,
				     const char *row, sp_remote_stamp now)
{
	sp_remote_stamp stamp;

	if (result != SP_ROW_CACHE_ROW || table->max_age_s == 0)
		return result;
	memcpy(&stamp, row + table->row_size, sizeof(stamp));
	if ((int64_t)now - (stamp >> 1) >= table->max_age_s)
		return SP_ROW_CACHE_MISS;
	return (stamp & 1) != 0 ? SP_ROW_CACHE_ABSENT : SP_ROW_CACHE_ROW;
}

/* Looks up a block of a read's keys and lists the misses; returns the hits. */
static size_t read_cached(read_state *state, const sp_tier_read *reads, size_t r, size_t first,
			  size_t count)
{
	const sp_tier_read *read = &reads[r];
	sp_remote_table *table = table_of(read->tier);
	size_t stride = sp_row_cache_row_stride(table->cache), hits = 0, found = 0;

	sp_row_cache_read(table->cache, read->keys + first, count, state->results, state->rows);
	for (size_t i = 0; i < count; i++) {
		const char *row = (const char *)state->rows + i * stride;
		sp_row_cache_result result = check_age(table, state->results[i], row, state->now);
		size_t at = first + i;

		if (result == SP_ROW_CACHE_MISS) {
			state->pending[state->miss_count] = NULL;
			state->misses[state->miss_count++] = (sp_key_miss){
				table->store->source->partition(table, read->keys[at]), (uint32_t)r,
				(uint32_t)at};
			continue;
		}
		hits++;
		read->found[at] = result == SP_ROW_CACHE_ROW;
		if (!read->found[at])
			continue;
		found++;
		table->codec->decode(table->dim, row, read->rows[at]);
	}
	if (hits != found)
		sp_remote__count_up(&table->absent, hits - found);
	return hits;
}

static void read_caches(read_state *state, const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		sp_remote_table *table = table_of(reads[r].tier);
		size_t hits = 0;

		for (size_t done = 0, piece; done < reads[r].count; done += piece) {
			piece = reads[r].count - done < CACHE_BLOCK ? reads[r].count - done
								    : CACHE_BLOCK;
			hits += read_cached(state, reads, r, done, piece);
		}
		sp_remote__count_up(&table->asked, reads[r].count);
		sp_remote__count_up(&table->hot_hits, hits);
	}
}

/* ---- fetches ---- */

/* Sorts the misses of one read, which begin at `first`; returns the index after the last one. */
static size_t group_misses(read_state *state, size_t first)
{
	uint32_t read = state->misses[first].read;
	size_t end = first;

	while (end < state->miss_count && state->misses[end].read == read)
		end++;
	sp_key_miss_sort(state->misses + first, end - first);
	return end;
}

static sp_remote_table *table_of_miss(const read_state *state, size_t i)
{
	return table_of(state->reads[state->misses[i].read].tier);
}

/* Divides the misses into pieces. */
static void split_into_pieces(read_state *state)
{
	size_t size = state->miss_count / PIECES + 1;

	if (size < PIECE_KEYS)
		size = PIECE_KEYS;
	for (size_t first = 0; first < state->miss_count; first += size) {
		size_t end = first + size < state->miss_count ? first + size : state->miss_count;

		state->pieces[state->piece_count++] = (read_piece){.first = first, .end = end};
	}
}

/*
 * A fetch for the misses of a piece that are not requested yet; NULL: out of memory, or *count is
 * 0.
 */
static sp_remote_fetch *create_fetch(const read_state *state, const read_piece *piece,
				     size_t *count)
{
	size_t bytes = 0;

	*count = 0;
	for (size_t i = piece->first; i < piece->end; i++)
		if (state->pending[i] == NULL) {
			bytes += sp_remote__cached_size(table_of_miss(state, i));
			++*count;
		}
	if (*count == 0)
		return NULL;
	return sp_remote__fetch_create(table_of_miss(state, piece->first)->store, *count, bytes,
				       state->call);
}

static int64_t key_of_miss(const read_state *state, size_t i)
{
	return state->reads[state->misses[i].read].keys[state->misses[i].at];
}

static void add_rows(read_state *state, const read_piece *piece, sp_remote_fetch *fetch)
{
	for (size_t i = piece->first; i < piece->end; i++) {
		size_t later = i + SP_REMOTE_AHEAD;

		if (later < piece->end)
			sp_remote__fetch_prefetch(fetch, table_of_miss(state, later),
						  key_of_miss(state, later));
		if (state->pending[i] == NULL)
			state->pending[i] = sp_remote__fetch_add(fetch, table_of_miss(state, i),
								 key_of_miss(state, i),
								 (uint32_t)state->misses[i].key);
	}
}

/*
 * Fetches the misses that are not requested yet, one fetch per piece.  `which`: 0 before and 1
 * after the file is read.
 */
static sp_status send_fetches(read_state *state, int which, sp_error *err)
{
	for (size_t p = 0; p < state->piece_count; p++) {
		read_piece *piece = &state->pieces[p];
		size_t count;
		sp_remote_fetch *fetch = create_fetch(state, piece, &count);

		if (count == 0)
			continue;
		SP_NEED_MEMORY(fetch, err, "%zu rows from %s", count,
			       table_of_miss(state, piece->first)->store->source->title);
		piece->fetches[which] = fetch;
		add_rows(state, piece, fetch);
		if (fetch->count != 0)
			sp_remote__fetch_send(fetch);
	}
	return SP_OK;
}

/* ---- the file ---- */

/* The misses of one read, which begin at `first`, by key, each key once in `file_rows`. */
static size_t list_file_keys(read_state *state, size_t first)
{
	const sp_key_miss *misses = state->misses;
	const sp_remote_table *table = table_of_miss(state, first);
	uint32_t read = misses[first].read;
	size_t end = first;

	for (; end < state->miss_count && misses[end].read == read; end++)
		state->order[end] = (sp_key_miss){state->reads[read].keys[misses[end].at], read,
						  (uint32_t)end};
	sp_key_miss_sort(state->order + first, end - first);
	for (size_t i = first; i < end; i++)
		if (i == first || state->order[i].key != state->order[i - 1].key)
			state->file_rows[state->file_row_count++] = (sp_row_file_row){
				.key = state->order[i].key,
				.table = table->file_table,
				.size = (uint32_t)sp_remote__cached_size(table),
				.owner = i};
	return end;
}

/* Sets the row of all misses of a key; returns how many there are. */
static size_t set_pending(read_state *state, const sp_row_file_row *file_row, sp_remote_row *row)
{
	const sp_key_miss *first = &state->order[file_row->owner], *miss = first;
	const sp_key_miss *end = state->order + state->miss_count;

	for (; miss < end && miss->key == first->key && miss->read == first->read; miss++)
		state->pending[miss->at] = row;
	return (size_t)(miss - first);
}

/* Marks the misses that the file may have as FROM_FILE. */
static void find_in_file(read_state *state, const sp_row_file *file)
{
	if (file == NULL || !sp_row_file_is_ready(file))
		return;
	for (size_t at = 0; at < state->miss_count;)
		at = list_file_keys(state, at);
	state->file_row_count = sp_row_file_find(file, state->file_rows, state->file_row_count);
	for (size_t i = 0; i < state->file_row_count; i++)
		(void)set_pending(state, &state->file_rows[i], FROM_FILE);
}

/* Copies a row from the file to all places of its key, unless it is too old. */
static void on_file_row(void *context, const sp_row_file_row *file_row, const void *bytes)
{
	read_state *state = context;
	const sp_key_miss *first = &state->order[file_row->owner];
	const sp_tier_read *read = &state->reads[first->read];
	sp_remote_table *table = table_of(read->tier);
	size_t copies;

	if (bytes == NULL) {
		sp_remote__count_up(&table->disk_errors, 1);
		return;
	}
	if (check_age(table, SP_ROW_CACHE_ROW, bytes, state->now) != SP_ROW_CACHE_ROW)
		return;
	copies = set_pending(state, file_row, FROM_FILE);
	for (size_t i = 0; i < copies; i++) {
		size_t at = state->misses[first[i].at].at;

		read->found[at] = true;
		table->codec->decode(table->dim, bytes, read->rows[at]);
	}
	sp_remote__count_up(&table->disk_hits, copies);
	sp_row_cache_fill(table->cache, file_row->key, bytes);
}

/* Afterwards the misses that the file does not have are not requested yet. */
static void read_file(read_state *state, sp_row_file *file, int64_t deadline_ns)
{
	for (size_t i = 0; i < state->file_row_count; i++)
		(void)set_pending(state, &state->file_rows[i], NULL);
	sp_row_file_read(file, state->file_rows, state->file_row_count, on_file_row, state,
			 deadline_ns);
}

/* ---- results ---- */

/* Copies a row to the place of its key; false: there is no result. */
static bool copy_out(const sp_tier_read *reads, const sp_key_miss *miss, const sp_remote_row *row,
		     bool in_time)
{
	const sp_tier_read *read = &reads[miss->read];
	sp_remote_table *table = row->table;
	sp_remote_row_state how = sp_remote__row_state(row, in_time);

	read->found[miss->at] = how == SP_REMOTE_ROW_FOUND;
	if (how == SP_REMOTE_ROW_FOUND)
		table->codec->decode(table->dim, row->fetch->bytes + row->at, read->rows[miss->at]);
	else if (how == SP_REMOTE_ROW_ABSENT)
		sp_remote__count_up(&table->absent, 1);
	else
		sp_remote__count_up(&table->defaulted, 1);
	return how != SP_REMOTE_ROW_PENDING;
}

/* The error for a key without a result. */
static sp_status explain(const sp_remote_row *row, bool in_time, sp_error *err)
{
	const char *table = row->table->name, *title = row->table->store->source->title;

	if (!in_time)
		return sp_error_set(err, SP_DEADLINE, "table '%s', %s tier: no answer in time",
				    table, title);
	return sp_error_set(err, SP_IO, "table '%s', %s tier: %s", table, title,
			    row->fetch->reason[0] != '\0' ? row->fetch->reason : "no answer");
}

static void count_errors(const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++)
		sp_remote__count_up(&table_of(reads[r].tier)->errors, 1);
}

static bool is_in_flight(const sp_remote_row *row)
{
	return row != NULL && row != FROM_FILE;
}

static void detach(const read_piece *piece)
{
	for (int which = 0; which < 2; which++)
		if (piece->fetches[which] != NULL && piece->fetches[which]->count != 0)
			sp_remote__fetch_detach(piece->fetches[which]);
}

/* Waits for the rows of a piece, copies them, and caches those of its own fetches. */
static sp_status collect(const read_state *state, const read_piece *piece, int64_t deadline_ns,
			 bool fail_on_timeout, sp_error *err)
{
	const sp_remote_fetch *last = NULL;
	sp_status status = SP_OK;
	bool in_time = true;

	for (size_t i = piece->first; i < piece->end; i++) {
		const sp_remote_row *row = state->pending[i];

		if (!is_in_flight(row))
			continue;
		if (row->fetch != last)
			in_time = sp_remote__fetch_wait(row->fetch, deadline_ns);
		last = row->fetch;
		if (!copy_out(state->reads, &state->misses[i], row, in_time) && fail_on_timeout &&
		    status == SP_OK)
			status = explain(row, in_time, err);
	}
	detach(piece);
	return status;
}

static sp_status collect_all(const read_state *state, int64_t deadline_ns, bool fail_on_timeout,
			     sp_error *err)
{
	const sp_remote_source *source = table_of(state->reads[0].tier)->store->source;
	sp_status status = SP_OK;

	for (size_t p = 0; p < state->piece_count; p++) {
		sp_status one = collect(state, &state->pieces[p], deadline_ns,
					fail_on_timeout && status == SP_OK, err);

		if (status == SP_OK)
			status = one;
	}
	if (source->stop_polling != NULL)
		source->stop_polling(table_of(state->reads[0].tier)->store);
	return status;
}

/* Releases all fetches, in the end only, because a later piece may use a row of an earlier one. */
static void release(const read_state *state)
{
	for (size_t i = 0; i < state->miss_count; i++)
		if (is_in_flight(state->pending[i]) &&
		    state->pending[i]->fetch->call != state->call)
			sp_remote__fetch_release(state->pending[i]->fetch);
	for (size_t p = 0; p < state->piece_count; p++)
		for (int which = 0; which < 2; which++)
			if (state->pieces[p].fetches[which] != NULL)
				sp_remote__fetch_release(state->pieces[p].fetches[which]);
}

/* Fetches what the file does not have, while it is read. */
static sp_status fetch_and_read_file(read_state *state, int64_t deadline_ns, sp_error *err)
{
	sp_remote_store *store = table_of(state->reads[0].tier)->store;
	int64_t start_ns = sp_clock_now_ns(), limit_ns = start_ns + store->options.timeout_ms * MS;
	sp_status sent, status;

	if (deadline_ns != 0 && deadline_ns < limit_ns)
		limit_ns = deadline_ns;
	state->call = atomic_fetch_add_explicit(&store->calls, 1, memory_order_relaxed);
	find_in_file(state, store->file);
	split_into_pieces(state);
	sent = send_fetches(state, 0, err);
	if (sent == SP_OK && state->file_row_count != 0) {
		read_file(state, store->file, start_ns + (limit_ns - start_ns) / 2);
		sent = send_fetches(state, 1, err);
	}
	/* Without memory there is nothing to wait for. */
	status = collect_all(state, sent == SP_OK ? limit_ns : start_ns,
			     store->options.fail_on_timeout, sent == SP_OK ? err : NULL);
	release(state);
	return sent != SP_OK ? sent : status;
}

static sp_status read_misses(read_state *state, size_t count, int64_t deadline_ns, sp_error *err)
{
	sp_status status;

	if (state->miss_count == 0)
		return SP_OK;
	for (size_t at = 0; at < state->miss_count;)
		at = group_misses(state, at);
	status = fetch_and_read_file(state, deadline_ns, err);
	if (status != SP_OK)
		count_errors(state->reads, count);
	return status;
}

static sp_status remote_read(const sp_tier_read *reads, size_t count, void *scratch,
			     int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	read_state state = {0};

	for (size_t r = 0; r < count; r++)
		if (reads[r].count > UINT32_MAX)
			return sp_error_set(err, SP_INVALID, "a lookup of %zu keys",
					    reads[r].count);
	lay_out(&state, &s, reads, count);
	state.now = sp_remote__age(table_of(reads[0].tier)->store, sp_clock_now_ns());
	read_caches(&state, reads, count);
	return read_misses(&state, count, deadline_ns, err);
}

/* ---- the tier ---- */

static uint64_t load(const atomic_uint_least64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void remote_counters(const sp_tier *tier, sp_tier_counters *out)
{
	const sp_remote_table *table = table_of(tier);
	const sp_row_file *file = table->store->file;

	*out = (sp_tier_counters){
		.asked = load(&table->asked),
		.absent = load(&table->absent),
		.hot_hits = load(&table->hot_hits),
		.errors = load(&table->errors),
		.bytes_read = load(&table->bytes_read),
		.defaulted = load(&table->defaulted),
		.disk_hits = load(&table->disk_hits),
		.disk_errors = load(&table->disk_errors),
		.disk_dropped = load(&table->disk_dropped),
		.disks = file != NULL || table->store->lacks_file,
		.disks_up = file != NULL && sp_row_file_is_on(file),
	};
	table->store->source->count(table->store, out);
}

static size_t remote_footprint(const sp_tier *tier)
{
	const sp_remote_table *table = table_of(tier);
	const sp_row_file *file = table->store->file;
	size_t bytes = sizeof(remote_tier) + sp_row_cache_footprint(table->cache);

	/* The file's memory is counted for its first table only. */
	return file != NULL && table->file_table == 0 ? bytes + sp_row_file_footprint(file) : bytes;
}

static void remote_destroy(sp_tier *tier)
{
	sp_remote_table *table = table_of(tier);
	sp_tier_counters c;

	remote_counters(tier, &c);
	if (c.asked != 0)
		sp_log(SP_LOG_INFO,
		       "table '%s', %s tier: %" PRIu64 " keys, %.2f %% of them in memory, %" PRIu64
		       " bytes read, %" PRIu64 " keys not answered in time",
		       table->name, table->store->source->title, c.asked,
		       100.0 * (double)c.hot_hits / (double)c.asked, c.bytes_read, c.defaulted);
	sp_remote_store_release(table->store);
	sp_free(tier);
}

/* The name depends on the source, so each tier has a copy of this. */
static const sp_tier_kind remote_kind = {
	.scratch = scratch_size,
	.read = remote_read,
	.counters = remote_counters,
	.footprint = remote_footprint,
	.destroy = remote_destroy,
};

enum { SPARE_ROWS = 16384 };

/* The number of keys worth caching: the table's, and as many absent ones.  0: unknown. */
static size_t max_cached_keys(const sp_remote_table *table)
{
	return table->row_count < SIZE_MAX / 4 ? 2 * table->row_count + SPARE_ROWS : 0;
}

static bool is_counted(const sp_remote_table *table)
{
	return table->row_count != SIZE_MAX;
}

static sp_status open_cache(sp_row_cache **out, const sp_remote_table *table, size_t cap_bytes,
			    sp_error *err)
{
	const sp_row_cache_options cache = {.row_size = sp_remote__cached_size(table),
					    .cap_bytes = cap_bytes,
					    .max_rows = max_cached_keys(table),
					    .policy = table->store->options.policy};

	return sp_row_cache_create(out, &cache, err);
}

static size_t size_with_key(const sp_remote_table *table)
{
	return sp_remote__cached_size(table) + sizeof(int64_t);
}

sp_status sp_remote_store_divide_cache(sp_remote_store *store, sp_error *err)
{
	size_t total = 0;

	for (const sp_remote_table *table = store->tables; table != NULL; table = table->next)
		total += is_counted(table) ? 0 : size_with_key(table);
	for (sp_remote_table *table = store->tables; table != NULL; table = table->next) {
		__uint128_t bytes = (__uint128_t)store->options.cache_bytes * size_with_key(table);
		sp_row_cache *cache;

		if (is_counted(table))
			continue;
		SP_TRY(open_cache(&cache, table, (size_t)(bytes / total), err));
		sp_row_cache_destroy(table->cache);
		table->cache = cache;
	}
	return SP_OK;
}

sp_status sp_remote_tier_open(sp_tier **out, sp_remote_table *table, sp_error *err)
{
	sp_remote_store *store = table->store;
	remote_tier *tier = sp_alloc_zero(1, sizeof(*tier));
	sp_status status;

	SP_NEED_MEMORY(tier, err, "table '%s' in %s", table->name, store->source->title);
	status = open_cache(&table->cache, table,
			    is_counted(table) ? store->options.cache_bytes : 1, err);
	if (status != SP_OK) {
		sp_free(tier);
		return status;
	}
	pthread_mutex_lock(&store->lock);
	if (store->file != NULL)
		table->file_table = sp_row_file_add_table(
			store->file, sp_remote__cached_size(table), table->row_count);
	table->next = store->tables;
	store->tables = table;
	pthread_mutex_unlock(&store->lock);
	tier->table = table;
	tier->kind = remote_kind;
	tier->kind.name = store->source->name;
	tier->tier.kind = &tier->kind;
	tier->tier.dim = table->dim;
	tier->tier.row_count = table->row_count;
	atomic_init(&tier->tier.references, 1);
	sp_remote_store_retain(store);
	*out = &tier->tier;
	return SP_OK;
}
