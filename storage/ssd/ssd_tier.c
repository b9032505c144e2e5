#include "storage/ssd/ssd_tier.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "storage/cache/hot_rows.h"
#include "storage/scratch.h"
#include "storage/cache/key_miss.h"
#include "storage/ssd/rocks.h"
#include "storage/ssd/ssd_internal.h"

/*
 * A read first looks up the cache of each table, in blocks of keys.  The misses are sorted by table
 * and key, so that repeats and the keys of one block are adjacent, and read.  Each row is copied to
 * all places of its key, and offered to the cache.
 */

enum {
	CACHE_BLOCK = 32, /* keys that are looked up in the cache together */
};

typedef struct ssd_tier {
	sp_tier tier;
	sp_ssd_store *store;
	sp_ssd_table table; /* a copy */
	sp_ssd_folder folder;
	sp_sst_run *runs[SP_READ_RUNS]; /* folded rows, if any, then the table's own */
	size_t run_count;
	sp_row_cache *cache;
	const sp_row_codec *codec;
	size_t row_size;
	float *elements; /* [dim] for adopt(); NULL: the tier is not a fold */
	atomic_bool distrusted;
	atomic_uint_least64_t asked, absent, hot_hits, errors, bytes_read;
} ssd_tier;

/* The misses of one tier.  Each key of its request has one miss, or several adjacent ones. */
typedef struct miss_group {
	const sp_tier_read *read;
	const sp_key_miss *misses, *end;
	size_t *firsts; /* [request.count] index of the first miss of each key */
} miss_group;

/* Arrays in the scratch. */
typedef struct read_state {
	sp_key_miss *misses;          /* [keys] */
	int64_t *keys;                /* [keys] without repeats */
	size_t *firsts;               /* [keys] */
	sp_read_request *requests;    /* [reads] */
	miss_group *groups;           /* [reads] */
	sp_row_cache_result *results; /* [CACHE_BLOCK] */
	void *rows;                   /* [CACHE_BLOCK] of the widest table */
	size_t miss_count, request_count;
} read_state;

static ssd_tier *of(const sp_tier *tier)
{
	return (ssd_tier *)(uintptr_t)tier;
}

static void count_up(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- scratch ---- */

static void lay_out(read_state *state, sp_scratch *s, const sp_tier_read *reads, size_t count)
{
	size_t keys = 0, widest = 0;

	for (size_t r = 0; r < count; r++) {
		size_t stride = sp_row_cache_row_stride(of(reads[r].tier)->cache);

		if (!sp_size_add(&keys, keys, reads[r].count))
			s->used = SIZE_MAX;
		if (stride > widest)
			widest = stride;
	}
	state->misses = sp_scratch_take(s, keys, sizeof(*state->misses));
	state->keys = sp_scratch_take(s, keys, sizeof(*state->keys));
	state->firsts = sp_scratch_take(s, keys, sizeof(*state->firsts));
	state->requests = sp_scratch_take(s, count, sizeof(*state->requests));
	state->groups = sp_scratch_take(s, count, sizeof(*state->groups));
	state->results = sp_scratch_take(s, CACHE_BLOCK, sizeof(*state->results));
	state->rows = sp_scratch_take(s, CACHE_BLOCK, widest);
}

static size_t scratch_size(const sp_tier *tier, size_t count)
{
	const sp_tier_read read = {.tier = (sp_tier *)(uintptr_t)tier, .count = count};
	sp_scratch s = {0};
	read_state state;

	/*
	 * read() gets the sum of the sizes of its reads, which is at least what they need together.
	 */
	lay_out(&state, &s, &read, 1);
	return s.used;
}

/* ---- a read ---- */

/* Looks up a block of a read's keys in the cache and lists the misses; returns the hits. */
static size_t read_cached(read_state *state, const sp_tier_read *reads, size_t r, size_t first,
			  size_t count)
{
	const sp_tier_read *read = &reads[r];
	const ssd_tier *tier = of(read->tier);
	size_t stride = sp_row_cache_row_stride(tier->cache), hits = 0;

	sp_row_cache_read(tier->cache, read->keys + first, count, state->results, state->rows);
	for (size_t i = 0; i < count; i++) {
		size_t at = first + i;

		if (state->results[i] == SP_ROW_CACHE_MISS) {
			state->misses[state->miss_count++] = (sp_key_miss){
				read->keys[at], (uint32_t)r, (uint32_t)at};
			continue;
		}
		hits++;
		read->found[at] = state->results[i] == SP_ROW_CACHE_ROW;
		if (read->found[at])
			tier->codec->decode(tier->tier.dim, (const char *)state->rows + i * stride,
					    read->rows[at]);
	}
	return hits;
}

static void read_caches(read_state *state, const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		ssd_tier *tier = of(reads[r].tier);
		size_t hits = 0;

		for (size_t done = 0, piece; done < reads[r].count; done += piece) {
			piece = reads[r].count - done < CACHE_BLOCK ? reads[r].count - done
								    : CACHE_BLOCK;
			hits += read_cached(state, reads, r, done, piece);
		}
		count_up(&tier->asked, reads[r].count);
		count_up(&tier->hot_hits, hits);
	}
}

/*
 * Makes the sorted misses of one read, from `first` on, a request without repeats; returns the
 * index after the last one.
 */
static size_t group_misses(read_state *state, const sp_tier_read *reads, size_t first)
{
	const sp_key_miss *misses = state->misses;
	const sp_tier_read *read = &reads[misses[first].read];
	sp_read_request *request = &state->requests[state->request_count];
	miss_group *group = &state->groups[state->request_count++];
	size_t end = first, unique = 0;

	while (end < state->miss_count && misses[end].read == misses[first].read)
		end++;
	sp_key_miss_sort(state->misses + first, end - first);
	*group = (miss_group){.read = read,
			      .misses = misses,
			      .end = misses + end,
			      .firsts = state->firsts + first};
	for (size_t at = first; at < end; at++)
		if (at == first || misses[at].key != misses[at - 1].key) {
			group->firsts[unique] = at;
			state->keys[first + unique++] = misses[at].key;
		}
	*request = (sp_read_request){
		.runs = of(read->tier)->runs,
		.run_count = of(read->tier)->run_count,
		.keys = state->keys + first,
		.count = unique,
		.bytes_read = &of(read->tier)->bytes_read,
		.owner = group,
	};
	return end;
}

/* In any thread: copies a row to all places of its key and offers it to the cache. */
static void take_row(const sp_read_request *request, size_t i, const void *row)
{
	const miss_group *group = request->owner;
	const sp_tier_read *read = group->read;
	ssd_tier *tier = of(read->tier);
	const sp_key_miss *miss = group->misses + group->firsts[i];

	for (; miss < group->end && miss->key == request->keys[i]; miss++) {
		read->found[miss->at] = row != NULL;
		if (row != NULL)
			tier->codec->decode(tier->tier.dim, row, read->rows[miss->at]);
	}
	sp_row_cache_fill(tier->cache, request->keys[i], row);
}

/* A block is corrupt: no later start may use the folder. */
static void distrust(ssd_tier *tier)
{
	if (atomic_exchange(&tier->distrusted, true))
		return;
	sp_log(SP_LOG_ERROR,
	       "table '%s', SSD tier: %s is corrupt and is made anew by the next start",
	       tier->table.name, tier->folder.path.text);
	sp_ssd_folder_distrust(&tier->folder);
}

static sp_status report(const read_state *state, size_t failed, sp_status status, sp_error *err)
{
	const miss_group *group = &state->groups[failed < state->request_count ? failed : 0];
	ssd_tier *tier = of(group->read->tier);

	count_up(&tier->errors, 1);
	if (status == SP_CORRUPT)
		distrust(tier);
	return sp_error_prefix(err, status, "table '%s', SSD tier", tier->table.name);
}

static sp_status read_missed(read_state *state, const sp_tier_read *reads, int64_t deadline_ns,
			     sp_error *err)
{
	size_t failed;
	sp_status status;

	if (state->miss_count == 0)
		return SP_OK;
	for (size_t at = 0; at < state->miss_count;)
		at = group_misses(state, reads, at);
	status = sp_read_rings_run(of(reads[0].tier)->store->rings, state->requests,
				   state->request_count, take_row, deadline_ns, &failed, err);
	return status == SP_OK ? SP_OK : report(state, failed, status, err);
}

static void count_absent(const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		size_t absent = 0;

		for (size_t i = 0; i < reads[r].count; i++)
			absent += !reads[r].found[i];
		count_up(&of(reads[r].tier)->absent, absent);
	}
}

static sp_status ssd_read(const sp_tier_read *reads, size_t count, void *scratch,
			  int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	read_state state = {0};

	for (size_t r = 0; r < count; r++)
		if (reads[r].count > UINT32_MAX)
			return sp_error_set(err, SP_INVALID, "a lookup of %zu keys",
					    reads[r].count);
	lay_out(&state, &s, reads, count);
	read_caches(&state, reads, count);
	SP_TRY(read_missed(&state, reads, deadline_ns, err));
	count_absent(reads, count);
	return SP_OK;
}

/* ---- the tier ---- */

static void ssd_counters(const sp_tier *tier, sp_tier_counters *out)
{
	ssd_tier *ssd = of(tier);

	*out = (sp_tier_counters){
		.asked = atomic_load_explicit(&ssd->asked, memory_order_relaxed),
		.absent = atomic_load_explicit(&ssd->absent, memory_order_relaxed),
		.hot_hits = atomic_load_explicit(&ssd->hot_hits, memory_order_relaxed),
		.errors = atomic_load_explicit(&ssd->errors, memory_order_relaxed),
		.bytes_read = atomic_load_explicit(&ssd->bytes_read, memory_order_relaxed),
	};
}

static size_t ssd_footprint(const sp_tier *tier)
{
	const ssd_tier *ssd = of(tier);
	size_t bytes = sizeof(*ssd) + sp_row_cache_footprint(ssd->cache);

	for (size_t r = 0; r < ssd->run_count; r++)
		bytes += sp_sst_run_footprint(ssd->runs[r]);
	return bytes;
}

/* Logs the counters at the end. */
static void log_counters(const ssd_tier *tier)
{
	sp_tier_counters c;

	ssd_counters(&tier->tier, &c);
	if (c.asked != 0)
		sp_log(SP_LOG_INFO,
		       "table '%s', SSD tier: %" PRIu64 " keys, %.2f %% of them in memory, %" PRIu64
		       " bytes read, %" PRIu64 " failures",
		       tier->table.name, c.asked, 100.0 * (double)c.hot_hits / (double)c.asked,
		       c.bytes_read, c.errors);
}

static void ssd_destroy(sp_tier *tier)
{
	ssd_tier *ssd = of(tier);

	log_counters(ssd);
	for (size_t r = 0; r < ssd->run_count; r++)
		sp_sst_run_release(ssd->runs[r]);
	sp_ssd_folder_close(&ssd->folder);
	sp_row_cache_destroy(ssd->cache);
	sp_ssd_store_release(ssd->store);
	sp_free(ssd->elements);
	sp_ssd__table_fini(&ssd->table);
	sp_free(ssd);
}

static const sp_tier_kind ssd_kind;

/* A tier without runs and cache. */
static sp_status create(ssd_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			sp_error *err)
{
	ssd_tier *tier = sp_alloc_zero(1, sizeof(*tier));
	sp_status status;

	SP_NEED_MEMORY(tier, err, "table '%s'", table->name);
	tier->tier.kind = &ssd_kind;
	tier->tier.dim = table->dim;
	atomic_init(&tier->tier.references, 1);
	tier->store = sp_ssd_store_retain(store);
	tier->folder.lock = -1;
	tier->codec = sp_row_codec_find(table->format);
	tier->row_size = sp_row_format_size(table->format, table->dim);
	status = sp_ssd__table_copy(&tier->table, table, err);
	if (status == SP_OK)
		status = sp_ssd__readers_start(store, err);
	if (status != SP_OK) {
		ssd_destroy(&tier->tier);
		return status;
	}
	*out = tier;
	return SP_OK;
}

/* Takes ownership of the run.  Newer runs must be added first. */
static void add_run(ssd_tier *tier, sp_sst_run *run)
{
	tier->runs[tier->run_count++] = run;
	tier->tier.row_count += sp_sst_run_row_count(run);
}

/* ---- folding ---- */

static size_t ssd_fold_cost(const sp_tier *tier, const sp_rows *over)
{
	size_t index = sp_sst_run_expected_footprint(sp_rows_get_shape(over)->row_count,
						     of(tier)->row_size);
	size_t bytes = sp_ssd__fold_cost(&of(tier)->table, over);

	return bytes < SIZE_MAX - index ? bytes + index : SIZE_MAX;
}

/* The table's own run: the last one. */
static sp_sst_run *base_of(const ssd_tier *tier)
{
	return tier->runs[tier->run_count - 1];
}

/*
 * A tier of `over` and the table's own run; `over` replaces an earlier fold.  Shares the cache of
 * `from`.  Takes ownership of `over` and `base` on success.
 */
static sp_status open_folded(sp_tier **out, const ssd_tier *from, sp_sst_run *over,
			     sp_ssd_folder *base, sp_error *err)
{
	ssd_tier *tier;

	SP_TRY(create(&tier, from->store, &from->table, err));
	tier->cache = sp_row_cache_share(from->cache);
	tier->elements = sp_alloc(from->table.dim * sizeof(*tier->elements));
	if (tier->elements == NULL) {
		ssd_destroy(&tier->tier);
		return sp_no_memory(err, "folding rows");
	}
	if (over != NULL)
		add_run(tier, over);
	add_run(tier, sp_sst_run_retain(base_of(from)));
	tier->folder = *base;
	*base = (sp_ssd_folder){.lock = -1};
	*out = &tier->tier;
	return SP_OK;
}

static sp_status ssd_fold(sp_tier **out, sp_tier *tier, const sp_tier_fold *how, sp_error *err)
{
	ssd_tier *from = of(tier);
	sp_ssd_folder base = {.lock = -1};
	sp_sst_run *over = NULL;
	sp_status status = sp_ssd__fold(&over, &base, from->store, &from->table, how, err);

	if (status == SP_OK)
		status = open_folded(out, from, over, &base, err);
	if (status != SP_OK)
		sp_sst_run_release(over);
	sp_ssd_folder_close(&base);
	return sp_error_prefix(err, status, "table '%s', SSD tier", from->table.name);
}

static void move_count(atomic_uint_least64_t *to, atomic_uint_least64_t *from)
{
	count_up(to, atomic_exchange(from, 0));
}

/* For the keys of the layer the cache may hold outdated rows, or that they are absent. */
static void ssd_adopt(sp_tier *folded, sp_tier *tier, const sp_rows *over)
{
	ssd_tier *to = of(folded), *from = of(tier);
	sp_stored_row row;
	int64_t key;

	for (size_t s = 0; s < sp_rows_get_shape(over)->placement.slot_count; s++)
		if (sp_rows_at(over, s, &key, &row))
			sp_row_cache_replace(to->cache, key,
					     sp_ssd__as_stored(&to->table, &row, to->elements));
	move_count(&to->asked, &from->asked);
	move_count(&to->absent, &from->absent);
	move_count(&to->hot_hits, &from->hot_hits);
	move_count(&to->errors, &from->errors);
	move_count(&to->bytes_read, &from->bytes_read);
}

static const sp_tier_kind ssd_kind = {
	.name = "ssd",
	.scratch = scratch_size,
	.read = ssd_read,
	.counters = ssd_counters,
	.footprint = ssd_footprint,
	.fold_cost = ssd_fold_cost,
	.fold = ssd_fold,
	.adopt = ssd_adopt,
	.destroy = ssd_destroy,
};

static sp_status open_rows(ssd_tier *tier, const sp_ssd_folder *folder, sp_error *err)
{
	const sp_ssd_path rows = sp_ssd_folder_file(folder, "rows");
	const sp_ssd_path filter = sp_ssd_folder_file(folder, "filter");
	sp_rocks_files files;
	sp_sst_run *run;
	sp_status status;

	SP_TRY(sp_rocks_files_find(&files, rows.text, err));
	status = sp_sst_run_open(&run, (const char *const *)files.paths, files.count,
				 tier->row_size, filter.text, err);
	sp_rocks_files_fini(&files);
	if (status == SP_OK)
		add_run(tier, run);
	return status;
}

static sp_status load_hot_rows(ssd_tier *tier, const sp_ssd_table *table,
			       const sp_ssd_folder *folder, sp_error *err)
{
	const sp_ssd_path path = sp_ssd_folder_file(folder, "hot");

	SP_TRY(sp_ssd__cache_create(&tier->cache, tier->store, table, tier->tier.row_count,
				    sp_sst_run_footprint(base_of(tier)), err));
	sp_hot_rows_load(tier->cache, path.text);
	return SP_OK;
}

sp_status sp_ssd__tier_create(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			      sp_ssd_folder *folder, sp_sst_run *run, sp_row_cache *cache,
			      sp_error *err)
{
	ssd_tier *tier;

	SP_TRY(create(&tier, store, table, err));
	add_run(tier, run);
	tier->cache = cache;
	tier->folder = *folder;
	*folder = (sp_ssd_folder){.lock = -1};
	*out = &tier->tier;
	return SP_OK;
}

static sp_status open_tier(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			   sp_ssd_folder *folder, sp_error *err)
{
	ssd_tier *tier;
	sp_status status;

	SP_TRY(create(&tier, store, table, err));
	status = open_rows(tier, folder, err);
	if (status == SP_OK)
		status = load_hot_rows(tier, table, folder, err);
	if (status != SP_OK) {
		ssd_destroy(&tier->tier);
		return status;
	}
	tier->folder = *folder;
	*folder = (sp_ssd_folder){.lock = -1};
	*out = &tier->tier;
	return SP_OK;
}

/* An unusable folder is deleted and gives SP_NOT_FOUND. */
static sp_status open_folder(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			     sp_ssd_folder *folder, sp_error *err)
{
	sp_error why;
	sp_status status = open_tier(out, store, table, folder, &why);

	if (status == SP_OK || status == SP_NO_MEMORY)
		return status == SP_OK ? SP_OK : sp_error_set(err, status, "%s", why.text);
	sp_log(SP_LOG_WARNING, "table '%s', SSD tier: %s; it is made anew", table->name, why.text);
	sp_ssd_folder_discard(folder, store->path);
	return sp_error_set(err, SP_NOT_FOUND, "%s", why.text);
}

sp_status sp_ssd_tier_open(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			   sp_error *err)
{
	sp_ssd_folder folder;
	sp_ssd_place place;
	sp_status status;

	SP_TRY(sp_ssd__place_find(&place, store, table, err));
	status = sp_ssd_folder_open(&folder, store->path, place.name, place.label, err);
	sp_ssd__place_fini(&place);
	if (status == SP_OK) {
		status = open_folder(out, store, table, &folder, err);
		sp_ssd_folder_close(&folder);
	}
	return status;
}
