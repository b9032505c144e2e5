#include "model_loader/saved_model/named_signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "model_loader/proto/sorted_names.h"

/* Limit of the placeholders listed in an error. */
enum { MOST_CANDIDATES = 12 };

/* ------------------------------------------------------------- candidates */

static void list_placeholders(const sp_saved_model *model, sp_buffer *text)
{
	size_t count = 0;

	for (size_t i = 0; i < model->graph.node_count; i++) {
		const sp_node_def *node = &model->graph.nodes[i];

		if (strncmp(node->op, "Placeholder", strlen("Placeholder")) != 0)
			continue;
		if (count++ < MOST_CANDIDATES)
			sp_buffer_printf(text, "%s%s", count != 1 ? ", " : "", node->name);
	}
	if (count > MOST_CANDIDATES)
		sp_buffer_printf(text, " and %zu more", count - MOST_CANDIDATES);
	if (count == 0)
		sp_buffer_append_text(text, "none");
}

/* "<words>; placeholders: ..." */
static sp_status refuse(const sp_saved_model *model, const char *words, sp_error *err)
{
	sp_buffer text;

	sp_buffer_init(&text, 64 << 10);
	list_placeholders(model, &text);
	sp_error_set(err, SP_INVALID, "%s; placeholders: %s", words, text.failed ? "" : text.data);
	sp_buffer_fini(&text);
	return SP_INVALID;
}

sp_status sp_saved_model_check_signatures(const sp_saved_model *model, sp_error *err)
{
	if (model->signature_count != 0)
		return SP_OK;
	return refuse(model,
		      "the graph has no signature: input_names and output_names must name what "
		      "is to be fed and fetched",
		      err);
}

/* ---------------------------------------------------------------- one name */

static sp_bytes trim(sp_bytes text)
{
	while (text.size != 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
		text = (sp_bytes){text.data + 1, text.size - 1};
	while (text.size != 0 &&
	       (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
		text.size--;
	return text;
}

/* The part before the first `mark`, or all of it; *rest is what follows the mark. */
static sp_bytes cut(sp_bytes *rest, char mark)
{
	const char *at = rest->size != 0 ? memchr(rest->data, mark, rest->size) : NULL;
	sp_bytes head = *rest;

	if (at == NULL) {
		*rest = (sp_bytes){NULL, 0};
		return head;
	}
	head.size = (size_t)(at - head.data);
	*rest = (sp_bytes){at + 1, rest->size - head.size - 1};
	return head;
}

static const sp_node_def *find_node(const sp_saved_model *model, sp_bytes name)
{
	for (size_t i = 0; i < model->graph.node_count; i++)
		if (sp_bytes_equal_text(name, model->graph.nodes[i].name))
			return &model->graph.nodes[i];
	return NULL;
}

/* The attribute with one of these names and that kind; NULL: none. */
static const sp_attr *find_attr(const sp_node_def *node, const char *const *names,
				sp_attr_kind kind)
{
	for (; *names != NULL; names++) {
		const sp_attr *attr = sp_attr_find(node->attrs, node->attr_count, *names);

		if (attr != NULL && attr->kind == kind)
			return attr;
	}
	return NULL;
}

/* Fills in what the attributes of a node say about one of its outputs. */
static void describe(sp_tensor_info *info, const sp_node_def *node, size_t output)
{
	static const char *const one_dtype[] = {"dtype", "DstT", "out_type", "T", NULL};
	static const char *const all_dtypes[] = {"output_types", "component_types", NULL};
	static const char *const all_shapes[] = {"output_shapes", "shapes", NULL};
	static const char *const one_shape[] = {"shape", NULL};
	const sp_attr *dtypes = find_attr(node, all_dtypes, SP_ATTR_LIST);
	const sp_attr *shapes = find_attr(node, all_shapes, SP_ATTR_LIST);
	const sp_attr *dtype = find_attr(node, one_dtype, SP_ATTR_TYPE);
	const sp_attr *shape = find_attr(node, one_shape, SP_ATTR_SHAPE);

	info->dtype = SP_INVALID_DTYPE;
	info->shape = (sp_partial_shape){.rank = -1};
	if (dtypes != NULL && dtypes->element == SP_ATTR_TYPE && output < dtypes->count) {
		info->dtype = dtypes->type_list[output];
		if (shapes != NULL && shapes->element == SP_ATTR_SHAPE && output < shapes->count)
			info->shape = shapes->shape_list[output];
	} else if (dtype != NULL) {
		info->dtype = dtype->type;
	}
	if (shape != NULL && strncmp(node->op, "Placeholder", strlen("Placeholder")) == 0)
		info->shape = *shape->shape;
}

static sp_status read_tensor(const sp_saved_model *model, sp_bytes text, sp_tensor_info *info,
			     sp_error *err)
{
	sp_bytes rest = text, alias = trim(cut(&rest, '='));
	sp_bytes tensor = rest.data != NULL ? trim(rest) : alias;
	sp_bytes port = tensor, name = cut(&port, ':');
	const sp_node_def *node = find_node(model, name);
	const char *shown = sp_arena_text(model->arena, tensor);

	*info = (sp_tensor_info){.tensor_name = ""};
	SP_NEED_MEMORY(shown, err, "a signature");
	if (alias.size == 0 || name.size == 0)
		return sp_error_set(err, SP_INVALID, "'%.*s' names no tensor", (int)text.size,
				    text.data);
	if (node == NULL) {
		const char *words = sp_arena_printf(model->arena,
						    "the graph has no node of tensor '%s'", shown);

		return words != NULL ? refuse(model, words, err) : sp_no_memory(err, "a signature");
	}
	info->alias = rest.data != NULL ? sp_arena_text(model->arena, alias)
					: sp_arena_text(model->arena, name);
	info->tensor_name = port.data != NULL ? shown
					      : sp_arena_printf(model->arena, "%s:0", shown);
	SP_NEED_MEMORY(info->alias != NULL && info->tensor_name != NULL, err, "a signature");
	describe(info, node, port.data != NULL ? strtoul(port.data, NULL, 10) : 0);
	return SP_OK;
}

/* ------------------------------------------------------------- the signature */

static sp_status read_tensors(const sp_saved_model *model, const char *text,
			      const sp_tensor_info **out, size_t *count, sp_error *err)
{
	sp_bytes rest = sp_bytes_of(text != NULL ? text : "");
	sp_tensor_info *infos;
	const char *twice;
	size_t most = 1;

	for (size_t i = 0; i < rest.size; i++)
		most += rest.data[i] == ',';
	infos = sp_arena_array(model->arena, most, sizeof(*infos));
	SP_NEED_MEMORY(infos, err, "a signature");
	for (*count = 0; trim(rest).size != 0; ++*count)
		SP_TRY(read_tensor(model, cut(&rest, ','), &infos[*count], err));
	twice = sp_sorted_names_make(infos, *count, sizeof(*infos));
	if (twice != NULL)
		return sp_error_set(err, SP_INVALID, "'%s' is named twice", twice);
	*out = infos;
	return SP_OK;
}

/* Inserts the signature among the others, which are sorted by name. */
static sp_status insert(sp_saved_model *model, const sp_signature *signature, sp_error *err)
{
	size_t count = 0, i = 0;
	sp_signature *all = sp_arena_array(model->arena, model->signature_count + 1, sizeof(*all));

	SP_NEED_MEMORY(all, err, "a signature");
	while (i < model->signature_count && strcmp(model->signatures[i].name, signature->name) < 0)
		all[count++] = model->signatures[i++];
	all[count++] = *signature;
	if (i < model->signature_count && strcmp(model->signatures[i].name, signature->name) == 0)
		i++;
	while (i < model->signature_count)
		all[count++] = model->signatures[i++];
	model->signatures = all;
	model->signature_count = count;
	return SP_OK;
}

sp_status sp_saved_model_add_signature(sp_saved_model *model, const char *name, const char *inputs,
				       const char *outputs, sp_error *err)
{
	sp_signature signature = {.method = "tensorflow/serving/predict"};
	sp_status status;

	signature.name = sp_arena_text(model->arena, sp_bytes_of(name));
	SP_NEED_MEMORY(signature.name, err, "a signature");
	status = read_tensors(model, inputs, &signature.inputs, &signature.input_count, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "input_names");
	status = read_tensors(model, outputs, &signature.outputs, &signature.output_count, err);
	if (status == SP_OK && signature.output_count == 0)
		status = refuse(model, "no output is named", err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "output_names");
	return insert(model, &signature, err);
}
