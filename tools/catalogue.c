#include "tools/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "model_loader/checkpoint/part_name.h"

/* Name suffixes of a part's tensors; those of keys and values come first. */
static const char *const full_suffixes[] = {
	"-keys",
	"-values",
	"-freqs",
	"-versions",
	"-keys_filtered",
	"-freqs_filtered",
	"-versions_filtered",
	"-partition_offset",
	"-partition_filter_offset",
	NULL,
};

static const char *const delta_suffixes[] = {
	"-sparse_incr_keys",     "-sparse_incr_values",    "-sparse_incr_freqs",
	"-sparse_incr_versions", "-incr_partition_offset", NULL,
};

/* A part before parts are grouped into tables. */
typedef struct found_part {
	sp_catalogue_part part;
	const char *base;
	uint64_t number;
	bool numbered;
	bool delta;
	uint64_t bytes;
} found_part;

typedef struct search {
	const sp_bundle *bundle;
	sp_arena *arena;
	found_part *parts;
	size_t part_count;
	const sp_bundle_entry **tensors;
	size_t tensor_count;
	bool failed; /* out of memory */
} search;

static const sp_bundle_entry *find(search *s, sp_bytes stem, const char *suffix)
{
	const char *name = sp_arena_printf(s->arena, "%.*s%s", (int)stem.size, stem.data, suffix);

	if (name == NULL)
		s->failed = true;
	return name != NULL ? sp_bundle_find(s->bundle, sp_bytes_of(name)) : NULL;
}

static const char *problem_of(const sp_catalogue_part *part)
{
	const sp_bundle_entry *keys = part->keys, *values = part->values;

	if (keys->sliced || keys->shape.rank != 1 ||
	    (keys->dtype != SP_INT64 && keys->dtype != SP_INT32))
		return "its keys are not a vector of int64 or int32";
	if (values->sliced || values->shape.rank != 2 || values->dtype != SP_FLOAT)
		return "its values are not a matrix of float32";
	if (values->shape.dims[0] != keys->shape.dims[0])
		return "it has not as many rows as keys";
	return NULL;
}

/* Adds the part with these keys; false if it has no values and is therefore not a part. */
static bool add_part(search *s, const sp_bundle_entry *keys, const char *const *suffixes)
{
	sp_bytes stem = {keys->name.data, keys->name.size - strlen(suffixes[0])};
	found_part *found = &s->parts[s->part_count];
	sp_part_name name;

	*found = (found_part){.delta = suffixes == delta_suffixes};
	found->part.keys = keys;
	found->part.values = find(s, stem, suffixes[1]);
	if (found->part.values == NULL)
		return false;
	found->part.name = sp_arena_text(s->arena, stem);
	if (found->part.name == NULL) {
		s->failed = true;
		return false;
	}
	found->part.freqs = find(s, stem, suffixes[2]);
	found->part.versions = find(s, stem, suffixes[3]);
	found->part.offsets = find(s, stem,
				   found->delta ? "-incr_partition_offset" : "-partition_offset");
	if (!found->delta)
		found->part.filtered = find(s, stem, "-keys_filtered");
	for (size_t i = 0; suffixes[i] != NULL; i++) {
		const sp_bundle_entry *entry = find(s, stem, suffixes[i]);

		found->bytes += entry != NULL ? entry->size : 0;
	}
	found->part.problem = problem_of(&found->part);
	if (found->part.problem == NULL)
		found->part.rows = (size_t)keys->shape.dims[0];
	name = sp_part_name_split(found->part.name);
	found->base = sp_part_name_base(&name, s->arena);
	found->number = name.number;
	found->numbered = name.numbered;
	s->failed |= found->base == NULL;
	s->part_count++;
	return true;
}

/* Whether the tensor belongs to a part with keys and values. */
static bool belongs_to_part(search *s, const sp_bundle_entry *entry, const char *const *suffixes)
{
	for (size_t i = 0; suffixes[i] != NULL; i++) {
		sp_bytes stem = {entry->name.data, entry->name.size - strlen(suffixes[i])};

		if (sp_bytes_ends_with(entry->name, suffixes[i]) &&
		    find(s, stem, suffixes[0]) != NULL && find(s, stem, suffixes[1]) != NULL)
			return true;
	}
	return false;
}

static void sort_entries(search *s)
{
	for (size_t i = 0; i < sp_bundle_count(s->bundle) && !s->failed; i++) {
		const sp_bundle_entry *entry = sp_bundle_entry_at(s->bundle, i);

		if (sp_bytes_ends_with(entry->name, full_suffixes[0]) &&
		    add_part(s, entry, full_suffixes))
			continue;
		if (sp_bytes_ends_with(entry->name, delta_suffixes[0]) &&
		    add_part(s, entry, delta_suffixes))
			continue;
		if (entry->name.size != 0 && !belongs_to_part(s, entry, full_suffixes) &&
		    !belongs_to_part(s, entry, delta_suffixes))
			s->tensors[s->tensor_count++] = entry;
	}
}

static int by_table(const void *a, const void *b)
{
	const found_part *x = a, *y = b;
	int order = strcmp(x->base, y->base);

	if (order == 0)
		order = (int)x->delta - (int)y->delta;
	return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static bool same_table(const found_part *a, const found_part *b)
{
	return strcmp(a->base, b->base) == 0 && a->delta == b->delta;
}

static void add_table(sp_catalogue_table *table, sp_catalogue_part *parts, const found_part *found,
		      size_t count)
{
	*table = (sp_catalogue_table){.name = found->base,
				      .parts = parts,
				      .part_count = count,
				      .partitioned = found->numbered,
				      .delta = found->delta};
	for (size_t i = 0; i < count; i++) {
		parts[i] = found[i].part;
		table->rows += parts[i].rows;
		table->bytes += found[i].bytes;
	}
	if (parts[0].problem == NULL)
		table->dim = (size_t)parts[0].values->shape.dims[1];
}

/* "user_emb/Adagrad" is a slot of "user_emb". */
static void find_slots(sp_catalogue_table *tables, size_t count, sp_arena *arena)
{
	sp_catalogue made = {.tables = tables, .table_count = count};

	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(tables[i].name, '/');
		const char *owner;

		if (slash == NULL)
			continue;
		owner = sp_arena_text(arena,
				      (sp_bytes){tables[i].name, (size_t)(slash - tables[i].name)});
		if (owner != NULL && sp_catalogue_find(&made, owner) != NULL)
			tables[i].slot_of = owner;
	}
}

static sp_status make_tables(sp_catalogue *out, search *s, sp_error *err)
{
	sp_catalogue_part *parts = sp_arena_array(s->arena, s->part_count, sizeof(*parts));
	sp_catalogue_table *tables = sp_arena_array(s->arena, s->part_count, sizeof(*tables));
	size_t count = 0;

	if (s->failed || parts == NULL || tables == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the names of %s",
				    sp_bundle_prefix(s->bundle));
	if (s->part_count != 0)
		qsort(s->parts, s->part_count, sizeof(*s->parts), by_table);
	for (size_t i = 0, end; i < s->part_count; i = end) {
		for (end = i + 1; end < s->part_count && same_table(&s->parts[i], &s->parts[end]);)
			end++;
		add_table(&tables[count++], parts + i, &s->parts[i], end - i);
	}
	find_slots(tables, count, s->arena);
	*out = (sp_catalogue){tables, count, s->tensors, s->tensor_count};
	return SP_OK;
}

sp_status sp_catalogue_make(sp_catalogue *out, const sp_bundle *bundle, sp_arena *arena,
			    sp_error *err)
{
	size_t count = sp_bundle_count(bundle);
	search s = {.bundle = bundle,
		    .arena = arena,
		    .parts = sp_arena_array(arena, count, sizeof(*s.parts)),
		    .tensors = sp_arena_array(arena, count, sizeof(*s.tensors))};

	s.failed = s.parts == NULL || s.tensors == NULL;
	if (!s.failed)
		sort_entries(&s);
	return make_tables(out, &s, err);
}

const sp_catalogue_table *sp_catalogue_find(const sp_catalogue *catalogue, const char *name)
{
	for (size_t i = 0; i < catalogue->table_count; i++)
		if (strcmp(catalogue->tables[i].name, name) == 0)
			return &catalogue->tables[i];
	return NULL;
}
