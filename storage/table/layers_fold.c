#include "storage/table/layers_fold.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "storage/rows/rows_fold.h"

struct sp_layers_fold {
	sp_table *table;
	sp_table_layers layers;
	sp_rows_fold *rows; /* folds rows in memory; NULL: the fold goes to a tier */

	/* The thread that folds into a tier; NULL: not started. */
	sp_thread_group *thread;
	sp_tier_fold how;
	atomic_bool stopped; /* tells the thread to end */
	atomic_bool ended;   /* once true, the three fields below are valid */
	sp_tier *tier;
	sp_status status;
	sp_error error;
};

const char *sp_layers_fold_obstacle(const sp_table_layers *layers,
				    const sp_layers_fold_options *options)
{
	if (layers->below != NULL)
		return layers->base == NULL && layers->below->kind->fold != NULL
			       ? NULL
			       : "in a slower tier that is only read";
	if (!options->from_image && sp_rows_fold_is_mapped(layers->base))
		return "mapped from an image";
	return NULL;
}

size_t sp_layers_fold_cost(const sp_table_layers *layers)
{
	if (layers->below != NULL)
		return layers->below->kind->fold_cost(layers->below, layers->overlay);
	return sp_rows_fold_cost(layers->base, layers->overlay);
}

static sp_status begin(sp_layers_fold *fold, const sp_table *table,
		       const sp_layers_fold_options *options, sp_error *err)
{
	SP_TRY(sp_table_share(&fold->table, table, err));
	fold->layers = sp_table_get_layers(fold->table);
	fold->how = (sp_tier_fold){.over = fold->layers.overlay,
				   .rows_per_second = options->rows_per_second,
				   .stop = &fold->stopped};
	if (fold->layers.below != NULL)
		return SP_OK;
	return sp_rows_fold_create(&fold->rows, sp_table_name(table), fold->layers.base,
				   fold->layers.overlay, options->threads, err);
}

sp_status sp_layers_fold_create(sp_layers_fold **out, const sp_table *table,
				const sp_layers_fold_options *options, sp_error *err)
{
	sp_layers_fold *fold = sp_alloc_zero(1, sizeof(*fold));
	sp_status status;

	SP_NEED_MEMORY(fold, err, "folding rows of table '%s'", sp_table_name(table));
	status = begin(fold, table, options, err);
	if (status != SP_OK) {
		sp_layers_fold_destroy(fold);
		return status;
	}
	*out = fold;
	return SP_OK;
}

void sp_layers_fold_destroy(sp_layers_fold *fold)
{
	if (fold == NULL)
		return;
	atomic_store(&fold->stopped, true);
	sp_thread_group_destroy(fold->thread);
	sp_tier_release(fold->tier);
	sp_rows_fold_destroy(fold->rows);
	sp_table_destroy(fold->table);
	sp_free(fold);
}

static void fold_tier(void *context)
{
	sp_layers_fold *fold = context;
	sp_tier *tier = fold->layers.below;

	fold->status = tier->kind->fold(&fold->tier, tier, &fold->how, &fold->error);
	atomic_store(&fold->ended, true);
}

sp_status sp_layers_fold_step(sp_layers_fold *fold, size_t slots, bool *done, sp_error *err)
{
	if (fold->rows != NULL)
		return sp_rows_fold_step(fold->rows, slots, done, err);
	if (fold->thread == NULL)
		SP_TRY(sp_thread_group_create(&fold->thread, 1, "sp-fold", fold_tier, fold, err));
	*done = atomic_load(&fold->ended);
	if (!*done || fold->status == SP_OK)
		return SP_OK;
	/* SP_BUSY without a stop: the lock of a folder could not be taken in time. */
	return sp_error_set(err, fold->status == SP_BUSY ? SP_IO : fold->status, "%s",
			    fold->error.text);
}

bool sp_layers_fold_is_busy(const sp_layers_fold *fold)
{
	if (fold->rows != NULL)
		return sp_rows_fold_is_busy(fold->rows);
	return fold->thread != NULL && !atomic_load(&fold->ended);
}

sp_status sp_layers_fold_freeze(sp_layers_fold *fold, sp_table **out, sp_error *err)
{
	sp_rows *rows;
	sp_status status;

	if (fold->rows == NULL)
		return sp_table_fold(out, fold->table, NULL, fold->tier, err);
	SP_TRY(sp_rows_fold_freeze(fold->rows, &rows, err));
	status = sp_table_fold(out, fold->table, rows, NULL, err);
	sp_rows_release(rows);
	return status;
}

void sp_layers_fold_adopt(sp_layers_fold *fold)
{
	sp_tier *tier = fold->layers.below;

	if (tier != NULL)
		tier->kind->adopt(fold->tier, tier, fold->layers.overlay);
}
