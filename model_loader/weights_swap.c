#include "model_loader/weights_swap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_loader/model_internal.h"
#include "model_loader/weights_internal.h"
#include "storage/table/table_builder.h"

/* One embedding: the resources that are handles of it or of its parts. */
typedef struct step {
	const char *name;
	uint32_t *handles;
	size_t handle_count;
	size_t bytes; /* of its new tables, at most */
	size_t old_bytes;
} step;

struct sp_weights_swap {
	sp_arena *arena;
	sp_weights *new;
	sp_weights *values;     /* whose variables the mixtures have */
	const sp_weights *last; /* what is published: what next() takes the old tables from */
	step *steps;
	size_t count;
	size_t loaded;
};

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory to swap embeddings");
}

/* -------------------------------------------------------------------- steps */

static step *find_step(sp_weights_swap *swap, const char *name)
{
	for (size_t i = 0; i < swap->count; i++)
		if (strcmp(swap->steps[i].name, name) == 0)
			return &swap->steps[i];
	return NULL;
}

/* Handles of one variable may have one table, or each its own. */
static bool is_counted(const sp_weights_swap *swap, const step *s, const sp_table *table)
{
	for (size_t i = 0; i < s->handle_count; i++)
		if (swap->last->resources.items[s->handles[i]].table == table)
			return true;
	return table == NULL;
}

static sp_status add_handle(void *context, size_t i, sp_error *err)
{
	sp_weights_swap *swap = context;
	size_t most = swap->new->resources.count;
	const sp_table *old = swap->last->resources.items[i].table;
	const char *name;
	size_t bytes;
	step *s;

	SP_TRY(sp_load_environment_expect(swap->new->environment, &swap->new->resources.items[i],
					  &name, &bytes, err));
	s = find_step(swap, name);
	if (s == NULL) {
		s = &swap->steps[swap->count++];
		*s = (step){.name = name,
			    .bytes = bytes,
			    .handles = sp_arena_array(swap->arena, most, sizeof(*s->handles))};
		if (s->handles == NULL)
			return no_memory(err);
	}
	if (!is_counted(swap, s, old))
		s->old_bytes += sp_table_footprint(old);
	s->handles[s->handle_count++] = (uint32_t)i;
	return SP_OK;
}

/* The largest first: then the others find its room, whatever they have grown by. */
static int by_size(const void *a, const void *b)
{
	const step *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->name, y->name);
}

static sp_status plan_steps(sp_weights_swap *swap, sp_error *err)
{
	swap->steps = sp_arena_zeros(swap->arena, swap->new->resources.count, sizeof(step));
	if (swap->steps == NULL)
		return no_memory(err);
	SP_TRY(sp_weights__each_embedding(swap->new, add_handle, swap, err));
	qsort(swap->steps, swap->count, sizeof(step), by_size);
	return SP_OK;
}

/* Beside what is published: a mixture's own values, the new variables, and embeddings. */
static sp_status check_memory(const sp_weights_swap *swap, size_t limit, sp_error *err)
{
	size_t extra = sp_weights__dense_size(swap->new) +
		       sp_snapshot_footprint(swap->last->snapshot);

	for (size_t i = 0; limit != 0 && i < swap->count; i++) {
		const step *s = &swap->steps[i];

		if (extra > limit || s->bytes > limit - extra)
			return sp_error_set(err, SP_NO_MEMORY,
					    "embedding '%s' alone takes up to %zu MB of memory, "
					    "and %zu MB are left of model_update_memory_mb",
					    s->name, (s->bytes >> 20) + 1,
					    (extra < limit ? limit - extra : 0) >> 20);
		extra += s->bytes;
		extra = extra > s->old_bytes ? extra - s->old_bytes : 0;
	}
	return SP_OK;
}

/* --------------------------------------------------------------- the swap */

static sp_status begin(sp_weights_swap *swap, const sp_weights_options *options, sp_error *err)
{
	sp_load_policy policy = options->policy != NULL ? *options->policy
							: (sp_load_policy){.threads = 1};
	sp_weights_options without_image = *options;

	policy.image_folder = NULL;
	without_image.policy = &policy;
	swap->arena = sp_arena_create(16 << 10);
	if (swap->arena == NULL)
		return no_memory(err);
	SP_TRY(sp_weights__create(&swap->new, swap->last->model, NULL, err));
	SP_TRY(sp_weights__load_dense(swap->new, &without_image, err));
	SP_TRY(sp_weights__check_dense(swap->new, err));
	SP_TRY(plan_steps(swap, err));
	return check_memory(swap, options->memory_limit, err);
}

sp_status sp_weights_swap_create(sp_weights_swap **out, sp_weights *from,
				 const sp_weights_options *options, sp_error *err)
{
	sp_weights_swap *swap = sp_alloc_zero(1, sizeof(*swap));
	sp_error local;
	sp_status status;

	if (swap == NULL)
		return no_memory(err);
	if (err == NULL)
		err = &local;
	swap->last = from;
	swap->values = sp_weights__lend(from);
	status = begin(swap, options, err);
	if (status != SP_OK) {
		sp_weights_swap_destroy(swap);
		return status;
	}
	*out = swap;
	return SP_OK;
}

void sp_weights_swap_destroy(sp_weights_swap *swap)
{
	if (swap == NULL)
		return;
	sp_weights_destroy(swap->new);
	sp_weights__give_back(swap->values);
	sp_arena_destroy(swap->arena);
	sp_free(swap);
}

size_t sp_weights_swap_count(const sp_weights_swap *swap)
{
	return swap->count;
}

size_t sp_weights_swap_loaded(const sp_weights_swap *swap)
{
	return swap->loaded;
}

/* ----------------------------------------------------------------- mixtures */

/* A table of the mixture's own that is all that `table` is; handles that shared one still do. */
static sp_status share_table(sp_weights *mixture, const sp_weights_swap *swap, size_t i,
			     sp_error *err)
{
	const sp_resource *new = swap->new->resources.items, *old = swap->last->resources.items;
	sp_resource *to = mixture->resources.items;
	const sp_table *table = new[i].table != NULL ? new[i].table : old[i].table;
	sp_table *share;

	if (table == NULL)
		return SP_OK;
	for (size_t k = 0; k < i; k++)
		if ((new[k].table != NULL ? new[k].table : old[k].table) == table) {
			to[i].table = to[k].table;
			return SP_OK;
		}
	SP_TRY(sp_table_share(&share, table, err));
	mixture->tables[mixture->table_count++] = share;
	to[i].table = share;
	return SP_OK;
}

static sp_status mix(sp_weights *mixture, const sp_weights_swap *swap, sp_error *err)
{
	for (size_t i = 0; i < mixture->resources.count; i++)
		SP_TRY(share_table(mixture, swap, i, err));
	return sp_snapshot_build(&mixture->snapshot, mixture->model->program, &mixture->resources,
				 err);
}

sp_status sp_weights_swap_next(sp_weights_swap *swap, sp_weights **out, sp_error *err)
{
	const step *s = &swap->steps[swap->loaded];
	sp_weights *mixture;
	sp_status status;

	SP_TRY(sp_load_environment_load_tables(swap->new->environment, &swap->new->resources,
					       s->handles, s->handle_count, err));
	status = sp_weights__borrow(&mixture, swap->values, NULL, err);
	if (status == SP_OK)
		status = mix(mixture, swap, err);
	if (status != SP_OK) {
		sp_weights_destroy(mixture);
		return status;
	}
	swap->loaded++;
	swap->last = mixture;
	*out = mixture;
	return SP_OK;
}

sp_status sp_weights_swap_finish(sp_weights_swap *swap, sp_weights **out, sp_error *err)
{
	SP_TRY(sp_weights__complete(swap->new, err));
	*out = swap->new;
	swap->new = NULL;
	return SP_OK;
}
