#include "model_loader/saved_model/fed_nodes.h"

#include <string.h>

#include "base/map.h"
#include "engine/import/import.h"
#include "engine/graph/op.h"

/*
 * If output 0 of a node is fed, the node itself becomes the placeholder and keeps its name.  For
 * any other fed output a placeholder is added, and inputs that named the output are renamed.
 */
typedef struct cutter {
	sp_saved_model *model;
	sp_node_def *nodes; /* a copy with room for new nodes; NULL until a node is replaced */
	size_t node_count;
	sp_map numbers; /* indices of nodes by name */
	sp_map renamed; /* "node:1" to the index of its placeholder */
	sp_error *err;
} cutter;

/* Splits "node:1" into node and output; "node" is output 0.  False for a malformed name. */
static bool split(const char *tensor, sp_bytes *node, size_t *output)
{
	const char *colon = strrchr(tensor, ':');

	*node = sp_bytes_of(tensor);
	*output = 0;
	if (colon == NULL)
		return true;
	node->size = (size_t)(colon - tensor);
	for (const char *at = colon + 1; *at != '\0'; at++) {
		if (*at < '0' || *at > '9' || *output > 100000)
			return false;
		*output = *output * 10 + (size_t)(*at - '0');
	}
	return colon[1] != '\0';
}

static sp_status number_nodes(cutter *c)
{
	const sp_graph_def *graph = &c->model->graph;

	sp_map_init(&c->numbers, c->model->arena);
	sp_map_init(&c->renamed, c->model->arena);
	for (size_t i = 0; i < graph->node_count; i++)
		SP_NEED_MEMORY(sp_map_add(&c->numbers, sp_bytes_of(graph->nodes[i].name), i) !=
				       SP_MAP_NO_MEMORY,
			       c->err, "the graph's inputs");
	return SP_OK;
}

/* Whether the tensor is an output of a node with an unknown operator; sets node and output. */
static bool is_to_be_cut(const cutter *c, const sp_tensor_info *info, size_t *number,
			 size_t *output)
{
	const char *op;
	uint64_t at;
	sp_bytes name;

	if (info->dtype == SP_INVALID_DTYPE || !split(info->tensor_name, &name, output) ||
	    !sp_map_get(&c->numbers, name, &at))
		return false;
	*number = (size_t)at;
	op = c->model->graph.nodes[at].op;
	return sp_op_find(op) == NULL && !sp_import_resolves(&c->model->graph, op);
}

static size_t count_fed(const cutter *c)
{
	const sp_saved_model *model = c->model;
	size_t count = 0, number, output;

	for (size_t s = 0; s < model->signature_count; s++)
		for (size_t i = 0; i < model->signatures[s].input_count; i++)
			count += is_to_be_cut(c, &model->signatures[s].inputs[i], &number, &output);
	return count;
}

static sp_status make_placeholder(cutter *c, sp_node_def *node, const char *name,
				  const sp_tensor_info *info)
{
	sp_attr *attrs = sp_arena_zeros(c->model->arena, 2, sizeof(*attrs));

	SP_NEED_MEMORY(attrs, c->err, "the graph's inputs");
	attrs[0] = (sp_attr){.name = "dtype", .kind = SP_ATTR_TYPE, .type = info->dtype};
	attrs[1] = (sp_attr){.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &info->shape};
	*node = (sp_node_def){.name = name, .op = "Placeholder", .attrs = attrs, .attr_count = 2};
	return SP_OK;
}

static sp_status cut(cutter *c, const sp_tensor_info *info, size_t number, size_t output)
{
	const char *name = c->nodes[number].name, *own;

	if (output == 0)
		return make_placeholder(c, &c->nodes[number], name, info);
	if (sp_map_get(&c->renamed, sp_bytes_of(info->tensor_name), NULL))
		return SP_OK;
	own = sp_arena_printf(c->model->arena, "%s/output_%zu", name, output);
	SP_NEED_MEMORY(own != NULL && sp_map_add(&c->renamed, sp_bytes_of(info->tensor_name),
						 c->node_count) != SP_MAP_NO_MEMORY,
		       c->err, "the graph's inputs");
	return make_placeholder(c, &c->nodes[c->node_count++], own, info);
}

static sp_status cut_all(cutter *c, size_t fed)
{
	sp_saved_model *model = c->model;
	size_t count = model->graph.node_count, number, output;

	c->nodes = sp_arena_array(model->arena, count + fed, sizeof(*c->nodes));
	SP_NEED_MEMORY(c->nodes, c->err, "the graph's inputs");
	memcpy(c->nodes, model->graph.nodes, count * sizeof(*c->nodes));
	c->node_count = count;
	for (size_t s = 0; s < model->signature_count; s++)
		for (size_t i = 0; i < model->signatures[s].input_count; i++) {
			const sp_tensor_info *info = &model->signatures[s].inputs[i];

			if (is_to_be_cut(c, info, &number, &output))
				SP_TRY(cut(c, info, number, output));
		}
	return SP_OK;
}

/* The name of the placeholder that replaces the tensor, or NULL. */
static const char *new_name(const cutter *c, const char *tensor)
{
	uint64_t number;

	return sp_map_get(&c->renamed, sp_bytes_of(tensor), &number) ? c->nodes[number].name : NULL;
}

static sp_status rename_inputs(const cutter *c, sp_node_def *node)
{
	const char **inputs = NULL;

	for (size_t i = 0; i < node->input_count; i++) {
		const char *name = new_name(c, node->inputs[i]);

		if (name == NULL)
			continue;
		if (inputs == NULL) {
			inputs = sp_arena_copy(c->model->arena, node->inputs, node->input_count,
					       node->input_count, sizeof(*inputs));
			SP_NEED_MEMORY(inputs, c->err, "the graph's inputs");
			node->inputs = inputs;
		}
		inputs[i] = name;
	}
	return SP_OK;
}

static sp_status rename_infos(const cutter *c, const sp_tensor_info **infos, size_t count)
{
	sp_tensor_info *own = sp_arena_array(c->model->arena, count, sizeof(*own));

	SP_NEED_MEMORY(own, c->err, "the graph's inputs");
	for (size_t i = 0; i < count; i++) {
		const char *name = new_name(c, (*infos)[i].tensor_name);

		own[i] = (*infos)[i];
		if (name != NULL)
			own[i].tensor_name = name;
	}
	*infos = own;
	return SP_OK;
}

static sp_status rename_all(const cutter *c)
{
	sp_saved_model *model = c->model;
	sp_signature *signatures = sp_arena_array(model->arena, model->signature_count,
						  sizeof(*signatures));

	SP_NEED_MEMORY(signatures, c->err, "the graph's inputs");
	for (size_t i = 0; i < c->node_count; i++)
		SP_TRY(rename_inputs(c, &c->nodes[i]));
	for (size_t s = 0; s < model->signature_count; s++) {
		signatures[s] = model->signatures[s];
		SP_TRY(rename_infos(c, &signatures[s].inputs, signatures[s].input_count));
		SP_TRY(rename_infos(c, &signatures[s].outputs, signatures[s].output_count));
	}
	model->signatures = signatures;
	model->graph.nodes = c->nodes;
	model->graph.node_count = c->node_count;
	return SP_OK;
}

sp_status sp_saved_model_cut_fed_nodes(sp_saved_model *model, sp_error *err)
{
	cutter c = {.model = model, .err = err};
	size_t fed;

	SP_TRY(number_nodes(&c));
	fed = count_fed(&c);
	if (fed == 0)
		return SP_OK;
	SP_TRY(cut_all(&c, fed));
	return rename_all(&c);
}
