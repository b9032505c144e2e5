#include "model_loader/embedding/row_versions.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "model_loader/checkpoint/key_numbers.h"
#include "storage/placement/placement.h"

/*
 * The keys are not stored: only keys that the table holds are looked up, and each has its own slot
 * here.
 */
struct sp_row_versions {
	sp_placement placement;
	sp_region pilots;
	sp_region steps; /* [slot_count] uint32, or uint64 when `wide`; 0: unknown */
	bool wide;
};

/* Passes all of a variable's keys and steps to `take`; missing steps are unknown. */
static sp_status read_all(const sp_embedding_rows *rows, bool is_delta, sp_key_numbers_take *take,
			  void *context, sp_error *err)
{
	for (size_t i = 0; i < rows->part_count; i++) {
		sp_key_numbers part = {
			.bundle = rows->bundle,
			.name = rows->parts[i].name,
			.keys = is_delta ? "-sparse_incr_keys" : "-keys",
			.numbers = is_delta ? "-sparse_incr_versions" : "-versions",
			.key_dtype = rows->parts[i].keys->dtype,
		};

		SP_TRY(sp_key_numbers_read(&part, take, context, err));
	}
	return SP_OK;
}

/* The step of key i of a piece; 0: unknown. */
static int64_t step_of(const sp_key_numbers_piece *piece, size_t i)
{
	return i < piece->known && piece->numbers[i] > 0 ? piece->numbers[i] : 0;
}

/* --------------------------------------------------------------------- keys */

/* The keys to place, and the limit of a step. */
typedef struct gathering {
	sp_region keys;
	size_t count;
	int64_t newest;
} gathering;

static sp_status gather(void *context, const sp_key_numbers_piece *piece, sp_error *err)
{
	gathering *g = context;
	int64_t *to = g->keys.data;

	(void)err;
	for (size_t i = 0; i < piece->count; i++) {
		if (!sp_key_is_mark(piece->keys[i]))
			to[g->count++] = piece->keys[i];
		if (step_of(piece, i) > g->newest)
			g->newest = step_of(piece, i);
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
		return sp_no_memory(err, "the versions of %zu rows", count);
	return read_all(rows, is_delta, gather, g, err);
}

/* -------------------------------------------------------------------- steps */

static size_t slot_of(const sp_row_versions *versions, int64_t key)
{
	const uint8_t *pilots = versions->pilots.data;
	uint64_t hash = sp_placement_hash(&versions->placement, key);

	return sp_placement_slot(&versions->placement, hash,
				 pilots[sp_placement_bucket(&versions->placement, hash)]);
}

static sp_status put_steps(void *context, const sp_key_numbers_piece *piece, sp_error *err)
{
	sp_row_versions *versions = context;

	(void)err;
	for (size_t i = 0; i < piece->count; i++) {
		size_t slot;

		if (sp_key_is_mark(piece->keys[i]))
			continue;
		slot = slot_of(versions, piece->keys[i]);
		if (versions->wide)
			((uint64_t *)versions->steps.data)[slot] = (uint64_t)step_of(piece, i);
		else
			((uint32_t *)versions->steps.data)[slot] = (uint32_t)step_of(piece, i);
	}
	return SP_OK;
}

static sp_status place(sp_row_versions *versions, gathering *g, size_t threads, sp_error *err)
{
	size_t width = versions->wide ? sizeof(uint64_t) : sizeof(uint32_t), size;

	SP_TRY(sp_placement_find(&versions->pilots, &versions->placement, &g->keys, g->count,
				 threads, NULL, err));
	if (!sp_size_mul(&size, versions->placement.slot_count, width) ||
	    !sp_region_resize(&versions->steps, size))
		return sp_no_memory(err, "the versions of %zu rows", g->count);
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
	SP_NEED_MEMORY(versions, err, "versions");
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
