#include "model_loader/embedding.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "model_loader/embedding_internal.h"
#include "model_loader/part_name.h"
#include "model_loader/ssd_record.h"

enum { MANY_ROWS = 16 }; /* so many of each part do not route by chance */

/* What is behind a part's name in the names of its tensors. */
typedef struct suffixes {
	const char *keys;
	const char *values;
	const char *freqs;
} suffixes;

static const suffixes full_suffixes = {"-keys", "-values", "-freqs"};
static const suffixes delta_suffixes = {"-sparse_incr_keys", "-sparse_incr_values",
					"-sparse_incr_freqs"};

/* NULL in *out when the bundle has no tensor <name><suffix>. */
static sp_status find_entry(const sp_bundle_entry **out, const sp_bundle *bundle, const char *name,
			    const char *suffix, sp_arena *arena, sp_error *err)
{
	const char *tensor = sp_arena_printf(arena, "%s%s", name, suffix);

	if (tensor == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for '%s%s'", name, suffix);
	*out = sp_bundle_find(bundle, sp_bytes_of(tensor));
	return SP_OK;
}

static sp_status bad_tensor(const sp_bundle *bundle, const sp_bundle_entry *entry, const char *want,
			    sp_error *err)
{
	char shape[SP_SHAPE_TEXT_SIZE];

	return sp_error_set(err, SP_CORRUPT, "%s: '%.*s' is %s%s %s, not %s",
			    sp_bundle_prefix(bundle), (int)entry->name.size, entry->name.data,
			    entry->sliced ? "sliced " : "", sp_dtype_name(entry->dtype),
			    sp_shape_text(&entry->shape, shape), want);
}

static sp_status check_keys(const sp_bundle *bundle, const sp_embedding_part *part,
			    const sp_embedding_spec *spec, sp_error *err)
{
	const sp_bundle_entry *keys = part->keys;
	char want[64];

	if (!keys->sliced && keys->dtype == spec->key_dtype && keys->shape.rank == 1)
		return SP_OK;
	snprintf(want, sizeof(want), "a vector of %s", sp_dtype_name(spec->key_dtype));
	return bad_tensor(bundle, keys, want, err);
}

static sp_status check_values(const sp_bundle *bundle, const sp_embedding_part *part,
			      const sp_embedding_spec *spec, sp_error *err)
{
	const sp_bundle_entry *values = part->values;
	char want[64];

	if (!values->sliced && values->dtype == spec->dtype && values->shape.rank == 2 &&
	    values->shape.dims[0] == part->keys->shape.dims[0] &&
	    values->shape.dims[1] == (int64_t)spec->dim)
		return SP_OK;
	snprintf(want, sizeof(want), "%s [%lld,%zu]", sp_dtype_name(spec->dtype),
		 (long long)part->keys->shape.dims[0], spec->dim);
	return bad_tensor(bundle, values, want, err);
}

/* Rows that were on a slower tier may have none. */
static sp_status check_freqs(const sp_bundle *bundle, const sp_embedding_part *part, sp_error *err)
{
	const sp_bundle_entry *freqs = part->freqs;
	char want[64];

	if (freqs == NULL ||
	    (!freqs->sliced && freqs->dtype == SP_INT64 && freqs->shape.rank == 1 &&
	     freqs->shape.dims[0] <= part->keys->shape.dims[0]))
		return SP_OK;
	snprintf(want, sizeof(want), "at most %lld of DT_INT64",
		 (long long)part->keys->shape.dims[0]);
	return bad_tensor(bundle, freqs, want, err);
}

/* Finds the tensors of the part called part->name. */
static sp_status find_part(sp_embedding_part *part, const sp_bundle *bundle, const suffixes *suffix,
			   const sp_embedding_spec *spec, sp_arena *arena, sp_error *err)
{
	SP_TRY(find_entry(&part->keys, bundle, part->name, suffix->keys, arena, err));
	SP_TRY(find_entry(&part->values, bundle, part->name, suffix->values, arena, err));
	SP_TRY(find_entry(&part->freqs, bundle, part->name, suffix->freqs, arena, err));
	if (part->keys == NULL || part->values == NULL)
		return sp_error_set(err, SP_CORRUPT, "%s lacks '%s%s'", sp_bundle_prefix(bundle),
				    part->name, part->keys == NULL ? suffix->keys : suffix->values);
	SP_TRY(check_keys(bundle, part, spec, err));
	SP_TRY(check_values(bundle, part, spec, err));
	SP_TRY(check_freqs(bundle, part, err));
	part->row_count = (size_t)part->keys->shape.dims[0];
	return SP_OK;
}

static sp_status has_offsets(bool *out, const sp_embedding_rows *rows, sp_arena *arena,
			     sp_error *err)
{
	*out = true;
	for (size_t i = 0; i < rows->part_count && *out; i++) {
		const sp_bundle_entry *offsets;

		SP_TRY(find_entry(&offsets, rows->bundle, rows->parts[i].name, "-partition_offset",
				  arena, err));
		*out = offsets != NULL;
	}
	return SP_OK;
}

static bool has_many_rows(const sp_embedding_rows *rows)
{
	for (size_t i = 0; i < rows->part_count; i++)
		if (rows->parts[i].row_count < MANY_ROWS)
			return false;
	return true;
}

/*
 * Whether all parts may become one table.  A few rows may obey the routing by
 * chance.  Where the graph has as many parts as the checkpoint, keeping them apart
 * is always right; so there, merging also wants rows enough and the bucket offsets,
 * which writers of numbers of their own mostly do not leave.
 */
static sp_status is_whole(bool *out, const sp_embedding *embedding, const sp_embedding_spec *spec,
			  sp_arena *arena, sp_error *err)
{
	const sp_embedding_rows *full = &embedding->full;

	*out = full->routed && embedding->delta.routed;
	if (!*out || full->part_count <= 1 || full->part_count != (size_t)spec->partition_num)
		return SP_OK;
	*out = has_many_rows(full);
	return *out ? has_offsets(out, full, arena, err) : SP_OK;
}

/* Of a part whose keys alone are missing the rows are there: a bundle that has lost something. */
static sp_status count_parts(size_t *count, const sp_bundle *bundle, const suffixes *suffix,
			     const sp_part_name *name, sp_error *err)
{
	size_t values;

	SP_TRY(sp_part_name_count(count, name, bundle, suffix->keys, err));
	SP_TRY(sp_part_name_count(&values, name, bundle, suffix->values, err));
	if (values <= *count)
		return SP_OK; /* one without values is found out later, and named */
	return sp_error_set(err, SP_CORRUPT, "%s lacks '%.*s/part_%zu%.*s%s'",
			    sp_bundle_prefix(bundle), (int)name->head.size, name->head.data, *count,
			    (int)name->tail.size, name->tail.data, suffix->keys);
}

/* Names the parts there are, in DeepRec's order: numbered ones, else the name without a part. */
static sp_status name_parts(sp_embedding_part **out, size_t *count, const sp_bundle *bundle,
			    const suffixes *suffix, const sp_part_name *name, sp_arena *arena,
			    sp_error *err)
{
	const sp_bundle_entry *unnumbered = NULL;
	const char *base = sp_part_name_base(name, arena);
	sp_embedding_part *parts;

	if (base == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the name of a part");
	SP_TRY(count_parts(count, bundle, suffix, name, err));
	if (*count == 0) {
		SP_TRY(find_entry(&unnumbered, bundle, base, suffix->keys, arena, err));
		*count = unnumbered != NULL;
	}
	parts = *out = sp_arena_zeros(arena, *count, sizeof(*parts));
	for (size_t i = 0; parts != NULL && i < *count; i++) {
		parts[i].name = unnumbered != NULL ? base : sp_part_name_join(name, i, arena);
		if (parts[i].name == NULL)
			parts = NULL;
	}
	if (parts == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu names", *count);
	return SP_OK;
}

static sp_status find_ssd(sp_embedding_part *part, const sp_bundle *bundle, sp_arena *arena,
			  sp_error *err)
{
	const char *prefix = sp_ssd_record_prefix(sp_bundle_prefix(bundle), part->name, arena);
	const char *path = prefix != NULL ? sp_arena_printf(arena, "%s.index", prefix) : NULL;

	if (path == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a path");
	if (!sp_file_exists(path))
		return SP_OK;
	part->ssd_record = prefix;
	part->ssd_count = sp_ssd_record_expected_count(prefix);
	return SP_OK;
}

/* Whether all rows lie where they would if there were so many parts. */
static sp_status are_routed(bool *out, const sp_embedding_rows *rows, size_t parts, sp_error *err)
{
	*out = true;
	for (size_t i = 0; i < rows->part_count && *out; i++)
		SP_TRY(sp_embedding__check_routing(out, rows, i, parts, err));
	return SP_OK;
}

static sp_status find_rows(sp_embedding_rows *rows, const sp_bundle *bundle, const suffixes *suffix,
			   const sp_part_name *name, const sp_embedding_spec *spec, sp_arena *arena,
			   sp_error *err)
{
	bool is_full = suffix == &full_suffixes;
	sp_routing known = is_full ? spec->routing : SP_ROUTING_UNKNOWN;
	sp_embedding_part *parts = NULL;

	*rows = (sp_embedding_rows){.bundle = bundle, .routed = true};
	if (bundle == NULL)
		return SP_OK;
	SP_TRY(name_parts(&parts, &rows->part_count, bundle, suffix, name, arena, err));
	rows->parts = parts;
	for (size_t i = 0; i < rows->part_count; i++)
		SP_TRY(find_part(&parts[i], bundle, suffix, spec, arena, err));
	for (size_t i = 0; is_full && i < rows->part_count; i++)
		SP_TRY(find_ssd(&parts[i], bundle, arena, err));
	if (known != SP_ROUTING_UNKNOWN) {
		rows->routed = known == SP_ROUTED;
		return SP_OK;
	}
	return rows->part_count > 1 ? are_routed(&rows->routed, rows, rows->part_count, err)
				    : SP_OK;
}

/* Without a number in its name the one part has all rows. */
static bool is_unnumbered(const sp_embedding *embedding)
{
	const sp_embedding_rows *full = &embedding->full;

	return full->part_count == 1 && strcmp(full->parts[0].name, embedding->base) == 0;
}

static bool has_fewer_parts(const sp_embedding *embedding, const sp_part_name *name,
			    const sp_embedding_spec *spec)
{
	return name->numbered && !is_unnumbered(embedding) &&
	       embedding->full.part_count < (size_t)spec->partition_num;
}

/* Whether the rows may be all that a checkpoint of so many parts has: they are in one of them. */
static bool may_be_all(const sp_embedding_rows *rows)
{
	size_t filled = 0;

	for (size_t i = 0; i < rows->part_count; i++)
		filled += rows->parts[i].row_count != 0;
	return rows->routed && filled <= 1;
}

/*
 * Where all rows lie as if the checkpoint had the graph's parts, of which it has
 * only the first, the others are lost: what else could have left them out?
 * Of few rows that may be chance.  And rows of one part alone may be all there
 * are, of a trainer with fewer parts and, say, even keys only: these are served,
 * and the handle of the first part that is not there says so.
 */
static sp_status check_none_is_lost(const sp_embedding *embedding, const sp_part_name *name,
				    const sp_embedding_spec *spec, sp_error *err)
{
	const sp_embedding_rows *rows = &embedding->full;
	bool complete = may_be_all(rows), routed;
	long long wanted = spec->partition_num;
	size_t row_count = 0;

	for (size_t i = 0; i < rows->part_count; i++)
		row_count += rows->parts[i].row_count;
	if (!has_fewer_parts(embedding, name, spec) || spec->routing != SP_ROUTING_UNKNOWN ||
	    row_count < MANY_ROWS || (complete && name->number != rows->part_count))
		return SP_OK;
	SP_TRY(are_routed(&routed, rows, (size_t)wanted, err));
	if (!routed)
		return SP_OK;
	if (!complete)
		return sp_error_set(err, SP_CORRUPT,
				    "%s lacks parts %zu to %lld of embedding '%s': its rows lie as "
				    "those of %lld parts do",
				    sp_bundle_prefix(rows->bundle), rows->part_count, wanted - 1,
				    spec->name, wanted);
	sp_log(SP_LOG_WARNING,
	       "%s has rows of embedding '%s' in one part alone, which could also be one of %lld "
	       "parts: were there so many, the others are lost",
	       sp_bundle_prefix(rows->bundle), embedding->base, wanted);
	return SP_OK;
}

static sp_status check_parts_apart(const sp_embedding_rows *rows, const sp_part_name *name,
				   const sp_embedding_spec *spec, sp_error *err)
{
	if (rows->part_count == 0)
		return SP_OK;
	if (!name->numbered || spec->partition_num != (int64_t)rows->part_count ||
	    spec->partition_id != (int64_t)name->number || name->number >= rows->part_count)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s: embedding '%s' has %zu parts whose keys do not follow "
				    "key %% 1000 %% parts, so they cannot serve part %lld of %lld",
				    sp_bundle_prefix(rows->bundle), spec->name, rows->part_count,
				    (long long)spec->partition_id, (long long)spec->partition_num);
	return SP_OK;
}

static sp_status check_spec(const sp_embedding_spec *spec, sp_error *err)
{
	if (spec->key_dtype != SP_INT64 && spec->key_dtype != SP_INT32)
		return sp_error_set(err, SP_UNSUPPORTED, "embedding '%s' with keys of %s",
				    spec->name, sp_dtype_name(spec->key_dtype));
	if (spec->dtype != SP_FLOAT)
		return sp_error_set(err, SP_UNSUPPORTED, "embedding '%s' of %s is not supported",
				    spec->name, sp_dtype_name(spec->dtype));
	if (spec->partition_num < 1 || spec->partition_id < 0 ||
	    spec->partition_id >= spec->partition_num)
		return sp_error_set(err, SP_INVALID, "embedding '%s' is part %lld of %lld",
				    spec->name, (long long)spec->partition_id,
				    (long long)spec->partition_num);
	return SP_OK;
}

sp_status sp_embedding_find(sp_embedding *out, const sp_embedding_spec *spec, const sp_bundle *full,
			    const sp_bundle *delta, sp_arena *arena, sp_error *err)
{
	sp_part_name name = sp_part_name_split(spec->name);

	*out = (sp_embedding){.base = sp_part_name_base(&name, arena)};
	if (out->base == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for '%s'", spec->name);
	SP_TRY(check_spec(spec, err));
	SP_TRY(find_rows(&out->full, full, &full_suffixes, &name, spec, arena, err));
	SP_TRY(find_rows(&out->delta, delta, &delta_suffixes, &name, spec, arena, err));
	if (out->full.part_count == 0)
		return sp_error_set(err, SP_NOT_FOUND, "%s has no embedding '%s': no '%s-keys'",
				    sp_bundle_prefix(full), spec->name, out->base);
	SP_TRY(check_none_is_lost(out, &name, spec, err));
	SP_TRY(is_whole(&out->whole, out, spec, arena, err));
	if (!out->whole) {
		SP_TRY(check_parts_apart(&out->full, &name, spec, err));
		SP_TRY(check_parts_apart(&out->delta, &name, spec, err));
	}
	return SP_OK;
}

sp_status sp_embedding_find_delta(sp_embedding *out, const sp_embedding *full,
				  const sp_embedding_spec *spec, const sp_bundle *delta,
				  sp_arena *arena, sp_error *err)
{
	sp_part_name name = sp_part_name_split(spec->name);

	*out = *full;
	SP_TRY(find_rows(&out->delta, delta, &delta_suffixes, &name, spec, arena, err));
	SP_TRY(is_whole(&out->whole, out, spec, arena, err));
	if (out->whole != full->whole)
		return sp_error_set(err, SP_CORRUPT,
				    "%s: the rows of embedding '%s' do not lie in the parts that "
				    "those of %s do",
				    sp_bundle_prefix(delta), spec->name,
				    sp_bundle_prefix(full->full.bundle));
	return out->whole ? SP_OK : check_parts_apart(&out->delta, &name, spec, err);
}
