#include "model_loader/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "engine/fuse_dense.h"
#include "engine/import.h"
#include "engine/lower.h"
#include "model_loader/load_environment.h"

/*
 * saved_model.pb -> load program: the graph's own restore and init operations,
 *                   run in our interpreter; they fill the resources
 *                -> serving program: one entry per signature
 *                -> check that all that a signature reaches has a value
 *                -> snapshot: what follows from the variables alone
 */

/*
 * For the values between the operations that restore and initialise; what they
 * restore lies elsewhere.
 */
static const size_t LOAD_WORKSPACE = (size_t)4 << 30;

struct sp_model {
	sp_arena *arena;
	sp_saved_model saved;
	sp_graph graph;
	sp_resources resources;
	sp_load_environment *environment; /* while loading */
	sp_table **tables;
	size_t table_count;
	sp_program *program;
	sp_snapshot *snapshot;
	sp_entry_spec *entries;   /* one per signature */
	const sp_error **refused; /* [signatures] not servable though the program could */
	size_t default_signature;
};

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the model");
}

/* ------------------------------------------------------------- load program */

typedef struct loading {
	sp_model *model;
	const sp_model_options *options;
	const char *prefix; /* of the checkpoint that is restored; NULL when there is none */
	sp_graph graph;
	const char **feed_names; /* the saver's file name, then the assets */
	sp_port *feeds;
	sp_tensor *values;
	size_t feed_count;
	sp_error *err;
} loading;

static sp_status add_feed(loading *lo, const char *name, const char *text)
{
	sp_shape scalar = sp_shape_scalar();
	sp_tensor *value = &lo->values[lo->feed_count];

	SP_TRY(sp_tensor_create(value, lo->model->arena, SP_STRING, &scalar, lo->err));
	sp_tensor_strings(value)[0] = sp_bytes_of(text);
	lo->feed_names[lo->feed_count++] = name;
	return SP_OK;
}

static sp_status add_feeds(loading *lo)
{
	const sp_saved_model *saved = &lo->model->saved;
	sp_arena *arena = lo->model->arena;
	size_t most = saved->asset_count + 1;

	lo->feed_names = sp_arena_array(arena, most, sizeof(*lo->feed_names));
	lo->feeds = sp_arena_array(arena, most, sizeof(*lo->feeds));
	lo->values = sp_arena_array(arena, most, sizeof(*lo->values));
	if (lo->feed_names == NULL || lo->feeds == NULL || lo->values == NULL)
		return no_memory(lo->err);
	if (lo->prefix != NULL)
		SP_TRY(add_feed(lo, saved->saver.filename_tensor, lo->prefix));
	for (size_t i = 0; i < saved->asset_count; i++) {
		const char *path = sp_arena_printf(arena, "%s/assets/%s",
						   lo->options->savedmodel_dir,
						   saved->assets[i].filename);

		if (path == NULL)
			return no_memory(lo->err);
		SP_TRY(add_feed(lo, saved->assets[i].tensor_name, path));
	}
	return SP_OK;
}

static sp_status import_load_graph(loading *lo, const char *const *targets, size_t target_count)
{
	sp_arena *arena = lo->model->arena;
	const char **names = sp_arena_array(arena, lo->feed_count + target_count, sizeof(*names));
	sp_import_roots roots = {names, lo->feed_count + target_count};

	if (names == NULL)
		return no_memory(lo->err);
	if (lo->feed_count != 0)
		memcpy(names, lo->feed_names, lo->feed_count * sizeof(*names));
	memcpy(names + lo->feed_count, targets, target_count * sizeof(*names));
	SP_TRY(sp_graph_import(&lo->graph, &lo->model->saved.graph, &roots, arena, lo->err));
	SP_TRY(sp_graph_lower(&lo->graph, lo->err));
	for (size_t i = 0; i < lo->feed_count; i++)
		SP_TRY(sp_graph_find(&lo->graph, lo->feed_names[i], &lo->feeds[i], lo->err));
	return SP_OK;
}

static sp_status run_target(loading *lo, sp_program *program, size_t entry, const char *target)
{
	const sp_environment *environment = sp_load_environment_calls(lo->model->environment);
	sp_run run = {.entry = entry,
		      .feeds = lo->values,
		      .resources = &lo->model->resources,
		      .environment = environment};
	sp_session *session;
	sp_status status;

	SP_TRY(sp_session_create(&session, program, LOAD_WORKSPACE, lo->err));
	status = sp_session_run(session, &run, NULL, lo->err);
	sp_session_destroy(session);
	return status == SP_OK ? SP_OK : sp_error_prefix(lo->err, status, "running '%s'", target);
}

/* Restores, then initialises: the order of every TensorFlow loader. */
static sp_status run_load_program(loading *lo)
{
	const sp_saved_model *saved = &lo->model->saved;
	const char *targets[2];
	uint32_t nodes[2];
	sp_entry_spec entries[2];
	size_t count = 0;
	sp_program_options options = {.loading = true};
	sp_program *program;
	sp_status status = SP_OK;

	if (lo->prefix != NULL)
		targets[count++] = saved->saver.restore_op;
	if (saved->init_op != NULL)
		targets[count++] = saved->init_op;
	if (count == 0)
		return SP_OK;
	SP_TRY(import_load_graph(lo, targets, count));
	for (size_t i = 0; i < count; i++) {
		sp_port node;

		SP_TRY(sp_graph_find(&lo->graph, targets[i], &node, lo->err));
		nodes[i] = node.node;
		entries[i] = (sp_entry_spec){.name = targets[i],
					     .feeds = lo->feeds,
					     .feed_count = lo->feed_count,
					     .targets = &nodes[i],
					     .target_count = 1};
	}
	SP_TRY(sp_program_compile(&program, &lo->graph, entries, count, &lo->model->resources,
				  &options, lo->err));
	for (size_t i = 0; i < count && status == SP_OK; i++)
		status = run_target(lo, program, i, targets[i]);
	sp_program_destroy(program);
	return status;
}

/* Where the weights are; NULL when the model has none (all constants). */
static sp_status choose_prefix(loading *lo)
{
	const sp_saved_model *saved = &lo->model->saved;
	const char *index;

	if (lo->options->checkpoint_prefix != NULL) {
		lo->prefix = sp_arena_text(lo->model->arena,
					   sp_bytes_of(lo->options->checkpoint_prefix));
		if (saved->saver.restore_op == NULL)
			return sp_error_set(lo->err, SP_INVALID,
					    "the SavedModel has no saver: no checkpoint can be "
					    "restored into it");
		return lo->prefix != NULL ? SP_OK : no_memory(lo->err);
	}
	lo->prefix = sp_arena_printf(lo->model->arena, "%s/variables/variables",
				     lo->options->savedmodel_dir);
	index = sp_arena_printf(lo->model->arena, "%s/variables/variables.index",
				lo->options->savedmodel_dir);
	if (lo->prefix == NULL || index == NULL)
		return no_memory(lo->err);
	if (saved->saver.restore_op == NULL || !sp_file_exists(index))
		lo->prefix = NULL;
	return SP_OK;
}

static sp_status load_resources(sp_model *model, const sp_model_options *options, sp_error *err)
{
	loading lo = {.model = model, .options = options, .err = err};
	sp_load_environment_options environment = {.delta_prefix = options->delta_prefix,
						   .file_root = options->savedmodel_dir};

	SP_TRY(choose_prefix(&lo));
	environment.checkpoint_prefix = lo.prefix;
	SP_TRY(sp_load_environment_create(&model->environment, &environment, model->arena, err));
	SP_TRY(add_feeds(&lo));
	return run_load_program(&lo);
}

/* ---------------------------------------------------------- serving program */

/* A sparse or composite tensor has no one name: no request could carry it. */
static bool is_plain(const sp_signature *signature)
{
	for (size_t i = 0; i < signature->input_count; i++)
		if (signature->inputs[i].tensor_name[0] == '\0')
			return false;
	for (size_t i = 0; i < signature->output_count; i++)
		if (signature->outputs[i].tensor_name[0] == '\0')
			return false;
	return true;
}

static sp_status import_graph(sp_model *model, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	size_t count = 0, used = 0;
	const char **names;

	for (size_t i = 0; i < saved->signature_count; i++)
		count += saved->signatures[i].input_count + saved->signatures[i].output_count;
	names = sp_arena_array(model->arena, count, sizeof(*names));
	if (names == NULL)
		return no_memory(err);
	for (size_t i = 0; i < saved->signature_count; i++) {
		const sp_signature *signature = &saved->signatures[i];

		if (!is_plain(signature))
			continue;
		for (size_t k = 0; k < signature->input_count; k++)
			names[used++] = signature->inputs[k].tensor_name;
		for (size_t k = 0; k < signature->output_count; k++)
			names[used++] = signature->outputs[k].tensor_name;
	}
	SP_TRY(sp_graph_import(&model->graph, &saved->graph, &(sp_import_roots){names, used},
			       model->arena, err));
	return sp_graph_lower(&model->graph, err);
}

static sp_status find_ports(sp_model *model, const sp_tensor_info *tensors, size_t count,
			    const sp_port **out, sp_error *err)
{
	sp_port *ports = sp_arena_array(model->arena, count, sizeof(*ports));

	if (ports == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++)
		SP_TRY(sp_graph_find(&model->graph, tensors[i].tensor_name, &ports[i], err));
	*out = ports;
	return SP_OK;
}

static sp_status make_entries(sp_model *model, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;

	for (size_t i = 0; i < saved->signature_count; i++) {
		const sp_signature *signature = &saved->signatures[i];
		sp_entry_spec *entry = &model->entries[i];

		*entry = (sp_entry_spec){.name = signature->name};
		if (!is_plain(signature))
			continue;
		*entry = (sp_entry_spec){.name = signature->name,
					 .feed_count = signature->input_count,
					 .fetch_count = signature->output_count};
		SP_TRY(find_ports(model, signature->inputs, signature->input_count, &entry->feeds,
				  err));
		SP_TRY(find_ports(model, signature->outputs, signature->output_count,
				  &entry->fetches, err));
	}
	return SP_OK;
}

static sp_status fuse(sp_model *model, sp_error *err)
{
	bool *kept = sp_arena_zeros(model->arena, model->graph.node_count, sizeof(*kept));

	if (kept == NULL)
		return no_memory(err);
	for (size_t i = 0; i < model->saved.signature_count; i++) {
		const sp_entry_spec *entry = &model->entries[i];

		for (size_t k = 0; k < entry->feed_count; k++)
			kept[entry->feeds[k].node] = true;
		for (size_t k = 0; k < entry->fetch_count; k++)
			kept[entry->fetches[k].node] = true;
	}
	return sp_graph_fuse_dense(&model->graph, kept, err);
}

static bool has_value(const sp_resource *resource)
{
	switch (resource->kind) {
	case SP_RESOURCE_VARIABLE:
		return sp_tensor_is_set(&resource->variable);
	case SP_RESOURCE_HASH_TABLE:
		return resource->hash_table != NULL;
	case SP_RESOURCE_EMBEDDING:
		return resource->table != NULL;
	}
	return false;
}

/* Names what an entry reaches and nothing gave a value; `text` stays empty when all is there. */
static void name_missing(const sp_model *model, size_t entry, sp_buffer *text)
{
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(model->program, entry, &indices);

	for (size_t i = 0; i < count; i++) {
		const sp_resource *resource = &model->resources.items[indices[i]];

		if (!has_value(resource))
			sp_buffer_printf(text, "%s%s", text->size != 0 ? ", " : "", resource->name);
	}
}

/* Loads the embeddings an entry reaches; then all it reaches must have a value. */
static sp_status complete(sp_model *model, size_t entry, sp_error *why)
{
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(model->program, entry, &indices);
	sp_buffer text;
	sp_status status = SP_OK;

	SP_TRY(sp_load_environment_load_tables(model->environment, &model->resources, indices,
					       count, why));
	sp_buffer_init(&text, 64 << 10);
	name_missing(model, entry, &text);
	if (text.size != 0)
		status = sp_error_set(why, SP_INVALID, "nothing gives a value to: %s", text.data);
	sp_buffer_fini(&text);
	return status;
}

/* Takes a signature out that cannot be served. */
static sp_status refuse(sp_model *model, size_t i, const sp_error *why, sp_error *err)
{
	sp_error *kept = sp_arena_alloc(model->arena, sizeof(*kept));

	if (kept == NULL)
		return no_memory(err);
	*kept = *why;
	model->refused[i] = kept;
	model->entries[i] = (sp_entry_spec){.name = model->entries[i].name};
	sp_log(SP_LOG_WARNING, "signature '%s' cannot be served: %s", model->entries[i].name,
	       why->text);
	return SP_OK;
}

static sp_status compile(sp_model *model, sp_error *err)
{
	sp_program_destroy(model->program);
	model->program = NULL;
	return sp_program_compile(&model->program, &model->graph, model->entries,
				  model->saved.signature_count, &model->resources, NULL, err);
}

/* One signature must be servable; of the others, those that are not are taken out. */
static sp_status settle_signatures(sp_model *model, sp_error *err)
{
	bool changed = false;

	SP_TRY(compile(model, err));
	for (size_t i = 0; i < model->saved.signature_count; i++) {
		const sp_error *broken = sp_program_entry_error(model->program, i);
		sp_error why;

		if (!is_plain(&model->saved.signatures[i]))
			sp_error_set(&why, SP_UNSUPPORTED,
				     "an input or output is a sparse or composite tensor");
		else if (broken != NULL)
			why = *broken;
		else if (complete(model, i, &why) == SP_OK)
			continue;
		if (i == model->default_signature)
			return sp_error_set(err, why.status, "signature '%s': %s",
					    model->saved.signatures[i].name, why.text);
		SP_TRY(refuse(model, i, &why, err));
		changed = true;
	}
	return changed ? compile(model, err) : SP_OK;
}

static sp_status choose_default(sp_model *model, const sp_model_options *options, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	size_t *chosen = &model->default_signature;

	if (sp_model_find_signature(model, options->signature_name, chosen))
		return SP_OK;
	if (!options->signature_fallback || saved->signature_count == 0)
		return sp_error_set(err, SP_INVALID, "the SavedModel has no signature '%s'",
				    options->signature_name);
	while (*chosen < saved->signature_count &&
	       strcmp(saved->signatures[*chosen].method, "tensorflow/serving/predict") != 0)
		++*chosen;
	if (*chosen == saved->signature_count)
		*chosen = 0;
	return SP_OK;
}

static sp_status load_program(sp_model *model, const sp_model_options *options, sp_error *err)
{
	size_t count = model->saved.signature_count;

	SP_TRY(choose_default(model, options, err));
	model->entries = sp_arena_zeros(model->arena, count, sizeof(*model->entries));
	model->refused = sp_arena_zeros(model->arena, count, sizeof(*model->refused));
	if (model->entries == NULL || model->refused == NULL)
		return no_memory(err);
	SP_TRY(import_graph(model, err));
	SP_TRY(make_entries(model, err));
	if (!options->reference) {
		SP_TRY(fuse(model, err));
		SP_TRY(make_entries(model, err)); /* nodes have moved */
	}
	SP_TRY(settle_signatures(model, err));
	return sp_snapshot_build(&model->snapshot, model->program, &model->resources, err);
}

/* -------------------------------------------------------------------- model */

static sp_status load(sp_model *model, const sp_model_options *options, sp_error *err)
{
	model->arena = sp_arena_create(1 << 20);
	if (model->arena == NULL)
		return no_memory(err);
	sp_resources_init(&model->resources, model->arena);
	SP_TRY(sp_saved_model_read(&model->saved, options->savedmodel_dir, model->arena, err));
	SP_TRY(load_resources(model, options, err));
	SP_TRY(load_program(model, options, err));
	sp_load_environment_take_tables(model->environment, &model->tables, &model->table_count);
	sp_load_environment_destroy(model->environment);
	model->environment = NULL;
	return SP_OK;
}

sp_status sp_model_load(sp_model **out, const sp_model_options *options, sp_error *err)
{
	sp_model *model = sp_alloc_zero(1, sizeof(*model));
	sp_error local;
	sp_status status;

	*out = NULL;
	if (model == NULL)
		return no_memory(err);
	status = load(model, options, err != NULL ? err : &local);
	if (status != SP_OK) {
		sp_model_destroy(model);
		return sp_error_prefix(err, status, "%s", options->savedmodel_dir);
	}
	*out = model;
	return SP_OK;
}

void sp_model_destroy(sp_model *model)
{
	if (model == NULL)
		return;
	sp_snapshot_destroy(model->snapshot);
	sp_program_destroy(model->program);
	sp_load_environment_destroy(model->environment);
	for (size_t i = 0; i < model->table_count; i++)
		sp_table_destroy(model->tables[i]);
	sp_free(model->tables);
	sp_arena_destroy(model->arena);
	sp_free(model);
}

const sp_program *sp_model_program(const sp_model *model)
{
	return model->program;
}

const sp_snapshot *sp_model_snapshot(const sp_model *model)
{
	return model->snapshot;
}

size_t sp_model_signature_count(const sp_model *model)
{
	return model->saved.signature_count;
}

const sp_signature *sp_model_signature(const sp_model *model, size_t i)
{
	return &model->saved.signatures[i];
}

const sp_error *sp_model_signature_error(const sp_model *model, size_t i)
{
	return model->refused[i];
}

size_t sp_model_default_signature(const sp_model *model)
{
	return model->default_signature;
}

bool sp_model_find_signature(const sp_model *model, const char *name, size_t *i)
{
	const sp_signature *signature = sp_saved_model_signature(&model->saved, name);

	if (signature == NULL)
		return false;
	if (i != NULL)
		*i = (size_t)(signature - model->saved.signatures);
	return true;
}
