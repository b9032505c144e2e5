#include "storage/fresh/fresh_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/size.h"

/* ------------------------------------------------------------------- memory */

sp_status sp_fresh__alloc(sp_fresh *fresh, sp_region *out, size_t size)
{
	uint64_t used = atomic_load_explicit(&fresh->bytes, memory_order_relaxed);
	size_t more = sp_region_expected_footprint(size);

	*out = (sp_region){.data = NULL};
	if (more > fresh->memory_limit || used > fresh->memory_limit - more)
		return SP_BUSY;
	if (!sp_region_resize(out, size))
		return SP_NO_MEMORY;
	sp_fresh__add(&fresh->bytes, sp_region_footprint(out));
	return SP_OK;
}

void sp_fresh__free(sp_fresh *fresh, const sp_region *of)
{
	sp_region region = *of;

	sp_fresh__add(&fresh->bytes, -(uint64_t)sp_region_footprint(&region));
	sp_region_fini(&region);
}

/* ------------------------------------------------------------------- opening */

static sp_status init_tables(sp_fresh *fresh, const sp_fresh_options *options, sp_error *err)
{
	fresh->tables = sp_alloc_zero(options->table_count + 1, sizeof(*fresh->tables));
	fresh->slots = sp_alloc_aligned(_Alignof(sp_fresh_slot),
					(options->reader_count + 1) * sizeof(*fresh->slots));
	SP_NEED_MEMORY(fresh->tables != NULL && fresh->slots != NULL, err, "%zu tables of new rows",
		       options->table_count);
	fresh->table_count = options->table_count;
	fresh->reader_count = options->reader_count;
	for (size_t i = 0; i < options->reader_count; i++)
		atomic_init(&fresh->slots[i].state, 0);
	for (size_t i = 0; i < options->table_count; i++) {
		sp_fresh_rows *rows = &fresh->tables[i];

		rows->fresh = fresh;
		rows->dim = options->dims[i];
		rows->seed = sp_hash_process_key()[0];
		if (!sp_size_mul(&rows->row_size, rows->dim, sizeof(float)) ||
		    !sp_size_add(&rows->row_size, rows->row_size, sizeof(sp_fresh_row) + 7))
			return sp_no_memory(err, "rows of %zu elements", rows->dim);
		rows->row_size &= ~(size_t)7;
	}
	return SP_OK;
}

sp_status sp_fresh_create(sp_fresh **out, const sp_fresh_options *options, sp_error *err)
{
	sp_fresh *fresh = sp_alloc_aligned(_Alignof(sp_fresh), sizeof(*fresh));
	sp_status status;

	SP_NEED_MEMORY(fresh, err, "new rows");
	memset(fresh, 0, sizeof(*fresh));
	atomic_init(&fresh->state, 1);
	fresh->memory_limit = options->memory_limit;
	status = init_tables(fresh, options, err);
	if (status != SP_OK) {
		sp_fresh_destroy(fresh);
		return status;
	}
	*out = fresh;
	return SP_OK;
}

static void free_indexes(sp_fresh *fresh, uint64_t oldest)
{
	for (sp_fresh_index **at = &fresh->replaced; *at != NULL;) {
		sp_fresh_index *index = *at;

		if (index->replaced > oldest) {
			at = &index->next;
			continue;
		}
		*at = index->next;
		sp_fresh__free(fresh, &index->region);
	}
}

void sp_fresh_destroy(sp_fresh *fresh)
{
	if (fresh == NULL)
		return;
	for (size_t i = 0; i < fresh->table_count; i++)
		sp_fresh__free_rows(&fresh->tables[i]);
	free_indexes(fresh, UINT64_MAX);
	sp_free(fresh->tables);
	sp_free(fresh->slots);
	sp_free(fresh);
}

const sp_fresh_rows *sp_fresh_table(const sp_fresh *fresh, size_t table)
{
	return &fresh->tables[table];
}

void sp_fresh_count(const sp_fresh *fresh, sp_fresh_counters *out)
{
	*out = (sp_fresh_counters){
		.keys = atomic_load_explicit(&fresh->keys, memory_order_relaxed),
		.bytes = atomic_load_explicit(&fresh->bytes, memory_order_relaxed),
		.commits = atomic_load_explicit(&fresh->commits, memory_order_relaxed),
	};
}

/* ------------------------------------------------------------------- states */

/*
 * A reader stores the state in its slot and then loads the newest state again.  If that has
 * changed, it starts over.  If not, its store precedes the commit of the next state in the single
 * order of sequentially consistent operations; so the writer, which reads the slots after the
 * commit, sees it.
 */
void sp_fresh_pin(sp_fresh_view *out, sp_fresh *fresh, size_t slot, int64_t after_step)
{
	uint64_t state = atomic_load(&fresh->state), again;

	for (;; state = again) {
		atomic_store(&fresh->slots[slot].state, state);
		again = atomic_load(&fresh->state);
		if (again == state)
			break;
	}
	*out = (sp_fresh_view){.fresh = fresh, .state = state, .after_step = after_step};
}

void sp_fresh_unpin(sp_fresh *fresh, size_t slot)
{
	atomic_store_explicit(&fresh->slots[slot].state, 0, memory_order_release);
}

/* The oldest pinned state; if none is pinned, the newest state. */
static uint64_t find_oldest(const sp_fresh *fresh)
{
	uint64_t oldest = atomic_load(&fresh->state);

	for (size_t i = 0; i < fresh->reader_count; i++) {
		uint64_t state = atomic_load(&fresh->slots[i].state);

		if (state != 0 && state < oldest)
			oldest = state;
	}
	return oldest;
}

void sp_fresh_reclaim(sp_fresh *fresh)
{
	uint64_t oldest = find_oldest(fresh);

	for (size_t i = 0; i < fresh->table_count; i++)
		fresh->tables[i].oldest = oldest;
	free_indexes(fresh, oldest);
}

void sp_fresh_commit(sp_fresh *fresh)
{
	atomic_store(&fresh->state, sp_fresh__next_state(fresh));
	sp_fresh__add(&fresh->commits, 1);
	sp_fresh_reclaim(fresh);
}
