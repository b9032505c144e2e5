#include "storage/ssd_tier.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/size.h"
#include "storage/hot_rows.h"
#include "storage/ssd_internal.h"

/*
 * A read asks the cache of each table first, in blocks of keys.  What is missed
 * is sorted by table and key, so that repeats lie together and RocksDB gets each
 * block's keys together, and read by the pool; a row that comes back goes to all
 * the places that want it, and to the cache.
 */

enum {
	CACHE_BLOCK = 32, /* keys that the cache is asked for together */
	BLOCK_SIZE = 4096,
};

typedef struct ssd_tier {
	sp_tier tier;
	sp_ssd_store *store;
	char *name;
	sp_ssd_folder folder;
	sp_rocks *rocks;
	sp_row_cache *cache;
	const sp_row_codec *codec;
	sp_row_format format;
	size_t row_size;
	float *elements; /* [dim] for adopt(); NULL: it was not folded */
	atomic_bool distrusted;
	atomic_uint_least64_t asked, found, absent, hot_hits, errors, bytes_read;
} ssd_tier;

/* A key that a cache lacks, and whose it is. */
typedef struct key_miss {
	int64_t key;
	uint32_t read;
	uint32_t at; /* which key of the read */
} key_miss;

/* The misses of one tier; each key of its request is that of one miss or of several in a row. */
typedef struct miss_group {
	const sp_tier_read *read;
	const key_miss *misses, *end;
	size_t *firsts; /* [request.count] index of the first miss of each key */
} miss_group;

/* The parts of the scratch. */
typedef struct read_state {
	key_miss *misses;             /* [keys] */
	int64_t *keys;                /* [keys] without repeats */
	size_t *firsts;               /* [keys] */
	sp_read_request *requests;    /* [reads] */
	miss_group *groups;           /* [reads] */
	sp_row_cache_answer *answers; /* [CACHE_BLOCK] */
	void *rows;                   /* [CACHE_BLOCK] of the widest */
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

/* `count` elements of `size` bytes behind *at, which moves on; false on overflow. */
static bool place_array(size_t *at, size_t count, size_t size, char *base, void *array)
{
	char *start = base != NULL ? base + *at : NULL;
	size_t bytes;

	memcpy(array, &start, sizeof(start));
	return sp_size_mul(&bytes, count, size) && sp_size_round_up(&bytes, bytes, 64) &&
	       sp_size_add(at, *at, bytes);
}

/* Where things are in the scratch, and how much that is; SIZE_MAX on overflow. */
static size_t lay_out(read_state *state, const sp_tier_read *reads, size_t count, char *base)
{
	size_t keys = 0, widest = 0, at = 0;

	for (size_t r = 0; r < count; r++) {
		size_t stride = sp_row_cache_row_stride(of(reads[r].tier)->cache);

		if (!sp_size_add(&keys, keys, reads[r].count))
			return SIZE_MAX;
		if (stride > widest)
			widest = stride;
	}
	if (!place_array(&at, keys, sizeof(key_miss), base, &state->misses) ||
	    !place_array(&at, keys, sizeof(int64_t), base, &state->keys) ||
	    !place_array(&at, keys, sizeof(size_t), base, &state->firsts) ||
	    !place_array(&at, count, sizeof(sp_read_request), base, &state->requests) ||
	    !place_array(&at, count, sizeof(miss_group), base, &state->groups) ||
	    !place_array(&at, CACHE_BLOCK, sizeof(sp_row_cache_answer), base, &state->answers) ||
	    !place_array(&at, CACHE_BLOCK, widest, base, &state->rows))
		return SIZE_MAX;
	return at;
}

static size_t scratch_size(const sp_tier *tier, size_t count)
{
	const sp_tier_read read = {.tier = (sp_tier *)(uintptr_t)tier, .count = count};
	read_state state;

	/* What lies together takes no more than what lies apart. */
	return lay_out(&state, &read, 1, NULL);
}

/* ---- a read ---- */

/* One block of a read's keys, from the cache; the others become misses. */
static size_t read_cached(read_state *state, const sp_tier_read *reads, size_t r, size_t first,
			  size_t count)
{
	const sp_tier_read *read = &reads[r];
	const ssd_tier *tier = of(read->tier);
	size_t stride = sp_row_cache_row_stride(tier->cache), hits = 0;

	sp_row_cache_read(tier->cache, read->keys + first, count, state->answers, state->rows);
	for (size_t i = 0; i < count; i++) {
		size_t at = first + i;

		if (state->answers[i] == SP_ROW_CACHE_MISS) {
			state->misses[state->miss_count++] = (key_miss){read->keys[at], (uint32_t)r,
									(uint32_t)at};
			continue;
		}
		hits++;
		read->found[at] = state->answers[i] == SP_ROW_CACHE_ROW;
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

static int compare_misses(const void *left, const void *right)
{
	const key_miss *a = left, *b = right;

	if (a->read != b->read)
		return a->read < b->read ? -1 : 1;
	return sp_rocks_compare(a->key, b->key);
}

/* The misses of one read, from `first` on, as a request without repeats; gives where they end. */
static size_t group_misses(read_state *state, const sp_tier_read *reads, size_t first)
{
	const key_miss *misses = state->misses;
	const sp_tier_read *read = &reads[misses[first].read];
	sp_read_request *request = &state->requests[state->request_count];
	miss_group *group = &state->groups[state->request_count++];
	size_t at = first, unique = 0;

	*group = (miss_group){.read = read, .misses = misses, .firsts = state->firsts + first};
	for (; at < state->miss_count && misses[at].read == misses[first].read; at++)
		if (at == first || misses[at].key != misses[at - 1].key) {
			group->firsts[unique] = at;
			state->keys[first + unique++] = misses[at].key;
		}
	group->end = misses + at;
	*request = (sp_read_request){
		.rocks = of(read->tier)->rocks,
		.keys = state->keys + first,
		.count = unique,
		.owner = group,
	};
	return at;
}

/* A row that was missed goes to all that want it, and to the cache.  In any thread. */
static void take_row(const sp_read_request *request, size_t i, const void *row)
{
	const miss_group *group = request->owner;
	const sp_tier_read *read = group->read;
	ssd_tier *tier = of(read->tier);
	const key_miss *miss = group->misses + group->firsts[i];

	for (; miss < group->end && miss->key == request->keys[i]; miss++) {
		read->found[miss->at] = row != NULL;
		if (row != NULL)
			tier->codec->decode(tier->tier.dim, row, read->rows[miss->at]);
	}
	sp_row_cache_fill(tier->cache, request->keys[i], row);
	if (row != NULL)
		count_up(&tier->bytes_read, (tier->row_size / BLOCK_SIZE + 1) * BLOCK_SIZE);
}

/* The folder has rows that are not as they were written: no later start may use it. */
static void distrust(ssd_tier *tier)
{
	if (atomic_exchange(&tier->distrusted, true))
		return;
	sp_log(SP_LOG_ERROR,
	       "table '%s', SSD tier: %s is corrupt and is made anew by the next start", tier->name,
	       tier->folder.path);
	sp_ssd_folder_distrust(&tier->folder);
}

static sp_status report(const read_state *state, size_t failed, sp_status status, sp_error *err)
{
	const miss_group *group = &state->groups[failed < state->request_count ? failed : 0];
	ssd_tier *tier = of(group->read->tier);

	count_up(&tier->errors, 1);
	if (status == SP_CORRUPT)
		distrust(tier);
	return sp_error_prefix(err, status, "table '%s', SSD tier", tier->name);
}

static sp_status read_missed(read_state *state, const sp_tier_read *reads, int64_t deadline_ns,
			     sp_error *err)
{
	size_t failed;
	sp_status status;

	if (state->miss_count == 0)
		return SP_OK;
	qsort(state->misses, state->miss_count, sizeof(*state->misses), compare_misses);
	for (size_t at = 0; at < state->miss_count;)
		at = group_misses(state, reads, at);
	status = sp_read_pool_run(of(reads[0].tier)->store->pool, state->requests,
				  state->request_count, take_row, deadline_ns, &failed, err);
	return status == SP_OK ? SP_OK : report(state, failed, status, err);
}

static void count_found(const sp_tier_read *reads, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		size_t found = 0;

		for (size_t i = 0; i < reads[r].count; i++)
			found += reads[r].found[i];
		count_up(&of(reads[r].tier)->found, found);
		count_up(&of(reads[r].tier)->absent, reads[r].count - found);
	}
}

static sp_status ssd_read(const sp_tier_read *reads, size_t count, void *scratch,
			  int64_t deadline_ns, sp_error *err)
{
	read_state state = {0};

	for (size_t r = 0; r < count; r++)
		if (reads[r].count > UINT32_MAX)
			return sp_error_set(err, SP_INVALID, "a lookup of %zu keys",
					    reads[r].count);
	lay_out(&state, reads, count, scratch);
	read_caches(&state, reads, count);
	SP_TRY(read_missed(&state, reads, deadline_ns, err));
	count_found(reads, count);
	return SP_OK;
}

/* ---- the tier ---- */

static void ssd_counters(const sp_tier *tier, sp_tier_counters *out)
{
	ssd_tier *ssd = of(tier);

	*out = (sp_tier_counters){
		.asked = atomic_load_explicit(&ssd->asked, memory_order_relaxed),
		.found = atomic_load_explicit(&ssd->found, memory_order_relaxed),
		.absent = atomic_load_explicit(&ssd->absent, memory_order_relaxed),
		.hot_hits = atomic_load_explicit(&ssd->hot_hits, memory_order_relaxed),
		.errors = atomic_load_explicit(&ssd->errors, memory_order_relaxed),
		.bytes_read = atomic_load_explicit(&ssd->bytes_read, memory_order_relaxed),
	};
}

static size_t ssd_footprint(const sp_tier *tier)
{
	return sizeof(ssd_tier) + sp_row_cache_footprint(of(tier)->cache) +
	       sp_rocks_footprint(of(tier)->rocks);
}

static size_t ssd_disk_footprint(const sp_tier *tier)
{
	return sp_rocks_disk_footprint(of(tier)->rocks);
}

/* Once in its life a tier says how it went. */
static void log_counters(const ssd_tier *tier)
{
	sp_tier_counters c;

	ssd_counters(&tier->tier, &c);
	if (c.asked != 0)
		sp_log(SP_LOG_INFO,
		       "table '%s', SSD tier: %" PRIu64 " keys, %.2f %% of them in memory, %" PRIu64
		       " bytes read, %" PRIu64 " failures",
		       tier->name, c.asked, 100.0 * (double)c.hot_hits / (double)c.asked,
		       c.bytes_read, c.errors);
}

static void ssd_destroy(sp_tier *tier)
{
	ssd_tier *ssd = of(tier);

	log_counters(ssd);
	if (ssd->rocks != NULL)
		sp_read_pool_drain(ssd->store->pool, ssd->rocks);
	sp_rocks_close(ssd->rocks);
	sp_ssd_folder_close(&ssd->folder);
	sp_row_cache_destroy(ssd->cache);
	sp_ssd_store_release(ssd->store);
	sp_free(ssd->elements);
	sp_free(ssd->name);
	sp_free(ssd);
}

/* ---- folding ---- */

static sp_ssd_table table_of(const ssd_tier *tier)
{
	return (sp_ssd_table){tier->name, tier->tier.dim, tier->format};
}

/* Index and filter of what was there come into memory a second time. */
static size_t ssd_fold_cost(const sp_tier *tier, const sp_rows *over)
{
	const sp_ssd_table table = table_of(of(tier));
	size_t index = sp_rocks_footprint(of(tier)->rocks) +
		       sp_rocks_expected_footprint(sp_rows_get_shape(over)->row_count,
						   of(tier)->row_size);
	size_t bytes = sp_ssd__fold_cost(&table, over);

	return bytes < SIZE_MAX - index ? bytes + index : SIZE_MAX;
}

/*
 * The tier over `made`, of which only open files stay: it stands in for `base`,
 * whose files they are but for one, and goes on with the cache of `from`.
 */
static sp_status open_folded(sp_tier **out, const ssd_tier *from, sp_ssd_folder *made,
			     sp_ssd_folder *base, sp_error *err)
{
	const sp_ssd_table table = table_of(from);
	float *elements = sp_alloc(table.dim * sizeof(*elements));
	sp_row_cache *cache = sp_row_cache_share(from->cache);
	sp_status status = SP_NO_MEMORY;
	ssd_tier *tier;

	if (elements == NULL)
		sp_error_set(err, status, "no memory to fold rows");
	else
		status = sp_ssd__tier_create(out, from->store, &table, made, cache, err);
	if (status != SP_OK) {
		sp_row_cache_destroy(cache);
		sp_free(elements);
		return status;
	}
	tier = of(*out);
	tier->elements = elements;
	*made = tier->folder;
	tier->folder = *base;
	*base = (sp_ssd_folder){.lock = -1};
	return SP_OK;
}

static sp_status ssd_fold(sp_tier **out, sp_tier *tier, const sp_tier_fold *how, sp_error *err)
{
	ssd_tier *from = of(tier);
	const sp_ssd_table table = table_of(from);
	sp_ssd_folder made = {.lock = -1}, base = {.lock = -1};
	sp_status status = sp_ssd__fold(&made, &base, from->store, &table, how, err);

	if (status == SP_OK)
		status = open_folded(out, from, &made, &base, err);
	sp_ssd_folder_discard(&made, from->store->path);
	sp_ssd_folder_close(&base);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "table '%s', SSD tier", from->name);
	return SP_OK;
}

static void move_count(atomic_uint_least64_t *to, atomic_uint_least64_t *from)
{
	count_up(to, atomic_exchange(from, 0));
}

/* What the cache holds of the layer's keys are the rows before, or that there was none. */
static void ssd_adopt(sp_tier *folded, sp_tier *tier, const sp_rows *over)
{
	ssd_tier *to = of(folded), *from = of(tier);
	const sp_ssd_table table = table_of(to);
	sp_stored_row row;
	int64_t key;

	for (size_t s = 0; s < sp_rows_get_shape(over)->slot_count; s++)
		if (sp_rows_at(over, s, &key, &row))
			sp_row_cache_replace(to->cache, key,
					     sp_ssd__as_stored(&table, &row, to->elements));
	move_count(&to->asked, &from->asked);
	move_count(&to->found, &from->found);
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
	.disk_footprint = ssd_disk_footprint,
	.fold_cost = ssd_fold_cost,
	.fold = ssd_fold,
	.adopt = ssd_adopt,
	.destroy = ssd_destroy,
};

/* Not every file system reads past the page cache: tmpfs does not. */
static bool can_read_directly(const sp_ssd_folder *folder)
{
	char *path = sp_ssd_folder_file(folder, "label");
	int fd = path != NULL ? open(path, O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;

	sp_free(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static sp_status open_rows(ssd_tier *tier, const sp_ssd_folder *folder, sp_error *err)
{
	char *path = sp_ssd_folder_file(folder, "rows");
	sp_status status;

	if (path == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a path");
	status = sp_rocks_open(&tier->rocks, path, tier->row_size, can_read_directly(folder), err);
	sp_free(path);
	return status;
}

static sp_status load_hot_rows(ssd_tier *tier, const sp_ssd_table *table,
			       const sp_ssd_folder *folder, sp_error *err)
{
	char *path = sp_ssd_folder_file(folder, "hot");

	if (path == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a path");
	SP_TRY(sp_ssd__cache_create(&tier->cache, tier->store, table,
				    sp_rocks_row_count(tier->rocks),
				    sp_rocks_footprint(tier->rocks), err));
	sp_hot_rows_load(tier->cache, path);
	sp_free(path);
	return SP_OK;
}

static sp_status fill(ssd_tier *tier, const sp_ssd_table *table, const sp_ssd_folder *folder,
		      const sp_row_cache *cache, sp_error *err)
{
	tier->name = sp_alloc_text(table->name);
	if (tier->name == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for table '%s'", table->name);
	SP_TRY(sp_ssd__store_start(tier->store, err));
	SP_TRY(open_rows(tier, folder, err));
	if (cache == NULL)
		SP_TRY(load_hot_rows(tier, table, folder, err));
	return SP_OK;
}

sp_status sp_ssd__tier_create(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			      sp_ssd_folder *folder, sp_row_cache *cache, sp_error *err)
{
	ssd_tier *tier = sp_alloc_zero(1, sizeof(*tier));
	sp_status status;

	if (tier == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for table '%s'", table->name);
	tier->tier.kind = &ssd_kind;
	tier->tier.dim = table->dim;
	atomic_init(&tier->tier.references, 1);
	tier->store = sp_ssd_store_retain(store);
	tier->folder.lock = -1;
	tier->codec = sp_row_codec_find(table->format);
	tier->format = table->format;
	tier->row_size = sp_row_format_size(table->format, table->dim);
	status = fill(tier, table, folder, cache, err);
	if (status != SP_OK) {
		ssd_destroy(&tier->tier);
		return status;
	}
	if (cache != NULL)
		tier->cache = cache;
	tier->folder = *folder;
	*folder = (sp_ssd_folder){.lock = -1};
	tier->tier.row_count = sp_rocks_row_count(tier->rocks);
	*out = &tier->tier;
	return SP_OK;
}

/* An unusable folder is made anew, as if it had not been there. */
static sp_status open_folder(sp_tier **out, sp_ssd_store *store, const sp_ssd_table *table,
			     sp_ssd_folder *folder, sp_error *err)
{
	sp_error why;
	sp_status status = sp_ssd__tier_create(out, store, table, folder, NULL, &why);

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
