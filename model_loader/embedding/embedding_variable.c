#include "model_loader/embedding/embedding_variable.h"

#include <string.h>

#include "base/folder.h"
#include "model_loader/checkpoint/key_numbers.h"
#include "model_loader/embedding/embedding_internal.h"
#include "model_loader/embedding/ssd_record.h"

/* Suffixes of the names of a part's tensors. */
typedef struct suffixes {
	const char *keys;
	const char *values;
	const char *freqs;
	const char *versions;
	const char *offsets;
} suffixes;

static const suffixes full_suffixes = {"-keys", "-values", "-freqs", "-versions",
				       "-partition_offset"};
static const suffixes delta_suffixes = {"-sparse_incr_keys", "-sparse_incr_values",
					"-sparse_incr_freqs", "-sparse_incr_versions",
					"-incr_partition_offset"};

static sp_status check_part(const sp_bundle *bundle, const sp_embedding_part *part,
			    const sp_embedding_spec *spec, sp_error *err)
{
	const sp_bundle_entry *keys = part->keys, *values = part->values;

	SP_TRY(sp_key_numbers_check(bundle, keys, spec->key_dtype, part->freqs, err));
	SP_TRY(sp_key_numbers_check(bundle, keys, spec->key_dtype, part->versions, err));
	if (values->sliced || values->dtype != spec->dtype || values->shape.rank != 2 ||
	    values->shape.dims[0] != keys->shape.dims[0] ||
	    values->shape.dims[1] != (int64_t)spec->dim)
		return sp_bundle_bad_tensor(err, bundle, values, "%s [%lld,%zu]",
					    sp_dtype_name(spec->dtype),
					    (long long)keys->shape.dims[0], spec->dim);
	return part->offsets != NULL ? sp_bucket_offsets_check(bundle, part->offsets, err) : SP_OK;
}

/* Finds the tensors of the part named part->name. */
static sp_status find_part(sp_embedding_part *part, const sp_bundle *bundle, const suffixes *suffix,
			   const sp_embedding_spec *spec, sp_error *err)
{
	part->keys = sp_bundle_find_joined(bundle, part->name, suffix->keys);
	part->values = sp_bundle_find_joined(bundle, part->name, suffix->values);
	part->freqs = sp_bundle_find_joined(bundle, part->name, suffix->freqs);
	part->versions = sp_bundle_find_joined(bundle, part->name, suffix->versions);
	part->offsets = sp_bundle_find_joined(bundle, part->name, suffix->offsets);
	if (part->keys == NULL || part->values == NULL)
		return sp_error_set(err, SP_CORRUPT, "%s lacks '%s%s'", sp_bundle_prefix(bundle),
				    part->name, part->keys == NULL ? suffix->keys : suffix->values);
	SP_TRY(check_part(bundle, part, spec, err));
	part->row_count = (size_t)part->keys->shape.dims[0];
	return SP_OK;
}

/* The numbers of parts, ascending. */
typedef struct numbers {
	size_t *all;
	size_t count;
} numbers;

/* SP_CORRUPT if a part has values but no keys: the bundle is incomplete. */
static sp_status check_keys_are_there(const numbers *keys, const sp_bundle *bundle,
				      const suffixes *suffix, const sp_part_name *name,
				      sp_arena *arena, sp_error *err)
{
	numbers values;
	size_t i = 0;

	SP_TRY(sp_part_name_numbers(&values.all, &values.count, name, bundle, suffix->values, arena,
				    err));
	for (size_t v = 0; v < values.count; v++) {
		while (i < keys->count && keys->all[i] < values.all[v])
			i++; /* a part without values is reported later */
		if (i == keys->count || keys->all[i] != values.all[v])
			return sp_error_set(err, SP_CORRUPT, "%s lacks '%.*s/part_%zu%.*s%s'",
					    sp_bundle_prefix(bundle), (int)name->head.size,
					    name->head.data, values.all[v], (int)name->tail.size,
					    name->tail.data, suffix->keys);
	}
	return SP_OK;
}

/* A delta may lack unchanged parts, a full checkpoint none. */
static sp_status number_parts(numbers *out, const sp_bundle *bundle, const suffixes *suffix,
			      const sp_part_name *name, sp_arena *arena, sp_error *err)
{
	size_t count;

	if (suffix == &full_suffixes)
		SP_TRY(sp_part_name_count(&count, name, bundle, suffix->keys, err));
	SP_TRY(sp_part_name_numbers(&out->all, &out->count, name, bundle, suffix->keys, arena,
				    err));
	return check_keys_are_there(out, bundle, suffix, name, arena, err);
}

/* Names the existing parts, in DeepRec's order: numbered ones, else the name without a part. */
static sp_status name_parts(sp_embedding_part **out, size_t *count, const sp_bundle *bundle,
			    const suffixes *suffix, const sp_part_name *name, sp_arena *arena,
			    sp_error *err)
{
	const sp_bundle_entry *unnumbered = NULL;
	const char *base = sp_part_name_base(name, arena);
	sp_embedding_part *parts;
	numbers there;

	SP_NEED_MEMORY(base, err, "the name of a part");
	SP_TRY(number_parts(&there, bundle, suffix, name, arena, err));
	*count = there.count;
	if (*count == 0) {
		unnumbered = sp_bundle_find_joined(bundle, base, suffix->keys);
		if (unnumbered == NULL && sp_bundle_find_joined(bundle, base, suffix->values))
			return sp_error_set(err, SP_CORRUPT, "%s lacks '%s%s'",
					    sp_bundle_prefix(bundle), base, suffix->keys);
		*count = unnumbered != NULL;
	}
	parts = *out = sp_arena_zeros(arena, *count, sizeof(*parts));
	for (size_t i = 0; parts != NULL && i < *count; i++) {
		parts[i].number = unnumbered != NULL ? 0 : there.all[i];
		parts[i].name = unnumbered != NULL
					? base
					: sp_part_name_join(name, parts[i].number, arena);
		if (parts[i].name == NULL)
			parts = NULL;
	}
	SP_NEED_MEMORY(parts, err, "%zu names", *count);
	return SP_OK;
}

static sp_status find_ssd(sp_embedding_part *part, const sp_bundle *bundle, sp_arena *arena,
			  sp_error *err)
{
	const char *prefix = sp_ssd_record_prefix(sp_bundle_prefix(bundle), part->name, arena);
	const char *path = prefix != NULL ? sp_arena_printf(arena, "%s.index", prefix) : NULL;
	struct stat info;
	bool found;

	SP_NEED_MEMORY(path, err, "a path");
	SP_TRY(sp_folder_find(&found, &info, path, S_IFREG, err));
	if (!found)
		return SP_OK;
	part->ssd_record = prefix;
	part->ssd_count = sp_ssd_record_expected_count(prefix);
	return SP_OK;
}

static sp_status find_rows(sp_embedding_rows *rows, const sp_bundle *bundle, const suffixes *suffix,
			   const sp_part_name *name, const sp_embedding_spec *spec, sp_arena *arena,
			   sp_error *err)
{
	sp_embedding_part *parts = NULL;

	*rows = (sp_embedding_rows){.bundle = bundle, .routed = 1};
	if (bundle == NULL)
		return SP_OK;
	SP_TRY(name_parts(&parts, &rows->part_count, bundle, suffix, name, arena, err));
	rows->parts = parts;
	for (size_t i = 0; i < rows->part_count; i++)
		SP_TRY(find_part(&parts[i], bundle, suffix, spec, err));
	for (size_t i = 0; suffix == &full_suffixes && i < rows->part_count; i++)
		SP_TRY(find_ssd(&parts[i], bundle, arena, err));
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

sp_status sp_embedding_find_delta(sp_embedding *out, const sp_embedding *full,
				  const sp_embedding_spec *spec, const sp_bundle *delta,
				  sp_arena *arena, sp_error *err)
{
	sp_part_name name = sp_part_name_split(spec->name);

	*out = *full;
	SP_TRY(find_rows(&out->delta, delta, &delta_suffixes, &name, spec, arena, err));
	return sp_embedding__place_delta(out, spec, err);
}

sp_status sp_embedding_find(sp_embedding *out, const sp_embedding_spec *spec, const sp_bundle *full,
			    const sp_bundle *delta, sp_arena *arena, sp_error *err)
{
	sp_part_name name = sp_part_name_split(spec->name);

	*out = (sp_embedding){.base = sp_part_name_base(&name, arena)};
	SP_NEED_MEMORY(out->base, err, "'%s'", spec->name);
	SP_TRY(check_spec(spec, err));
	SP_TRY(find_rows(&out->full, full, &full_suffixes, &name, spec, arena, err));
	if (out->full.part_count == 0)
		return sp_error_set(err, SP_NOT_FOUND, "%s has no embedding '%s': no '%s-keys'",
				    sp_bundle_prefix(full), spec->name, out->base);
	SP_TRY(sp_embedding__place_full(out, &name, spec, err));
	return sp_embedding_find_delta(out, out, spec, delta, arena, err);
}
