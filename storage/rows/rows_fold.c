#include "storage/rows/rows_fold.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/size.h"
#include "base/thread.h"
#include "storage/rows/rows_builder.h"
#include "storage/rows/rows_internal.h"

/*
 * Both layers are walked twice, for keys and for rows.  A key that both have is added once, in the
 * walk of the base; its row is taken from `over`.
 */
typedef enum phase {
	BASE_KEYS,
	OVER_KEYS,
	INDEX,
	BASE_ROWS,
	OVER_ROWS,
	DONE,
} phase;

enum {
	PIECE = SP_ROWS_BLOCK, /* rows that are copied together */
	BYTES_PER_KEY = 17     /* of the builder: keys, hashes, pilots */
};

struct sp_rows_fold {
	sp_rows *base;
	sp_rows *over;
	sp_rows_builder *builder;
	phase phase;
	size_t slot;     /* where the walk continues */
	float *elements; /* [PIECE, dim] for rows in fp32; else NULL */

	/* The thread that finds slots; NULL before, or when it could not be started. */
	sp_thread_group *thread;
	atomic_bool stopped; /* tells the thread to end */
	atomic_bool indexed; /* once true, the two fields below are valid */
	sp_status status;
	sp_error error;
};

bool sp_rows_fold_is_mapped(const sp_rows *base)
{
	return base->guard != NULL;
}

size_t sp_rows_fold_cost(const sp_rows *base, const sp_rows *over)
{
	size_t slots, each, bytes;

	if (!sp_size_add(&slots, base->shape.placement.slot_count,
			 over->shape.placement.slot_count) ||
	    !sp_size_add(&each, base->shape.slot_size, BYTES_PER_KEY) ||
	    !sp_size_mul(&bytes, slots, each))
		return SIZE_MAX;
	return bytes;
}

static sp_status make_builder(sp_rows_fold *fold, const char *name, size_t threads, sp_error *err)
{
	const sp_rows_shape *base = &fold->base->shape, *over = &fold->over->shape;
	sp_rows_options options = {.name = name,
				   .dim = base->dim,
				   .format = base->format,
				   .expected_rows = base->row_count + over->row_count,
				   .like = base->row_count >= over->row_count ? fold->base
									      : fold->over,
				   .threads = threads,
				   .stop = &fold->stopped};

	size_t elements;

	if (base->dim != over->dim || base->format != over->format)
		return sp_error_set(err, SP_INVALID,
				    "rows of %zu %s of table '%s' cannot be folded into %zu %s",
				    over->dim, sp_row_format_name(over->format), name, base->dim,
				    sp_row_format_name(base->format));
	if (base->format == SP_ROW_FP32) {
		if (!sp_size_mul(&elements, base->dim, PIECE * sizeof(float)) ||
		    (fold->elements = sp_alloc(elements)) == NULL)
			return sp_no_memory(err, "folding rows of table '%s'", name);
	}
	return sp_rows_builder_create(&fold->builder, &options, err);
}

sp_status sp_rows_fold_create(sp_rows_fold **out, const char *name, sp_rows *base, sp_rows *over,
			      size_t threads, sp_error *err)
{
	sp_rows_fold *fold = sp_alloc_zero(1, sizeof(*fold));
	sp_status status;

	SP_NEED_MEMORY(fold, err, "folding rows of table '%s'", name);
	fold->base = sp_rows_retain(base);
	fold->over = sp_rows_retain(over);
	status = make_builder(fold, name, threads, err);
	if (status != SP_OK) {
		sp_rows_fold_destroy(fold);
		return status;
	}
	*out = fold;
	return SP_OK;
}

void sp_rows_fold_destroy(sp_rows_fold *fold)
{
	if (fold == NULL)
		return;
	atomic_store(&fold->stopped, true);
	sp_thread_group_destroy(fold->thread);
	sp_rows_builder_destroy(fold->builder);
	sp_rows_release(fold->base);
	sp_rows_release(fold->over);
	sp_free(fold->elements);
	sp_free(fold);
}

/* Lists up to PIECE rows from the slots [*slot, end) and advances *slot. */
static size_t collect(const sp_rows *rows, size_t *slot, size_t end, int64_t *keys,
		      sp_stored_row *stored)
{
	size_t count = 0;

	for (; *slot < end && count < PIECE; ++*slot)
		count += sp_rows_at(rows, *slot, &keys[count], &stored[count]);
	return count;
}

/* Removes keys that `other` holds; returns the number of the rest. */
static size_t drop_held(const sp_rows *other, int64_t *keys, sp_stored_row *stored, size_t count)
{
	bool held[PIECE];
	size_t kept = 0;

	sp_rows__hold(other, keys, count, held);
	for (size_t i = 0; i < count; i++) {
		if (held[i])
			continue;
		keys[kept] = keys[i];
		stored[kept++] = stored[i];
	}
	return kept;
}

/* The layer that a phase walks, and the layer whose keys it skips; NULL: none. */
typedef struct layers {
	const sp_rows *walked;
	const sp_rows *without;
} layers;

static layers layers_of(const sp_rows_fold *fold)
{
	switch (fold->phase) {
	case BASE_KEYS:
		return (layers){fold->base, NULL};
	case OVER_KEYS:
		return (layers){fold->over, fold->base};
	case BASE_ROWS:
		return (layers){fold->base, fold->over};
	default:
		return (layers){fold->over, NULL};
	}
}

/* fp32 rows are decoded and written again, as the two layouts may differ; this loses nothing. */
static sp_status put_rows(const sp_rows_fold *fold, const int64_t *keys,
			  const sp_stored_row *stored, size_t count, sp_error *err)
{
	size_t dim = fold->base->shape.dim;

	if (fold->elements == NULL)
		return sp_rows_builder_put_stored(fold->builder, keys, stored, count, err);
	for (size_t i = 0; i < count; i++)
		stored[i].codec->decode(dim, stored[i].data, fold->elements + i * dim);
	return sp_rows_builder_put_rows(fold->builder, keys, fold->elements, count, err);
}

/* Walks at most `slots` slots of the phase; *over: the walk has ended. */
static sp_status walk(sp_rows_fold *fold, size_t slots, bool *over, sp_error *err)
{
	layers l = layers_of(fold);
	size_t left = l.walked->shape.placement.slot_count - fold->slot;
	size_t end = fold->slot + (slots < left ? slots : left);
	sp_stored_row stored[PIECE];
	int64_t keys[PIECE];

	while (fold->slot < end) {
		size_t count = collect(l.walked, &fold->slot, end, keys, stored);

		if (l.without != NULL)
			count = drop_held(l.without, keys, stored, count);
		if (fold->phase < INDEX)
			SP_TRY(sp_rows_builder_add_keys(fold->builder, keys, count, err));
		else
			SP_TRY(put_rows(fold, keys, stored, count, err));
	}
	*over = fold->slot == l.walked->shape.placement.slot_count;
	return SP_OK;
}

static void find_places(void *context)
{
	sp_rows_fold *fold = context;

	fold->status = sp_rows_builder_index(fold->builder, &fold->error);
	atomic_store(&fold->indexed, true);
}

/* Starts to find slots, or tells whether that is *over. */
static sp_status index_keys(sp_rows_fold *fold, bool *over, sp_error *err)
{
	if (fold->thread == NULL &&
	    sp_thread_group_create(&fold->thread, 1, "sp-fold", find_places, fold, NULL) != SP_OK)
		find_places(fold);
	*over = atomic_load(&fold->indexed);
	if (*over && fold->status != SP_OK)
		return sp_error_set(err, fold->status, "%s", fold->error.text);
	return SP_OK;
}

/* Whether all of the base is verified: keys read before may be wrong. */
static bool is_whole(const sp_rows *rows)
{
	return rows->guard == NULL || rows->guard->is_whole(rows->owner);
}

static sp_status confirm(const sp_rows *rows, sp_error *err)
{
	return rows->guard != NULL ? rows->guard->confirm(rows->owner, err) : SP_OK;
}

bool sp_rows_fold_is_busy(const sp_rows_fold *fold)
{
	if (!is_whole(fold->base))
		return true;
	return fold->thread != NULL && !atomic_load(&fold->indexed);
}

sp_status sp_rows_fold_step(sp_rows_fold *fold, size_t slots, bool *done, sp_error *err)
{
	bool over = false;

	*done = false;
	if (!is_whole(fold->base))
		return confirm(fold->base, err);
	if (fold->phase == INDEX)
		SP_TRY(index_keys(fold, &over, err));
	else if (fold->phase != DONE)
		SP_TRY(walk(fold, slots, &over, err));
	SP_TRY(confirm(fold->base, err));
	if (over) {
		fold->phase++;
		fold->slot = 0;
	}
	*done = fold->phase == DONE;
	return SP_OK;
}

sp_status sp_rows_fold_freeze(sp_rows_fold *fold, sp_rows **out, sp_error *err)
{
	return sp_rows_builder_freeze(fold->builder, out, err);
}
