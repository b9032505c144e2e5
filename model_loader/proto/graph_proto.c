#include "model_loader/proto/graph_proto.h"

#include <stdlib.h>
#include <string.h>

#include "model_loader/proto/message.h"
#include "model_loader/proto/proto_internal.h"
#include "model_loader/proto/tensor_proto.h"

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}

/* ----------------------------------------------------------------- attributes */

static sp_status read_tensor(sp_attr *out, const SpPb__TensorProto *proto, sp_proto_target *target,
			     sp_error *err)
{
	sp_repeated_values *repeated;
	sp_tensor *tensor;

	SP_TRY(sp_proto__repeated_values(&repeated, proto, target, err));
	if (repeated != NULL) {
		out->kind = SP_ATTR_REPEATED;
		out->repeated = repeated;
		return SP_OK;
	}
	out->kind = SP_ATTR_TENSOR;
	out->tensor = tensor = sp_arena_alloc(target->arena, sizeof(*tensor));
	return tensor != NULL ? sp_proto__tensor(tensor, proto, target, err) : no_memory(err);
}

static sp_status read_scalar(sp_attr *out, const SpPb__AttrValue *value, sp_proto_target *target,
			     sp_error *err)
{
	sp_partial_shape *shape;
	char *text;

	switch (value->value_case) {
	case SP_PB__ATTR_VALUE__VALUE_S:
		text = sp_arena_text(target->arena, sp_message_bytes(&value->s));
		out->kind = SP_ATTR_BYTES;
		out->bytes = (sp_bytes){text, value->s.len};
		return text != NULL ? SP_OK : no_memory(err);
	case SP_PB__ATTR_VALUE__VALUE_I:
		out->kind = SP_ATTR_INT;
		out->i = value->i;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_F:
		out->kind = SP_ATTR_FLOAT;
		out->f = value->f;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_B:
		out->kind = SP_ATTR_BOOL;
		out->b = value->b != 0;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_TYPE:
		out->kind = SP_ATTR_TYPE;
		return sp_proto__known_dtype(&out->type, value->type, err);
	case SP_PB__ATTR_VALUE__VALUE_SHAPE:
		out->kind = SP_ATTR_SHAPE;
		out->shape = shape = sp_arena_alloc(target->arena, sizeof(*shape));
		return shape != NULL ? sp_proto__partial_shape(shape, value->shape, err)
				     : no_memory(err);
	case SP_PB__ATTR_VALUE__VALUE_TENSOR:
		return read_tensor(out, value->tensor, target, err);
	case SP_PB__ATTR_VALUE__VALUE_PLACEHOLDER:
		out->kind = SP_ATTR_PLACEHOLDER;
		return sp_message_text(&out->text, &value->placeholder, "a placeholder",
				       target->arena, err);
	case SP_PB__ATTR_VALUE__VALUE_FUNC:
		out->kind = SP_ATTR_FUNC;
		return sp_message_text(&out->text, &value->func->name, "a function's name",
				       target->arena, err);
	default: /* no value at all */
		return SP_OK;
	}
}

/* Sets kind and length of a list and returns room for its elements. */
static void *begin_list(sp_attr *out, sp_attr_kind element, size_t count, size_t size,
			sp_arena *arena)
{
	out->element = element;
	out->count = count;
	return sp_arena_array(arena, count, size);
}

static sp_status read_bytes_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				 sp_arena *arena, sp_error *err)
{
	sp_bytes *items = begin_list(out, SP_ATTR_BYTES, list->n_s, sizeof(*items), arena);

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < list->n_s; i++) {
		items[i] = sp_message_bytes(&list->s[i]);
		items[i].data = sp_arena_text(arena, items[i]);
		if (items[i].data == NULL)
			return no_memory(err);
	}
	out->bytes_list = items;
	return SP_OK;
}

static sp_status read_number_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				  sp_arena *arena, sp_error *err)
{
	if (list->n_i != 0) {
		int64_t *items = begin_list(out, SP_ATTR_INT, list->n_i, sizeof(*items), arena);

		if (items == NULL)
			return no_memory(err);
		memcpy(items, list->i, list->n_i * sizeof(*items));
		out->i_list = items;
	} else if (list->n_f != 0) {
		float *items = begin_list(out, SP_ATTR_FLOAT, list->n_f, sizeof(*items), arena);

		if (items == NULL)
			return no_memory(err);
		memcpy(items, list->f, list->n_f * sizeof(*items));
		out->f_list = items;
	} else if (list->n_b != 0) {
		bool *items = begin_list(out, SP_ATTR_BOOL, list->n_b, sizeof(*items), arena);

		if (items == NULL)
			return no_memory(err);
		for (size_t i = 0; i < list->n_b; i++)
			items[i] = list->b[i] != 0;
		out->b_list = items;
	}
	return SP_OK;
}

static sp_status read_type_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				sp_arena *arena, sp_error *err)
{
	sp_dtype *items = begin_list(out, SP_ATTR_TYPE, list->n_type, sizeof(*items), arena);

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < list->n_type; i++)
		SP_TRY(sp_proto__known_dtype(&items[i], list->type[i], err));
	out->type_list = items;
	return SP_OK;
}

static sp_status read_shape_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				 sp_arena *arena, sp_error *err)
{
	sp_partial_shape *items = begin_list(out, SP_ATTR_SHAPE, list->n_shape, sizeof(*items),
					     arena);

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < list->n_shape; i++)
		SP_TRY(sp_proto__partial_shape(&items[i], list->shape[i], err));
	out->shape_list = items;
	return SP_OK;
}

static sp_status read_tensor_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				  sp_proto_target *target, sp_error *err)
{
	sp_tensor *items = begin_list(out, SP_ATTR_TENSOR, list->n_tensor, sizeof(*items),
				      target->arena);

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < list->n_tensor; i++)
		SP_TRY(sp_proto__tensor(&items[i], list->tensor[i], target, err));
	out->tensor_list = items;
	return SP_OK;
}

static sp_status read_func_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
				sp_arena *arena, sp_error *err)
{
	const char **items = begin_list(out, SP_ATTR_FUNC, list->n_func, sizeof(*items), arena);

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < list->n_func; i++)
		SP_TRY(sp_message_text(&items[i], &list->func[i]->name, "a function's name", arena,
				       err));
	out->text_list = items;
	return SP_OK;
}

static sp_status read_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
			   sp_proto_target *target, sp_error *err)
{
	int kinds = (list->n_s != 0) + (list->n_i != 0) + (list->n_f != 0) + (list->n_b != 0) +
		    (list->n_type != 0) + (list->n_shape != 0) + (list->n_tensor != 0) +
		    (list->n_func != 0);

	if (kinds > 1)
		return sp_error_set(err, SP_CORRUPT, "a list holds values of several kinds");
	out->kind = SP_ATTR_LIST;
	if (list->n_s != 0)
		return read_bytes_list(out, list, target->arena, err);
	if (list->n_type != 0)
		return read_type_list(out, list, target->arena, err);
	if (list->n_shape != 0)
		return read_shape_list(out, list, target->arena, err);
	if (list->n_tensor != 0)
		return read_tensor_list(out, list, target, err);
	if (list->n_func != 0)
		return read_func_list(out, list, target->arena, err);
	return read_number_list(out, list, target->arena, err);
}

static sp_status read_attr(sp_attr *out, const SpPb__AttrEntry *entry, sp_proto_target *target,
			   sp_error *err)
{
	const SpPb__AttrValue *value = entry->value;
	const char *name;
	sp_status status = SP_OK;

	SP_TRY(sp_message_text(&name, &entry->key, "an attribute's name", target->arena, err));
	*out = (sp_attr){.name = name};
	if (value == NULL)
		return SP_OK;
	if (value->value_case == SP_PB__ATTR_VALUE__VALUE_LIST)
		status = read_list(out, value->list, target, err);
	else
		status = read_scalar(out, value, target, err);
	if (status != SP_UNSUPPORTED)
		return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "attribute %s", name);
	/* Whoever asks for it is told. */
	*out = (sp_attr){.name = name, .text = sp_arena_printf(target->arena, "%s", err->text)};
	return out->text != NULL ? SP_OK : no_memory(err);
}

static int by_attr_name(const void *a, const void *b)
{
	return strcmp(((const sp_attr *)a)->name, ((const sp_attr *)b)->name);
}

/* ---------------------------------------------------------------------- nodes */

static sp_status read_attrs(sp_node_def *out, const SpPb__NodeDef *node, sp_proto_target *target,
			    sp_error *err)
{
	sp_attr *attrs = sp_arena_array(target->arena, node->n_attr, sizeof(*attrs));

	if (attrs == NULL)
		return no_memory(err);
	for (size_t i = 0; i < node->n_attr; i++)
		SP_TRY(read_attr(&attrs[i], node->attr[i], target, err));
	if (node->n_attr > 1)
		qsort(attrs, node->n_attr, sizeof(*attrs), by_attr_name);
	for (size_t i = 1; i < node->n_attr; i++)
		if (strcmp(attrs[i - 1].name, attrs[i].name) == 0)
			return sp_error_set(err, SP_CORRUPT, "attribute %s is given twice",
					    attrs[i].name);
	out->attrs = attrs;
	out->attr_count = node->n_attr;
	return SP_OK;
}

static sp_status read_inputs(sp_node_def *out, const SpPb__NodeDef *node, sp_arena *arena,
			     sp_error *err)
{
	const char **inputs = sp_arena_array(arena, node->n_input, sizeof(*inputs));

	if (inputs == NULL)
		return no_memory(err);
	for (size_t i = 0; i < node->n_input; i++)
		SP_TRY(sp_message_text(&inputs[i], &node->input[i], "an input's name", arena, err));
	out->inputs = inputs;
	out->input_count = node->n_input;
	return SP_OK;
}

static sp_status read_node(sp_node_def *out, const SpPb__NodeDef *node, sp_proto_target *target,
			   sp_error *err)
{
	sp_status status;

	SP_TRY(sp_message_text(&out->name, &node->name, "a node's name", target->arena, err));
	if (out->name[0] == '\0')
		return sp_error_set(err, SP_CORRUPT, "a node has no name");
	status = sp_message_text(&out->op, &node->op, "the operator's name", target->arena, err);
	if (status == SP_OK && out->op[0] == '\0')
		status = sp_error_set(err, SP_CORRUPT, "it has no operator");
	if (status == SP_OK)
		status = read_inputs(out, node, target->arena, err);
	if (status == SP_OK)
		status = read_attrs(out, node, target, err);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "node %s", out->name);
}

static sp_status read_nodes(const sp_node_def **out, SpPb__NodeDef *const *nodes, size_t count,
			    sp_proto_target *target, sp_error *err)
{
	sp_node_def *items = sp_arena_array(target->arena, count, sizeof(*items));

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++)
		SP_TRY(read_node(&items[i], nodes[i], target, err));
	*out = items;
	return SP_OK;
}

/* ------------------------------------------------------------------ functions */

static sp_status read_arg(sp_arg_def *out, const SpPb__OpDef__ArgDef *arg, sp_arena *arena,
			  sp_error *err)
{
	SP_TRY(sp_message_text(&out->name, &arg->name, "an argument's name", arena, err));
	if (arg->number_attr.len != 0 || arg->type_list_attr.len != 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "argument %s is a list, which is not supported", out->name);
	out->dtype = sp_proto__dtype(arg->type);
	return SP_OK;
}

static sp_status read_args(const sp_arg_def **out, SpPb__OpDef__ArgDef *const *args, size_t count,
			   sp_arena *arena, sp_error *err)
{
	sp_arg_def *items = sp_arena_array(arena, count, sizeof(*items));

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++)
		SP_TRY(read_arg(&items[i], args[i], arena, err));
	*out = items;
	return SP_OK;
}

static int by_ref_name(const void *a, const void *b)
{
	return strcmp(((const sp_named_ref *)a)->name, ((const sp_named_ref *)b)->name);
}

/* The entries of a map<string, string>, sorted by key. */
static sp_status read_text_map(sp_named_ref **out, SpPb__TextEntry *const *entries, size_t count,
			       sp_arena *arena, sp_error *err)
{
	sp_named_ref *items = sp_arena_array(arena, count, sizeof(*items));

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		SP_TRY(sp_message_text(&items[i].name, &entries[i]->key, "an output's name", arena,
				       err));
		SP_TRY(sp_message_text(&items[i].ref, &entries[i]->value, "a returned name", arena,
				       err));
	}
	if (count > 1)
		qsort(items, count, sizeof(*items), by_ref_name);
	for (size_t i = 1; i < count; i++)
		if (strcmp(items[i - 1].name, items[i].name) == 0)
			return sp_error_set(err, SP_CORRUPT, "output %s is returned twice",
					    items[i].name);
	*out = items;
	return SP_OK;
}

static sp_status read_returns(sp_function_def *out, const SpPb__FunctionDef *function,
			      sp_arena *arena, sp_error *err)
{
	sp_named_ref *map, *returns = sp_arena_array(arena, out->output_count, sizeof(*returns));

	if (returns == NULL)
		return no_memory(err);
	SP_TRY(read_text_map(&map, function->ret, function->n_ret, arena, err));
	for (size_t i = 0; i < out->output_count; i++) {
		sp_named_ref wanted = {.name = out->outputs[i].name};
		const sp_named_ref *found = function->n_ret == 0
						    ? NULL
						    : bsearch(&wanted, map, function->n_ret,
							      sizeof(*map), by_ref_name);

		if (found == NULL)
			return sp_error_set(err, SP_CORRUPT, "nothing is returned for output %s",
					    wanted.name);
		returns[i] = *found;
	}
	out->returns = returns;
	return SP_OK;
}

static sp_status read_control_returns(sp_function_def *out, const SpPb__FunctionDef *function,
				      sp_arena *arena, sp_error *err)
{
	size_t count = function->n_control_ret;
	const char **names = sp_arena_array(arena, count, sizeof(*names));
	sp_named_ref *map;

	if (names == NULL)
		return no_memory(err);
	SP_TRY(read_text_map(&map, function->control_ret, count, arena, err));
	for (size_t i = 0; i < count; i++)
		names[i] = map[i].ref;
	out->control_returns = names;
	out->control_return_count = count;
	return SP_OK;
}

/* What the function is one of several implementations of. */
static sp_status read_interface(sp_function_def *out, const SpPb__FunctionDef *function,
				sp_arena *arena, sp_error *err)
{
	for (size_t i = 0; i < function->n_attr; i++) {
		const SpPb__AttrEntry *entry = function->attr[i];
		sp_bytes key = {(const char *)entry->key.data, entry->key.len};
		const ProtobufCBinaryData *text;

		if (entry->value == NULL || entry->value->value_case != SP_PB__ATTR_VALUE__VALUE_S)
			continue;
		text = &entry->value->s;
		if (sp_bytes_equal_text(key, "api_implements") && text->len != 0)
			SP_TRY(sp_message_text(&out->implements, text, "an interface's name", arena,
					       err));
		else if (sp_bytes_equal_text(key, "api_preferred_device"))
			out->is_for_cpu = text->len == 3 && memcmp(text->data, "CPU", 3) == 0;
		else if (sp_bytes_equal_text(key, "forward_function_name") ||
			 sp_bytes_equal_text(key, "backward_function_name"))
			out->is_of_gradient = true;
	}
	return SP_OK;
}

static sp_status read_function_body(sp_function_def *out, const SpPb__FunctionDef *function,
				    sp_proto_target *target, sp_error *err)
{
	const SpPb__OpDef *signature = function->signature;

	out->input_count = signature->n_input_arg;
	SP_TRY(read_args(&out->inputs, signature->input_arg, out->input_count, target->arena, err));
	out->output_count = signature->n_output_arg;
	SP_TRY(read_args(&out->outputs, signature->output_arg, out->output_count, target->arena,
			 err));
	out->node_count = function->n_node_def;
	SP_TRY(read_nodes(&out->nodes, function->node_def, out->node_count, target, err));
	SP_TRY(read_returns(out, function, target->arena, err));
	SP_TRY(read_interface(out, function, target->arena, err));
	return read_control_returns(out, function, target->arena, err);
}

static sp_status read_function(sp_function_def *out, const SpPb__FunctionDef *function,
			       sp_proto_target *target, sp_error *err)
{
	sp_status status;

	if (function->signature == NULL || function->signature->name.len == 0)
		return sp_error_set(err, SP_CORRUPT, "a function has no name");
	*out = (sp_function_def){0};
	SP_TRY(sp_message_text(&out->name, &function->signature->name, "a function's name",
			       target->arena, err));
	status = read_function_body(out, function, target, err);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "function %s", out->name);
}

static sp_status read_functions(sp_graph_def *out, const SpPb__FunctionDefLibrary *library,
				sp_proto_target *target, sp_error *err)
{
	sp_function_def *items = sp_arena_array(target->arena, library->n_function, sizeof(*items));

	if (items == NULL)
		return no_memory(err);
	for (size_t i = 0; i < library->n_function; i++)
		SP_TRY(read_function(&items[i], library->function[i], target, err));
	out->functions = items;
	out->function_count = library->n_function;
	return SP_OK;
}

/* ---------------------------------------------------------------------- graph */

sp_status sp_proto__graph(sp_graph_def *out, const SpPb__GraphDef *proto, sp_proto_target *target,
			  sp_error *err)
{
	*out = (sp_graph_def){.node_count = proto->n_node};
	SP_TRY(read_nodes(&out->nodes, proto->node, proto->n_node, target, err));
	return proto->library != NULL ? read_functions(out, proto->library, target, err) : SP_OK;
}

sp_status sp_graph_def_parse(sp_graph_def *out, sp_bytes bytes, sp_arena *arena, sp_error *err)
{
	sp_proto_target target = {arena, SP_TENSOR_PROTO_MAX_REPEATED};
	sp_arena *scratch = sp_arena_create((size_t)1 << 18);
	ProtobufCMessage *message;
	sp_status status;

	if (scratch == NULL)
		return no_memory(err);
	status = sp_message_unpack(&message, &sp_pb__graph_def__descriptor, bytes, scratch, err);
	if (status == SP_OK)
		status = sp_proto__graph(out, (const SpPb__GraphDef *)message, &target, err);
	sp_arena_destroy(scratch);
	return status;
}

sp_status sp_node_def_parse(sp_node_def *out, sp_bytes bytes, sp_arena *arena, sp_error *err)
{
	sp_proto_target target = {arena, SP_TENSOR_PROTO_MAX_REPEATED};
	sp_arena *scratch = sp_arena_create(4096);
	ProtobufCMessage *message;
	sp_status status;

	if (scratch == NULL)
		return no_memory(err);
	status = sp_message_unpack(&message, &sp_pb__node_def__descriptor, bytes, scratch, err);
	if (status == SP_OK)
		status = read_node(out, (const SpPb__NodeDef *)message, &target, err);
	sp_arena_destroy(scratch);
	return status;
}
