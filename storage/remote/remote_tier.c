#include "storage/remote/remote_tier.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/cache/key_miss.h"
#include "storage/scratch.h"

/*
 * A read looks up the cache of each table, in blocks of keys.  The misses of a table are sorted by
 * partition, in which order each wants its row, a repeat that of the first; when the rows have
 * come, or the time is over, they are copied to the places of their keys in the same order, which
 * is that of their memory.  Many misses are asked for in pieces, so that the rows of the first are
 * copied and filed while the others are still on their way.
 *
 * Of a store with a file, misses that the file may have are read from it instead, each key once.
 */

enum {
	CACHE_BLOCK = 32, /* keys that are looked up in the cache together */
	PIECES = 4,       /* of a read's misses, of at least so many keys: */
	PIECE_KEYS = 256,
	MS = 1000000,
};

typedef struct own_tier {
	sp_tier tier;
	sp_tier_kind kind;
	sp_remote_shelf *shelf;
} own_tier;

/* Misses that are asked for together. */
typedef struct read_piece {
	size_t first, end;
	sp_remote_fetch *own[2]; /* before and after the file is read; NULL: not needed */
} read_piece;

/* Arrays in the scratch. */
typedef struct read_state {
	sp_key_miss *misses;    /* [keys] by read and partition, which stands for the key */
	sp_remote_row **wanted; /* [keys] the rows of the misses, or FROM_FILE; NULL: none yet */
	sp_row_cache_answer *answers; /* [CACHE_BLOCK] */
	void *rows;                   /* [CACHE_BLOCK] of the widest table */
	size_t miss_count;
	read_piece pieces[PIECES];
	size_t piece_count;
	uint64_t call;
	sp_remote_stamp now;
	const sp_tier_read *reads;

	/* Of a store with a file. */
	sp_key_miss *order;     /* [keys] misses by read and key; at: index of the miss */
	sp_row_file_row *filed; /* [keys] that the file may have; owner: index in `order` */
	size_t filed_count;
} read_state;

/* Stands for the row of a key that is looked for in the file, or was answered from it. */
static sp_remote_row from_file;
#define FROM_FILE (&from_file)

static sp_remote_shelf *shelf_of(const sp_tier *tier)
{
	return ((const own_tier *)tier)->shelf;
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
	state->answers = sp_scratch_take(s, CACHE_BLOCK, sizeof(*state->answers));
	state->rows = sp_scratch_take(s, CACHE_BLOCK, widest);
	state->reads = reads;
	if (shelf_of(reads[0].tier)->store->file == NULL)
		return;
	state->order = sp_scratch_take(s, keys, sizeof(*state->order));
	state->filed = sp_scratch_take(s, keys, sizeof(*state->filed));
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
static sp_row_cache_answer judge(const sp_remote_shelf *shelf, sp_row_cache_answer answer,
				 const char *row, sp_remote_stamp now)
{
	sp_remote_stamp stamp;

	if (answer != SP_ROW_CACHE_ROW || shelf->keep_s == 0)
		return answer;
	memcpy(&stamp, row + shelf->row_size, sizeof(stamp));
	if ((int64_t)now - (stamp >> 1) >= shelf->keep_s)
		return SP_ROW_CACHE_MISS;
	return (stamp & 1) != 0 ? SP_ROW_CACHE_ABSENT : SP_ROW_CACHE_ROW;
}

/* Looks up a block of a read's keys and lists the misses; returns the hits. */
static size_t read_cached(read_state *state, const sp_tier_read *reads, size_t r, size_t first,
			  size_t count)
{
	const sp_tier_read *read = &reads[r];
	sp_remote_shelf *shelf = shelf_of(read->tier);
	size_t stride = sp_row_cache_row_stride(shelf->cache), hits = 0, found = 0;

	sp_row_cache_read(shelf->cache, read->keys + first, count, state->answers, state->rows);
	for (size_t i = 0; i < count; i++) {
		const char *row = (const char *)state->rows + i * stride;
		sp_row_cache_answer answer = judge(shelf, state->answers[i], row, state->now);
		size_t at = first + i;

		if (answer == SP_ROW_CACHE_MISS) {
			state->wanted[state->miss_count] = NULL;
			state->misses[state->miss_count++] = (sp_key_miss){
				shelf->store->source->partition(shelf, read->keys[at]), (uint32_t)r,
				(uint32_t)at};
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
		sp_remote__count_up(&shelf->absent, hits - found);
	return hits;
}

static void read_caches(read_state *state, const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		sp_remote_shelf *shelf = shelf_of(reads[r].tier);
		size_t hits = 0;

		for (size_t done = 0, piece; done < reads[r].count; done += piece) {
			piece = reads[r].count - done < CACHE_BLOCK ? reads[r].count - done
								    : CACHE_BLOCK;
			hits += read_cached(state, reads, r, done, piece);
		}
		sp_remote__count_up(&shelf->asked, reads[r].count);
		sp_remote__count_up(&shelf->hot_hits, hits);
	}
}

/* ---- what is wanted ---- */

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

static sp_remote_shelf *shelf_of_miss(const read_state *state, size_t i)
{
	return shelf_of(state->reads[state->misses[i].read].tier);
}

/* Divides the misses into pieces. */
static void divide(read_state *state)
{
	size_t size = state->miss_count / PIECES + 1;

	if (size < PIECE_KEYS)
		size = PIECE_KEYS;
	for (size_t first = 0; first < state->miss_count; first += size) {
		size_t end = first + size < state->miss_count ? first + size : state->miss_count;

		state->pieces[state->piece_count++] = (read_piece){.first = first, .end = end};
	}
}

/* A fetch for the misses of a piece that have no row; NULL: no memory, or *count is 0. */
static sp_remote_fetch *create_fetch(const read_state *state, const read_piece *piece,
				     size_t *count)
{
	size_t bytes = 0;

	*count = 0;
	for (size_t i = piece->first; i < piece->end; i++)
		if (state->wanted[i] == NULL) {
			bytes += sp_remote__kept_size(shelf_of_miss(state, i));
			++*count;
		}
	if (*count == 0)
		return NULL;
	return sp_remote__fetch_create(shelf_of_miss(state, piece->first)->store, *count, bytes,
				       state->call);
}

static int64_t key_of_miss(const read_state *state, size_t i)
{
	return state->reads[state->misses[i].read].keys[state->misses[i].at];
}

static void want(read_state *state, const read_piece *piece, sp_remote_fetch *own)
{
	for (size_t i = piece->first; i < piece->end; i++) {
		size_t later = i + SP_REMOTE_AHEAD;

		if (later < piece->end)
			sp_remote__fetch_expect(own, shelf_of_miss(state, later),
						key_of_miss(state, later));
		if (state->wanted[i] == NULL)
			state->wanted[i] = sp_remote__fetch_want(own, shelf_of_miss(state, i),
								 key_of_miss(state, i),
								 (uint32_t)state->misses[i].key);
	}
}

/*
 * Asks for the rows of all misses that have none, by a piece's first or second fetch.  The first
 * pieces are on their way while the others are made.
 */
static sp_status ask(read_state *state, int which, sp_error *err)
{
	for (size_t p = 0; p < state->piece_count; p++) {
		read_piece *piece = &state->pieces[p];
		size_t count;
		sp_remote_fetch *own = create_fetch(state, piece, &count);

		if (count == 0)
			continue;
		SP_NEED_MEMORY(own, err, "%zu rows from %s", count,
			       shelf_of_miss(state, piece->first)->store->source->title);
		piece->own[which] = own;
		want(state, piece, own);
		if (own->count != 0)
			sp_remote__fetch_send(own);
	}
	return SP_OK;
}

/* ---- the file ---- */

/* The misses of one read, which begin at `first`, by key, each key once in `filed`. */
static size_t list_keys(read_state *state, size_t first)
{
	const sp_key_miss *misses = state->misses;
	const sp_remote_shelf *shelf = shelf_of_miss(state, first);
	uint32_t read = misses[first].read;
	size_t end = first;

	for (; end < state->miss_count && misses[end].read == read; end++)
		state->order[end] = (sp_key_miss){state->reads[read].keys[misses[end].at], read,
						  (uint32_t)end};
	sp_key_miss_sort(state->order + first, end - first);
	for (size_t i = first; i < end; i++)
		if (i == first || state->order[i].key != state->order[i - 1].key)
			state->filed[state->filed_count++] = (sp_row_file_row){
				.key = state->order[i].key,
				.table = shelf->table,
				.size = (uint32_t)sp_remote__kept_size(shelf),
				.owner = i};
	return end;
}

/* Gives a row to all misses of a key; returns how many there are. */
static size_t set_wanted(read_state *state, const sp_row_file_row *filed, sp_remote_row *row)
{
	const sp_key_miss *first = &state->order[filed->owner], *miss = first;
	const sp_key_miss *end = state->order + state->miss_count;

	for (; miss < end && miss->key == first->key && miss->read == first->read; miss++)
		state->wanted[miss->at] = row;
	return (size_t)(miss - first);
}

/* Which misses the file may have. */
static void find_in_file(read_state *state, const sp_row_file *file)
{
	if (file == NULL || !sp_row_file_is_ready(file))
		return;
	for (size_t at = 0; at < state->miss_count;)
		at = list_keys(state, at);
	state->filed_count = sp_row_file_find(file, state->filed, state->filed_count);
	for (size_t i = 0; i < state->filed_count; i++)
		(void)set_wanted(state, &state->filed[i], FROM_FILE);
}

/* Copies a row from the file to all places of its key, unless it is too old. */
static void take_from_file(void *context, const sp_row_file_row *filed, const void *bytes)
{
	read_state *state = context;
	const sp_key_miss *first = &state->order[filed->owner];
	const sp_tier_read *read = &state->reads[first->read];
	sp_remote_shelf *shelf = shelf_of(read->tier);
	size_t copies;

	if (bytes == NULL) {
		sp_remote__count_up(&shelf->disk_errors, 1);
		return;
	}
	if (judge(shelf, SP_ROW_CACHE_ROW, bytes, state->now) != SP_ROW_CACHE_ROW)
		return;
	copies = set_wanted(state, filed, FROM_FILE);
	for (size_t i = 0; i < copies; i++) {
		size_t at = state->misses[first[i].at].at;

		read->found[at] = true;
		shelf->codec->decode(shelf->dim, bytes, read->rows[at]);
	}
	sp_remote__count_up(&shelf->disk_hits, copies);
	sp_row_cache_fill(shelf->cache, filed->key, bytes);
}

/* What the file does not answer has no row then. */
static void read_file(read_state *state, sp_row_file *file, int64_t deadline_ns)
{
	for (size_t i = 0; i < state->filed_count; i++)
		(void)set_wanted(state, &state->filed[i], NULL);
	sp_row_file_read(file, state->filed, state->filed_count, take_from_file, state,
			 deadline_ns);
}

/* ---- what has come ---- */

/* Copies a row to the place of its key; false: there is no answer. */
static bool copy_out(const sp_tier_read *reads, const sp_key_miss *miss, const sp_remote_row *row,
		     bool in_time)
{
	const sp_tier_read *read = &reads[miss->read];
	sp_remote_shelf *shelf = row->shelf;
	sp_remote_row_state how = sp_remote__row_state(row, in_time);

	read->found[miss->at] = how == SP_REMOTE_ROW_FOUND;
	if (how == SP_REMOTE_ROW_FOUND)
		shelf->codec->decode(shelf->dim, row->fetch->bytes + row->at, read->rows[miss->at]);
	else if (how == SP_REMOTE_ROW_ABSENT)
		sp_remote__count_up(&shelf->absent, 1);
	else
		sp_remote__count_up(&shelf->defaulted, 1);
	return how != SP_REMOTE_ROW_OPEN;
}

/* Why a key has no answer. */
static sp_status explain(const sp_remote_row *row, bool in_time, sp_error *err)
{
	const char *table = row->shelf->name, *title = row->shelf->store->source->title;

	if (!in_time)
		return sp_error_set(err, SP_DEADLINE, "table '%s', %s tier: no answer in time",
				    table, title);
	return sp_error_set(err, SP_IO, "table '%s', %s tier: %s", table, title,
			    row->fetch->reason[0] != '\0' ? row->fetch->reason : "no answer");
}

static void count_errors(const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++)
		sp_remote__count_up(&shelf_of(reads[r].tier)->errors, 1);
}

static bool is_asked_for(const sp_remote_row *row)
{
	return row != NULL && row != FROM_FILE;
}

static void leave(const read_piece *piece)
{
	for (int which = 0; which < 2; which++)
		if (piece->own[which] != NULL && piece->own[which]->count != 0)
			sp_remote__fetch_leave(piece->own[which]);
}

/* Waits for the rows of a piece that were asked for, copies them, and files its own. */
static sp_status collect(const read_state *state, const read_piece *piece, int64_t deadline_ns,
			 bool fails, sp_error *err)
{
	const sp_remote_fetch *last = NULL;
	sp_status status = SP_OK;
	bool in_time = true;

	for (size_t i = piece->first; i < piece->end; i++) {
		const sp_remote_row *row = state->wanted[i];

		if (!is_asked_for(row))
			continue;
		if (row->fetch != last)
			in_time = sp_remote__fetch_wait(row->fetch, deadline_ns);
		last = row->fetch;
		if (!copy_out(state->reads, &state->misses[i], row, in_time) && fails &&
		    status == SP_OK)
			status = explain(row, in_time, err);
	}
	leave(piece);
	return status;
}

static sp_status collect_all(const read_state *state, int64_t deadline_ns, bool fails,
			     sp_error *err)
{
	const sp_remote_source *source = shelf_of(state->reads[0].tier)->store->source;
	sp_status status = SP_OK;

	for (size_t p = 0; p < state->piece_count; p++) {
		sp_status one = collect(state, &state->pieces[p], deadline_ns,
					fails && status == SP_OK, err);

		if (status == SP_OK)
			status = one;
	}
	if (source->stop_helping != NULL)
		source->stop_helping(shelf_of(state->reads[0].tier)->store);
	return status;
}

/* Lets go of all fetches: a row of one may be wanted in a later piece, too. */
static void release(const read_state *state)
{
	for (size_t i = 0; i < state->miss_count; i++)
		if (is_asked_for(state->wanted[i]) && state->wanted[i]->fetch->call != state->call)
			sp_remote__fetch_release(state->wanted[i]->fetch);
	for (size_t p = 0; p < state->piece_count; p++)
		for (int which = 0; which < 2; which++)
			if (state->pieces[p].own[which] != NULL)
				sp_remote__fetch_release(state->pieces[p].own[which]);
}

/* Reads what the file has, and asks for the rest. */
static sp_status ask_and_read(read_state *state, int64_t deadline_ns, sp_error *err)
{
	sp_remote_store *store = shelf_of(state->reads[0].tier)->store;
	int64_t start_ns = sp_clock_now_ns(), limit_ns = start_ns + store->options.limit_ms * MS;
	sp_status asked, status;

	if (deadline_ns != 0 && deadline_ns < limit_ns)
		limit_ns = deadline_ns;
	state->call = atomic_fetch_add_explicit(&store->calls, 1, memory_order_relaxed);
	find_in_file(state, store->file);
	divide(state);
	asked = ask(state, 0, err);
	if (asked == SP_OK && state->filed_count != 0) {
		read_file(state, store->file, start_ns + (limit_ns - start_ns) / 2);
		asked = ask(state, 1, err);
	}
	/* Without memory there is nothing to wait for. */
	status = collect_all(state, asked == SP_OK ? limit_ns : start_ns, store->options.fails,
			     asked == SP_OK ? err : NULL);
	release(state);
	return asked != SP_OK ? asked : status;
}

static sp_status read_missed(read_state *state, size_t count, int64_t deadline_ns, sp_error *err)
{
	sp_status status;

	if (state->miss_count == 0)
		return SP_OK;
	for (size_t at = 0; at < state->miss_count;)
		at = group_misses(state, at);
	status = ask_and_read(state, deadline_ns, err);
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
	state.now = sp_remote__age(shelf_of(reads[0].tier)->store, sp_clock_now_ns());
	read_caches(&state, reads, count);
	return read_missed(&state, count, deadline_ns, err);
}

/* ---- the tier ---- */

static uint64_t load(const atomic_uint_least64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void remote_counters(const sp_tier *tier, sp_tier_counters *out)
{
	const sp_remote_shelf *shelf = shelf_of(tier);
	const sp_row_file *file = shelf->store->file;

	*out = (sp_tier_counters){
		.asked = load(&shelf->asked),
		.absent = load(&shelf->absent),
		.hot_hits = load(&shelf->hot_hits),
		.errors = load(&shelf->errors),
		.bytes_read = load(&shelf->bytes_read),
		.defaulted = load(&shelf->defaulted),
		.disk_hits = load(&shelf->disk_hits),
		.disk_errors = load(&shelf->disk_errors),
		.disk_dropped = load(&shelf->disk_dropped),
		.disks = file != NULL || shelf->store->lacks_file,
		.disks_up = file != NULL && sp_row_file_is_on(file),
	};
	shelf->store->source->count(shelf->store, out);
}

static size_t remote_footprint(const sp_tier *tier)
{
	const sp_remote_shelf *shelf = shelf_of(tier);
	const sp_row_file *file = shelf->store->file;
	size_t bytes = sizeof(own_tier) + sp_row_cache_footprint(shelf->cache);

	/* What all tables of the file share is the first one's. */
	return file != NULL && shelf->table == 0 ? bytes + sp_row_file_footprint(file) : bytes;
}

static void remote_destroy(sp_tier *tier)
{
	sp_remote_shelf *shelf = shelf_of(tier);
	sp_tier_counters c;

	remote_counters(tier, &c);
	if (c.asked != 0)
		sp_log(SP_LOG_INFO,
		       "table '%s', %s tier: %" PRIu64 " keys, %.2f %% of them in memory, %" PRIu64
		       " bytes read, %" PRIu64 " keys not answered in time",
		       shelf->name, shelf->store->source->title, c.asked,
		       100.0 * (double)c.hot_hits / (double)c.asked, c.bytes_read, c.defaulted);
	sp_remote_store_release(shelf->store);
	sp_free(tier);
}

/* The name of a kind is its source's: there is one per tier, in front of it. */
static const sp_tier_kind remote_kind = {
	.scratch = scratch_size,
	.read = remote_read,
	.counters = remote_counters,
	.footprint = remote_footprint,
	.destroy = remote_destroy,
};

enum { SPARE_ROWS = 16384 };

/*
 * The most keys worth memory: the table's, and as many that it does not have, which are remembered
 * as well.  0: unknown.
 */
static size_t most_rows(const sp_remote_shelf *shelf)
{
	return shelf->row_count < SIZE_MAX / 4 ? 2 * shelf->row_count + SPARE_ROWS : 0;
}

static bool is_counted(const sp_remote_shelf *shelf)
{
	return shelf->row_count != SIZE_MAX;
}

static sp_status open_cache(sp_row_cache **out, const sp_remote_shelf *shelf, size_t cap_bytes,
			    sp_error *err)
{
	const sp_row_cache_options cache = {.row_size = sp_remote__kept_size(shelf),
					    .cap_bytes = cap_bytes,
					    .max_rows = most_rows(shelf),
					    .policy = shelf->store->options.policy};

	return sp_row_cache_create(out, &cache, err);
}

static size_t size_with_key(const sp_remote_shelf *shelf)
{
	return sp_remote__kept_size(shelf) + sizeof(int64_t);
}

sp_status sp_remote_store_divide(sp_remote_store *store, sp_error *err)
{
	size_t total = 0;

	for (const sp_remote_shelf *shelf = store->shelves; shelf != NULL; shelf = shelf->next)
		total += is_counted(shelf) ? 0 : size_with_key(shelf);
	for (sp_remote_shelf *shelf = store->shelves; shelf != NULL; shelf = shelf->next) {
		__uint128_t bytes = (__uint128_t)store->options.cache_bytes * size_with_key(shelf);
		sp_row_cache *cache;

		if (is_counted(shelf))
			continue;
		SP_TRY(open_cache(&cache, shelf, (size_t)(bytes / total), err));
		sp_row_cache_destroy(shelf->cache);
		shelf->cache = cache;
	}
	return SP_OK;
}

sp_status sp_remote_tier_open(sp_tier **out, sp_remote_shelf *shelf, sp_error *err)
{
	sp_remote_store *store = shelf->store;
	own_tier *tier = sp_alloc_zero(1, sizeof(*tier));
	sp_status status;

	SP_NEED_MEMORY(tier, err, "table '%s' in %s", shelf->name, store->source->title);
	status = open_cache(&shelf->cache, shelf,
			    is_counted(shelf) ? store->options.cache_bytes : 1, err);
	if (status != SP_OK) {
		sp_free(tier);
		return status;
	}
	pthread_mutex_lock(&store->lock);
	if (store->file != NULL)
		shelf->table = sp_row_file_add_table(store->file, sp_remote__kept_size(shelf),
						     shelf->row_count);
	shelf->next = store->shelves;
	store->shelves = shelf;
	pthread_mutex_unlock(&store->lock);
	tier->shelf = shelf;
	tier->kind = remote_kind;
	tier->kind.name = store->source->name;
	tier->tier.kind = &tier->kind;
	tier->tier.dim = shelf->dim;
	tier->tier.row_count = shelf->row_count;
	atomic_init(&tier->tier.references, 1);
	sp_remote_store_retain(store);
	*out = &tier->tier;
	return SP_OK;
}
