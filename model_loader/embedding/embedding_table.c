#include <stdio.h>

#include "base/log.h"
#include "base/size.h"
#include "model_loader/embedding/embedding_image.h"
#include "model_loader/embedding/embedding_internal.h"
#include "model_loader/embedding/embedding_variable.h"
#include "model_loader/embedding/row_export.h"
#include "model_loader/embedding/row_merge.h"
#include "model_loader/embedding/row_pace.h"
#include "storage/rows/rows_builder.h"
#include "storage/ssd/ssd_builder.h"
#include "storage/table/table_builder.h"

/* One table to load: the variable, the rows, and how. */
typedef struct load {
	const sp_embedding *embedding;
	const sp_embedding_spec *spec;
	const sp_load_policy *policy;
	bool sharded; /* only a slice of the variable */
	sp_row_selection selection;
} load;

/* Without parts the answer is yes: the rows are those of a full checkpoint under a delta. */
static bool may_have_freqs(const sp_embedding_rows *rows)
{
	for (size_t i = 0; i < rows->part_count; i++)
		if ((rows->parts[i].freqs != NULL && rows->parts[i].freqs->size != 0) ||
		    rows->parts[i].ssd_record != NULL)
			return true;
	return rows->part_count == 0;
}

static void choose_rows(load *l)
{
	const sp_embedding_spec *spec = l->spec;
	sp_row_selection *s = &l->selection;

	*s = sp_embedding__choose_rows(l->embedding, spec, &l->embedding->full, l->policy);
	s->frequency_floor = spec->filter_freq > 1 ? spec->filter_freq : 1;
	s->frequency_threshold = sp_name_rules_find(&l->policy->frequency_thresholds,
						    l->embedding->base, 0);
	if (s->frequency_threshold > s->frequency_floor && !may_have_freqs(&l->embedding->full))
		sp_log(SP_LOG_WARNING,
		       "embedding '%s' has no frequencies: with serve_frequency_threshold %lld "
		       "none of its rows is held",
		       spec->name, (long long)s->frequency_threshold);
	l->sharded = sp_load_policy_shards(l->policy, l->embedding->base);
}

sp_table_options sp_embedding__table_options(const sp_embedding_spec *spec,
					     const sp_load_policy *policy, const char *name)
{
	return (sp_table_options){
		.name = name,
		.dim = spec->dim,
		.filter = spec->filter,
		.default_value_no_permission = spec->default_value_no_permission,
		.default_rows = policy->absent_keys_are_zeros ? NULL : spec->default_rows,
		.default_row_count = spec->default_row_count};
}

static sp_table_options table_options(const load *l)
{
	bool whole = l->embedding->whole && !l->embedding->own_part;
	sp_table_options options = sp_embedding__table_options(
		l->spec, l->policy, whole ? l->embedding->base : l->spec->name);

	if (l->sharded) { /* its answer is added to those of other instances */
		options.filter = SP_TABLE_FILTER_COUNTER;
		options.default_value_no_permission = 0;
	}
	return options;
}

static sp_status add_keys(void *context, const sp_row_piece *piece, sp_error *err)
{
	return sp_rows_builder_add_keys(context, piece->keys, piece->count, err);
}

/* The later row of a repeated key counts, which requires order. */
static sp_status start_rows(void *context, bool *in_order, sp_error *err)
{
	SP_TRY(sp_rows_builder_index(context, err));
	*in_order = sp_rows_builder_repeated(context) != 0;
	return SP_OK;
}

static sp_status put_rows(void *context, const sp_row_piece *piece, sp_error *err)
{
	return sp_rows_builder_put_rows(context, piece->keys, piece->rows, piece->count, err);
}

static sp_status put_checked(void *context, const sp_row_piece *piece, uint32_t *crc, sp_error *err)
{
	return sp_rows_builder_put_checked(context, piece->keys, piece->rows, piece->count, crc,
					   err);
}

static sp_embedding_rows own_rows(const load *l, const sp_embedding_rows *rows)
{
	return sp_embedding__own_rows(l->embedding, l->spec, rows);
}

static sp_row_format row_format(const load *l)
{
	return (sp_row_format)sp_name_rules_find(&l->policy->row_formats, l->embedding->base,
						 SP_ROW_FP32);
}

/*
 * Reads rows into `sink`: through row_merge if the policy checks or merges rows, and through
 * row_pace if it limits the rate.  `full` has the rows below those of a delta; NULL: rows of the
 * full checkpoint are read.
 */
static sp_status read_rows(const load *l, const sp_embedding_rows *rows, const sp_table *full,
			   const sp_row_sink *sink, sp_error *err)
{
	sp_embedding_rows own = own_rows(l, rows);
	bool merges = sp_row_merge_is_needed(l->policy, full);
	bool paces = sp_row_pace_is_needed(l->policy);
	sp_row_sink first = *sink;
	sp_status status = SP_OK;
	sp_row_merge merge;
	sp_row_pace pace;

	if (merges) {
		sp_row_merge_init(&merge, &first, l->spec->dim, l->policy, full);
		first = sp_row_merge_sink(&merge);
		if (full != NULL && l->policy->old_key == SP_OLD_KEY_REPLACE_IF_NEWER)
			status = sp_row_merge_use_versions(&merge, l->embedding->versions, &own,
							   err);
	}
	if (paces) {
		sp_row_pace_init(&pace, &first, l->spec->dim, l->policy);
		first = sp_row_pace_sink(&pace);
	}
	if (status == SP_OK)
		status = sp_embedding_read(&own, l->spec->dim, &l->selection, &first,
					   l->policy->threads, err);
	if (status == SP_OK && merges)
		status = sp_row_merge_check(&merge, err);
	if (paces)
		sp_row_pace_fini(&pace);
	if (merges)
		sp_row_merge_fini(&merge);
	return status;
}

/* 0: unknown, because some rows are left out. */
static size_t expected_here(const load *l, const sp_embedding_rows *rows)
{
	const sp_row_selection *s = &l->selection;
	sp_embedding_rows own = own_rows(l, rows);
	bool all = s->part_count == 1 && s->slice_count == 1 &&
		   s->frequency_threshold <= s->frequency_floor;

	return all ? sp_embedding__count_rows(&own) : 0;
}

/* `full` as in read_rows(). */
static sp_status make_rows(sp_rows **out, const load *l, const sp_embedding_rows *rows,
			   const sp_table *full, sp_error *err)
{
	sp_rows_options options = {.name = l->spec->name,
				   .dim = l->spec->dim,
				   .format = row_format(l),
				   .expected_rows = expected_here(l, rows),
				   .threads = l->policy->threads};
	sp_row_sink sink = {.add_keys = add_keys,
			    .start_rows = start_rows,
			    .put_rows = put_rows,
			    .put_checked = put_checked};
	sp_rows_builder *builder;
	sp_status status;

	SP_TRY(sp_rows_builder_create(&builder, &options, err));
	sink.context = builder;
	status = read_rows(l, rows, full, &sink, err);
	if (status == SP_OK)
		status = sp_rows_builder_freeze(builder, out, err);
	sp_rows_builder_destroy(builder);
	return status;
}

/* From the image; else from the checkpoint, and noted for a new image. */
static sp_status find_full_rows(sp_rows **out, const load *l, const char *name, sp_error *err)
{
	sp_embedding_image *image = l->embedding->image;

	*out = image != NULL ? sp_embedding_image_take(image, name) : NULL;
	if (*out != NULL)
		return SP_OK;
	SP_TRY(make_rows(out, l, &l->embedding->full, NULL, err));
	if (image != NULL)
		sp_embedding_image_note(image, name, l->embedding->full.routed != 0, *out);
	return SP_OK;
}

static sp_status put_to_ssd(void *context, const sp_row_piece *piece, sp_error *err)
{
	return sp_ssd_builder_put(context, piece->keys, piece->rows, piece->freqs, piece->count,
				  err);
}

static sp_status start_in_order(void *context, bool *in_order, sp_error *err)
{
	(void)context;
	(void)err;
	*in_order = true;
	return SP_OK;
}

/* By the index alone: a table that fits into its tier's memory is not put on the SSD. */
static bool belongs_on_ssd(const load *l, const sp_ssd_table *table)
{
	sp_embedding_rows own = own_rows(l, &l->embedding->full);
	size_t bytes;

	if (l->policy->ssd == NULL)
		return false;
	return !sp_size_mul(&bytes, sp_embedding__count_rows(&own),
			    sp_rows_slot_size(SP_ROWS_KEY_IN_FRONT, table->format, table->dim)) ||
	       bytes > sp_ssd_store_cache_bytes(l->policy->ssd);
}

static sp_status build_tier(sp_tier **out, const load *l, const sp_ssd_table *table, sp_error *err)
{
	sp_row_sink sink = {
		.wants_freqs = true, .start_rows = start_in_order, .put_rows = put_to_ssd};
	sp_embedding_rows own = own_rows(l, &l->embedding->full);
	sp_ssd_builder *builder;
	sp_status status;

	SP_TRY(sp_ssd_builder_create(&builder, l->policy->ssd, table,
				     sp_embedding__count_rows(&own), err));
	sink.context = builder;
	status = read_rows(l, &l->embedding->full, NULL, &sink, err);
	if (status == SP_OK)
		status = sp_ssd_builder_freeze(builder, out, err);
	sp_ssd_builder_destroy(builder);
	return status;
}

enum { WHICH_SIZE = 160 };

/* Describes which rows of the version the table has, given the graph's declarations. */
static void describe_rows(char which[WHICH_SIZE], const load *l)
{
	const sp_row_selection *s = &l->selection;

	snprintf(which, WHICH_SIZE, "part %lld of %lld, admitted by filter %d from %lld on",
		 (long long)s->part, (long long)s->part_count, (int)s->filter,
		 (long long)s->frequency_floor);
}

static void leave_out(const load *l, const char *name)
{
	const sp_row_selection *s = &l->selection;
	sp_embedding_rows own = own_rows(l, &l->embedding->full);
	size_t shares = (size_t)s->part_count * (size_t)s->slice_count;
	size_t count = sp_embedding__count_rows(&own);

	l->policy->leave_out(l->policy->leave_out_context,
			     &(sp_rows_left_out){name, l->spec->dim, row_format(l),
						 count / (shares != 0 ? shares : 1)});
}

/* Gives the rows to policy->exports; `name` is the table's. */
static sp_status export_rows(const load *l, const char *name, sp_error *err)
{
	const sp_row_export *exports = l->policy->exports;
	bool shares = l->embedding->whole && !l->embedding->own_part;
	sp_embedding_rows own = own_rows(l, &l->embedding->full);
	sp_exported_table table = {.name = name,
				   .handle = l->spec->name,
				   .handles = shares ? (size_t)l->spec->partition_num : 1,
				   .dim = l->spec->dim,
				   .key_dtype = l->spec->key_dtype,
				   .row_count = sp_embedding__count_rows(&own)};
	sp_row_sink sink = {0};

	SP_TRY(exports->begin(exports->context, &table, &sink, err));
	if (sink.put_rows == NULL)
		return SP_OK;
	sink.start_rows = start_in_order;
	SP_TRY(read_rows(l, &l->embedding->full, NULL, &sink, err));
	return exports->end(exports->context, err);
}

enum { MAX_FEATURES = 1000 }; /* parts; DeepRec divides keys into 1000 buckets */

/* The numbers of the handles that share the table; 0: the graph has none. */
static size_t find_features(const load *l, uint64_t features[MAX_FEATURES])
{
	bool shares = l->embedding->whole && !l->embedding->own_part;
	size_t parts = shares ? (size_t)l->spec->partition_num : 1, found = 0;
	char name[1024];

	if (l->policy->features == NULL || parts > MAX_FEATURES)
		return 0;
	for (; found < parts; found++) {
		snprintf(name, sizeof(name), "%s/part_%zu", l->embedding->base, found);
		if (!sp_map_get(l->policy->features, sp_bytes_of(parts > 1 ? name : l->spec->name),
				&features[found]))
			return 0;
	}
	return found;
}

static sp_status open_in_redis(sp_tier **out, const load *l, const char *name, sp_error *err)
{
	uint64_t features[MAX_FEATURES];
	const sp_redis_table_options table = {.name = name,
					      .dim = l->spec->dim,
					      .key_size = l->spec->key_dtype == SP_INT32 ? 4 : 8,
					      .features = features,
					      .feature_count = find_features(l, features)};

	return sp_redis_tier_open(out, l->policy->redis, &table, err);
}

static sp_status make_full(sp_table **out, const load *l, sp_error *err)
{
	char which[WHICH_SIZE];
	sp_table_options options = table_options(l);
	sp_ssd_table on_ssd = {options.name, options.dim, row_format(l), which};
	sp_rows *rows = NULL;
	sp_tier *tier = NULL;
	sp_status status;

	if (l->policy->leave_out != NULL) {
		leave_out(l, options.name);
		return sp_table_create(out, &options, NULL, NULL, err);
	}
	if (l->policy->exports != NULL) {
		SP_TRY(export_rows(l, options.name, err));
		return sp_table_create(out, &options, NULL, NULL, err);
	}
	describe_rows(which, l);
	if (sp_load_policy_asks(l->policy, l->embedding->base)) {
		status = sp_shard_tier_open(&tier, l->policy->shards, options.name, options.dim,
					    err);
	} else if (l->policy->redis != NULL) {
		status = open_in_redis(&tier, l, options.name, err);
	} else if (!belongs_on_ssd(l, &on_ssd)) {
		status = find_full_rows(&rows, l, options.name, err);
	} else {
		status = sp_ssd_tier_open(&tier, l->policy->ssd, &on_ssd, err);
		if (status == SP_NOT_FOUND)
			status = build_tier(&tier, l, &on_ssd, err);
	}
	if (status == SP_OK)
		status = sp_table_create(out, &options, rows, tier, err);
	sp_rows_release(rows);
	sp_tier_release(tier);
	return status;
}

/* Without frequencies no row of a delta is left out: an older row would answer instead. */
static void choose_delta(load *l)
{
	sp_row_selection s = sp_embedding__choose_rows(l->embedding, l->spec, &l->embedding->delta,
						       l->policy);

	s.frequency_floor = l->selection.frequency_floor;
	s.frequency_threshold = may_have_freqs(&l->embedding->delta)
					? l->selection.frequency_threshold
					: 0;
	l->selection = s;
}

/* Lays the rows of the delta over those of the full checkpoint. */
static sp_status lay_delta(sp_table **out, const load *l, const sp_table *full, sp_error *err)
{
	load delta = *l;
	sp_rows *rows = NULL;
	sp_status status;

	choose_delta(&delta);
	if (own_rows(l, &l->embedding->delta).part_count != 0)
		SP_TRY(make_rows(&rows, &delta, &l->embedding->delta, full, err));
	status = sp_table_with_overlay(out, full, rows, err);
	sp_rows_release(rows);
	return status;
}

static sp_status make_table(sp_table **out, const load *l, sp_error *err)
{
	sp_table *full;
	sp_status status;

	SP_TRY(make_full(&full, l, err));
	if (l->embedding->delta.part_count == 0) {
		*out = full;
		return SP_OK;
	}
	status = lay_delta(out, l, full, err);
	sp_table_destroy(full);
	return status;
}

sp_status sp_embedding_load_versions(sp_key_column **out, const sp_embedding *embedding,
				     const sp_embedding_spec *spec, const sp_load_policy *policy,
				     sp_error *err)
{
	sp_embedding_rows own = sp_embedding__own_rows(embedding, spec, &embedding->full);
	sp_status status = sp_row_versions_create(out, &own, false, policy->threads, err);

	return sp_error_prefix(err, status, "embedding '%s'", spec->name);
}

sp_status sp_embedding_load(sp_table **out, const sp_embedding *embedding,
			    const sp_embedding_spec *spec, const sp_load_policy *policy,
			    const sp_table *full, sp_error *err)
{
	static const sp_load_policy as_deeprec = {.threads = 1};
	load l = {.embedding = embedding,
		  .spec = spec,
		  .policy = policy != NULL ? policy : &as_deeprec};
	sp_status status;

	choose_rows(&l);
	status = full != NULL ? lay_delta(out, &l, full, err) : make_table(out, &l, err);
	return sp_error_prefix(err, status, "embedding '%s'", spec->name);
}

/* --------------------------------------------------------------------- memory */

enum {
	/* Empty slots, per cent of the others. */
	SPARE_PERCENT = 4,
	/* Per key besides its slot: pilots, and temporary memory while slots are found. */
	KEY_BYTES = 10,
};

size_t sp_embedding_expected_size(const sp_embedding *embedding, const sp_embedding_spec *spec,
				  const sp_load_policy *policy)
{
	sp_row_format format = (sp_row_format)sp_name_rules_find(&policy->row_formats,
								 embedding->base, SP_ROW_FP32);
	size_t slot = sp_rows_slot_size(SP_ROWS_KEY_IN_FRONT, format, spec->dim);
	size_t rows = sp_embedding__count_rows(&embedding->full), bytes, spare, defaults;

	if (sp_load_policy_shards(policy, embedding->base) && policy->slice_count > 1)
		rows = rows / (size_t)policy->slice_count + 1;
	if (!sp_size_mul(&bytes, rows, slot + KEY_BYTES) ||
	    !sp_size_mul(&spare, rows / 100 + 1, SPARE_PERCENT * slot) ||
	    !sp_size_add(&bytes, bytes, spare))
		return SIZE_MAX;
	if (policy->ssd != NULL && bytes > sp_ssd_store_cache_bytes(policy->ssd))
		bytes = sp_ssd_store_cache_bytes(policy->ssd);
	if (sp_load_policy_asks(policy, embedding->base)) {
		if (bytes > sp_shard_store_cache_bytes(policy->shards))
			bytes = sp_shard_store_cache_bytes(policy->shards);
	} else if (policy->redis != NULL && sp_redis_store_shares_cache(policy->redis)) {
		bytes = 0;
	} else if (policy->redis != NULL && bytes > sp_redis_store_cache_bytes(policy->redis)) {
		bytes = sp_redis_store_cache_bytes(policy->redis);
	}
	defaults = spec->default_row_count * spec->dim * sizeof(float); /* in memory already */
	return sp_size_add(&bytes, bytes, defaults) ? bytes : SIZE_MAX;
}
