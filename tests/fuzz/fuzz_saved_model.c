#include <stdlib.h>
#include <string.h>

#include "model_loader/saved_model/saved_model.h"
#include "tests/support/fuzz.h"

static size_t total; /* keeps the compiler from leaving the walk out */

static void see_text(const char *text)
{
	total += strlen(text);
}

static void see_tensor(const sp_tensor *tensor)
{
	size_t size = sp_dtype_size(tensor->dtype);

	if (tensor->count != 0)
		total += ((const unsigned char *)tensor->data)[tensor->count * size - 1];
	for (size_t i = 0; tensor->dtype == SP_STRING && i < tensor->count && i < 100; i++)
		total += sp_tensor_strings(tensor)[i].size;
}

static void see_attr(const sp_attr *attr)
{
	see_text(attr->name);
	if (attr->kind == SP_ATTR_TENSOR)
		see_tensor(attr->tensor);
	else if (attr->kind == SP_ATTR_REPEATED)
		see_tensor(&attr->repeated->values);
	else if (attr->kind == SP_ATTR_SHAPE)
		total += (size_t)attr->shape->rank;
	else if (attr->kind == SP_ATTR_BYTES)
		total += attr->bytes.size;
	else if (attr->kind == SP_ATTR_FUNC || attr->kind == SP_ATTR_PLACEHOLDER)
		see_text(attr->text);
	else if (attr->kind == SP_ATTR_LIST && attr->element == SP_ATTR_TENSOR)
		see_tensor(&attr->tensor_list[attr->count - 1]);
	else if (attr->kind == SP_ATTR_LIST && attr->element == SP_ATTR_FUNC)
		see_text(attr->text_list[attr->count - 1]);
}

static void see_nodes(const sp_node_def *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		see_text(nodes[i].name);
		see_text(nodes[i].op);
		for (size_t k = 0; k < nodes[i].input_count; k++)
			see_text(nodes[i].inputs[k]);
		for (size_t k = 0; k < nodes[i].attr_count; k++)
			see_attr(&nodes[i].attrs[k]);
	}
}

static void see_functions(const sp_graph_def *graph)
{
	for (size_t i = 0; i < graph->function_count; i++) {
		const sp_function_def *f = &graph->functions[i];

		see_text(f->name);
		see_nodes(f->nodes, f->node_count);
		for (size_t k = 0; k < f->output_count; k++)
			see_text(f->returns[k].ref);
		for (size_t k = 0; k < f->control_return_count; k++)
			see_text(f->control_returns[k]);
	}
}

static void see_model(const sp_saved_model *model)
{
	see_nodes(model->graph.nodes, model->graph.node_count);
	see_functions(&model->graph);
	for (size_t i = 0; i < model->signature_count; i++) {
		const sp_signature *signature = &model->signatures[i];

		if (sp_saved_model_signature(model, signature->name) != signature)
			abort();
		for (size_t k = 0; k < signature->input_count; k++)
			see_text(signature->inputs[k].tensor_name);
		for (size_t k = 0; k < signature->output_count; k++)
			see_text(signature->outputs[k].tensor_name);
	}
	for (size_t i = 0; i < model->asset_count; i++) {
		see_text(model->assets[i].tensor_name);
		if (model->assets[i].filename[0] == '/')
			abort();
	}
	if (model->init_op != NULL)
		see_text(model->init_op);
	if (model->saver.restore_op != NULL)
		see_text(model->saver.filename_tensor);
}

/* Any bytes as a saved_model.pb; whatever comes out of it is walked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_arena *arena = sp_arena_create(1 << 16);
	sp_saved_model model;

	if (arena == NULL)
		abort();
	if (sp_saved_model_parse(&model, data, size, NULL, arena, NULL) == SP_OK)
		see_model(&model);
	if (sp_saved_model_parse_graph(&model, data, size, arena, NULL) == SP_OK)
		see_model(&model);
	sp_arena_destroy(arena);
	return 0;
}
