#include "tools/graph_tables.h"

#include <string.h>

#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/part_routes.h"

static const sp_attr *attr(const sp_node_def *node, const char *name, sp_attr_kind kind)
{
	const sp_attr *found = sp_attr_find(node->attrs, node->attr_count, name);

	return found != NULL && found->kind == kind ? found : NULL;
}

static int64_t attr_int(const sp_node_def *node, const char *name, int64_t otherwise)
{
	const sp_attr *found = attr(node, name, SP_ATTR_INT);

	return found != NULL ? found->i : otherwise;
}

static float attr_float(const sp_node_def *node, const char *name, float otherwise)
{
	const sp_attr *found = attr(node, name, SP_ATTR_FLOAT);

	return found != NULL ? found->f : otherwise;
}

static sp_status describe_handle(sp_graph_table *table, const sp_node_def *node, sp_arena *arena,
				 sp_error *err)
{
	const sp_attr *name = attr(node, "shared_name", SP_ATTR_BYTES);
	const sp_attr *shape = attr(node, "shape", SP_ATTR_SHAPE);
	const sp_attr *keys = attr(node, "Tkeys", SP_ATTR_TYPE);
	sp_part_name split;

	*table = (sp_graph_table){.name = node->name,
				  .dim = -1,
				  .partition_num = 1,
				  .key_dtype = keys != NULL ? keys->type : SP_INVALID_DTYPE};
	if (name != NULL && name->bytes.size != 0)
		table->name = sp_arena_text(arena, name->bytes);
	if (shape != NULL && shape->shape->rank == 1)
		table->dim = shape->shape->dims[0];
	if (table->name != NULL) {
		split = sp_part_name_split(table->name);
		table->base = sp_part_name_base(&split, arena);
	}
	return table->name != NULL && table->base != NULL
		       ? SP_OK
		       : sp_no_memory(err, "the names of tables");
}

static void describe_creation(sp_graph_table *table, const sp_node_def *node)
{
	table->filter_freq = attr_int(node, "filter_freq", 0);
	table->bloom = attr_int(node, "max_element_size", 0) != 0 &&
		       attr_float(node, "false_positive_probability", -1.0f) != -1.0f;
	table->default_rows = attr_int(node, "default_value_dim", 4096);
	table->no_permission = attr_float(node, "default_value_no_permission", 0.0f);
}

static void describe_import(sp_graph_table *table, const sp_node_def *node)
{
	table->partition_id = attr_int(node, "partition_id", 0);
	table->partition_num = attr_int(node, "partition_num", 1);
}

/* The handle whose table the node fills from a checkpoint; NULL for other nodes. */
static const char *filled_handle(const sp_node_def *node)
{
	bool fills = strcmp(node->op, "KvResourceImportV2") == 0 ||
		     strcmp(node->op, "KvResourceImportV3") == 0;

	return fills && node->input_count > 1 ? node->inputs[1] : NULL;
}

/* The handle whose table the node creates; NULL for other nodes. */
static const char *created_handle(const sp_node_def *node)
{
	size_t at = 0;

	if (strcmp(node->op, "KvResourceImportV2") == 0)
		at = 1; /* input 0 is the checkpoint's prefix */
	else if (strncmp(node->op, "InitializeKvVariable", 20) != 0)
		return NULL;
	return at < node->input_count ? node->inputs[at] : NULL;
}

sp_status sp_graph_tables_find(sp_graph_table **out, size_t *count, const sp_saved_model *model,
			       sp_arena *arena, sp_error *err)
{
	const sp_graph_def *graph = &model->graph;
	sp_graph_table *tables = sp_arena_array(arena, graph->node_count, sizeof(*tables));
	const char **handles = sp_arena_array(arena, graph->node_count, sizeof(*handles));
	sp_map dealt;

	*out = tables;
	*count = 0;
	SP_NEED_MEMORY(tables != NULL && handles != NULL, err, "the tables of a graph");
	sp_map_init(&dealt, arena);
	SP_TRY(sp_part_routes_find(&dealt, graph, arena, err));
	for (size_t i = 0; i < graph->node_count; i++)
		if (strcmp(graph->nodes[i].op, "KvVarHandleOp") == 0) {
			handles[*count] = graph->nodes[i].name;
			SP_TRY(describe_handle(&tables[*count], &graph->nodes[i], arena, err));
			(void)sp_map_get(&dealt, sp_bytes_of(tables[*count].name),
					 &tables[*count].dealt_parts);
			++*count;
		}
	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_node_def *node = &graph->nodes[i];
		const char *created = created_handle(node), *filled = filled_handle(node);

		for (size_t k = 0; k < *count; k++) {
			if (created != NULL && strcmp(created, handles[k]) == 0)
				describe_creation(&tables[k], node);
			if (filled != NULL && strcmp(filled, handles[k]) == 0)
				describe_import(&tables[k], node);
		}
	}
	return SP_OK;
}

const sp_graph_table *sp_graph_tables_get(const sp_graph_table *tables, size_t count,
					  const char *base)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(tables[i].base, base) == 0)
			return &tables[i];
	return NULL;
}

static const sp_tensor *constant(const sp_graph_def *graph, const char *name)
{
	for (size_t i = 0; i < graph->node_count; i++)
		if (strcmp(graph->nodes[i].name, name) == 0) {
			const sp_attr *value = attr(&graph->nodes[i], "value", SP_ATTR_TENSOR);

			return value != NULL && value->tensor->dtype == SP_STRING ? value->tensor
										  : NULL;
		}
	return NULL;
}

/* A variable is mostly saved under the name of its node. */
static const sp_partial_shape *variable_shape(const sp_graph_def *graph, sp_bytes name)
{
	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_node_def *node = &graph->nodes[i];

		if (sp_bytes_equal_text(name, node->name) &&
		    (strcmp(node->op, "VariableV2") == 0 || strcmp(node->op, "VarHandleOp") == 0)) {
			const sp_attr *shape = attr(node, "shape", SP_ATTR_SHAPE);

			return shape != NULL ? shape->shape : NULL;
		}
	}
	return NULL;
}

static sp_dtype restored_dtype(const sp_node_def *node, size_t i)
{
	const sp_attr *types = attr(node, "dtypes", SP_ATTR_LIST);

	return types != NULL && types->element == SP_ATTR_TYPE && i < types->count
		       ? types->type_list[i]
		       : SP_INVALID_DTYPE;
}

/* The names that the node restores; NULL for other nodes. */
static const sp_tensor *restored_names(const sp_graph_def *graph, const sp_node_def *node)
{
	return strcmp(node->op, "RestoreV2") == 0 && node->input_count == 3
		       ? constant(graph, node->inputs[1])
		       : NULL;
}

sp_status sp_graph_restored_find(const sp_graph_restored **out, size_t *count,
				 const sp_saved_model *model, sp_arena *arena, sp_error *err)
{
	const sp_graph_def *graph = &model->graph;
	sp_graph_restored *all;
	size_t total = 0;

	*count = 0;
	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_tensor *names = restored_names(graph, &graph->nodes[i]);

		total += names != NULL ? names->count : 0;
	}
	*out = all = sp_arena_array(arena, total, sizeof(*all));
	SP_NEED_MEMORY(all, err, "%zu names", total);
	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_tensor *names = restored_names(graph, &graph->nodes[i]);

		for (size_t k = 0; names != NULL && k < names->count; k++) {
			sp_bytes name = ((const sp_bytes *)names->data)[k];

			all[(*count)++] = (sp_graph_restored){name,
							      restored_dtype(&graph->nodes[i], k),
							      variable_shape(graph, name)};
		}
	}
	return SP_OK;
}
