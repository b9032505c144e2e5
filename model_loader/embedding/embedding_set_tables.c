#include "model_loader/embedding/embedding_set_internal.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/size.h"
#include "model_loader/embedding/embedding_column.h"
#include "model_loader/embedding/embedding_internal.h"
#include "model_loader/embedding/row_pace.h"
#include "storage/ssd/ssd_builder.h"
#include "storage/table/table_builder.h"

/*
 * Tables are loaded in three steps: for each handle in order, find its variable and whether another
 * handle has the same table; then read the tables, several at once; then assign them to the
 * handles.
 *
 * A small table is read by one thread, and so is one on an SSD, whose rows are sorted.  A large one
 * in memory uses all threads, so such tables are read one at a time.
 */
enum {
	/* A table in memory up to this size is read by one thread, ... */
	SMALL_BYTES = 32 << 20,
	/* ... and tables read at once take at most this much temporary memory. */
	SPARE_BYTES = 256 << 20,
};

typedef struct job {
	sp_embedding_note *note;
	const sp_embedding_note *like; /* the note whose table it shares; NULL: it has its own */
	sp_table *table;               /* its own, once it is loaded */
	size_t bytes;                  /* to be read for its table */
	atomic_bool cancelled;         /* an earlier job has failed */
} job;

typedef struct loading {
	sp_embedding_set *set;
	job *jobs;
	size_t count, own_count;
	size_t at_once;        /* tables read at once */
	pthread_mutex_t large; /* held while a table is read by all threads */
} loading;

static sp_status load_from_tensors(sp_table **out, const sp_embedding_note *note,
				   const sp_load_policy *policy, sp_error *err)
{
	const sp_embedding_spec *spec = &note->spec;
	sp_table_options options = sp_embedding__table_options(spec, policy, spec->name);
	int64_t *keys = sp_alloc_zero(note->keys.count + 1, sizeof(*keys));
	sp_status status;

	SP_NEED_MEMORY(keys, err, "embedding '%s'", spec->name);
	for (size_t i = 0; i < note->keys.count; i++)
		keys[i] = sp_tensor_index(&note->keys, i);
	status = sp_table_from_rows(out, &options, keys, note->values.data, note->keys.count, err);
	sp_free(keys);
	return status;
}

/* -------------------------------------------------------------------- columns */

/* Before the rows are read, so that the temporary memory of both is not needed at once. */
static sp_status read_columns(const sp_embedding_set *set, sp_embedding_note *note,
			      const sp_load_policy *policy, sp_error *err)
{
	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (note->columns[c] != NULL ||
		    !sp_embedding_set__wants_column(set, note, (sp_table_column)c))
			continue;
		if (note->origin == SP_EMBEDDING_IN_TENSORS)
			SP_TRY(sp_embedding_make_column(&note->columns[c], (sp_table_column)c,
							&note->keys, &note->versions, err));
		else
			SP_TRY(sp_embedding_load_column(&note->columns[c], (sp_table_column)c,
							&note->found, &note->spec, policy, NULL,
							err));
	}
	return SP_OK;
}

static void give_columns(sp_table *table, const sp_embedding_note *note)
{
	for (int c = 0; c < SP_TABLE_COLUMNS; c++)
		sp_table_set_column(table, (sp_table_column)c, note->columns[c]);
}

/* Once the delta's rows are in `table`: its columns over those of the table below. */
static sp_status lay_columns(sp_table *table, const sp_embedding_note *note,
			     const sp_load_policy *policy, sp_error *err)
{
	sp_key_column *column;

	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (!sp_table_has_column(table, (sp_table_column)c) ||
		    note->found.delta.part_count == 0)
			continue;
		SP_TRY(sp_embedding_load_column(&column, (sp_table_column)c, &note->found,
						&note->spec, policy, table, err));
		sp_table_set_column(table, (sp_table_column)c, column);
		sp_key_column_release(column);
	}
	return SP_OK;
}

/* ---------------------------------------------------------------------- image */

/* Everything besides the checkpoint that decides which rows the note's table has, and how. */
static void describe(sp_buffer *text, const sp_embedding_set *set, const sp_embedding_note *note)
{
	const sp_embedding_spec *spec = &note->spec;
	const sp_load_policy *policy = set->policy;
	bool alike = true;

	for (size_t i = 0; i < set->count; i++)
		if (sp_embedding_set__are_siblings(note, &set->notes[i]))
			alike = alike && sp_embedding_set__answer_alike(spec, &set->notes[i].spec);
	sp_buffer_printf(text, "table %s %s %s dim %zu part %lld of %lld filter %d %lld alike %d",
			 spec->name, sp_dtype_name(spec->key_dtype), sp_dtype_name(spec->dtype),
			 spec->dim, (long long)spec->partition_id, (long long)spec->partition_num,
			 (int)spec->filter, (long long)spec->filter_freq, alike);
	sp_buffer_printf(
		text, " format %lld threshold %lld",
		(long long)sp_name_rules_find(&policy->row_formats, note->base, SP_ROW_FP32),
		(long long)sp_name_rules_find(&policy->frequency_thresholds, note->base, 0));
	if (policy->only_finite) /* rows of an image are not checked again */
		sp_buffer_append_text(text, " finite");
	if (sp_load_policy_shards(policy, note->base))
		sp_buffer_printf(text, " slice %lld of %lld", (long long)policy->slice,
				 (long long)policy->slice_count);
	if (policy->ssd != NULL) /* larger tables are not in the image */
		sp_buffer_printf(text, " memory %zu", sp_ssd_store_cache_bytes(policy->ssd));
	sp_buffer_append_char(text, '\n');
}

/* Once: looks for the image if the policy wants one. */
static void open_image(sp_embedding_set *set)
{
	sp_buffer settings;

	if (set->image_opened || set->policy == NULL || set->policy->image_folder == NULL ||
	    set->model_dir == NULL)
		return;
	set->image_opened = true;
	sp_buffer_init(&settings, (size_t)1 << 30);
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].origin == SP_EMBEDDING_IN_CHECKPOINT && set->notes[i].created)
			describe(&settings, set, &set->notes[i]);
	if (!settings.failed)
		sp_embedding_image_open(&set->image, set->policy, set->model_dir, set->full,
					(sp_bytes){settings.data, settings.size});
	sp_buffer_fini(&settings);
}

sp_routing sp_embedding_set__known_routing(const sp_embedding_set *set,
					   const sp_embedding_note *note)
{
	bool routed;

	if (!sp_embedding_image_knows(&set->image, note->base, &routed) &&
	    !sp_embedding_image_knows(&set->image, note->spec.name, &routed))
		return SP_ROUTING_UNKNOWN;
	return routed ? SP_ROUTED : SP_NOT_ROUTED;
}

/* ------------------------------------------------------- what is to be loaded */

static job *find_job(const loading *l, const sp_embedding_note *note)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->jobs[i].note == note)
			return &l->jobs[i];
	return NULL;
}

static sp_status plan_from_checkpoint(sp_embedding_set *set, job *j, sp_error *err)
{
	sp_embedding_note *note = j->note;
	bool alone = false;

	open_image(set);
	note->spec.routing = sp_embedding_set__known_routing(set, note);
	SP_TRY(sp_embedding_set__find(&note->found, set, &note->spec, set->delta, err));
	for (size_t i = 0; note->found.whole && i < set->count; i++) {
		const sp_embedding_note *other = &set->notes[i];

		if (!sp_embedding_set__are_siblings(note, other))
			continue;
		if (!sp_embedding_set__answer_alike(&note->spec, &other->spec))
			alone = true;
		else if (other->has_whole)
			j->like = other;
	}
	note->has_whole = note->found.whole && !alone;
	note->found.own_part = alone;
	note->found.image = set->image_opened ? &set->image : NULL;
	return SP_OK;
}

/* The table of the full checkpoint; a resource has the same index in all versions. */
static const sp_table *base_table(const sp_embedding_set *set, const sp_embedding_note *note)
{
	size_t number = (size_t)(note->resource - set->resources->items);

	return number < set->base_resources->count ? set->base_resources->items[number].table
						   : NULL;
}

/* The same note of the base: the same programs declare the same in the same order. */
static const sp_embedding_note *base_note(const sp_embedding_set *set,
					  const sp_embedding_note *note)
{
	return &set->base->notes[note - set->notes];
}

/* Handles that share a table of the full checkpoint also share the one with the delta. */
static sp_status plan_over_base(const loading *l, job *j, sp_error *err)
{
	sp_embedding_set *set = l->set;
	sp_embedding_note *note = j->note;
	const sp_table *full = base_table(set, note);

	if (set->base->count != set->count ||
	    strcmp(base_note(set, note)->resource->name, note->resource->name) != 0 || full == NULL)
		return sp_error_set(err, SP_INTERNAL, "embedding '%s' has no full checkpoint",
				    note->resource->name);
	for (size_t i = 0; i < set->count && j->like == NULL; i++) {
		const sp_embedding_note *other = &set->notes[i];

		if (base_table(set, other) == full &&
		    (other->resource->table != NULL || find_job(l, other) != NULL))
			j->like = other;
	}
	if (j->like != NULL)
		return SP_OK;
	return sp_embedding_find_delta(&note->found, &base_note(set, note)->found, &note->spec,
				       set->delta, set->arena, err);
}

/* SIZE_MAX on overflow. */
static size_t bytes_of(const sp_embedding_rows *rows, size_t dim)
{
	size_t width, bytes;

	if (!sp_size_mul(&width, dim, sizeof(float)) ||
	    !sp_size_add(&width, width, sizeof(int64_t)) ||
	    !sp_size_mul(&bytes, sp_embedding__count_rows(rows), width))
		return SIZE_MAX;
	return bytes;
}

static sp_status plan(loading *l, const sp_resource *resource, sp_error *err)
{
	sp_embedding_set *set = l->set;
	job *j = &l->jobs[l->count];

	*j = (job){.note = sp_embedding_set__find_note(set, resource)};
	SP_TRY(sp_embedding_set__check_note(j->note, resource, err));
	if (find_job(l, j->note) != NULL)
		return SP_OK;
	if (j->note->origin == SP_EMBEDDING_IN_TENSORS) {
		j->bytes = 0;
	} else if (set->base != NULL) {
		SP_TRY(plan_over_base(l, j, err));
		j->bytes = bytes_of(&j->note->found.delta, j->note->spec.dim);
	} else {
		SP_TRY(plan_from_checkpoint(set, j, err));
		j->bytes = bytes_of(&j->note->found.full, j->note->spec.dim);
	}
	l->count++;
	l->own_count += j->like == NULL;
	return SP_OK;
}

/* --------------------------------------------------------------------- tables */

/* For later deltas; only once, even if tables are later taken from an image. */
static sp_status load_versions(sp_embedding_note *note, const sp_load_policy *policy, sp_error *err)
{
	if (policy->old_key != SP_OLD_KEY_REPLACE_IF_NEWER)
		return SP_OK;
	if (note->row_versions == NULL)
		SP_TRY(sp_embedding_load_versions(&note->row_versions, &note->found, &note->spec,
						  policy, err));
	note->found.versions = note->row_versions;
	return SP_OK;
}

static sp_status load_job(job *j, const sp_embedding_set *set, const sp_load_policy *policy,
			  sp_error *err)
{
	sp_embedding_note *note = j->note;
	sp_status status = SP_OK;
	sp_table *table;

	SP_TRY(sp_load_policy_go_on(policy, err));
	if (note->origin == SP_EMBEDDING_IN_TENSORS) {
		SP_TRY(read_columns(set, note, policy, err));
		SP_TRY(load_from_tensors(&table, note, policy, err));
		give_columns(table, note);
	} else if (set->base != NULL) {
		SP_TRY(sp_embedding_load(&table, &note->found, &note->spec, policy,
					 base_table(set, note), err));
		status = lay_columns(table, note, policy, err);
	} else {
		SP_TRY(load_versions(note, policy, err));
		SP_TRY(read_columns(set, note, policy, err));
		SP_TRY(sp_embedding_load(&table, &note->found, &note->spec, policy, NULL, err));
		give_columns(table, note);
		status = lay_columns(table, note, policy, err);
	}
	if (status != SP_OK) {
		sp_table_destroy(table);
		return status;
	}
	j->table = table;
	return SP_OK;
}

/* Whether its rows are read by all threads, directly to memory. */
static bool is_large(const loading *l, const job *j)
{
	const sp_ssd_store *ssd = l->set->policy->ssd;
	size_t spare = SPARE_BYTES / l->at_once;

	if (l->set->policy->redis != NULL || sp_load_policy_asks(l->set->policy, j->note->base))
		return false;
	if (ssd != NULL && j->bytes > sp_ssd_store_cache_bytes(ssd))
		return false;
	return j->bytes > (spare < SMALL_BYTES ? spare : SMALL_BYTES);
}

static sp_status load_step(void *context, size_t i, sp_error *err)
{
	loading *l = context;
	job *j = &l->jobs[i];
	sp_load_policy policy = *l->set->policy;
	sp_status status;

	if (j->like != NULL)
		return SP_OK;
	policy.cancelled = &j->cancelled;
	if (l->at_once > 1 && is_large(l, j)) {
		pthread_mutex_lock(&l->large);
		status = load_job(j, l->set, &policy, err);
		pthread_mutex_unlock(&l->large);
	} else {
		policy.threads = l->at_once == 1 ? policy.threads : 1;
		status = load_job(j, l->set, &policy, err);
	}
	/* Earlier tables continue, so that the error is that of the first one that fails. */
	for (size_t k = i + 1; status != SP_OK && k < l->count; k++)
		atomic_store(&l->jobs[k].cancelled, true);
	return status;
}

/* Limited by the threads, the memory to sort rows in, and the tables. */
static size_t tables_at_once(const sp_load_policy *policy, size_t own_count)
{
	size_t count = policy->threads < own_count ? policy->threads : own_count;

	if (policy->ssd != NULL) {
		size_t fit = SPARE_BYTES / sp_ssd_builder_room(policy->ssd);

		count = fit < count ? fit : count;
	}
	if (count == 0 || sp_row_pace_is_limited(policy))
		count = 1;
	return count;
}

/* Loaded tables belong to the set, even when another table has failed. */
static void give_tables(loading *l)
{
	sp_embedding_set *set = l->set;

	for (size_t i = 0; i < l->count; i++) {
		job *j = &l->jobs[i];
		sp_embedding_note *note = j->note;

		if (j->like != NULL) {
			note->resource->table = j->like->resource->table;
			note->found.versions = j->like->found.versions;
		} else if (j->table != NULL) {
			note->resource->table = j->table;
			set->tables[set->table_count++] = j->table;
		}
		if (note->resource->table == NULL)
			note->has_whole = false;
	}
}

static sp_status load_jobs(loading *l, const uint32_t *indices, size_t count, sp_error *err)
{
	sp_embedding_set *set = l->set;
	sp_status status;

	for (size_t i = 0; i < count; i++) {
		const sp_resource *resource = &set->resources->items[indices[i]];

		SP_TRY(sp_load_policy_go_on(set->policy, err));
		if (resource->kind == SP_RESOURCE_EMBEDDING && resource->table == NULL)
			SP_TRY(plan(l, resource, err));
	}
	SP_TRY(sp_embedding_set__reserve_tables(set, l->own_count, err));
	l->at_once = tables_at_once(set->policy, l->own_count);
	pthread_mutex_init(&l->large, NULL);
	status = sp_parallel_run(l->at_once, l->count, load_step, l, err);
	pthread_mutex_destroy(&l->large);
	return status;
}

sp_status sp_embedding_set_load(sp_embedding_set *set, const uint32_t *indices, size_t count,
				sp_error *err)
{
	loading l = {.set = set, .jobs = sp_alloc_zero(count + 1, sizeof(*l.jobs))};
	sp_status status;

	SP_NEED_MEMORY(l.jobs, err, "loading %zu embeddings", count);
	status = load_jobs(&l, indices, count, err);
	give_tables(&l);
	sp_free(l.jobs);
	return status;
}
