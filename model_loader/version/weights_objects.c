#include <string.h>

#include "model_loader/saved_model/object_graph.h"
#include "model_loader/version/model_internal.h"
#include "model_loader/version/weights_internal.h"

/*
 * Fills variables that the load program leaves without a value, though the checkpoint has one:
 * tf.saved_model.save of a Keras 3 model writes restore operations for handles that no signature
 * reads.  The signatures' functions tell which object each captured handle stands for, and the
 * object graphs (model_loader/saved_model/object_graph.h) which tensor is that object's.
 */

typedef struct filling {
	sp_weights *weights;
	sp_map missing; /* names of variables -> index of the resource */
	sp_map nodes;   /* names of the graph's nodes -> index */
	sp_object_graph objects;
	sp_arena *scratch;
	sp_error *err;
} filling;

static sp_status find_missing(filling *f)
{
	const sp_resources *resources = f->weights->resources;

	sp_map_init(&f->missing, f->scratch);
	for (size_t i = 0; i < resources->count; i++) {
		const sp_resource *resource = &resources->items[i];

		if (resource->kind != SP_RESOURCE_VARIABLE || sp_tensor_is_set(&resource->variable))
			continue;
		if (sp_map_add(&f->missing, sp_bytes_of(resource->name), i) == SP_MAP_NO_MEMORY)
			return sp_no_memory(f->err, "the variables of the model");
	}
	return SP_OK;
}

static sp_status name_nodes(filling *f)
{
	const sp_graph_def *graph = &f->weights->model->saved.graph;

	sp_map_init(&f->nodes, f->scratch);
	for (size_t i = 0; i < graph->node_count; i++)
		if (sp_map_add(&f->nodes, sp_bytes_of(graph->nodes[i].name), i) == SP_MAP_NO_MEMORY)
			return sp_no_memory(f->err, "the variables of the model");
	return SP_OK;
}

static sp_status restore(filling *f, sp_bytes key, sp_dtype dtype, sp_arena *arena, sp_tensor *out)
{
	const sp_environment *calls = &f->weights->values->environment->calls;
	const char *prefix = sp_load_environment_prefix(f->weights->values->environment);

	return calls->restore(calls->context, sp_bytes_of(prefix), key, (sp_bytes){"", 0}, dtype,
			      arena, out, f->err);
}

/* *found: whether the checkpoint has an object graph. */
static sp_status read_objects(filling *f, bool *found)
{
	sp_bytes saved = f->weights->model->saved.object_graph;
	sp_bytes key = sp_bytes_of(SP_OBJECT_GRAPH_KEY);
	sp_tensor tensor = {.dtype = SP_INVALID_DTYPE};

	*found = sp_load_environment_has(f->weights->values->environment, key);
	if (!*found)
		return SP_OK;
	SP_TRY(restore(f, key, SP_STRING, f->weights->values->arena, &tensor));
	*found = tensor.count == 1;
	if (!*found)
		return SP_OK;
	return sp_object_graph_read(&f->objects, saved, sp_tensor_strings(&tensor)[0], f->scratch,
				    f->err);
}

/* The variable without a value whose handle `input` is; NULL: it is no such handle. */
static sp_resource *missing_behind(const filling *f, const char *input)
{
	const sp_graph_def *graph = &f->weights->model->saved.graph;
	size_t size = strcspn(input, ":");
	const sp_attr *shared_name;
	const sp_node_def *node;
	sp_bytes name;
	uint64_t at;

	if (!sp_map_get(&f->nodes, (sp_bytes){input, size}, &at))
		return NULL;
	node = &graph->nodes[at];
	name = sp_bytes_of(node->name);
	shared_name = sp_attr_find(node->attrs, node->attr_count, "shared_name");
	if (shared_name != NULL && shared_name->kind == SP_ATTR_BYTES &&
	    shared_name->bytes.size != 0)
		name = shared_name->bytes;
	if (!sp_map_get(&f->missing, name, &at))
		return NULL;
	return &f->weights->resources->items[at];
}

static sp_status fill(filling *f, sp_resource *resource, sp_bytes key)
{
	sp_tensor value = {.dtype = SP_INVALID_DTYPE};

	if (key.size == 0 || sp_tensor_is_set(&resource->variable) ||
	    !sp_load_environment_has(f->weights->values->environment, key))
		return SP_OK;
	SP_TRY(restore(f, key, resource->dtype, f->weights->values->arena, &value));
	return sp_resource_assign(f->weights->resources, resource, &value, f->err);
}

/* The captures of a function are its call's last data inputs. */
static sp_status fill_captures(filling *f, const sp_node_def *call,
			       const sp_object_captures *captures)
{
	size_t inputs = call->input_count;

	while (inputs != 0 && call->inputs[inputs - 1][0] == '^')
		inputs--;
	if (captures->count > inputs)
		return SP_OK;
	for (size_t i = 0; i < captures->count; i++) {
		const char *input = call->inputs[inputs - captures->count + i];
		sp_resource *resource = missing_behind(f, input);

		if (resource != NULL)
			SP_TRY(fill(f, resource, f->objects.keys[captures->objects[i]]));
	}
	return SP_OK;
}

static sp_status fill_all(filling *f)
{
	const sp_graph_def *graph = &f->weights->model->saved.graph;
	bool found;

	SP_TRY(find_missing(f));
	if (f->missing.count == 0)
		return SP_OK;
	SP_TRY(read_objects(f, &found));
	if (!found)
		return SP_OK;
	SP_TRY(name_nodes(f));
	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_node_def *node = &graph->nodes[i];
		const sp_attr *function = sp_attr_find(node->attrs, node->attr_count, "f");
		const sp_object_captures *captures = NULL;

		if (function != NULL && function->kind == SP_ATTR_FUNC)
			captures = sp_object_graph_captures(&f->objects, function->text);
		if (captures != NULL)
			SP_TRY(fill_captures(f, node, captures));
	}
	return SP_OK;
}

sp_status sp_weights__restore_objects(sp_weights *weights, sp_error *err)
{
	filling f = {.weights = weights, .err = err};
	sp_status status;

	if (weights->model->saved.object_graph.size == 0 || !weights->model->restores)
		return SP_OK;
	f.scratch = sp_arena_create((size_t)64 << 10);
	SP_NEED_MEMORY(f.scratch, err, "the variables of the model");
	status = fill_all(&f);
	sp_arena_destroy(f.scratch);
	return status;
}
