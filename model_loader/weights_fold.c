#include "model_loader/weights_internal.h"
#include "storage/table/table_builder.h"

/*
 * Weights are never changed: of those of a delta and of those that they are based
 * on there are two more, which borrow all but the tables.  The tables of
 * the former ones go with their last user, and with them what was folded.
 */

/* Which table takes the place of another one. */
typedef struct exchange {
	const sp_table *from;
	const sp_table *to;
} exchange;

/* A table of its own, wherever `from` has table `i`. */
static sp_status share_table(sp_weights *weights, const sp_weights *from, size_t i,
			     const sp_table *as, sp_error *err)
{
	SP_TRY(sp_table_share(&weights->tables[i], as, err));
	weights->table_count++;
	for (size_t k = 0; k < from->resources.count; k++)
		if (from->resources.items[k].table == from->tables[i])
			weights->resources.items[k].table = weights->tables[i];
	return SP_OK;
}

static sp_status share_tables(sp_weights *weights, const sp_weights *from, const exchange *e,
			      sp_error *err)
{
	for (size_t i = 0; i < from->table_count; i++)
		SP_TRY(share_table(weights, from, i,
				   from->tables[i] == e->from ? e->to : from->tables[i], err));
	return SP_OK;
}

/* `from` with one table for another; on `base`, of which it takes a share: NULL for none. */
static sp_status copy(sp_weights **out, sp_weights *from, sp_weights *base, const exchange *e,
		      sp_error *err)
{
	sp_weights *weights;
	sp_status status = sp_weights__borrow(&weights, from, base, err);

	if (status == SP_OK)
		status = share_tables(weights, from, e, err);
	if (status == SP_OK && from->snapshot != NULL && base != NULL)
		status = sp_snapshot_share(&weights->snapshot, from->snapshot, &weights->resources,
					   err);
	if (status != SP_OK) {
		sp_weights_destroy(weights);
		return status;
	}
	*out = weights;
	return SP_OK;
}

/* The table of the same resource. */
static const sp_table *base_table(const sp_weights *weights, const sp_table *table)
{
	const sp_resources *mine = &weights->resources, *base = &weights->base->resources;

	for (size_t i = 0; i < mine->count; i++)
		if (mine->items[i].table == table)
			return base->items[i].table;
	return NULL;
}

static sp_status copy_both(sp_weights **out, sp_weights *weights, const sp_table *table,
			   const sp_table *folded, sp_error *err)
{
	exchange above = {table, folded}, below = {base_table(weights, table), folded};
	sp_weights *base;
	sp_status status;

	SP_TRY(copy(&base, weights->base, NULL, &below, err));
	status = copy(out, weights, base, &above, err);
	sp_weights_destroy(base);
	return status;
}

sp_status sp_weights_fold(sp_weights **out, sp_weights *weights, size_t i, const sp_table *folded,
			  sp_error *err)
{
	return copy_both(out, weights, weights->tables[i], folded, err);
}

bool sp_weights_are_folded(const sp_weights *weights)
{
	for (size_t i = 0; i < weights->table_count; i++)
		if (sp_table_is_folded(weights->tables[i]))
			return true;
	return false;
}

size_t sp_weights_table_count(const sp_weights *weights)
{
	return weights->table_count;
}

const sp_table *sp_weights_table(const sp_weights *weights, size_t i)
{
	return weights->tables[i];
}
