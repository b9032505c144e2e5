#include <inttypes.h>
#include <string.h>

#include "model_loader/checkpoint/delta.h"
#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/embedding_variable.h"
#include "tools/verify_internal.h"

/*
 * Checks that the tensors of a checkpoint are consistent with each other, with the graph and, for a
 * delta, with the full checkpoint.
 */

/* ------------------------------------------------- keys or values that are missing */

/* Deltas first: their suffixes end with those of a full checkpoint. */
static const struct {
	const char *ending;
	const char *partner;
	const char *witness; /* a tensor that only embeddings have; NULL: none is needed */
} halves[] = {
	{"-sparse_incr_keys", "-sparse_incr_values", NULL},
	{"-sparse_incr_values", "-sparse_incr_keys", NULL},
	{"-keys", "-values", "-partition_offset"},
	{"-keys", "-values", "-versions"},
	{"-values", "-keys", "-partition_offset"},
	{"-values", "-keys", "-versions"},
};

static const sp_bundle_entry *find(const sp_verification *v, sp_bytes stem, const char *ending)
{
	const char *name = sp_arena_printf(v->tool->arena, "%.*s%s", (int)stem.size, stem.data,
					   ending);

	return name != NULL ? sp_bundle_find(v->bundle, sp_bytes_of(name)) : NULL;
}

/* Reports the keys of a table whose values are missing, and values whose keys are missing. */
static void verify_half(sp_verification *v, const sp_bundle_entry *entry)
{
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
		sp_bytes stem = entry->name;
		const char *name;

		if (!sp_bytes_ends_with(stem, halves[i].ending))
			continue;
		stem.size -= strlen(halves[i].ending);
		if (find(v, stem, halves[i].partner) != NULL ||
		    (halves[i].witness != NULL && find(v, stem, halves[i].witness) == NULL))
			continue;
		name = sp_arena_text(v->tool->arena, stem);
		sp_verify_problem(v, name != NULL ? name : "?", "it has '%s' but no '%s'",
				  halves[i].ending, halves[i].partner);
		return;
	}
}

static void verify_numbers(sp_verification *v, const sp_catalogue_table *table)
{
	if (table->delta)
		return; /* a delta has only the parts that changed */
	for (size_t i = 0; table->partitioned && i < table->part_count; i++) {
		uint64_t number = sp_part_name_split(table->parts[i].name).number;

		if (number == i)
			continue;
		sp_verify_problem(v, table->name,
				  "it has %zu parts, but one of them is number %" PRIu64,
				  table->part_count, number);
		return;
	}
}

void sp_verify_parts(sp_verification *v)
{
	for (size_t i = 0; i < v->catalogue->tensor_count; i++)
		verify_half(v, v->catalogue->tensors[i]);
	for (size_t i = 0; i < v->catalogue->table_count; i++)
		verify_numbers(v, &v->catalogue->tables[i]);
}

/* ------------------------------------------------------------------------ tables */

static void compare_keys(sp_verification *v, const sp_catalogue_table *table, sp_dtype dtype,
			 const char *whose)
{
	for (size_t i = 0; i < table->part_count && dtype != SP_INVALID_DTYPE; i++) {
		const sp_catalogue_part *part = &table->parts[i];

		if (part->problem == NULL && part->keys->dtype != dtype)
			sp_verify_problem(v, part->name, "its keys are %s, %s %s",
					  sp_dtype_name(part->keys->dtype), whose,
					  sp_dtype_name(dtype));
	}
}

void sp_verify_against_full(sp_verification *v, const sp_catalogue *full)
{
	for (size_t i = 0; i < v->catalogue->table_count; i++) {
		const sp_catalogue_table *table = &v->catalogue->tables[i];
		const sp_catalogue_table *base = sp_catalogue_find(full, table->name);

		/* A table that the full checkpoint lacks may be rows of an ordinary variable. */
		if (base == NULL || base->parts[0].problem != NULL)
			continue;
		if (table->dim != base->dim && table->parts[0].problem == NULL)
			sp_verify_problem(v, table->name,
					  "its rows have %zu elements, the full checkpoint's %zu",
					  table->dim, base->dim);
		compare_keys(v, table, base->parts[0].keys->dtype, "the full checkpoint's");
	}
}

/* Reports problems that a load would find before it reads rows. */
static void find_as_loaded(sp_verification *v, const sp_bundle *full, const sp_graph_table *wanted)
{
	sp_embedding_spec spec = {.name = wanted->name,
				  .key_dtype = wanted->key_dtype,
				  .dtype = SP_FLOAT,
				  .dim = (size_t)wanted->dim,
				  .partition_id = wanted->partition_id,
				  .partition_num = wanted->partition_num,
				  .by_key = wanted->dealt_parts != 0 &&
					    wanted->dealt_parts == (uint64_t)wanted->partition_num};
	sp_arena *arena = v->tool->arena;
	sp_embedding found;
	sp_status status;
	sp_error why;

	if (wanted->dim < 0 || wanted->key_dtype == SP_INVALID_DTYPE)
		return;
	status = sp_embedding_find(&found, &spec, full != NULL ? full : v->bundle, NULL, arena,
				   &why);
	if (full != NULL && status != SP_OK)
		return; /* already reported for the full checkpoint */
	if (full != NULL)
		status = sp_embedding_find_delta(&found, &found, &spec, v->bundle, arena, &why);
	if (status != SP_OK)
		sp_verify_problem(v, wanted->name, "%s", why.text);
}

static void verify_table(sp_verification *v, const sp_graph_table *wanted)
{
	const sp_catalogue_table *table = sp_catalogue_find(v->catalogue, wanted->base);
	size_t problems = v->problems;

	if (table == NULL) {
		sp_verify_problem(v, wanted->name, "the graph reads this table, but it is missing");
		return;
	}
	if (wanted->dim >= 0 && (size_t)wanted->dim != table->dim &&
	    table->parts[0].problem == NULL)
		sp_verify_problem(v, wanted->name, "its rows have %zu elements, the graph's %lld",
				  table->dim, (long long)wanted->dim);
	compare_keys(v, table, wanted->key_dtype, "the graph's");
	if (v->problems == problems)
		find_as_loaded(v, NULL, wanted);
}

/* ------------------------------------------------------------------- variables */

static bool is_of_table(sp_bytes name)
{
	static const char *const endings[] = {"-keys",
					      "-values",
					      "-versions",
					      "-freqs",
					      "_filtered",
					      "-partition_offset",
					      "-partition_filter_offset"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (sp_bytes_ends_with(name, endings[i]))
			return true;
	return false;
}

static bool fits(const sp_shape *shape, const sp_partial_shape *wanted)
{
	bool same = wanted->rank < 0 || wanted->rank == shape->rank;

	for (int32_t i = 0; same && i < wanted->rank; i++)
		same = wanted->dims[i] < 0 || wanted->dims[i] == shape->dims[i];
	return same;
}

static void verify_kind(sp_verification *v, const char *name, sp_dtype dtype, const sp_shape *shape,
			const sp_graph_restored *wanted)
{
	char text[SP_SHAPE_TEXT_SIZE];

	if (wanted->dtype != SP_INVALID_DTYPE && dtype != wanted->dtype)
		sp_verify_problem(v, name, "it is %s, the graph's %s", sp_dtype_name(dtype),
				  sp_dtype_name(wanted->dtype));
	else if (wanted->shape != NULL && !fits(shape, wanted->shape))
		sp_verify_problem(v, name, "it is %s, which is not the graph's shape",
				  sp_shape_text(shape, text));
}

static void verify_variable(sp_verification *v, const char *name, const sp_graph_restored *wanted)
{
	const sp_bundle_entry *entry = sp_bundle_find(v->bundle, wanted->name);

	if (entry == NULL)
		sp_verify_problem(v, name, "the graph restores it, but it is missing");
	else
		verify_kind(v, name, entry->dtype, &entry->shape, wanted);
}

/* Tensors of tables are skipped: DeepRec restores them with other operations. */
static sp_status verify_variables(sp_verification *v, const sp_saved_model *model, sp_error *err)
{
	sp_arena *arena = v->tool->arena;
	const sp_graph_restored *wanted;
	size_t count;

	SP_TRY(sp_graph_restored_find(&wanted, &count, model, arena, err));
	for (size_t i = 0; i < count; i++) {
		const char *name = sp_arena_text(arena, wanted[i].name);

		SP_NEED_MEMORY(name, err, "a name");
		if (!is_of_table(wanted[i].name))
			verify_variable(v, name, &wanted[i]);
	}
	return SP_OK;
}

/* *out: whether the delta contains the variable or some of its rows. */
static sp_status has_variable(bool *out, sp_verification *v, sp_bytes name, sp_error *err)
{
	const sp_part_name split = {.head = name, .tail = {"", 0}};
	size_t *numbers, parts;

	SP_TRY(sp_part_name_numbers(&numbers, &parts, &split, v->bundle, "-sparse_incr_keys",
				    v->tool->arena, err));
	*out = parts != 0 || sp_bundle_find(v->bundle, name) != NULL ||
	       find(v, name, "-sparse_incr_keys") != NULL;
	return SP_OK;
}

/* Applies the delta to the full checkpoint's variable as a load does, and checks the result. */
static sp_status verify_changed(sp_verification *v, const sp_bundle *full,
				const sp_graph_restored *wanted, sp_error *err)
{
	const char *name = sp_arena_text(v->tool->arena, wanted->name);
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_tensor value;
	sp_status status = SP_NO_MEMORY;
	sp_error why;

	if (name != NULL && scratch != NULL)
		status = sp_delta_read_slice(full, v->bundle, wanted->name, (sp_bytes){"", 0}, NULL,
					     scratch, &value, &why);
	if (status == SP_OK)
		verify_kind(v, name, value.dtype, &value.shape, wanted);
	else if (status != SP_NO_MEMORY)
		sp_verify_problem(v, name, "%s", why.text);
	sp_arena_destroy(scratch);
	if (status == SP_NO_MEMORY)
		return sp_error_set(err, status, "no memory for a variable");
	return SP_OK;
}

/*
 * A delta of another model may have a matching step, so it must contain a variable of this graph.
 */
static sp_status verify_delta(sp_verification *v, const sp_bundle *full,
			      const sp_saved_model *model, sp_error *err)
{
	const sp_graph_restored *wanted;
	size_t count, asked = 0, found = 0;

	SP_TRY(sp_graph_restored_find(&wanted, &count, model, v->tool->arena, err));
	for (size_t i = 0; i < count; i++) {
		bool here;

		if (is_of_table(wanted[i].name) || wanted[i].dtype == SP_INT64 ||
		    wanted[i].dtype == SP_STRING || sp_bundle_find(full, wanted[i].name) == NULL)
			continue;
		SP_TRY(has_variable(&here, v, wanted[i].name, err));
		if (here)
			SP_TRY(verify_changed(v, full, &wanted[i], err));
		asked++;
		found += here;
	}
	if (asked != 0 && found == 0)
		sp_verify_problem(
			v, sp_bundle_prefix(v->bundle),
			"it has none of the graph's %zu variables: it is of another model", asked);
	return SP_OK;
}

sp_status sp_verify_against_graph(sp_verification *v, const sp_bundle *full, const char *model_dir,
				  sp_error *err)
{
	sp_saved_model model;
	sp_graph_table *tables;
	size_t count;

	SP_TRY(sp_saved_model_read(&model, model_dir, NULL, v->tool->arena, err));
	SP_TRY(sp_graph_tables_find(&tables, &count, &model, v->tool->arena, err));
	for (size_t i = 0; i < count; i++)
		if (full != NULL)
			find_as_loaded(v, full, &tables[i]);
		else
			verify_table(v, &tables[i]);
	return full != NULL ? verify_delta(v, full, &model, err) : verify_variables(v, &model, err);
}
