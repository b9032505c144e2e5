#include "model_loader/version/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/name_list.h"
#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "engine/passes/constant_writes.h"
#include "engine/passes/dead_writes.h"
#include "engine/passes/optimize.h"
#include "engine/passes/session_variables.h"
#include "model_loader/embedding/feature_numbers.h"
#include "model_loader/embedding/part_routes.h"
#include "model_loader/saved_model/descriptor_files.h"
#include "model_loader/saved_model/fed_nodes.h"
#include "model_loader/saved_model/named_signature.h"
#include "model_loader/version/model_internal.h"

/*
 * saved_model.pb -> load program: the graph's own restore and init operations -> serving program:
 * one entry per signature.
 *
 * Both declare their variables and tables in one list, so that the serving program finds the values
 * that the load program makes.
 */

/* ------------------------------------------------------------- load program */

typedef struct loading {
	sp_model *model;
	const char **feed_names; /* the saver's file name, then the assets */
	sp_port *feeds;
	sp_error *err;
} loading;

static sp_status add_feed(loading *lo, const char *name, const char *text)
{
	sp_model *model = lo->model;
	sp_tensor *value = &model->load_feeds[model->load_feed_count];
	sp_shape scalar = sp_shape_scalar();

	SP_TRY(sp_tensor_create(value, model->arena, SP_STRING, &scalar, lo->err));
	sp_tensor_strings(value)[0] = sp_bytes_of(text);
	lo->feed_names[model->load_feed_count++] = name;
	return SP_OK;
}

static sp_status add_feeds(loading *lo)
{
	sp_model *model = lo->model;
	const sp_saved_model *saved = &model->saved;
	size_t most = saved->asset_count + 1;

	lo->feed_names = sp_arena_array(model->arena, most, sizeof(*lo->feed_names));
	lo->feeds = sp_arena_array(model->arena, most, sizeof(*lo->feeds));
	model->load_feeds = sp_arena_array(model->arena, most, sizeof(*model->load_feeds));
	SP_NEED_MEMORY(lo->feed_names != NULL && lo->feeds != NULL && model->load_feeds != NULL,
		       lo->err, "the model");
	if (model->restores)
		SP_TRY(add_feed(lo, saved->saver.filename_tensor, ""));
	for (size_t i = 0; i < saved->asset_count; i++) {
		const char *path = sp_arena_printf(model->arena, "%s/assets/%s",
						   model->savedmodel_dir,
						   saved->assets[i].filename);

		SP_NEED_MEMORY(path, lo->err, "the model");
		SP_TRY(add_feed(lo, saved->assets[i].tensor_name, path));
	}
	return SP_OK;
}

static sp_status import_load_graph(loading *lo)
{
	sp_model *model = lo->model;
	size_t feeds = model->load_feed_count, targets = model->load_count;
	const char **names = sp_arena_array(model->arena, feeds + targets, sizeof(*names));
	sp_import_roots roots = {names, feeds + targets};

	SP_NEED_MEMORY(names, lo->err, "the model");
	if (feeds != 0)
		memcpy(names, lo->feed_names, feeds * sizeof(*names));
	memcpy(names + feeds, model->load_names, targets * sizeof(*names));
	SP_TRY(sp_graph_import(&model->load_graph, &model->saved.graph, &roots, model->arena,
			       lo->err));
	SP_TRY(sp_graph_lower(&model->load_graph, lo->err));
	for (size_t i = 0; i < feeds; i++)
		SP_TRY(sp_graph_find(&model->load_graph, lo->feed_names[i], &lo->feeds[i],
				     lo->err));
	return SP_OK;
}

static sp_status compile_load_program(loading *lo)
{
	sp_model *model = lo->model;
	sp_program_options options = {.loading = true};
	sp_entry_spec entries[SP_LOAD_ENTRIES];
	uint32_t nodes[SP_LOAD_ENTRIES];

	for (size_t i = 0; i < model->load_count; i++) {
		sp_port node;

		SP_TRY(sp_graph_find(&model->load_graph, model->load_names[i], &node, lo->err));
		nodes[i] = node.node;
		entries[i] = (sp_entry_spec){.name = model->load_names[i],
					     .feeds = lo->feeds,
					     .feed_count = model->load_feed_count,
					     .targets = &nodes[i],
					     .target_count = 1};
	}
	return sp_program_compile(&model->load_program, &model->load_graph, entries,
				  model->load_count, &model->resources, &options, lo->err);
}

/* The prefix of a model's own weights: beside X.meta it is X. */
static const char *own_prefix_of(const sp_model *model, const char *graph_file)
{
	sp_bytes stem = sp_bytes_of(graph_file != NULL ? graph_file : "variables/variables");

	if (graph_file != NULL && sp_bytes_ends_with(stem, ".meta"))
		stem.size -= strlen(".meta");
	return sp_arena_printf(model->arena, "%s/%.*s", model->savedmodel_dir, (int)stem.size,
			       stem.data);
}

/*
 * Checkpoints of TensorFlow before 1.0 have no index; they are one file, or several numbered ones.
 */
static sp_status refuse_first_format(const sp_model *model, const char *prefix, sp_error *err)
{
	static const char *const ends[] = {"", "-00000-of-00001"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *path = sp_arena_printf(model->arena, "%s%s", prefix, ends[i]);

		SP_NEED_MEMORY(path, err, "the model");
		if (sp_file_exists(path))
			return sp_error_set(err, SP_UNSUPPORTED,
					    "%s is a checkpoint of the first format (V1), only the "
					    "second with an .index file is read",
					    path);
	}
	return SP_OK;
}

/* Finds out whether there are weights to restore; a model may be all constants. */
static sp_status find_own_weights(sp_model *model, const char *graph_file, sp_error *err)
{
	const char *prefix = own_prefix_of(model, graph_file);
	const char *index = prefix != NULL ? sp_arena_printf(model->arena, "%s.index", prefix)
					   : NULL;
	bool has_index = false;
	struct stat info;

	SP_NEED_MEMORY(index, err, "the model");
	if (model->saved.saver.restore_op == NULL && model->from_checkpoint)
		return sp_error_set(err, SP_INVALID,
				    "the SavedModel has no saver: no checkpoint can be "
				    "restored into it");
	if (model->saved.saver.restore_op != NULL)
		SP_TRY(sp_folder_find(&has_index, &info, index, S_IFREG, err));
	if (has_index)
		model->own_prefix = prefix;
	else if (model->saved.saver.restore_op != NULL && !model->from_checkpoint)
		SP_TRY(refuse_first_format(model, prefix, err));
	model->restores = model->from_checkpoint || model->own_prefix != NULL;
	if (!model->restores)
		model->unrestored = model->saved.saver.restore_op == NULL
					    ? "the model has no saver"
					    : sp_arena_printf(model->arena, "there is no %s",
							      index);
	return model->restores || model->unrestored != NULL ? SP_OK
							    : sp_no_memory(err, "the model");
}

/* Restore before initialise: the order of every TensorFlow loader. */
static sp_status make_load_program(sp_model *model, const char *graph_file, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	loading lo = {.model = model, .err = err};

	SP_TRY(find_own_weights(model, graph_file, err));
	if (model->restores)
		model->load_names[model->load_count++] = saved->saver.restore_op;
	if (saved->init_op != NULL)
		model->load_names[model->load_count++] = saved->init_op;
	if (model->load_count == 0)
		return SP_OK;
	SP_TRY(add_feeds(&lo));
	SP_TRY(import_load_graph(&lo));
	return compile_load_program(&lo);
}

/* ---------------------------------------------------------- serving program */

/*
 * Whether every input and output names a tensor.  A composite tensor that contains composite
 * tensors does not, and no request can contain it.
 */
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

/* Appends the nodes of those tensors that are in the graph. */
static void add_nodes(const sp_graph *graph, const sp_tensor_info *tensors, size_t count,
		      uint32_t *nodes, size_t *used)
{
	for (size_t i = 0; i < count; i++) {
		sp_port port;

		if (sp_graph_find(graph, tensors[i].tensor_name, &port, NULL) == SP_OK)
			nodes[(*used)++] = port.node;
	}
}

/* Removes writes that do not affect answers; counters become counters of the session. */
static sp_status take_writes(sp_model *model, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	size_t inputs = 0, outputs = 0;
	uint32_t *fed, *fetched;
	sp_request_boundary ends;

	for (size_t i = 0; i < saved->signature_count; i++) {
		inputs += saved->signatures[i].input_count;
		outputs += saved->signatures[i].output_count;
	}
	fed = sp_arena_array(model->arena, inputs, sizeof(*fed));
	fetched = sp_arena_array(model->arena, outputs, sizeof(*fetched));
	SP_NEED_MEMORY(fed != NULL && fetched != NULL, err, "the model");
	ends = (sp_request_boundary){.fed = fed, .fetched = fetched};
	for (size_t i = 0; i < saved->signature_count; i++) {
		const sp_signature *signature = &saved->signatures[i];

		add_nodes(&model->graph, signature->inputs, signature->input_count, fed,
			  &ends.fed_count);
		add_nodes(&model->graph, signature->outputs, signature->output_count, fetched,
			  &ends.fetched_count);
	}
	SP_TRY(sp_graph_drop_dead_writes(&model->graph, fetched, ends.fetched_count, err));
	return sp_graph_make_session_variables(&model->graph, &ends, err);
}

static sp_status import_graph(sp_model *model, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	size_t count = 0, used = 0;
	const char **names;

	for (size_t i = 0; i < saved->signature_count; i++)
		count += saved->signatures[i].input_count + saved->signatures[i].output_count;
	names = sp_arena_array(model->arena, count, sizeof(*names));
	SP_NEED_MEMORY(names, err, "the model");
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
	SP_TRY(sp_graph_lower(&model->graph, err));
	SP_TRY(sp_graph_fold_constant_writes(&model->graph, err));
	return take_writes(model, err);
}

static sp_status find_ports(sp_model *model, const sp_tensor_info *tensors, size_t count,
			    const sp_port **out, sp_error *err)
{
	sp_port *ports = sp_arena_array(model->arena, count, sizeof(*ports));

	SP_NEED_MEMORY(ports, err, "the model");
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

/* Finds the features of serialized examples, by the graph as it is before passes change it. */
static sp_status find_examples(sp_model *model, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;

	model->examples = sp_arena_zeros(model->arena, saved->signature_count,
					 sizeof(*model->examples));
	SP_NEED_MEMORY(model->examples, err, "the model");
	for (size_t i = 0; i < saved->signature_count; i++) {
		const sp_signature *signature = &saved->signatures[i];
		sp_example_features *found = sp_arena_zeros(model->arena, signature->input_count,
							    sizeof(*found));

		SP_NEED_MEMORY(found, err, "the model");
		model->examples[i] = found;
		for (size_t k = 0; k < model->entries[i].feed_count; k++)
			if (signature->inputs[k].dtype == SP_STRING)
				SP_TRY(sp_example_features_find(&found[k], &model->graph,
								model->entries[i].feeds[k],
								model->arena, err));
	}
	return SP_OK;
}

sp_status sp_model__refuse(sp_model *model, size_t i, const sp_error *why, sp_error *err)
{
	sp_error *kept = sp_arena_alloc(model->arena, sizeof(*kept));

	SP_NEED_MEMORY(kept, err, "the model");
	*kept = *why;
	model->refused[i] = kept;
	model->entries[i] = (sp_entry_spec){.name = model->entries[i].name};
	sp_log(SP_LOG_WARNING, "signature '%s' cannot be served: %s", model->entries[i].name,
	       why->text);
	return SP_OK;
}

sp_status sp_model__compile(sp_model *model, sp_error *err)
{
	sp_program_destroy(model->program);
	model->program = NULL;
	return sp_program_compile(&model->program, &model->graph, model->entries,
				  model->saved.signature_count, &model->resources, NULL, err);
}

/* Takes out signatures that cannot be served; the default signature must be servable. */
static sp_status settle_signatures(sp_model *model, sp_error *err)
{
	bool changed = false;

	SP_TRY(sp_model__compile(model, err));
	for (size_t i = 0; i < model->saved.signature_count; i++) {
		const sp_error *broken = sp_program_entry_error(model->program, i);
		sp_error why;

		if (!is_plain(&model->saved.signatures[i]))
			sp_error_set(&why, SP_UNSUPPORTED,
				     "an input or output has no one tensor in the graph");
		else if (broken != NULL)
			why = *broken;
		else
			continue;
		if (i == model->default_signature)
			return sp_error_set(err, why.status, "signature '%s': %s",
					    model->saved.signatures[i].name, why.text);
		SP_TRY(sp_model__refuse(model, i, &why, err));
		changed = true;
	}
	return changed ? sp_model__compile(model, err) : SP_OK;
}

/* "the SavedModel has no signature 's'; it has 'x', 'y'". */
static sp_status unknown_signature(const sp_saved_model *saved, const char *name, sp_error *err)
{
	sp_name_list list = {0};

	for (size_t i = 0; i < saved->signature_count; i++)
		sp_name_list_add(&list, saved->signatures[i].name);
	return sp_error_set(err, SP_INVALID, "the SavedModel has no signature '%s'; it has %s",
			    name, sp_name_list_text(&list));
}

static sp_status choose_default(sp_model *model, const sp_model_options *options, sp_error *err)
{
	const sp_saved_model *saved = &model->saved;
	size_t *chosen = &model->default_signature;

	if (sp_model_find_signature(model, options->signature_name, chosen))
		return SP_OK;
	if (!options->signature_fallback || saved->signature_count == 0)
		return unknown_signature(saved, options->signature_name, err);
	while (*chosen < saved->signature_count &&
	       strcmp(saved->signatures[*chosen].method, "tensorflow/serving/predict") != 0)
		++*chosen;
	if (*chosen == saved->signature_count)
		*chosen = 0;
	return SP_OK;
}

static sp_status make_program(sp_model *model, const sp_model_options *options, sp_error *err)
{
	size_t count = model->saved.signature_count;

	SP_TRY(choose_default(model, options, err));
	model->entries = sp_arena_zeros(model->arena, count, sizeof(*model->entries));
	model->refused = sp_arena_zeros(model->arena, count, sizeof(*model->refused));
	SP_NEED_MEMORY(model->entries != NULL && model->refused != NULL, err, "the model");
	SP_TRY(import_graph(model, err));
	SP_TRY(make_entries(model, err));
	SP_TRY(find_examples(model, err));
	if (!options->reference)
		SP_TRY(sp_graph_optimize(&model->graph, model->entries, count, err));
	SP_TRY(make_entries(model, err)); /* the nodes have moved */
	return settle_signatures(model, err);
}

/* -------------------------------------------------------------------- model */

static sp_status read_graph(sp_model *model, const sp_model_options *options, sp_error *err)
{
	sp_saved_model *saved = &model->saved;
	const char *path;

	if (options->graph_file == NULL) {
		SP_TRY(sp_saved_model_read(saved, model->savedmodel_dir, options->tags,
					   model->arena, err));
	} else {
		path = sp_arena_printf(model->arena, "%s/%s", model->savedmodel_dir,
				       options->graph_file);
		SP_NEED_MEMORY(path, err, "the model");
		SP_TRY(sp_saved_model_read_graph(saved, path, model->arena, err));
	}
	if (options->input_names != NULL || options->output_names != NULL)
		return sp_saved_model_add_signature(saved, options->signature_name,
						    options->input_names, options->output_names,
						    err);
	return options->graph_file != NULL ? sp_saved_model_check_signatures(saved, err) : SP_OK;
}

static sp_status open_model(sp_model *model, const sp_model_options *options, sp_error *err)
{
	model->arena = sp_arena_create(1 << 20);
	SP_NEED_MEMORY(model->arena, err, "the model");
	sp_resources_init(&model->resources, model->arena);
	model->from_checkpoint = options->from_checkpoint;
	model->savedmodel_dir = sp_arena_text(model->arena, sp_bytes_of(options->savedmodel_dir));
	SP_NEED_MEMORY(model->savedmodel_dir, err, "the model");
	SP_TRY(read_graph(model, options, err));
	SP_TRY(sp_descriptor_files_read(&model->saved.graph, model->savedmodel_dir, model->arena,
					err));
	sp_map_init(&model->features, model->arena);
	SP_TRY(sp_feature_numbers_find(&model->features, &model->saved.graph, model->arena, err));
	SP_TRY(sp_saved_model_cut_fed_nodes(&model->saved, err));
	sp_map_init(&model->by_key, model->arena);
	SP_TRY(sp_part_routes_find(&model->by_key, &model->saved.graph, model->arena, err));
	SP_TRY(make_load_program(model, options->graph_file, err));
	return make_program(model, options, err);
}

sp_status sp_model_open(sp_model **out, const sp_model_options *options, sp_error *err)
{
	sp_model *model = sp_alloc_zero(1, sizeof(*model));
	sp_error local;
	sp_status status;

	*out = NULL;
	SP_NEED_MEMORY(model, err, "the model");
	if (err == NULL)
		err = &local;
	status = open_model(model, options, err);
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
	sp_program_destroy(model->program);
	sp_program_destroy(model->load_program);
	sp_arena_destroy(model->arena);
	sp_free(model);
}

const sp_map *sp_model_features(const sp_model *model)
{
	return &model->features;
}

size_t sp_model_footprint(const sp_model *model)
{
	size_t bytes = sizeof(*model) + sp_arena_used(model->arena);

	if (model->program != NULL)
		bytes += sp_program_footprint(model->program);
	if (model->load_program != NULL)
		bytes += sp_program_footprint(model->load_program);
	return bytes;
}

const sp_program *sp_model_program(const sp_model *model)
{
	return model->program;
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

const sp_example_features *sp_model_example_features(const sp_model *model, size_t signature,
						     size_t input)
{
	return &model->examples[signature][input];
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
