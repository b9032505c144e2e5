#include "model_loader/row_versions.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/placement.h"

/*
 * The keys themselves are not kept: the table knows which it holds, and a key
 * that is held has a slot of its own here.
 */
struct sp_row_versions {
	sp_rows_shape shape; /* what concerns placing */
	sp_region pilots;
	sp_region steps; /* [slot_count] uint32, or uint64 when `wide`; 0: unknown */
	bool wide;
};

enum { PIECE = 4096 };

/* One part's tensors, read piece by piece. */
typedef struct part_reader {
	sp_bundle_span keys, versions;
	uint32_t keys_crc, versions_crc;
	size_t count;
	int64_t key[PIECE], version[PIECE]; /* of the piece; an unknown version is 0 */
	int64_t raw[PIECE];
} part_reader;

/* What is done with each piece. */
typedef sp_status take_piece(void *context, const part_reader *reader, sp_error *err);

static sp_status check_versions(const sp_bundle *bundle, const sp_bundle_entry *entry,
				const sp_embedding_part *part, sp_error *err)
{
	char shape[SP_SHAPE_TEXT_SIZE];

	if (!entry->sliced && entry->dtype == SP_INT64 && entry->shape.rank == 1 &&
	    entry->shape.dims[0] <= part->keys->shape.dims[0])
		return SP_OK;
	return sp_error_set(err, SP_CORRUPT, "%s: '%.*s' is %s %s, not at most %zu of DT_INT64",
			    sp_bundle_prefix(bundle), (int)entry->name.size, entry->name.data,
			    sp_dtype_name(entry->dtype), sp_shape_text(&entry->shape, shape),
			    part->row_count);
}

/* *out is NULL when the part has no versions. */
static sp_status find_versions(const sp_bundle_entry **out, const sp_bundle *bundle,
			       const sp_embedding_part *part, bool is_delta, sp_error *err)
{
	sp_arena *arena = sp_arena_create(1024);
	const char *name = NULL;

	*out = NULL;
	if (arena != NULL)
		name = sp_arena_printf(arena, "%s%s", part->name,
				       is_delta ? "-sparse_incr_versions" : "-versions");
	if (name != NULL)
		*out = sp_bundle_find(bundle, sp_bytes_of(name));
	sp_arena_destroy(arena);
	if (name == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the name of a tensor");
	return *out != NULL ? check_versions(bundle, *out, part, err) : SP_OK;
}

static void widen_keys(int64_t *to, const void *stored, sp_dtype dtype, size_t count)
{
	if (dtype == SP_INT64) {
		memcpy(to, stored, count * sizeof(*to));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		int32_t key;

		memcpy(&key, (const char *)stored + i * sizeof(key), sizeof(key));
		to[i] = key;
	}
}

static void read_piece(part_reader *r, size_t first)
{
	size_t left = r->keys.count - first, known = 0;

	r->count = left < PIECE ? left : PIECE;
	widen_keys(r->key, sp_bundle_span_copy(&r->keys, first, r->count, r->raw, &r->keys_crc),
		   r->keys.entry->dtype, r->count);
	if (first < r->versions.count)
		known = r->versions.count - first < r->count ? r->versions.count - first : r->count;
	if (known != 0)
		(void)sp_bundle_span_copy(&r->versions, first, known, r->version, &r->versions_crc);
	for (size_t i = 0; i < r->count; i++)
		if (i >= known || r->version[i] < 0)
			r->version[i] = 0;
}

static sp_status read_part(part_reader *r, const sp_bundle *bundle, const sp_embedding_part *part,
			   bool is_delta, take_piece *take, void *context, sp_error *err)
{
	const sp_bundle_entry *versions;

	*r = (part_reader){.keys_crc = 0};
	SP_TRY(find_versions(&versions, bundle, part, is_delta, err));
	SP_TRY(sp_bundle_span_open(&r->keys, bundle, part->keys->name, err));
	if (versions != NULL)
		SP_TRY(sp_bundle_span_open(&r->versions, bundle, versions->name, err));
	for (size_t first = 0; first < r->keys.count; first += PIECE) {
		read_piece(r, first);
		SP_TRY(take(context, r, err));
	}
	SP_TRY(sp_bundle_span_check(&r->keys, r->keys_crc, err));
	return versions != NULL ? sp_bundle_span_check(&r->versions, r->versions_crc, err) : SP_OK;
}

static sp_status read_all(const sp_embedding_rows *rows, bool is_delta, take_piece *take,
			  void *context, sp_error *err)
{
	part_reader *r = sp_alloc(sizeof(*r));
	sp_status status = SP_OK;

	if (r == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to read versions");
	for (size_t i = 0; i < rows->part_count && status == SP_OK; i++)
		status = read_part(r, rows->bundle, &rows->parts[i], is_delta, take, context, err);
	sp_free(r);
	return status;
}

/* --------------------------------------------------------------------- keys */

/* The keys that are to be placed, and how large a step may be. */
typedef struct gathering {
	sp_region keys;
	size_t count;
	int64_t newest;
} gathering;

static bool is_mark(int64_t key)
{
	return key == SP_ROWS_EMPTY_KEY || key == SP_ROWS_DELETED_KEY;
}

static sp_status gather(void *context, const part_reader *r, sp_error *err)
{
	gathering *g = context;
	int64_t *to = g->keys.data;

	(void)err;
	for (size_t i = 0; i < r->count; i++) {
		if (!is_mark(r->key[i]))
			to[g->count++] = r->key[i];
		if (r->version[i] > g->newest)
			g->newest = r->version[i];
	}
	return SP_OK;
}

static sp_status gather_all(gathering *g, const sp_embedding_rows *rows, bool is_delta,
			    sp_error *err)
{
	size_t count = 0, size;

	for (size_t i = 0; i < rows->part_count; i++) {
		if (rows->parts[i].ssd_record != NULL)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "rows of '%s' lie on an SSD tier, and their versions "
					    "are not known: update_old_key cannot be "
					    "replace_if_newer",
					    rows->parts[i].name);
		if (!sp_size_add(&count, count, rows->parts[i].row_count))
			return sp_error_set(err, SP_CORRUPT, "more rows than memory can hold");
	}
	if (!sp_size_mul(&size, count, sizeof(int64_t)) || !sp_region_resize(&g->keys, size))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the versions of %zu rows",
				    count);
	return read_all(rows, is_delta, gather, g, err);
}

/* -------------------------------------------------------------------- steps */

static size_t slot_of(const sp_row_versions *versions, int64_t key)
{
	const uint8_t *pilots = versions->pilots.data;
	uint64_t hash = sp_placement_hash(&versions->shape, key);

	return sp_placement_slot(&versions->shape, hash,
				 pilots[sp_placement_bucket(&versions->shape, hash)]);
}

static sp_status put_steps(void *context, const part_reader *r, sp_error *err)
{
	sp_row_versions *versions = context;

	(void)err;
	for (size_t i = 0; i < r->count; i++) {
		size_t slot;

		if (is_mark(r->key[i]))
			continue;
		slot = slot_of(versions, r->key[i]);
		if (versions->wide)
			((uint64_t *)versions->steps.data)[slot] = (uint64_t)r->version[i];
		else
			((uint32_t *)versions->steps.data)[slot] = (uint32_t)r->version[i];
	}
	return SP_OK;
}

static sp_status place(sp_row_versions *versions, gathering *g, size_t threads, sp_error *err)
{
	size_t width = versions->wide ? sizeof(uint64_t) : sizeof(uint32_t), size;

	SP_TRY(sp_placement_find(&versions->pilots, &versions->shape, &g->keys, g->count, threads,
				 NULL, err));
	if (!sp_size_mul(&size, versions->shape.slot_count, width) ||
	    !sp_region_resize(&versions->steps, size))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the versions of %zu rows",
				    g->count);
	memset(versions->steps.data, 0, size);
	return SP_OK;
}

static sp_status make(sp_row_versions **out, const sp_embedding_rows *rows, bool is_delta,
		      gathering *g, size_t threads, sp_error *err)
{
	sp_row_versions *versions;
	sp_status status;

	SP_TRY(gather_all(g, rows, is_delta, err));
	if (g->newest == 0 || g->count == 0)
		return SP_OK;
	versions = sp_alloc_zero(1, sizeof(*versions));
	if (versions == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for versions");
	versions->wide = g->newest > UINT32_MAX;
	status = place(versions, g, threads, err);
	if (status == SP_OK)
		status = read_all(rows, is_delta, put_steps, versions, err);
	if (status != SP_OK) {
		sp_row_versions_destroy(versions);
		return status;
	}
	*out = versions;
	return SP_OK;
}

sp_status sp_row_versions_create(sp_row_versions **out, const sp_embedding_rows *rows,
				 bool is_delta, size_t threads, sp_error *err)
{
	gathering g = {.count = 0};
	sp_status status;

	*out = NULL;
	status = make(out, rows, is_delta, &g, threads, err);
	sp_region_fini(&g.keys);
	return status;
}

void sp_row_versions_destroy(sp_row_versions *versions)
{
	if (versions == NULL)
		return;
	sp_region_fini(&versions->pilots);
	sp_region_fini(&versions->steps);
	sp_free(versions);
}

uint64_t sp_row_versions_find(const sp_row_versions *versions, int64_t key)
{
	size_t slot;

	if (versions == NULL)
		return 0;
	slot = slot_of(versions, key);
	return versions->wide ? ((const uint64_t *)versions->steps.data)[slot]
			      : ((const uint32_t *)versions->steps.data)[slot];
}

size_t sp_row_versions_footprint(const sp_row_versions *versions)
{
	return versions != NULL ? sizeof(*versions) + sp_region_footprint(&versions->pilots) +
					  sp_region_footprint(&versions->steps)
				: 0;
}
